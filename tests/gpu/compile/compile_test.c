/* Compiles every kernel for what it is made for: no spills, the instructions
 * that it is about, registers as its launch bounds allow, dealt out anew as the
 * body's table says; PTX too.  Then all of it again, from the cache, with the
 * time that either takes.
 *
 * compile_test NVRTC...: by the first of these libraries that serves;
 * exit status 77 if none does: skipped.
 * compile_test --probe NVRTC: whether it does. */
#include "runtime/cuda/driver/cache.h"
#include "tests/gpu/compile/compiling.h"
#include "tests/gpu/compile/cubin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEFINITIONS = 11, MAX_FRAME = 32 };

typedef struct target {
    const char *name, *arch;
    czr_source_body body;
    const char *definitions[MAX_DEFINITIONS];
    int registers;    /* at most */
    int consumers;    /* 0: registers stay as they are */
    const char *type; /* of products' operands, NULL for others */
} target;

#define SM90(form, arch, m, n, stages, buffers, symmetric, m_major, n_major,   \
             fp16, registers)                                                  \
    {                                                                          \
        form " " #m "x" #n, arch, CZR_SOURCE_PRODUCT_SM90,                     \
            {"-DKERNEL=kernel",                                                \
             "-DBM=" #m,                                                       \
             "-DBN=" #n,                                                       \
             "-DSTAGES=" #stages,                                              \
             "-DBUFFERS=" #buffers,                                            \
             "-DSYMMETRIC=" #symmetric,                                        \
             "-DM_MAJOR=" #m_major,                                            \
             "-DN_MAJOR=" #n_major,                                            \
             "-DFP16=" #fp16},                                                 \
            registers, (m) / 64, (fp16) ? ".f16" : ".bf16"                     \
    }
/* Whose waits are watched. */
#define WATCHED(form)                                                          \
    {                                                                          \
        form, "sm_90a", CZR_SOURCE_PRODUCT_SM90,                               \
            {"-DKERNEL=kernel", "-DBM=128",    "-DBN=128",                     \
             "-DSTAGES=5",      "-DBUFFERS=2", "-DSYMMETRIC=1",                \
             "-DM_MAJOR=0",     "-DN_MAJOR=0", "-DWAIT_LIMIT=2000000000"},     \
            168, 2, ".bf16"                                                    \
    }
#define SM80(form, arch, symmetric, m_major, n_major, fp16, registers)         \
    {                                                                          \
        form, arch, CZR_SOURCE_PRODUCT_SM80,                                   \
            {"-DKERNEL=kernel", "-DSYMMETRIC=" #symmetric,                     \
             "-DM_MAJOR=" #m_major, "-DN_MAJOR=" #n_major, "-DFP16=" #fp16},   \
            registers, 0, (fp16) ? ".f16" : ".bf16"                            \
    }

static const target targets[] = {
    SM90("symmetric x y'", "sm_90a", 128, 128, 5, 2, 1, 0, 0, 0, 168),
    SM90("symmetric x y'", "sm_90a", 128, 192, 4, 2, 1, 0, 0, 0, 168),
    SM90("symmetric x y'", "sm_90a", 128, 256, 4, 1, 1, 0, 0, 0, 168),
    SM90("symmetric x y'", "sm_90a", 128, 256, 3, 2, 1, 0, 0, 0, 168),
    SM90("symmetric x y'", "sm_90a", 192, 192, 3, 1, 1, 0, 0, 0, 128),
    SM90("symmetric x y", "sm_90a", 192, 192, 3, 1, 1, 0, 1, 0, 128),
    SM90("symmetric x' y", "sm_90a", 192, 192, 3, 1, 1, 1, 1, 0, 128),
    SM90("symmetric x' y", "sm_90a", 128, 256, 4, 1, 1, 1, 1, 0, 168),
    SM90("x y'", "sm_90a", 128, 256, 4, 2, 0, 0, 0, 0, 168),
    SM90("x y", "sm_90a", 128, 256, 4, 2, 0, 0, 1, 0, 168),
    SM90("x' y'", "sm_90a", 128, 256, 4, 2, 0, 1, 0, 0, 168),
    SM90("x' y", "sm_90a", 128, 256, 4, 2, 0, 1, 1, 0, 168),
    SM90("symmetric x y', f16,", "sm_90a", 128, 128, 5, 2, 1, 0, 0, 1, 168),
    SM90("symmetric x y, f16,", "sm_90a", 192, 192, 3, 1, 1, 0, 1, 1, 128),
    SM90("symmetric x' y, f16,", "sm_90a", 128, 256, 4, 1, 1, 1, 1, 1, 168),
    SM90("x y, f16,", "sm_90a", 128, 256, 4, 2, 0, 0, 1, 1, 168),
    SM90("x' y', f16,", "sm_90a", 128, 192, 4, 2, 0, 1, 0, 1, 168),
    WATCHED("symmetric, watched,"),
    SM80("symmetric x y'", "sm_80", 1, 0, 0, 0, 255),
    SM80("symmetric x' y", "sm_80", 1, 1, 1, 0, 255),
    SM80("x y'", "sm_80", 0, 0, 0, 0, 255),
    SM80("x y", "sm_80", 0, 0, 1, 0, 255),
    SM80("x' y", "sm_80", 0, 1, 1, 0, 255),
    SM80("symmetric x y', f16", "sm_80", 1, 0, 0, 1, 255),
    SM80("x' y, f16", "sm_80", 0, 1, 1, 1, 255),
    SM90("symmetric x y'", "compute_90a", 128, 128, 3, 2, 1, 0, 0, 0, 0),
    SM80("symmetric x y'", "compute_80", 1, 0, 0, 0, 0),
    SM80("x y", "compute_80", 0, 0, 1, 0, 0),
    SM90("symmetric x y', f16,", "compute_90a", 128, 128, 3, 2, 1, 0, 0, 1, 0),
    SM80("x y, f16", "compute_80", 0, 0, 1, 1, 0),
};

/* Each of these is there; ended by 0. */
static bool has_all(const cubin_kernel *k, const int *opcodes)
{
    for (; *opcodes; opcodes++)
        if (!k->n_of[*opcodes])
            return false;
    return true;
}

/* Registers are dealt out anew as the body's table SPLITS says, whose rows are
 * registers at entry, of the producer, of a consumer. */
static bool has_split(const target *t, const char *text, const cubin_kernel *k)
{
    const char *at = strstr(text, "SPLITS[] = {");
    int entry, producer, consumer;

    for (int row = 0; at && row <= t->consumers; row++)
        at = strpbrk(strchr(at, '{') + 1, "{;");
    if (!at || sscanf(at, "{%d, %d, %d}", &entry, &producer, &consumer) != 3 ||
        k->n_of[CUBIN_USETMAXREG] != 2)
        return false;
    const int less = k->setmaxreg[0] > k->setmaxreg[1];
    printf("    setmaxnreg %d and %d\n", k->setmaxreg[less],
           k->setmaxreg[!less]);
    return k->registers == entry && k->setmaxreg[less] == producer &&
           k->setmaxreg[!less] == consumer;
}

static bool has_watchdog(const target *t)
{
    for (int i = 0; i < MAX_DEFINITIONS && t->definitions[i]; i++)
        if (strstr(t->definitions[i], "WAIT_LIMIT"))
            return true;
    return false;
}

/* No spills, but the little that a call may take which fails an assertion; that
 * is where waits are watched, and nowhere else. */
static bool has_room(const target *t, const czr_nvrtc_code *code,
                     const cubin_kernel *k)
{
    static const char call[] = "__assertfail";
    bool is_called = false;

    for (size_t i = 0; i + sizeof call <= code->n_bytes; i++)
        is_called |= memcmp(code->bytes + i, call, sizeof call) == 0;
    if (is_called != has_watchdog(t))
        return false;
    return has_watchdog(t) ? k->frame_bytes <= MAX_FRAME
                           : cubin_has_no_spills(k);
}

static bool check_cubin(const target *t, const char *text,
                        const czr_nvrtc_code *code)
{
    static const int wanted_90[] = {CUBIN_HGMMA,      CUBIN_UTMALDG,
                                    CUBIN_UTMASTG,    CUBIN_STSM,
                                    CUBIN_USETMAXREG, 0};
    static const int wanted_80[] = {CUBIN_HMMA, CUBIN_LDSM, CUBIN_LDGSTS, 0};
    const int *wanted =
        t->body == CZR_SOURCE_PRODUCT_SM90 ? wanted_90 : wanted_80;
    static cubin_kernel k;

    if (!cubin_read(code->bytes, code->n_bytes, &k))
        return false;
    printf("%s, %s: %d registers, frame %d, %d instructions, tensor %d\n",
           t->arch, t->name, k.registers, k.frame_bytes, k.n_instructions,
           k.n_of[CUBIN_HGMMA] + k.n_of[CUBIN_HMMA]);
    /* Where waits are watched a call stands in the way of overlap. */
    const bool is_serial = !has_watchdog(t) && cubin_is_serial(&k, code->log);
    return has_all(&k, wanted) && !is_serial && has_room(t, code, &k) &&
           k.registers > 0 && k.registers <= t->registers &&
           (!t->consumers || has_split(t, text, &k));
}

/* The type stands in the names of instructions: of the products, and of what
 * rounds and reads pairs of elements. */
static bool check_ptx(const target *t, const czr_nvrtc_code *code)
{
    const char *text = (const char *)code->bytes;
    char arch[32], product[64], rounding[32];
    const bool is_90 = t->body == CZR_SOURCE_PRODUCT_SM90;

    snprintf(arch, sizeof arch, ".target sm_%s", strchr(t->arch, '_') + 1);
    snprintf(product, sizeof product,
             is_90 ? "n128k16.f32%s%s" : "m16n8k16.row.col.f32%s%s.f32",
             t->type, t->type);
    snprintf(rounding, sizeof rounding, "cvt.rn%sx2.f32", t->type);
    printf("%s, %s: %zu bytes of PTX\n", t->arch, t->name, code->n_bytes);
    return strstr(text, arch) && strstr(text, product) &&
           strstr(text, rounding) && strstr(text, ".entry kernel") &&
           !strstr(text, "cvt.f32.f16") == !strcmp(t->type, ".bf16");
}

/* One pass over all targets. */
typedef struct pass {
    czr_nvrtc *nvrtc;
    czr_cache *cache;  /* NULL: none */
    bool is_kept;      /* code is to come from the cache */
    double seconds_90; /* until there was code for sm_90a */
} pass;

/* Whether `text` compiles to what the target is to have. */
static bool compile(pass *p, const char *text, const target *t,
                    czr_nvrtc_code *code)
{
    const char *options[MAX_DEFINITIONS + 3];
    char arch[32];
    bool was_kept;
    czr_cache_source source = {"kernel", text, options, 0};

    snprintf(arch, sizeof arch, "-arch=%s", t->arch);
    options[source.n_options++] = arch;
    options[source.n_options++] = "-default-device";
    for (int i = 0; i < MAX_DEFINITIONS && t->definitions[i]; i++)
        options[source.n_options++] = t->definitions[i];
    const double start = compiling_seconds();
    const czr_nvrtc_status status =
        czr_cache_compile(p->cache, p->nvrtc, &source, code, &was_kept);
    if (t->consumers)
        p->seconds_90 += compiling_seconds() - start;
    return status == CZR_NVRTC_OK && was_kept == p->is_kept &&
           (t->registers ? check_cubin(t, text, code) : check_ptx(t, code));
}

static bool check_target(pass *p, const target *t)
{
    czr_nvrtc_code code;
    char *text = compiling_text(t->body, "", "");
    const bool is_right = compile(p, text, t, &code);

    if (!is_right)
        printf("FAILED: %s, %s\n%s\n", t->arch, t->name,
               code.log ? code.log : "");
    czr_nvrtc_code_fini(&code);
    free(text);
    return is_right;
}

static void warn(void *user, const char *message)
{
    *(bool *)user = false;
    printf("FAILED: %s\n", message);
}

/* All targets, by a cache of this folder. */
static bool check_pass(pass *p, const char *cache)
{
    bool is_right = true;
    const czr_cache_options options = {
        .folder = cache, .warn = warn, .user = &is_right};

    p->cache = czr_cache_open(&options);
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++)
        is_right &= check_target(p, &targets[i]);
    czr_cache_close(p->cache);
    return is_right;
}

/* Compiled into an empty folder, then taken from there. */
static bool check_targets(czr_nvrtc *nvrtc)
{
    char cache[COMPILING_FOLDER];
    pass cold = {.nvrtc = nvrtc};
    pass warm = {.nvrtc = nvrtc, .is_kept = true};

    if (!compiling_make_folder(cache))
        return false;
    bool is_right = check_pass(&cold, cache);
    is_right &= check_pass(&warm, cache);
    compiling_remove_folder(cache);
    printf("all for sm_90a: %.2f s of a processor compiled, %.1f ms from the "
           "cache\n",
           cold.seconds_90, warm.seconds_90 * 1e3);
    return is_right && warm.seconds_90 < cold.seconds_90;
}

/* Immediates that are not the table's, and accumulators that nobody sets, must
 * be seen. */
static bool check_planted(czr_nvrtc *nvrtc)
{
    static const char *const bugs[][2] = {
        {"<SPLIT.consumer>", "<240           >"},
        {"<SPLIT.producer>", "<32            >"},
        {"float d[BN / 2] = {};", "float d[BN / 2]     ;"},
    };
    pass p = {.nvrtc = nvrtc};
    bool is_right = true;

    for (size_t i = 0; i < sizeof bugs / sizeof *bugs; i++) {
        char *text = compiling_text(CZR_SOURCE_PRODUCT_SM90, "", "");
        char *at = strstr(text, bugs[i][0]);
        czr_nvrtc_code code;
        if (!at)
            return false;
        memcpy(at, bugs[i][1], strlen(bugs[i][1]));
        is_right &= !compile(&p, text, &targets[0], &code) && code.bytes;
        /* The last one shows in machine code, whatever the log says. */
        static cubin_kernel k;
        if (i + 1 == sizeof bugs / sizeof *bugs)
            is_right &= cubin_read(code.bytes, code.n_bytes, &k) &&
                        cubin_is_serial(&k, "") &&
                        strstr(code.log, CUBIN_SERIAL);
        czr_nvrtc_code_fini(&code);
        free(text);
    }
    if (!is_right)
        printf("FAILED: planted immediates or accumulators\n");
    return is_right;
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
    czr_nvrtc *nvrtc;
    bool is_right;

    if (argc < 2)
        return 2;
    const bool is_probe = !strcmp(argv[1], "--probe");
    if (czr_nvrtc_open("/no such library", &nvrtc, message) !=
            CZR_NVRTC_MISSING ||
        nvrtc || !strstr(message, "not there"))
        return 1;
    nvrtc = compiling_open(argv + 1 + is_probe, argc - 1 - is_probe);
    if (!nvrtc) {
        printf("skipped\n");
        return COMPILING_SKIPPED;
    }
    is_right = is_probe || check_refusals(nvrtc);
    if (!is_probe) {
        is_right &= check_targets(nvrtc);
        is_right &= check_planted(nvrtc);
    }
    czr_nvrtc_close(nvrtc);
    return is_right ? 0 : 1;
}
