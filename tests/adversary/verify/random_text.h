/* Random valid programs in the language: meshes, shapes, layouts, rules and
 * schedules of every supported kind. */
#ifndef CZ_TESTS_VERIFY_RANDOM_TEXT_H
#define CZ_TESTS_VERIFY_RANDOM_TEXT_H

#include "dsl/base/text.h"
#include "tests/adversary/verify/random.h"

typedef struct text_limits {
    int64_t max_dp, max_tp, max_ranks;
    int64_t max_unit; /* dimensions are at most this many times tp */
} text_limits;

/* Append a program to *out. */
void random_text(randoms *r, const text_limits *limits, cz_text *out);

#endif
