/* czr.h is spelled out for its readers.  Here the compiler proves that it says
 * what runtime/abi.def does: names, order, types and sizes. */
#include "runtime/czr.h"

/* Kinds have the same numbers, and there are no others. */
enum {
#define ABI_DTYPE(tag, name, bytes, c_type) DTYPE_##tag,
#include "runtime/abi.def"
    N_DTYPES
};
enum {
#define ABI_SLOT(tag, name, index) SLOT_##tag,
#include "runtime/abi.def"
    N_SLOTS
};
enum {
#define ABI_EXCHANGE(tag, name) EXCHANGE_##tag,
#include "runtime/abi.def"
    N_EXCHANGES
};
enum {
#define ABI_ENTRY(tag, name) ROW_##tag,
#include "runtime/abi.def"
    N_ENTRIES
};
enum {
#define ABI_SECTION(tag, name) SECTION_##tag,
#include "runtime/abi.def"
    N_SECTIONS
};
enum {
#define ABI_OP(tag, ...) OP_##tag,
#include "runtime/abi.def"
    N_OPS
};

#define SAME(a, b) _Static_assert((int)(a) == (int)(b), "abi.def, czr.h: " #a);
#define ABI_DTYPE(tag, name, bytes, c_type)                                    \
    SAME(DTYPE_##tag, CZR_##tag) SAME(bytes, sizeof(c_type))
#define ABI_SLOT(tag, name, index) SAME(SLOT_##tag, CZR_SLOT_##tag)
#define ABI_EXCHANGE(tag, name) SAME(EXCHANGE_##tag, CZR_EXCHANGE_##tag)
#define ABI_SECTION(tag, name) SAME(SECTION_##tag, CZR_SECTION_##tag)
#define ABI_OP(tag, ...) SAME(OP_##tag, CZR_##tag)
#define ABI_ENTRY(tag, name) SAME(ROW_##tag, CZR_ENTRY_##tag)
#include "runtime/abi.def"
SAME(N_DTYPES, CZR_N_DTYPES)
SAME(N_SLOTS, CZR_SLOT_TEMP + 1)
SAME(N_EXCHANGES, CZR_N_EXCHANGES)
SAME(N_ENTRIES, CZR_ENTRY_EXCHANGE + 1)
SAME(N_SECTIONS, CZR_N_SECTIONS)
SAME(N_OPS, CZR_N_OP_KINDS)

/* The IR has the width of an element, generated C its type. */
#define width dtype

/* Entries have the same columns: at the same places, of the same sizes. */
#define ABI_ENTRY(tag, name) typedef struct name##_entry {
#define ABI_COLUMN(entry, column, type, place, range) type column;
#define ABI_ENTRY_END(name)                                                    \
    }                                                                          \
    name##_entry;
#include "runtime/abi.def"

#define ABI_ENTRY(tag, name)                                                   \
    SAME(sizeof(name##_entry), sizeof(czr_##name##_entry))
#define ABI_COLUMN(entry, column, type, place, range)                          \
    SAME(offsetof(entry##_entry, column),                                      \
         offsetof(czr_##entry##_entry, column))                                \
    SAME(sizeof(type), sizeof(((czr_##entry##_entry *)0)->column))
#include "runtime/abi.def"

/* And no others: the compiler warns of members without a value. */
#define ABI_ENTRY(tag, name)                                                   \
    static const czr_##name##_entry name##_full __attribute__((unused)) = {
#define ABI_COLUMN(entry, column, type, place, range) (type)0,
#define ABI_ENTRY_END(name)                                                    \
    }                                                                          \
    ;
#include "runtime/abi.def"
