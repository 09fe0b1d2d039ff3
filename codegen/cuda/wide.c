/* Neighbours of a run or of a row: read at once, worked on one by one, written
 * at once. */
#include "codegen/cuda/internal.h"

#include <stdio.h>

/* An array of elements, named as in the signature. */
typedef struct array {
    char name[16];
    cz_dtype dtype;
    bool is_read, is_written;
    const char *at; /* where a thread's neighbours begin */
    int number;     /* among the kernel's */
} array;

typedef void array_printer(const cz_cuda_kernel *k, const array *a);

/* Calls `put` for each array of elements; returns how many there are. */
static int for_arrays(const cz_cuda_kernel *k, array_printer *put)
{
    const cz_view_step *step = cz_cuda_step(k);
    const char *const at = k->form == CZ_CUDA_RUN ? "at" : "i * columns + e";
    array a = {"acc", CZ_F32, true, false, at, 0};

    if (k->is_epilogue) {
        put(k, &a);
        a.number++;
    }
    for (int i = cz_cuda_first_in(k); i < step->n_in; i++) {
        const bool is_column = step->access[i] == CZ_ACCESS_COLUMN;
        if ((step->access[i] != CZ_ACCESS_ELEMENT && !is_column) ||
            cz_loop_written_by(k->loop, i) >= 0)
            continue;
        snprintf(a.name, sizeof a.name, "x%d", i);
        a.at = is_column ? "e" : at;
        a.dtype = k->loop->in_dtype[i];
        put(k, &a);
        a.number++;
    }
    a.is_written = true;
    a.at = at;
    for (int i = 0; i < step->n_out; i++) {
        if (step->out_access[i] != CZ_ACCESS_ELEMENT)
            continue;
        snprintf(a.name, sizeof a.name, "y%d", i);
        a.dtype = step->out_dtype[i];
        a.is_read = k->loop->in_place[i] >= 0;
        put(k, &a);
        a.number++;
    }
    return a.number;
}

static void put_name(const cz_cuda_kernel *k, const array *a)
{
    cz_text_printf(k->out, "%s%s", a->number ? ", " : "", a->name);
}

static void put_read(const cz_cuda_kernel *k, const array *a)
{
    if (a->is_read)
        cz_cuda_line(
            k, "wide<%s, %d> w%s = read_wide<%d>(%s + %s, left, is_wide);",
            cz_c_type(a->dtype), k->width, a->name, k->width, a->name, a->at);
    else
        cz_cuda_line(k, "wide<%s, %d> w%s;", cz_c_type(a->dtype), k->width,
                     a->name);
}

static void put_write(const cz_cuda_kernel *k, const array *a)
{
    if (a->is_written)
        cz_cuda_line(k, "write_wide(%s + %s, w%s, left, is_wide);", a->name,
                     a->at, a->name);
}

static void pass_over(const cz_cuda_kernel *k, const array *a)
{
    (void)k, (void)a;
}

void cz_cuda_alignment(const cz_cuda_kernel *k, const char *length)
{
    if (for_arrays(k, pass_over) == 0)
        return;
    for (int i = 0; i < k->depth; i++)
        cz_text_puts(k->out, "    ");
    cz_text_puts(k->out, "const bool is_wide = ");
    if (length)
        cz_text_printf(k->out, "%s %% %d == 0 && ", length, k->width);
    cz_text_puts(k->out, "are_aligned(");
    for_arrays(k, put_name);
    cz_text_puts(k->out, k->depth > 1 ? ");\n" : ");\n\n");
}

/* Whether an element's column is asked for by its number. */
static bool counts_columns(const cz_cuda_kernel *k)
{
    const cz_view_step *step = cz_cuda_step(k);

    for (int i = 0; i < step->n_generated; i++)
        if (step->generated[i] == CZ_GENERATE_COLUMN)
            return true;
    for (int i = cz_cuda_first_in(k); i < step->n_in; i++)
        if (step->access[i] == CZ_ACCESS_TRANSPOSED)
            return true;
    return false;
}

void cz_cuda_neighbours(cz_cuda_kernel *k, const char *left)
{
    cz_cuda_line(k, "const int left = left_of<%d>(%s);", k->width, left);
    if (cz_cuda_is_wide(k))
        for_arrays(k, put_read);
    cz_text_puts(k->out, "#pragma unroll\n");
    cz_cuda_line(k, "for (int k = 0; k < %d; k++) {", k->width);
    k->depth++;
    cz_cuda_line(k, "if (k >= left)");
    cz_cuda_line(k, "    continue;");
    if (k->form == CZ_CUDA_ROWS && counts_columns(k))
        cz_cuda_line(k, "const u64 j = e + k;");
    if (!cz_cuda_is_wide(k))
        cz_cuda_line(k,
                     "const u64 at = at_in_part(e + k, part, columns / %d, "
                     "columns);",
                     k->blocks);
    cz_cuda_element(k);
    k->depth--;
    cz_cuda_line(k, "}");
    if (cz_cuda_is_wide(k))
        for_arrays(k, put_write);
}
