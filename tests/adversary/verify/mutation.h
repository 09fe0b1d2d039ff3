/* Single mutations of a schedule: one change of one number, one row or one
 * operation, of the kinds a planner's mistake could be. */
#ifndef CZ_TESTS_VERIFY_MUTATION_H
#define CZ_TESTS_VERIFY_MUTATION_H

#include "tests/adversary/verify/mutable_plan.h"
#include "tests/adversary/verify/random.h"

typedef struct mutation {
    const char *name;
    /* False if the plan has nothing of the kind, or nothing changed. */
    bool (*apply)(mutable_plan *plan, randoms *r);
    bool of_stages; /* what kernels do: an unmutated program is another one */
} mutation;

extern const mutation mutations[];
extern const int n_mutations;

/* Of what a plan says of a GPU. */
extern const mutation gpu_mutations[];
extern const int n_gpu_mutations;

/* A table that has rows, of a kind (or -1: any); NULL: none is found. */
mutable_table *pick_table(mutable_plan *plan, randoms *r, int kind);

#define MUTATION(apply) bool apply(mutable_plan *plan, randoms *r);
#include "tests/adversary/verify/mutation.def"

#endif
