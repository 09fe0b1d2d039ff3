/* Options of a simulation: decimal numbers, read without floating point. */
#include "frontend/cmd/cmd.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/syntax/parse.h"

enum { DECIMALS = 6, AS_PLANNED = -1 };

/* Digits and up to six decimals, in millionths; `end` is behind them.  False
 * where there are none, or too many. */
static bool read_decimal(const char *text, int64_t *out, const char **end)
{
    const char *at = text;
    int64_t value = 0;
    int n_decimals = -1;
    for (; (*at >= '0' && *at <= '9') || (*at == '.' && n_decimals < 0); at++) {
        if (*at == '.') {
            n_decimals = 0;
            continue;
        }
        if (value > INT64_MAX / 10 / CZ_TIME_MILLION - 1 ||
            n_decimals == DECIMALS)
            return false;
        value = 10 * value + *at - '0';
        n_decimals += n_decimals >= 0;
    }
    if (at == text || at[-1] == '.')
        return false;
    for (int i = n_decimals < 0 ? 0 : n_decimals; i < DECIMALS; i++)
        value *= 10;
    *out = value;
    *end = at;
    return true;
}

/* Where options are read from. */
typedef struct reader {
    const char *command;
    const char *const *settings;
} reader;

static bool complain(const reader *r, const char *option, const char *wanted,
                     const char *text)
{
    fprintf(stderr, "canzona %s: --%s takes %s, not \"%s\"\n", r->command,
            option, wanted, text);
    return false;
}

/* A percentage, as millionths of the whole. */
static bool read_percent(const reader *r, cz_setting setting,
                         const char *option, int64_t low, int64_t high,
                         int64_t *out)
{
    const char *text = r->settings[setting], *end;
    char wanted[64];
    int64_t value;
    if (!text)
        return true;
    snprintf(wanted, sizeof wanted, "a percentage from %" PRId64 " to %" PRId64,
             low, high);
    if (!read_decimal(text, &value, &end) || *end ||
        value < low * CZ_TIME_MILLION || value > high * CZ_TIME_MILLION)
        return complain(r, option, wanted, text);
    *out = value / 100;
    return true;
}

static bool read_tokens(const reader *r, cz_setting setting, const char *option,
                        int bits, int64_t *out)
{
    const char *text = r->settings[setting];
    char wanted[64];
    if (!text ||
        (cz_parse_integer(text, out) && *out > 0 && *out <= (int64_t)1 << bits))
        return true;
    snprintf(wanted, sizeof wanted, "a number from 1 to 2^%d, as %s", bits,
             bits == 40 ? "1M" : "4096");
    return complain(r, option, wanted, text);
}

/* N:FACTOR */
static bool read_stragglers(const reader *r, cz_simulate_options *out)
{
    const char *text = r->settings[CZ_SETTING_STRAGGLERS];
    const char *end;
    int64_t n;
    if (!text)
        return true;
    if (!read_decimal(text, &n, &end) || *end != ':' ||
        n % CZ_TIME_MILLION != 0 || n > CZ_TIME_MILLION * 1000000LL ||
        !read_decimal(end + 1, &out->slowdown, &end) || *end ||
        out->slowdown < CZ_TIME_MILLION ||
        out->slowdown > CZ_TIME_MILLION * 1000LL)
        return complain(r, "stragglers", "RANKS:FACTOR, as 2:1.5", text);
    out->n_stragglers = (int)(n / CZ_TIME_MILLION);
    return true;
}

bool cz_cmd_simulate_options(const char *command, const cz_cmd_options *given,
                             cz_simulate_options *out)
{
    const reader r = {command, given->settings};
    *out = (cz_simulate_options){.tokens = 0,
                                 .mfu = 45LL * (CZ_TIME_MILLION / 100),
                                 .active = AS_PLANNED,
                                 .seed = given->seed,
                                 .slowdown = CZ_TIME_MILLION};
    return read_tokens(&r, CZ_SETTING_TOKENS, "tokens", 40, &out->tokens) &&
           read_tokens(&r, CZ_SETTING_SEQUENCE, "sequence", 30,
                       &out->sequence) &&
           read_percent(&r, CZ_SETTING_MFU, "mfu", 1, 100, &out->mfu) &&
           read_percent(&r, CZ_SETTING_ACTIVE, "active", 0, 100,
                        &out->active) &&
           read_percent(&r, CZ_SETTING_E, "e", 1, 100, &out->uneven) &&
           read_percent(&r, CZ_SETTING_CONTENTION, "contention", 0, 1000,
                        &out->contention) &&
           read_percent(&r, CZ_SETTING_JITTER, "jitter", 0, 1000,
                        &out->jitter) &&
           read_stragglers(&r, out);
}
