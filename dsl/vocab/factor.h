/* Factorisations of whole matrices: the table dsl/vocab/factor.def, read. */
#ifndef CZ_DSL_VOCAB_FACTOR_H
#define CZ_DSL_VOCAB_FACTOR_H

#include <stdbool.h>
#include <stdint.h>

typedef enum cz_factor {
    CZ_FACTOR_NONE,
#define CZ_FACTOR(tag, ...) CZ_FACTOR_##tag,
#include "dsl/vocab/factor.def"
    CZ_N_FACTORS
} cz_factor;

enum {
    CZ_FACTOR_OPERANDS = 2, /* at most, and so on */
    CZ_FACTOR_RESULTS = 2,
    CZ_FACTOR_PARAMETERS = 4,
    CZ_FACTOR_SIDE = 32000,     /* min(m, n): LAPACK counts in 32 bits */
    CZ_FACTOR_LENGTH = 1 << 24, /* m, n and k */
    CZ_FACTOR_DEGREE = 64,      /* k of a Newton root */
    CZ_FACTOR_ITERATIONS = 1000 /* of one */
};

/* Operand 0 is [m, n], operand 1 [n, k]; k is 1 without one. */
typedef struct cz_factor_size {
    int64_t m, n, k;
} cz_factor_size;

typedef struct cz_factor_result {
    int rank; /* 1 or 2; of rank 1 the second length is 1 */
    int64_t shape[2];
} cz_factor_result;

const char *cz_factor_name(cz_factor factor);
/* The runtime's name, "CZR_FACTOR_EIGH". */
const char *cz_factor_czr_tag(cz_factor factor);
/* CZ_FACTOR_NONE when none has that name. */
cz_factor cz_factor_find(const char *name);
int cz_factor_n_operands(cz_factor factor);
int cz_factor_n_results(cz_factor factor);
int cz_factor_n_parameters(cz_factor factor);
/* Whether it is a power below 0 of a symmetric matrix, which is symmetric; its
 * first parameters are the power and what is added to the diagonal. */
bool cz_factor_is_root(cz_factor factor);
/* Whether it takes operands of this size: square where it must be, and within
 * the limits above.  What follows needs that. */
bool cz_factor_admits(cz_factor factor, const cz_factor_size *size);
/* Whether parameters are such as it takes, finite above all. */
bool cz_factor_takes(cz_factor factor, const double *parameters);
cz_factor_result cz_factor_result_of(cz_factor factor, int result,
                                     const cz_factor_size *size);
int64_t cz_factor_operand_elements(int operand, const cz_factor_size *size);
int64_t cz_factor_result_elements(cz_factor factor, int result,
                                  const cz_factor_size *size);
/* Bytes of workspace; operations; f32 operations that take as long at the full
 * rate; kernels.  At most CZ_MAX_BYTES. */
int64_t cz_factor_work_bytes(cz_factor factor, const cz_factor_size *size);
int64_t cz_factor_flops(cz_factor factor, const cz_factor_size *size);
int64_t cz_factor_effort(cz_factor factor, const cz_factor_size *size);
int64_t cz_factor_launches(cz_factor factor, const cz_factor_size *size);

#endif
