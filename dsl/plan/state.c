/* States of a rule, read off its fact. */
#include "dsl/plan/state.h"

#include "dsl/base/checked.h"
#include "dsl/plan/plan.h"

bool cz_states_are_listed(const cz_fact_rule *rule)
{
    const int n = rule->states.n;

    return rule->state_dtypes.n == n && rule->state_init.n == n &&
           rule->state_diagonal.n == n && rule->state_symmetric.n == n &&
           rule->state_shapes.n == 2 * n && rule->state_extern.n == n;
}

const int64_t *cz_state_shape(const cz_fact_rule *rule, int state)
{
    return rule->state_shapes.v + (size_t)state * 2;
}

bool cz_state_is_owned(const cz_fact_rule *rule, int state)
{
    return cz_state_shape(rule, state)[0] > 0;
}

bool cz_state_is_extern(const cz_fact_rule *rule, int state)
{
    return rule->state_extern.v[state] != 0;
}

bool cz_state_any_owned(const cz_fact_rule *rule)
{
    for (int k = 0; k < rule->states.n; k++)
        if (cz_state_is_owned(rule, k))
            return true;
    return false;
}

int64_t cz_state_elements(const cz_fact_rule *rule, int state)
{
    const int64_t *shape = cz_state_shape(rule, state);

    return shape[0] * shape[1];
}

static int64_t element_bytes(const cz_fact_rule *rule, int state)
{
    cz_dtype dtype = CZ_F32;

    cz_dtype_find(rule->state_dtypes.v[state], &dtype);
    return cz_dtype_bytes(dtype);
}

int64_t cz_state_owned_bytes(const cz_fact_rule *rule)
{
    int64_t bytes = 0;

    for (int k = 0; k < rule->states.n; k++)
        bytes +=
            cz_round_up(cz_state_elements(rule, k) * element_bytes(rule, k),
                        CZ_ALIGN_BYTES);
    return bytes;
}

int64_t cz_state_logical_bytes(const cz_fact_rule *rule)
{
    int64_t bytes = 0;

    for (int k = 0; k < rule->states.n; k++)
        bytes += cz_state_elements(rule, k) * element_bytes(rule, k);
    return bytes;
}

int64_t cz_state_shard_bytes(const cz_fact_rule *rule)
{
    int64_t bytes = 0;

    for (int k = 0; k < rule->states.n; k++)
        if (!cz_state_is_owned(rule, k))
            bytes += element_bytes(rule, k);
    return bytes;
}

double cz_state_initial(const cz_fact_rule *rule, int state, int64_t i)
{
    const int64_t columns = cz_state_shape(rule, state)[1];
    const bool is_zero = rule->state_diagonal.v[state] && columns > 0 &&
                         i / columns != i % columns;

    return is_zero ? 0 : rule->state_init.v[state];
}
