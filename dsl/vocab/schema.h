/* The facts as data: what fields each fact has, of what type, and where
 * they lie in its struct.  The writer, the reader, the dialect and the schema
 * check walk these instead of knowing any fact by name. */
#ifndef CZ_DSL_VOCAB_SCHEMA_H
#define CZ_DSL_VOCAB_SCHEMA_H

#include "dsl/vocab/facts.h"

#include <stddef.h>

typedef enum cz_field_type {
    CZ_FIELD_SYM,
    CZ_FIELD_REF,
    CZ_FIELD_STRING,
    CZ_FIELD_STRINGS,
    CZ_FIELD_CHOICE,
    CZ_FIELD_CHOICES, /* enums as cz_ints */
    CZ_FIELD_INT,
    CZ_FIELD_INTS,
    CZ_FIELD_REAL,
    CZ_FIELD_REALS,
    CZ_N_FIELD_TYPES
} cz_field_type;

typedef struct cz_field {
    const char *name;
    cz_field_type type;
    size_t offset;            /* in the struct of the fact */
    cz_vocabulary vocabulary; /* of choices */
} cz_field;

typedef struct cz_fact_schema {
    const char *name; /* "pattern" */
    const char *op;   /* "canzona.pattern" */
    size_t size;
    int n_fields;
    const cz_field *fields;
} cz_fact_schema;

extern const cz_fact_schema cz_fact_schemas[CZ_N_FACTS];

#endif
