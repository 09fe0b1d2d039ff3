/* Files that a source names: where they may lie.  A source can come from
 * anybody, and messages quote what it makes us read. */
#ifndef CZ_FRONTEND_NAMES_BELOW_H
#define CZ_FRONTEND_NAMES_BELOW_H

#include "dsl/base/text.h"

/* What stands for a file, saved or not, since somebody edits it. */
typedef struct cz_edited {
    const char *path;
    const cz_text *text;
} cz_edited;

/* Files, and folders with all below them, that the command line adds to the
 * main file's folder; and files that are not read from the disk. */
typedef struct cz_allowed {
    const char **paths;
    int n;
    const cz_edited *edited;
    int n_edited;
} cz_allowed;

/* As cz_text_read_file() of `name`, which is absolute or relative to `folder`.
 * Wherever links and dots lead, the file must lie below the folder or be
 * allowed; else *why says so, and nobody has opened it.  One that is edited
 * need not exist. */
bool cz_text_read_below(cz_text *text, const char *folder, const char *name,
                        const cz_allowed *allowed, size_t limit,
                        const char **why);

#endif
