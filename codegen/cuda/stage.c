/* Stages that launch kernels: as in C, but that each call may fail. */
#include "codegen/common/stage.h"

#define IF_OK "    if (status == CZR_OK)\n        status = "

static void put_loop(cz_stage_printer *p, const cz_loop *loop, int number,
                     const char *acc, int first_result)
{
    const cz_view_step *step = loop->step;

    cz_text_printf(p->out, IF_OK "czr_cuda_loop(call, %d, ", number);
    if (cz_view_is_shaped(p->stage))
        cz_text_printf(p->out, "%lld, %lld", (long long)step->rows,
                       (long long)step->columns);
    else
        cz_text_puts(p->out, "1, call->count");
    cz_text_printf(p->out, ", (const void *const[]){\n            %s%s", acc,
                   *acc ? ", " : "");
    cz_stage_arguments(p, loop, first_result, "", ", ");
    cz_text_puts(p->out, "});\n");
}

const cz_dialect cz_dialect_cuda = {
    .call = "czr_cuda_call",
    .function = "static czr_status ",
    .begin = "    czr_status status = CZR_OK;\n\n",
    .address = "czr_cuda_",
    .product = IF_OK "czr_cuda_multiply(call, &(czr_product)",
    .factor = IF_OK "czr_cuda_factorise(call, &(czr_factor)",
    .factor_end = ");\n",
    .copy = IF_OK "czr_cuda_copy(call, ",
    .end = "    return status;\n}\n\n",
    .put_loop = put_loop,
};
