/* Reproducible normal values, two from each pair of hashes. */
#include "frontend/run/run.h"

#include <math.h>

/* Steele, Lea and Flood's SplitMix64 finaliser. */
static uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* Half of a hash as a number in [-1, 1). */
static double signed_unit(uint32_t bits)
{
    return ((double)bits - 0x1p31) * 0x1p-31;
}

/* Fowler, Noll and Vo's FNV-1a. */
uint64_t cz_sample_tensor(const char *name)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * 0x100000001b3u;
    return hash;
}

static uint64_t key_of(const cz_sample *sample)
{
    uint64_t key = mix(sample->seed);

    key = mix(key ^ sample->tensor);
    key = mix(key ^ (uint64_t)(sample->microbatch + 1));
    return mix(key ^ (uint64_t)(sample->step + 1));
}

void cz_sample_fill(const cz_sample *sample, int64_t first, int64_t n,
                    float *out)
{
    const uint64_t key = key_of(sample);
    int64_t i = first;
    float values[2];

    while (i < first + n) {
        /* Elements 2i and 2i + 1 are one pair: Marsaglia's polar method, which
         * takes the next hash until a point falls inside the unit circle. */
        uint64_t hash = mix(key + (uint64_t)(i / 2));
        double x, y, square, factor;

        for (;; hash = mix(hash)) {
            x = signed_unit((uint32_t)(hash >> 32));
            y = signed_unit((uint32_t)hash);
            square = x * x + y * y;
            if (square < 1 && square > 0)
                break;
        }
        factor = sqrt(-2 * log(square) / square);
        values[0] = (float)(x * factor);
        values[1] = (float)(y * factor);
        out[i - first] = values[i % 2];
        if (i % 2 == 0 && i + 1 < first + n)
            out[++i - first] = values[1];
        i++;
    }
}

uint64_t cz_sample_extern(const char *param, const char *name)
{
    return mix(cz_sample_tensor(param)) ^ cz_sample_tensor(name);
}
