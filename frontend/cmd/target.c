/* What targets there are. */
#include "frontend/cmd/target.h"

#include <stdio.h>
#include <string.h>

/* Those of GPUs share one text. */
static const struct {
    const char *name;
    bool is_gpu;
} targets[] = {{"cpu", false}, {"sm_80", true}, {"sm_90a", true}};

bool cz_target_take(const char *command, const char *name, size_t n,
                    bool *is_gpu)
{
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++)
        if (strlen(targets[i].name) == n &&
            strncmp(targets[i].name, name, n) == 0) {
            *is_gpu |= targets[i].is_gpu;
            return true;
        }
    fprintf(stderr,
            "canzona %s: error: target \"%.*s\" is not supported yet: cpu, "
            "sm_80 and sm_90a are\n",
            command, (int)n, name);
    return false;
}
