/* Loops as CUDA kernels, and those of them that are runs.  Which thread
 * adds what depends on the shape alone, never on the grid or on where arrays
 * lie; each part of a sum is made as it is by a rank that has it alone. */
#include "codegen/cuda/internal.h"

#include <stdio.h>

/* A wide access, and neighbours of a thread that adds them up. */
enum { WIDE_BYTES = 16, SUM_WIDTH = 8 };

/* Entries of a launch: by what its parameters may have in all, and as many as
 * one block of threads finds its own among at once. */
enum {
    PARAMETER_BYTES = 4096,
    POINTER_BYTES = 8,
    ENTRY_BYTES = 8 + 4, /* besides its pointers: elements, blocks */
    MOST_ENTRIES = 64
};

/* Neighbours that are 16 bytes of the narrowest array.  Where there are sums it
 * is one number for all: types must not decide their order. */
static int width_of(const cz_cuda_kernel *k)
{
    const cz_view_step *step = cz_cuda_step(k);
    int narrowest = cz_dtype_bytes(CZ_F64);

    if (cz_cuda_reduces(k))
        return SUM_WIDTH;
    for (int i = cz_cuda_first_in(k); i < step->n_in; i++)
        if ((step->access[i] == CZ_ACCESS_ELEMENT ||
             step->access[i] == CZ_ACCESS_COLUMN) &&
            cz_dtype_bytes(k->loop->in_dtype[i]) < narrowest)
            narrowest = cz_dtype_bytes(k->loop->in_dtype[i]);
    for (int i = 0; i < step->n_out; i++)
        if (step->out_access[i] == CZ_ACCESS_ELEMENT &&
            cz_dtype_bytes(step->out_dtype[i]) < narrowest)
            narrowest = cz_dtype_bytes(step->out_dtype[i]);
    return WIDE_BYTES / narrowest;
}

/* ---- signature ---- */

static void for_operands(const cz_cuda_kernel *k, cz_cuda_parameter *put)
{
    const cz_view_step *step = cz_cuda_step(k);

    for (int i = cz_cuda_first_in(k); i < step->n_in; i++)
        if (step->access[i] == CZ_ACCESS_SCALAR)
            put(k, CZ_CUDA_SCALAR, i);
        else if (cz_loop_written_by(k->loop, i) < 0)
            put(k, CZ_CUDA_OPERAND, i);
}

void cz_cuda_parameters(const cz_cuda_kernel *k, cz_cuda_parameter *put)
{
    if (k->is_epilogue)
        put(k, CZ_CUDA_ACCUMULATOR, 0);
    for_operands(k, put);
    for (int i = 0; i < cz_cuda_step(k)->n_out; i++)
        if (cz_cuda_is_sum(k, i) &&
            !cz_loop_reduces_to(k->loop, i, CZ_ACCESS_ROW))
            put(k, CZ_CUDA_PARTIAL, i);
        else if (cz_cuda_makes(k, i))
            put(k, CZ_CUDA_RESULT, i);
        else if (k->loop->in_place[i] >= 0)
            put(k, CZ_CUDA_KEPT, i);
}

/* The type that a parameter points to, and its name. */
typedef struct pointer {
    const char *constant, *type;
    char name[16];
} pointer;

static pointer pointer_of(const cz_cuda_kernel *k, cz_cuda_role role, int i)
{
    static const struct {
        const char *constant, *name;
    } words[] = {
        [CZ_CUDA_ACCUMULATOR] = {"const ", "acc"},
        [CZ_CUDA_SCALAR] = {"const ", "at"},
        [CZ_CUDA_OPERAND] = {"const ", "x"},
        [CZ_CUDA_PARTIAL] = {"", "partial"},
        [CZ_CUDA_RESULT] = {"", "y"},
        [CZ_CUDA_KEPT] = {"const ", "y"},
    };
    cz_dtype dtype = CZ_F32;

    if (role == CZ_CUDA_PARTIAL)
        dtype = CZ_F64;
    else if (role == CZ_CUDA_OPERAND || role == CZ_CUDA_SCALAR)
        dtype = k->loop->in_dtype[i];
    else if (role != CZ_CUDA_ACCUMULATOR)
        dtype = cz_cuda_step(k)->out_dtype[i];
    pointer p = {words[role].constant, cz_c_type(dtype), ""};
    if (role == CZ_CUDA_ACCUMULATOR)
        snprintf(p.name, sizeof p.name, "%s", words[role].name);
    else
        snprintf(p.name, sizeof p.name, "%s%d", words[role].name, i);
    return p;
}

/* What all entries have alike is a parameter of its own. */
static void put_parameter(const cz_cuda_kernel *k, cz_cuda_role role, int i)
{
    const pointer p = pointer_of(k, role, i);

    if (role == CZ_CUDA_SCALAR || cz_cuda_most_entries(k) == 0)
        cz_text_printf(k->out, ",\n    %s%s *__restrict__ %s", p.constant,
                       p.type, p.name);
}

static void put_member(const cz_cuda_kernel *k, cz_cuda_role role, int i)
{
    const pointer p = pointer_of(k, role, i);

    if (role != CZ_CUDA_SCALAR)
        cz_text_printf(k->out, "    %s%s *%s;\n", p.constant, p.type, p.name);
}

static void put_entry(const cz_cuda_kernel *k, cz_cuda_role role, int i)
{
    const pointer p = pointer_of(k, role, i);

    if (role != CZ_CUDA_SCALAR)
        cz_cuda_line(k, "%s%s *__restrict__ const %s = entry.%s;", p.constant,
                     p.type, p.name, p.name);
}

/* ---- entries ---- */

int cz_cuda_most_entries(const cz_cuda_kernel *k)
{
    const cz_view_step *step = cz_cuda_step(k);
    int common = 2, own = k->is_epilogue + cz_cuda_is_checked(k);

    if (k->form != CZ_CUDA_RUN || (cz_cuda_reduces(k) && !cz_cuda_is_wide(k)))
        return 0;
    for (int i = cz_cuda_first_in(k); i < step->n_in; i++)
        if (step->access[i] == CZ_ACCESS_SCALAR)
            common++;
        else
            own += cz_loop_written_by(k->loop, i) < 0;
    own += step->n_out;
    const int most = (PARAMETER_BYTES - (common + 1) * POINTER_BYTES) /
                     (own * POINTER_BYTES + ENTRY_BYTES);
    return most < MOST_ENTRIES ? most : MOST_ENTRIES;
}

static void put_table(const cz_cuda_kernel *k)
{
    if (cz_cuda_most_entries(k) == 0)
        return;
    cz_text_printf(k->out, "struct loop_%d_entry {\n", k->number);
    cz_cuda_parameters(k, put_member);
    if (cz_cuda_is_checked(k))
        cz_text_puts(k->out, "    int *status;\n");
    cz_text_printf(
        k->out,
        "};\ntypedef entry_table<loop_%d_entry, %d> loop_%d_entries;\n\n",
        k->number, cz_cuda_most_entries(k), k->number);
}

static void put_scalar(const cz_cuda_kernel *k, cz_cuda_role role, int i)
{
    if (role == CZ_CUDA_SCALAR)
        cz_cuda_line(k, "const %s x%d = *at%d;",
                     cz_c_type(k->loop->in_dtype[i]), i, i);
}

bool cz_cuda_is_checked(const cz_cuda_kernel *k)
{
    return k->loop->checked >= 0 && !k->by_columns;
}

static void put_signature(const cz_cuda_kernel *k)
{
    const bool has_entries = cz_cuda_most_entries(k) > 0;

    cz_text_printf(
        k->out,
        "extern \"C\" __global__ void __launch_bounds__(THREADS, BLOCKS) "
        "loop_%d%s(",
        k->number, k->by_columns ? "_columns" : "");
    if (has_entries)
        cz_text_printf(k->out,
                       "const __grid_constant__ loop_%d_entries entries",
                       k->number);
    else
        cz_text_puts(k->out, k->loop->flat ? "u64 n" : "u64 rows, u64 columns");
    cz_cuda_parameters(k, put_parameter);
    if (cz_cuda_is_checked(k))
        cz_text_puts(k->out, has_entries ? ",\n    int failure"
                                         : ",\n    int *status, int failure");
    cz_text_puts(k->out, ",\n    const int *skip)\n{\n");
    cz_text_puts(k->out, "    if (is_skipped(skip))\n        return;\n");
    cz_cuda_parameters(k, put_scalar);
    if (cz_cuda_is_checked(k) && !has_entries)
        cz_cuda_line(k, "u32 wild = 0;");
}

static void put_check(const cz_cuda_kernel *k, const char *status)
{
    if (!cz_cuda_is_checked(k))
        return;
    cz_cuda_line(k, "if (wild)");
    cz_cuda_line(k, "    keep_first(%s, failure);", status);
}

/* ---- runs ---- */

static void put_wide(const cz_cuda_kernel *k)
{
    char length[32];

    if (!k->loop->flat && cz_cuda_most_entries(k) == 0)
        cz_cuda_line(k, "const u64 n = rows * columns;");
    if (!cz_cuda_is_wide(k))
        return;
    snprintf(length, sizeof length, "n / %d", k->blocks);
    cz_cuda_alignment(k, k->blocks > 1 ? length : NULL);
}

static void put_run_sums(const cz_cuda_kernel *k)
{
    for (int i = 0; i < cz_cuda_step(k)->n_out; i++)
        if (cz_cuda_is_sum(k, i))
            cz_cuda_line(k, "sum%d = block_%s(sum%d);", i,
                         cz_cuda_is_largest(k, i) ? "largest" : "sum", i);
    for (int i = 0; i < cz_cuda_step(k)->n_out; i++)
        if (cz_cuda_is_sum(k, i))
            cz_cuda_line(k,
                         "if (threadIdx.x == 0)\n            partial%d[c] = "
                         "sum%d;",
                         i, i);
}

/* From the start of a chunk of `length` elements to its end. */
static void put_chunk(cz_cuda_kernel *k, const char *index, const char *length)
{
    char left[32];

    cz_cuda_sums_begin(k);
    cz_cuda_line(k,
                 "for (u64 %s = start + %d * threadIdx.x; %s < end_of(start, "
                 "%s); %s += %d * THREADS) {",
                 index, k->width, index, length, index, k->width);
    k->depth++;
    if (k->blocks > 1 && cz_cuda_is_wide(k))
        cz_cuda_line(k, "const u64 at = part * length + e;");
    snprintf(left, sizeof left, "%s - %s", length, index);
    cz_cuda_neighbours(k, left);
    k->depth--;
    cz_cuda_line(k, "}");
    put_run_sums(k);
}

/* Of n elements in parts. */
static void put_lengths(const cz_cuda_kernel *k)
{
    if (k->blocks > 1)
        cz_cuda_line(k,
                     "const u64 length = n / %d, chunks = chunks_of(length);",
                     k->blocks);
}

/* Chunk c of them. */
static void put_chunk_of_part(cz_cuda_kernel *k)
{
    const bool has_parts = k->blocks > 1;

    if (has_parts)
        cz_cuda_line(
            k, "const u64 part = c / chunks, start = c %% chunks * CHUNK;");
    else
        cz_cuda_line(k, "const u64 start = c * CHUNK;");
    put_chunk(k, has_parts ? "e" : "at", has_parts ? "length" : "n");
}

/* A block of threads for each chunk, of each part. */
static void put_chunks(cz_cuda_kernel *k)
{
    put_lengths(k);
    if (k->blocks > 1)
        cz_cuda_line(
            k, "for (u64 c = blockIdx.x; c < %d * chunks; c += gridDim.x) {",
            k->blocks);
    else
        cz_cuda_line(
            k, "for (u64 c = blockIdx.x; c < chunks_of(n); c += gridDim.x) {");
    k->depth++;
    put_chunk_of_part(k);
    k->depth--;
    cz_cuda_line(k, "}");
}

static void put_chunk_of_entry(cz_cuda_kernel *k)
{
    cz_cuda_line(k, "const u64 n = entries.n[number], c = "
                    "block_in_entry(entries, number, block);");
    put_wide(k);
    put_lengths(k);
    put_chunk_of_part(k);
}

static void put_neighbours_of_entry(cz_cuda_kernel *k)
{
    cz_cuda_line(k,
                 "const u64 n = entries.n[number], at = "
                 "%d * thread_in_entry(entries, number, block);",
                 k->width);
    cz_cuda_line(k, "if (at >= n)");
    cz_cuda_line(k, "    continue;");
    cz_cuda_alignment(k, NULL);
    cz_cuda_neighbours(k, "n - at");
}

/* A block of threads for a chunk of an entry, or for so many elements where
 * nothing is reduced; then for others. */
static void put_entries(cz_cuda_kernel *k)
{
    cz_cuda_line(k, "for (u32 block = blockIdx.x; block < blocks_of(entries); "
                    "block += gridDim.x) {");
    k->depth++;
    cz_cuda_line(k, "const u32 number = entry_of(entries, block);");
    cz_cuda_line(k, "const loop_%d_entry &entry = entries.of[number];",
                 k->number);
    cz_cuda_parameters(k, put_entry);
    if (cz_cuda_is_checked(k))
        cz_cuda_line(k, "u32 wild = 0;");
    if (cz_cuda_reduces(k))
        put_chunk_of_entry(k);
    else
        put_neighbours_of_entry(k);
    put_check(k, "entry.status");
    k->depth--;
    cz_cuda_line(k, "}");
}

static void put_run(cz_cuda_kernel *k)
{
    if (cz_cuda_most_entries(k) > 0) {
        put_entries(k);
        return;
    }
    put_wide(k);
    put_chunks(k);
}

/* ---- kernels ---- */

static bool makes_any(const cz_cuda_kernel *k)
{
    for (int i = 0; i < cz_cuda_step(k)->n_out; i++)
        if (cz_cuda_makes(k, i))
            return true;
    return false;
}

/* What of the kernel's arguments is not yet a result. */
static void put_finish(const cz_cuda_kernel *k)
{
    for (int i = 0; i < cz_cuda_step(k)->n_out; i++) {
        const char *verb = cz_cuda_is_largest(k, i) ? "largest" : "sum";
        if (!cz_cuda_is_sum(k, i) ||
            cz_loop_reduces_to(k->loop, i, CZ_ACCESS_ROW))
            continue;
        if (k->by_columns)
            cz_text_printf(k->out, "// y%d: %s_strips of partial%d.\n", i, verb,
                           i);
        else
            cz_text_printf(k->out,
                           "// y%d: %s_parts of partial%d, %d of them.\n", i,
                           verb, i, k->blocks);
    }
}

/* Which threads have what. */
static cz_cuda_form form_of(const cz_cuda_kernel *k)
{
    const cz_view_step *step = cz_cuda_step(k);

    if (k->by_columns)
        return CZ_CUDA_COLUMNS;
    if (cz_loop_runs_through(step))
        return CZ_CUDA_RUN;
    for (int i = 0; !cz_cuda_reduces(k) && i < step->n_in; i++)
        if (step->access[i] == CZ_ACCESS_TRANSPOSED)
            return CZ_CUDA_SQUARES;
    return CZ_CUDA_ROWS;
}

static void put_kernel(cz_cuda_kernel *k, void *user)
{
    static void (*const put[])(cz_cuda_kernel *) = {
        [CZ_CUDA_RUN] = put_run,
        [CZ_CUDA_ROWS] = cz_cuda_rows,
        [CZ_CUDA_SQUARES] = cz_cuda_squares,
        [CZ_CUDA_COLUMNS] = cz_cuda_columns,
    };

    (void)user;
    put_finish(k);
    put_table(k);
    put_signature(k);
    put[k->form](k);
    if (cz_cuda_most_entries(k) == 0)
        put_check(k, "status");
    cz_text_puts(k->out, "}\n\n");
}

/* What is reduced down columns comes first: the other kernel may overwrite what
 * that is made of. */
void cz_cuda_kernels(cz_text *out, const cz_loop *loop, int number,
                     bool is_epilogue,
                     void (*put)(cz_cuda_kernel *k, void *user), void *user)
{
    for (int by_columns = 1; by_columns >= 0; by_columns--) {
        cz_cuda_kernel k = {.out = out,
                            .loop = loop,
                            .number = number,
                            .is_epilogue = is_epilogue,
                            .by_columns = by_columns,
                            .blocks = cz_loop_n_blocks(loop->step),
                            .depth = 1};
        if (!makes_any(&k))
            continue;
        k.form = form_of(&k);
        k.width = width_of(&k);
        put(&k, user);
    }
}

void cz_emit_cuda_loop(cz_text *out, const cz_loop *loop, int number,
                       bool is_epilogue)
{
    cz_cuda_kernels(out, loop, number, is_epilogue, put_kernel, NULL);
}
