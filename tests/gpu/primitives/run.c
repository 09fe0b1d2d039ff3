/* Single instructions, as a device runs them, beside the model of the device.
 *
 * primitives device [--record FOLDER] [--seeds N] SM80 SM90 NVRTC...
 *     on the machine's GPU; 77, and why is printed: skipped.  SM80 and SM90 are
 *     bodies_sm80.cu and bodies_sm90.cu.
 * primitives double [--record FOLDER] [--seeds N]
 *     on the double of the driver, whose kernels are the model's.
 * primitives compile SM80 SM90 NVRTC...
 *     the bodies for all targets.
 * primitives golden FOLDER [--double]
 *     the model beside what a device recorded, or where asked for the double;
 *     77: nothing is recorded. */
#include "tests/gpu/primitives/primitives.h"

#include "tests/gpu/compile/compiling.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SKIPPED = 77, SECONDS = 60, GOLDEN_SEED = 1, OF_BYTES = 160 };

static uint32_t in[PRIMITIVES_MAX_WORDS], got[PRIMITIVES_MAX_WORDS],
    wanted[PRIMITIVES_MAX_WORDS];

static void ask_model(int which, uint64_t seed, uint64_t order)
{
    memset(in, PRIMITIVES_POISON, sizeof in);
    memset(wanted, PRIMITIVES_POISON, sizeof wanted);
    primitives_draw(which, seed, in);
    primitives_model(which, order, in, wanted);
}

/* How many words are not the model's; the first is printed. */
static unsigned compare(int which, uint64_t seed)
{
    const primitive *p = &primitives[which];
    unsigned n = 0;

    for (unsigned i = 0; i < p->n_out; i++)
        if (got[i] != wanted[i] && !n++)
            printf("%s, seed %llu: word %u is %08x, the model's %08x\n",
                   p->name, (unsigned long long)seed, i, (unsigned)got[i],
                   (unsigned)wanted[i]);
    if (n)
        printf("FAILED: %u of %u words differ\n", n, p->n_out);
    return n;
}

/* ---- on a device --------------------------------------------------------- */

typedef struct wish {
    primitives_device device;
    const char *folder; /* of what is recorded, or NULL */
    int n_seeds;
} wish;

static bool record(const wish *w, int which)
{
    if (primitives_write(w->folder, which, GOLDEN_SEED, &w->device, got))
        return true;
    printf("FAILED: %s cannot be written\n", w->folder);
    return false;
}

/* Whether all is as the model says; what differs is recorded, too. */
static bool run_case(const wish *w, int which, int *n_ran)
{
    bool is_right = true;

    for (int i = 0; i < w->n_seeds; i++) {
        const uint64_t seed = GOLDEN_SEED + (uint64_t)i;
        ask_model(which, seed, seed);
        const primitives_outcome outcome =
            primitives_run(&w->device, which, in, got);
        if (outcome == PRIMITIVES_NOT_FOR_IT)
            return true;
        if (outcome != PRIMITIVES_RAN) {
            printf("FAILED: %s, seed %d\n", primitives[which].name, i + 1);
            return false;
        }
        is_right &= !compare(which, seed);
        is_right &= !w->folder || i || record(w, which);
    }
    ++*n_ran;
    return is_right;
}

static int run_all(wish *w)
{
    int n_wrong = 0, n_ran = 0;

    if (primitives_find(&w->device) != PRIMITIVES_RAN) {
        printf("skipped: no GPU\n");
        return SKIPPED;
    }
    printf("%s, sm_%d, seeds 1 to %d\n", w->device.name, w->device.architecture,
           w->n_seeds);
    if (!primitives_load(&w->device))
        return 1;
    for (int i = 0; i < n_primitives; i++)
        n_wrong += !run_case(w, i, &n_ran);
    printf("%d of %d instructions ran, %d failed%s%s\n", n_ran, n_primitives,
           n_wrong, w->folder ? ", recorded in " : "",
           w->folder ? w->folder : "");
    primitives_unload(&w->device);
    return n_wrong || !n_ran;
}

/* ---- what was recorded --------------------------------------------------- */

typedef struct tally {
    int n_there, n_wrong;
    char of[OF_BYTES];
} tally;

static bool is_of_double(const char *of)
{
    return !strncmp(of, "double ", strlen("double "));
}

static void check_recorded(const char *folder, int which, bool is_double,
                           tally *t)
{
    primitives_outcome state;

    if (!primitives_read(folder, which, GOLDEN_SEED, t->of, sizeof t->of, got,
                         &state))
        return;
    t->n_there++;
    if (state != PRIMITIVES_RAN || is_of_double(t->of) != is_double) {
        printf("FAILED: %s: no vector of a device\n", primitives[which].name);
        t->n_wrong++;
        return;
    }
    ask_model(which, GOLDEN_SEED, GOLDEN_SEED + 1);
    t->n_wrong += compare(which, GOLDEN_SEED) != 0;
}

static int check_golden(const char *folder, bool is_double)
{
    tally t = {0};

    for (int i = 0; i < n_primitives; i++)
        check_recorded(folder, i, is_double, &t);
    if (!t.n_there) {
        printf("skipped: nothing is recorded yet\n");
        return SKIPPED;
    }
    printf("%d of %d instructions were recorded, of %s; %d differ\n", t.n_there,
           n_primitives, t.of, t.n_wrong);
    return t.n_wrong != 0;
}

/* ---- arguments ----------------------------------------------------------- */

/* --record FOLDER and --seeds N; what is left. */
static char **take_options(char **at, wish *w)
{
    for (; at[0] && at[1] && !strncmp(at[0], "--", 2); at += 2)
        if (!strcmp(at[0], "--record"))
            w->folder = at[1];
        else if (!strcmp(at[0], "--seeds"))
            w->n_seeds = (int)strtol(at[1], NULL, 10);
    return at;
}

/* SM80 SM90 NVRTC...: the first NVRTC that serves. */
static bool take_compiler(char **at, primitives_device *device)
{
    if (!at[0] || !at[1])
        return false;
    device->source[0] = at[0];
    device->source[1] = at[1];
    for (at += 2; *at; at++) {
        czr_nvrtc *nvrtc = compiling_open(at, 1);
        czr_nvrtc_close(nvrtc);
        if (nvrtc) {
            device->compiler = *at;
            return true;
        }
    }
    printf("skipped: no NVRTC\n");
    return false;
}

int main(int argc, char **argv)
{
    wish w = {.device = {.seconds = SECONDS}, .n_seeds = 3};
    const char *mode = argc > 1 ? argv[1] : "";
    char **rest = argc > 1 ? take_options(argv + 2, &w) : argv;

    if (!strcmp(mode, "golden") && argc > 2)
        return check_golden(argv[2], argc > 3 && !strcmp(argv[3], "--double"));
    if (!strcmp(mode, "double")) {
        w.device.driver = FAKE_PATH;
        return run_all(&w);
    }
    if (!strcmp(mode, "device"))
        return take_compiler(rest, &w.device) ? run_all(&w) : SKIPPED;
    if (!strcmp(mode, "compile"))
        return !take_compiler(rest, &w.device)     ? SKIPPED
               : primitives_compile_all(&w.device) ? 0
                                                   : 1;
    return 2;
}
