// What element-wise kernels take of the device besides device.cuh: 16 bytes of
// global memory at once, bits of numbers, and a warp's exchange of doubles.
// Tests put a model in the place of this file, too.

DEV uint4 load_global128(const void *p)
{
    return *(const uint4 *)p;
}

DEV void store_global128(void *p, uint4 v)
{
    *(uint4 *)p = v;
}

DEV u32 bits_of(float x)
{
    return __float_as_uint(x);
}

DEV float float_of(u32 bits)
{
    return __uint_as_float(bits);
}

DEV u64 bits_of(double x)
{
    return (u64)__double_as_longlong(x);
}

// The first that is not 0 stays.
DEV void keep_first(int *p, int value)
{
    atomicCAS(p, 0, value);
}

// The double of lane `lane ^ mask`.
DEV double shuffle_xor(double x, int mask)
{
    return __shfl_xor_sync(0xffffffffu, x, mask);
}

#ifndef INFINITY
#define INFINITY __int_as_float(0x7f800000)
#define NAN __int_as_float(0x7fffffff)
#endif
