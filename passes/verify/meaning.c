/* V10 and V8: stages do what the update says, phase by phase, and whatever
 * phase the update before was in.
 *
 * Update and stages run on small matrices of random numbers: forms that are
 * equal for matrices of any size are equal there, and forms that differ are
 * not, but by a rare chance (Schwartz 1980, Zippel 1979: an identity of
 * rational functions, tried at random points).  So a slot, an operand, a
 * constant or the key of a random number that is another one shows in what the
 * rule leaves, and so does a rounding: trials that round do it coarsely.
 *
 * Of two updates the second begins with what stages have left of the first, in
 * scratch too: only what outlives an update may count. */
#include "dsl/plan/error_bound.h"
#include "passes/verify/internal.h"
#include "passes/verify/small/small.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Numbers of both signs, and positive ones alone: of these roots and logarithms
 * are numbers.  Both with comparisons that are decided, and blended; and
 * rounded where types say so. */
static const struct {
    small_conditions conditions;
    bool draws, rounds, has_signs;
} trials[] = {
    {SMALL_DECIDED, false, false, true}, {SMALL_DECIDED, false, false, false},
    {SMALL_BLENDED, true, false, true},  {SMALL_BLENDED, true, false, false},
    {SMALL_BLENDED, true, true, true},   {SMALL_BLENDED, true, true, false}};
enum {
    N_TRIALS = sizeof trials / sizeof *trials,
    MAX_SLOTS = 100,
    FAULT_BYTES = 300,
    MAX_WIRES = 8
};
/* Rounding of f64 apart, and what an update makes of a change of its inputs
 * that is larger than that.  Of a difference of numbers of ordinary size
 * rounding leaves less than NEAR * LEAST. */
static const double NEAR = 1e-8, CHANGE = 1e-13, LEAST = 1e-5;

/* What a parameter has on all ranks together. */
typedef struct memory {
    small slots[CZ_N_SLOTS][MAX_SLOTS];
} memory;

/* A rule with the stage that does its whole matrices: `middle`, or a segment
 * of it in its place. */
typedef struct trial {
    verifier *v;
    small_run run; /* its arena is of one update */
    const cz_view_rule *rule;
    int number, middle;
    bool has_signs;
    int n_slots; /* of each kind at most */
    uint64_t random;
    double *scalars;
    char fault[FAULT_BYTES]; /* "": none so far */
    int culprit;             /* the stage that it is of */
} trial;

/* ---- numbers ---- */

static small draw_like(trial *t, small shape)
{
    const int n = shape.rows * shape.columns;

    for (int i = 0; i < SMALL_ELEMENTS; i++) {
        shape.v[i] = i < n ? small_draw(&t->random) : 0.0;
        if (i < n && t->has_signs && small_draw(&t->random) < 1.0)
            shape.v[i] = -shape.v[i];
    }
    return shape;
}

/* Input i of an update: gradient, parameter, states. */
static small shape_of(const trial *t, int i)
{
    return small_shaped(&t->run, &t->rule->updates[0].shapes[i]);
}

static bool is_extern(const trial *t, int state)
{
    return t->rule->fact->state_extern.v[state] != 0;
}

/* ---- one update, by what it says and by stages ---- */

/* What an update says of a value. */
typedef struct result {
    small exact, changed; /* the latter from inputs changed by CHANGE */
} result;

/* Whether stages read a slot in a wider type than that: they round it first. */
static bool is_narrowed(const trial *t, cz_slot_kind kind, int index,
                        cz_dtype dtype)
{
    for (int s = t->rule->first_stage;
         s < t->rule->first_stage + t->rule->n_stages; s++) {
        const cz_view_stage *stage = &t->v->view->stages[s];
        for (int i = 0; i < stage->n_in; i++)
            if (stage->in[i].kind == kind && stage->in[i].index == index &&
                cz_dtype_bytes(stage->in[i].dtype) > cz_dtype_bytes(dtype))
                return true;
    }
    return false;
}

/* A slot's values as the update takes argument i: what stages leave there
 * element by element lies in a row. */
static small argument(const trial *t, const memory *m, int i, cz_slot_kind kind,
                      int index)
{
    const cz_dtype dtype = t->rule->updates[0].shapes[i].dtype;
    small value = shape_of(t, i);

    memcpy(value.v, m->slots[kind][index].v, sizeof value.v);
    if (is_narrowed(t, kind, index, dtype))
        for (int k = 0; k < value.rows * value.columns; k++)
            value.v[k] = small_round(&t->run, dtype, value.v[k]);
    return value;
}

static void run_update(trial *t, int phase, const memory *m, result *said)
{
    const cz_view_update *u = &t->rule->updates[phase];
    const int n_states = t->rule->fact->states.n;
    small *in = CZ_NEW(t->run.arena, small, u->n_in);
    small *out = CZ_NEW(t->run.arena, small, u->n_out);

    in[0] = argument(t, m, 0, CZ_SLOT_GRAD, 0);
    in[1] = argument(t, m, 1, CZ_SLOT_PARAM, 0);
    for (int k = 0; k < n_states; k++)
        in[2 + k] = argument(t, m, 2 + k, CZ_SLOT_STATE, k);
    for (int i = 2 + n_states; i < u->n_in; i++) {
        in[i] = small_of(1, 1);
        in[i].v[0] = t->scalars[i - 2 - n_states];
    }
    small_update(&t->run, u, in, out);
    for (int i = 0; i < u->n_out; i++)
        said[i].exact = out[i];
    for (int i = 0; i < 2 + n_states; i++) {
        small *value = &in[i];
        for (int j = 0; j < value->rows * value->columns; j++)
            value->v[j] *= 1.0 + CHANGE * small_draw(&t->random);
    }
    small_update(&t->run, u, in, out);
    for (int i = 0; i < u->n_out; i++)
        said[i].changed = out[i];
}

static bool travels(const trial *t, int phase, const cz_view_slot *slot)
{
    return (slot->kind != CZ_SLOT_GATHER && slot->kind != CZ_SLOT_SCATTER) ||
           cz_view_slot_phases(t->v->view, t->number, slot->kind,
                               slot->index) >>
                   phase &
               1;
}

/* NULL, or what a stage does wrong by itself. */
static const char *run_stage(const trial *t, int phase, int number, memory *m)
{
    const cz_view_stage *stage =
        cz_view_variant(&t->v->view->stages[number], phase);
    const small shape = shape_of(t, 1);
    const int count = cz_view_is_shaped(stage) ? 0 : shape.rows * shape.columns;
    small *in = CZ_NEW(t->run.arena, small, stage->n_in + 1);
    small *out = CZ_NEW(t->run.arena, small, stage->n_out + 1);

    for (int i = 0; i < stage->n_in; i++)
        in[i] = m->slots[stage->in[i].kind][stage->in[i].index];
    const char *fault =
        small_stage(&t->run, t->v->view, stage, count, in, t->scalars, out);
    for (int i = 0; i < stage->n_out; i++)
        if (travels(t, phase, &stage->out[i]))
            m->slots[stage->out[i].kind][stage->out[i].index] = out[i];
    return fault;
}

static bool is_run(const trial *t, int number)
{
    return t->v->view->stages[number].where != CZ_WHERE_SUBGROUP &&
           t->v->view->stages[number].where != CZ_WHERE_FULL_MATRIX;
}

/* ---- what is wrong, and where ---- */

/* The first row of a stage; false if none runs it. */
static bool find_stage(const verifier *v, int number, place *at)
{
    for (int o = 0; o < v->view->n_ops; o++) {
        const cz_view_op *op = &v->view->ops[o];
        if (op->kind != CZ_STEP_KERNEL)
            continue;
        for (int64_t rank = 0; rank < v->view->n_ranks; rank++) {
            const row_range rows = rows_of(v, op, rank);
            for (int64_t i = rows.first; i < rows.end; i++) {
                const cz_view_kernel_entry *row =
                    &v->view->tables[op->table].rows.kernel[i];
                if (row->stage != number)
                    continue;
                *at = (place){o, rank, row->param};
                return true;
            }
        }
    }
    return false;
}

/* What nobody runs does no harm. */
static bool reject_stage(verifier *v, int number, const char *fault)
{
    place at;

    if (!find_stage(v, number, &at))
        return false;
    reject(v, at, "stage %s %s", v->view->stages[number].fact->sym_name, fault);
    return true;
}

/* The stage that writes a slot last, or one of the rule. */
static int writer_of(const trial *t, cz_slot_kind kind, int index)
{
    int found = t->middle >= 0 ? t->middle : t->rule->first_stage;

    for (int s = t->rule->first_stage;
         s < t->rule->first_stage + t->rule->n_stages; s++) {
        const cz_view_stage *stage = &t->v->view->stages[s];
        for (int i = 0; i < stage->n_out; i++)
            if ((s == t->middle || is_run(t, s)) &&
                stage->out[i].kind == kind && stage->out[i].index == index)
                found = s;
    }
    return found;
}

/* x as the update says, `changed` from inputs that are a little different. */
static bool is_close(double x, double changed, double y)
{
    if (!isfinite(x) || !isfinite(y))
        return x == y || (isnan(x) && isnan(y));
    return !(fabs(x - y) >
             NEAR * (LEAST + fabs(x) + fabs(y)) + fabs(x - changed));
}

static bool is_near(const result *said, const small *found)
{
    for (int i = 0; i < found->rows * found->columns; i++)
        if (!is_close(said->exact.v[i], said->changed.v[i], found->v[i]))
            return false;
    return true;
}

static const char *phase_name(const trial *t, int phase)
{
    return t->rule->n_phases > 0 ? t->rule->phases[phase].fact->sym_name
                                 : t->rule->fact->sym_name;
}

/* Nothing before: `before` is below 0. */
static void compare(trial *t, int before, int phase, cz_slot_kind kind,
                    int index, const result *said, const small *found)
{
    const char *what = kind == CZ_SLOT_PARAM ? "the parameter"
                       : kind == CZ_SLOT_STORED
                           ? "the stored copy"
                           : t->rule->fact->states.v[index];

    if (*t->fault || is_near(said, found))
        return;
    t->culprit = writer_of(t, kind, index);
    snprintf(t->fault, sizeof t->fault,
             "leaves %s in %s than update %s says%s%s",
             t->run.rounds ? "what is rounded elsewhere" : "another value",
             what, phase_name(t, phase), before < 0 ? "" : ", behind update ",
             before < 0 ? "" : phase_name(t, before));
}

/* The type of the copy that stages store of a parameter; false: they store
 * none. */
static bool find_stored(const trial *t, cz_dtype *dtype)
{
    for (int s = t->rule->first_stage;
         s < t->rule->first_stage + t->rule->n_stages; s++)
        for (int i = 0; i < t->v->view->stages[s].n_out; i++)
            if (t->v->view->stages[s].out[i].kind == CZ_SLOT_STORED) {
                *dtype = t->v->view->stages[s].out[i].dtype;
                return true;
            }
    return false;
}

static void round_result(const trial *t, cz_dtype dtype, result *said)
{
    for (int i = 0; i < SMALL_ELEMENTS; i++) {
        said->exact.v[i] = small_round(&t->run, dtype, said->exact.v[i]);
        said->changed.v[i] = small_round(&t->run, dtype, said->changed.v[i]);
    }
}

/* One update on what m holds; `before` is the phase of the update that left it,
 * or below 0. */
static void try_update(trial *t, int before, int phase, memory *m)
{
    result *said = CZ_NEW(t->run.arena, result, 1 + t->rule->fact->states.n);
    bool is_middle_due = t->middle >= 0;
    cz_dtype stored;

    /* What the trainer gives anew. */
    const int n_states = t->rule->fact->states.n;

    m->slots[CZ_SLOT_GRAD][0] = draw_like(t, shape_of(t, 0));
    for (int k = 0; k < n_states; k++)
        if (is_extern(t, k))
            m->slots[CZ_SLOT_STATE][k] = draw_like(t, shape_of(t, 2 + k));
    for (int i = 0; i < t->rule->n_scalars; i++)
        t->scalars[i] = small_draw(&t->random);
    run_update(t, phase, m, said);
    for (int s = t->rule->first_stage;
         s < t->rule->first_stage + t->rule->n_stages; s++) {
        const bool is_middle =
            !is_run(t, s) && is_middle_due; /* where the first of them stands */
        if (!is_run(t, s) && !is_middle)
            continue;
        is_middle_due = is_middle_due && !is_middle;
        const int number = is_middle ? t->middle : s;
        const char *fault = run_stage(t, phase, number, m);
        if (fault && !*t->fault) {
            snprintf(t->fault, sizeof t->fault, "%s", fault);
            t->culprit = number;
        }
    }
    compare(t, before, phase, CZ_SLOT_PARAM, 0, &said[0],
            &m->slots[CZ_SLOT_PARAM][0]);
    for (int k = 0; k < t->rule->fact->states.n; k++)
        compare(t, before, phase, CZ_SLOT_STATE, k, &said[1 + k],
                &m->slots[CZ_SLOT_STATE][k]);
    if (find_stored(t, &stored)) {
        round_result(t, stored, &said[0]);
        compare(t, before, phase, CZ_SLOT_STORED, 0, &said[0],
                &m->slots[CZ_SLOT_STORED][0]);
    }
    cz_arena_clear(t->run.arena);
}

/* ---- all phases, and all pairs of them ---- */

static void try_pairs(trial *t)
{
    const int n = t->rule->n_phases > 0 ? t->rule->n_phases : 1;
    memory *first = CZ_NEW(t->v->arena, memory, 2), *second = first + 1;

    for (int p = 0; p < n && !*t->fault; p++) {
        /* Before anything: nobody knows what lies in scratch. */
        const int longest = t->run.longest > 0 ? SMALL_LONG : SMALL;
        const small full = small_of(longest, longest);

        for (int kind = 0; kind < CZ_N_SLOTS; kind++)
            for (int i = 0; i < t->n_slots; i++)
                first->slots[kind][i] = draw_like(t, full);
        first->slots[CZ_SLOT_PARAM][0] = draw_like(t, shape_of(t, 1));
        for (int k = 0; k < t->rule->fact->states.n; k++) {
            small *state = &first->slots[CZ_SLOT_STATE][k];
            *state = draw_like(t, shape_of(t, 2 + k));
            for (int j = 0; t->rule->fact->state_symmetric.v[k] &&
                            j < state->rows * state->columns;
                 j++) {
                const int row = j / state->rows, column = j % state->rows;
                if (column < row)
                    state->v[j] = state->v[column * state->rows + row];
            }
        }
        try_update(t, -1, p, first);
        for (int q = 0; q < n && !*t->fault; q++) {
            *second = *first;
            try_update(t, p, q, second);
        }
    }
}

/* ---- what may be rounded to travel ---- */

/* Slots that a rule's values travel in as bf16. */
typedef struct wires {
    int n;
    const cz_view_slot *slots[MAX_WIRES];
} wires;

static void add_wires(const cz_view_stage *stage, wires *list)
{
    for (int i = 0; i < stage->n_out; i++) {
        const cz_view_slot *slot = &stage->out[i];
        if ((slot->kind == CZ_SLOT_GATHER || slot->kind == CZ_SLOT_SCATTER) &&
            slot->dtype == CZ_BF16 && list->n < MAX_WIRES)
            list->slots[list->n++] = slot;
    }
}

/* Where the tolerance admits it, what travels is rounded though the update does
 * not say so.  Whether it does is not known of a slot: so any of them may be.
 */
static wires find_wires(const trial *t)
{
    wires found = {0};

    if (!cz_error_admits_bf16(t->v->view->policy))
        return found;
    for (int s = t->rule->first_stage;
         s < t->rule->first_stage + t->rule->n_stages; s++)
        if (is_run(t, s) || s == t->middle)
            add_wires(&t->v->view->stages[s], &found);
    return found;
}

/* ---- all trials of a rule ---- */

/* Two different lengths of the update's matrices, both not 1; 0: there are
 * none. */
static int64_t longest_of(const cz_view_rule *rule)
{
    const int n = rule->n_phases > 0 ? rule->n_phases : 1;
    int64_t longest = 0, least = INT64_MAX;

    for (int p = 0; p < n; p++) {
        const cz_view_update *u = &rule->updates[p];
        for (int i = 0; i < u->n_in + u->n_terms; i++)
            for (int d = 0; d < u->shapes[i].rank; d++) {
                const int64_t length = u->shapes[i].size[d];
                longest = length > longest ? length : longest;
                least = length > 1 && length < least ? length : least;
            }
    }
    return longest > least ? longest : 0;
}

/* A rank's part of a matrix has what its steps have in both of its forms. */
static void set_lengths(trial *t)
{
    const cz_view_stage *stage =
        t->middle < 0 ? NULL : &t->v->view->stages[t->middle];
    const cz_ints *shape = &t->rule->fact->shape;

    if (!stage || !stage->subgroup) {
        t->run.longest = longest_of(t->rule);
        return;
    }
    for (int d = 0; shape->n == 2 && d < 2; d++)
        if (shape->v[1 - d] == 1 && shape->v[d] == stage->subgroup->size)
            t->run.is_element = true;
}

/* Trial number i, with what goes to some of the wires as it is. */
static void run_trial(trial *t, int i, const wires *list, uint32_t plain)
{
    t->run.conditions = trials[i].conditions;
    t->run.draws = trials[i].draws;
    t->run.rounds = trials[i].rounds;
    t->has_signs = trials[i].has_signs;
    t->random = (uint64_t)t->number * N_TRIALS + (uint64_t)i;
    *t->fault = '\0';
    memset(t->run.plain, 0, sizeof t->run.plain);
    for (int w = 0; w < list->n; w++)
        t->run.plain[list->slots[w]->kind] |= (plain >> w & 1)
                                              << list->slots[w]->index;
    try_pairs(t);
}

static void try_rule(verifier *v, int number, int middle)
{
    const cz_view_rule *rule = &v->view->rules[number];
    cz_arena arena;

    cz_arena_init(&arena);
    trial t = {.v = v,
               .run = {.arena = &arena},
               .rule = rule,
               .number = number,
               .middle = middle,
               .n_slots = MAX_SLOTS,
               .scalars = CZ_NEW(v->arena, double, rule->n_scalars + 1)};
    const wires all = find_wires(&t);

    set_lengths(&t);
    for (int i = 0; i < N_TRIALS && !*t.fault; i++) {
        const uint32_t n = trials[i].rounds ? UINT32_C(1) << all.n : 1;
        for (uint32_t w = 0; w == 0 || (w < n && *t.fault); w++)
            run_trial(&t, i, &all, w);
    }
    if (*t.fault && !reject_stage(v, t.culprit, t.fault) && middle >= 0)
        reject_stage(v, middle, t.fault);
    cz_arena_fini(&arena);
}

static bool is_slot(const cz_view_rule *rule, const cz_view_slot *slot)
{
    const int n = slot->kind == CZ_SLOT_STATE   ? rule->fact->states.n
                  : slot->kind < CZ_SLOT_GATHER ? 1
                                                : MAX_SLOTS;

    return slot->index >= 0 && slot->index < n;
}

/* Numbers in range, in every phase. */
static void check_numbers(verifier *v, int number)
{
    const cz_view_stage *stage = &v->view->stages[number];
    const cz_view_rule *rule = &v->view->rules[stage->rule];
    const char *fault = NULL;

    for (int i = 0; i < stage->n_in; i++)
        if (!is_slot(rule, &stage->in[i]))
            fault = "reads a slot that its rule has not";
    for (int i = 0; i < stage->n_out; i++)
        if (!is_slot(rule, &stage->out[i]))
            fault = "writes a slot that its rule has not";
    for (int p = 0; !fault && p < cz_view_n_bodies(stage); p++)
        fault = small_fault(v->arena, v->view, cz_view_variant(stage, p));
    if (fault && !reject_stage(v, number, fault))
        reject(v, place_of(v, v->view->n_ops - 1),
               "is the last, and stage %s, which none runs, %s",
               stage->fact->sym_name, fault);
}

/* A shared stage in place of the whole one: the ranks' parts are small matrices
 * like the whole, and sums over one rank its own. */
void check_meaning(verifier *v)
{
    for (int s = 0; s < v->view->n_stages && v->n_errors == 0; s++)
        check_numbers(v, s);
    for (int s = 0; s < v->view->n_stages && v->n_errors == 0; s++) {
        const cz_view_stage *stage = &v->view->stages[s];
        if (cz_view_is_shaped(stage) || stage->where == CZ_WHERE_ELEMENT_WISE)
            try_rule(v, stage->rule, cz_view_is_shaped(stage) ? s : -1);
    }
}
