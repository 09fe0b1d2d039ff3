/* The pipeline: one pass a line. */
#include "passes/passes.h"

#include <string.h>

const cz_pass cz_passes[] = {
    {"simplify", "math form", "math form, nothing twice, nothing dead",
     cz_simplify_pass},
    {"cut", "math form", "stages in math form", cz_cut_pass},
    {"kernel", "stages in math form", "stages in kernel form", cz_kernel_pass},
    {"workspace", "stages in kernel form", "offsets, work_bytes",
     cz_workspace_pass},
    {"flops", "stages in kernel form", "flops of stages", cz_flops_pass},
    {"assign", "stages, their flops", "owners of matrices", cz_assign_pass},
    {"bucket", "owners", "buckets", cz_bucket_pass},
    {"schedule", "stages, owners, buckets", "ops, tables, arena",
     cz_schedule_pass},
    {0},
};

bool cz_passes_run(cz_ir *ir, const char *last, cz_diags *diags)
{
    for (const cz_pass *pass = cz_passes; pass->name; pass++) {
        if (!pass->run(ir, diags) || !cz_ir_verify(ir))
            return false;
        if (last && strcmp(pass->name, last) == 0)
            break;
    }
    return true;
}
