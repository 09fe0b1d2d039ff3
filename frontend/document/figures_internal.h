/* Private to frontend/plan_json*.c: a plan while it is read. */
#ifndef CZ_FRONTEND_DOCUMENT_FIGURES_INTERNAL_H
#define CZ_FRONTEND_DOCUMENT_FIGURES_INTERNAL_H

#include "dsl/plan/figures.h"
#include "frontend/document/read.h"

typedef struct cz_plan_reader {
    cz_json_reading *reading;
    cz_figures *out;
    const char *axes[CZ_VIEW_MAX_AXES];
    const char *const *reductions; /* names */
    int n_buckets;
} cz_plan_reader;

/* Parse a document into `root`, and check its schema.  NULL where it is no
 * JSON; what is wrong is reported.  The caller lets the tree go. */
json_t *cz_plan_json_load(cz_json_at *root, const cz_text *text);

/* The set of axes that a list names. */
int64_t cz_plan_read_set(cz_plan_reader *r, const cz_json_at *in,
                         const char *key);
/* Coordinates over a set. */
int cz_plan_extent(const cz_plan_reader *r, int64_t set);
/* A type, and bytes of an element of it. */
cz_dtype cz_plan_read_dtype(const cz_json_at *in, const char *key);
int64_t cz_plan_read_bytes(const cz_json_at *in, const char *key);

/* Lists of n elements; each fills what its name says of the figures. */
void cz_plan_read_stages(cz_plan_reader *r, const cz_json_at *list, int n);
void cz_plan_read_buckets(cz_plan_reader *r, const cz_json_at *list, int n);
void cz_plan_read_ops(cz_plan_reader *r, const cz_json_at *list, int n);
void cz_plan_read_baselines(cz_plan_reader *r, const cz_json_at *list, int n);

#endif
