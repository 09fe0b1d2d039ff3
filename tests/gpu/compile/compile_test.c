/* Bodies of products behind the text that a plan puts in front of them, for all
 * tiles that the compiler chooses among and for all forms, by NVRTC: no spills,
 * the instructions that they are about, no wait that keeps tensor cores idle;
 * the plan's threads, shared memory and registers are the body's, and its
 * arguments those of a launch.
 *
 * compile_test text|code NVRTC...: by the first of these libraries that serves;
 * `text` compiles to PTX, `code` to machine code.  Exit status 77 if none does:
 * skipped.
 * compile_test --probe NVRTC: whether it does. */
#include "passes/gpu/tile_model.h"
#include "runtime/cuda/products/kernel.h"
#include "tests/gpu/compile/compiling.h"
#include "tests/gpu/compile/cubin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_END = 512, MAX_HEADER = 2048, N_FORMS = 16, MAX_FRAME = 64 };

typedef struct run {
    czr_nvrtc *nvrtc;
    bool is_code;
    bool is_watched; /* waits are: an assertion is called where one is long */
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
    return czr_cuda_product_plan_make(&p, &device, tiles, plan, message);
}

/* ---- one body ----------------------------------------------------------- */

/* The plan's text, the body, and what the host believes of it. */
static char *make_text(const run *r, const czr_cuda_product_plan *p)
{
    char header[MAX_HEADER], end[MAX_END];
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
    snprintf(header, sizeof header, "%s%s",
             r->is_watched ? "#define WAIT_LIMIT 2000000000\n" : "", p->header);
    return compiling_text(p->is_sm90 ? CZR_SOURCE_PRODUCT_SM90
                                     : CZR_SOURCE_PRODUCT_SM80,
                          header, end);
}

static void count(run *r, const cubin_kernel *k, const char *log)
{
    r->n_sm90++;
    r->n_serial += strstr(log, CUBIN_SERIAL) != NULL;
    r->n_spilling += !cubin_has_no_spills(k);
    r->n_wgmma += k->n_of[CUBIN_HGMMA];
    r->n_waits += k->n_waits;
}

/* Each of these is there; ended by 0. */
static bool has_all(const cubin_kernel *k, const int *opcodes)
{
    for (; *opcodes; opcodes++)
        if (!k->n_of[*opcodes])
            return false;
    return true;
}

/* No spills, but the little that a call may take which fails an assertion; that
 * is where waits are watched, and nowhere else. */
static bool has_room(const run *r, const czr_nvrtc_code *code,
                     const cubin_kernel *k)
{
    static const char call[] = "__assertfail";
    bool is_called = false;

    for (size_t i = 0; i + sizeof call <= code->n_bytes; i++)
        is_called |= memcmp(code->bytes + i, call, sizeof call) == 0;
    return is_called == r->is_watched &&
           (r->is_watched ? k->frame_bytes <= MAX_FRAME
                          : cubin_has_no_spills(k));
}

static bool is_code_right(run *r, const czr_cuda_product_plan *p,
                          const czr_nvrtc_code *code)
{
    static const int wanted[2][6] = {{CUBIN_HMMA, CUBIN_LDSM, CUBIN_LDGSTS},
                                     {CUBIN_HGMMA, CUBIN_UTMALDG, CUBIN_UTMASTG,
                                      CUBIN_STSM, CUBIN_USETMAXREG}};
    static cubin_kernel k;

    if (!cubin_read(code->bytes, code->n_bytes, &k) ||
        !has_all(&k, wanted[p->is_sm90]) || !has_room(r, code, &k))
        return false;
    if (!p->is_sm90)
        return true;
    const int less = k.setmaxreg[0] > k.setmaxreg[1];
    const bool is_split = k.n_of[CUBIN_USETMAXREG] == 2 &&
                          k.registers == p->split.entry &&
                          k.setmaxreg[less] == p->split.producer &&
                          k.setmaxreg[!less] == p->split.consumer;
    if (r->is_watched) /* the call stands in the way of overlap */
        return is_split;
    count(r, &k, code->log);
    return is_split && !cubin_is_serial(&k, code->log);
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

/* The type stands in the names of instructions: of products, and of what rounds
 * and reads pairs of elements. */
static bool are_types_right(const czr_cuda_product_plan *p, const char *text)
{
    const bool is_f16 = strstr(p->header, "FP16 1") != NULL;
    const char *type = is_f16 ? ".f16" : ".bf16";
    char product[64], rounding[32];

    snprintf(product, sizeof product,
             p->is_sm90 ? "k16.f32%s%s" : "m16n8k16.row.col.f32%s%s.f32", type,
             type);
    snprintf(rounding, sizeof rounding, "cvt.rn%sx2.f32", type);
    return strstr(text, product) && strstr(text, rounding) &&
           (strstr(text, "cvt.f32.f16") != NULL) == is_f16;
}

static bool is_text_right(const czr_cuda_product_plan *p,
                          const czr_nvrtc_code *code)
{
    const char *text = (const char *)code->bytes;
    char entry[CZR_CUDA_PRODUCT_NAME + 16];

    snprintf(entry, sizeof entry, ".entry %s(", p->kernel);
    const char *found = strstr(text, entry);
    return found && are_arguments_right(p, found) && are_types_right(p, text);
}

/* Takes the text. */
static bool compile(run *r, const czr_cuda_product_plan *p, char *text)
{
    static const char *const archs[2][2] = {
        {"-arch=compute_80", "-arch=sm_80"},
        {"-arch=compute_90a", "-arch=sm_90a"}};
    const char *const options[] = {archs[p->is_sm90][r->is_code],
                                   "-default-device"};
    czr_nvrtc_code code;
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

/* ---- all of them -------------------------------------------------------- */

static bool check_forms(run *r, int architecture,
                        const czr_cuda_product_tiles *tiles, bool has_all)
{
    bool is_right = true;

    for (int form = 0; form < (has_all ? N_FORMS : 1); form++) {
        czr_cuda_product_plan plan;
        is_right &= make_plan(form, architecture, tiles, &plan) &&
                    compile(r, &plan, make_text(r, &plan));
    }
    return is_right;
}

static bool check_all(run *r)
{
    const czr_cuda_product_tiles sm80 = {128, 128, 3, 1};
    bool is_right = true;

    for (int i = 0; i < CZ_TILE_SHAPES; i++) {
        const czr_cuda_product_tiles tiles = {cz_tile_shapes[i].rows,
                                              cz_tile_shapes[i].cols,
                                              cz_tile_shapes[i].stages, 2};
        is_right &= check_forms(r, 90, &tiles, r->is_code || !i);
        r->is_watched = r->is_code; /* it shows in machine code */
        is_right &= !r->is_code || check_forms(r, 90, &tiles, false);
        r->is_watched = false;
    }
    return check_forms(r, 80, &sm80, true) && is_right;
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
        is_right &= !compile(r, &plan, make_text(r, &plan));
    }
    return is_right;
}

/* Registers that are not the plan's, and accumulators that nobody sets, must be
 * seen in machine code. */
static bool check_planted_bodies(run *r)
{
    static const char *const bugs[][2] = {
        {"<SPLIT.consumer>", "<240           >"},
        {"<SPLIT.producer>", "<32            >"},
        {"float d[BN / 2] = {};", "float d[BN / 2]     ;"},
    };
    const czr_cuda_product_tiles tiles = {128, 256, 4, 2};
    const int n_serial = r->n_serial;
    czr_cuda_product_plan plan;
    bool is_right = make_plan(0, 90, &tiles, &plan);

    for (size_t i = 0; i < sizeof bugs / sizeof *bugs && is_right; i++) {
        char *text = make_text(r, &plan), *at = strstr(text, bugs[i][0]);
        is_right = at != NULL;
        if (at)
            memcpy(at, bugs[i][1], strlen(bugs[i][1]));
        is_right &= !compile(r, &plan, text);
    }
    return is_right && r->n_serial == n_serial + 1;
}

/* What must be refused, and a kernel that spills must be seen to. */
static bool check_refusals(czr_nvrtc *nvrtc)
{
    static const char *const options[] = {"-arch=sm_90a", "-default-device",
                                          "-maxrregcount=24"};
    static const char spilling[] =
        "extern \"C\" __global__ void kernel(float *p) {\n"
        "float v[64];\n"
        "#pragma unroll\n"
        "for (int i = 0; i < 64; i++) v[i] = p[i * 32];\n"
        "__syncthreads();\n"
        "#pragma unroll\n"
        "for (int i = 0; i < 64; i++) p[i * 64] = v[i] * v[(i + 7) % 64]; }\n";
    static cubin_kernel k;
    czr_nvrtc_code code;

    bool is_right = czr_nvrtc_compile(nvrtc, "no program", options, 2, &code) ==
                        CZR_NVRTC_REFUSED &&
                    strstr(code.log, "error") && !code.bytes;
    czr_nvrtc_code_fini(&code);
    is_right &=
        czr_nvrtc_compile(nvrtc, spilling, options, 3, &code) == CZR_NVRTC_OK &&
        cubin_read(code.bytes, code.n_bytes, &k) && k.n_of[CUBIN_STL] > 0 &&
        k.n_of[CUBIN_LDL] > 0;
    for (size_t n = 0; n < code.n_bytes && n < 256; n++)
        is_right &= !cubin_read(code.bytes, n, &k);
    czr_nvrtc_code_fini(&code);
    if (!is_right)
        printf("FAILED: what must be refused or spill\n");
    return is_right;
}

int main(int argc, char **argv)
{
    char message[CZR_NVRTC_MESSAGE];
    run r = {NULL};

    if (argc < 3)
        return 2;
    if (czr_nvrtc_open("/no such library", &r.nvrtc, message) !=
            CZR_NVRTC_MISSING ||
        r.nvrtc || !strstr(message, "not there"))
        return 1;
    r.nvrtc = compiling_open(argv + 2, argc - 2);
    if (!r.nvrtc) {
        printf("skipped\n");
        return COMPILING_SKIPPED;
    }
    if (!strcmp(argv[1], "--probe")) {
        czr_nvrtc_close(r.nvrtc);
        return 0;
    }
    r.is_code = !strcmp(argv[1], "code");
    const double start = compiling_seconds();
    bool is_right = check_all(&r);
    printf("%d kernels in %.2f s of a processor\n", r.n_compiled,
           compiling_seconds() - start);
    if (r.is_code)
        printf("%d for sm_90a: %d logs with C75xx, %d with spills, HGMMA %d, "
               "DEPBAR %d\n",
               r.n_sm90, r.n_serial, r.n_spilling, r.n_wgmma, r.n_waits);
    printf("refused, as they must be:\n");
    is_right &= check_planted(&r) && (!r.is_code || check_planted_bodies(&r)) &&
                check_refusals(r.nvrtc);
    czr_nvrtc_close(r.nvrtc);
    return is_right ? 0 : 1;
}
