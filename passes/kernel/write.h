/* Writes kernel form into the module: one function of maps and products, and
 * their bodies as private functions, equal ones once. */
#ifndef CZ_PASSES_KERNEL_WRITE_H
#define CZ_PASSES_KERNEL_WRITE_H

#include "dsl/ir/ir.h"
#include "passes/kernel/kernel.h"

typedef struct cz_kernel_writer {
    cz_ir *ir;
    cz_arena *arena;
    int n_bodies;
    cz_view_body *bodies; /* that the module has */
} cz_kernel_writer;

/* A function `name`, which is new; bodies that are new have names that begin
 * with `stem`. */
void cz_kernel_write(cz_kernel_writer *writer, const cz_kernel *kernel,
                     const char *stem, const char *name);

#endif
