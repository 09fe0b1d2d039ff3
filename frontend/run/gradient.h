/* Reproducible values for `run`: a counter-based generator, so that every
 * element is the same whatever mesh asks for it. */
#ifndef CZ_FRONTEND_RUN_GRADIENT_H
#define CZ_FRONTEND_RUN_GRADIENT_H

#include <stdint.h>

/* What a value belongs to.  Initial parameters have microbatch and step -1,
 * externs microbatch -1. */
typedef struct cz_sample {
    uint64_t seed;
    uint64_t tensor; /* of its name */
    int64_t microbatch, step;
} cz_sample;

uint64_t cz_sample_tensor(const char *name);

/* Standard normal values of elements [first, first + n) of the whole tensor
 * (row-major), as f32 with full mantissa.  Marsaglia's polar method on
 * SplitMix64 hashes of the counter. */
void cz_sample_fill(const cz_sample *sample, int64_t first, int64_t n,
                    float *out);

/* An extern of a parameter at a step, all of its n elements: absolute values of
 * normal ones, so that they have roots and logarithms. */
void cz_sample_extern(uint64_t seed, const char *param, const char *name,
                      int step, int64_t n, float *out);

#endif
