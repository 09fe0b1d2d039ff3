// sm_80 and later: one inline function per instruction.  Addresses of shared
// memory are those of shared_address().

// 16 bytes from global memory, those after the first n_bytes zero.  Both
// addresses are multiples of 16.
DEV void cp_async16(u32 to, const void *from, int n_bytes)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to),
                 "l"(from), "r"(n_bytes)
                 : "memory");
}

DEV void cp_async_commit()
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}

// Until at most N groups of this thread are under way.
template <int N> DEV void cp_async_wait()
{
    asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
}

// Four 8x8 matrices; lane l gives the row l % 8 of matrix l / 8.
DEV void ldmatrix4(u32 (&r)[4], u32 row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, "
                 "[%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(row)
                 : "memory");
}

DEV void ldmatrix4_transposed(u32 (&r)[4], u32 row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 "
                 "{%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(row)
                 : "memory");
}

// d += a b: a is 16x16, b 16x8, d 16x8 in f32.
DEV void mma_m16n8k16(float (&d)[4], const u32 (&a)[4], u32 b0, u32 b1)
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." ELEMENT "." ELEMENT
                 ".f32 "
                 "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0),
                   "r"(b1));
}

DEV void store_shared32(u32 to, u32 v)
{
    asm volatile("st.shared.b32 [%0], %1;" ::"r"(to), "r"(v) : "memory");
}

DEV void store_shared16(u32 to, u16 v)
{
    asm volatile("st.shared.b16 [%0], %1;" ::"r"(to), "h"(v) : "memory");
}

DEV u16 load_shared16(u32 from)
{
    u16 v;
    asm volatile("ld.shared.b16 %0, [%1];" : "=h"(v) : "r"(from) : "memory");
    return v;
}

DEV uint4 load_shared128(u32 from)
{
    uint4 v;
    asm volatile("ld.shared.v4.b32 {%0,%1,%2,%3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "r"(from)
                 : "memory");
    return v;
}
