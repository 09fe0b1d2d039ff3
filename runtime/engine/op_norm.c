/* The global norm, what is decided from it, and the step's scalars. */
#include "runtime/engine/engine.h"

czr_status czr_op_square_sum(czr_engine *engine, int op, czr_segment *segment)
{
    const czr_program *program = engine->program;
    const int table = program->ops[op].table;
    const czr_range range = czr_program_rows(program, table, engine->rank);
    const czr_span_entry *rows = program->tables[table].rows;

    segment->is_last = true;
    for (int64_t i = range.first; i < range.first + range.n; i++)
        if (!engine->bindings[rows[i].param].is_absent)
            czr_norm_add(engine->norm,
                         czr_reduced_at(engine, rows[i].param, rows[i].offset),
                         (size_t)rows[i].count);
    return CZR_OK;
}

czr_status czr_op_all_reduce(czr_engine *engine, int op, czr_segment *segment)
{
    (void)op;
    engine->norm->words[CZR_NORM_NONFINITE] =
        engine->largest >= czr_guard_limit(NULL);
    czr_identity_put(engine);
    segment->is_last = true;
    czr_guard_sum(engine->norm->words, CZR_NORM_WORDS + engine->world->size,
                  segment);
    return CZR_OK;
}

czr_status czr_op_decide(czr_engine *engine, int op, czr_segment *segment)
{
    const double floor = 1e-6; /* keeps 0 / 0 away, as trainers have it */
    const czr_program *program = engine->program;

    (void)op;
    const czr_status status = czr_identity_check(engine);
    segment->is_last = true;
    if (status != CZR_OK)
        return status;
    engine->grad_norm = czr_norm_root(engine->norm);
    engine->is_faulty = engine->norm->words[CZR_NORM_FAULTS] > 0;
    if (engine->is_faulty)
        engine->is_skipped = true;
    else if (!czr_norm_is_finite(engine->norm))
        czr_guard_skip(engine, "the norm of all gradients is not finite");
    engine->clip = 1;
    if (program->clip > 0) {
        const double clip = program->clip / (engine->grad_norm + floor);
        engine->clip = clip > 1 ? 1 : clip; /* NaN stays */
    }
    return CZR_OK;
}

czr_status czr_op_prologue(czr_engine *engine, int op, czr_segment *segment)
{
    (void)op;
    segment->is_last = true;
    engine->program->prologue((double)(engine->steps + 1), engine->clip,
                              engine->hypers, engine->scalars);
    czr_phase_fill_scalars(engine);
    return CZR_OK;
}
