/* The schema of facts, expanded from facts.def. */
#include "dsl/vocab/schema.h"

#define FIELD(fact, field, type)                                               \
    {#field, CZ_FIELD_##type, offsetof(cz_fact_##fact, field),                 \
     CZ_N_VOCABULARIES},
#define WORDS(fact, field, type, vocabulary)                                   \
    {#field, CZ_FIELD_##type, offsetof(cz_fact_##fact, field),                 \
     CZ_VOCABULARY_##vocabulary},

#define CZ_FACT(fact) static const cz_field fact##_fields[] = {
#define CZ_SYM(fact, field) FIELD(fact, field, SYM)
#define CZ_REF(fact, field) FIELD(fact, field, REF)
#define CZ_STRING(fact, field) FIELD(fact, field, STRING)
#define CZ_STRINGS(fact, field) FIELD(fact, field, STRINGS)
#define CZ_CHOICE(fact, field, vocabulary)                                     \
    WORDS(fact, field, CHOICE, vocabulary)
#define CZ_CHOICES(fact, field, vocabulary)                                    \
    WORDS(fact, field, CHOICES, vocabulary)
#define CZ_INT(fact, field, range) FIELD(fact, field, INT)
#define CZ_INTS(fact, field, range, n) FIELD(fact, field, INTS)
#define CZ_REAL(fact, field) FIELD(fact, field, REAL)
#define CZ_REALS(fact, field) FIELD(fact, field, REALS)
#define CZ_END(fact)                                                           \
    }                                                                          \
    ;
#include "dsl/vocab/facts.def"

const cz_fact_schema cz_fact_schemas[CZ_N_FACTS] = {
#define CZ_FACT(fact)                                                          \
    {#fact, "canzona." #fact, sizeof(cz_fact_##fact),                          \
     (int)(sizeof fact##_fields / sizeof *fact##_fields), fact##_fields},
#include "dsl/vocab/facts.def"
};
