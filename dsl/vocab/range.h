/* Ranges of numbers: range.def has them, dsl/plan/build checks them. */
#ifndef CZ_DSL_VOCAB_RANGE_H
#define CZ_DSL_VOCAB_RANGE_H

typedef enum cz_range {
#define CZ_RANGE(name, low, high) CZ_RANGE_##name,
#include "dsl/vocab/range.def"
#undef CZ_RANGE
    CZ_N_RANGES
} cz_range;

#endif
