/* Counting what was saved, on the plan view. */
#include "frontend/document/plan/rewrites.h"

#include <string.h>

#include "dsl/base/checked.h"
#include "dsl/plan/state.h"
#include "passes/cost/step.h"
#include "passes/cost/time.h"

const char *const cz_rewrite_names[CZ_N_REWRITES] = {
    [CZ_REWRITE_GRAM] = "gram",         [CZ_REWRITE_CUT] = "cut",
    [CZ_REWRITE_SETTLED] = "settled",   [CZ_REWRITE_SYMMETRIC] = "symmetric",
    [CZ_REWRITE_EPILOGUE] = "epilogue", [CZ_REWRITE_TRANSPOSE] = "transpose"};

static int64_t limited(cz_wide value)
{
    return value > CZ_MAX_BYTES ? CZ_MAX_BYTES : (int64_t)value;
}

static int64_t product_of(int64_t a, int64_t b, int64_t c)
{
    return limited((cz_wide)limited((cz_wide)a * b) * c);
}

static void add(cz_document_rewrite *it, int64_t before, int64_t after)
{
    it->count++;
    it->before = limited((cz_wide)it->before + before);
    it->after = limited((cz_wide)it->after + after);
}

/* ---- what passes have written ---- */

static void find_noted(const cz_plan_view *view, const char *update,
                       cz_document_rewrite *out)
{
    for (int i = 0; i < view->n_rewrites; i++) {
        const cz_fact_rewrite *fact = &view->rewrites[i];
        if (strcmp(fact->update, update) == 0)
            *out = (cz_document_rewrite){.count = fact->count,
                                         .before = fact->before,
                                         .after = fact->after};
    }
}

/* ---- what travels ---- */

static int64_t slot_bytes(const cz_view_slot *slots, int n, cz_slot_kind kind,
                          int64_t *count)
{
    int64_t bytes = 0;
    for (int i = 0; i < n; i++)
        if (slots[i].kind == kind) {
            bytes += cz_dtype_bytes(slots[i].dtype);
            *count += 1;
        }
    return bytes;
}

/* Of the master, or of a parameter that is its own. */
static int64_t param_bytes(const cz_plan_view *view, int rule)
{
    int64_t bytes = cz_dtype_bytes(view->policy->master_dtype);
    for (int f = 0; f < view->n_patterns; f++)
        if (view->patterns[f].rule == rule &&
            cz_dtype_bytes(view->patterns[f].dtype) > bytes)
            bytes = cz_dtype_bytes(view->patterns[f].dtype);
    return bytes;
}

/* Gradient, master and states there, master and states back. */
static int64_t all_bytes(const cz_plan_view *view, int rule)
{
    return cz_dtype_bytes(CZ_F32) +
           2 * (param_bytes(view, rule) +
                cz_state_shard_bytes(view->rules[rule].fact));
}

static void find_cut(const cz_plan_view *view, const cz_view_stage *stage,
                     cz_document_rewrite *out)
{
    const cz_ints shape = view->rules[stage->rule].fact->shape;
    const int64_t *n = shape.v;
    const int64_t gathered =
        slot_bytes(stage->in, stage->n_in, CZ_SLOT_GATHER, &out->count);
    const int64_t scattered =
        slot_bytes(stage->out, stage->n_out, CZ_SLOT_SCATTER, &out->count);
    out->before = product_of(n[0], n[1], all_bytes(view, stage->rule));
    out->after = product_of(n[0], n[1], gathered + scattered);
}

static void find_settled(const cz_view_rule *rule, cz_document_rewrite *out)
{
    const int64_t *n = rule->fact->shape.v;

    for (int i = 0; i < rule->settled.n; i++)
        add(out,
            product_of(n[0], n[1],
                       2LL * cz_dtype_bytes(rule->states[rule->settled.v[i]])),
            0);
}

/* ---- products ---- */

static bool has_epilogue(const cz_view_step *step)
{
    return step->body >= 0 || step->alpha != 1 || step->beta != 0;
}

static void find_products(const cz_view_stage *body, cz_document_rewrite *out)
{
    for (int s = 0; s < body->n_steps; s++) {
        const cz_view_step *it = &body->steps[s];
        if (!it->is_product)
            continue;
        if (it->symmetric)
            add(&out[CZ_REWRITE_SYMMETRIC],
                product_of(it->rows, 2 * it->columns, it->inner),
                product_of(it->rows, it->columns + 1, it->inner));
        if (has_epilogue(it))
            add(&out[CZ_REWRITE_EPILOGUE],
                product_of(it->rows, it->columns, 2LL * cz_dtype_bytes(CZ_F32)),
                0);
    }
}

/* ---- transposes ---- */

static bool is_read_transposed(const cz_view_step *step, int i)
{
    if (step->is_product && i < 2)
        return i == 0 ? step->transpose_a : step->transpose_b;
    return !step->factor && step->access[i] == CZ_ACCESS_TRANSPOSED;
}

static int64_t operand_elements(const cz_view_step *step, int i)
{
    const bool is_factor = step->is_product && i < 2;
    return product_of(is_factor && i == 1 ? step->columns : step->rows,
                      is_factor ? step->inner : step->columns, 1);
}

static void find_transposes(cz_arena *scratch, const cz_view_stage *body,
                            cz_document_rewrite *out)
{
    const cz_dtype *dtypes = cz_cost_value_dtypes(scratch, body);
    bool *seen = CZ_NEW(scratch, bool, cz_step_cuts_n_values(body));
    for (int s = 0; s < body->n_steps; s++)
        for (int i = 0; i < body->steps[s].n_in; i++) {
            const cz_view_step *step = &body->steps[s];
            const int value = step->in[i];
            if (!is_read_transposed(step, i) || seen[value])
                continue;
            seen[value] = true;
            add(out,
                product_of(operand_elements(step, i), 2,
                           cz_dtype_bytes(dtypes[value])),
                0);
        }
}

int cz_rewrites_find(cz_arena *scratch, const cz_plan_view *view,
                     const cz_view_stage *stage, int phase,
                     cz_document_rewrite out[CZ_N_REWRITES])
{
    const cz_view_rule *rule = &view->rules[stage->rule];
    const cz_view_stage *body = cz_view_variant(stage, phase);
    cz_document_rewrite all[CZ_N_REWRITES] = {{.count = 0}};
    int n = 0;
    if (stage->where != CZ_WHERE_FULL_MATRIX)
        return 0;
    find_noted(view,
               rule->n_phases > 0 ? rule->phases[phase].fact->update
                                  : rule->fact->update,
               &all[CZ_REWRITE_GRAM]);
    find_cut(view, body, &all[CZ_REWRITE_CUT]);
    find_settled(&view->rules[body->rule], &all[CZ_REWRITE_SETTLED]);
    find_products(body, all);
    find_transposes(scratch, body, &all[CZ_REWRITE_TRANSPOSE]);
    for (int k = 0; k < CZ_N_REWRITES; k++) {
        const bool is_flops = k == CZ_REWRITE_GRAM || k == CZ_REWRITE_SYMMETRIC;
        all[k].name = cz_rewrite_names[k];
        all[k].unit = is_flops ? "flops" : "bytes";
        if (all[k].count > 0 && all[k].before != all[k].after)
            out[n++] = all[k];
    }
    return n;
}
