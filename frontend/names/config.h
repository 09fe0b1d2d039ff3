/* Model configurations as trainers publish them: one flat JSON object.
 * Knows nothing of what the keys mean. */
#ifndef CZ_FRONTEND_NAMES_CONFIG_H
#define CZ_FRONTEND_NAMES_CONFIG_H

#include "frontend/names/eval.h"

enum { CZ_MAX_CONFIG_BYTES = 16 << 20, CZ_MAX_CONFIG_DEPTH = 64 };

typedef struct cz_config_entry {
    const char *key;
    cz_value value;
    bool is_scalar; /* else an array or an object: `value` is not set */
} cz_config_entry;

typedef struct cz_config {
    const cz_source *source;
    const cz_config_entry *entries; /* in the order of the text */
    int n;
} cz_config;

/* Read the text of one, which lives as long as the result.  `place` is where
 * the program asks for it.  Keys must be unique, integers fit int64; a null is
 * an absent key.  False after reporting. */
bool cz_config_read(cz_arena *arena, const cz_source *source, cz_span place,
                    cz_diags *diags, cz_config *out);
/* NULL when the key is absent. */
const cz_config_entry *cz_config_find(const cz_config *config, const char *key);
/* Where the text says `key`, which it has. */
cz_span cz_config_place(const cz_config *config, const char *key);
/* A key near to `key`, or NULL. */
const char *cz_config_nearest(cz_arena *arena, const cz_config *config,
                              const char *key);

#endif
