/* What reports share: names, words about bounds, matrices that are alike, and
 * numbers of all ranks taken together.  Private to frontend/report. */
#ifndef CZ_FRONTEND_REPORT_INTERNAL_H
#define CZ_FRONTEND_REPORT_INTERNAL_H

#include "frontend/document/number.h"
#include "frontend/report/report.h"

/* ---- names ---- */

/* "all_gather, bucket 3"; "kernel stage_matrices_128x128_whole". */
void cz_report_op_name(const cz_report_context *context, int op, cz_text *out);
/* "rank 9 (dp 4, tp 1)" */
void cz_report_rank_name(const cz_document *document, int rank, cz_text *out);
/* What streams are called. */
extern const char *const cz_report_lanes[3];

/* ---- bounds ---- */

/* What shows that a bound holds: a matrix, a count, bytes. */
void cz_bound_witness(const cz_document *document,
                      const cz_document_bound *bound, cz_text *out);
/* Whose plans a bound of kernels holds for: "owners, groups of 2, 4, 8". */
void cz_bound_admits(const cz_document_bound *bound, cz_text *out);

/* ---- matrices ---- */

/* Matrices of one shape, optimizer, strategy and number of ranks. */
typedef struct cz_matrix_class {
    const cz_document_matrix *like; /* the first of them */
    const char *optimizer;
    const cz_document_stage *stage; /* that computes it; NULL: not found */
    int64_t n;                      /* matrices, batches counted out */
    int64_t time_ps, wire_bytes;    /* of all together */
} cz_matrix_class;

/* Those with most time first; they belong to the arena. */
cz_matrix_class *cz_matrix_classes(cz_arena *arena, const cz_document *document,
                                   int *n);

/* One sentence: why matrices of a class have this strategy. */
void cz_class_why(const cz_document *document, const cz_matrix_class *of,
                  cz_text *out);
/* The other ways, each behind `before`: what it would take, and why not. */
void cz_class_others(const cz_matrix_class *of, const char *before,
                     cz_text *out);

/* ---- ranks ---- */

/* Neither negative; the largest number where the sum is larger. */
int64_t cz_sum(int64_t a, int64_t b);
/* [n] numbers, one at least: their sum, extremes, and the mean rounded down. */
typedef struct cz_rank_sums {
    int64_t sum, min, max, mean;
    int n, at_max; /* the first with most */
} cz_rank_sums;

cz_rank_sums cz_rank_sums_of(const int64_t *values, int n);
/* Ranks by falling value, equal ones by number. */
int *cz_ranks_sorted(cz_arena *arena, const int64_t *values, int n);

/* How many of the plan's times and constants were measured. */
typedef struct cz_basis {
    int n_constants, n_measured_constants;
    int n_stages, n_measured_stages; /* of whole matrices */
} cz_basis;

cz_basis cz_basis_of(const cz_document *document);
const char *cz_basis_word(const cz_basis *basis);

/* ---- screens ---- */

/* A line of n_columns characters at most: ranks by falling value, as many to a
 * column as need be, each as high as the first of them over the largest. */
void cz_bars_put(cz_arena *arena, const int64_t *values, int n, int n_columns,
                 cz_bar_style style, cz_text *out);
/* Appends `text`, in which lines of more than `width` bytes are broken at
 * spaces; what follows begins two columns further right than the line.  A word
 * that is too long stands alone. */
void cz_report_wrap(const char *text, int width, cz_text *out);

#endif
