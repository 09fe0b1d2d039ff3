/* Reading JSON that need not be what it should be: every access is checked,
 * the first thing wrong is reported with its path, and all later ones give
 * harmless values, so that a reader asks once, at its end, how it went. */
#ifndef CZ_FRONTEND_DOCUMENT_READ_H
#define CZ_FRONTEND_DOCUMENT_READ_H

#include "dsl/base/diag.h"

#include <jansson.h>

typedef struct cz_json_reading {
    cz_arena *arena;
    cz_diags *diags;
    const char *name; /* of the document, for messages */
    bool failed;
} cz_json_reading;

/* A value and the way to it.  Lives as long as the value that it is in. */
typedef struct cz_json_at {
    cz_json_reading *reading;
    const struct cz_json_at *in; /* NULL: the whole document */
    const char *key;             /* NULL: an element of an array */
    int index;
    const json_t *value; /* NULL: there is none */
} cz_json_at;

/* Report, unless something was reported before. */
void cz_json_wrong(const cz_json_at *at, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

bool cz_json_has(const cz_json_at *at, const char *key);
cz_json_at cz_json_member(const cz_json_at *at, const char *key);
/* Elements of an array, and the i-th. */
int cz_json_length(const cz_json_at *at);
cz_json_at cz_json_element(const cz_json_at *at, int i);

/* A whole number from low to high; low where there is none. */
int64_t cz_json_number(const cz_json_at *at, int64_t low, int64_t high);
bool cz_json_truth(const cz_json_at *at);
bool cz_json_is_null(const cz_json_at *at);
/* A copy in the arena; "" where there is none. */
const char *cz_json_word(const cz_json_at *at);
/* Numbers from low to high, as many as *n says, or any number of them where
 * that is -1: then *n is set. */
const int64_t *cz_json_numbers(const cz_json_at *at, int64_t low, int64_t high,
                               int *n);

/* Members of an object by key. */
int64_t cz_json_number_of(const cz_json_at *at, const char *key, int64_t low,
                          int64_t high);
const char *cz_json_word_of(const cz_json_at *at, const char *key);

#endif
