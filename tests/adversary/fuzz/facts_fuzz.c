/* Fuzz target for facts that somebody edited: modules of good programs, before
 * planning, between its halves and behind it, in which the bytes change fields.
 * Schema, passes, view, verifier and C must answer with an error or a plan.
 * The text itself is ir_fuzz's: MLIR's parser is not ours to crash. */
#include "codegen/emit.h"
#include "dsl/vocab/schema.h"
#include "dsl/ir/internal.h"
#include "dsl/plan/build/build.h"
#include "frontend/program/compile.h"
#include "passes/gpu/gpu.h"
#include "passes/passes.h"
#include "passes/verify/verify.h"
#include "tests/adversary/fuzz/fuzz.h"

#include <string.h>

enum {
    N_PROGRAMS = 3,
    N_LEVELS = 4, /* as lowered, assigned, scheduled, scheduled for a GPU */
    MAX_BYTES = 256,
    MAX_LIST = 64,
    /* MLIR keeps every attribute until its context goes. */
    N_UNTIL_FRESH = 2000
};

/* One row of coefficients is enough: an execution is short, then. */
static const char *const programs[N_PROGRAMS] = {
    "mesh dp = 2, tp = 2\n"
    "model tiny(w = 8) {\n"
    "  params bf16 {\n"
    "    h[i < 2].w : [2*w/tp, w]\n    b : f32[w]\n"
    "  }\n"
    "}\n"
    "table one = [(3.0, -4.0, 2.0)]\n"
    "use muon(lr, coefficients = one) as m on h.**\nuse adamw(lr) on **\n"
    "schedule { clip norm 1.0, skip nonfinite, bucket 64 }\n",
    "mesh tp = 4\n"
    "model tiny(w = 8) {\n"
    "  params f32 {\n"
    "    a : [w, w/tp]\n    c : [w/tp, w] stored transposed\n"
    "    f : [w] frozen\n    tie d = a\n"
    "  }\n"
    "}\n"
    "table one = [(3.0, -4.0, 2.0)]\n"
    "use muon(lr, coefficients = one, decay = 0.1) on **\n",
    "mesh dp = 4\n"
    "model tiny(w = 4) {\n  params f32 { {a, b} : [w, w]\n e : [w] }\n}\n"
    "use sgd(lr) on **\n",
};

/* A module that is not changed, and its facts. */
typedef struct base {
    cz_arena arena;
    cz_diags diags;
    cz_ir *ir; /* NULL: to be made */
    const char *facts[CZ_N_FACTS];
    int n_facts[CZ_N_FACTS];
} base;

static base bases[N_PROGRAMS][N_LEVELS];

/* ---- bases ---- */

static void base_read(base *b)
{
    cz_fact_kind kind = 0;
#define CZ_FACT(fact)                                                          \
    b->facts[kind] =                                                           \
        (const char *)cz_ir_read_##fact(b->ir, &b->arena, &b->n_facts[kind]);  \
    kind++;
#include "dsl/vocab/facts.def"
}

static void base_open(base *b, const char *program, int level)
{
    cz_text text;
    cz_text_init(&text);
    cz_text_puts(&text, program);
    cz_arena_init(&b->arena);
    cz_diags_init(&b->diags, &b->arena);
    const cz_compile_options options = {
        .path = "fuzz.cz", .text = &text, .compiler = "facts_fuzz"};
    b->ir = cz_compile(&b->arena, &options, &b->diags);
    fuzz_demand(b->ir != NULL, "a program that does not compile", &b->diags);
    fuzz_demand((level < 1 || cz_passes_assign(b->ir, &b->diags)) &&
                    (level < 2 || cz_passes_schedule(b->ir, &b->diags)) &&
                    (level < 3 || (cz_gpu_target(b->ir, "", &b->diags) &&
                                   cz_passes_gpu(b->ir, NULL, &b->diags))),
                "a program that is not planned", &b->diags);
    base_read(b);
    cz_text_fini(&text);
}

static void close_bases(void)
{
    for (int i = 0; i < N_PROGRAMS; i++)
        for (int level = 0; level < N_LEVELS; level++) {
            base *b = &bases[i][level];
            if (!b->ir)
                continue;
            cz_ir_close(b->ir);
            cz_arena_fini(&b->arena);
            b->ir = NULL;
        }
}

static base *find_base(unsigned which)
{
    static int n_executions;
    const int program = (int)(which % N_PROGRAMS);
    const int level = (int)(which / N_PROGRAMS % N_LEVELS);
    base *b = &bases[program][level];
    if (++n_executions % N_UNTIL_FRESH == 0)
        close_bases();
    if (!b->ir)
        base_open(b, programs[program], level);
    return b;
}

/* ---- changes ---- */

/* The bytes that say what to change; behind the end they are 0. */
typedef struct script {
    const unsigned char *bytes;
    size_t n, at;
    cz_arena *arena;
    const base *base;
} script;

static unsigned next(script *s)
{
    return s->at < s->n ? s->bytes[s->at++] : 0;
}

static int64_t new_int(script *s, int64_t old)
{
    static const int64_t numbers[] = {0,
                                      1,
                                      -1,
                                      2,
                                      3,
                                      7,
                                      8,
                                      63,
                                      64,
                                      256,
                                      65536,
                                      1 << 20,
                                      (int64_t)1 << 32,
                                      (int64_t)1 << 40,
                                      (int64_t)1 << 62,
                                      INT64_MAX,
                                      INT64_MIN};
    const unsigned how = next(s);
    if (how < 64) /* near the old one, without an overflow of ours */
        return (int64_t)((uint64_t)old + how - 32);
    return numbers[how % (sizeof numbers / sizeof *numbers)];
}

static double new_real(script *s, double old)
{
    static const double numbers[] = {0.0, -0.0, 1.0,        -1.0,
                                     0.5, 1e30, 1e308 * 10, 5e-324};
    const unsigned how = next(s);
    return how < 64    ? old * ((double)how - 32)
           : how == 64 ? (double)0 / (double)(how - how)
                       : numbers[how % (sizeof numbers / sizeof *numbers)];
}

/* A string of another fact, or one that means trouble. */
static const char *new_string(script *s)
{
    static const char *const strings[] = {"",
                                          "x*/;system(\"id\");/*",
                                          "%s%n",
                                          "?\?/\n\\",
                                          "\xc3\xa4{0}{1}{2}",
                                          "f32",
                                          "bf16",
                                          "f64",
                                          "param",
                                          "grad",
                                          "state",
                                          "whole",
                                          "local",
                                          "before",
                                          "after",
                                          "{0}",
                                          "h.{0}.w",
                                          "dp",
                                          "tp",
                                          "../a",
                                          "a.b",
                                          "0",
                                          "kernel",
                                          "transfer",
                                          "span",
                                          "update",
                                          "decide",
                                          "reduce",
                                          "norm",
                                          "all_reduce",
                                          "reduce_scatter",
                                          "all_gather",
                                          "copy",
                                          "scale",
                                          "int"};
    const unsigned which = next(s);
    if (which < 128)
        return strings[which % (sizeof strings / sizeof *strings)];
    const cz_fact_kind kind = (cz_fact_kind)(next(s) % CZ_N_FACTS);
    const cz_fact_schema *fact = &cz_fact_schemas[kind];
    const cz_field *field = &fact->fields[which % (unsigned)fact->n_fields];
    const int n = s->base->n_facts[kind];
    if (n == 0 || (field->type != CZ_FIELD_SYM && field->type != CZ_FIELD_REF &&
                   field->type != CZ_FIELD_STRING))
        return "nothing";
    const char *value =
        s->base->facts[kind] + next(s) % (unsigned)n * fact->size;
    return *(const char *const *)(const void *)(value + field->offset);
}

/* How a list changes: item `at` goes, comes, or becomes another. */
typedef struct list_change {
    int n, from, at; /* items then, those kept before `at`, the new one or -1 */
    int skipped;     /* old items that are not kept at `at` */
} list_change;

static list_change new_list(script *s, int n)
{
    const unsigned how = next(s);
    const int at = n > 0 ? (int)(next(s) % (unsigned)n) : 0;
    if (how % 8 == 0 && n > 0) /* one goes */
        return (list_change){n - 1, at, -1, 1};
    if (how % 8 == 1 || n == 0) /* one comes */
        return (list_change){n + 1, at, at, 0};
    if (how % 8 == 2) /* the rest goes */
        return (list_change){at, at, -1, n - at};
    return (list_change){n, at, at, 1};
}

#define CHANGE_LIST(list, type, new_item)                                      \
    do {                                                                       \
        const list_change c = new_list(s, (list)->n);                          \
        type *items = CZ_NEW(s->arena, type, c.n + 1);                         \
        for (int k = 0, from = 0; k < c.n; k++) {                              \
            if (k == c.from)                                                   \
                from += c.skipped;                                             \
            items[k] = k == c.at ? (new_item) : (list)->v[from];               \
            from += k != c.at;                                                 \
        }                                                                      \
        (list)->v = items;                                                     \
        (list)->n = c.n;                                                       \
    } while (0)

static int new_choice(script *s, const cz_field *field)
{
    int n;
    cz_words(field->vocabulary, &n);
    return (int)(next(s) % (unsigned)n);
}

static void change_field(script *s, const cz_field *field, void *at)
{
    cz_ints *ints = at;
    cz_reals *reals = at;
    cz_strings *strings = at;
    switch (field->type) {
    case CZ_FIELD_SYM:
    case CZ_FIELD_REF:
    case CZ_FIELD_STRING:
        *(const char **)at = new_string(s);
        break;
    case CZ_FIELD_CHOICE:
        *(int *)at = new_choice(s, field);
        break;
    case CZ_FIELD_CHOICES:
        CHANGE_LIST(ints, int64_t, new_choice(s, field));
        break;
    case CZ_FIELD_INT:
        *(int64_t *)at = new_int(s, *(int64_t *)at);
        break;
    case CZ_FIELD_REAL:
        *(double *)at = new_real(s, *(double *)at);
        break;
    case CZ_FIELD_INTS:
        CHANGE_LIST(ints, int64_t, new_int(s, c.skipped ? ints->v[k] : 0));
        break;
    case CZ_FIELD_REALS:
        CHANGE_LIST(reals, double, new_real(s, c.skipped ? reals->v[k] : 0));
        break;
    case CZ_FIELD_STRINGS:
        CHANGE_LIST(strings, const char *, new_string(s));
        break;
    case CZ_N_FIELD_TYPES:
        break;
    }
}

static void replace(cz_ir *ir, cz_fact_kind kind, int i, const void *value)
{
    cz_fact_kind at = 0;
#define CZ_FACT(fact)                                                          \
    if (at++ == kind)                                                          \
        cz_ir_replace_##fact(ir, i, value);
#include "dsl/vocab/facts.def"
}

/* One field of one fact. */
static void change(script *s, cz_ir *ir)
{
    const cz_fact_kind kind = (cz_fact_kind)(next(s) % CZ_N_FACTS);
    const unsigned which = next(s);
    const cz_fact_schema *fact = &cz_fact_schemas[kind];
    const int n = s->base->n_facts[kind];
    if (n == 0)
        return;
    const int i = (int)(which % (unsigned)n);
    char *value = cz_arena_alloc(s->arena, 1, fact->size);
    memcpy(value, s->base->facts[kind] + (size_t)i * fact->size, fact->size);
    const cz_field *field = &fact->fields[next(s) % (unsigned)fact->n_fields];
    change_field(s, field, value + field->offset);
    replace(ir, kind, i, value);
}

/* ---- an execution ---- */

static void emit(const cz_plan_view *view)
{
    cz_text c, cuda;
    cz_text_init(&c);
    cz_text_init(&cuda);
    cz_emit_c(view, "0", &c);
    cz_emit_header(view, true, &c);
    cz_emit_cuda(view, &cuda, &c);
    cz_text_fini(&c);
    cz_text_fini(&cuda);
}

/* As the driver has it: the form first, then what is not planned yet. */
static bool plan(cz_ir *ir, cz_arena *arena, cz_diags *diags)
{
    const bool is_assigned = cz_ir_count(ir, CZ_FACT_bucket) > 0;
    const bool is_scheduled = cz_ir_count(ir, CZ_FACT_op) > 0;
    if (!cz_ir_verify(ir) || !cz_plan_view_build(arena, ir, diags) ||
        (!is_assigned && !cz_passes_assign(ir, diags)) ||
        (!is_scheduled && !cz_passes_schedule(ir, diags)))
        return false;
    const cz_plan_view *view = cz_plan_view_build(arena, ir, diags);
    if (!view || !cz_verify(view, diags))
        return false;
    emit(view);
    return true;
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t n)
{
    cz_arena arena;
    cz_diags diags;
    if (n == 0 || n > MAX_BYTES)
        return 0;
    base *b = find_base(data[0]);
    cz_arena_init(&arena);
    cz_diags_init(&diags, &arena);
    script s = {data, n, 1, &arena, b};
    const MlirModule kept = b->ir->module;
    b->ir->module = mlirModuleFromOperation(
        mlirOperationClone(mlirModuleGetOperation(kept)));
    cz_ir_set_diags(b->ir, &diags);
    while (s.at < s.n)
        change(&s, b->ir);
    const bool is_good = plan(b->ir, &arena, &diags);
    fuzz_demand(is_good == (diags.n_errors == 0),
                "rejected without a word, or accepted with one", &diags);
    mlirModuleDestroy(b->ir->module);
    b->ir->module = kept;
    cz_ir_set_diags(b->ir, &b->diags);
    cz_arena_fini(&arena);
    return 0;
}
