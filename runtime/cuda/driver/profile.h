/* Ranges for profilers, on the thread that launches: NVTX 3 in the domain
 * "canzona", where its headers were there when this was built.  Without a tool
 * that listens a range is one comparison. */
#ifndef CZR_CUDA_DRIVER_PROFILE_H
#define CZR_CUDA_DRIVER_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

/* Whether somebody listens: whoever makes a name asks first. */
bool czr_profile_is_open(void);
/* A range inside those that are open on this thread; `name` is copied.  `op` is
 * its payload: the operation of the plan, or -1. */
void czr_profile_begin(const char *name, int64_t op);
void czr_profile_end(void);

#endif
