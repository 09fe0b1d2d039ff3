/* Matching of parameter names against paths with `*`, `**`, alternatives and
 * ranges.  Purely textual: what parameters there are is
 * frontend/model/model.h's. */
#ifndef CZ_FRONTEND_NAMES_MATCH_H
#define CZ_FRONTEND_NAMES_MATCH_H

#include "dsl/syntax/ast.h"

/* Whether one SEGMENT of a path matches one segment of a name.  Linear in
 * the pattern times the square of the word. */
bool cz_match_segment(const cz_node *segment, const char *word);

/* Whether the SEGMENT matches segment number `word` of a name, or of one of
 * several names. */
typedef bool cz_match_word(const cz_node *segment, const void *name, int word);
/* Whether a PATH matches a name of `n` segments, as `matches` compares them. */
bool cz_match_path_by(const cz_node *path, cz_match_word *matches,
                      const void *name, int n);
/* Whether a PATH matches the name of `n` segments. */
bool cz_match_path(const cz_node *path, const char *const *words, int n);
/* Whether one of the PATHS does. */
bool cz_match_paths(const cz_node *paths, const char *const *words, int n);

/* Whether some segment of the PATHS matches one of two words alone. */
bool cz_match_tells_apart(const cz_node *paths, const char *a, const char *b);

#endif
