/* Single instructions that kernel bodies use: as a device runs them, as the
 * model of the device does, and as a device once did (tests/gpu/golden). */
#ifndef TESTS_CUDA_PRIMITIVES_H
#define TESTS_CUDA_PRIMITIVES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    PRIMITIVES_SHARED_BYTES = 42048, /* of a block */
    PRIMITIVES_MAX_WORDS = 16384,
    PRIMITIVES_BOX = 64,
    PRIMITIVES_COLUMNS = 100,
    PRIMITIVES_ROWS = 90,
    PRIMITIVES_LAYERS = 2,
    PRIMITIVES_STRIDE = 104, /* elements */
    PRIMITIVES_POISON = 0xa5 /* of each byte of the output before */
};

typedef enum primitive_input {
    PRIMITIVE_WORDS,   /* any bits */
    PRIMITIVE_FLOATS,  /* f32, most of them halfway between two of bf16 */
    PRIMITIVE_HALVES,  /* f32, most of them halfway between two of f16 */
    PRIMITIVE_INTEGERS /* pairs of elements, each from -8 to 8 */
} primitive_input;

typedef struct primitive {
    const char *name; /* of the kernel, too */
    int architecture; /* 80 and later, 90: sm_90a alone */
    unsigned n_blocks, n_threads;
    primitive_input input;
    unsigned n_in, n_out; /* words */
} primitive;

extern const primitive primitives[];
extern const int n_primitives;

/* The inputs of a case, by the seed and the case's number alone. */
void primitives_draw(int which, uint64_t seed, uint32_t *in);

/* By the model, in an order of threads and copies that `seed` draws. */
void primitives_model(int which, uint64_t seed, const uint32_t *in,
                      uint32_t *out);
/* The model's kernels are the double of the driver's. */
void primitives_register(void);

/* A device, and what ran on it in a process of its own. */
typedef struct primitives_device {
    const char *driver;    /* library; NULL: the machine's own */
    const char *compiler;  /* NVRTC that serves; NULL: the double's kernels */
    const char *source[2]; /* bodies_sm80.cu, bodies_sm90.cu */
    unsigned seconds;      /* for one case */
    char name[128];        /* "" until it was found */
    int architecture, version; /* 10 major + minor; of the driver */
    void *code[2];             /* of both sources */
} primitives_device;

typedef enum primitives_outcome {
    PRIMITIVES_RAN,
    PRIMITIVES_NOT_FOR_IT, /* the device lacks the instruction */
    PRIMITIVES_NO_DEVICE,
    PRIMITIVES_FAILED /* why was printed */
} primitives_outcome;

/* Finds the device: PRIMITIVES_RAN or PRIMITIVES_NO_DEVICE. */
primitives_outcome primitives_find(primitives_device *device);
/* Compiles for it.  Without a device's processes: those take it over. */
bool primitives_load(primitives_device *device);
void primitives_unload(primitives_device *device);
primitives_outcome primitives_run(const primitives_device *device, int which,
                                  const uint32_t *in, uint32_t *out);
/* Both sources, for all architectures, by NVRTC. */
bool primitives_compile_all(const primitives_device *device);

/* One case as a file of `folder`: a line that says what it is of, its words. */
bool primitives_write(const char *folder, int which, uint64_t seed,
                      const primitives_device *device, const uint32_t *out);
/* What was written; false: there is no such file.  A file that is no vector of
 * this case is PRIMITIVES_FAILED in *state. */
bool primitives_read(const char *folder, int which, uint64_t seed, char *of,
                     size_t of_bytes, uint32_t *out, primitives_outcome *state);

#ifdef __cplusplus
}
#endif

#endif
