/* What the kinds of input share: JSON a member at a time, lists of parameters,
 * and their statements.  Private to frontend/import. */
#ifndef CZ_FRONTEND_IMPORT_INTERNAL_H
#define CZ_FRONTEND_IMPORT_INTERNAL_H

#include "dsl/base/arena.h"
#include "dsl/base/diag.h"
#include "dsl/base/text.h"
#include "dsl/vocab/dtype.h"
#include "frontend/document/json.h"
#include "frontend/import/import.h"

#include <stdint.h>

/* ---- members ---- */

/* JSON of any size, a member at a time, with the place of each: headers of
 * models have hundreds of thousands of entries, whose trees would take several
 * times the memory of their text.  Only one is held as a tree at once.  Knows
 * nothing of what the keys mean. */

/* A text of JSON, and where to complain about it. */
typedef struct cz_json_text {
    cz_arena *arena;
    cz_diags *diags;
    const cz_source *source;
} cz_json_text;

/* A stretch of that text. */
typedef struct cz_json_range {
    size_t from, n;
} cz_json_range;

typedef struct cz_json_entry {
    const char *key; /* in the arena; NULL in an array */
    cz_json_range key_range, value;
} cz_json_entry;

typedef struct cz_json_members {
    const cz_json_text *text;
    size_t at, end;
    char closing;
    bool started, failed; /* failed: reported, and there is no next member */
} cz_json_members;

/* The whole text without the blanks around it. */
cz_json_range cz_json_all(const cz_json_text *text);
/* '{', '[', '"' or the first byte of something else; 0: nothing there. */
char cz_json_kind(const cz_json_text *text, cz_json_range range);

/* The members of the object or the elements of the array that `part` is.
 * False after reporting that it is something else; `what` names it. */
bool cz_json_open_members(cz_json_members *members, const cz_json_text *text,
                          cz_json_range range, char bracket, const char *what);
/* The next one.  False at the end, and after reporting what is no JSON: then
 * members->failed. */
bool cz_json_next(cz_json_members *members, cz_json_entry *out);

/* A small value as a tree, which the caller lets go with json_decref().  NULL
 * after reporting what is no strict JSON, has a key twice or is too large. */
json_t *cz_json_load(const cz_json_text *text, cz_json_range range);

/* Report an error at a part of the text. */
void cz_json_error(const cz_json_text *text, cz_json_range range, cz_code code,
                   const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* ---- patterns ---- */

/* From a list of parameters to statements: indices are found again, so that
 * `layers.0.w` to `layers.63.w` become `layers[i < 64].w : ...`.
 * Knows nothing of where the list comes from, nor what is written around. */

enum {
    CZ_IMPORT_MAX_NDIM = 8,
    CZ_IMPORT_MAX_PARAMS = 1 << 18,
    CZ_IMPORT_MAX_WORDS = 32, /* segments of a name, as in any model */
    CZ_IMPORT_MAX_WORD = 128, /* bytes of a segment, likewise */
    CZ_IMPORT_MAX_NAME = 240  /* bytes of a name, likewise */
};

typedef struct cz_import_param {
    const char *name;
    int n_dims;
    const int64_t *shape;      /* global */
    const char *const *shards; /* per dimension "", "/tp", "/dp/tp"...; NULL:
                                  nothing is sharded */
    cz_dtype dtype;
    bool frozen;
    const char *stages; /* "0, 3", or NULL: not said */
} cz_import_param;

/* What a model's file is made of.  All memory belongs to the arena. */
typedef struct cz_import_list {
    cz_import_param *params;
    int n;
    const char **comments; /* lines about what was left out */
    int n_comments;
} cz_import_list;

/* Why no path of the language can be that name, or NULL. */
const char *cz_import_bad_name(const char *name);
/* Bytes of the name before its first index: of "model.layers.3.w" those of
 * "model.layers"; 0 when there is no index. */
size_t cz_import_stack_length(const char *name);

/* Print the statements that define exactly these parameters, whose names are
 * good ones and differ.  `dtype` is the type of the block around them. */
void cz_import_patterns(cz_arena *arena, const cz_import_list *list,
                        cz_dtype dtype, cz_text *out);

/* ---- lines ---- */

/* A path, and what stands behind it. */
typedef struct cz_import_line {
    const char *const *words; /* an index belongs to its word:
                                 "layers[i < 64]" */
    int n_words;
    const char *rest; /* " : [8/tp, 4]", or " {...}" over several lines */
} cz_import_line;

typedef struct cz_import_lines {
    cz_import_line *list;
    int n;
} cz_import_lines;

/* By words, then by what stands behind: a total order. */
int cz_import_line_compare(const cz_import_line *a, const cz_import_line *b);

/* Print each on a line of its own, without indentation.  Near neighbours that
 * differ in one word become one line with `{a, b}`. */
void cz_import_lines_print(cz_arena *arena, cz_import_lines lines,
                           cz_text *out);

/* ---- what stands under an index ---- */

/* A statement under one value of the index. */
typedef struct cz_import_member {
    int value, order; /* order: its place among all of them */
    cz_import_line line;
} cz_import_member;

/* What follows the index called `index`, of `extent` values: the rest of a
 * path where one statement is all there is, else no words and a block.  The
 * members are sorted. */
cz_import_line cz_import_block(cz_arena *arena, cz_import_member *members,
                               int n, int extent, const char *index);

/* ---- lists, while they are read ---- */

/* The array of sizes `json` as the shape of `param`, in the arena.  Reports
 * at `at` what is no shape of the language; `param` has its name. */
bool cz_import_read_shape(const cz_json_text *text, cz_json_range at,
                          const json_t *json, cz_import_param *param);

/* Append a parameter after checking name and count.  False after reporting. */
bool cz_import_list_add(const cz_json_text *text, cz_json_range at,
                        cz_import_list *list, cz_import_param param);
/* Say in a comment what was left out; of many, how many. */
void cz_import_list_leave_out(const cz_json_text *text, cz_import_list *list,
                              const char *name, const char *why);
/* There is at least one, and no name comes twice.  False after reporting. */
bool cz_import_list_check(const cz_json_text *text, const cz_import_list *list);

/* ---- the text of a program ---- */

/* "# from NAME, by canzona import" */
void cz_import_write_title(const cz_import *convert, cz_text *out);
/* Whom a program's groups are about. */
typedef struct cz_import_paths {
    const char *matrices; /* what Muon moves */
    const char *vectors;  /* what does not decay, and has more than one
                           * dimension; NULL: nothing */
} cz_import_paths;

/* The statements `use` of the default optimizers. */
void cz_import_write_uses(const cz_import *convert, cz_import_paths paths,
                          cz_text *out);
/* The schedule that holds when none is written, as a comment. */
void cz_import_write_schedule(cz_text *out);

/* A program with an explicit model.  `mesh` is what is known of the ranks;
 * `hint` lines of comment stand before the model. */
void cz_import_write_model(const cz_import *convert, const cz_import_list *list,
                           const cz_import_mesh *mesh, const char *hint,
                           cz_text *out);
/* The input without its folders. */
const char *cz_import_base_name(const char *path);

/* ---- a file for each kind of input ---- */

/* Hugging Face config.json to a program: its model_type names an architecture
 * of the library. */

/* False after reporting; `out` may hold a part of the text then. */
bool cz_import_config(const cz_import *convert, const cz_json_text *text,
                      cz_text *out);

/* params.json to a program: names, shapes, types and sharding as a trainer has
 * them.  dsl/params.schema.json is the format. */

#define CZ_PARAMS_SCHEMA "canzona.params/1"

/* `text` is the dump.  False after reporting. */
bool cz_import_params(const cz_import *convert, const cz_json_text *text,
                      cz_text *out);

/* safetensors headers: names, shapes and types of tensors.  Weights are never
 * read.  Format: u64 little-endian length, then that many bytes of JSON. */

/* A tensor and the file it is in. */
typedef struct cz_tensor_place {
    const char *name, *file;
} cz_tensor_place;

/* What the headers say that were read, one or those of all shards.  All memory
 * belongs to the arena. */
typedef struct cz_safetensors {
    cz_import_list list;
    cz_tensor_place *places; /* of all tensors, also of those left out */
    int n_places;
    int64_t data_bytes; /* all files */
    size_t header_bytes;
} cz_safetensors;

/* Add what the header of the file at `path` says; `name` is what messages call
 * it.  False after reporting. */
bool cz_safetensors_read(const cz_import *convert, const char *path,
                         const char *name, cz_safetensors *tensors);
/* Write what was read.  `text` is where to complain. */
bool cz_safetensors_write(const cz_import *convert, const cz_json_text *text,
                          const cz_safetensors *tensors, cz_text *out);

/* A single file to a program.  `start` holds all of standard input, or
 * anything where the input is a file. */
bool cz_import_safetensors(const cz_import *convert, const cz_text *start,
                           cz_text *out);

/* model.safetensors.index.json to a program, by way of its shards' headers. */

/* `text` is the index.  False after reporting. */
bool cz_import_index(const cz_import *convert, const cz_json_text *text,
                     cz_text *out);

#endif
