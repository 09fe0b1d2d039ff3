/* Time as deadlines count it. */
#ifndef CZR_CUDA_DRIVER_CLOCK_H
#define CZR_CUDA_DRIVER_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Milliseconds since some moment; never goes back.  The file that includes this
 * asks for POSIX. */
static inline int64_t czr_now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

#endif
