/* Inside of the rules' lowering.  A rule runs twice over its tree: once with
 * `building` false, which checks everything, finds the states and the prologue
 * results and emits nothing; then, when nothing was wrong, once more to build
 * the function whose arguments are known by now. */
#ifndef CZ_FRONTEND_RULE_INTERNAL_H
#define CZ_FRONTEND_RULE_INTERNAL_H

#include "dsl/ir/ir.h"
#include "dsl/plan/phase.h"
#include "frontend/rule/rule.h"
#include "frontend/rule/scalar.h"

/* ---- values ---- */

typedef enum cz_rule_kind {
    CZ_RULE_ERROR, /* absorbs: whoever meets it stays silent */
    CZ_RULE_NUMBER,
    CZ_RULE_TENSOR,
    CZ_RULE_TUPLE,
    CZ_RULE_TABLE,
    CZ_RULE_DTYPE,
    CZ_RULE_DEF
} cz_rule_kind;

enum { CZ_RULE_ROWS = 1, CZ_RULE_COLUMNS = 2, CZ_RULE_MATRIX = 3 };

typedef enum cz_rule_triangle {
    CZ_RULE_NO_TRIANGLE,
    CZ_RULE_LOWER,
    CZ_RULE_UPPER
} cz_rule_triangle;

/* A tensor as the rule sees it is the stored one, or its transpose where
 * `flipped`: transposing moves no data.  Element-wise arithmetic is in f32 and
 * rounded to `dtype` later, where the value is bound or enters a product; only
 * then are the elements of that type (`rounded`). */
typedef struct cz_tensor {
    cz_ir_value wide;   /* f32 (i1 if is_bool), made when first needed */
    cz_ir_value narrow; /* bf16 or f16, once rounded to it */
    cz_dtype dtype;
    bool rounded, is_bool;
    unsigned kept; /* stored dimensions there are: ROWS, COLUMNS; 0: [] */
    const cz_scalar *extent[2]; /* stored; 1 where a dimension is not there */
    bool flipped;               /* of matrices only */
    bool symmetric; /* equal to its transpose: `flipped` means nothing */
    cz_rule_triangle triangle; /* as stored; the rest is 0 */
    int serial;                /* equal: same elements up to transposition */
} cz_tensor;

/* How a table goes on behind its last row. */
typedef enum cz_rule_beyond {
    CZ_BEYOND_NOTHING,
    CZ_BEYOND_LAST,
    CZ_BEYOND_CYCLE
} cz_rule_beyond;

typedef struct cz_rule_value {
    cz_rule_kind kind;
    const cz_scalar *number;
    cz_tensor tensor;
    struct cz_rule_value **items; /* of a TUPLE; rows of a TABLE */
    int n_items;
    cz_rule_beyond beyond; /* of a TABLE */
    cz_dtype dtype;        /* of a DTYPE */
    const cz_node *def;    /* of a DEF */
} cz_rule_value;

/* ---- the rule at work ---- */

typedef struct cz_rule_binding {
    const char *name;
    cz_rule_value *value;
    const cz_node *place; /* where it got it; NULL: nowhere to point at */
} cz_rule_binding;

/* Names of the optimizer's body, or of a def's while it is inlined. */
typedef struct cz_rule_frame {
    struct cz_rule_frame *caller; /* NULL: nothing calls this one */
    const cz_node *call; /* CALL of a def, or DEF; NAME of a table or let */
    const cz_node *def;  /* that runs here, or NULL */
    int id;              /* 0: the optimizer's; of a def one for each call */
    const char *states;  /* what names of states begin with, without callers' */
    int n_conditional;   /* how deep in `first` and `every` it is called */
    bool is_by_value;    /* called by a name that holds the def */
    cz_rule_binding *bindings;
    int n_bindings;
    int n_calls, n_loops;  /* how deep in calls, and in `for` here */
    cz_rule_value *result; /* of a def, once returned */
} cz_rule_frame;

/* What lies there between steps: the parameter, then states and externs in
 * order.  `<-` writes all but externs. */
typedef struct cz_rule_slot {
    const char *name;    /* as the optimizer and the IR have it */
    const char *local;   /* as the def has it that declares it */
    int frame;           /* of that def; 0: of the optimizer itself */
    const cz_node *call; /* of that def, or NULL */
    cz_tensor as;        /* how it lies between steps; no elements */
    bool is_full_matrix; /* in one piece, at the owner */
    bool is_extern;      /* the trainer writes it before each step */
    double init;
    bool is_diagonal;     /* the initial value stands on the diagonal alone */
    cz_rule_value *value; /* now */
    const cz_node *declared; /* STATE, EXTERN, or the header */
    const cz_node *written;  /* the WRITE, or NULL */
} cz_rule_slot;

/* A block of `first` or `every`. */
typedef struct cz_rule_block {
    const cz_node *node;
    bool runs, ran; /* in the phase under way; in some phase */
} cz_rule_block;

/* Arguments of the prologue in front of the hyperparameters. */
enum { CZ_RULE_T, CZ_RULE_CLIP, CZ_RULE_FIRST_HYPER };

typedef struct cz_rule {
    const cz_rule_use *use;
    const cz_rule_shape *shape; /* NULL while arguments are matched */
    struct cz_rule_path *path;  /* NULL: at one static shape */
    const cz_scalar *extent[2]; /* of the parameter, as stored */
    const cz_scalar *one;
    cz_diags *diags;
    cz_arena *arena;
    bool failed;

    cz_scalars scalars;
    cz_rule_binding *formals; /* hyperparameters */
    int n_formals;
    const char **hypers; /* run-time values, with what the use fact needs */
    double *defaults;
    int64_t *has_default;
    int n_hypers;

    cz_rule_frame *frame;
    int n_frames; /* calls of defs so far */
    /* The call whose value a statement binds, and the name that it gets. */
    const cz_node *bound_call;
    const char *bound_name;
    struct cz_rule_known { /* what was asked of defs before */
        const cz_node *def;
        bool has_states;
    } * known;
    int n_known;
    cz_rule_slot *slots;
    int n_slots;
    const char **asymmetric; /* states that do not stay symmetric: a run's */
    int n_asymmetric;
    int n_serials, n_steps;
    int n_lookups; /* how deep in tables and lets */

    const cz_scalar **results; /* of the prologue, in order */
    int n_results;

    cz_event events[CZ_MAX_EVENTS]; /* of `first` and `every` */
    const cz_node *event_nodes[CZ_MAX_EVENTS];
    int n_events;
    uint32_t fires; /* bit e: event e, in the phase under way */
    cz_rule_block *blocks;
    int n_blocks;
    int n_conditional; /* how deep in such blocks */

    bool asks_name; /* the update takes the parameter's name as well */

    bool building;
    cz_ir_builder builder;
    int n_states; /* found by the first run */
} cz_rule;

/* Report at `node`, with notes on where the defs around it were called and
 * which shape it is about; the value is the error value. */
#define cz_rule_error(rule, code, node, ...)                                   \
    (cz_diag_error((rule)->diags, (code), (node)->span, __VA_ARGS__),          \
     cz_rule_failed((rule), (code)))
/* The same with what could have been meant, or NULL. */
#define cz_rule_error_near(rule, code, node, nearest, ...)                     \
    (cz_diag_error((rule)->diags, (code), (node)->span, __VA_ARGS__),          \
     cz_rule_suggest((rule), (node), (nearest)),                               \
     cz_rule_failed((rule), (code)))
cz_rule_value *cz_rule_failed(cz_rule *rule, cz_code code);
void cz_rule_suggest(cz_rule *rule, const cz_node *node, const char *nearest);
/* The error value, without a report. */
cz_rule_value *cz_rule_absorb(void);

/* ---- value.c ---- */

cz_rule_value *cz_rule_number(cz_rule *rule, const cz_scalar *number);
cz_rule_value *cz_rule_items(cz_rule *rule, cz_rule_kind kind,
                             cz_rule_value **items, int n);
cz_rule_value *cz_rule_tensor(cz_rule *rule, cz_tensor tensor);
/* Argument i of the update function, which lies like `as`. */
cz_rule_value *cz_rule_argument(cz_rule *rule, int i, const cz_tensor *as);
/* What lies as the parameter does. */
cz_tensor cz_rule_as_parameter(const cz_rule *rule, cz_dtype dtype);
/* The IR's type of a tensor stored like this. */
cz_ir_type cz_rule_stored_type(const cz_tensor *tensor, cz_dtype dtype);
bool cz_rule_is_any(const cz_rule *rule);
/* A truth, of a number or element by element. */
bool cz_rule_is_bool(const cz_rule_value *value);
/* A number, or a tensor of shape []. */
bool cz_rule_is_scalar(const cz_rule_value *value);
/* Length of dimension 0 or 1 as the rule sees it. */
const cz_scalar *cz_rule_extent(const cz_tensor *tensor, int dim);
/* A number that a use may replace by something that is none. */
bool cz_rule_is_open(const cz_rule_value *value);
/* The same for messages: "64", or "2*m" where shapes have names. */
const char *cz_rule_extent_text(cz_rule *rule, const cz_tensor *tensor,
                                int dim);
/* For messages: "a number", "[128, 64]", "[m, n]". */
const char *cz_rule_text(cz_rule *rule, const cz_rule_value *value);
/* Note where the values of two nodes come from: the place that bound the name,
 * or the expression itself.  NULL notes nothing, a name is noted once. */
void cz_rule_note_origins(cz_rule *rule, const cz_node *first,
                          const cz_rule_value *a, const cz_node *second,
                          const cz_rule_value *b);
/* Whether the value is a compile-time number; else reports. `what` needs it.
 * On a path, a number that depends on the shape is that of its example. */
bool cz_rule_constant(cz_rule *rule, const cz_node *node,
                      const cz_rule_value *value, const char *what,
                      double *out);

/* ---- path.c: what shapes decide ---- */

/* Whether a fixed truth holds; on a path, one that shapes decide becomes part
 * of what the path assumes. */
bool cz_rule_decide(cz_rule *rule, const cz_scalar *truth);
/* Whether two extents are equal at all shapes that take this path. */
bool cz_rule_same_extent(cz_rule *rule, const cz_scalar *a, const cz_scalar *b);

/* ---- tensor.c: layout and rounding ---- */

/* The same matrix with rows and columns exchanged.  Moves nothing. */
cz_rule_value *cz_rule_transpose(cz_rule *rule, cz_rule_value *value);
/* The elements in f32, as stored. */
cz_ir_value cz_rule_wide(cz_rule *rule, cz_tensor *tensor);
/* The shape of an element-wise result of these operands; the tensor's values
 * are not set.  False after reporting two shapes that do not fit. */
bool cz_rule_unify(cz_rule *rule, const cz_node *node,
                   cz_rule_value *const *operands, int n, cz_tensor *out);
/* A number or tensor in f32, in the layout and shape of `as`. */
cz_ir_value cz_rule_broadcast(cz_rule *rule, cz_rule_value *value,
                              const cz_tensor *as);
/* While building: scalar argument i of the update function, likewise. */
cz_ir_value cz_rule_broadcast_argument(cz_rule *rule, int i,
                                       const cz_tensor *as);
/* Rounded to its type: what a name is bound to. */
cz_rule_value *cz_rule_round(cz_rule *rule, cz_rule_value *value);
/* bf16(e), f16(e), f32(e). */
cz_rule_value *cz_rule_cast(cz_rule *rule, cz_rule_value *value,
                            cz_dtype dtype);
/* What `<-` stores in a tensor like `as`. */
cz_rule_value *cz_rule_convert(cz_rule *rule, const cz_node *node,
                               cz_rule_value *value, const cz_tensor *as);
/* In the layout of the function's arguments, in the value's type. */
cz_ir_value cz_rule_store(cz_rule *rule, cz_rule_value *value);

/* ---- element.c ---- */

/* An element-wise operation on numbers and tensors. */
cz_rule_value *cz_rule_element(cz_rule *rule, const cz_node *node, cz_opcode op,
                               cz_rule_value *const *operands, int n);
cz_rule_value *cz_rule_binary(cz_rule *rule, const cz_node *node, cz_opcode op,
                              cz_rule_value *a, cz_rule_value *b);
cz_rule_value *cz_rule_power(cz_rule *rule, const cz_node *node,
                             cz_rule_value *base, cz_rule_value *exponent);
cz_rule_value *cz_rule_compare(cz_rule *rule, const cz_node *node,
                               const char *predicate, cz_rule_value *a,
                               cz_rule_value *b);
cz_rule_value *cz_rule_select(cz_rule *rule, const cz_node *node,
                              cz_rule_value *condition, cz_rule_value *a,
                              cz_rule_value *b);

/* ---- product.c ---- */

cz_rule_value *cz_rule_product(cz_rule *rule, const cz_node *node,
                               cz_rule_value *a, cz_rule_value *b);
typedef enum cz_rule_reduction {
    CZ_RULE_SUM,
    CZ_RULE_MEAN,
    CZ_RULE_NORM,
    CZ_RULE_LARGEST,
    CZ_RULE_LEAST
} cz_rule_reduction;
/* Over everything, or over dimension `dim` (0, 1) where that is not -1. */
cz_rule_value *cz_rule_reduce(cz_rule *rule, const cz_node *node,
                              cz_rule_reduction kind, cz_rule_value *value,
                              int dim);

/* ---- index.c ---- */

/* The numbers, from 0, of the rows (dim 0) or columns (1) of a tensor: [m, 1]
 * or [1, n], in f32, which is exact up to CZ_IR_MAX_INDEX of them. */
cz_rule_value *cz_rule_index(cz_rule *rule, const cz_node *node,
                             cz_rule_value *value, int dim);
/* The numbers 0 to length - 1: [length, 1], of a dimension as states have. */
cz_rule_value *cz_rule_iota(cz_rule *rule, const cz_node *node,
                            const cz_rule_value *length);
/* x on and above its diagonal (UPPER) or below (LOWER), and 0 elsewhere: a
 * triangle by type, which `solve` takes. */
cz_rule_value *cz_rule_keep_triangle(cz_rule *rule, const cz_node *node,
                                     cz_rule_value *x,
                                     cz_rule_triangle triangle);

/* ---- random.c ---- */

/* uniform(x, key, ...): a number in (0, 1) for each element of x, of the keys
 * and its place alone. */
cz_rule_value *cz_rule_uniform(cz_rule *rule, const cz_node *node,
                               cz_rule_value **args, int n);

/* ---- factor.c ---- */

/* Tuples of two. */
cz_rule_value *cz_rule_eigh(cz_rule *rule, const cz_node *node,
                            cz_rule_value *a);
cz_rule_value *cz_rule_qr(cz_rule *rule, const cz_node *node, cz_rule_value *a);
cz_rule_value *cz_rule_cholesky(cz_rule *rule, const cz_node *node,
                                cz_rule_value *a);
/* x of a @ x = b. */
cz_rule_value *cz_rule_solve(cz_rule *rule, const cz_node *node,
                             cz_rule_value *a, cz_rule_value *b);
/* ROOT or NEWTON_ROOT of a matrix, an exponent and a shift and, of the second,
 * how it ends: dsl/vocab/factor.def. */
cz_rule_value *cz_rule_root(cz_rule *rule, const cz_node *node,
                            cz_factor factor, cz_rule_value *const *args);
cz_rule_value *cz_rule_symmetric(cz_rule *rule, const cz_node *node,
                                 cz_rule_value *a);

/* ---- eval.c, call.c, def.c, table.c ---- */

/* Never NULL. */
cz_rule_value *cz_rule_eval(cz_rule *rule, const cz_node *node);
/* A primitive, a def, or the rounding or the def that a name holds. */
cz_rule_value *cz_rule_call(cz_rule *rule, const cz_node *call);
cz_rule_value *cz_rule_inline(cz_rule *rule, const cz_node *call,
                              const cz_node *def);
/* False after reporting a def with states that is `wide` or returns before its
 * end. */
bool cz_rule_check_def(cz_rule *rule, const cz_node *def);
/* A TABLE's value with what `then` says of it. */
cz_rule_value *cz_rule_go_on(cz_rule *rule, const cz_node *table,
                             cz_rule_value *value);
/* take(table, n): its first n rows, and those that it goes on with. */
cz_rule_value *cz_rule_take(cz_rule *rule, const cz_node *call,
                            cz_rule_value **args);
/* table[i], and an element of a tuple; a..b, a table of numbers. */
cz_rule_value *cz_rule_row(cz_rule *rule, const cz_node *node);
cz_rule_value *cz_rule_interval(cz_rule *rule, const cz_node *node);
/* + and * where an operand is a table: joined, repeated. */
cz_rule_value *cz_rule_table_binary(cz_rule *rule, const cz_node *node,
                                    cz_rule_value *a, cz_rule_value *b);
cz_rule_value *cz_rule_list(cz_rule *rule, const cz_node *list);

/* ---- name.c ---- */

/* Reports an unknown name. */
cz_rule_value *cz_rule_lookup(cz_rule *rule, const cz_node *name);
cz_rule_value *cz_rule_find_local(cz_rule *rule, const char *name);
cz_rule_slot *cz_rule_find_slot(cz_rule *rule, const char *name);
/* Bind in the present frame, as it is. */
void cz_rule_bind(cz_rule *rule, const char *name, cz_rule_value *value,
                  const cz_node *place);
/* Where the name got its value in the present frame, or NULL. */
const cz_node *cz_rule_find_place(cz_rule *rule, const char *name);

/* ---- args.c ---- */

/* Which argument each formal of an OPTIMIZER or DEF gets: chosen[i], or NULL.
 * In a `use`, a bare name of a formal leaves it to run time and gives way to a
 * value.  False after reporting. */
bool cz_rule_match(cz_rule *rule, const cz_node *callee,
                   const cz_node *const *args, int n_args, bool is_use,
                   const cz_node **chosen);
/* Fills formals and hypers of the rule. */
void cz_rule_bind_formals(cz_rule *rule);

/* ---- block.c ---- */

void cz_rule_run(cz_rule *rule, const cz_node *block);
/* Nobody knows whether the block runs: all that it binds, writes or returns
 * absorbs. */
void cz_rule_absorb_block(cz_rule *rule, const cz_node *block);

/* ---- state.c ---- */

/* What `value`, of `node`, is as a dimension: a number of at least 1 that is
 * whole at all shapes; NULL after reporting. */
const cz_scalar *cz_rule_dimension(cz_rule *rule, const cz_node *node,
                                   const cz_rule_value *value);
void cz_rule_run_state(cz_rule *rule, const cz_node *statement);
void cz_rule_run_extern(cz_rule *rule, const cz_node *statement);

/* ---- def.c: states of a def ---- */

/* Whether the call that runs may declare states where it stands; else reports
 * the call around it that may not. */
bool cz_rule_check_call(cz_rule *rule);
/* What the optimizer calls the state `local` of the present frame. */
const char *cz_rule_state_name(cz_rule *rule, const char *local);
/* Whether the optimizer has nothing else of that name; else reports. */
bool cz_rule_check_state_name(cz_rule *rule, const cz_rule_slot *slot);

/* ---- state.c: symmetry ---- */

/* Behind a run: whether a state that was taken to be symmetric did not stay
 * so; the next run knows. */
bool cz_rule_refute_symmetric(cz_rule *rule);

/* ---- phase.c ---- */

void cz_rule_run_first(cz_rule *rule, const cz_node *statement);
void cz_rule_run_every(cz_rule *rule, const cz_node *statement);

/* The sets of events that fire together, ascending; one, and no event, where
 * every update is the same. */
typedef struct cz_rule_phases {
    uint32_t fires[CZ_MAX_PHASES];
    int n;
} cz_rule_phases;

/* Finds the events, the phases, and which states stay symmetric in all of
 * these, by running the body in silence.  False after reporting too many. */
bool cz_rule_find_phases(cz_rule *rule, void (*run)(cz_rule *),
                         cz_rule_phases *out);
/* Once all phases have been run: false after reporting a block that ran in
 * none. */
bool cz_rule_check_blocks(cz_rule *rule);
/* Behind an unknown name: a note on a block that binds it and does not run in
 * this phase. */
void cz_rule_note_skipped(cz_rule *rule, const char *name);

/* ---- rule.c ---- */

/* Run the body in every phase and report what is wrong.  Needs the formals to
 * be bound and, on a path, the extents. */
bool cz_rule_check_body(cz_rule *rule, const cz_rule_shape *shape,
                        cz_rule_phases *phases);

/* ---- prologue.c ---- */

/* The number of the prologue's result that holds this. */
int cz_rule_result(cz_rule *rule, const cz_scalar *number);
void cz_rule_build_prologue(cz_rule *rule, cz_ir *ir, const char *name);

#endif
