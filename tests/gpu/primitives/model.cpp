// The bodies on the model of the device: by themselves, and as kernels of the
// double of the driver.
#include "tests/gpu/simt/wgmma.hpp"

#include "tests/gpu/simt/sm80.hpp"

#include "bodies_sm80.cu"
#undef PRIMITIVE
#include "bodies_sm90.cu"
#undef PRIMITIVE

#include "primitives.h"

extern "C" {
#include "tests/gpu/double/fake.h"
}

namespace
{

using kernel_sm80 = void(const u32 *, u32 *);
using kernel_sm90 = void(tensor_map, tensor_map, const u32 *, u32 *);

void call(kernel_sm80 *kernel, const tensor_map &, const tensor_map &,
          const u32 *in, u32 *out)
{
    kernel(in, out);
}

void call(kernel_sm90 *kernel, const tensor_map &from, const tensor_map &to,
          const u32 *in, u32 *out)
{
    kernel(from, to, in, out);
}

tensor_map map_of(const u32 *words)
{
    constexpr u64 rows = PRIMITIVES_ROWS, stride = PRIMITIVES_STRIDE;

    return {reinterpret_cast<u16 *>(const_cast<u32 *>(words)),
            {PRIMITIVES_COLUMNS, rows, PRIMITIVES_LAYERS},
            {1, stride, rows * stride}};
}

// As many registers as a launch of so few threads has.
template <class F> void launch(const primitive &p, F body)
{
    simt::entry_registers = 168;
    simt::launch(p.n_blocks, p.n_threads, body);
}

template <int WHICH, class F>
void run_case(F *kernel, const tensor_map &from, const tensor_map &to,
              const u32 *in, u32 *out)
{
    launch(primitives[WHICH], [=] { call(kernel, from, to, in, out); });
}

// What the driver encoded; the extent that the double does not keep is ours.
tensor_map map_of_fake(const void *argument)
{
    u64 words[16];

    std::memcpy(words, argument, sizeof words);
    if (words[3] != 3)
        simt::fail("a tensor map without swizzle");
    return {reinterpret_cast<u16 *>(words[FAKE_MAP_ADDRESS]),
            {words[FAKE_MAP_COLUMNS], words[FAKE_MAP_COLUMNS + 1],
             PRIMITIVES_LAYERS},
            {1, words[FAKE_MAP_STRIDES] / 2, words[FAKE_MAP_STRIDES + 1] / 2}};
}

// The launch is to be the case's own.
template <int WHICH, class F> void run_fake(F *kernel, void **arguments)
{
    constexpr bool has_maps = std::is_same_v<F, kernel_sm90>;
    const primitive &p = primitives[WHICH];
    const tensor_map none = {};
    const tensor_map from = has_maps ? map_of_fake(arguments[0]) : none;
    const tensor_map to = has_maps ? map_of_fake(arguments[1]) : none;
    void **rest = arguments + (has_maps ? 2 : 0);
    const u64 in = *static_cast<u64 *>(rest[0]);
    const u64 out = *static_cast<u64 *>(rest[1]);
    const auto *words =
        static_cast<const u32 *>(fake_at(in, p.n_in * sizeof(u32)));
    auto *results = static_cast<u32 *>(fake_at(out, p.n_out * sizeof(u32)));

    if (!words || !results || fake_launch_blocks() != p.n_blocks ||
        fake_launch_threads() != p.n_threads ||
        fake_last_shared() != PRIMITIVES_SHARED_BYTES)
        simt::fail("a launch that is not the case's");
    run_case<WHICH>(kernel, from, to, words, results);
}

template <int WHICH, class F> void add(const char *name, F *, fake_kernel run)
{
    const int bytes[] = {128, 128, 8, 8};
    constexpr int first = std::is_same_v<F, kernel_sm90> ? 0 : 2;

    fake_register_sized(name, run, 4 - first, bytes + first);
}

enum {
#define PRIMITIVE(name, ...) WHICH_##name,
#include "cases.def"
#undef PRIMITIVE
};

} // namespace

extern "C" void primitives_model(int which, uint64_t seed, const uint32_t *in,
                                 uint32_t *out)
{
    const tensor_map from = map_of(in), to = map_of(out);

    simt::seed = seed;
    simt::sleep_odds = 16;
    switch (which) {
#define PRIMITIVE(name, ...)                                                   \
    case WHICH_##name:                                                         \
        run_case<WHICH_##name>(name, from, to, in, out);                       \
        break;
#include "cases.def"
#undef PRIMITIVE
    default:
        simt::fail("no such case");
    }
}

extern "C" void primitives_register(void)
{
    fake_share_addresses();
#define PRIMITIVE(name, ...)                                                   \
    add<WHICH_##name>(#name, name, [](void **arguments) {                      \
        run_fake<WHICH_##name>(name, arguments);                               \
    });
#include "cases.def"
#undef PRIMITIVE
}
