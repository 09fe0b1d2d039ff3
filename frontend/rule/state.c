/* States: `state l : f32[m, m] = identity`.  One whose dimensions are the
 * header's own names, in order, lies as the parameter does; any other is whole,
 * at the owner.  Externs, `extern s : f32[h]`, are whole states that the
 * trainer writes and no rule. */
#include "frontend/rule/internal.h"

#include "dsl/base/checked.h"
#include "frontend/rule/path.h"
#include "frontend/rule/expand/expand.h"

#include <string.h>

/* ---- shape ---- */

const cz_scalar *cz_rule_dimension(cz_rule *rule, const cz_node *node,
                                   const cz_rule_value *value)
{
    double length, at[CZ_PATH_SYMBOLS];
    if (!cz_rule_constant(rule, node, value, "a dimension", &length))
        return NULL;
    if (!cz_scalar_is_dimension(value->number)) {
        cz_rule_error(rule, CZ_BAD_DIMENSION, node,
                      "a dimension is made of whole numbers and the header's "
                      "names by +, -, *, min, max, floor and ceil");
        return NULL;
    }
    const cz_scalar *below =
        cz_scalar_compare(&rule->scalars, "olt", value->number, rule->one);
    if (cz_scalar_is_constant(below) ? below->constant == 0
                                     : !cz_rule_path_can(rule->path, below, at))
        return value->number;
    cz_rule_error(rule, CZ_BAD_DIMENSION, node,
                  "a dimension must be at least 1");
    if (!cz_scalar_is_constant(below))
        cz_diag_note(rule->diags, node->span, "with %s this is %.0f",
                     cz_rule_path_text_at(rule->path, rule->arena, below, at),
                     cz_scalar_at(value->number, at));
    return NULL;
}

static bool is_header_name(cz_rule *rule, const cz_node *node, int dim);

/* In a def: a formal that is given such a name and nothing else. */
static bool is_given_header_name(cz_rule *rule, const cz_node *node, int dim)
{
    cz_rule_frame *inner = rule->frame;
    const cz_node *place =
        node->kind == CZ_AST_NAME ? cz_rule_find_place(rule, node->text) : NULL;
    if (!place || place->kind != CZ_AST_ARG || !inner->caller ||
        cz_def_binds(inner->def, node->text))
        return false;
    rule->frame = inner->caller;
    const bool is = is_header_name(rule, cz_arg_value(place), dim);
    rule->frame = inner;
    return is;
}

/* A name of the header, which means what it meant there. */
static bool is_header_name(cz_rule *rule, const cz_node *node, int dim)
{
    if (rule->frame->def)
        return is_given_header_name(rule, node, dim);
    const cz_node *header = cz_optimizer_header(rule->use->optimizer);
    const cz_tensor *param = &rule->slots[0].as;
    if (node->kind != CZ_AST_NAME || dim >= cz_n_items(header) ||
        strcmp(node->text, cz_item(header, dim)->text) != 0)
        return false;
    const cz_rule_value *value = cz_rule_find_local(rule, node->text);
    return value && value->kind == CZ_RULE_NUMBER &&
           cz_rule_same_extent(rule, value->number, cz_rule_extent(param, dim));
}

/* What broadcasts: sum(x, 1) leaves [m, 1], too. */
static bool is_literal_one(const cz_node *node)
{
    return node->kind == CZ_AST_NUMBER && node->number == 1;
}

static const char *what_is(const cz_rule_slot *slot)
{
    return slot->is_extern ? "an extern" : "a state";
}

/* A dimension that is not written is 1. */
static bool find_dimensions(cz_rule *rule, const cz_node *type,
                            cz_rule_slot *slot)
{
    const cz_scalar *seen[2] = {rule->one, rule->one};
    cz_tensor *as = &slot->as;
    for (int dim = 0; dim < 2; dim++) {
        const cz_node *node =
            dim < cz_n_items(type) ? cz_item(type, dim) : NULL;
        if (node)
            seen[dim] = cz_rule_dimension(rule, node, cz_rule_eval(rule, node));
        if (!node || is_literal_one(node))
            as->kept &= ~(1U << dim);
    }
    if (!seen[0] || !seen[1])
        return false;
    /* A vector lies as the rule sees it, a matrix as the parameter. */
    as->flipped = as->kept == CZ_RULE_MATRIX && rule->shape->transposed;
    for (int dim = 0; dim < 2; dim++)
        as->extent[dim ^ (int)as->flipped] = seen[dim];
    if (rule->path)
        return true;
    if (!(as->extent[0]->constant * as->extent[1]->constant >
          (double)CZ_MAX_DIM))
        return true;
    cz_rule_error(rule, CZ_TOO_LARGE, type,
                  "%s of more than 2^40 elements is too large", what_is(slot));
    return false;
}

/* `slot` is like the parameter, but for its type. */
static bool find_shape(cz_rule *rule, const cz_node *type, cz_rule_slot *slot)
{
    const bool any = cz_rule_is_any(rule);
    if (cz_n_items(type) == 0)
        return true;
    if (any || cz_n_items(type) != 2) {
        cz_rule_error(rule, CZ_UNSUPPORTED, type,
                      any ? "a state of a rule `for any` has the parameter's "
                            "shape: write no dimensions"
                          : "a state with other than two dimensions is not "
                            "supported yet");
        return false;
    }
    slot->is_full_matrix = !is_header_name(rule, cz_item(type, 0), 0) ||
                           !is_header_name(rule, cz_item(type, 1), 1);
    return find_dimensions(rule, type, slot);
}

/* Nothing: a number; one dimension: a column. */
static bool find_extern_shape(cz_rule *rule, const cz_node *type,
                              cz_rule_slot *slot)
{
    slot->is_full_matrix = true;
    if (!cz_rule_is_any(rule) && cz_n_items(type) <= 2)
        return find_dimensions(rule, type, slot);
    cz_rule_error(rule, CZ_UNSUPPORTED, type,
                  cz_rule_is_any(rule)
                      ? "an extern of a rule `for any` is not supported yet"
                      : "an extern of more than two dimensions is not "
                        "supported yet");
    return false;
}

static bool find_dtype(cz_rule *rule, const cz_node *type, cz_rule_slot *slot)
{
    cz_dtype *dtype = &slot->as.dtype;
    if (!cz_dtype_find(type->text, dtype))
        cz_rule_error(rule, CZ_BAD_TYPE, type,
                      "'%s' is no element type; there are f32 and bf16",
                      type->text);
    else if (*dtype == CZ_F64 || *dtype == CZ_F16 ||
             (slot->is_extern && *dtype != CZ_F32))
        cz_rule_error(rule, CZ_UNSUPPORTED, type,
                      "%s in %s is not supported yet", what_is(slot),
                      cz_dtype_name(*dtype));
    else
        return true;
    return false;
}

/* ---- initial value ---- */

static bool is_identity(cz_rule *rule, const cz_node *node)
{
    return node->kind == CZ_AST_NAME && strcmp(node->text, "identity") == 0 &&
           !cz_rule_find_local(rule, node->text);
}

/* `identity`, `E * identity` or `identity * E`. */
static bool find_identity(cz_rule *rule, const cz_node *node,
                          const cz_node **factor)
{
    *factor = NULL;
    if (node->kind != CZ_AST_MUL)
        return is_identity(rule, node);
    for (int i = 0; i < 2; i++)
        if (is_identity(rule, cz_item(node, i))) {
            *factor = cz_item(node, !i);
            return true;
        }
    return false;
}

static bool find_number(cz_rule *rule, const cz_node *node, double *out)
{
    return cz_rule_constant(rule, node, cz_rule_eval(rule, node),
                            "the initial value of a state", out);
}

static bool find_initial(cz_rule *rule, const cz_node *node, cz_rule_slot *slot)
{
    const cz_node *factor;
    slot->is_diagonal = find_identity(rule, node, &factor);
    slot->init = 1;
    if (!slot->is_diagonal || factor)
        return find_number(rule, factor ? factor : node, &slot->init);
    return true;
}

static bool check_diagonal(cz_rule *rule, const cz_node *node,
                           const cz_rule_slot *slot)
{
    if (!slot->is_diagonal ||
        (slot->is_full_matrix &&
         cz_rule_same_extent(rule, slot->as.extent[0], slot->as.extent[1])))
        return true;
    cz_rule_error(
        rule, CZ_SHAPE_MISMATCH, node,
        "`identity` is for a square state of a shape of its own, such "
        "as f32[m, m]");
    return false;
}

/* ---- the statement ---- */

static bool is_declared_here(cz_rule *rule, const cz_node *statement)
{
    const cz_rule_frame *frame = rule->frame;
    const bool is_extern = statement->kind == CZ_AST_EXTERN;
    if (frame->n_loops || rule->n_conditional > frame->n_conditional ||
        (is_extern && frame->call))
        cz_rule_error(rule, CZ_BAD_TYPE, statement,
                      is_extern ? "an extern is declared by the optimizer "
                                  "itself, outside of loops, `first` and "
                                  "`every`"
                                : "states are declared outside of loops, "
                                  "`first` and `every`");
    else if (cz_rule_find_local(rule, statement->text))
        cz_rule_error(rule, CZ_DUPLICATE_NAME, statement,
                      "'%s' is already the name of something else here",
                      statement->text);
    else
        return cz_rule_check_call(rule);
    return false;
}

static bool is_refuted(const cz_rule *rule, const char *name)
{
    for (int i = 0; i < rule->n_asymmetric; i++)
        if (strcmp(rule->asymmetric[i], name) == 0)
            return true;
    return false;
}

/* Takes a square state that is whole, and so starts symmetric, to be equal to
 * its transpose unless a run has found that it does not stay so.  Those that
 * lie as the parameter does are held in parts, by rows. */
static void assume_symmetric(cz_rule *rule, cz_rule_slot *slot)
{
    const cz_tensor *as = &slot->as;

    slot->as.symmetric =
        slot->is_full_matrix && !slot->is_extern &&
        as->kept == CZ_RULE_MATRIX &&
        cz_rule_same_extent(rule, as->extent[0], as->extent[1]) &&
        !is_refuted(rule, slot->name);
}

static void add_state(cz_rule *rule, cz_rule_slot slot)
{
    assume_symmetric(rule, &slot);
    *CZ_PUSH(rule->arena, rule->slots, rule->n_slots) = slot;
    /* after the gradient and the slots before it */
    rule->slots[rule->n_slots - 1].value =
        cz_rule_argument(rule, rule->n_slots, &slot.as);
}

/* Like the parameter. */
static cz_rule_slot begin(cz_rule *rule, const cz_node *statement)
{
    const cz_rule_frame *frame = rule->frame;
    return (cz_rule_slot){.name = cz_rule_state_name(rule, statement->text),
                          .local = statement->text,
                          .frame = frame->id,
                          .call = frame->call,
                          .as = rule->slots[0].as,
                          .is_extern = statement->kind == CZ_AST_EXTERN,
                          .declared = statement};
}

/* An ill-formed one is absorbed where it is read. */
static void end(cz_rule *rule, const cz_rule_slot *slot, bool is_good)
{
    if (is_good)
        add_state(rule, *slot);
    else
        cz_rule_bind(rule, slot->local, cz_rule_absorb(), slot->declared);
}

/* What a state in a def would be that nobody calls, or that stands where it
 * must not, is not known. */
static void absorb_state(cz_rule *rule, const cz_node *statement)
{
    if (rule->frame->def && !cz_rule_find_place(rule, statement->text))
        cz_rule_bind(rule, statement->text, cz_rule_absorb(), statement);
}

void cz_rule_run_state(cz_rule *rule, const cz_node *statement)
{
    const cz_node *type = cz_declared_type(statement);
    const cz_node *initial = cz_declared_initial(statement);
    if (!is_declared_here(rule, statement) || !rule->n_slots) {
        absorb_state(rule, statement);
        return;
    }
    cz_rule_slot slot = begin(rule, statement);
    const bool own = cz_rule_check_state_name(rule, &slot);
    const bool constant = find_initial(rule, initial, &slot);
    const bool typed = find_dtype(rule, type, &slot);
    const bool fits = find_shape(rule, type, &slot);
    end(rule, &slot,
        own && constant && typed && fits &&
            check_diagonal(rule, initial, &slot));
}

void cz_rule_run_extern(cz_rule *rule, const cz_node *statement)
{
    const cz_node *type = cz_declared_type(statement);
    if (!is_declared_here(rule, statement)) {
        absorb_state(rule, statement);
        return;
    }
    cz_rule_slot slot = begin(rule, statement);
    const bool typed = find_dtype(rule, type, &slot);
    const bool fits = find_extern_shape(rule, type, &slot);
    end(rule, &slot, typed && fits);
}

/* ---- symmetry ------------------------------------------------------------ */

/* A state that is square starts symmetric, whatever its initial value, and is
 * taken to stay so.  What a run of the body then writes to it is symmetric by
 * type or refutes that.  Runs are repeated until none refutes anything: what is
 * left holds by induction over updates. */

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
