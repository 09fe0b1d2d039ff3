/* What the emitters share.  Private to codegen/. */
#ifndef CZ_CODEGEN_COMMON_INTERNAL_H
#define CZ_CODEGEN_COMMON_INTERNAL_H

#include "dsl/base/text.h"
#include "dsl/plan/plan.h"

struct cz_loop;

/* The generated file under way. */
typedef struct cz_emitter {
    const cz_plan_view *view;
    cz_arena *arena;
    cz_text *out;
    /* texts of the loop functions emitted so far, behind their names: equal
     * text is emitted once */
    const char **loops;
    int n_loops;
    const char **stages; /* their names, once one is asked for */
    bool is_cuda;        /* functions of scalars are the device's */
    /* Called for each loop function that a stage calls, in order; may be NULL.
     */
    void (*on_loop)(struct cz_emitter *emitter, const struct cz_loop *loop,
                    int number, bool is_new, bool is_epilogue);
    void *user;
} cz_emitter;

/* The shortest decimal literal that reads back as the same value. */
void cz_emit_f32(cz_text *out, float value);
void cz_emit_f64(cz_text *out, double value);
/* A C string literal; everything but plain ASCII is escaped. */
void cz_emit_string(cz_text *out, const char *string);
/* NAME for enums and macros: upper case, '_' for what is no identifier. */
void cz_emit_upper(cz_text *out, const char *name);

/* `static inline` function body_<number>, see codegen/c/body.c. */
void cz_emit_body(cz_emitter *emitter, int number);
/* The function behind the operation HASH, where a body has it. */
void cz_emit_hash(cz_emitter *emitter);
/* Bodies that are prologues are printed as such, not as inline functions. */
bool cz_is_prologue(const cz_plan_view *view, int body);
/* The function prologue_<rule>. */
void cz_emit_prologue(cz_emitter *emitter, int rule);
/* Calls of all of them, with arguments of these texts. */
void cz_emit_prologue_calls(cz_emitter *emitter, const char *t,
                            const char *clip);
/* Type of a value in C. */
const char *cz_c_type(cz_dtype dtype);

/* Which input pointer of a step is also written as an output; -1: none. */
typedef struct cz_loop {
    const cz_view_step *step;
    const cz_dtype *in_dtype; /* [n_in] */
    const int *in_place;      /* [n_out]: number of the operand, or -1 */
    bool flat;                /* one index instead of row and column */
    bool in_lanes;            /* while printed: one loop deeper */
    int checked; /* the output that must be finite, else -1: the loop then says
                  * so in the call's status */
} cz_loop;

/* True if all accesses go by one flat index. */
bool cz_loop_is_flat(const cz_view_step *step);
/* The same, blocks apart. */
bool cz_loop_runs_through(const cz_view_step *step);
/* Blocks that the sums of a map are made in, of rows or of columns. */
int cz_loop_n_blocks(const cz_view_step *step);
/* "[i * columns + j]" and the like; "" for what is no array. */
const char *cz_loop_index(cz_access access, bool flat);
/* The output that overwrites operand `in`, or -1. */
int cz_loop_written_by(const cz_loop *loop, int in);
/* Whether result i is a reduction that lies like such an operand. */
bool cz_loop_reduces_to(const cz_loop *loop, int i, cz_access reach);
/* The result of a step that goes to the slot that a trainer reads, or -1. */
int cz_loop_checked_result(const cz_view_stage *stage, const cz_view_step *step,
                           int first_result);
/* Emit the loop function of a map once; returns its number. */
int cz_emit_map_loop(cz_emitter *emitter, const cz_loop *loop);
/* Emit the loop that ends a product in a body; returns its number. */
int cz_emit_epilogue_loop(cz_emitter *emitter, const cz_loop *loop);

/* The kernels of a loop with that number, in CUDA; of an epilogue, operands a
 * and b are `acc`. */
void cz_emit_cuda_loop(cz_text *out, const cz_loop *loop, int number,
                       bool is_epilogue);
/* Rows of a table that tell a launcher about them: parameters into one text,
 * kernels into another; returns how many kernels there are. */
int cz_emit_cuda_rows(cz_text *arguments, cz_text *kernels, const cz_loop *loop,
                      int number, bool is_epilogue);

/* The functions of a stage, one per body, behind the loops that they are the
 * first to call. */
void cz_emit_stage(cz_emitter *emitter, int number);
/* The same as tables of steps, into `out`; loops go where they do in C. */
void cz_emit_stage_table(cz_emitter *emitter, int number, cz_text *out);
/* As cz_stage_symbol has it, and "_phase1" behind it for a body of its own. */
const char *cz_stage_name(cz_emitter *emitter, int number, int variant);
/* What the stages of rules with phases choose by; nothing without any. */
void cz_emit_variants(cz_emitter *emitter);
/* bodies_<number>: a stage's functions of this type in every phase, if it has
 * any. */
void cz_emit_stage_bodies(cz_emitter *emitter, int number, const char *type);
bool cz_has_variants(const cz_plan_view *view);
/* Bit a for axis number a. */
uint32_t cz_axis_mask(const cz_ints *axes);
/* An array NAME_NUMBER of n integers; of a zero where n is 0. */
void cz_emit_int_array(cz_text *out, const char *type, const char *name,
                       int number, const int64_t *values, int n);

/* Coordinates of a table whose entries are equal, and the batches of these,
 * have one list. */
typedef struct cz_entry_lists {
    int n;
    int64_t *of;     /* [n_coordinates] the list of each */
    int64_t *starts; /* [n + 1] where each begins among the entries of all */
    int64_t *first;  /* [n] the first coordinate that has it */
} cz_entry_lists;

cz_entry_lists cz_entry_lists_of(cz_arena *arena, const cz_view_table *table);

void cz_emit_tables(cz_emitter *emitter);
void cz_emit_params(cz_emitter *emitter); /* of them, and where they lie */
void cz_emit_program(cz_emitter *emitter, const char *plan_hash);

#endif
