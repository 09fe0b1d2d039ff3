/* Bodies of products behind the text that a plan puts in front of them, for all
 * tiles that the compiler chooses among and for all forms: the plan's threads,
 * shared memory and registers are the body's.
 *
 * specialise_test text|code NVRTC...: `text` compiles to PTX, `code` to
 * machine code, where spills and registers show.  Exit status 77 without NVRTC.
 */
#include "passes/gpu/tile_model.h"
#include "runtime/cuda/products/kernel.h"
#include "tests/gpu/compile/compiling.h"
#include "tests/gpu/compile/cubin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_END = 512, N_FORMS = 16 };

typedef struct run {
    czr_nvrtc *nvrtc;
    bool is_code;
    int n_compiled;
    /* Of machine code for sm_90a: kernels, their logs with CUBIN_SERIAL, those
     * that spill, wgmma, and waits for them. */
    int n_sm90, n_serial, n_spilling, n_wgmma, n_waits;
} run;

static bool make_plan(int form, int architecture,
                      const czr_cuda_product_tiles *tiles,
                      czr_cuda_product_plan *plan)
{
    const czr_cuda_product_matrix m = {1 << 20, 512, 512 * 512};
    const czr_cuda_product_device device = {architecture, 132};
    char message[CZR_CUDA_PRODUCT_MESSAGE];
    czr_cuda_product p = {.m = 512, .n = 512, .k = 512, .batch = 2};

    p.is_symmetric = form & 1;
    p.is_m_major = form >> 1 & 1;
    p.is_n_major = form >> 2 & 1;
    p.is_f16 = form >> 3;
    p.x = p.y = p.c = m;
    p.c.address *= 2;
    return czr_cuda_product_plan_make(&p, &device, tiles, plan, message) ==
           CZR_CUDA_PRODUCT_OK;
}

/* The plan's text, the body, and what the host believes of it. */
static char *make_text(const czr_cuda_product_plan *p)
{
    char end[MAX_END];
    const int n = snprintf(end, sizeof end,
                           "\nstatic_assert(SHARED_BYTES == %d, \"shared\");\n",
                           p->shared_memory_bytes);

    if (p->is_sm90)
        snprintf(end + n, sizeof end - (size_t)n,
                 "static_assert(WARPGROUP * (CONSUMERS + 1) == %d, \"\");\n"
                 "static_assert(SPLIT.entry == %d && SPLIT.producer == %d &&\n"
                 "SPLIT.consumer == %d, \"registers\");\n",
                 p->n_threads, p->split.entry, p->split.producer,
                 p->split.consumer);
    else
        snprintf(end + n, sizeof end - (size_t)n,
                 "static_assert(THREADS == %d, \"threads\");\n", p->n_threads);
    return compiling_text(p->is_sm90 ? CZR_SOURCE_PRODUCT_SM90
                                     : CZR_SOURCE_PRODUCT_SM80,
                          p->header, end);
}

static void count(run *r, const cubin_kernel *k, const char *log)
{
    r->n_sm90++;
    r->n_serial += strstr(log, CUBIN_SERIAL) != NULL;
    r->n_spilling += !cubin_has_no_spills(k);
    r->n_wgmma += k->n_of[CUBIN_HGMMA];
    r->n_waits += k->n_waits;
}

static bool is_code_right(run *r, const czr_cuda_product_plan *p,
                          const czr_nvrtc_code *code)
{
    static cubin_kernel k;

    if (!cubin_read(code->bytes, code->n_bytes, &k))
        return false;
    if (!p->is_sm90)
        return cubin_has_no_spills(&k) && k.n_of[CUBIN_HMMA] > 0;
    count(r, &k, code->log);
    const int less = k.setmaxreg[0] > k.setmaxreg[1];
    return cubin_has_no_spills(&k) && !cubin_is_serial(&k, code->log) &&
           k.n_of[CUBIN_HGMMA] > 0 && k.n_of[CUBIN_USETMAXREG] == 2 &&
           k.registers == p->split.entry &&
           k.setmaxreg[less] == p->split.producer &&
           k.setmaxreg[!less] == p->split.consumer;
}

/* Bytes of the parameter that a line of PTX declares: an array's or those of
 * .u32 and .u64. */
static int bytes_of_parameter(const char *line)
{
    const char *bracket = strchr(line, '['), *end = strchr(line, '\n');
    int bits = 0;

    if (bracket && end && bracket < end)
        return atoi(bracket + 1);
    sscanf(line, " .param .%*c%d", &bits);
    return bits / 8;
}

/* The kernel's arguments are what the host launches it with. */
static bool are_arguments_right(const czr_cuda_product_plan *p,
                                const char *entry)
{
    const int *bytes = czr_product_kernel_bytes[p->is_sm90];

    for (int i = 0; i < CZR_PRODUCT_ARGUMENTS; i++) {
        entry = strchr(entry, '\n');
        if (!entry || bytes_of_parameter(++entry) != bytes[i])
            return false;
    }
    entry = strchr(entry, '\n');
    return entry && entry[1] == ')';
}

static bool is_text_right(const czr_cuda_product_plan *p,
                          const czr_nvrtc_code *code)
{
    char entry[CZR_CUDA_PRODUCT_NAME + 16];

    snprintf(entry, sizeof entry, ".entry %s(", p->kernel);
    const char *found = strstr((const char *)code->bytes, entry);
    return found && are_arguments_right(p, found);
}

static bool compile(run *r, const czr_cuda_product_plan *p)
{
    static const char *const archs[2][2] = {
        {"-arch=compute_80", "-arch=sm_80"},
        {"-arch=compute_90a", "-arch=sm_90a"}};
    const char *const options[] = {archs[p->is_sm90][r->is_code],
                                   "-default-device"};
    czr_nvrtc_code code;
    char *text = make_text(p);
    const bool is_right =
        czr_nvrtc_compile(r->nvrtc, text, options, 2, &code) == CZR_NVRTC_OK &&
        (r->is_code ? is_code_right(r, p, &code) : is_text_right(p, &code));

    r->n_compiled++;
    if (!is_right)
        printf("%s: %s\n", p->kernel, code.log ? code.log : "");
    czr_nvrtc_code_fini(&code);
    free(text);
    return is_right;
}

static bool check_forms(run *r, int architecture,
                        const czr_cuda_product_tiles *tiles, bool has_all)
{
    bool is_right = true;

    for (int form = 0; form < (has_all ? N_FORMS : 1); form++) {
        czr_cuda_product_plan plan;
        is_right &=
            make_plan(form, architecture, tiles, &plan) && compile(r, &plan);
    }
    return is_right;
}

/* What is not the body's must be refused. */
static bool check_planted(run *r)
{
    const czr_cuda_product_tiles tiles = {128, 256, 4, 2};
    bool is_right = true;

    for (int bug = 0; bug < 4; bug++) {
        czr_cuda_product_plan plan;
        if (!make_plan(0, 90, &tiles, &plan))
            return false;
        if (bug == 0)
            plan.shared_memory_bytes += 16;
        else if (bug == 1)
            plan.n_threads -= 128;
        else if (bug == 2)
            memcpy(strstr(plan.header, "STAGES 4"), "STAGES 3", 8);
        else
            plan.split.consumer -= 8;
        is_right &= !compile(r, &plan);
    }
    return is_right;
}

int main(int argc, char **argv)
{
    const czr_cuda_product_tiles sm80 = {128, 128, 3, 1};
    bool is_right = true;

    if (argc < 3)
        return 2;
    run r = {.is_code = !strcmp(argv[1], "code")};
    r.nvrtc = compiling_open(argv + 2, argc - 2);
    if (!r.nvrtc) {
        printf("skipped\n");
        return COMPILING_SKIPPED;
    }
    const double start = compiling_seconds();
    for (int i = 0; i < CZ_TILE_SHAPES; i++) {
        const czr_cuda_product_tiles tiles = {cz_tile_shapes[i].rows,
                                              cz_tile_shapes[i].cols,
                                              cz_tile_shapes[i].stages, 2};
        is_right &= check_forms(&r, 90, &tiles, r.is_code || !i);
    }
    is_right &= check_forms(&r, 80, &sm80, true);
    printf("%d kernels in %.2f s of a processor\n", r.n_compiled,
           compiling_seconds() - start);
    if (r.is_code)
        printf("%d for sm_90a: %d logs with C75xx, %d with spills, HGMMA %d, "
               "DEPBAR %d\n",
               r.n_sm90, r.n_serial, r.n_spilling, r.n_wgmma, r.n_waits);
    printf("refused, as they must be:\n");
    is_right &= check_planted(&r);
    czr_nvrtc_close(r.nvrtc);
    return is_right ? 0 : 1;
}
