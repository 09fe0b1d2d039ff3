/* Exact accumulation.  A square of a 24-bit significand has 48 bits, so 2^16
 * of them fit a 64-bit bin; there is one bin per exponent, and bins are
 * emptied into 32-bit digits kept in 64-bit words. */
#include "runtime/math/norm.h"

enum { BINS = 256, SPECIAL = 255, PER_FLUSH = 1 << 16, DIGIT_BITS = 32 };

static const uint32_t fraction_mask = 0x7fffff, hidden_bit = 0x800000;
static const uint64_t digit_mask = 0xffffffffu;

static uint32_t bits_of(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* Carries, so that every digit but the top one is below 2^32 again. */
static void carry(czr_norm *norm)
{
    int64_t carried = 0;

    for (int d = 0; d < CZR_NORM_DIGITS - 1; d++) {
        const int64_t sum = norm->words[d] + carried;
        norm->words[d] = (int64_t)((uint64_t)sum & digit_mask);
        carried = sum >> DIGIT_BITS;
    }
    norm->words[CZR_NORM_DIGITS - 1] += carried;
}

/* Adds a bin: `sum` times the weight of squares of that exponent. */
static void add_bin(czr_norm *norm, int exponent, uint64_t sum)
{
    enum { FRACTION_BITS = 23, BIAS = 127 };
    const int scale = (exponent ? exponent : 1) - BIAS - FRACTION_BITS;
    const int position = 2 * scale - CZR_NORM_LOWEST;
    int64_t *digit = &norm->words[position / DIGIT_BITS];
    const int shift = position % DIGIT_BITS;
    const uint64_t low = (sum & digit_mask) << shift;
    const uint64_t high = (sum >> DIGIT_BITS) << shift;

    digit[0] += (int64_t)(low & digit_mask);
    digit[1] += (int64_t)((low >> DIGIT_BITS) + (high & digit_mask));
    digit[2] += (int64_t)(high >> DIGIT_BITS);
}

static void add_chunk(czr_norm *norm, const float *x, size_t n)
{
    uint64_t bins[BINS] = {0};

    for (size_t i = 0; i < n; i++) {
        const uint32_t bits = bits_of(x[i]);
        const uint32_t exponent = bits >> 23 & SPECIAL;
        const uint64_t significand =
            (bits & fraction_mask) | (exponent ? hidden_bit : 0);
        bins[exponent] += significand * significand;
    }
    for (int exponent = 0; exponent < SPECIAL; exponent++)
        if (bins[exponent])
            add_bin(norm, exponent, bins[exponent]);
    if (bins[SPECIAL]) {
        /* The infinities and NaNs of x[n], which do not fit the bins. */
        for (size_t i = 0; i < n; i++) {
            norm->words[CZR_NORM_INFINITIES] += isinf(x[i]) != 0;
            norm->words[CZR_NORM_NANS] += isnan(x[i]) != 0;
        }
    }
    carry(norm);
}

void czr_norm_add(czr_norm *norm, const float *x, size_t n)
{
    for (size_t done = 0; done < n; done += PER_FLUSH)
        add_chunk(norm, x + done, n - done < PER_FLUSH ? n - done : PER_FLUSH);
}

bool czr_norm_is_finite(const czr_norm *norm)
{
    return !norm->words[CZR_NORM_INFINITIES] && !norm->words[CZR_NORM_NANS] &&
           !norm->words[CZR_NORM_NONFINITE];
}

/* The sum, rounded to nearest even: the leading 64 bits, and whether anything
 * follows them in the lowest one, decide the rounding. */
static double round_sum(const czr_norm *norm)
{
    czr_norm carried = *norm;

    carry(&carried);
    const int64_t *digits = carried.words;
    int top = CZR_NORM_DIGITS - 1;
    while (top > 2 && digits[top] == 0)
        top--;
    uint64_t high =
        (uint64_t)digits[top] << DIGIT_BITS | (uint64_t)digits[top - 1];
    uint64_t rest = (uint64_t)digits[top - 2];
    bool is_inexact = false;
    int exponent = (top - 1) * DIGIT_BITS + CZR_NORM_LOWEST;

    for (int d = 0; d < top - 2; d++)
        is_inexact = is_inexact || digits[d] != 0;
    for (; high && !(high >> 63); exponent--) {
        high = high << 1 | (rest >> (DIGIT_BITS - 1) & 1);
        rest = rest << 1 & digit_mask;
    }
    if (!high)
        return 0;
    high |= rest != 0 || is_inexact;
    return ldexp((double)high, exponent);
}

double czr_norm_root(const czr_norm *norm)
{
    if (norm->words[CZR_NORM_NANS])
        return (double)NAN;
    if (norm->words[CZR_NORM_INFINITIES])
        return (double)INFINITY;
    if (norm->words[CZR_NORM_NONFINITE])
        return (double)NAN;
    return sqrt(round_sum(norm));
}
