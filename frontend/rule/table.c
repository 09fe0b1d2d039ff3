/* Tables of coefficients: lists of rows, joined by +, repeated by *, and taken
 * from, beyond their last row where `then` says how; tables of numbers a..b. */
#include "frontend/rule/internal.h"

#include <stdint.h>

enum { MAX_ROWS = 4096 };

cz_rule_value *cz_rule_list(cz_rule *rule, const cz_node *list)
{
    cz_rule_value **rows =
        CZ_NEW(rule->arena, cz_rule_value *, cz_n_items(list));
    for (int i = 0; i < cz_n_items(list); i++) {
        rows[i] = cz_rule_eval(rule, cz_item(list, i));
        if (rows[i]->kind == CZ_RULE_ERROR)
            return rows[i];
        if (rows[i]->kind != CZ_RULE_TUPLE && rows[i]->kind != CZ_RULE_NUMBER)
            return cz_rule_error(rule, CZ_BAD_TYPE, cz_item(list, i),
                                 "a row of a table is a number or a tuple, "
                                 "not %s",
                                 cz_rule_text(rule, rows[i]));
        if (rows[i]->n_items != rows[0]->n_items)
            return cz_rule_error(rule, CZ_SHAPE_MISMATCH, cz_item(list, i),
                                 "rows of one table are alike; the first is "
                                 "%s, this is %s",
                                 cz_rule_text(rule, rows[0]),
                                 cz_rule_text(rule, rows[i]));
    }
    return cz_rule_items(rule, CZ_RULE_TABLE, rows, cz_n_items(list));
}

static cz_rule_value *concatenate(cz_rule *rule, const cz_node *node,
                                  cz_rule_value *const *parts, int n)
{
    int n_rows = 0;
    for (int i = 0; i < n; i++)
        n_rows += parts[i]->n_items;
    if (n_rows > MAX_ROWS)
        return cz_rule_error(rule, CZ_TOO_LARGE, node,
                             "a table of more than %d rows", MAX_ROWS);
    cz_rule_value **rows = CZ_NEW(rule->arena, cz_rule_value *, n_rows);
    cz_rule_value **row = rows;
    for (int i = 0; i < n; i++)
        for (int k = 0; k < parts[i]->n_items; k++)
            *row++ = parts[i]->items[k];
    return cz_rule_items(rule, CZ_RULE_TABLE, rows, n_rows);
}

static cz_rule_value *repeat(cz_rule *rule, const cz_node *node,
                             cz_rule_value *table, const cz_rule_value *count)
{
    double times;
    if (!cz_rule_constant(rule, node, count, "how often a table repeats",
                          &times))
        return cz_rule_absorb();
    if (!cz_scalar_is_constant(count->number))
        return table; /* how often, shapes decide */
    if (!count->number->is_integer || times < 0)
        return cz_rule_error(rule, CZ_BAD_TYPE, node,
                             "a table repeats a whole number of times");
    if (times > MAX_ROWS)
        return cz_rule_error(rule, CZ_TOO_LARGE, node,
                             "a table of more than %d rows", MAX_ROWS);
    cz_rule_value **parts = CZ_NEW(rule->arena, cz_rule_value *, times);
    for (int i = 0; i < (int)times; i++)
        parts[i] = table;
    return concatenate(rule, node, parts, (int)times);
}

cz_rule_value *cz_rule_table_binary(cz_rule *rule, const cz_node *node,
                                    cz_rule_value *a, cz_rule_value *b)
{
    if (a->kind == CZ_RULE_ERROR || b->kind == CZ_RULE_ERROR ||
        cz_rule_is_open(a) || cz_rule_is_open(b))
        return cz_rule_absorb();
    if (node->kind == CZ_AST_MUL)
        return a->kind == CZ_RULE_TABLE ? repeat(rule, node, a, b)
                                        : repeat(rule, node, b, a);
    if (node->kind == CZ_AST_ADD && a->kind == b->kind)
        return concatenate(rule, node, (cz_rule_value *[]){a, b}, 2);
    return cz_rule_error(rule, CZ_BAD_TYPE, node,
                         "tables are joined by + and repeated by *, and "
                         "nothing else");
}

/* ---- beyond the last row ---- */

cz_rule_value *cz_rule_go_on(cz_rule *rule, const cz_node *table,
                             cz_rule_value *value)
{
    if (value->kind != CZ_RULE_TABLE)
        return value;
    cz_rule_value *copy =
        cz_rule_items(rule, CZ_RULE_TABLE, value->items, value->n_items);
    if (cz_node_has(table, CZ_FLAG_LAST))
        copy->beyond = CZ_BEYOND_LAST;
    if (cz_node_has(table, CZ_FLAG_CYCLE))
        copy->beyond = CZ_BEYOND_CYCLE;
    return copy;
}

/* Row number i, from 0; the table has one at least. */
static cz_rule_value *row_at(const cz_rule_value *table, int64_t i)
{
    if (i < table->n_items)
        return table->items[i];
    return table->items[table->beyond == CZ_BEYOND_CYCLE ? i % table->n_items
                                                         : table->n_items - 1];
}

cz_rule_value *cz_rule_take(cz_rule *rule, const cz_node *call,
                            cz_rule_value **args)
{
    const cz_rule_value *table = args[0];
    double n;
    if (cz_rule_is_open(table))
        return args[0];
    if (table->kind != CZ_RULE_TABLE || table->n_items == 0)
        return cz_rule_error(
            rule, CZ_BAD_TYPE, call, "'take' gives rows of a table, not of %s",
            table->kind == CZ_RULE_TABLE ? "an empty one"
                                         : cz_rule_text(rule, table));
    if (!cz_rule_constant(rule, cz_item(call, 1), args[1], "how many rows", &n))
        return cz_rule_absorb();
    if (!cz_scalar_is_constant(args[1]->number))
        return args[0]; /* how many, shapes decide */
    if (!args[1]->number->is_integer || n < 1)
        return cz_rule_error(rule, CZ_BAD_TYPE, cz_item(call, 1),
                             "'take' gives a whole number of rows, at least 1");
    if (n > MAX_ROWS)
        return cz_rule_error(rule, CZ_TOO_LARGE, cz_item(call, 1),
                             "a table of more than %d rows", MAX_ROWS);
    if (n > table->n_items && table->beyond == CZ_BEYOND_NOTHING)
        return cz_rule_error(rule, CZ_WRONG_ARGUMENT, call,
                             "the table has %d rows: `then last` or `then "
                             "cycle` at its definition would say how it goes "
                             "on",
                             table->n_items);
    cz_rule_value **rows = CZ_NEW(rule->arena, cz_rule_value *, n);
    for (int i = 0; i < (int)n; i++)
        rows[i] = row_at(table, i);
    return cz_rule_items(rule, CZ_RULE_TABLE, rows, (int)n);
}

/* ---- one row ---- */

cz_rule_value *cz_rule_row(cz_rule *rule, const cz_node *node)
{
    const cz_node *which = cz_binary_right(node);
    const cz_rule_value *table = cz_rule_eval(rule, cz_binary_left(node));
    const cz_rule_value *number = cz_rule_eval(rule, which);
    const bool is_table = table->kind == CZ_RULE_TABLE;
    double i;
    if (table->kind == CZ_RULE_ERROR || cz_rule_is_open(table))
        return cz_rule_absorb();
    if (!is_table && table->kind != CZ_RULE_TUPLE)
        return cz_rule_error(rule, CZ_BAD_TYPE, node,
                             "tables and tuples have rows, and this is %s",
                             cz_rule_text(rule, table));
    if (!cz_rule_constant(rule, which, number, "the number of a row", &i))
        return cz_rule_absorb();
    if (!cz_scalar_is_constant(number->number)) /* shapes decide which */
        return is_table && table->n_items > 0 ? table->items[0]
                                              : cz_rule_absorb();
    if (!number->number->is_integer || i < 0)
        return cz_rule_error(rule, CZ_BAD_TYPE, which,
                             "rows have whole numbers, from 0");
    if (i < table->n_items ||
        (table->n_items > 0 && table->beyond != CZ_BEYOND_NOTHING))
        return row_at(table, (int64_t)i);
    cz_rule_error(rule, CZ_WRONG_ARGUMENT, node,
                  "there is no row %.0f: this %s has %d, and the first is row "
                  "0",
                  i, is_table ? "table" : "tuple", table->n_items);
    if (is_table && table->n_items > 0)
        cz_diag_note(rule->diags, (cz_span){0},
                     "`then last` or `then cycle` at its definition would say "
                     "how it goes on");
    return cz_rule_absorb();
}

/* ---- numbers in a row ---- */

/* False after reporting, or where shapes decide. */
static bool is_end(cz_rule *rule, const cz_node *node, double *out)
{
    const cz_rule_value *value = cz_rule_eval(rule, node);
    if (!cz_rule_constant(rule, node, value, "an end of a range", out) ||
        !cz_scalar_is_constant(value->number))
        return false;
    if (!value->number->is_integer)
        cz_rule_error(rule, CZ_BAD_TYPE, node,
                      "the ends of a range are whole numbers");
    return value->number->is_integer;
}

cz_rule_value *cz_rule_interval(cz_rule *rule, const cz_node *node)
{
    double from, to;
    const bool begins = is_end(rule, cz_binary_left(node), &from);
    if (!is_end(rule, cz_binary_right(node), &to) || !begins)
        return cz_rule_absorb();
    if (to < from)
        return cz_rule_error(rule, CZ_BAD_TYPE, node,
                             "this range ends at %.0f, before it begins at "
                             "%.0f",
                             to, from);
    if (to - from > MAX_ROWS)
        return cz_rule_error(rule, CZ_TOO_LARGE, node,
                             "a table of more than %d rows", MAX_ROWS);
    const int n = (int)(to - from);
    cz_rule_value **rows = CZ_NEW(rule->arena, cz_rule_value *, n);
    for (int i = 0; i < n; i++)
        rows[i] =
            cz_rule_number(rule, cz_scalar_integer(&rule->scalars, from + i));
    return cz_rule_items(rule, CZ_RULE_TABLE, rows, n);
}
