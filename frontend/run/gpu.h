/* The GPU of a run, and what drives it and compiles for it. */
#ifndef CZ_FRONTEND_RUN_GPU_H
#define CZ_FRONTEND_RUN_GPU_H

#include "dsl/base/diag.h"

#include "runtime/cuda/driver/cache.h"
#include "runtime/cuda/driver/context.h"
#include "runtime/cuda/library/nvrtc.h"

typedef struct cz_run_gpu {
    czr_driver *driver;
    czr_context *context;
    czr_nvrtc *nvrtc;
    czr_cache *cache;    /* of the user's own; NULL without memory */
    void *copier;        /* stream: tensors to the GPU and back */
    unsigned char *room; /* of the host: a tensor on its way */
    size_t room_bytes;
} cz_run_gpu;

/* The first GPU that the driver shows, and libraries where the loader finds
 * them.  Reports what is not there, and a GPU that runs other code than the
 * target's; nothing is held then. */
bool cz_run_gpu_open(const char *target, cz_diags *diags, cz_run_gpu *out);
void cz_run_gpu_close(cz_run_gpu *gpu);

/* At least so many bytes of the host's, until it is asked again; NULL without
 * memory. */
unsigned char *cz_run_gpu_room(cz_run_gpu *gpu, size_t bytes);
/* Between the two, in either direction, waited for. */
czr_status cz_run_gpu_copy(cz_run_gpu *gpu, void *to, const void *from,
                           size_t bytes);

#endif
