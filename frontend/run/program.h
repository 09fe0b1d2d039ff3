/* From a plan to a program in this process: emit C, compile, load. */
#ifndef CZ_FRONTEND_RUN_PROGRAM_H
#define CZ_FRONTEND_RUN_PROGRAM_H

#include "codegen/emit.h"
#include "dsl/base/diag.h"
#include "dsl/plan/plan.h"

#include "runtime/czr_cuda.h"

typedef struct cz_loaded {
    void *library; /* dlopen handle; NULL: nothing loaded */
    const czr_program *program;
    const czr_cuda_program *cuda; /* NULL: it is the host's alone */
} cz_loaded;

/* Emit the plan into a fresh private folder, compile it with $CC (else cc)
 * without a shell, load it, and remove the folder.  Reports what fails. */
bool cz_loaded_open(const cz_plan_view *view, const char *plan_hash,
                    cz_diags *diags, cz_loaded *out);
/* The same for a GPU, with NAME_cuda.c. */
bool cz_loaded_open_cuda(const cz_plan_view *view, const char *plan_hash,
                         cz_diags *diags, cz_loaded *out);
void cz_loaded_close(cz_loaded *loaded);

/* Flags that generated C wants, for --print-cflags. */
extern const char *const cz_program_cflags[];

#endif
