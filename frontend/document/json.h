/* JSON, above Jansson: a writer of canonical JSON, and a reader that need not
 * trust what it reads.  Knows nothing of what the keys mean. */
#ifndef CZ_FRONTEND_DOCUMENT_JSON_H
#define CZ_FRONTEND_DOCUMENT_JSON_H

#include "dsl/base/diag.h"

#include <jansson.h>

/* ---- writing ---- */

enum { CZ_JSON_MAX_DEPTH = 16 };

/* Keys in the order of the calls.  Numbers are integers, or decimals of them.
 * Bytes that are no UTF-8 become U+FFFD. */
typedef struct cz_json {
    cz_text *out; /* NULL: to a tree, which is what a reader of the text has */
    json_t *open[CZ_JSON_MAX_DEPTH]; /* of a tree; [1] is the root */
    int depth;
    char closing[CZ_JSON_MAX_DEPTH];
    bool has_element[CZ_JSON_MAX_DEPTH]; /* the next one needs a comma */
    bool is_indented;                    /* by two spaces, for people; else one
                                          * line for each element of the
                                          * outermost two levels, no spaces */
} cz_json;

void cz_json_init(cz_json *json, cz_text *out);
/* Without decimals.  What cz_json_tree() returns is the caller's. */
void cz_json_init_tree(cz_json *json);
json_t *cz_json_tree(const cz_json *json);
/* A value: of an object with its key, else with NULL. */
void cz_json_open(cz_json *json, const char *key, char bracket); /* '{', '[' */
void cz_json_close(cz_json *json);
void cz_json_int(cz_json *json, const char *key, int64_t value);
void cz_json_bool(cz_json *json, const char *key, bool value);
/* NULL: null. */
void cz_json_string(cz_json *json, const char *key, const char *string);
void cz_json_ints(cz_json *json, const char *key, const int64_t *values,
                  int64_t n);
/* `value`, or null where it is negative. */
void cz_json_optional(cz_json *json, const char *key, int64_t value);
/* value / 10^6 as a decimal; not negative. */
void cz_json_millionths(cz_json *json, const char *key, int64_t value);

/* ---- reading ---- */

/* Every access is checked.  The first thing wrong is reported with its path;
 * all later ones give harmless values, so that a reader asks once, at its end,
 * how it went. */
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

/* Parse a document, whose keys must be unique, into `root`.  NULL after
 * reporting.  The caller lets the tree go with json_decref(). */
json_t *cz_json_parse(cz_json_at *root, const cz_text *text);
/* Whether brackets nest deeper than `limit`; *where: the first that does. */
bool cz_json_is_over_depth(const char *bytes, size_t n, int limit,
                           size_t *where);
/* The place of a byte of a text. */
cz_span cz_json_span(const cz_source *source, size_t offset);

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
bool cz_json_is_null(const cz_json_at *at);
/* A copy in the arena; "" where there is none. */
const char *cz_json_word(const cz_json_at *at);

/* Of a word, a number, a truth, null, or a list of such: what it says. */
const char *cz_json_any_text(const cz_json_at *at);

/* Members of an object by key. */
int64_t cz_json_number_of(const cz_json_at *at, const char *key, int64_t low,
                          int64_t high);
/* -1 for null. */
int64_t cz_json_optional_of(const cz_json_at *at, const char *key,
                            int64_t high);
const char *cz_json_word_of(const cz_json_at *at, const char *key);
bool cz_json_truth_of(const cz_json_at *at, const char *key);
/* The number of a word among n that are known. */
int cz_json_choice_of(const cz_json_at *at, const char *key,
                      const char *const *words, int n);
/* Numbers from low to high, as many as *n says, or any number of them where
 * that is -1: then *n is set. */
const int64_t *cz_json_numbers_of(const cz_json_at *at, const char *key,
                                  int64_t low, int64_t high, int *n);
/* What a list of words and numbers says, joined. */
const char *cz_json_joined_of(const cz_json_at *at, const char *key,
                              const char *by);

/* ---- both, by table ---- */

/* Members of a struct that are members of an object; key NULL ends a list. */
typedef struct cz_json_field {
    const char *key;
    enum {
        CZ_JSON_WORD,
        CZ_JSON_WORD_OR_NULL, /* "" */
        CZ_JSON_SHAPE,        /* a list, read as "8192 x 5120" */
        CZ_JSON_NUMBER,
        CZ_JSON_OPTIONAL, /* -1: null */
        CZ_JSON_TRUTH
    } kind;
    size_t at, size;
    int64_t low, high; /* of a number */
} cz_json_field;

#define CZ_JSON_FIELD(type, member, key, kind, low, high)                      \
    {                                                                          \
        key, CZ_JSON_##kind, offsetof(type, member),                           \
            sizeof((type *)0)->member, low, high                               \
    }

void cz_json_read_fields(const cz_json_at *at, const cz_json_field *fields,
                         void *out);
/* As an object. */
void cz_json_put_fields(cz_json *json, const char *key,
                        const cz_json_field *fields, const void *in);

/* An array of n of them, `size` bytes each. */
void cz_json_put_list(cz_json *json, const char *key,
                      const cz_json_field *fields, size_t size,
                      const void *entries, int n);

/* What is behind the fields of an entry. */
typedef void (*cz_json_entry_reader)(void *context, const cz_json_at *at,
                                     void *entry);
/* An array of objects: entries of `size` bytes, *n of them, in the arena.
 * `fields` and `more` may be NULL. */
void *cz_json_list_of(const cz_json_at *at, const char *key, size_t size,
                      const cz_json_field *fields, cz_json_entry_reader more,
                      void *context, int *n);

#endif
