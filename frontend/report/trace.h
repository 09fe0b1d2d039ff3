/* A step as a trace for Perfetto or chrome://tracing: the Trace Event Format,
 * a complete event (ph X) for each operation and rank. */
#ifndef CZ_FRONTEND_REPORT_TRACE_H
#define CZ_FRONTEND_REPORT_TRACE_H

#include "frontend/report/look.h"

/* Ranks behind these are left out. */
enum { CZ_TRACE_MAX_RANKS = 256 };

/* Appends to `out`.  ts and dur are microseconds, pid is the rank, tid the
 * stream. */
void cz_report_trace(const cz_look *look, cz_text *out);

#endif
