// What the engine's kernels take of the device besides global.cuh: updates that
// no other thread cuts in two, 16 bytes that no compiler cuts, order for the
// host, and memory by pointers that the host gave.  Tests put a model in the place of this file, too.

DEV void atomic_raise(int *p, int x)
{
    atomicMax(p, x);
}

DEV void atomic_lower(int *p, int x)
{
    atomicMin(p, x);
}

DEV void atomic_add(u64 *p, u64 x)
{
    atomicAdd(p, x);
}

// What was there.
DEV u32 atomic_add(u32 *p, u32 x)
{
    return atomicAdd(p, x);
}

DEV void store_whole128(void *p, uint4 v)
{
    asm volatile("st.v4.b32 [%0], {%1, %2, %3, %4};"
                 :
                 : "l"(p), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w)
                 : "memory");
}

// What this thread wrote before is there for the host before what it writes
// behind.
DEV void fence_for_host()
{
    __threadfence_system();
}

DEV double double_of(u64 bits)
{
    return __longlong_as_double((long long)bits);
}

// What a pointer that the host gave points to, here.
template <class T> DEV T *reach(T *p)
{
    return p;
}
