/* The cases, and what goes into them. */
#include "tests/gpu/primitives/primitives.h"

#include <string.h>

#define PRIMITIVE(name, architecture, n_blocks, n_threads, input, n_in, n_out) \
    {#name, architecture, n_blocks, n_threads, PRIMITIVE_##input, n_in, n_out},
const primitive primitives[] = {
#include "tests/gpu/primitives/cases.def"
};
#undef PRIMITIVE
const int n_primitives = (int)(sizeof primitives / sizeof *primitives);

static uint32_t draw(uint64_t *state)
{
    uint64_t x = *state += UINT64_C(0x9e3779b97f4a7c15);

    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return (uint32_t)(x >> 32);
}

/* Halfway between two of bf16, or next to it; numbers at the ends of either;
 * any bits. */
static uint32_t draw_float(uint64_t *state)
{
    static const uint32_t ends[] = {0x00000000, 0x80000000, 0x7f800000,
                                    0xff800000, 0x7fc00000, 0x7f7fffff,
                                    0x00000001, 0x00008000, 0x007fffff};
    const uint32_t bits = draw(state), kind = draw(state) % 4;
    const uint32_t next = draw(state) % 3 - 1;

    if (kind == 0)
        return ends[bits % (sizeof ends / sizeof *ends)] ^ (next & 0x80000000);
    if (kind == 1)
        return bits;
    return ((bits & 0xffff0000) | 0x8000) + next;
}

/* The same of f16 and its subnormal numbers. */
static uint32_t draw_half(uint64_t *state)
{
    static const uint32_t ends[] = {
        0x00000000, 0x80000000, 0x7f800000, 0xff800000, 0x7fc00000, 0x7f7fffff,
        0x477fe000, 0x477fefff, 0x477ff000, 0x477ff001, 0x33000000, 0x33000001,
        0x387fe000, 0x387ff000, 0x38800000, 0x00000001, 0x33800000, 0x007fffff};
    const uint32_t bits = draw(state), kind = draw(state) % 4;
    const uint32_t next = draw(state) % 3 - 1;
    const uint32_t near_f16 = (bits & 0x8fffffff) + 0x30000000;

    if (kind == 0)
        return ends[bits % (sizeof ends / sizeof *ends)] ^ (next & 0x80000000);
    if (kind == 1)
        return bits;
    return ((near_f16 & 0xffffe000) | 0x1000) + next;
}

/* The bits of an integer from -8 to 8. */
static uint32_t draw_element(uint64_t *state)
{
    static const uint32_t bf16[] = {0,      0x3f80, 0x4000, 0x4040, 0x4080,
                                    0x40a0, 0x40c0, 0x40e0, 0x4100};
    const uint32_t size = draw(state) % 9, sign = draw(state) & 0x8000;

    return bf16[size] | (size ? sign : 0);
}

void primitives_draw(int which, uint64_t seed, uint32_t *in)
{
    const primitive *p = &primitives[which];
    uint64_t state = seed;

    /* The name alone decides: cases may come and go. */
    for (const char *at = p->name; *at; at++)
        state = (state ^ (unsigned char)*at) * 0x100000001b3u;
    for (unsigned i = 0; i < p->n_in; i++)
        if (p->input == PRIMITIVE_WORDS)
            in[i] = draw(&state);
        else if (p->input == PRIMITIVE_FLOATS)
            in[i] = draw_float(&state);
        else if (p->input == PRIMITIVE_HALVES)
            in[i] = draw_half(&state);
        else
            in[i] = draw_element(&state) | draw_element(&state) << 16;
}
