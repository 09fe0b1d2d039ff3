/* Which code runs on which GPU, by one rule:
 *   older than 8.0  none: czr_context_open refuses it
 *   8.x             machine code of sm_80
 *   9.0             machine code of sm_90a
 *   later           PTX of compute_80, which the driver compiles as it loads it
 * PTX is of the version of the NVRTC that wrote it, and a driver reads none
 * that is newer than itself; machine code is of its major version. */
#ifndef CZR_CUDA_DRIVER_TARGET_H
#define CZR_CUDA_DRIVER_TARGET_H

#include "runtime/cuda/driver/context.h"
#include "runtime/cuda/library/nvrtc.h"

enum { CZR_TARGET_LINE = 256 };

/* NVRTC's option for the context's device. */
const char *czr_target_arch(const czr_context *context);
bool czr_target_is_ptx(const czr_context *context);

/* Before anything is compiled: whether the driver can read what `nvrtc` writes
 * for this device.  CZR_ERR_DEVICE_CODE: it cannot, and the context says which
 * driver is needed.  `nvrtc` NULL: nothing is known. */
czr_status czr_target_check(czr_context *context, const czr_nvrtc *nvrtc);

/* For the log, where it is PTX; else "". */
void czr_target_describe(const czr_context *context,
                         char line[CZR_TARGET_LINE]);

#endif
