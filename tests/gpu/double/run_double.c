/* libcuda.so.1 for `canzona run` of PROGRAM: the double of the driver with the
 * plan's kernels and the engine's own on the model of the device.  The command
 * finds it as it finds the driver, by the loader, and double_nvrtc likewise:
 * NVRTC itself would ask a driver of this name for more than the double has.
 *
 * RUN_DOUBLE="seed=N version=N capability=N devices=N bytes=N
 * fail=SYMBOL:NTH:CODE" says what it is like; what was not given back when the
 * driver is closed ends the process with exit status 70. */
#define _POSIX_C_SOURCE 200809L
#include "tests/gpu/double/fake.h"
#include "tests/gpu/bodies/plain_bodies.h"
#include "tests/gpu/bodies/product_bodies.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { EAGERNESS = 30, LEFT_BEHIND = 70, MAX_SYMBOL = 64 };

#define PASTE_(name, end) name##_##end
#define PASTE(name, end) PASTE_(name, end)
#define register_kernels PASTE(PROGRAM, kernels)
void register_kernels(void);
void collect_kernels(void);

/* A number of RUN_DOUBLE's; `otherwise` where it is not there. */
static int64_t number(const char *name, int64_t otherwise)
{
    const char *given = getenv("RUN_DOUBLE");
    const char *at = given ? strstr(given, name) : NULL;

    return at ? strtoll(at + strlen(name), NULL, 10) : otherwise;
}

static void plan_failure(void)
{
    const char *given = getenv("RUN_DOUBLE");
    const char *at = given ? strstr(given, "fail=") : NULL;
    static char symbol[MAX_SYMBOL];
    int64_t nth;
    int code;

    if (at &&
        sscanf(at, "fail=%63[^:]:%" SCNd64 ":%d", symbol, &nth, &code) == 3)
        fake_fail(symbol, nth, code);
}

__attribute__((constructor)) static void begin(void)
{
    fake_reset((uint64_t)number("seed=", 1), EAGERNESS);
    fake_set_version((int)number("version=", 12090));
    fake_set_capability((int)number("capability=", 90));
    fake_set_devices((int)number("devices=", 1));
    fake_set_memory((size_t)number("bytes=", (int64_t)1 << 30));
    fake_share_addresses();
    register_kernels();
    collect_kernels();
    plain_bodies_register();
    bodies_register();
    plan_failure();
}

__attribute__((destructor)) static void end(void)
{
    const int64_t handles = fake_handles(), gone = fake_gone();
    const int64_t internals = fake_count().internals;

    if (handles == 0 && internals == 0 && gone == 0)
        return;
    fprintf(stderr,
            "run_double: left behind: %" PRId64 " handles, %" PRId64
            " pieces; %" PRId64 " came too late\n",
            handles, internals, gone);
    _exit(LEFT_BEHIND);
}
