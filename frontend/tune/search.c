/* The search: by bound, the quickest of each mesh; then clauses of the best. */
#include "frontend/tune/internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "dsl/plan/build/build.h"
#include "frontend/document/number.h"
#include "frontend/document/plan/plan.h"
#include "passes/cost/machine.h"
#include "passes/passes.h"
#include "passes/verify/verify.h"

enum {
    REFINED = 3, /* meshes whose clauses are chosen one by one */
    DEFAULT_GB = 80,
    GAIN = 1000 /* a clause of the source stays unless another is so
                 * much quicker, one part in */
};

typedef struct search {
    cz_arena *arena;
    cz_tune_space space;
    cz_tune_result *out;
    cz_tune_candidate *best; /* [n_best] one of each mesh, in order */
    int n_best;
    cz_tune_candidate *candidates; /* all */
    int n_candidates;
    int n_steps, n_done; /* of the progress */
    int64_t least_bytes; /* that a plan takes which has too much */
} search;

/* ---- one candidate ---- */

/* The machine of the source, with every link. */
static void take_machine(const cz_machine_given *given, cz_arena *arena,
                         cz_machine *out)
{
    cz_machine_uneven *unevens =
        CZ_NEW(arena, cz_machine_uneven, given->n_uneven_reduces);
    int i = 0;
    for (int k = 0; k < given->n_uneven_reduces; k++)
        unevens[k] = cz_machine_uneven_of(&given->uneven_reduces[k]);
    *out = (cz_machine){.name = given->fact.name,
                        .n_unevens = given->n_uneven_reduces,
                        .unevens = unevens};
#define CZ_CONSTANT(field, unit, scale, low, what)                             \
    out->field = given->fact.values.v[i++];
#include "dsl/vocab/machine.def"
#undef CZ_CONSTANT
}

static int64_t fullest(const cz_document *d)
{
    int64_t most = 0;
    for (int r = 0; r < d->n_ranks; r++) {
        int64_t bytes = 0;
        for (int k = 0; k < CZ_N_MEMORIES; k++)
            bytes = cz_time_add(bytes, d->memory[k] ? d->memory[k][r] : 0);
        most = bytes > most ? bytes : most;
    }
    return most;
}

/* Plans a text and reads the plan as `simulate` would; the one that is shown
 * is verified.  NULL after reporting. */
static const cz_document *plan(search *s, cz_arena *arena, const cz_text *text,
                               bool verified, cz_diags *diags)
{
    const cz_tune_options *o = s->space.options;
    const cz_compile_options compile = {.path = o->path,
                                        .text = text,
                                        .defines = o->defines,
                                        .n_defines = o->n_defines,
                                        .allowed = o->allowed,
                                        .compiler = o->compiler};
    const cz_document *out = NULL;
    cz_ir *ir = cz_compile(arena, &compile, diags);
    if (ir && cz_passes_assign(ir, diags) && cz_passes_schedule(ir, diags)) {
        char hash[65];
        memset(hash, '0', sizeof hash - 1);
        hash[64] = '\0';
        const cz_plan_view *view = cz_plan_view_build(arena, ir, diags);
        if (view && (!verified || cz_verify(view, diags)))
            out = cz_report_document(arena, view, cz_metrics_build(arena, view),
                                     hash, false, o->path, diags);
    }
    cz_ir_close(ir);
    return out;
}

static void edit(search *s, const cz_tune_candidate *candidate, cz_text *out)
{
    cz_tune_text(s->arena, s->space.source, s->space.file, candidate,
                 s->space.has_experts, out);
}

/* Times and memory of the candidate; false where there is no plan, or too much
 * is kept. */
static bool simulate(search *s, cz_tune_candidate *candidate)
{
    cz_arena arena;
    cz_diags diags;
    cz_text text = {0};
    cz_arena_init(&arena);
    cz_diags_init(&diags, &arena);
    edit(s, candidate, &text);
    const cz_document *d = plan(s, &arena, &text, false, &diags);
    bool ok = false;
    s->out->n_planned++;
    if (d && d->n_ranks == s->space.options->n_ranks) {
        candidate->model = cz_simulate_passes(d, &s->space.simulate);
        candidate->memory_bytes =
            cz_time_add(fullest(d), candidate->model.activation_bytes);
        ok = candidate->memory_bytes <= s->space.memory_bytes;
        if (!ok && candidate->memory_bytes < s->least_bytes)
            s->least_bytes = candidate->memory_bytes;
        if (ok)
            candidate->times = cz_simulate_plan(d, &s->space.simulate);
    }
    s->out->n_refused += !ok;
    cz_text_fini(&text);
    cz_arena_fini(&arena);
    if (ok)
        *CZ_PUSH(s->arena, s->candidates, s->n_candidates) = *candidate;
    return ok;
}

static void show(search *s, const char *what)
{
    if (s->space.options->progress)
        s->space.options->progress(what, s->n_done, s->n_steps);
    s->n_done++;
}

/* ---- the best of each mesh ---- */

static bool is_quicker(const cz_tune_candidate *a, const cz_tune_candidate *b)
{
    return a->times.iteration != b->times.iteration
               ? a->times.iteration < b->times.iteration
               : memcmp(a->mesh, b->mesh, sizeof a->mesh) < 0;
}

/* In order; a mesh stands there once. */
static void keep(search *s, const cz_tune_candidate *candidate)
{
    int i = 0;
    while (i < s->n_best && memcmp(s->best[i].mesh, candidate->mesh,
                                   sizeof candidate->mesh) != 0)
        i++;
    if (i == s->n_best)
        CZ_PUSH(s->arena, s->best, s->n_best);
    else if (candidate->times.iteration >= s->best[i].times.iteration)
        return;
    for (; i > 0 && is_quicker(candidate, &s->best[i - 1]); i--)
        s->best[i] = s->best[i - 1];
    s->best[i] = *candidate;
}

/* What a mesh has to be below to be looked at. */
static int64_t limit(const search *s, int place)
{
    return s->n_best < place ? INT64_MAX : s->best[place - 1].times.iteration;
}

/* One clause in another way, where that is quicker. */
static void try_clause(search *s, cz_tune_candidate *candidate, int clause,
                       const char *choice, int64_t gain)
{
    cz_tune_candidate other = *candidate;
    const char *said = cz_tune_clause_text(s->space.file, clause);
    const cz_tune_clause *of = &cz_tune_clauses[clause];
    other.clauses[clause] = choice;
    if (said ? strncmp(said + strlen(of->word) + 1, choice, strlen(choice)) == 0
             : strcmp(choice, of->choices[0]) == 0)
        return;
    if (simulate(s, &other) &&
        other.times.iteration <
            candidate->times.iteration -
                (gain > 0 ? candidate->times.iteration / gain : 0)) {
        *candidate = other;
        keep(s, candidate);
    }
}

/* Every mesh that could be among the best, with the source's clauses; then
 * geometries of each that could be the best with another one. */
static void search_meshes(search *s)
{
    cz_tune_space *space = &s->space;
    s->n_steps = space->n_candidates;
    for (int i = 0; i < space->n_candidates; i++) {
        show(s, "meshes");
        if (space->candidates[i].bound_ps >= limit(s, CZ_TUNE_BEST)) {
            s->out->n_slow++;
            continue;
        }
        cz_tune_candidate candidate = space->candidates[i];
        if (simulate(s, &candidate))
            keep(s, &candidate);
    }
    cz_tune_candidate *all = CZ_NEW(s->arena, cz_tune_candidate, s->n_best);
    const int n = s->n_best;
    for (int i = 0; i < n; i++)
        all[i] = s->best[i];
    s->n_steps += n;
    for (int i = 0; i < n; i++) {
        show(s, "geometries");
        for (int k = 0; cz_tune_clauses[CZ_TUNE_GEOMETRY].choices[k]; k++)
            if (i < REFINED || all[i].bound_ps < limit(s, 1))
                try_clause(s, &all[i], CZ_TUNE_GEOMETRY,
                           cz_tune_clauses[CZ_TUNE_GEOMETRY].choices[k], 0);
    }
}

static void search_clauses(search *s)
{
    cz_tune_candidate best[REFINED];
    const int n = s->n_best < REFINED ? s->n_best : REFINED;
    for (int i = 0; i < n; i++)
        best[i] = s->best[i];
    s->n_steps += n * (CZ_TUNE_N_CLAUSES - 1);
    for (int i = 0; i < n; i++)
        for (int c = CZ_TUNE_GEOMETRY + 1; c < CZ_TUNE_N_CLAUSES; c++) {
            show(s, "clauses");
            for (int k = 0; cz_tune_clauses[c].choices[k]; k++)
                try_clause(s, &best[i], c, cz_tune_clauses[c].choices[k], GAIN);
        }
}

/* ---- no mesh ---- */

static bool is_prime(int64_t n)
{
    for (int64_t k = 2; k * k <= n; k++)
        if (n % k == 0)
            return false;
    return n > 2;
}

/* The power of two below, which has many divisors. */
static int64_t power_below(int64_t n)
{
    int64_t power = 1;
    while (2 * power < n)
        power *= 2;
    return power;
}

/* The least that a plan takes: no bound of those that are left is below. */
static int64_t least_bytes(search *s)
{
    for (int i = 0; i < s->space.n_full; i++) {
        if (s->space.full[i].bound_bytes >= s->least_bytes)
            break;
        simulate(s, &s->space.full[i]);
    }
    return s->least_bytes;
}

static bool refuse(search *s, cz_diags *diags)
{
    const cz_tune_space *space = &s->space;
    const int64_t n = space->options->n_ranks;
    const int64_t least = least_bytes(s);
    if (space->n_meshes == 0)
        cz_diag_error(diags, CZ_INFEASIBLE, (cz_span){0},
                      "no mesh of %" PRId64
                      " ranks divides the model: `--gpus=%" PRId64 "` may",
                      n, power_below(n));
    else if (space->n_short == space->n_meshes)
        cz_diag_error(diags, CZ_INFEASIBLE, (cz_span){0},
                      "%" PRId64 " tokens are less than a sequence of %" PRId64
                      " on each replica, whatever the mesh: take at least "
                      "`--tokens=%" PRId64 "`",
                      space->simulate.tokens, space->simulate.sequence,
                      space->least_tokens);
    else if (least < INT64_MAX)
        cz_diag_error(diags, CZ_INFEASIBLE, (cz_span){0},
                      "of %d meshes none keeps a rank within %s: the least "
                      "that one of them takes is `--memory=%" PRId64 "MB`",
                      space->n_meshes,
                      cz_number_short(space->memory_bytes, "B").text,
                      least / 1000000 + 1);
    else
        cz_diag_error(diags, CZ_INFEASIBLE, (cz_span){0},
                      "of %d meshes none has a plan: `canzona plan` says why",
                      space->n_meshes);
    if (is_prime(n))
        cz_diag_note(diags, (cz_span){0},
                     "%" PRId64 " is prime, so that one axis has all ranks: "
                     "`--gpus=%" PRId64 "` leaves a choice",
                     n, power_below(n));
    return false;
}

/* ---- all ---- */

bool cz_tune(cz_arena *arena, const cz_tune_options *options, cz_diags *diags,
             cz_tune_result *out)
{
    const cz_source source = {options->path, cz_text_string(options->text),
                              options->text->n};
    search s = {.arena = arena, .out = out, .least_bytes = INT64_MAX};
    cz_tune_space *space = &s.space;
    *out = (cz_tune_result){.n_ranks = options->n_ranks};
    *space = (cz_tune_space){.arena = arena,
                             .options = options,
                             .source = &source,
                             .simulate = options->simulate};
    space->file = cz_parse(arena, &source, diags);
    if (diags->n_errors > 0 || !cz_tune_read_base(space, diags))
        return false;
    take_machine(&space->base.machine, arena, &space->machine);
    space->simulate.machine = &space->machine;
    space->simulate.is_plans_machine = true;
    if (space->simulate.tokens == 0)
        space->simulate.tokens = space->base.tokens;
    if (space->simulate.active < 0)
        space->simulate.active = space->base.active;
    space->memory_bytes = options->memory_bytes;
    if (space->base.memory_bytes > 0 &&
        (space->memory_bytes == 0 ||
         space->base.memory_bytes < space->memory_bytes))
        space->memory_bytes = space->base.memory_bytes;
    out->is_default_memory = space->memory_bytes == 0;
    if (out->is_default_memory)
        space->memory_bytes = DEFAULT_GB * INT64_C(1000000000);
    if (!cz_tune_find_meshes(space, diags))
        return false;
    search_meshes(&s);
    search_clauses(&s);
    if (s.n_best == 0)
        return refuse(&s, diags);
    out->machine = space->machine.name;
    memcpy(out->is_known, space->is_known, sizeof out->is_known);
    out->has_experts = space->has_experts;
    out->memory_bytes = space->memory_bytes;
    out->simulate = space->simulate;
    out->n_meshes = space->n_meshes;
    out->n_short = space->n_short;
    out->n_full = space->n_full;
    out->n_best = s.n_best < CZ_TUNE_BEST ? s.n_best : CZ_TUNE_BEST;
    out->best = s.best;
    out->candidates = s.candidates;
    out->n_candidates = s.n_candidates;
    /* What it leaves free would be chosen anew. */
    cz_tune_candidate written = s.best[0];
    for (int c = CZ_TUNE_BUCKET; c <= CZ_TUNE_LAYOUT; c++)
        if (!written.clauses[c] && !cz_tune_clause_text(space->file, c))
            written.clauses[c] = cz_tune_clauses[c].choices[0];
    cz_text text = {0};
    edit(&s, &written, &text);
    out->text = cz_arena_copy(arena, cz_text_string(&text), text.n);
    const bool is_proved = plan(&s, arena, &text, true, diags) != NULL;
    cz_text_fini(&text);
    return is_proved;
}
