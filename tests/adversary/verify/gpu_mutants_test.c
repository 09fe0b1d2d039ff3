/* Mutants of what a plan says of a GPU: each is rejected with sentences that
 * all name tensor, rank and operation, or accepted and then shown harmless: all
 * rows read what they read where they run one by one, and the runtime has a
 * kernel for all tiles.
 *
 *   gpu_mutants_test PLANS MUTANTS_PER_PLAN [SEED] [-v] */
#include "passes/verify/verify.h"
#include "tests/adversary/verify/batch_run.h"
#include "tests/adversary/verify/mutation.h"
#include "tests/adversary/verify/planned.h"
#include "tests/adversary/verify/sentence.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_KINDS = 96, N_TRIES = 20 };

typedef struct tally {
    int mutants, rejected, harmless, failed;
} tally;

typedef struct bench {
    tally kinds[MAX_KINDS];
    int n_kinds;
    const mutation *kind[MAX_KINDS];
    bool verbose;
    int n_batched; /* plans with batches */
    int n_broken;
} bench;

/* Matrices of three shapes, some of them sharded, and vectors. */
static void random_gpu_text(randoms *r, cz_text *text)
{
    static const char *const tails[] = {"", "tp owner", "group 16KiB",
                                        "tp gram"};
    const int64_t tp = (int64_t)1 << draw(r, 3);

    cz_text_printf(text,
                   "mesh dp = %lld, tp = %lld\n"
                   "model random(layers = %lld) {\n"
                   "    params %s {\n"
                   "        h[i < layers] {\n"
                   "            up   : [%lld/tp, 16]\n"
                   "            down : [16, %lld/tp]\n"
                   "            mix  : [16, 16]\n"
                   "            norm : [16]\n"
                   "        }\n"
                   "        last : [32, 16]\n"
                   "    }\n"
                   "}\n",
                   (long long)draw_in(r, 1, 3), (long long)tp,
                   (long long)draw_in(r, 2, 5), chance(r, 2) ? "bf16" : "f32",
                   (long long)(8 * tp * draw_in(r, 1, 3)),
                   (long long)(8 * tp * draw_in(r, 1, 2)));
    cz_text_printf(text,
                   "use muon(lr = 0.02, coefficients = [(3.4445, -4.7750, "
                   "2.0315)]) as matrices on h.*.{up,down,mix}\n"
                   "use adamw(lr = 0.003) as rest on **\n"
                   "schedule {\n    %s\n    %s\n    %s\n}\n",
                   chance(r, 2) ? "grads bf16 partial over dp" : "",
                   chance(r, 2) ? "state f32 split over dp" : "",
                   tails[draw(r, 4)]);
}

/* ---- judging one mutant ---- */

static void judge(bench *b, const cz_plan_view *view, int number,
                  cz_arena *arena)
{
    tally *t = &b->kinds[number];
    const mutation *kind = b->kind[number];
    cz_diags diags;

    cz_diags_init(&diags, arena);
    t->mutants++;
    if (!cz_verify(view, &diags)) {
        t->rejected++;
        t->failed += !sentences_are_right(view, kind->name, &diags, b->verbose);
    } else if (batch_run_is_same(view) && batch_run_has_kernels(view)) {
        t->harmless++;
    } else {
        printf("%s: accepted, and does harm\n", kind->name);
        t->failed++;
    }
}

static bool mutate(bench *b, const cz_plan_view *view, randoms *r, int number)
{
    const int failed = b->kinds[number].failed;
    const uint64_t state = r->state;
    mutable_plan plan;
    cz_arena arena;

    cz_arena_init(&arena);
    mutable_plan_copy(&plan, &arena, view);
    const bool applied = b->kind[number]->apply(&plan, r);
    if (applied)
        judge(b, mutable_plan_view(&plan), number, &arena);
    cz_arena_fini(&arena);
    if (b->kinds[number].failed > failed)
        printf("  (kind %d, state %" PRIu64 ")\n", number, state);
    return applied;
}

static void test_plan(bench *b, int number, uint64_t seed, int n_mutants)
{
    randoms r = {seed * 1000003u + (uint64_t)number};
    cz_text text = {0};
    planned p;
    bool is_batched = false;

    draw(&r, 2);
    random_gpu_text(&r, &text);
    planned_open_gpu(&p, cz_text_string(&text));
    if (!p.view || !cz_verify(p.view, &p.diags) || !batch_run_is_same(p.view) ||
        !batch_run_has_kernels(p.view)) {
        printf("plan %d of seed %" PRIu64 " is broken\n", number, seed);
        planned_print(&p, cz_text_string(&text));
        b->n_broken++;
    } else {
        for (int t = 0; t < p.view->n_tables; t++)
            is_batched = is_batched || p.view->tables[t].n_batches > 0;
        b->n_batched += is_batched;
        for (int i = 0; i < n_mutants; i++)
            for (int k = 0; k < N_TRIES; k++)
                if (mutate(b, p.view, &r, (i + k) % b->n_kinds))
                    break;
    }
    planned_close(&p);
    cz_text_fini(&text);
}

static void list_kinds(bench *b)
{
    for (int i = 0; i < n_gpu_mutations; i++)
        b->kind[b->n_kinds++] = &gpu_mutations[i];
    for (int i = 0; i < n_mutations; i++)
        if (!mutations[i].of_stages)
            b->kind[b->n_kinds++] = &mutations[i];
}

static void print_line(const char *name, const tally *t)
{
    printf("%-30s %7d %8d %8d %7d\n", name, t->mutants, t->rejected,
           t->harmless, t->failed);
}

int main(int argc, char **argv)
{
    const int n_plans = argc > 1 ? atoi(argv[1]) : 12;
    const int n_mutants = argc > 2 ? atoi(argv[2]) : 100;
    const uint64_t seed = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
    bench b = {.verbose = argc > 4};
    tally sum = {0};

    list_kinds(&b);
    for (int i = 0; i < n_plans; i++)
        test_plan(&b, i, seed, n_mutants);
    printf("%-30s mutants rejected harmless  failed\n", "kind");
    for (int k = 0; k < b.n_kinds; k++) {
        const tally *t = &b.kinds[k];
        print_line(b.kind[k]->name, t);
        sum = (tally){sum.mutants + t->mutants, sum.rejected + t->rejected,
                      sum.harmless + t->harmless, sum.failed + t->failed};
    }
    print_line("all", &sum);
    printf("seed %" PRIu64 ", %d plans, %d of them with batches, %d broken\n",
           seed, n_plans, b.n_batched, b.n_broken);
    return sum.failed || b.n_broken || 2 * b.n_batched < n_plans ||
           sum.mutants < n_plans * n_mutants;
}
