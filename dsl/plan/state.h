/* States of a rule: which are whole, what shape these have.  On facts alone,
 * whose lists are as long as there are states. */
#ifndef CZ_DSL_PLAN_STATE_H
#define CZ_DSL_PLAN_STATE_H

#include "dsl/vocab/facts.h"

#include <stdbool.h>
#include <stdint.h>

/* Lists of the rule are as long as they have to be. */
bool cz_states_are_listed(const cz_fact_rule *rule);
/* Rows and columns, as stored, of one that is whole; 0, 0 of others. */
const int64_t *cz_state_shape(const cz_fact_rule *rule, int state);
/* In one piece at the owner, of a shape of its own. */
bool cz_state_is_owned(const cz_fact_rule *rule, int state);
/* Given by the trainer before each update, written by no stage. */
bool cz_state_is_extern(const cz_fact_rule *rule, int state);
bool cz_state_any_owned(const cz_fact_rule *rule);
/* Elements of one that is whole. */
int64_t cz_state_elements(const cz_fact_rule *rule, int state);
/* Bytes of all that are whole, each rounded up to CZ_ALIGN_BYTES, beside those
 * that the shards have.  Types are known. */
int64_t cz_state_owned_bytes(const cz_fact_rule *rule);
/* The same without rounding up. */
int64_t cz_state_logical_bytes(const cz_fact_rule *rule);
/* Bytes of those that shards have, for an element. */
int64_t cz_state_shard_bytes(const cz_fact_rule *rule);
/* The first value of element i, by rows, of a whole or sharded state. */
double cz_state_initial(const cz_fact_rule *rule, int state, int64_t i);

#endif
