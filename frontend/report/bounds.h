/* What is said about bounds. */
#ifndef CZ_FRONTEND_REPORT_BOUNDS_H
#define CZ_FRONTEND_REPORT_BOUNDS_H

#include "frontend/document/read.h"

/* What shows that a bound holds: a matrix, a count, bytes. */
void cz_bound_witness(const cz_document *document,
                      const cz_document_bound *bound, cz_text *out);
/* Whose plans a bound of kernels holds for: "owners, groups of 2, 4, 8". */
void cz_bound_admits(const cz_document_bound *bound, cz_text *out);

#endif
