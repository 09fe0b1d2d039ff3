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

bool drop_row(mutable_plan *plan, randoms *r);
bool duplicate_row(mutable_plan *plan, randoms *r);
bool swap_rows(mutable_plan *plan, randoms *r);
bool move_row(mutable_plan *plan, randoms *r);
bool split_row(mutable_plan *plan, randoms *r);
bool change_element(mutable_plan *plan, randoms *r);
bool change_count(mutable_plan *plan, randoms *r);
bool change_scratch(mutable_plan *plan, randoms *r);
bool change_workspace(mutable_plan *plan, randoms *r);
bool change_param(mutable_plan *plan, randoms *r);
bool change_stage(mutable_plan *plan, randoms *r);
bool change_span(mutable_plan *plan, randoms *r);
bool change_sum(mutable_plan *plan, randoms *r);
bool change_box_place(mutable_plan *plan, randoms *r);
bool change_box_shape(mutable_plan *plan, randoms *r);
bool change_peer(mutable_plan *plan, randoms *r);
bool flip_direction(mutable_plan *plan, randoms *r);
bool change_phases(mutable_plan *plan, randoms *r);
bool change_exchange(mutable_plan *plan, randoms *r);
bool miss_exchange(mutable_plan *plan, randoms *r);
bool double_exchange(mutable_plan *plan, randoms *r);

bool drop_op(mutable_plan *plan, randoms *r);
bool duplicate_op(mutable_plan *plan, randoms *r);
bool swap_ops(mutable_plan *plan, randoms *r);
bool swap_neighbours(mutable_plan *plan, randoms *r);
bool drop_wait(mutable_plan *plan, randoms *r);
bool change_wait(mutable_plan *plan, randoms *r);
bool change_stream(mutable_plan *plan, randoms *r);
bool change_bucket(mutable_plan *plan, randoms *r);
bool change_table(mutable_plan *plan, randoms *r);
bool change_comm(mutable_plan *plan, randoms *r);
bool change_blocks(mutable_plan *plan, randoms *r);
bool change_stride(mutable_plan *plan, randoms *r);
bool change_section(mutable_plan *plan, randoms *r);
bool drop_recover(mutable_plan *plan, randoms *r);
bool move_recover(mutable_plan *plan, randoms *r);
bool part_recover(mutable_plan *plan, randoms *r);
bool loosen_recover(mutable_plan *plan, randoms *r);

bool move_slice(mutable_plan *plan, randoms *r);
bool change_geometry(mutable_plan *plan, randoms *r);
bool move_param(mutable_plan *plan, randoms *r);
bool change_owner(mutable_plan *plan, randoms *r);
bool change_sharers(mutable_plan *plan, randoms *r);
bool change_home(mutable_plan *plan, randoms *r);
bool shrink_arena(mutable_plan *plan, randoms *r);

bool swap_slots(mutable_plan *plan, randoms *r);
bool shift_slot(mutable_plan *plan, randoms *r);
bool change_scalar(mutable_plan *plan, randoms *r);
bool change_operand(mutable_plan *plan, randoms *r);
bool change_argument(mutable_plan *plan, randoms *r);
bool change_constant(mutable_plan *plan, randoms *r);
bool change_generated(mutable_plan *plan, randoms *r);
bool change_output(mutable_plan *plan, randoms *r);
bool swap_phases(mutable_plan *plan, randoms *r);

#endif
