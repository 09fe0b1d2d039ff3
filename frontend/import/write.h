/* The text of an imported program, from its parts. */
#ifndef CZ_FRONTEND_IMPORT_WRITE_H
#define CZ_FRONTEND_IMPORT_WRITE_H

#include "frontend/import/import.h"
#include "frontend/import/families.h"

/* "# from NAME, by canzona import" */
void cz_import_write_title(const cz_import *convert, cz_text *out);
/* The statements `use` of the default optimizers.  `matrices` is the path
 * of the matrices that Muon moves. */
void cz_import_write_uses(const cz_import *convert, const char *matrices,
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

#endif
