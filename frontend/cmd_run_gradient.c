/* Reproducible normal values, two from each pair of hashes. */
#define _DEFAULT_SOURCE
#include "frontend/cmd_run_gradient.h"

#include <math.h>

/* Steele, Lea and Flood's SplitMix64 finaliser. */
static uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* In (0, 1], with 53 bits. */
static double uniform(uint64_t bits)
{
    return ((double)(bits >> 11) + 1.0) * 0x1p-53;
}

static uint64_t key_of(const cz_sample *sample)
{
    uint64_t key = mix(sample->seed);

    key = mix(key ^ (uint64_t)sample->param);
    key = mix(key ^ (uint64_t)(sample->microbatch + 1));
    return mix(key ^ (uint64_t)(sample->step + 1));
}

/* Elements 2i and 2i + 1 are one pair. */
static void pair(uint64_t key, int64_t i, float out[2])
{
    const uint64_t counter = key + 2 * (uint64_t)i;
    const double radius = sqrt(-2.0 * log(uniform(mix(counter))));
    const double angle = 2.0 * M_PI * uniform(mix(counter + 1));

    out[0] = (float)(radius * cos(angle));
    out[1] = (float)(radius * sin(angle));
}

void cz_sample_fill(const cz_sample *sample, int64_t first, int64_t n,
                    float *out)
{
    const uint64_t key = key_of(sample);
    int64_t i = first;
    float values[2];

    while (i < first + n) {
        pair(key, i / 2, values);
        out[i - first] = values[i % 2];
        if (i % 2 == 0 && i + 1 < first + n)
            out[++i - first] = values[1];
        i++;
    }
}
