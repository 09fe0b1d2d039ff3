/* Names and sentences of statuses, and sizes of types. */
#include "runtime/czr.h"

static const char *const names[] = {
#define CZR_STATUS(name, text) "CZR_" #name,
    CZR_STATUSES(CZR_STATUS)
#undef CZR_STATUS
};

static const char *const texts[] = {
#define CZR_STATUS(name, text) text,
    CZR_STATUSES(CZR_STATUS)
#undef CZR_STATUS
};

static int is_status(czr_status status)
{
    return (unsigned)status < CZR_N_STATUSES;
}

const char *czr_status_name(czr_status status)
{
    return is_status(status) ? names[status] : "CZR_UNKNOWN";
}

const char *czr_status_text(czr_status status)
{
    return is_status(status) ? texts[status] : "no such status";
}

size_t czr_dtype_bytes(czr_dtype dtype)
{
    static const size_t bytes[] = {
#define ABI_DTYPE(tag, name, bytes, c_type) [CZR_##tag] = bytes,
#include "runtime/abi.def"
    };

    return (unsigned)dtype < CZR_N_DTYPES ? bytes[dtype] : 0;
}
