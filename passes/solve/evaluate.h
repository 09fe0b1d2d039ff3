/* What a plan costs, and whether it is one: computed from the plan's arrays
 * alone, by no method's own books. */
#ifndef CZ_PASSES_SOLVE_EVALUATE_H
#define CZ_PASSES_SOLVE_EVALUATE_H

#include "passes/solve/problem.h"

typedef struct cz_solve_score {
    int64_t *load_ps;     /* [n_ranks * n_hosts] initial loads included */
    int64_t *state_bytes; /* [n_ranks] likewise */
    int64_t max_load_ps, total_load_ps;
    int64_t max_state_bytes, total_state_bytes;
    /* pad = padded / length: the sum over buckets of n_ranks times the most
     * that a rank has of it, by what all have. */
    int64_t padded_elements, length_elements;
    int64_t owned_elements; /* of padded_elements, those of buffers of whole
                             * items; 0 where slices are uneven */
    int64_t wire_elements;  /* that all ranks together send, to reduce gradients
                             * and to gather parameters, if each sent as many as
                             * the one that sends most */
    int64_t wire_ps; /* of each rank, where the problem prices the wire */
    int64_t time_ps; /* predicted: the fullest rank's load, and the wire */
} cz_solve_score;

/* Score of a plan that passes cz_solve_check().
 * Wire: a reduction over R ranks, and likewise a gather, moves each element
 * R - 1 times; padded slices move their padding too; with equal parts each
 * element whose owner is not its part's rank moves once more each way, as many
 * on each rank as on the one that sends or receives most.
 *
 * With padded slices and equal parts a bucket counts buffer by buffer: whole
 * items of one kind by owner, one behind the other in the bucket's order, and
 * divisible ones of one kind, in equal aligned slices, the last ones shorter or
 * empty.  Padded slices are each as long as the longest of the buffer. */
cz_solve_score cz_solve_evaluate(cz_arena *arena,
                                 const cz_solve_problem *problem,
                                 const cz_solve_plan *plan);

/* NULL, or what is wrong: a phrase.  Each bucket's places hold its items,
 * each once, aligned, one behind the other; slices and fills are ascending,
 * aligned and cover the bucket; owners and hosts are in range; a whole item
 * lies inside its owner's slice, and the trainer's order is kept. */
const char *cz_solve_check(cz_arena *scratch, const cz_solve_problem *problem,
                           const cz_solve_plan *plan);

/* The problem, or where slices are padded or parts equal the same one with
 * what is divisible, which no plan can move, as initial loads and states: every
 * plan has the score that it has of the problem. */
cz_solve_problem cz_solve_evened(cz_arena *arena,
                                 const cz_solve_problem *problem);

/* What the score is above the problem's caps, summed, in millionths; 0 when it
 * keeps them. */
int64_t cz_solve_excess(const cz_solve_problem *problem,
                        const cz_solve_score *score);

/* Below 0 when a is the better score: first less above the caps, then less
 * predicted time, then less padding, then less state on the fullest rank. */
int cz_solve_compare(const cz_solve_problem *problem, const cz_solve_score *a,
                     const cz_solve_score *b);

#endif
