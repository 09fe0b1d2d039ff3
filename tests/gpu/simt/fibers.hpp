// A block of threads as fibers of one CPU thread, in an order drawn anew from a
// printed seed.  Knows nothing of what the threads do.
// x86-64 alone.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace simt
{

constexpr std::size_t STACK_BYTES = 65536;

struct index {
    unsigned x = 1, y = 1, z = 1;
};

struct fiber {
    void *stack_pointer;
    std::unique_ptr<unsigned char[]> stack;
    unsigned number;
    index thread, block;
    bool is_done;
    const char *waits_at;
};

inline std::vector<fiber> fibers;
inline fiber *current;
inline void *scheduler_stack;
inline std::function<void()> body;
inline index block_size, grid_size;
// The block that runs, and how many of its threads are not done.
inline index block;
inline unsigned n_left;
inline std::uint64_t seed = 1;
// Grows with everything that may let a waiting thread go on.
inline std::uint64_t progress;

inline unsigned draw()
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return static_cast<unsigned>(seed >> 16);
}

[[noreturn]] inline void fail(const char *what)
{
    std::fprintf(stderr, "block %u, thread %u: %s\n",
                 current ? current->block.x : block.x,
                 current ? current->thread.x : 0, what);
    // Stacks go where the program ends, and this may stand on one.
    std::fflush(nullptr);
    std::_Exit(2);
}

// Saves what the ABI wants kept on one stack and goes on on another.
extern "C" void simt_switch(void **from, void *to);
asm(".text\n.weak simt_switch\n.type simt_switch,@function\nsimt_switch:\n"
    "push %rbx\npush %rbp\npush %r12\npush %r13\npush %r14\npush %r15\n"
    "mov %rsp,(%rdi)\nmov %rsi,%rsp\n"
    "pop %r15\npop %r14\npop %r13\npop %r12\npop %rbp\npop %rbx\nret\n");

inline void yield(const char *where)
{
    fiber *const self = current;
    self->waits_at = where;
    simt_switch(&self->stack_pointer, scheduler_stack);
}

inline void enter()
{
    body();
    current->is_done = true;
    n_left--;
    progress++;
    yield("the end");
    std::abort();
}

// Stacks begin as NaNs: a local that nobody set shows.
inline void prepare()
{
    const unsigned n = n_left = block_size.x;

    fibers.resize(n);
    for (unsigned i = 0; i < n; i++) {
        fiber &f = fibers[i];
        if (!f.stack)
            f.stack.reset(new unsigned char[STACK_BYTES]);
        std::memset(f.stack.get(), 0xff, STACK_BYTES);
        f.number = i;
        f.thread.x = i;
        f.block = block;
        f.is_done = false;
        f.waits_at = "the start";
        const auto end =
            (reinterpret_cast<std::uintptr_t>(f.stack.get()) + STACK_BYTES) &
            ~static_cast<std::uintptr_t>(15);
        void **top = reinterpret_cast<void **>(end);
        *--top = nullptr;
        *--top = reinterpret_cast<void *>(enter);
        for (int saved = 0; saved < 6; saved++)
            *--top = nullptr;
        f.stack_pointer = top;
    }
}

[[noreturn]] inline void report_deadlock()
{
    std::map<std::string, int> waiting;
    for (const fiber &f : fibers)
        if (!f.is_done)
            waiting[f.waits_at]++;
    std::fprintf(stderr, "block %u: deadlock:", block.x);
    for (const auto &[where, n] : waiting)
        std::fprintf(stderr, " %d at %s;", n, where.c_str());
    std::fprintf(stderr, "\n");
    std::exit(2);
}

// Now and then one thread in eight, by lot, sleeps for some rounds: one round
// in so many begins that.
inline unsigned sleep_odds = 256;
struct sleep {
    unsigned n_rounds, key;
};
inline sleep sleepers;

inline void draw_sleepers()
{
    if (sleepers.n_rounds)
        sleepers.n_rounds--;
    else if (draw() % sleep_odds == 0)
        sleepers = {draw() % 16, draw()};
}

inline bool is_asleep(unsigned thread)
{
    return sleepers.n_rounds &&
           (thread + 1) * 2654435761u * (sleepers.key | 1) >> 29 == 0;
}

// Each thread that is neither done nor asleep once, beginning anywhere, in
// either direction.
inline unsigned go_round()
{
    const unsigned n = static_cast<unsigned>(fibers.size());
    const unsigned start = draw() % n, step = draw() & 1 ? 1 : n - 1;
    unsigned left = 0;

    draw_sleepers();
    for (unsigned k = 0; k < n; k++) {
        fiber &f = fibers[(start + static_cast<std::uint64_t>(k) * step) % n];
        if (f.is_done)
            continue;
        left++;
        if (is_asleep(f.number))
            continue;
        current = &f;
        simt_switch(&scheduler_stack, f.stack_pointer);
    }
    current = nullptr;
    return left;
}

} // namespace simt
