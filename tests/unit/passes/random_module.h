/* A random rule as the one rule of a module. */
#ifndef CZ_TESTS_PASSES_RANDOM_MODULE_H
#define CZ_TESTS_PASSES_RANDOM_MODULE_H

#include "dsl/ir/ir.h"
#include "passes/graph/math_form.h"
#include "tests/unit/passes/random_rule.h"

/* All constants are 1. */
static inline void add_machine(cz_ir *ir)
{
    static const char *const names[] = {
#define CZ_CONSTANT(field, unit, scale, low, what) #field,
#include "dsl/vocab/machine.def"
#undef CZ_CONSTANT
    };
    enum { N = sizeof names / sizeof *names };
    const char *sources[N];
    int64_t ones[N], zeros[N];
    for (int i = 0; i < N; i++) {
        sources[i] = "random";
        ones[i] = 1;
        zeros[i] = 0;
    }
    cz_ir_add_machine(ir, &(cz_fact_machine){.name = "one",
                                             .constants = {names, N},
                                             .values = {ones, N},
                                             .measured = {zeros, N},
                                             .sources = {sources, N}});
}

static inline void add_head(cz_ir *ir, cz_dtype master)
{
    static const char *const axes[] = {"dp"};
    static const int64_t sizes[] = {2}, dp[] = {0};

    cz_ir_add_program(ir, &(cz_fact_program){.name = "random"});
    cz_ir_add_mesh(ir, &(cz_fact_mesh){.axes = {axes, 1}, .sizes = {sizes, 1}});
    cz_ir_add_policy(ir, &(cz_fact_policy){.master_dtype = master,
                                           .bucket_elements = 1000,
                                           .tp_strategy = CZ_STRATEGY_AUTO,
                                           .wire = 0.5,
                                           .geometry = CZ_GEOMETRY_UNEVEN,
                                           .layout = CZ_LAYOUT_ENGINE,
                                           .form = CZ_ITERATION_AUTO});
    cz_ir_add_reduction(ir, &(cz_fact_reduction){.sym_name = "r",
                                                 .dtype = CZ_F32,
                                                 .reduce_axes = {dp, 1},
                                                 .split_axes = {dp, 1},
                                                 .n_grads = 1,
                                                 .divisor = 2});
    cz_ir_add_use(ir, &(cz_fact_use){.sym_name = "u", .optimizer = "random"});
    add_machine(ir);
}

static inline void add_prologue(cz_ir *ir)
{
    const cz_ir_type in[2] = {cz_ir_scalar_type(CZ_F64),
                              cz_ir_scalar_type(CZ_F64)};
    cz_ir_type out[N_SCALARS];
    cz_ir_value values[N_SCALARS];
    cz_ir_builder b;

    for (int i = 0; i < N_SCALARS; i++)
        out[i] = cz_ir_scalar_type(CZ_F32);
    b = cz_ir_function(ir,
                       &(cz_ir_signature){.name = "R.prologue",
                                          .n_in = 2,
                                          .n_out = N_SCALARS,
                                          .in = in,
                                          .out = out},
                       (cz_span){0});
    for (int i = 0; i < N_SCALARS; i++)
        values[i] = cz_ir_constant(&b, out[i], i);
    cz_ir_return(&b, values, N_SCALARS);
}

static inline void add_rule(cz_ir *ir, const trial *t)
{
    static const int64_t none[2 * N_STATES] = {0};
    static const char *const states[] = {"a", "b"}, *const dtypes[] = {"f32",
                                                                       "f32"};
    static const double init[N_STATES] = {0};
    static const int64_t shard[] = {0, 0};
    cz_ir_type in[N_IN];

    for (int i = 0; i < N_IN; i++)
        in[i] = t->shape;
    cz_math_form_write(ir, t->rule.update, "R.update", in, N_IN, N_SCALARS);
    add_prologue(ir);
    cz_ir_add_rule(ir, &(cz_fact_rule){.sym_name = "R",
                                       .use = "u",
                                       .shape = {t->shape.shape, 2},
                                       .states = {states, N_STATES},
                                       .state_dtypes = {dtypes, N_STATES},
                                       .state_init = {init, N_STATES},
                                       .state_diagonal = {none, N_STATES},
                                       .state_symmetric = {none, N_STATES},
                                       .state_shapes = {none, 2 * N_STATES},
                                       .state_extern = {none, N_STATES},
                                       .update = "R.update",
                                       .prologue = "R.prologue"});
    cz_ir_add_pattern(ir, &(cz_fact_pattern){.sym_name = "w",
                                             .name = "w",
                                             .shape = {t->shape.shape, 2},
                                             .shard = {shard, 2},
                                             .dtype = t->rule.stored,
                                             .rule = "R",
                                             .reduction = "r"});
}

/* NULL after reporting; the caller closes it. */
static inline cz_ir *random_module(const trial *t, cz_diags *diags)
{
    cz_ir *ir = cz_ir_open(diags);

    if (!ir)
        return NULL;
    add_head(ir, t->rule.has_stored ? CZ_F32 : t->rule.param);
    add_rule(ir, t);
    return ir;
}

#endif
