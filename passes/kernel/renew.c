/* Results that renew what a kernel still reads: written last. */
#include "passes/kernel/kernel.h"

/* The step that makes a value, and which of its results it is. */
static int find_step(const cz_kernel *kernel, int value, int *result)
{
    int first = kernel->n_in + kernel->n_scalars, s = 0;

    while (value >= first + kernel->steps[s].n_out)
        first += kernel->steps[s++].n_out;
    *result = value - first;
    return s;
}

static int add_copy_body(cz_arena *arena, cz_kernel *kernel, cz_dtype dtype)
{
    cz_dtype *dtypes = CZ_NEW(arena, cz_dtype, 1);
    int *out = CZ_NEW(arena, int, 1);

    *dtypes = dtype;
    *CZ_PUSH(arena, kernel->bodies, kernel->n_bodies) = (cz_view_body){
        .n_in = 1, .in = dtypes, .n_out = 1, .out = out, .out_dtype = dtypes};
    return kernel->n_bodies - 1;
}

/* A step that copies a value; the copy. */
static int add_copy(cz_arena *arena, cz_kernel *kernel, int value)
{
    const cz_ir_type type = kernel->types[value];
    cz_access *access = CZ_NEW(arena, cz_access, 1);
    cz_dtype *dtype = CZ_NEW(arena, cz_dtype, 1);
    int *in = CZ_NEW(arena, int, 1);
    const int body = add_copy_body(arena, kernel, type.dtype);

    *access = CZ_ACCESS_ELEMENT;
    *dtype = type.dtype;
    *in = value;
    *CZ_PUSH(arena, kernel->steps, kernel->n_steps) = (cz_view_step){
        .body = body,
        .n_in = 1,
        .in = in,
        .access = access,
        .n_out = 1,
        .out_access = access,
        .out_dtype = dtype,
        .rows = type.rank == 2 ? type.shape[0] : 1,
        .columns = type.rank == 0 ? 1 : type.shape[type.rank - 1]};
    *CZ_PUSH(arena, kernel->types, kernel->n_values) = type;
    return kernel->n_values - 1;
}

void cz_kernel_renew(cz_arena *arena, cz_kernel *kernel, const int *renews)
{
    int *late = CZ_NEW(arena, int, kernel->n_out), n_late = 0;

    for (int i = 0; i < kernel->n_out; i++) {
        int result;
        if (renews[i] < 0)
            continue;
        const int s = find_step(kernel, kernel->out_value[i], &result);
        if (cz_view_conflicts(kernel->steps, kernel->n_steps, renews[i], s,
                              result))
            late[n_late++] = i;
    }
    for (int k = 0; k < n_late; k++)
        kernel->out_value[late[k]] =
            add_copy(arena, kernel, kernel->out_value[late[k]]);
}
