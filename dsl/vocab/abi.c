/* runtime/abi.def as data. */
#include "dsl/vocab/abi.h"

#define ABI_ENTRY(tag, name) static const cz_column name##_columns[] = {
#define ABI_COLUMN(entry, column, type, place, range)                          \
    {#column, place, CZ_RANGE_##range},
#define ABI_ENTRY_END(name)                                                    \
    }                                                                          \
    ;
#include "runtime/abi.def"

/* Each column has a place of its own. */
#define ABI_ENTRY(tag, name) enum { name##_places = 0
#define ABI_COLUMN(entry, column, type, place, range) +(1 << place)
#define ABI_ENTRY_END(name)                                                    \
    }                                                                          \
    ;
#include "runtime/abi.def"
#define ABI_ENTRY(tag, name)                                                   \
    _Static_assert(name##_places + 1 ==                                        \
                       1 << sizeof name##_columns / sizeof *name##_columns,    \
                   "a place for each column");
#include "runtime/abi.def"

const cz_entry_schema cz_entry_schemas[CZ_N_ENTRY_KINDS] = {
#define ABI_ENTRY(tag, name)                                                   \
    {#name, (int)(sizeof name##_columns / sizeof *name##_columns),             \
     name##_columns},
#include "runtime/abi.def"
};

void cz_entry_read(cz_entry_kind kind, const int64_t *numbers, void *entry)
{
    const cz_entry_schema *schema = &cz_entry_schemas[kind];
    int64_t *columns = entry;

    for (int i = 0; i < schema->n_columns; i++)
        columns[i] = numbers[schema->columns[i].place];
}

void cz_entry_write(cz_entry_kind kind, const void *entry, int64_t *numbers)
{
    const cz_entry_schema *schema = &cz_entry_schemas[kind];
    const int64_t *columns = entry;

    for (int i = 0; i < schema->n_columns; i++)
        numbers[schema->columns[i].place] = columns[i];
}

const cz_step_schema cz_step_schemas[CZ_N_STEPS] = {
#define ABI_OP(tag, name, entry, bucket, what) {CZ_ENTRY_##entry, bucket},
#include "runtime/abi.def"
};

bool cz_slot_has_index(cz_slot_kind kind)
{
    static const bool has[CZ_N_SLOTS] = {
#define ABI_SLOT(tag, name, index) index,
#include "runtime/abi.def"
    };
    return has[kind];
}
