/* Small checks that the steps of building a plan view share. */
#include "dsl/base/checked.h"
#include "dsl/plan/build/internal.h"
#include "dsl/vocab/schema.h"

#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void cz_view_report(cz_view_builder *builder, const char *format, ...)
{
    cz_text text;
    va_list args;

    cz_text_init(&text);
    va_start(args, format);
    cz_text_vprintf(&text, format, args);
    va_end(args);
    cz_diag_error(builder->diags, CZ_BAD_IR, (cz_span){0}, "%s",
                  cz_text_string(&text));
    cz_text_fini(&text);
}

/* ---- symbols ---- */

static void add_symbol(cz_view_builder *b, const char *name, int kind,
                       int number, cz_ir_op op)
{
    *CZ_PUSH(b->arena, b->symbols, b->n_symbols) =
        (cz_view_symbol){name, kind, number, op};
}

static int by_name(const void *a, const void *b)
{
    const cz_view_symbol *x = a, *y = b;
    return strcmp(x->name, y->name);
}

void cz_view_read_facts(cz_view_builder *builder)
{
#define CZ_FACT(fact)                                                          \
    builder->facts[CZ_FACT_##fact] = cz_ir_read_##fact(                        \
        builder->ir, builder->arena, &builder->n_facts[CZ_FACT_##fact]);
#define CZ_SYM(fact, field)                                                    \
    for (int i = 0; i < builder->n_facts[CZ_FACT_##fact]; i++)                 \
        add_symbol(                                                            \
            builder,                                                           \
            ((const cz_fact_##fact *)builder->facts[CZ_FACT_##fact])[i].field, \
            CZ_FACT_##fact, i, (cz_ir_op){NULL});
#include "dsl/vocab/facts.def"
    int n = 0;
    for (cz_ir_op f = cz_ir_first_function(builder->ir); f.p;
         f = cz_ir_next_function(f))
        add_symbol(builder, cz_ir_function_name(f), CZ_N_FACTS, n++, f);
    if (builder->n_symbols)
        qsort(builder->symbols, (size_t)builder->n_symbols,
              sizeof *builder->symbols, by_name);
}

static const cz_view_symbol *find_symbol(const cz_view_builder *b,
                                         const char *name, int kind)
{
    const cz_view_symbol key = {.name = name};
    if (!b->n_symbols)
        return NULL;
    const cz_view_symbol *symbol =
        bsearch(&key, b->symbols, (size_t)b->n_symbols, sizeof key, by_name);
    return symbol && symbol->kind == kind ? symbol : NULL;
}

bool cz_view_find(cz_view_builder *builder, cz_fact_kind kind, const char *name,
                  int *number)
{
    const cz_view_symbol *symbol = find_symbol(builder, name, (int)kind);
    if (!symbol)
        return cz_view_fail(builder, "'%s' names no %s", name,
                            cz_fact_schemas[kind].name);
    *number = symbol->number;
    return true;
}

bool cz_view_find_function(cz_view_builder *builder, const char *name,
                           cz_ir_op *function)
{
    const cz_view_symbol *symbol = find_symbol(builder, name, CZ_N_FACTS);
    if (!symbol)
        return cz_view_fail(builder, "'%s' names no function", name);
    *function = symbol->op;
    return true;
}

/* ---- numbers and names ---- */

cz_view_limits cz_view_limits_of(const cz_plan_view *view, cz_range range)
{
    switch (range) {
#define CZ_RANGE(name, low, high)                                              \
    case CZ_RANGE_##name:                                                      \
        return (cz_view_limits){low, high};
#include "dsl/vocab/range.def"
#undef CZ_RANGE
    case CZ_N_RANGES:
        break;
    }
    return (cz_view_limits){0, -1};
}

bool cz_view_in(cz_view_builder *builder, const char *what, int64_t value,
                int64_t low, int64_t high)
{
    if (value >= low && value <= high)
        return true;
    return cz_view_fail(builder,
                        "%s is %" PRId64 ", not in [%" PRId64 ", %" PRId64 "]",
                        what, value, low, high);
}

bool cz_view_all_in(cz_view_builder *builder, const char *what,
                    const cz_ints *list, int n, int64_t low, int64_t high)
{
    if (list->n != n)
        return cz_view_fail(builder, "%s has %d numbers instead of %d", what,
                            list->n, n);
    for (int i = 0; i < n; i++)
        if (!cz_view_in(builder, what, list->v[i], low, high))
            return false;
    return true;
}

bool cz_view_dtype(cz_view_builder *builder, const char *what, const char *name,
                   cz_dtype *dtype)
{
    if (cz_dtype_find(name, dtype))
        return true;
    return cz_view_fail(builder, "%s: '%s' is no element type", what, name);
}

bool cz_view_bounds(cz_view_builder *builder, const char *what,
                    const cz_ints *bounds, int64_t n_parts, int64_t n)
{
    if (bounds->n != n_parts + 1)
        return cz_view_fail(builder, "%s has %d numbers instead of %" PRId64,
                            what, bounds->n, n_parts + 1);
    for (int i = 1; i < bounds->n; i++)
        if (bounds->v[i] < bounds->v[i - 1])
            return cz_view_fail(builder, "%s: bounds descend", what);
    if (bounds->v[0] != 0 || bounds->v[n_parts] != n)
        return cz_view_fail(builder, "%s does not run from 0 to %" PRId64, what,
                            n);
    return true;
}

/* ---- the columns of facts.def ---- */

enum { FREE = -1 };

static bool is_in(cz_view_builder *b, const char *what, int64_t value,
                  cz_range range)
{
    const cz_view_limits limits = cz_view_limits_of(b->view, range);
    return cz_view_in(b, what, value, limits.low, limits.high);
}

static bool are_in(cz_view_builder *b, const char *what, const cz_ints *list,
                   int64_t n, cz_range range)
{
    const cz_view_limits limits = cz_view_limits_of(b->view, range);
    if (!cz_view_all_in(b, what, list, n == FREE ? list->n : (int)n, limits.low,
                        limits.high))
        return false;
    for (int i = 1; range == CZ_RANGE_AXIS && i < list->n; i++)
        if (list->v[i] <= list->v[i - 1])
            return cz_view_fail(b, "%s: axes do not ascend", what);
    return true;
}

#define CZ_FACT(fact)                                                          \
    static bool check_##fact(cz_view_builder *b, const cz_fact_##fact *f)      \
    {                                                                          \
        const cz_plan_view *view = b->view;                                    \
        bool ok = view && f;
#define CZ_INT(fact, field, range)                                             \
    ok = ok && is_in(b, #fact ": " #field, f->field, CZ_RANGE_##range);
#define CZ_INTS(fact, field, range, n)                                         \
    ok = ok && are_in(b, #fact ": " #field, &f->field, n, CZ_RANGE_##range);
#define CZ_END(fact)                                                           \
    return ok;                                                                 \
    }
#include "dsl/vocab/facts.def"

bool cz_view_check_facts(cz_view_builder *builder, cz_fact_kind kind)
{
    bool ok = true;
#define CZ_FACT(fact)                                                          \
    for (int i = 0; kind == CZ_FACT_##fact && i < builder->n_facts[kind]; i++) \
        ok &= check_##fact(builder,                                            \
                           (const cz_fact_##fact *)builder->facts[kind] + i);
#include "dsl/vocab/facts.def"
    return ok;
}
