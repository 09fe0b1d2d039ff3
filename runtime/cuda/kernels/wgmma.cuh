// wgmma, operands in shared memory, f32 accumulators: d of 64 x N is N / 2
// registers a thread, so each width is a function.  With `accumulate` 0 d is
// the product, else the product is added.  `A_TRANSPOSED`: the first operand lies
// with M contiguous; `B_TRANSPOSED`: the second with N contiguous.
#define TEN(t) "%" t "0,%" t "1,%" t "2,%" t "3,%" t "4,%" t "5,%" t "6,%" t "7,%" t "8,%" t "9,"
#define TEXT_30 TEN("") TEN("1") TEN("2")
#define TEXT_60 TEXT_30 TEN("3") TEN("4") TEN("5")
#define TEXT_90 TEXT_60 TEN("6") TEN("7") TEN("8")
#define TEXT_120 TEXT_90 TEN("9") TEN("10") TEN("11")

#define IN_4(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define IN_16(i) IN_4(i), IN_4(i + 4), IN_4(i + 8), IN_4(i + 12)
#define IN_32(i) IN_16(i), IN_16(i + 16)

#define WGMMA(width, registers, a_at, b_at, flag_at, a_turn_at, b_turn_at, ...)  \
    template <int A_TRANSPOSED, int B_TRANSPOSED>                              \
    DEV void wgmma(float(&d)[width / 2], u64 a, u64 b, int accumulate)         \
    {                                                                          \
        asm volatile("{ .reg .pred p;\n"                                       \
                     "setp.ne.b32 p, %" flag_at ", 0;\n"                       \
                     "wgmma.mma_async.sync.aligned.m64n" #width                \
                     "k16.f32." ELEMENT "." ELEMENT " {" registers             \
                     "}, %" a_at ", %" b_at                                    \
                     ", p, 1, 1, %" a_turn_at ", %" b_turn_at ";\n}"           \
                     : __VA_ARGS__                                             \
                     : "l"(a), "l"(b), "r"(accumulate), "n"(A_TRANSPOSED),     \
                       "n"(B_TRANSPOSED));                                     \
    }

WGMMA(64, TEXT_30 "%30,%31", "32", "33", "34", "35", "36", IN_32(0))
WGMMA(128, TEXT_60 "%60,%61,%62,%63", "64", "65", "66", "67", "68",
      IN_32(0), IN_32(32))
WGMMA(192, TEXT_90 "%90,%91,%92,%93,%94,%95", "96", "97", "98", "99", "100",
      IN_32(0), IN_32(32), IN_32(64))
WGMMA(256, TEXT_120 "%120,%121,%122,%123,%124,%125,%126,%127", "128", "129",
      "130", "131", "132", IN_32(0), IN_32(32), IN_32(64), IN_32(96))
