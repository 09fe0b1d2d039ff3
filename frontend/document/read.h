/* Plan JSON, read back. */
#ifndef CZ_FRONTEND_DOCUMENT_READ_H
#define CZ_FRONTEND_DOCUMENT_READ_H

#include "dsl/plan/document.h"
#include "frontend/document/json.h"

/* Texts up to this size are read. */
enum { CZ_DOCUMENT_MAX_BYTES = 256 << 20 };

/* Whether a text can be plan JSON: it begins with an object. */
bool cz_document_is(const cz_text *text);

/* False after reporting the first thing that is no plan: not JSON, another
 * schema, a number that contradicts another.  `name` is that of the document
 * in messages.  Everything belongs to the arena. */
bool cz_document_read(cz_arena *arena, const char *name, const cz_text *text,
                      cz_diags *diags, bool with_digests, cz_document *out);

/* The same of JSON that is a tree, without digests. */
bool cz_document_read_tree(cz_arena *arena, const char *name,
                           const json_t *tree, cz_diags *diags,
                           cz_document *out);

/* What digests are of. */
extern const char *const cz_document_members[CZ_DOCUMENT_N_MEMBERS];

/* Entries whose members are written as they are read. */
extern const cz_json_field cz_document_constant_fields[];
extern const cz_json_field cz_document_uneven_fields[];
extern const cz_json_field cz_document_candidate_fields[];
extern const cz_json_field cz_document_rewrite_fields[];
extern const cz_json_field cz_document_option_fields[];
extern const cz_json_field cz_document_micro_groups_fields[];

/* The busiest rank's time; the largest bound of it, and of a step by itself,
 * links included.  NULL without any. */
int64_t cz_document_time(const cz_document *document);
const cz_document_bound *cz_document_binding(const cz_document *document);
const cz_document_bound *cz_document_binding_step(const cz_document *document);

#endif
