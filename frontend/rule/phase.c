/* `first` and `every`: which of their blocks run in the phase under way, and
 * which phases there are.  An update is one straight line in each phase, so
 * that a block is either there or not. */
#include "frontend/rule/internal.h"

#include <math.h>
#include <string.h>

/* ---- events ---- */

/* The number of the event, which is made unless it is there; -1 after
 * reporting that it is one too many. */
static int find_event(cz_rule *rule, const cz_node *statement, cz_event event)
{
    for (int e = 0; e < rule->n_events; e++)
        if (rule->events[e].start == event.start &&
            rule->events[e].period == event.period &&
            rule->events[e].staggered == event.staggered)
            return e;
    if (rule->n_events == CZ_MAX_EVENTS) {
        cz_rule_error(rule, CZ_TOO_LARGE, statement,
                      "more than %d different `first` and `every` in a rule",
                      CZ_MAX_EVENTS);
        return -1;
    }
    rule->events[rule->n_events] = event;
    rule->event_nodes[rule->n_events] = statement;
    return rule->n_events++;
}

/* ---- blocks ---- */

static cz_rule_block *find_block(cz_rule *rule, const cz_node *block)
{
    for (int i = 0; i < rule->n_blocks; i++)
        if (rule->blocks[i].node == block)
            return &rule->blocks[i];
    cz_rule_block *made = CZ_PUSH(rule->arena, rule->blocks, rule->n_blocks);
    *made = (cz_rule_block){.node = block};
    return made;
}

static void run_block(cz_rule *rule, const cz_node *block, bool runs)
{
    cz_rule_block *record = find_block(rule, block);
    record->runs = runs;
    record->ran = record->ran || runs;
    if (!runs)
        return;
    rule->n_conditional++;
    cz_rule_run(rule, block);
    rule->n_conditional--;
}

static void run_event(cz_rule *rule, const cz_node *statement, cz_event event,
                      const cz_node *then, const cz_node *otherwise)
{
    const bool always = event.start == 1 && event.period == 1;
    const int number = always ? 0 : find_event(rule, statement, event);
    if (number < 0)
        return;
    const bool fires = always || (rule->fires >> number & 1);
    /* The first may move the records: none is kept between the two. */
    run_block(rule, then, fires);
    if (otherwise)
        run_block(rule, otherwise, !fires);
}

void cz_rule_run_first(cz_rule *rule, const cz_node *statement)
{
    run_event(rule, statement, (cz_event){.start = 1}, cz_first_then(statement),
              cz_first_else(statement));
}

/* A number of updates. */
static bool read_count(cz_rule *rule, const cz_node *node, const char *what,
                       int least, int64_t *out)
{
    double value;
    const cz_rule_value *count = cz_rule_eval(rule, node);
    if (!cz_rule_constant(rule, node, count, what, &value))
        return false;
    const bool is_count =
        floor(value) == value && value >= least && value <= (double)CZ_MAX_TIME;
    if (!is_count && count->kind == CZ_RULE_NUMBER &&
        !cz_scalar_is_constant(count->number))
        return false; /* other shapes may give one */
    if (!is_count) {
        cz_rule_error(rule, CZ_BAD_TYPE, node,
                      "%s must be a whole number of updates, at least %d", what,
                      least);
        return false;
    }
    *out = (int64_t)value;
    return true;
}

void cz_rule_run_every(cz_rule *rule, const cz_node *statement)
{
    cz_event event;
    const cz_node *from = cz_every_start(statement);
    bool good =
        read_count(rule, cz_every_period(statement), "the period of `every`",
                   from ? 0 : 1, &event.period);
    event.start = good ? event.period : 1;
    event.staggered =
        good && event.period > 1 && cz_node_has(statement, CZ_FLAG_STAGGERED);
    if (from)
        good = read_count(rule, from, "the first time of `every`", 1,
                          &event.start) &&
               good;
    if (good)
        run_event(rule, statement, event, cz_every_block(statement), NULL);
    else
        cz_rule_absorb_block(rule, cz_every_block(statement));
}

/* ---- phases ---- */

static bool list_phases(cz_rule *rule, cz_rule_phases *out)
{
    switch (
        cz_events_phases(rule->events, rule->n_events, out->fires, &out->n)) {
    case CZ_PHASES_OK:
        return true;
    case CZ_PHASES_TOO_MANY:
        cz_rule_error(rule, CZ_TOO_LARGE, rule->event_nodes[rule->n_events - 1],
                      "the `first` and `every` of '%s' fire together in more "
                      "than %d ways",
                      rule->use->optimizer->text, CZ_MAX_PHASES);
        break;
    case CZ_PHASES_TOO_LONG:
        cz_rule_error(rule, CZ_TOO_LARGE, rule->event_nodes[rule->n_events - 1],
                      "the `every` of '%s' repeat together only after too "
                      "many updates",
                      rule->use->optimizer->text);
        break;
    }
    return false;
}

bool cz_rule_find_phases(cz_rule *rule, void (*run)(cz_rule *),
                         cz_rule_phases *out)
{
    bool again = true;
    rule->n_asymmetric = 0;
    while (again) {
        const int n_known = rule->n_events;
        if (!list_phases(rule, out))
            return false;
        /* Whether a state proved not to stay symmetric. */
        cz_diags *diags = rule->diags, unheard;
        bool refuted = false;
        /* A phase that will not be one may make mistakes that are none. */
        cz_diags_init(&unheard, rule->arena);
        rule->diags = &unheard;
        for (int p = 0; p < out->n; p++) {
            rule->fires = out->fires[p];
            run(rule);
            refuted = cz_rule_refute_symmetric(rule) || refuted;
        }
        rule->diags = diags;
        rule->failed = false;
        again = refuted;
        if (rule->n_events > n_known) {
            rule->n_asymmetric = 0; /* by phases that will not be ones */
            again = true;
        }
    }
    rule->results = NULL;
    rule->n_blocks = rule->n_results = 0;
    rule->blocks = NULL;
    return true;
}

bool cz_rule_check_blocks(cz_rule *rule)
{
    for (int i = 0; i < rule->n_blocks; i++)
        if (!rule->blocks[i].ran) {
            cz_rule_error(rule, CZ_NO_EFFECT, rule->blocks[i].node,
                          "no update runs this block");
            return false;
        }
    return true;
}

/* ---- names that some phases alone have ---- */

static bool binds(const cz_node *target, const char *name)
{
    if (target->kind != CZ_AST_TUPLE)
        return strcmp(target->text, name) == 0;
    for (int i = 0; i < cz_n_items(target); i++)
        if (binds(cz_item(target, i), name))
            return true;
    return false;
}

void cz_rule_note_skipped(cz_rule *rule, const char *name)
{
    for (int i = 0; i < rule->n_blocks; i++) {
        const cz_node *block = rule->blocks[i].node;
        for (int k = 0; !rule->blocks[i].runs && k < cz_n_items(block); k++)
            if (cz_item(block, k)->kind == CZ_AST_BIND &&
                binds(cz_assign_target(cz_item(block, k)), name)) {
                cz_diag_note(rule->diags, cz_item(block, k)->span,
                             "bound here, which some updates do not run");
                return;
            }
    }
}
