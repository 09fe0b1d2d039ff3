/* Targets by name, as --target of build and run has them. */
#ifndef CZ_FRONTEND_CMD_TARGET_H
#define CZ_FRONTEND_CMD_TARGET_H

#include <stdbool.h>
#include <stddef.h>

/* The first `n` characters of `name`; *is_gpu is set where it is a GPU's, and
 * stays else.  False: there is no such target, which `command` says. */
bool cz_target_take(const char *command, const char *name, size_t n,
                    bool *is_gpu);
/* Whether a list of them, with commas in between, has a GPU's. */
bool cz_target_has_gpu(const char *list);

#endif
