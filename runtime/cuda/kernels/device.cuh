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
