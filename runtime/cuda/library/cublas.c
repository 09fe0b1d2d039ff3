/* cuBLASLt by dlopen, its prototypes declared here.  It counts columns first,
 * so it is reported of c' = op(b)' op(a)'. */
#include "runtime/cuda/library/cublas.h"

#include "runtime/cuda/library/cublas_internal.h"
#include "runtime/cuda/library/dynamic.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

struct czr_cublas {
    void *library, *handle;
#define CZR_CUBLAS_CALL(symbol, name, result, arguments)                       \
    result(*name) arguments;
#include "runtime/cuda/library/cublas_calls.def"
#undef CZR_CUBLAS_CALL
};

struct czr_cublas_plan {
    czr_cublas *cublas;
    void *desc, *a, *b, *c;
    czr_cublas_choice chosen;
};

/* ---- the library -------------------------------------------------------- */

static const czr_dynamic_symbol functions[] = {
#define CZR_CUBLAS_CALL(symbol, name, result, arguments)                       \
    {#symbol, offsetof(czr_cublas, name)},
#include "runtime/cuda/library/cublas_calls.def"
#undef CZR_CUBLAS_CALL
};

static const char *const libraries[] = {"libcublasLt.so.13",
                                        "libcublasLt.so.12"};

static bool is_usable(czr_cublas *c, char message[CZR_CUBLAS_MESSAGE])
{
    const char *missing;
    int code;

    if (!c->library)
        snprintf(message, CZR_CUBLAS_MESSAGE, "cuBLASLt is missing");
    else if ((missing = czr_dynamic_find(c->library, functions,
                                         CZR_N_SYMBOLS(functions), c)))
        snprintf(message, CZR_CUBLAS_MESSAGE, "cuBLASLt has no %s", missing);
    else if (c->version() < CZR_CUBLAS_VERSION)
        snprintf(message, CZR_CUBLAS_MESSAGE,
                 "cuBLASLt is of version %zu, and %d is needed", c->version(),
                 CZR_CUBLAS_VERSION);
    else if ((code = c->create(&c->handle)) != 0)
        snprintf(message, CZR_CUBLAS_MESSAGE, "cuBLASLt does not start (%d)",
                 code);
    else
        return true;
    return false;
}

czr_status czr_cublas_open(const char *path, czr_cublas **out,
                           char message[CZR_CUBLAS_MESSAGE])
{
    czr_cublas *c = calloc(1, sizeof *c);

    *out = NULL;
    snprintf(message, CZR_CUBLAS_MESSAGE, "no memory");
    if (!c)
        return CZR_ERR_NO_MEMORY;
    c->library = czr_dynamic_open(path, libraries, CZR_N_SYMBOLS(libraries));
    if (!is_usable(c, message)) {
        c->handle = NULL;
        czr_cublas_close(c);
        return CZR_ERR_NO_LIBRARY;
    }
    message[0] = '\0';
    *out = c;
    return CZR_OK;
}

void czr_cublas_close(czr_cublas *cublas)
{
    if (!cublas)
        return;
    if (cublas->handle)
        cublas->destroy(cublas->handle);
    if (cublas->library)
        dlclose(cublas->library);
    free(cublas);
}

/* ---- plans -------------------------------------------------------------- */

/* What lies as `rows` rows of `columns` numbers. */
static bool lay_out(const czr_cublas *c, void **layout, int type, size_t rows,
                    size_t columns)
{
    return c->layout_create(layout, type, columns, rows, (int64_t)columns) == 0;
}

static int type_of(czr_dtype dtype)
{
    return dtype == CZR_BF16  ? CZR_CUBLAS_16BF
           : dtype == CZR_F16 ? CZR_CUBLAS_16F
                              : CZR_CUBLAS_32F;
}

/* a of ours is the library's b. */
static bool describe(czr_cublas_plan *plan, const czr_product *p,
                     czr_dtype result)
{
    const czr_cublas *c = plan->cublas;
    const int type = type_of(p->a_dtype);
    const int of_a = p->transpose_b ? CZR_CUBLAS_OP_T : CZR_CUBLAS_OP_N;
    const int of_b = p->transpose_a ? CZR_CUBLAS_OP_T : CZR_CUBLAS_OP_N;

    return c->desc_create(&plan->desc, CZR_CUBLAS_COMPUTE_32F,
                          CZR_CUBLAS_32F) == 0 &&
           c->desc_set(plan->desc, CZR_CUBLAS_DESC_TRANSPOSE_A, &of_a,
                       sizeof of_a) == 0 &&
           c->desc_set(plan->desc, CZR_CUBLAS_DESC_TRANSPOSE_B, &of_b,
                       sizeof of_b) == 0 &&
           lay_out(c, &plan->a, type, p->transpose_b ? p->n : p->k,
                   p->transpose_b ? p->k : p->n) &&
           lay_out(c, &plan->b, type, p->transpose_a ? p->k : p->m,
                   p->transpose_a ? p->m : p->k) &&
           lay_out(c, &plan->c, type_of(result), p->m, p->n);
}

static bool prefer(const czr_cublas *c, void *preference, size_t workspace)
{
    const uint32_t alignment = CZR_CUBLAS_ALIGNMENT;
    const uint32_t reductions = CZR_CUBLAS_REDUCE_SUMS;
    const uint64_t bytes = workspace;
    bool is_set = c->preference_set(preference, CZR_CUBLAS_PREFER_WORKSPACE,
                                    &bytes, sizeof bytes) == 0 &&
                  c->preference_set(preference, CZR_CUBLAS_PREFER_REDUCTIONS,
                                    &reductions, sizeof reductions) == 0;

    for (int which = CZR_CUBLAS_PREFER_ALIGNMENT_A;
         which <= CZR_CUBLAS_PREFER_ALIGNMENT_D; which++)
        is_set &= c->preference_set(preference, which, &alignment,
                                    sizeof alignment) == 0;
    return is_set;
}

static bool choose(czr_cublas_plan *plan, size_t workspace)
{
    const czr_cublas *c = plan->cublas;
    void *preference = NULL;
    int n = 0;

    if (c->preference_create(&preference) != 0)
        return false;
    const bool is_chosen =
        prefer(c, preference, workspace) &&
        c->choose(c->handle, plan->desc, plan->a, plan->b, plan->c, plan->c,
                  preference, 1, &plan->chosen, &n) == 0 &&
        n == 1 && plan->chosen.state == 0 &&
        plan->chosen.workspace <= workspace;
    c->preference_destroy(preference);
    return is_chosen;
}

czr_status czr_cublas_plan_open(czr_cublas *cublas, const czr_product *product,
                                czr_dtype result, size_t workspace,
                                czr_cublas_plan **out,
                                char message[CZR_CUBLAS_MESSAGE])
{
    czr_cublas_plan *plan = calloc(1, sizeof *plan);

    *out = NULL;
    snprintf(message, CZR_CUBLAS_MESSAGE, "no memory");
    if (!plan)
        return CZR_ERR_NO_MEMORY;
    plan->cublas = cublas;
    if (!describe(plan, product, result) || !choose(plan, workspace)) {
        snprintf(message, CZR_CUBLAS_MESSAGE,
                 "cuBLASLt has nothing for [%zu, %zu] x [%zu, %zu]", product->m,
                 product->k, product->k, product->n);
        czr_cublas_plan_close(plan);
        return CZR_ERR_UNSUPPORTED;
    }
    message[0] = '\0';
    *out = plan;
    return CZR_OK;
}

void czr_cublas_plan_close(czr_cublas_plan *plan)
{
    if (!plan)
        return;
    if (plan->desc)
        plan->cublas->desc_destroy(plan->desc);
    void *const layouts[] = {plan->a, plan->b, plan->c};
    for (int i = 0; i < 3; i++)
        if (layouts[i])
            plan->cublas->layout_destroy(layouts[i]);
    free(plan);
}

size_t czr_cublas_plan_workspace(const czr_cublas_plan *plan)
{
    return plan->chosen.workspace;
}

bool czr_cublas_put(const czr_cublas_plan *plan, const czr_cublas_operands *of,
                    void *workspace, void *stream)
{
    const czr_cublas *cublas = plan->cublas;
    const float beta = of->c ? of->beta : 0;

    return cublas->multiply(cublas->handle, plan->desc, &of->alpha, of->b,
                            plan->a, of->a, plan->b, &beta,
                            of->c ? of->c : of->d, plan->c, of->d, plan->c,
                            plan->chosen.algorithm, workspace,
                            plan->chosen.workspace, stream) == 0;
}
