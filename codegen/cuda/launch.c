/* NAME_cuda.c: stages that launch the kernels of NAME.cu, and its text. */
#include "codegen/common/internal.h"
#include "codegen/emit.h"

#include <string.h>

/* What loops turn into, in the order of their numbers. */
typedef struct tables {
    cz_text arguments, kernels, loops;
    int n_kernels, n_loops;
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

static void put_tilings(cz_text *out, const cz_plan_view *view)
{
    if (view->n_tilings == 0)
        return;
    cz_text_puts(out, "/* m, n, k, batch, symmetric, N-major, addend; rows, "
                      "columns, stages, parts, cuBLASLt */\n"
                      "static const czr_cuda_tiling tilings[] = {\n");
    for (int i = 0; i < view->n_tilings; i++) {
        const cz_fact_tiling *t = &view->tilings[i];
        cz_text_printf(out,
                       "    {%lld, %lld, %lld, %lld, %d, %d, %d, %d, %d, %d, "
                       "%d, %d},\n",
                       (long long)t->m, (long long)t->n, (long long)t->k,
                       (long long)t->batch, (int)t->symmetric, (int)t->n_major,
                       (int)t->addend, (int)t->rows, (int)t->columns,
                       (int)t->stages, (int)t->parts, (int)t->library);
    }
    cz_text_puts(out, "};\n\n");
}

static bool has_batches(const cz_plan_view *view)
{
    for (int t = 0; t < view->n_tables; t++)
        if (view->tables[t].n_batches)
            return true;
    return false;
}

static void put_batches_of(cz_text *out, int number, const cz_view_table *table)
{
    cz_text_printf(out, "static const czr_cuda_batch batches_%d[] = {\n",
                   number);
    for (int i = 0; i < table->n_batches; i++) {
        const cz_view_batch *batch = &table->batches[i];
        cz_text_printf(out, "    {%lld, %d, %d, %lld, %lld},\n",
                       (long long)batch->first, (int)batch->n_rows,
                       (int)batch->n_matrices, (long long)batch->scratch,
                       (long long)batch->bytes);
    }
    cz_text_puts(out, "};\n");
    cz_emit_int_array(out, "int32_t", "batch_of_row", number,
                      table->batch_of_row,
                      (int)table->starts[table->n_coordinates]);
}

static void put_batches(cz_text *out, const cz_plan_view *view)
{
    if (!has_batches(view))
        return;
    cz_text_puts(out, "/* first row, rows of a unit, units; scratch that each "
                      "has for itself, bytes */\n");
    for (int t = 0; t < view->n_tables; t++)
        if (view->tables[t].n_batches)
            put_batches_of(out, t, &view->tables[t]);
    cz_text_puts(out, "static const czr_cuda_batches batches[] = {\n");
    for (int t = 0; t < view->n_tables; t++)
        if (view->tables[t].n_batches)
            cz_text_printf(out, "    {batches_%d, batch_of_row_%d},\n", t, t);
        else
            cz_text_puts(out, "    {NULL, NULL},\n");
    cz_text_puts(out, "};\n\n");
}

static void put_tables(cz_text *out, const cz_plan_view *view, const tables *t)
{
    static const char none[] = "    {0},\n";

    cz_text_printf(out, "%s\nstatic const czr_cuda_kernel kernels[] = {\n",
                   cz_text_string(&t->arguments));
    cz_text_puts(out, t->n_kernels ? cz_text_string(&t->kernels) : none);
    cz_text_puts(out, "};\nstatic const czr_cuda_loop_kernels loops[] = {\n");
    cz_text_puts(out, t->n_loops ? cz_text_string(&t->loops) : none);
    cz_text_puts(out, "};\n\n");
    put_tilings(out, view);
    put_batches(out, view);
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
    const cz_plan_view *view = emitter->view;
    const char *name = view->program->name;

    cz_text_printf(emitter->out,
                   "const czr_cuda_program %s_cuda = {\n"
                   "    .program = &%s_program,\n    .text = text,\n"
                   "    .stages = stages,\n",
                   name, name);
    if (cz_has_variants(view))
        cz_text_puts(emitter->out, "    .variants = variants,\n");
    cz_text_printf(emitter->out,
                   "    .n_kernels = %d,\n    .n_loops = %d,\n"
                   "    .kernels = kernels,\n    .loops = loops,\n",
                   t->n_kernels, t->n_loops);
    if (view->n_tilings)
        cz_text_printf(emitter->out,
                       "    .tiled_sms = %d,\n    .n_tilings = %d,\n"
                       "    .tilings = tilings,\n",
                       (int)view->gpu->sms, view->n_tilings);
    if (has_batches(view))
        cz_text_puts(emitter->out, "    .batches = batches,\n");
    cz_text_puts(emitter->out, "};\n");
}

void cz_emit_launches(const cz_plan_view *view, const cz_text *cuda,
                      cz_text *out)
{
    cz_arena arena;
    cz_text c = {0};
    tables t = {.n_kernels = 0};
    cz_emitter emitter = {.view = view,
                          .arena = &arena,
                          .out = &c,
                          .launches = out,
                          .on_loop = hear,
                          .user = &t};

    cz_arena_init(&arena);
    cz_text_printf(out,
                   "/* Generated by canzona %s.  Do not edit: change the .cz "
                   "file. */\n#include \"%s.h\"\n\n/* ---- stages ---- */\n\n",
                   view->program->compiler, view->program->name);
    for (int i = 0; i < view->n_stages; i++)
        cz_emit_stage(&emitter, i);
    emitter.out = out;
    cz_text_puts(out, "/* ---- kernels ---- */\n\n");
    put_tables(out, view, &t);
    put_stages(&emitter);
    cz_text_puts(out, "/* ---- NAME.cu ---- */\n\n");
    put_text(out, cz_text_string(cuda));
    put_program(&emitter, &t);
    cz_text_fini(&t.arguments);
    cz_text_fini(&t.kernels);
    cz_text_fini(&t.loops);
    cz_text_fini(&c);
    cz_arena_fini(&arena);
}
