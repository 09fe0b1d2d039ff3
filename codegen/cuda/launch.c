/* NAME_cuda.c: stages that launch the kernels of NAME.cu, and its text. */
#include "codegen/cuda/batch.h"

#include <string.h>

/* What loops turn into, in the order of their numbers, and products. */
typedef struct tables {
    cz_text arguments, kernels, loops;
    int n_kernels, n_loops;
    cz_tile_rows tiles;
    cz_text batches; /* and their rows */
} tables;

static void hear(cz_emitter *emitter, const cz_loop *loop, int number,
                 bool is_new, bool is_epilogue)
{
    tables *t = emitter->user;

    if (!is_new)
        return;
    const int n = cz_emit_cuda_rows(&t->arguments, &t->kernels, loop, number,
                                    is_epilogue);
    cz_text_printf(&t->loops, "    {%d, %d},\n", t->n_kernels, n);
    t->n_kernels += n;
    t->n_loops++;
}

/* The fixed order has tiles of its own. */
static void hear_product(cz_emitter *emitter, const cz_loop *loop)
{
    tables *t = emitter->user;

    if (!emitter->view->program->strict)
        cz_emit_tiles_of(&t->tiles, loop, emitter->arena);
}

/* ISO C promises literals of 4095 characters. */
enum { MAX_PIECE = 1000 };

static void put_piece(cz_text *out, const char *from, size_t n)
{
    char piece[MAX_PIECE + 1];

    memcpy(piece, from, n);
    piece[n] = '\0';
    cz_text_puts(out, "    ");
    cz_emit_string(out, piece);
    cz_text_puts(out, ",\n");
}

/* Line by line. */
static void put_text(cz_text *out, const char *text)
{
    cz_text_puts(out, "static const char *const text[] = {\n");
    while (*text) {
        const size_t line = strcspn(text, "\n");
        const size_t whole = text[line] ? line + 1 : line;
        const size_t n = whole < MAX_PIECE ? whole : MAX_PIECE;
        put_piece(out, text, n);
        text += n;
    }
    cz_text_puts(out, "    NULL};\n\n");
}

static void put_tables(cz_text *out, const tables *t)
{
    static const char none[] = "    {0},\n";

    cz_text_printf(out, "%s\nstatic const czr_cuda_kernel kernels[] = {\n",
                   cz_text_string(&t->arguments));
    cz_text_puts(out, t->n_kernels ? cz_text_string(&t->kernels) : none);
    cz_text_puts(out, "};\nstatic const czr_cuda_loop_kernels loops[] = {\n");
    cz_text_puts(out, t->n_loops ? cz_text_string(&t->loops) : none);
    cz_text_puts(out, "};\n\n");
    if (t->tiles.n)
        cz_text_printf(out,
                       "/* m, n, k, batch, symmetric, N-major, addend; rows, "
                       "columns, stages, cluster, parts, cuBLASLt */\n"
                       "static const czr_cuda_tiling tilings[] = {\n%s};\n\n",
                       cz_text_string(&t->tiles.text));
    if (t->batches.n)
        cz_text_puts(out, cz_text_string(&t->batches));
}

static void put_variants(cz_emitter *emitter)
{
    const cz_plan_view *view = emitter->view;

    for (int i = 0; i < view->n_stages; i++)
        cz_emit_stage_bodies(emitter, i, "czr_cuda_stage");
    cz_text_puts(emitter->out,
                 "static const czr_cuda_stage *const variants[] = {\n");
    for (int i = 0; i < view->n_stages; i++)
        if (view->stages[i].n_variants > 0)
            cz_text_printf(emitter->out, "    bodies_%d,\n", i);
        else
            cz_text_puts(emitter->out, "    NULL,\n");
    cz_text_puts(emitter->out, "};\n\n");
}

static void put_stages(cz_emitter *emitter)
{
    const cz_plan_view *view = emitter->view;

    cz_text_puts(emitter->out, "static const czr_cuda_stage stages[] = {\n");
    for (int i = 0; i < view->n_stages; i++)
        cz_text_printf(emitter->out, "    stage_%d,\n", i);
    cz_text_puts(emitter->out, view->n_stages ? "};\n\n" : "    NULL};\n\n");
    if (cz_has_variants(view))
        put_variants(emitter);
}

static void put_program(cz_emitter *emitter, const tables *t)
{
    const char *name = emitter->view->program->name;

    cz_text_printf(emitter->out,
                   "const czr_cuda_program %s_cuda = {\n"
                   "    .program = &%s_program,\n    .text = text,\n"
                   "    .stages = stages,\n",
                   name, name);
    if (cz_has_variants(emitter->view))
        cz_text_puts(emitter->out, "    .variants = variants,\n");
    cz_text_printf(emitter->out,
                   "    .n_kernels = %d,\n    .n_loops = %d,\n"
                   "    .kernels = kernels,\n    .loops = loops,\n",
                   t->n_kernels, t->n_loops);
    if (t->tiles.n)
        cz_text_printf(emitter->out,
                       "    .tiled_sms = %d,\n    .n_tilings = %d,\n"
                       "    .tilings = tilings,\n",
                       t->tiles.tiler->sms, t->tiles.n);
    if (t->batches.n)
        cz_text_puts(emitter->out, "    .batches = batches,\n");
    cz_text_puts(emitter->out, "};\n");
}

/* Stages to the emitter's launches; their products to the tables. */
static void put_bodies(cz_emitter *emitter, tables *t)
{
    for (int i = 0; i < emitter->view->n_stages; i++) {
        t->tiles.stage = i;
        cz_emit_stage(emitter, i);
    }
}

static void free_tables(tables *t)
{
    cz_text_fini(&t->arguments);
    cz_text_fini(&t->kernels);
    cz_text_fini(&t->loops);
    cz_text_fini(&t->tiles.text);
    cz_text_fini(&t->batches);
}

int64_t cz_emit_launches(const cz_plan_view *view, const cz_text *cuda,
                         const cz_emit_tiler *tiler, cz_text *out)
{
    cz_arena arena;
    cz_text c = {0};
    tables t = {.tiles = {.tiler = tiler}};
    cz_emitter emitter = {.view = view,
                          .arena = &arena,
                          .out = &c,
                          .launches = out,
                          .heard = hear,
                          .heard_product = hear_product,
                          .user = &t};

    cz_arena_init(&arena);
    cz_text_printf(out,
                   "/* Generated by canzona %s.  Do not edit: change the .cz "
                   "file. */\n#include \"%s.h\"\n\n/* ---- stages ---- */\n\n",
                   view->program->compiler, view->program->name);
    put_bodies(&emitter, &t);
    emitter.out = out;
    const int64_t bytes = cz_emit_batches(view, &t.tiles, &arena, &t.batches);
    cz_text_puts(out, "/* ---- kernels ---- */\n\n");
    put_tables(out, &t);
    put_stages(&emitter);
    cz_text_puts(out, "/* ---- NAME.cu ---- */\n\n");
    put_text(out, cz_text_string(cuda));
    put_program(&emitter, &t);
    free_tables(&t);
    cz_text_fini(&c);
    cz_arena_fini(&arena);
    return bytes;
}

void cz_emit_batch_bytes(const cz_plan_view *view, const cz_emit_tiler *tiler,
                         int64_t *bytes)
{
    cz_arena arena;
    cz_text c = {0}, launches = {0};
    tables t = {.tiles = {.tiler = tiler}};
    cz_emitter emitter = {.view = view,
                          .arena = &arena,
                          .out = &c,
                          .launches = &launches,
                          .heard = hear,
                          .heard_product = hear_product,
                          .user = &t};

    cz_arena_init(&arena);
    put_bodies(&emitter, &t);
    cz_batch_bytes_of_ranks(view, &t.tiles, &arena, bytes);
    free_tables(&t);
    cz_text_fini(&c);
    cz_text_fini(&launches);
    cz_arena_fini(&arena);
}
