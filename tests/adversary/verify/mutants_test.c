/* Mutants of plans: each is rejected with sentences that all name tensor, rank
 * and operation, or accepted and then shown harmless: executed on both host
 * devices it gives the unmutated plan's bits.
 *
 *   mutants_test PLANS MUTANTS_PER_PLAN [SEED] [MORE] [-v]
 *
 * MORE mutations of random kinds follow the first one of each mutant. */
#include "frontend/run/run.h"
#include "passes/verify/verify.h"
#include "tests/adversary/verify/mutation.h"
#include "tests/adversary/verify/planned.h"
#include "tests/adversary/verify/random_text.h"
#include "tests/adversary/verify/sentence.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_KINDS = 64, MICROBATCHES = 12, N_TRIES = 20, N_TEXTS = 100 };

static const char hash[] = "00000000000000000000000000000000"
                           "00000000000000000000000000000000";

typedef struct tally {
    int mutants, rejected, harmless, failed, named;
} tally;

/* One plan, compiled once. */
typedef struct subject {
    planned plan;
    cz_loaded loaded;
    cz_run_result expected;
} subject;

typedef struct bench {
    tally kinds[MAX_KINDS];
    uint64_t seed;
    int n_more;        /* mutations behind the first of each mutant */
    uint64_t rotation; /* which part of the mutants of a plan this is */
    bool verbose;
    int n_shared; /* plans with shared matrices */
    int n_apart;  /* of these, those whose sharers are no neighbours */
    int n_narrow; /* those that add up in bf16 */
    int n_whole;  /* plans with states that owners alone have */
} bench;

/* Small models on 2 to 8 ranks; every mutant that is accepted runs. */
static const text_limits limits = {4, 4, 8, 4};

static void make_text(randoms *r, bool is_sharded, cz_text *text)
{
    const char *string;

    do {
        cz_text_fini(text);
        random_text(r, &limits, text);
        string = cz_text_string(text);
    } while (
        strstr(string, is_sharded ? "tp = 1\n" : "dp = 1, cp = 1, tp = 1\n"));
}

/* How matrices of a plan are shared. */
typedef enum sharing { BY_NONE, BY_ALL, IN_PAIRS } sharing;

static bool can_share(const char *text, uint64_t uneven, sharing how,
                      bool is_narrow)
{
    planned plan;

    if (!planned_can_share(&plan, text, MICROBATCHES, uneven, how == IN_PAIRS))
        return false;
    const bool is_wanted = !is_narrow || planned_is_narrow(plan.view);
    planned_close(&plan);
    return is_wanted;
}

static bool subject_open(subject *s, const char *text, sharing how,
                         uint64_t uneven)
{
    if (how != BY_NONE)
        planned_open_shared(&s->plan, text, MICROBATCHES, uneven,
                            how == IN_PAIRS);
    else
        planned_open(&s->plan, text, NULL, MICROBATCHES, uneven);
    return s->plan.view && cz_verify(s->plan.view, &s->plan.diags) &&
           cz_loaded_open(s->plan.view, hash, &s->plan.diags, &s->loaded) &&
           planned_run(s->plan.view, s->loaded.program, MICROBATCHES, false,
                       &s->plan.arena, &s->expected) == CZR_OK;
}

static void subject_close(subject *s)
{
    cz_loaded_close(&s->loaded);
    planned_close(&s->plan);
}

/* ---- judging one mutant ---- */

/* With other stages, as lr * decay * x for decay * lr * x, bits may be others,
 * and numbers nearly the same. */
static bool has_same_bits(const subject *s, const cz_plan_view *view,
                          const czr_program *compiled, bool may_round,
                          cz_arena *arena, char *why, size_t n)
{
    const czr_program *program = program_of_view(arena, compiled, view);

    for (int late = 0; late < 2; late++) {
        cz_run_result result;
        const czr_status status =
            planned_run(view, program, MICROBATCHES, late, arena, &result);
        const bool is_same =
            status == CZR_OK &&
            (planned_same_bits(&s->expected, &result) ||
             (may_round && planned_is_near(view, &s->expected, &result)));
        if (!is_same) {
            snprintf(why, n, "%s device: %s", late ? "late" : "host",
                     status == CZR_OK ? "other bits" : result.error);
            return false;
        }
    }
    return true;
}

/* Where stages may differ, their kernels are compiled anew. */
static bool is_harmless(const bench *b, const subject *s,
                        const cz_plan_view *view, int kind, cz_arena *arena,
                        char *why, size_t n)
{
    cz_loaded loaded;
    cz_diags diags;
    bool ok;

    if (!mutations[kind].of_stages && b->n_more == 0)
        return has_same_bits(s, view, s->loaded.program, false, arena, why, n);
    cz_diags_init(&diags, arena);
    snprintf(why, n, "does not compile");
    if (!cz_loaded_open(view, hash, &diags, &loaded))
        return false;
    ok = has_same_bits(s, view, loaded.program, true, arena, why, n);
    cz_loaded_close(&loaded);
    return ok;
}

static void judge(bench *b, const subject *s, const cz_plan_view *view,
                  int kind, cz_arena *arena)
{
    tally *t = &b->kinds[kind];
    cz_diags diags;
    char why[600];

    cz_diags_init(&diags, arena);
    t->mutants++;
    if (!cz_verify(view, &diags)) {
        const bool named =
            sentences_are_right(view, mutations[kind].name, &diags, b->verbose);
        t->rejected++;
        t->named += named;
        t->failed += !named;
    } else if (is_harmless(b, s, view, kind, arena, why, sizeof why)) {
        t->harmless++;
    } else {
        t->failed++;
        printf("FALSE ACCEPT, %s: %s\n", mutations[kind].name, why);
    }
}

/* ---- all of them ---- */

/* One mutant of a kind, judged.  False if it changed nothing. */
static bool mutate(bench *b, const subject *s, randoms *r, int kind)
{
    const uint64_t state = r->state;
    const int failed = b->kinds[kind].failed;
    mutable_plan plan;
    cz_arena arena;
    bool applied;

    cz_arena_init(&arena);
    mutable_plan_copy(&plan, &arena, s->plan.view);
    applied = mutations[kind].apply(&plan, r);
    for (int i = 0; applied && i < b->n_more; i++)
        mutations[draw(r, n_mutations)].apply(&plan, r);
    if (applied)
        judge(b, s, mutable_plan_view(&plan), kind, &arena);
    cz_arena_fini(&arena);
    if (b->kinds[kind].failed > failed)
        printf("  (kind %d, state %" PRIu64 ")\n", kind, state);
    return applied;
}

/* Of this kind if the plan has what it changes, else of another one. */
static void mutate_some(bench *b, const subject *s, randoms *r, int kind)
{
    for (int i = 1; !mutate(b, s, r, kind); i++)
        if (i % N_TRIES == 0)
            kind = (kind + 1) % n_mutations;
}

static bool test_plan(bench *b, int number, int n_mutants)
{
    randoms r = {b->seed * 1000003u + (uint64_t)number};
    cz_text text = {0};
    subject s = {.loaded = {NULL, NULL, NULL}};
    /* every other plan has shards of unequal length, every other two share,
     * every other two of these in pairs, the second of both in bf16 */
    const uint64_t uneven = number % 2 ? b->seed * 7919u + (uint64_t)number : 0;
    const sharing how = number % 4 < 2   ? BY_NONE
                        : number % 8 < 4 ? BY_ALL
                                         : IN_PAIRS;
    int failed = 0, failed_now = 0;
    bool ok;

    draw(&r, 2);
    for (int i = 0; i < N_TEXTS; i++) {
        make_text(&r, number % 4 != 0, &text);
        if (how == BY_NONE ||
            can_share(cz_text_string(&text), uneven, how, number % 4 == 3))
            break;
    }
    ok = subject_open(&s, cz_text_string(&text), how, uneven);
    for (int k = 0; k < n_mutations; k++)
        failed += b->kinds[k].failed;
    r.state += b->rotation;
    for (int i = 0; ok && i < n_mutants; i++) {
        const uint64_t kind = (uint64_t)(number * n_mutants + i) + b->rotation;
        mutate_some(b, &s, &r, (int)(kind % (uint64_t)n_mutations));
    }
    for (int k = 0; k < n_mutations; k++)
        failed_now += b->kinds[k].failed;
    if (!ok || failed_now > failed) {
        printf("in plan %d of seed %" PRIu64 ":\n", number, b->seed);
        planned_print(&s.plan, cz_text_string(&text));
    }
    b->n_shared += planned_is_shared(s.plan.view);
    b->n_apart += planned_has_strides(s.plan.view);
    b->n_narrow += planned_is_narrow(s.plan.view);
    b->n_whole += planned_has_whole_states(s.plan.view);
    subject_close(&s);
    cz_text_fini(&text);
    return ok;
}

static void add(tally *sum, const tally *t)
{
    sum->mutants += t->mutants;
    sum->rejected += t->rejected;
    sum->harmless += t->harmless;
    sum->failed += t->failed;
    sum->named += t->named;
}

static void print_line(const char *name, const tally *t)
{
    printf("%-30s %7d %8d %8d %8d %7d\n", name, t->mutants, t->rejected,
           t->named, t->harmless, t->failed);
}

int main(int argc, char **argv)
{
    const int n_plans = argc > 1 ? atoi(argv[1]) : 24;
    const int n_mutants = argc > 2 ? atoi(argv[2]) : 93;
    bench b = {.seed = argc > 3 ? strtoull(argv[3], NULL, 10) : 1,
               .n_more = argc > 4 ? atoi(argv[4]) : 0,
               .rotation = argc > 5 ? strtoull(argv[5], NULL, 10) : 0,
               .verbose = argc > 6};
    tally sum = {0};
    int n_broken = 0;

    for (int i = 0; i < n_plans; i++)
        n_broken += !test_plan(&b, i, n_mutants);
    printf("%-30s mutants rejected all named harmless  failed\n", "kind");
    for (int k = 0; k < n_mutations; k++) {
        print_line(mutations[k].name, &b.kinds[k]);
        add(&sum, &b.kinds[k]);
    }
    print_line("all", &sum);
    printf("seed %" PRIu64 ", %d plans, %d of them with shared matrices, %d by "
           "ranks that are no neighbours, %d with sums in bf16, %d with whole "
           "states, %d broken\n",
           b.seed, n_plans, b.n_shared, b.n_apart, b.n_narrow, b.n_whole,
           n_broken);
    return !b.n_apart || !b.n_narrow || !b.n_whole || sum.failed || n_broken ||
           sum.mutants < n_plans * n_mutants;
}
