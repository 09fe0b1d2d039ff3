#include "runtime/cuda/driver/profile.h"

#ifdef CZR_HAS_NVTX

#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <stddef.h>

static nvtxDomainHandle_t domain; /* NULL: nobody listens */

/* The first call of NVTX loads the tool that NVTX_INJECTION64_PATH names. */
static void open_domain(void)
{
    domain = nvtxDomainCreateA("canzona");
}

bool czr_profile_is_open(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, open_domain);
    return domain != NULL;
}

void czr_profile_begin(const char *name, int64_t op)
{
    const nvtxEventAttributes_t attributes = {
        .version = NVTX_VERSION,
        .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
        .payloadType = NVTX_PAYLOAD_TYPE_INT64,
        .payload = {.llValue = op},
        .messageType = NVTX_MESSAGE_TYPE_ASCII,
        .message = {.ascii = name}};

    if (czr_profile_is_open())
        nvtxDomainRangePushEx(domain, &attributes);
}

void czr_profile_end(void)
{
    if (czr_profile_is_open())
        nvtxDomainRangePop(domain);
}

#else

bool czr_profile_is_open(void)
{
    return false;
}

void czr_profile_begin(const char *name, int64_t op)
{
    (void)name, (void)op;
}

void czr_profile_end(void)
{
}

#endif
