/* Factorisations: the table, read. */
#include "dsl/vocab/factor.h"

#include "dsl/base/checked.h"

#include <assert.h>
#include <math.h>
#include <string.h>

__extension__ typedef __int128 wide;

static const struct row {
    const char *name, *czr_tag;
    int n_operands, n_results, n_parameters;
    bool is_square;
    int part;
} rows[CZ_N_FACTORS] = {
#define CZ_FACTOR(tag, name, operands, results, parameters, square, work,      \
                  flops, part, launches)                                       \
    [CZ_FACTOR_##tag] = {name,    "CZR_FACTOR_" #tag, operands,                \
                         results, parameters,         square,                  \
                         part},
#include "dsl/vocab/factor.def"
};

/* The amounts of a row at one size. */
typedef struct amounts {
    wide work, flops, launches;
} amounts;

static amounts amounts_of(cz_factor factor, const cz_factor_size *size)
{
    const wide m = size->m, n = size->n, k = size->k, s = m < n ? m : n;

    switch (factor) {
#define CZ_FACTOR(tag, name, operands, results, parameters, square, work,      \
                  flops, part, launches)                                       \
    case CZ_FACTOR_##tag:                                                      \
        return (amounts){work, flops, launches};
#include "dsl/vocab/factor.def"
    case CZ_FACTOR_NONE:
    case CZ_N_FACTORS:
        break;
    }
    (void)m, (void)k, (void)s;
    return (amounts){0, 0, 0};
}

static int64_t limited(wide amount)
{
    return amount > CZ_MAX_BYTES ? CZ_MAX_BYTES : (int64_t)amount;
}

const char *cz_factor_name(cz_factor factor)
{
    return rows[factor].name;
}

const char *cz_factor_czr_tag(cz_factor factor)
{
    return rows[factor].czr_tag;
}

cz_factor cz_factor_find(const char *name)
{
    for (int i = CZ_FACTOR_NONE + 1; i < CZ_N_FACTORS; i++)
        if (strcmp(rows[i].name, name) == 0)
            return (cz_factor)i;
    return CZ_FACTOR_NONE;
}

int cz_factor_n_operands(cz_factor factor)
{
    return rows[factor].n_operands;
}

int cz_factor_n_results(cz_factor factor)
{
    return rows[factor].n_results;
}

int cz_factor_n_parameters(cz_factor factor)
{
    return rows[factor].n_parameters;
}

static bool is_length(int64_t length)
{
    return length >= 1 && length <= CZ_FACTOR_LENGTH;
}

bool cz_factor_admits(cz_factor factor, const cz_factor_size *size)
{
    return is_length(size->m) && is_length(size->n) && is_length(size->k) &&
           (size->m <= CZ_FACTOR_SIDE || size->n <= CZ_FACTOR_SIDE) &&
           (!rows[factor].is_square || size->m == size->n);
}

bool cz_factor_is_root(cz_factor factor)
{
    return factor == CZ_FACTOR_ROOT || factor == CZ_FACTOR_NEWTON_ROOT;
}

static bool is_power_and_shift(const double *parameters)
{
    return parameters[0] < 0 && isfinite(parameters[0]) && parameters[1] >= 0 &&
           isfinite(parameters[1]);
}

/* -1/k as the nearest f64 has it; how the iteration ends. */
static bool is_newton(const double *parameters)
{
    const double k = floor(-1 / parameters[0] + 0.5);

    return k >= 1 && k <= CZ_FACTOR_DEGREE && parameters[0] == -1 / k &&
           parameters[2] > 0 && parameters[2] < 1 && parameters[3] >= 1 &&
           parameters[3] <= CZ_FACTOR_ITERATIONS &&
           parameters[3] == floor(parameters[3]);
}

bool cz_factor_takes(cz_factor factor, const double *parameters)
{
    if (!cz_factor_is_root(factor))
        return true;
    return is_power_and_shift(parameters) &&
           (factor == CZ_FACTOR_ROOT || is_newton(parameters));
}

cz_factor_result cz_factor_result_of(cz_factor factor, int result,
                                     const cz_factor_size *size)
{
    const int64_t m = size->m, n = size->n, k = size->k, s = m < n ? m : n;
    const struct {
        cz_factor factor;
        cz_factor_result result;
    } results[] = {
#define CZ_FACTOR_RESULT(tag, rank, rows, columns)                             \
    {CZ_FACTOR_##tag, {rank, {rows, columns}}},
#include "dsl/vocab/factor.def"
    };
    size_t i = 0;

    while (results[i].factor != factor)
        i++;
    assert(result < rows[factor].n_results);
    return results[i + (size_t)result].result;
}

int64_t cz_factor_operand_elements(int operand, const cz_factor_size *size)
{
    return size->n * (operand ? size->k : size->m);
}

int64_t cz_factor_result_elements(cz_factor factor, int result,
                                  const cz_factor_size *size)
{
    const cz_factor_result it = cz_factor_result_of(factor, result, size);

    return it.shape[0] * it.shape[1];
}

int64_t cz_factor_work_bytes(cz_factor factor, const cz_factor_size *size)
{
    return limited(amounts_of(factor, size).work);
}

int64_t cz_factor_flops(cz_factor factor, const cz_factor_size *size)
{
    return limited(amounts_of(factor, size).flops);
}

int64_t cz_factor_effort(cz_factor factor, const cz_factor_size *size)
{
    return limited(amounts_of(factor, size).flops * rows[factor].part);
}

int64_t cz_factor_launches(cz_factor factor, const cz_factor_size *size)
{
    return limited(amounts_of(factor, size).launches);
}
