/* Lists of parameters while they are read: what every input has to keep. */
#ifndef CZ_FRONTEND_IMPORT_LIST_H
#define CZ_FRONTEND_IMPORT_LIST_H

#include "frontend/import/families.h"
#include "frontend/import/members.h"

/* The array of sizes `json` as the shape of `param`, in the arena.  Reports
 * at `at` what is no shape of the language; `param` has its name. */
bool cz_import_read_shape(const cz_json_text *text, cz_json_part at,
                          const json_t *json, cz_import_param *param);
/* Elements of a shape, or -1 where 2^62 do not hold them. */
int64_t cz_import_numel(const int64_t *shape, int n_dims);

/* Append a parameter after checking name and count.  False after reporting. */
bool cz_import_list_add(const cz_json_text *text, cz_json_part at,
                        cz_import_list *list, cz_import_param param);
/* Say in a comment what was left out; of many, how many. */
void cz_import_list_leave_out(const cz_json_text *text, cz_import_list *list,
                              const char *name, const char *why);
/* There is at least one, and no name comes twice.  False after reporting. */
bool cz_import_list_check(const cz_json_text *text, const cz_import_list *list);

#endif
