/* JSON of any size, a member at a time, with the place of each: headers of
 * models have hundreds of thousands of entries, whose trees would take several
 * times the memory of their text.  Only one is held as a tree at once.  Knows
 * nothing of what the keys mean. */
#ifndef CZ_FRONTEND_IMPORT_MEMBERS_H
#define CZ_FRONTEND_IMPORT_MEMBERS_H

#include "frontend/document/json.h"

/* A text of JSON, and where to complain about it. */
typedef struct cz_json_text {
    cz_arena *arena;
    cz_diags *diags;
    const cz_source *source;
} cz_json_text;

/* A stretch of that text. */
typedef struct cz_json_part {
    size_t from, n;
} cz_json_part;

typedef struct cz_json_entry {
    const char *key; /* in the arena; NULL in an array */
    cz_json_part key_part, value;
} cz_json_entry;

typedef struct cz_json_members {
    const cz_json_text *text;
    size_t at, end;
    char closing;
    bool started, failed; /* failed: reported, and there is no next member */
} cz_json_members;

/* The whole text without the blanks around it. */
cz_json_part cz_json_whole(const cz_json_text *text);
/* '{', '[', '"' or the first byte of something else; 0: nothing there. */
char cz_json_kind(const cz_json_text *text, cz_json_part part);

/* The members of the object or the elements of the array that `part` is.
 * False after reporting that it is something else; `what` names it. */
bool cz_json_open_members(cz_json_members *members, const cz_json_text *text,
                          cz_json_part part, char bracket, const char *what);
/* The next one.  False at the end, and after reporting what is no JSON: then
 * members->failed. */
bool cz_json_next(cz_json_members *members, cz_json_entry *out);

/* A small value as a tree, which the caller lets go with json_decref().  NULL
 * after reporting what is no strict JSON, has a key twice or is too large. */
json_t *cz_json_load(const cz_json_text *text, cz_json_part part);

/* Report an error at a part of the text. */
void cz_json_error(const cz_json_text *text, cz_json_part part, cz_code code,
                   const char *format, ...)
    __attribute__((format(printf, 4, 5)));

#endif
