/* NVRTC, opened when asked for: kernel bodies to machine code, without a GPU or
 * its driver. */
#ifndef CZR_CUDA_LIBRARY_NVRTC_H
#define CZR_CUDA_LIBRARY_NVRTC_H

#include <stddef.h>

/* The oldest version that knows all we need. */
enum { CZR_NVRTC_MAJOR = 12, CZR_NVRTC_MINOR = 6, CZR_NVRTC_MESSAGE = 256 };

typedef struct czr_nvrtc czr_nvrtc;

typedef enum czr_nvrtc_status {
    CZR_NVRTC_OK,
    CZR_NVRTC_MISSING, /* no library, one that lacks a function, or too old */
    CZR_NVRTC_REFUSED, /* the source does not compile; the log says why */
    CZR_NVRTC_NO_MEMORY
} czr_nvrtc_status;

/* What came of one source; czr_nvrtc_code_fini frees it.  `log` is never NULL
 * after OK or REFUSED. */
typedef struct czr_nvrtc_code {
    unsigned char *bytes;
    size_t n_bytes;
    char *log;
} czr_nvrtc_code;

/* The library at `path`, or where that is NULL the newest that the loader
 * finds; a driver for CUDA 12 wants one of version 12: "libnvrtc.so.12".  If it
 * fails, *out is NULL and `message` says why. */
czr_nvrtc_status czr_nvrtc_open(const char *path, czr_nvrtc **out,
                                char message[CZR_NVRTC_MESSAGE]);
/* NULL is allowed. */
void czr_nvrtc_close(czr_nvrtc *nvrtc);
/* Which one it is: code of another version is other code. */
void czr_nvrtc_version(const czr_nvrtc *nvrtc, int *major, int *minor);

/* A text without includes with NVRTC's options, among them the architecture: a
 * cubin for -arch=sm_N, else PTX with its final zero. */
czr_nvrtc_status czr_nvrtc_compile(czr_nvrtc *nvrtc, const char *source,
                                   const char *const *options, int n_options,
                                   czr_nvrtc_code *code);
void czr_nvrtc_code_fini(czr_nvrtc_code *code);

#endif
