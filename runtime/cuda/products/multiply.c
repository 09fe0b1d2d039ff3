/* Products as launches.  Knows shapes by what they are, not by where operands
 * lie. */
#include "runtime/cuda/products/internal.h"

#include "runtime/cuda/products/plain.h"
#include "runtime/cuda/driver/target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static czr_status no_memory(const czr_cuda_stages *stages)
{
    return czr_context_check(stages->context, CZR_CUDA_OUT_OF_MEMORY,
                             "what products of %s are computed by",
                             stages->program->program->name);
}

/* ---- machine code ------------------------------------------------------- */

/* `header` and the body; the caller's to free. */
static char *make_text(czr_source_body body, const char *header)
{
    const char *watch = czr_source_watchdog();
    const size_t n = strlen(watch) + strlen(header) + 1;
    char *watched = malloc(n);

    if (!watched)
        return NULL;
    snprintf(watched, n, "%s%s", watch, header);
    char *text = czr_source_make(body, watched, "");
    free(watched);
    return text;
}

static czr_status compile(const czr_cuda_stages *stages, czr_source_body body,
                          const char *name, const char *header,
                          czr_nvrtc_code *code)
{
    const char *const options[] = {czr_target_arch(stages->context),
                                   "-fmad=false", "-default-device"};
    char *text = make_text(body, header);
    const czr_cache_source source = {.name = name,
                                     .text = text,
                                     .options = options,
                                     .n_options =
                                         sizeof options / sizeof *options};

    *code = (czr_nvrtc_code){0};
    if (!text)
        return no_memory(stages);
    const czr_nvrtc_status status =
        czr_cache_compile(stages->cache, stages->nvrtc, &source, code, NULL);
    const char *log = code->log ? code->log : "";
    free(text);
    if (status == CZR_NVRTC_NO_MEMORY)
        return no_memory(stages);
    return status == CZR_NVRTC_OK
               ? CZR_OK
               : czr_context_check(stages->context, CZR_CUDA_INVALID_PTX,
                                   "compiling %s: %.*s", name,
                                   (int)strcspn(log, "\n"), log);
}

czr_status czr_cuda_products_load(czr_cuda_stages *stages, czr_source_body body,
                                  const char *name, const char *header,
                                  czr_module **out)
{
    czr_cuda_products *products = stages->products;
    czr_cuda_loaded *loaded = products->loaded;
    czr_nvrtc_code code;

    *out = NULL;
    while (loaded && strcmp(loaded->name, name) != 0)
        loaded = loaded->next;
    if (loaded) {
        *out = &loaded->module;
        return CZR_OK;
    }
    loaded = calloc(1, sizeof *loaded);
    if (!loaded)
        return no_memory(stages);
    loaded->next = products->loaded;
    snprintf(loaded->name, sizeof loaded->name, "%s", name);
    products->loaded = loaded;
    *out = &loaded->module;
    czr_status status = compile(stages, body, name, header, &code);
    if (status == CZR_OK)
        status =
            czr_module_open(stages->context, code.bytes, name, &loaded->module);
    czr_nvrtc_code_fini(&code);
    return status;
}

/* ---- what is known ------------------------------------------------------ */

czr_status czr_cuda_products_make(czr_cuda_stages *stages)
{
    czr_cuda_products *products = stages->products;

    if (products)
        return CZR_OK;
    products = calloc(1, sizeof *products);
    if (!products)
        return no_memory(stages);
    products->end = &products->known;
    products->factored_end = &products->factored;
    stages->products = products;
    return CZR_OK;
}

bool czr_cuda_product_is_alike(const czr_product *a, const czr_product *b)
{
    return a->m == b->m && a->n == b->n && a->k == b->k &&
           a->a_dtype == b->a_dtype && a->b_dtype == b->b_dtype &&
           !a->transpose_a == !b->transpose_a &&
           !a->transpose_b == !b->transpose_b &&
           !a->symmetric == !b->symmetric && a->blocks == b->blocks &&
           !a->narrow == !b->narrow && a->out_dtype == b->out_dtype &&
           (a->beta != 0) == (b->beta != 0) &&
           (a->beta == 0 || a->addend_dtype == b->addend_dtype);
}

/* What computes so many at once, or up to the fewest that are more; not one
 * with others. */
static czr_cuda_known *find(const czr_cuda_products *products,
                            const czr_product *product, int64_t batch)
{
    czr_cuda_known *known = products ? products->known : NULL, *found = NULL;

    for (; known; known = known->next)
        if (known->batch >= batch && (known->batch == 1) == (batch == 1) &&
            (!found || known->batch < found->batch) &&
            czr_cuda_product_is_alike(&known->shape, product))
            found = known;
    return found;
}

static czr_cuda_known *add(czr_cuda_products *products,
                           const czr_product *product, int64_t batch)
{
    /* Maps of tensors want more than malloc's alignment. */
    czr_cuda_known *known =
        aligned_alloc(_Alignof(czr_cuda_known), sizeof *known);

    if (!known)
        return NULL;
    *known = (czr_cuda_known){.shape = *product, .batch = batch};
    *products->end = known;
    products->end = &known->next;
    return known;
}

/* ---- any product -------------------------------------------------------- */

static const char *plain_name(const czr_product *p)
{
    return p->blocks > 1 ? "product_parts" : "product_plain";
}

czr_status czr_cuda_plain_module(czr_cuda_stages *stages,
                                 const czr_product *product, czr_module **out)
{
    return czr_cuda_products_load(
        stages, CZR_SOURCE_PRODUCT_PLAIN, plain_name(product),
        product->blocks > 1
            ? "#define KERNEL product_parts\n#define LEVELS 3\n"
            : "#define KERNEL product_plain\n#define LEVELS 0\n",
        out);
}

static czr_status load_plain(czr_cuda_stages *stages, czr_cuda_known *known)
{
    czr_module *module;

    const czr_status status =
        czr_cuda_plain_module(stages, &known->shape, &module);
    return status == CZR_OK ? czr_module_find(module, plain_name(&known->shape),
                                              0, &known->plain)
                            : status;
}

static czr_status put_plain(const czr_cuda_call *call,
                            const czr_cuda_known *known,
                            const czr_product *product)
{
    czr_plain_product arguments = czr_plain_product_of(product);
    const int32_t *skip = call->skip;
    void *pointers[] = {&arguments, &skip};
    const czr_launch launch = {.grid = {czr_plain_blocks(product), 1, 1},
                               .block = {CZR_PLAIN_THREADS, 1, 1}};

    return czr_module_launch(call->stages->context, known->plain, &launch,
                             pointers, call->stream);
}

/* ---- while stages are opened -------------------------------------------- */

/* Tensor cores, by the library or by us. */
static czr_status prepare_fast(czr_cuda_stages *stages, czr_cuda_known *known)
{
    const czr_status status = czr_cuda_library_choose(stages, known);

    return status == CZR_OK && !known->library
               ? czr_cuda_tensor_prepare(stages, known)
               : status;
}

static czr_status prepare_one(czr_cuda_stages *stages, const czr_product *shape)
{
    const size_t before = stages->workspace_bytes;

    if (find(stages->products, shape, 1))
        return CZR_OK;
    czr_cuda_known *known = add(stages->products, shape, 1);
    if (!known)
        return no_memory(stages);
    stages->workspace_bytes = 0;
    czr_status status = load_plain(stages, known);
    if (status == CZR_OK)
        status = prepare_fast(stages, known);
    if (status == CZR_OK)
        status = czr_cuda_library_prepare(stages, known);
    known->workspace_bytes = stages->workspace_bytes;
    czr_cuda_stages_need(stages, before);
    return status;
}

/* By tensor cores; others are computed one by one. */
static czr_status prepare_batch(czr_cuda_stages *stages,
                                const czr_product *shape, int64_t batch)
{
    const czr_cuda_known *found = find(stages->products, shape, batch);

    if (batch < 2 || (found && found->batch == batch))
        return CZR_OK;
    czr_cuda_known *known = add(stages->products, shape, batch);
    return known ? prepare_fast(stages, known) : no_memory(stages);
}

czr_status czr_cuda_product_prepare(czr_cuda_stages *stages,
                                    const czr_product *shape, int64_t batch,
                                    size_t *workspace_bytes)
{
    czr_status status = czr_cuda_products_make(stages);

    if (workspace_bytes)
        *workspace_bytes = 0;
    if (!shape->m || !shape->n || status != CZR_OK)
        return status;
    status = prepare_one(stages, shape);
    if (status == CZR_OK && workspace_bytes)
        *workspace_bytes = find(stages->products, shape, 1)->workspace_bytes;
    return status == CZR_OK ? prepare_batch(stages, shape, batch) : status;
}

/* ---- in a step ---------------------------------------------------------- */

czr_status czr_cuda_multiply(const czr_cuda_call *call,
                             const czr_product *product)
{
    const czr_cuda_batched one = {.n = 1};
    czr_status status;

    if (!product->m || !product->n)
        return CZR_OK;
    czr_cuda_known *known = find(call->stages->products, product, 1);
    if (!known)
        return czr_context_check(call->stages->context, CZR_CUDA_NOT_FOUND,
                                 "a product [%zu, %zu] x [%zu, %zu] that no "
                                 "stage had when they were opened",
                                 product->m, product->k, product->k,
                                 product->n);
    return czr_cuda_tensor_put(call, known, product, &one, &status) ||
                   czr_cuda_library_put(call, known, product, &one, &status)
               ? status
               : put_plain(call, known, product);
}

bool czr_cuda_multiply_batch(const czr_cuda_call *call,
                             const czr_product *product, size_t n,
                             const czr_cuda_apart *apart, czr_status *status)
{
    czr_cuda_known *known = find(call->stages->products, product, (int64_t)n);
    const czr_cuda_batched batched = {(int64_t)n, *apart};

    return known &&
           (czr_cuda_tensor_put(call, known, product, &batched, status) ||
            czr_cuda_library_put(call, known, product, &batched, status));
}

/* ---- the list ----------------------------------------------------------- */

static const char *dtype_name(czr_dtype dtype)
{
    return dtype == CZR_BF16 ? "bf16" : dtype == CZR_F16 ? "f16" : "f32";
}

static void describe(const czr_cuda_known *known, char line[CZR_CUDA_LINE])
{
    const czr_product *p = &known->shape;
    const char *tensor = known->library ? "cuBLASLt" : known->tensor.name;
    char batch[48] = "";

    if (known->batch > 1)
        snprintf(batch, sizeof batch, "up to %lld %s of ",
                 (long long)known->batch,
                 known->library ? "in turn" : "at once");
    snprintf(line, CZR_CUDA_LINE,
             "%s%s%s[%zu, %zu] x %s%s[%zu, %zu] to %s%s%s: %s%s%s", batch,
             dtype_name(p->a_dtype), p->transpose_a ? "'" : "", p->m, p->k,
             dtype_name(p->b_dtype), p->transpose_b ? "'" : "", p->k, p->n,
             dtype_name(p->out_dtype), p->beta != 0 ? ", added to" : "",
             p->symmetric ? ", symmetric" : "", tensor,
             *tensor ? ", where they lie at odd places " : "",
             known->batch > 1 ? "one by one" : plain_name(p));
}

void czr_cuda_products_describe(const czr_cuda_stages *stages,
                                void (*say)(void *user, const char *line),
                                void *user)
{
    const czr_cuda_products *products = stages->products;
    char line[CZR_CUDA_LINE];

    czr_target_describe(stages->context, line);
    if (*line)
        say(user, line);
    for (const czr_cuda_known *known = products ? products->known : NULL; known;
         known = known->next) {
        if (known->batch > 1 && !*known->tensor.name && !known->library)
            continue;
        describe(known, line);
        say(user, line);
    }
    for (const czr_cuda_factored *f = products ? products->factored : NULL; f;
         f = f->next) {
        czr_cuda_factored_describe(f, line);
        say(user, line);
    }
    if (products && *products->warning) {
        snprintf(line, sizeof line, "not by cuBLASLt: %s", products->warning);
        say(user, line);
    }
    if (products && *products->solver.warning) {
        snprintf(line, sizeof line, "not by cuSOLVER: %s",
                 products->solver.warning);
        say(user, line);
    }
}

bool czr_cuda_products_is_capturable(const czr_cuda_stages *stages)
{
    return !stages->products || !stages->products->factored;
}

/* ---- the end ------------------------------------------------------------ */

void czr_cuda_products_close(czr_cuda_stages *stages)
{
    czr_cuda_products *products = stages->products;

    if (!products)
        return;
    czr_cuda_factored_close(stages);
    czr_cuda_solver_close(stages);
    while (products->known) {
        czr_cuda_known *known = products->known;
        products->known = known->next;
        czr_cuda_tensor_close(known);
        czr_cublas_plan_close(known->library);
        free(known);
    }
    while (products->loaded) {
        czr_cuda_loaded *loaded = products->loaded;
        products->loaded = loaded->next;
        czr_module_close(&loaded->module);
        free(loaded);
    }
    czr_cublas_close(products->cublas);
    free(products);
    stages->products = NULL;
}
