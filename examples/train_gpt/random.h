/* Random numbers that depend on a counter alone, so that any rank can draw any
 * of them without having drawn the others. */
#ifndef EXAMPLES_TRAIN_GPT_RANDOM_H
#define EXAMPLES_TRAIN_GPT_RANDOM_H

#include <math.h>
#include <stdint.h>

/* SplitMix64 (Steele, Lea, Flood 2014) as a function of (seed, counter). */
static inline uint64_t random_bits(uint64_t seed, uint64_t counter)
{
    uint64_t z = seed * UINT64_C(0xd1342543de82ef95) +
                 (counter + 1) * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* In (0, 1). */
static inline double random_uniform(uint64_t seed, uint64_t counter)
{
    return ((double)(random_bits(seed, counter) >> 11) + 0.5) * 0x1p-53;
}

/* Standard normal, by Box and Muller. */
static inline double random_normal(uint64_t seed, uint64_t counter)
{
    const double turn = 6.283185307179586;
    const double radius = sqrt(-2 * log(random_uniform(seed, 2 * counter)));
    return radius * cos(turn * random_uniform(seed, 2 * counter + 1));
}

#endif
