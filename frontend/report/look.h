/* What a page, a trace and an explanation of a plan are made from. */
#ifndef CZ_FRONTEND_REPORT_LOOK_H
#define CZ_FRONTEND_REPORT_LOOK_H

#include "frontend/document/read.h"
#include "passes/simulate/simulate.h"

typedef struct cz_look {
    const cz_document *document;
    const cz_simulate_timeline *timeline; /* of its operations */
} cz_look;

/* "all_gather, bucket 3"; "kernel matrices.128x128.whole". */
void cz_look_op_name(const cz_look *look, int op, cz_text *out);
/* "rank 9 (dp 4, tp 1)" */
void cz_look_rank_name(const cz_look *look, int rank, cz_text *out);
/* What streams are called. */
extern const char *const cz_look_lanes[3];

#endif
