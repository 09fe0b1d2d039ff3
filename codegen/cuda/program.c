/* NAME.cu and NAME_cuda.c, in one walk over the stages: the kernels of a
 * program, and the tables of steps that launch them. */
#include "codegen/common/internal.h"
#include "codegen/emit.h"

#include <string.h>

/* What loops turn into, in the order of their numbers. */
typedef struct loops {
    cz_text calls, kernels; /* of the stage under way; those that it is the
                             * first to call */
    cz_text arguments, rows, ranges; /* of NAME_cuda.c */
    int n_kernels, n;
} loops;

static void hear(cz_emitter *emitter, const cz_loop *loop, int number,
                 bool is_new, bool is_epilogue)
{
    loops *l = emitter->user;

    cz_text_printf(&l->calls, "%sloop_%d", l->calls.n ? ", " : "", number);
    if (!is_new)
        return;
    cz_emit_cuda_loop(&l->kernels, loop, number, is_epilogue);
    const int n =
        cz_emit_cuda_rows(&l->arguments, &l->rows, loop, number, is_epilogue);
    cz_text_printf(&l->ranges, "    {%d, %d},\n", l->n_kernels, n);
    l->n_kernels += n;
    l->n++;
}

/* Its table, and the kernels that it is the first to launch.  Which loops there
 * are, and their numbers, is what C says. */
static void put_stage(cz_emitter *emitter, int number, cz_text *kernels,
                      cz_text *launches)
{
    loops *l = emitter->user;

    cz_emit_stage_table(emitter, number, launches);
    if (l->calls.n) {
        cz_text_printf(kernels, "// %s: %s.\n\n",
                       cz_stage_name(emitter, number, 0),
                       cz_text_string(&l->calls));
        cz_text_put(kernels, cz_text_string(&l->kernels), l->kernels.n);
    }
    cz_text_fini(&l->calls);
    cz_text_fini(&l->kernels);
}

/* ---- NAME.cu ---- */

/* The functions of scalars, and the prologue: one thread, in doubles as in C;
 * what it reads lies on the device. */
static void put_arithmetic(cz_emitter *emitter)
{
    const cz_plan_view *view = emitter->view;

    cz_text_printf(emitter->out,
                   "// " CZ_GENERATED " %s.  Do not edit: change the .cz "
                   "file.\n// Stands behind device.cuh, global.cuh and "
                   "elementwise.cuh; compile with\n// -fmad=false "
                   "-default-device.\n\n// ---- arithmetic ----\n\n",
                   view->program->compiler);
    for (int i = 0; i < view->n_bodies; i++)
        if (!cz_is_prologue(view, i))
            cz_emit_body(emitter, i);
    for (int i = 0; i < view->n_rules; i++)
        cz_emit_prologue(emitter, i);
    cz_text_puts(emitter->out,
                 "extern \"C\" __global__ void prologue(const double *t, "
                 "const double *clip,\n    const double *hypers, float "
                 "*scalars)\n{\n");
    cz_emit_prologue_calls(emitter, "*t", "*clip");
    cz_text_puts(emitter->out, "}\n\n// ---- stages ----\n\n");
}

/* ---- NAME_cuda.c ---- */

/* ISO C promises literals of 4095 characters. */
enum { MAX_PIECE = 1000 };

/* Line by line. */
static void put_text(cz_text *out, const char *text)
{
    cz_text_puts(out, "/* ---- NAME.cu ---- */\n\n"
                      "static const char *const text[] = {\n");
    while (*text) {
        char piece[MAX_PIECE + 1];
        const size_t line = strcspn(text, "\n");
        const size_t full = text[line] ? line + 1 : line;
        const size_t n = full < MAX_PIECE ? full : MAX_PIECE;
        memcpy(piece, text, n);
        piece[n] = '\0';
        cz_text_puts(out, "    ");
        cz_emit_string(out, piece);
        cz_text_puts(out, ",\n");
        text += n;
    }
    cz_text_puts(out, "    NULL};\n\n");
}

static void put_tilings(cz_text *out, const cz_plan_view *view)
{
    if (view->n_tilings == 0)
        return;
    cz_text_puts(out, "/* m, n, k, batch, symmetric, addend; rows, "
                      "columns, stages, splits, cuBLASLt */\n"
                      "static const czr_cuda_tiling tilings[] = {\n");
    for (int i = 0; i < view->n_tilings; i++) {
        const cz_fact_tiling *t = &view->tilings[i];
        cz_text_printf(out,
                       "    {%lld, %lld, %lld, %lld, %d, %d, %d, %d, %d, %d, "
                       "%d},\n",
                       (long long)t->m, (long long)t->n, (long long)t->k,
                       (long long)t->batch, (int)t->symmetric, (int)t->addend,
                       (int)t->rows, (int)t->columns, (int)t->stages,
                       (int)t->splits, (int)t->library);
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

/* Entries of lists alone have numbers in NAME.c. */
static void put_batches_of(cz_text *out, int number, const cz_view_table *table)
{
    cz_arena arena;
    cz_arena_init(&arena);
    const cz_entry_lists lists = cz_entry_lists_of(&arena, table);
    const int64_t n_rows = lists.starts[lists.n];
    int64_t *of_row = CZ_NEW(&arena, int64_t, n_rows + 1);
    int64_t *printed = CZ_NEW(&arena, int64_t, table->n_batches + 1), n = 0;

    cz_text_printf(out, "static const czr_cuda_batch batches_%d[] = {\n",
                   number);
    for (int l = 0; l < lists.n; l++) {
        const int64_t first = table->starts[lists.first[l]];
        for (int64_t i = lists.starts[l]; i < lists.starts[l + 1]; i++) {
            const int64_t b = table->batch_of_row[first + i - lists.starts[l]];
            if (b > 0 && printed[b] == 0) {
                const cz_view_batch *batch = &table->batches[b - 1];
                cz_text_printf(
                    out, "    {%lld, %d, %d, %lld, %lld},\n",
                    (long long)(batch->first - first + lists.starts[l]),
                    (int)batch->n_rows, (int)batch->n_matrices,
                    (long long)batch->scratch, (long long)batch->bytes);
                printed[b] = ++n;
            }
            of_row[i] = printed[b];
        }
    }
    cz_text_puts(out, "};\n");
    cz_emit_int_array(out, "int32_t", "batch_of_row", number, of_row,
                      (int)n_rows);
    cz_arena_fini(&arena);
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

static void put_kernels(cz_text *out, const loops *l)
{
    static const char none[] = "    {0},\n";

    cz_text_printf(out,
                   "/* ---- kernels ---- */\n\n%s\n"
                   "static const czr_cuda_kernel kernels[] = {\n%s};\n"
                   "static const czr_cuda_loop_kernels loops[] = {\n%s};\n\n",
                   cz_text_string(&l->arguments),
                   l->n_kernels ? cz_text_string(&l->rows) : none,
                   l->n ? cz_text_string(&l->ranges) : none);
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
        cz_text_printf(emitter->out, "    %s,\n", cz_stage_name(emitter, i, 0));
    cz_text_puts(emitter->out, view->n_stages ? "};\n\n" : "    NULL};\n\n");
    if (cz_has_variants(view))
        put_variants(emitter);
}

static void put_program(cz_emitter *emitter, const loops *l)
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
                   l->n_kernels, l->n);
    if (view->n_tilings)
        cz_text_printf(emitter->out,
                       "    .tiled_sms = %d,\n    .n_tilings = %d,\n"
                       "    .tilings = tilings,\n",
                       (int)view->gpu->sms, view->n_tilings);
    if (has_batches(view))
        cz_text_puts(emitter->out, "    .batches = batches,\n");
    cz_text_puts(emitter->out, "};\n");
}

/* ---- both ---- */

void cz_emit_cuda(const cz_plan_view *view, cz_text *kernels, cz_text *launches)
{
    cz_arena arena;
    cz_text c = {0};
    loops l = {.n = 0};
    cz_emitter emitter = {.view = view,
                          .arena = &arena,
                          .out = kernels,
                          .is_cuda = true,
                          .on_loop = hear,
                          .user = &l};

    cz_arena_init(&arena);
    put_arithmetic(&emitter);
    cz_text_printf(launches,
                   "/* " CZ_GENERATED " %s.  Do not edit: change the .cz "
                   "file. */\n#include \"%s.h\"\n\n/* ---- stages ---- */\n\n",
                   view->program->compiler, view->program->name);
    emitter.out = &c;
    for (int i = 0; i < view->n_stages; i++)
        put_stage(&emitter, i, kernels, launches);
    emitter.out = launches;
    put_kernels(launches, &l);
    put_tilings(launches, view);
    put_batches(launches, view);
    put_stages(&emitter);
    put_text(launches, cz_text_string(kernels));
    put_program(&emitter, &l);
    cz_text_fini(&l.arguments);
    cz_text_fini(&l.rows);
    cz_text_fini(&l.ranges);
    cz_text_fini(&c);
    cz_arena_fini(&arena);
}
