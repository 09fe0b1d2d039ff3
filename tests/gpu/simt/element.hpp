// f16, and elements of products: bf16, or f16 where FP16 is 1.
#pragma once

#include "block.hpp"

#ifndef FP16
#define FP16 0
#endif

namespace simt
{

inline float from_f16(u16 v)
{
    const int exponent = v >> 10 & 31, fraction = v & 1023;
    float f = std::ldexp(static_cast<float>(fraction), -24);

    if (exponent == 31)
        f = fraction ? NAN : INFINITY;
    else if (exponent)
        f = std::ldexp(static_cast<float>(1024 + fraction), exponent - 25);
    return v >> 15 ? -f : f;
}

// To nearest even, as the processor rounds, in units of the last place: that
// of the smallest normal number below it.
inline u16 to_f16(float f)
{
    const u32 sign = std::signbit(f) ? 0x8000 : 0;
    const float size = std::fabs(f);

    if (std::isnan(f))
        return 0x7fff;
    if (size >= 65520.f)
        return static_cast<u16>(sign | 0x7c00);
    const int exponent = size < 6.103515625e-5f ? -14 : std::ilogb(size);
    const auto units =
        static_cast<u32>(std::nearbyint(std::ldexp(size, 10 - exponent)));
    return static_cast<u16>(sign |
                            ((static_cast<u32>(exponent + 14) << 10) + units));
}

inline float from_element(u16 v)
{
    return FP16 ? from_f16(v) : from_bf16(v);
}

inline u16 to_element(float f)
{
    return FP16 ? to_f16(f) : to_bf16(f);
}

} // namespace simt

DEV u16 round_f16(float x)
{
    return simt::to_f16(x);
}

DEV float widen_f16(u16 x)
{
    return simt::from_f16(x);
}

DEV u32 pack_pair(float low, float high)
{
    return simt::to_element(low) | static_cast<u32>(simt::to_element(high))
                                       << 16;
}

DEV float low_of_pair(u32 pair)
{
    return simt::from_element(simt::half_of(pair, 0));
}

DEV float high_of_pair(u32 pair)
{
    return simt::from_element(simt::half_of(pair, 1));
}
