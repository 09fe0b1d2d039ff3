/* Small checks that the steps of building a plan view share. */
#include "dsl/plan/build/internal.h"

#include <inttypes.h>
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

#define ADD_ALL(b, fact)                                                       \
    do {                                                                       \
        int n_;                                                                \
        const cz_fact_##fact *list_ =                                          \
            cz_ir_read_##fact((b)->ir, (b)->arena, &n_);                       \
        for (int i_ = 0; i_ < n_; i_++)                                        \
            add_symbol((b), list_[i_].sym_name, CZ_FACT_##fact, i_,            \
                       (cz_ir_op){NULL});                                      \
    } while (0)

void cz_view_index_symbols(cz_view_builder *builder)
{
    ADD_ALL(builder, reduction);
    ADD_ALL(builder, use);
    ADD_ALL(builder, rule);
    ADD_ALL(builder, family);
    ADD_ALL(builder, frozen);
    ADD_ALL(builder, storage);
    ADD_ALL(builder, stage);
    ADD_ALL(builder, bucket);
    ADD_ALL(builder, table);
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

static const char *const fact_names[CZ_N_FACTS] = {
#define CZ_FACT(fact) #fact,
#include "dsl/vocab/facts.def"
};

bool cz_view_find(cz_view_builder *builder, cz_fact_kind kind, const char *name,
                  int *number)
{
    const cz_view_symbol *symbol = find_symbol(builder, name, (int)kind);
    if (!symbol)
        return cz_view_fail(builder, "'%s' names no %s", name,
                            fact_names[kind]);
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

bool cz_view_axes(cz_view_builder *builder, const char *what,
                  const cz_ints *axes)
{
    const int n_axes = builder->view->mesh->sizes.n;
    if (!cz_view_all_in(builder, what, axes, axes->n, 0, n_axes - 1))
        return false;
    for (int i = 1; i < axes->n; i++)
        if (axes->v[i] <= axes->v[i - 1])
            return cz_view_fail(builder, "%s: axes do not ascend", what);
    return true;
}

bool cz_view_dtype(cz_view_builder *builder, const char *what, const char *name,
                   cz_dtype *dtype)
{
    if (cz_dtype_find(name, dtype))
        return true;
    return cz_view_fail(builder, "%s: '%s' is no element type", what, name);
}

bool cz_view_name(cz_view_builder *builder, const char *what, const char *name,
                  const char *const *names, int n, int *number)
{
    for (*number = 0; *number < n; (*number)++)
        if (strcmp(names[*number], name) == 0)
            return true;
    return cz_view_fail(builder, "%s: '%s' is not a name we know", what, name);
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
