/* Machine code of products' kernels, which does not depend on sizes. */
#include "bench/gpu/gpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct gpu_codes {
    gpu_codes *next;
    char header[CZR_CUDA_PRODUCT_HEADER]; /* says also what kernel it is */
    czr_nvrtc_code code;
};

gpu_codes *gpu_codes_open(void)
{
    return calloc(1, sizeof(gpu_codes));
}

/* The first stays, and is of no kernel. */
static gpu_codes *add(gpu_codes *first)
{
    gpu_codes *added = calloc(1, sizeof *added);

    if (added) {
        added->next = first->next;
        first->next = added;
    }
    return added;
}

const czr_nvrtc_code *gpu_codes_find(const gpu_machine *machine,
                                     const czr_cuda_product_plan *plan)
{
    gpu_codes *first = machine->codes, *found = first->next;

    while (found && strcmp(found->header, plan->header) != 0)
        found = found->next;
    if (found)
        return found->code.bytes ? &found->code : NULL;
    if (!(found = add(first)))
        return NULL;
    snprintf(found->header, sizeof found->header, "%s", plan->header);
    if (czr_product_kernel_compile(machine->context, NULL, machine->nvrtc, plan,
                                   &found->code) == CZR_NVRTC_OK)
        return &found->code;
    fprintf(stderr, "%s: %s\n", plan->kernel,
            found->code.log ? found->code.log : "");
    czr_nvrtc_code_fini(&found->code);
    return NULL;
}

void gpu_codes_close(gpu_codes *codes)
{
    while (codes) {
        gpu_codes *next = codes->next;
        czr_nvrtc_code_fini(&codes->code);
        free(codes);
        codes = next;
    }
}
