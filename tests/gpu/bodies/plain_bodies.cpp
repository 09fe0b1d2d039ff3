#include "tests/gpu/bodies/plain_bodies.h"

#include "tests/gpu/simt/block.hpp"
// the model's global.cuh
#include "tests/gpu/simt/elementwise.hpp"
// without its pauses, which take long
#undef __syncthreads

extern "C" {
#include "tests/gpu/double/fake.h"
}

// With room for parts, which one part is, too.
#define KERNEL product
#define LEVELS 3
namespace
{
#include "elementwise.cuh"
#include "product_plain.cu"

const void *device_memory(const void *p, u64 n, u32 dtype)
{
    return fake_at(reinterpret_cast<std::uintptr_t>(p),
                   n * (dtype == PLAIN_BF16 || dtype == PLAIN_F16 ? 2 : 4));
}

// Of a launch that the driver has checked; false: memory is not there, and the
// context is lost.
struct launched {
    plain_product p;
    const int *skip = nullptr;
    bool is_sound;

    launched(const void *product, const void *skip_argument)
    {
        const void *at;
        std::memcpy(&p, product, sizeof p);
        std::memcpy(&at, skip_argument, sizeof at);
        p.a = device_memory(p.a, p.m * p.k, p.a_dtype);
        p.b = device_memory(p.b, p.k * p.n, p.b_dtype);
        is_sound = (p.a && p.b) || !p.k;
        if (p.addend) {
            p.addend = device_memory(p.addend, p.m * p.n, p.addend_dtype);
            is_sound &= p.addend != nullptr;
        }
        p.out = const_cast<void *>(
            device_memory(p.out, p.m * p.n, p.out_dtype));
        is_sound &= p.out != nullptr;
        if (at) {
            skip = static_cast<const int *>(device_memory(at, 1, 0));
            is_sound &= skip != nullptr;
        }
    }
};

void run_product(void **arguments)
{
    const launched l(arguments[0], arguments[1]);

    if (l.is_sound)
        simt::launch(2, THREADS, [&] { product(l.p, l.skip); });
}

void run_finish(void **arguments)
{
    const launched l(arguments[0], arguments[2]);
    const void *at;

    std::memcpy(&at, arguments[1], sizeof at);
    const auto *c =
        static_cast<const float *>(device_memory(at, l.p.m * l.p.n, 0));
    if (l.is_sound && c)
        simt::launch(2, THREADS, [&] { product_finish(l.p, c, l.skip); });
}

void run_copy(void **arguments)
{
    u64 at[2], bytes, at_skip;

    std::memcpy(&at[0], arguments[0], 8);
    std::memcpy(&at[1], arguments[1], 8);
    std::memcpy(&bytes, arguments[2], 8);
    std::memcpy(&at_skip, arguments[3], 8);
    const auto *from = static_cast<const unsigned char *>(fake_at(at[0], bytes));
    auto *to = static_cast<unsigned char *>(fake_at(at[1], bytes));
    const auto *skip =
        at_skip ? static_cast<const int *>(fake_at(at_skip, 4)) : nullptr;
    if (from && to && (skip || !at_skip))
        simt::launch(fake_launch_blocks(), THREADS,
                     [&] { copy_bytes(from, to, bytes, skip); });
}
} // namespace

void plain_bodies_register(void)
{
    // Other bodies have this one, too.
    static const int copy_arguments[] = {8, 8, 8, 8};

    fake_register("product_plain", run_product);
    fake_register("product_parts", run_product);
    fake_register("product_finish", run_finish);
    fake_register_sized("copy_bytes", run_copy, 4, copy_arguments);
}

bool plain_bodies_write_code(const char *text, char *code, size_t n)
{
    char kernel[32];

    if (std::sscanf(text, "#define KERNEL %31s\n#define LEVELS", kernel) != 1 ||
        (std::strcmp(kernel, "product_plain") != 0 &&
         std::strcmp(kernel, "product_parts") != 0))
        return false;
    std::snprintf(code, n, "FAKE sm_90\n%s 8704 %zu 8\nproduct_finish 0 %zu 8 8\n"
                  "copy_bytes 0 8 8 8 8\n",
                  kernel, sizeof(plain_product), sizeof(plain_product));
    return true;
}
