/* What targets there are. */
#include "frontend/cmd/cmd.h"

#include <stdio.h>
#include <string.h>

/* Those of GPUs share one text. */
static const struct target {
    const char *name;
    bool is_gpu;
} targets[] = {{"cpu", false}, {"sm_80", true}, {"sm_90a", true}};

/* NULL: there is no such target. */
static const struct target *find(const char *name, size_t n)
{
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++)
        if (strlen(targets[i].name) == n &&
            strncmp(targets[i].name, name, n) == 0)
            return &targets[i];
    return NULL;
}

bool cz_target_take(const char *command, const char *name, size_t n,
                    bool *is_gpu)
{
    const struct target *target = find(name, n);

    if (target) {
        *is_gpu |= target->is_gpu;
        return true;
    }
    fprintf(stderr,
            "canzona %s: error: target \"%.*s\" is not supported yet: cpu, "
            "sm_80 and sm_90a are\n",
            command, (int)n, name);
    return false;
}

bool cz_target_has_gpu(const char *list)
{
    for (;; list++) {
        const size_t n = strcspn(list, ",");
        const struct target *target = find(list, n);
        if (target && target->is_gpu)
            return true;
        list += n;
        if (!*list)
            return false;
    }
}
