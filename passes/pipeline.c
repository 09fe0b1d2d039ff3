/* The pipeline: one pass a line. */
#include "passes/passes.h"

#include <string.h>

const cz_pass cz_passes[] = {
    {"simplify", "math form", "math form, nothing twice, nothing dead",
     cz_simplify_pass},
    {"gram", "math form", "math form, iterations in Gram form", cz_gram_pass},
    {"cut", "math form", "stages in math form", cz_cut_pass},
    {"kernel", "stages in math form", "stages in kernel form", cz_kernel_pass},
    {"blocks", "stages in kernel form", "the order of strict sums",
     cz_blocks_pass},
    {"workspace", "stages in kernel form", "offsets, within, work_bytes",
     cz_workspace_pass},
    {"flops", "stages in kernel form", "flops of stages", cz_flops_pass},
    {"place", "stages, a machine", "owners of matrices, buckets",
     cz_place_pass},
    {"strategy", "owners", "groups that share matrices", cz_strategy_pass},
    {"share", "stages, owners, groups", "stages of shared matrices",
     cz_share_pass},
    {"schedule", "stages, owners, buckets", "ops, tables, arena",
     cz_schedule_pass},
    {"batch", "ops, tables, the fact gpu", "matrices computed as one",
     cz_batch_pass},
    {"tiling", "stages, batches, the fact gpu", "tiles of products",
     cz_tiling_pass},
    {0},
};

const cz_pass *cz_passes_find(const char *name)
{
    for (const cz_pass *pass = cz_passes; pass->name; pass++)
        if (strcmp(pass->name, name) == 0)
            return pass;
    return NULL;
}

typedef enum distrust { TRUSTED, VERIFIED } distrust;

/* The passes from one to another; NULL: to the last. */
static bool run_from(const cz_pass *first, const char *last, distrust how,
                     cz_ir *ir, cz_diags *diags)
{
    const cz_pass *end = last ? cz_passes_find(last) : NULL;

    for (const cz_pass *pass = first; pass->name; pass++) {
        if (!pass->run(ir, diags) || (how == VERIFIED && !cz_ir_verify(ir)))
            return false;
        if (pass == end)
            break;
    }
    return true;
}

bool cz_passes_run(cz_ir *ir, const char *last, cz_diags *diags)
{
    return run_from(cz_passes, last, VERIFIED, ir, diags);
}

bool cz_passes_assign(cz_ir *ir, cz_diags *diags)
{
    return run_from(cz_passes, "strategy", VERIFIED, ir, diags);
}

bool cz_passes_schedule(cz_ir *ir, cz_diags *diags)
{
    return run_from(cz_passes_find("strategy") + 1, "schedule", VERIFIED, ir,
                    diags);
}

bool cz_passes_gpu(cz_ir *ir, const char *last, cz_diags *diags)
{
    return run_from(cz_passes_find("schedule") + 1, last, VERIFIED, ir, diags);
}

bool cz_passes_try(cz_ir *ir, const char *first, const char *last,
                   cz_diags *diags)
{
    return run_from(cz_passes_find(first), last, TRUSTED, ir, diags);
}
