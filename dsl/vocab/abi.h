/* What compiler and runtime share (runtime/abi.def), as the compiler has it:
 * kinds, and entries of tables.  SCHEDULE.md and IR.md say what they mean;
 * words.h has their words. */
#ifndef CZ_DSL_VOCAB_ABI_H
#define CZ_DSL_VOCAB_ABI_H

#include "dsl/vocab/range.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum cz_step_kind {
#define ABI_OP(tag, ...) CZ_STEP_##tag,
#include "runtime/abi.def"
    CZ_N_STEPS
} cz_step_kind;

typedef enum cz_section {
#define ABI_SECTION(tag, name) CZ_SECTION_##tag,
#include "runtime/abi.def"
    CZ_N_SECTIONS
} cz_section;

typedef enum cz_slot_kind {
#define ABI_SLOT(tag, name, index) CZ_SLOT_##tag,
#include "runtime/abi.def"
    CZ_N_SLOTS
} cz_slot_kind;

/* What ranks that share a matrix do with a value of it. */
typedef enum cz_exchange {
#define ABI_EXCHANGE(tag, name) CZ_EXCHANGE_##tag,
#include "runtime/abi.def"
    CZ_N_EXCHANGES
} cz_exchange;

/* What the entries of a table are. */
typedef enum cz_entry_kind {
#define ABI_ENTRY(tag, name) CZ_ENTRY_##tag,
#include "runtime/abi.def"
    CZ_N_ENTRY_KINDS
} cz_entry_kind;
enum { CZ_ENTRY_NONE = -1 }; /* of operations without a table */

/* cz_view_kernel_entry and so on: an entry of each kind, of int64_t alone. */
#define ABI_ENTRY(tag, name) typedef struct cz_view_##name##_entry {
#define ABI_COLUMN(entry, column, type, place, range) int64_t column;
#define ABI_ENTRY_END(name)                                                    \
    }                                                                          \
    cz_view_##name##_entry;
#include "runtime/abi.def"

/* The entries of a table: the member of its kind counts. */
typedef union cz_view_rows {
    const int64_t *numbers; /* n_columns of the kind to an entry */
#define ABI_ENTRY(tag, name) const cz_view_##name##_entry *name;
#include "runtime/abi.def"
} cz_view_rows;

/* One entry of any kind. */
typedef union cz_entry {
#define ABI_ENTRY(tag, name) cz_view_##name##_entry name;
#include "runtime/abi.def"
} cz_entry;

typedef struct cz_column {
    const char *name;
    int place; /* among the numbers of an entry in the IR */
    cz_range range;
} cz_column;

/* A kind of entries; columns stand in the order of the struct. */
typedef struct cz_entry_schema {
    const char *name; /* "kernel" */
    int n_columns;
    const cz_column *columns;
} cz_entry_schema;

extern const cz_entry_schema cz_entry_schemas[CZ_N_ENTRY_KINDS];

/* An entry from its numbers in the IR, and to them: n_columns of its kind. */
void cz_entry_read(cz_entry_kind kind, const int64_t *numbers, void *entry);
void cz_entry_write(cz_entry_kind kind, const void *entry, int64_t *numbers);

/* What an operation of each kind has. */
typedef struct cz_step_schema {
    int entries; /* of its table: cz_entry_kind, or CZ_ENTRY_NONE */
    bool has_bucket;
} cz_step_schema;

extern const cz_step_schema cz_step_schemas[CZ_N_STEPS];

/* Whether there may be several slots of the kind: "state:0". */
bool cz_slot_has_index(cz_slot_kind kind);

#endif
