/* Shared by the files that build the plan view (dsl/plan/build) alone.
 * Every step checks the form of what it reads, reports each mistake as one
 * E0601, and says whether all was well. */
#ifndef CZ_DSL_PLAN_BUILD_INTERNAL_H
#define CZ_DSL_PLAN_BUILD_INTERNAL_H

#include "dsl/base/arena.h"
#include "dsl/base/diag.h"
#include "dsl/ir/ir.h"
#include "dsl/plan/plan.h"

enum {
    CZ_VIEW_MAX_INDICES = 4,
    CZ_VIEW_MAX_RANKS = 1 << 20,
    CZ_VIEW_MAX_PROGRAM_NAME = 64, /* bytes */
    CZ_VIEW_MAX_PARAMS = 1 << 22,
    CZ_VIEW_MAX_STREAMS = 32
};
/* No number of a table is beyond this: sums and products with element sizes
 * cannot overflow. */
#define CZ_VIEW_MAX_NUMBER ((int64_t)1 << 48)

typedef struct cz_view_symbol {
    const char *name;
    int kind;    /* cz_fact_kind, or CZ_N_FACTS for a function */
    int number;  /* among its kind */
    cz_ir_op op; /* of a function */
} cz_view_symbol;

typedef struct cz_view_builder {
    cz_arena *arena;
    const cz_ir *ir;
    cz_diags *diags;
    cz_plan_view *view;
    const void *facts[CZ_N_FACTS]; /* all of the module, by kind */
    int n_facts[CZ_N_FACTS];
    int n_symbols;
    cz_view_symbol *symbols; /* sorted by name */
    cz_view_body *bodies;    /* the view's, still growing */
    /* by pattern, frozen pattern and storage */
    cz_view_cuts *bounds, *frozen_bounds, *storage_bounds;
    cz_view_pattern *patterns; /* the view's, and so on */
    cz_view_storage *storages;
    cz_view_rule *rules;
    cz_view_param *params;
} cz_view_builder;

/* Report; always false, which a reader of the caller alone is to see. */
#define cz_view_fail(...) (cz_view_report(__VA_ARGS__), false)
void cz_view_report(cz_view_builder *builder, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* ---- small checks (check.c) ---- */

/* Read the module's facts, and find their symbols. */
void cz_view_read_facts(cz_view_builder *builder);
/* The facts of a kind, n of them. */
#define CZ_VIEW_FACTS(builder, fact, n)                                        \
    (*(n) = (builder)->n_facts[CZ_FACT_##fact],                                \
     (const cz_fact_##fact *)(builder)->facts[CZ_FACT_##fact])
/* Whether the integers of all facts of a kind are in the ranges of facts.def,
 * and as many as it says. */
bool cz_view_check_facts(cz_view_builder *builder, cz_fact_kind kind);
/* Number of the fact that a reference names; fails on "". */
bool cz_view_find(cz_view_builder *builder, cz_fact_kind kind, const char *name,
                  int *number);
bool cz_view_find_function(cz_view_builder *builder, const char *name,
                           cz_ir_op *function);
typedef struct cz_view_limits {
    int64_t low, high;
} cz_view_limits;
/* Of a range, by what is read of the view. */
cz_view_limits cz_view_limits_of(const cz_plan_view *view, cz_range range);
bool cz_view_in(cz_view_builder *builder, const char *what, int64_t value,
                int64_t low, int64_t high);
/* n numbers, each in [low, high]. */
bool cz_view_all_in(cz_view_builder *builder, const char *what,
                    const cz_ints *list, int n, int64_t low, int64_t high);
bool cz_view_dtype(cz_view_builder *builder, const char *what, const char *name,
                   cz_dtype *dtype);
/* [0, ..., n], ascending, of n_ranges + 1 entries. */
bool cz_view_bounds(cz_view_builder *builder, const char *what,
                    const cz_ints *bounds, int64_t n_ranges, int64_t n);

/* ---- boxes of names (pattern.c) ---- */

/* All of a pattern but its rule; `n` counts the parameters of its kind. */
bool cz_view_read_box(cz_view_builder *builder, cz_view_pattern *pattern,
                      int *n);
/* Coordinates of the spread deal out the values of one index: how many. */
bool cz_view_read_expert_axes(cz_view_builder *builder,
                              cz_view_pattern *pattern);
/* The names of a pattern's member `k`, by coordinate of the spread. */
const char **cz_view_names_of(cz_view_builder *builder,
                              const cz_view_pattern *pattern, int k);

/* ---- storage (storage.c) ---- */

/* Storages and pieces; patterns are there. */
bool cz_view_read_storages(cz_view_builder *builder);

/* ---- stages (stage.c, step.c, shared.c) ---- */

/* The steps of a stage whose slots and scalars are known. */
bool cz_view_read_steps(cz_view_builder *builder, cz_view_stage *stage,
                        cz_ir_op function);
/* Who shares the shared ones, and in which segments. */
bool cz_view_read_subgroups(cz_view_builder *builder, cz_view_stage *stages,
                            int n);

/* ---- steps, in this order ---- */

bool cz_view_read_rules(cz_view_builder *builder);
bool cz_view_read_phases(cz_view_builder *builder);
bool cz_view_read_patterns(cz_view_builder *builder);
bool cz_view_read_stages(cz_view_builder *builder);
bool cz_view_read_assigns(cz_view_builder *builder);
bool cz_view_read_buckets(cz_view_builder *builder);
bool cz_view_read_micro_group_choice(cz_view_builder *builder);
bool cz_view_read_tables(cz_view_builder *builder);
bool cz_view_read_ops(cz_view_builder *builder);
/* What is said of a GPU; tables are there. */
bool cz_view_read_gpu(cz_view_builder *builder);

/* What the rules' updates say, of a plan that is scheduled. */
bool cz_view_read_updates(cz_view_builder *builder);

/* A function of scalars as a body; the same function has one number. */
bool cz_view_read_body(cz_view_builder *builder, const char *name, int *number);

#endif
