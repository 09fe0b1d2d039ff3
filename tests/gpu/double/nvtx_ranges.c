/* A tool of NVTX, as its manual says that one is injected: a line of
 * RANGES_FILE for each range of the domain "canzona", two blanks deeper inside
 * another. */
#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static FILE *file;
static int depth, ours;

static nvtxDomainHandle_t NVTX_API create(const char *name)
{
    static int other;

    return (nvtxDomainHandle_t)(void *)(strcmp(name, "canzona") ? &other
                                                                : &ours);
}

static int NVTX_API push(nvtxDomainHandle_t domain,
                         const nvtxEventAttributes_t *attributes)
{
    if ((void *)domain == &ours)
        fprintf(file, "%*s%s #%lld\n", 2 * depth++, "",
                attributes->message.ascii,
                (long long)attributes->payload.llValue);
    return depth;
}

static int NVTX_API pop(nvtxDomainHandle_t domain)
{
    if ((void *)domain == &ours && --depth < 0)
        fputs("a range ends that has not begun\n", file);
    return depth;
}

static void finish(void)
{
    fprintf(file, "%d are open\n", depth);
    fclose(file);
}

static nvtxDomainHandle_t(NVTX_API *const create_function)(const char *) =
    create;
static int(NVTX_API *const push_function)(nvtxDomainHandle_t,
                                          const nvtxEventAttributes_t *) = push;
static int(NVTX_API *const pop_function)(nvtxDomainHandle_t) = pop;

/* What the protocol calls. */
int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table);
int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table)
{
    const char *path = getenv("RANGES_FILE");
    const NvtxExportTableCallbacks *callbacks = get_table(NVTX_ETID_CALLBACKS);
    NvtxFunctionTable table;
    unsigned n = 0;

    if (!path || !callbacks ||
        !callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &n) ||
        n <= NVTX_CBID_CORE2_DomainCreateA || !(file = fopen(path, "w")))
        return 0;
    atexit(finish);
    memcpy(table[NVTX_CBID_CORE2_DomainCreateA], &create_function,
           sizeof create_function);
    memcpy(table[NVTX_CBID_CORE2_DomainRangePushEx], &push_function,
           sizeof push_function);
    memcpy(table[NVTX_CBID_CORE2_DomainRangePop], &pop_function,
           sizeof pop_function);
    return 1;
}
