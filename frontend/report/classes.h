/* Matrices that are alike, and numbers of all ranks taken together. */
#ifndef CZ_FRONTEND_REPORT_CLASSES_H
#define CZ_FRONTEND_REPORT_CLASSES_H

#include "frontend/document/read.h"

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
/* "measured", "assumed" or "partly measured". */
const char *cz_basis_word(const cz_basis *basis);

#endif
