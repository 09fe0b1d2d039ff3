/* The flat facts of the IR as C structs, one per operation of facts.def.
 * Arrays belong to the arena that the facts were read into or made in. */
#ifndef CZ_DSL_VOCAB_FACTS_H
#define CZ_DSL_VOCAB_FACTS_H

#include "dsl/vocab/words.h"

#include <stddef.h>
#include <stdint.h>

typedef struct cz_ints {
    const int64_t *v;
    int n;
} cz_ints;

typedef struct cz_reals {
    const double *v;
    int n;
} cz_reals;

typedef struct cz_strings {
    const char *const *v;
    int n;
} cz_strings;

#define CZ_FACT(fact) typedef struct cz_fact_##fact {
#define CZ_SYM(fact, field) const char *field;
#define CZ_REF(fact, field) const char *field;
#define CZ_STRING(fact, field) const char *field;
#define CZ_STRINGS(fact, field) cz_strings field;
#define CZ_CHOICE(fact, field, vocabulary) cz_##vocabulary field;
#define CZ_CHOICES(fact, field, vocabulary) cz_ints field;
#define CZ_INT(fact, field, range) int64_t field;
#define CZ_INTS(fact, field, range, n) cz_ints field;
#define CZ_REAL(fact, field) double field;
#define CZ_REALS(fact, field) cz_reals field;
#define CZ_END(fact)                                                           \
    }                                                                          \
    cz_fact_##fact;
#include "dsl/vocab/facts.def"

/* Kinds of facts, in the order of facts.def. */
typedef enum cz_fact_kind {
#define CZ_FACT(fact) CZ_FACT_##fact,
#include "dsl/vocab/facts.def"
    CZ_N_FACTS
} cz_fact_kind;

/* What buckets and the wire are where nobody says it, unless others make an
 * iteration shorter. */
enum { CZ_BUCKET_ELEMENTS = 400000000 };
#define CZ_WIRE 0.5

#endif
