// Types and conversions that every kernel body uses.  Bodies include nothing:
// NVRTC compiles headers of ours and one body as one text, and tests put a
// model of the device in C++ in the place of this file, sm80.cuh and sm90.cuh.
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

#define DEV static __device__ __forceinline__
// Shared memory whose size the launch gives, `name` its first byte.
#define SHARED_DYNAMIC(name)                                                   \
    extern __shared__ __align__(1024) unsigned char name[]

// Where p lies in shared memory, as instructions want it: 32 bits.
DEV u32 shared_address(const void *p)
{
    return (u32)__cvta_generic_to_shared(p);
}

// Two f32 rounded to nearest even, the first in the lower half.
DEV u32 pack_bf16(float low, float high)
{
    u32 r;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
    return r;
}

DEV float low_bf16(u32 pair)
{
    return __uint_as_float(pair << 16);
}

DEV float high_bf16(u32 pair)
{
    return __uint_as_float(pair & 0xffff0000u);
}

// To nearest even; what is beyond f16 becomes infinity.
DEV u16 round_f16(float x)
{
    u16 r;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(r) : "f"(x));
    return r;
}

DEV float widen_f16(u16 x)
{
    float r;
    asm("cvt.f32.f16 %0, %1;" : "=f"(r) : "h"(x));
    return r;
}

// Elements of products: bf16, or f16 where FP16 is 1.  Instructions have the
// type in their names.
#ifndef FP16
#define FP16 0
#endif
#if FP16
#define ELEMENT "f16"
#else
#define ELEMENT "bf16"
#endif

// As pack_bf16; what is beyond f16 becomes infinity.
DEV u32 pack_pair(float low, float high)
{
    u32 r;
    asm("cvt.rn." ELEMENT "x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
    return r;
}

DEV float low_of_pair(u32 pair)
{
    return FP16 ? widen_f16((u16)pair) : low_bf16(pair);
}

DEV float high_of_pair(u32 pair)
{
    return FP16 ? widen_f16((u16)(pair >> 16)) : high_bf16(pair);
}

// Four bytes of global memory that nobody writes while the kernel runs.
DEV u32 load_global32(const void *p)
{
    u32 r;
    asm("ld.global.nc.b32 %0, [%1];" : "=r"(r) : "l"(p));
    return r;
}

// The 8x8 matrix of 16-bit elements that a warp holds, two a lane, transposed.
DEV u32 movmatrix(u32 v)
{
    u32 r;
    asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;"
                 : "=r"(r)
                 : "r"(v));
    return r;
}
