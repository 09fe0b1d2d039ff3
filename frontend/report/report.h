/* A plan for people: a screen, an explanation, a page, a trace, what tells it
 * from another plan, and what a simulation says of it.  Everything is appended
 * to `out`. */
#ifndef CZ_FRONTEND_REPORT_REPORT_H
#define CZ_FRONTEND_REPORT_REPORT_H

#include "dsl/plan/metrics.h"
#include "dsl/plan/plan.h"
#include "frontend/document/read.h"
#include "passes/simulate/simulate.h"

/* What a bar is made of. */
typedef enum cz_bar_style {
    CZ_BARS_ASCII,
    CZ_BARS_BLOCKS /* U+2581 to U+2588 */
} cz_bar_style;

/* A training iteration of a plan, simulated (dsl/SIMULATE.md). */
typedef struct cz_report_iteration {
    int64_t tokens;      /* over all ranks */
    int64_t mfu, active; /* millionths; of experts at work on a token */
    cz_simulate_times times;
} cz_report_iteration;

/* One screen about a scheduled plan, with the metrics of the view; `hash` is
 * its hash in hex; `iteration` is NULL where it is not known. */
void cz_report_screen(const cz_plan_view *view, const cz_metrics *metrics,
                      const char *hash, const cz_report_iteration *iteration,
                      cz_bar_style style, cz_text *out);

/* What the lines of such a screen mean, of those that stand there. */
void cz_report_legend(const char *screen, cz_text *out);

/* A `use` of the first source; one with an index names a group for each of its
 * values: NAME_0, NAME_1 and so on. */
typedef struct cz_report_param_group {
    const char *name;
    bool has_index;
    int line; /* from 1 */
} cz_report_param_group;

/* What a plan was made from, for those who read it. */
typedef struct cz_report_text {
    int n_sources, n_uses, n_defines;
    const cz_source *sources; /* files of the user's, the main one first; none
                               * where the plan came as IR */
    const cz_report_param_group *uses;
    const char *const *defines; /* of -D, in order */
} cz_report_text;

/* What a page, a trace and an explanation of a plan are made from. */
typedef struct cz_report_context {
    const cz_document *document;
    const cz_simulate_timeline *timeline; /* of its operations */
    const cz_report_iteration *iteration; /* NULL: it is not known */
    double gram; /* of the time of updates of matrices that is left with `form
                  * gram`, on a GPU; 1: as much */
    cz_report_text text;
} cz_report_context;

/* "help", "time", "matrices", ..., "all", NULL: why each class of matrices is
 * where it is, what was rewritten in their stages, and so on. */
extern const char *const cz_explain_names[];
/* One of them; "": what would help, what bounds the time, and the others'
 * names.
 */
void cz_report_explain(const cz_report_context *context, const char *name,
                       cz_text *out);

/* One page: HTML with SVG in it and its style, nothing else.  It reads without
 * scripts, refers to nothing outside itself, and is under a megabyte whatever
 * the number of ranks is: it says so where it has not all owners, or not all of
 * a source. */
void cz_report_html(const cz_report_context *context, cz_text *out);

/* Ranks behind these are left out of a trace. */
enum { CZ_TRACE_MAX_RANKS = 256 };

/* A step for Perfetto or chrome://tracing: the Trace Event Format, a complete
 * event (ph X) for each operation and rank.  ts and dur are microseconds, pid
 * is the rank, tid the stream. */
void cz_report_trace(const cz_report_context *context, cz_text *out);

/* ---- words of them ---- */

/* Ranks that update a matrix: its owner, those that share it, and likewise
 * those that have others in its place: "rank 143 (dp 17, tp 7)", "ranks 3, 8 to
 * 15", "ranks 0 to 7, 2 together".  Of many the first. */
void cz_report_owners(const cz_document *document,
                      const cz_document_matrix *matrix, cz_text *out);
/* What times of a plan are: "measured", "assumed" or "partly measured". */
const char *cz_report_basis(const cz_document *document);

/* ---- two plans ---- */

typedef enum cz_diff_unit {
    CZ_DIFF_TEXT,
    CZ_DIFF_COUNT,
    CZ_DIFF_TIME, /* picoseconds */
    CZ_DIFF_BYTES
} cz_diff_unit;

/* One difference: `before` and `after` are numbers, -1 for what one plan does
 * not have, or texts, NULL alike. */
typedef struct cz_difference {
    const char *section; /* equal ones are neighbours */
    const char *name;
    cz_diff_unit unit;
    int64_t before, after;
    const char *before_text, *after_text;
} cz_difference;

/* All of them, in the order of the document; they belong to the arena.  Of
 * two hashes nothing is said: comments are in them. */
cz_difference *cz_diff_build(cz_arena *arena, const cz_document *before,
                             const cz_document *after, int *n);

/* For people, a few of each section; or all as JSON (canzona.diff/1). */
void cz_diff_print(const cz_difference *all, int n, cz_text *out);
void cz_diff_json(const cz_document *before, const cz_document *after,
                  const cz_difference *all, int n, cz_text *out);

/* ---- a simulation: times alone, not how they came about ---- */

/* One plan that was simulated; a baseline in the buckets in which its iteration
 * is shortest. */
typedef struct cz_simulation_row {
    const char *name;
    int64_t bucket_elements; /* of so many; -1: the plan's own */
    bool is_even;            /* a baseline of which e says nothing */
    cz_simulate_times times;
} cz_simulation_row;

typedef struct cz_simulation_report {
    const cz_document *document;
    const char *machine;
    bool has_experts;
    int64_t tokens, tokens_per_rank; /* of those that hold a whole model, or
                                      * parts of one, together */
    int64_t mfu, active, e, contention, jitter, slowdown; /* millionths */
    int64_t seed, sequence;
    cz_simulate_model model; /* with a sequence */
    int n_stragglers;
    int n_rows; /* the plan, then baselines */
    const cz_simulation_row *rows;
    /* The baseline of even collectives with the shortest iteration, NULL: there
     * is none; and the least e, in whole hundredths, at which the plan's is as
     * short: millionths, 0: at any, -1: at none. */
    const char *best_even;
    int64_t even_e;
} cz_simulation_report;

void cz_simulation_screen(const cz_simulation_report *report, cz_text *out);
/* By tests/simulate/simulate.schema.json. */
void cz_simulation_json(const cz_simulation_report *report, cz_text *out);

#endif
