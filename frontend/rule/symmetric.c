/* Which states are equal to their transposes.  One that is square starts so,
 * whatever its initial value, and is taken to stay so; what a run of the body
 * then writes to it is symmetric by type or refutes that.  Runs are repeated
 * until none refutes anything: what is left holds by induction over updates. */
#include "frontend/rule/internal.h"

#include <string.h>

static bool is_refuted(const cz_rule *rule, const char *name)
{
    for (int i = 0; i < rule->n_asymmetric; i++)
        if (strcmp(rule->asymmetric[i], name) == 0)
            return true;
    return false;
}

/* Those that lie as the parameter does are held in parts, by rows. */
void cz_rule_assume_symmetric(cz_rule *rule, cz_rule_slot *slot)
{
    const cz_tensor *as = &slot->as;

    slot->as.symmetric =
        slot->is_whole && !slot->is_extern && as->kept == CZ_RULE_MATRIX &&
        cz_rule_same_extent(rule, as->extent[0], as->extent[1]) &&
        !is_refuted(rule, slot->name);
}

/* A mistake is reported where it is, and refutes nothing. */
bool cz_rule_refute_symmetric(cz_rule *rule)
{
    bool found = false;

    for (int i = 0; i < rule->n_slots; i++) {
        const cz_rule_slot *slot = &rule->slots[i];
        if (!slot->as.symmetric || slot->value->kind == CZ_RULE_ERROR ||
            slot->value->tensor.symmetric)
            continue;
        *CZ_PUSH(rule->arena, rule->asymmetric, rule->n_asymmetric) =
            slot->name;
        found = true;
    }
    return found;
}
