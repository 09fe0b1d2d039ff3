/* Solves a problem read from standard input and prints its plan, for tests
 * that compute both anew.  Input, numbers apart by white space: ranks, hosts,
 * align, 1 for the trainer's order, geometry (0 uneven, 1 padded, 2 equal),
 * the numbers of classes, items and buckets; of each class elements, cost,
 * shared cost, state and 1 if divisible; each item's class; how many items each
 * bucket has.  Output: a line `method`, a line per bucket each of `order`,
 * `slices` and `fills`, and lines `owner` and `host` of all items. */
#include "passes/solve/solve.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static int64_t next(void)
{
    char word[32], *end;
    if (scanf("%31s", word) == 1) {
        const int64_t number = strtoll(word, &end, 10);
        if (*end == '\0')
            return number;
    }
    fputs("solve_tool: a number is missing\n", stderr);
    exit(2);
}

static cz_solve_problem read_problem(cz_arena *arena)
{
    cz_solve_problem problem = {.n_ranks = (int)next()};
    problem.n_hosts = (int)next();
    problem.align = next();
    problem.order = next() ? CZ_ORDER_TRAINER : CZ_ORDER_ENGINE;
    problem.geometry = (cz_solve_geometry)next();
    problem.n_classes = (int)next();
    problem.n_items = (int)next();
    problem.n_buckets = (int)next();
    cz_solve_class *classes = CZ_NEW(arena, cz_solve_class, problem.n_classes);
    int *class_of = CZ_NEW(arena, int, problem.n_items);
    int *start = CZ_NEW(arena, int, problem.n_buckets + 1);
    for (int c = 0; c < problem.n_classes; c++) {
        classes[c].elements = next();
        classes[c].cost_ps = next();
        classes[c].coordinate_ps = next();
        classes[c].state_bytes = next();
        classes[c].divisible = next() != 0;
    }
    for (int i = 0; i < problem.n_items; i++)
        class_of[i] = (int)next();
    for (int b = 0; b < problem.n_buckets; b++)
        start[b + 1] = start[b] + (int)next();
    problem.classes = classes;
    problem.class_of = class_of;
    problem.bucket_start = start;
    return problem;
}

static void print_ints(const char *name, const int *list, int n)
{
    fputs(name, stdout);
    for (int i = 0; i < n; i++)
        printf(" %d", list[i]);
    putchar('\n');
}

static void print_bounds(const char *name, const int64_t *bounds, int n)
{
    fputs(name, stdout);
    for (int i = 0; i < n; i++)
        printf(" %" PRId64, bounds[i]);
    putchar('\n');
}

int main(void)
{
    cz_arena arena;
    cz_arena_init(&arena);
    const cz_solve_problem problem = read_problem(&arena);
    const cz_solve_plan plan = cz_solve(&arena, &problem).plan;
    printf("method %s\n", plan.method);
    for (int b = 0; b < problem.n_buckets; b++) {
        const int64_t row = (int64_t)b * (problem.n_ranks + 1);
        print_ints("order", plan.order + problem.bucket_start[b],
                   problem.bucket_start[b + 1] - problem.bucket_start[b]);
        print_bounds("slices", plan.slices + row, problem.n_ranks + 1);
        print_bounds("fills", plan.fills + row, problem.n_ranks + 1);
    }
    print_ints("owner", plan.owner, problem.n_items);
    print_ints("host", plan.host, problem.n_items);
    cz_arena_fini(&arena);
    return 0;
}
