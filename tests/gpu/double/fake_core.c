/* Calls, failures, handles, and devices of the double. */
#include "tests/gpu/double/fake_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_CALLS = 1 << 16, N_DEVICES = 1, MAX_DEVICES = 16 };

static struct {
    uint64_t random;
    int version, capability, n_devices;
    const char *fail_symbol;
    int64_t fail_nth;
    int fail_code;
    bool has_failed, is_hung, is_initialised;
    int sticky;
    int64_t n_calls, internals;
    const char *calls[MAX_CALLS];
    int retained;
    fake_object *objects[N_KINDS];
    fake_entry *log;
    int64_t n_log, log_room;
} state = {.version = 12090, .capability = 90, .n_devices = N_DEVICES};

static _Thread_local void *current;
static int contexts[MAX_DEVICES]; /* their addresses are the handles */

void *fake_take(size_t bytes)
{
    void *memory = calloc(1, bytes ? bytes : 1);

    if (!memory)
        abort();
    state.internals++;
    return memory;
}

void fake_drop(void *memory)
{
    if (!memory)
        return;
    state.internals--;
    free(memory);
}

/* Numbers of xorshift64*, the upper half. */
uint32_t fake_draw(uint32_t n)
{
    uint64_t x = state.random;

    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    state.random = x;
    return (uint32_t)(x * UINT64_C(0x2545f4914f6cdd1d) >> 32) % n;
}

/* ---- calls -------------------------------------------------------------- */

int fake_enter(const char *symbol)
{
    state.calls[state.n_calls++ % MAX_CALLS] = symbol;
    if (state.fail_nth > 0 &&
        (!state.fail_symbol || !strcmp(symbol, state.fail_symbol)) &&
        --state.fail_nth == 0) {
        state.has_failed = true;
        return state.fail_code;
    }
    if (state.sticky)
        return state.sticky;
    return state.is_initialised ? CZR_CUDA_SUCCESS : CZR_CUDA_NOT_INITIALIZED;
}

int fake_enter_context(const char *symbol)
{
    const int code = fake_enter(symbol);

    if (code)
        return code;
    return current && state.retained ? CZR_CUDA_SUCCESS
                                     : CZR_CUDA_INVALID_CONTEXT;
}

int fake_lost(void)
{
    return state.sticky;
}

void fake_lose(int code)
{
    if (!state.sticky)
        state.sticky = code;
}

bool fake_hangs(void)
{
    return state.is_hung;
}

const void *fake_thread(void)
{
    return &current;
}

/* ---- handles ------------------------------------------------------------ */

void *fake_new(fake_kind kind, size_t bytes)
{
    fake_object *object = fake_take(bytes);

    object->kind = kind;
    object->next = state.objects[kind];
    state.objects[kind] = object;
    return object;
}

bool fake_is(const void *handle, fake_kind kind)
{
    for (const fake_object *o = state.objects[kind]; o; o = o->next)
        if (o == handle)
            return true;
    return false;
}

void fake_delete(void *handle)
{
    fake_object *dead = handle, **at = &state.objects[dead->kind];

    while (*at != dead)
        at = &(*at)->next;
    *at = dead->next;
    fake_drop(dead);
}

fake_object *fake_first(fake_kind kind)
{
    return state.objects[kind];
}

/* ---- what tests tell and ask -------------------------------------------- */

void fake_reset(uint64_t seed, int eagerness)
{
    fake_stream_reset();
    fake_graph_reset();
    fake_nccl_reset();
    fake_turn_reset();
    fake_memory_reset();
    fake_module_reset();
    free(state.log);
    memset(&state, 0, sizeof state);
    state.version = 12090;
    state.capability = 90;
    state.n_devices = N_DEVICES;
    state.random = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    current = NULL;
    fake_set_eagerness(eagerness);
}

void fake_set_version(int version)
{
    state.version = version;
}

void fake_set_capability(int capability)
{
    state.capability = capability;
}

/* Of machine code, behind what it is for: " 13" of CUDA 13, nothing of 12.
 * Cubins of CUDA 13 have an ELF ABI of their own (version 8, of 12.9: 7), which
 * drivers for CUDA 12 do not know: "device kernel image is invalid". */
static int read_toolkit(const char *code)
{
    int major = 12;

    if (*code != '\n' && sscanf(code, " %d", &major) != 1)
        return CZR_CUDA_NO_BINARY_FOR_GPU;
    return major <= state.version / 1000 ? CZR_CUDA_SUCCESS
                                         : CZR_CUDA_INVALID_IMAGE;
}

/* Machine code runs on what it is for, PTX on that and all that is newer, if
 * the driver is as new as what wrote it. */
int fake_read_target(const char *code)
{
    char machine[16];
    int n = 0, ptx = 0;

    snprintf(machine, sizeof machine, "sm_%d",
             state.capability / 10 == 8 ? 80 : state.capability);
    n = (int)strlen(machine);
    if (!strncmp(code, machine, (size_t)n)) {
        n += code[n] == 'a';
        if (code[n] == '\n' || code[n] == ' ')
            return read_toolkit(code + n);
    }
    if (sscanf(code, "compute_%d\n", &ptx) != 1 || state.capability < ptx)
        return CZR_CUDA_NO_BINARY_FOR_GPU;
    return state.version >= 12090 ? CZR_CUDA_SUCCESS
                                  : CZR_CUDA_UNSUPPORTED_PTX_VERSION;
}

void fake_set_devices(int n)
{
    if (n > MAX_DEVICES)
        abort();
    state.n_devices = n;
}

void fake_fail(const char *symbol, int64_t nth, int code)
{
    state.fail_symbol = symbol;
    state.fail_nth = nth;
    state.fail_code = code;
    state.has_failed = false;
}

int fake_has_failed(void)
{
    return state.has_failed;
}

int64_t fake_calls(void)
{
    return state.n_calls;
}

const char *fake_symbol(int64_t call)
{
    return state.calls[call % MAX_CALLS];
}

void fake_hang(void)
{
    state.is_hung = true;
}

static int64_t count(fake_kind kind)
{
    int64_t n = 0;

    for (const fake_object *o = state.objects[kind]; o; o = o->next)
        n++;
    return n;
}

fake_live fake_count(void)
{
    fake_live live = {.contexts = state.retained,
                      .blocks = count(BLOCK),
                      .pinned = count(PINNED),
                      .streams = count(STREAM),
                      .events = count(EVENT),
                      .libraries = count(LIBRARY),
                      .graphs = count(GRAPH),
                      .execs = count(EXEC),
                      .internals = state.internals};

    for (int kind = BLOCK; kind <= PINNED; kind++)
        for (const fake_object *o = state.objects[kind]; o; o = o->next)
            live.bytes += (int64_t)((const fake_block *)o)->bytes;
    return live;
}

int64_t fake_handles(void)
{
    const fake_live live = fake_count();

    return live.contexts + live.blocks + live.pinned + live.streams +
           live.events + live.libraries + live.graphs + live.execs;
}

void fake_note(fake_entry_kind kind, const void *stream, const void *event,
               int64_t tag)
{
    if (state.n_log == state.log_room) {
        state.log_room = 2 * state.log_room + 64;
        state.log =
            realloc(state.log, (size_t)state.log_room * sizeof *state.log);
        if (!state.log)
            abort();
    }
    state.log[state.n_log++] = (fake_entry){kind, stream, event, tag};
}

const fake_entry *fake_log(int64_t *n)
{
    *n = state.n_log;
    return state.log;
}

void fake_clear_log(void)
{
    state.n_log = 0;
}

/* ---- devices ------------------------------------------------------------ */

int cuInit(unsigned flags)
{
    state.is_initialised = flags == 0;
    FAKE_ENTER("cuInit");
    if (flags)
        return CZR_CUDA_INVALID_VALUE;
    return state.n_devices ? CZR_CUDA_SUCCESS : CZR_CUDA_NO_DEVICE;
}

/* Needs no cuInit. */
int cuDriverGetVersion(int *version)
{
    const int code = fake_enter("cuDriverGetVersion");

    if (code && code != CZR_CUDA_NOT_INITIALIZED)
        return code;
    *version = state.version;
    return CZR_CUDA_SUCCESS;
}

/* Needs no cuInit, and works on when all else is lost. */
int cuGetErrorString(int code, const char **text)
{
    static char sentence[64];

    if (code < 0 || code > 999)
        return CZR_CUDA_INVALID_VALUE;
    snprintf(sentence, sizeof sentence, "sentence of the driver for %d", code);
    *text = sentence;
    return CZR_CUDA_SUCCESS;
}

int cuDeviceGetCount(int *n)
{
    const int code = fake_enter("cuDeviceGetCount");

    if (!code)
        *n = state.n_devices;
    return code;
}

int cuDeviceGet(int *device, int ordinal)
{
    FAKE_ENTER("cuDeviceGet");
    if (ordinal < 0 || ordinal >= state.n_devices)
        return CZR_CUDA_INVALID_DEVICE;
    *device = ordinal;
    return CZR_CUDA_SUCCESS;
}

int cuDeviceGetName(char *name, int length, int device)
{
    const int code = fake_enter("cuDeviceGetName");

    if (!code)
        snprintf(name, (size_t)length, "double %d", device);
    return code;
}

int cuDeviceGetAttribute(int *value, int attribute, int device)
{
    const struct {
        int attribute, value;
    } rows[] = {{CZR_DEVICE_MULTIPROCESSOR_COUNT, 132},
                {CZR_DEVICE_COMPUTE_CAPABILITY_MAJOR, state.capability / 10},
                {CZR_DEVICE_COMPUTE_CAPABILITY_MINOR, state.capability % 10},
                {CZR_DEVICE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 232448}};
    FAKE_ENTER("cuDeviceGetAttribute");
    if (device < 0 || device >= state.n_devices)
        return CZR_CUDA_INVALID_DEVICE;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].attribute == attribute) {
            *value = rows[i].value;
            return CZR_CUDA_SUCCESS;
        }
    return CZR_CUDA_INVALID_VALUE;
}

int cuDevicePrimaryCtxRetain(void **out, int device)
{
    FAKE_ENTER("cuDevicePrimaryCtxRetain");
    if (device < 0 || device >= state.n_devices)
        return CZR_CUDA_INVALID_DEVICE;
    state.retained++;
    *out = &contexts[device];
    return CZR_CUDA_SUCCESS;
}

int cuDevicePrimaryCtxRelease_v2(int device)
{
    const int code = fake_enter("cuDevicePrimaryCtxRelease_v2");

    if (device < 0 || !state.retained)
        return CZR_CUDA_INVALID_CONTEXT;
    state.retained--;
    return code;
}

static bool is_context(const void *given)
{
    for (int i = 0; i < MAX_DEVICES; i++)
        if (given == &contexts[i])
            return true;
    return false;
}

int fake_device(void)
{
    return current ? (int)((int *)current - contexts) : -1;
}

int cuCtxSetCurrent(void *given)
{
    FAKE_ENTER("cuCtxSetCurrent");
    if (given && (!is_context(given) || !state.retained))
        return CZR_CUDA_INVALID_CONTEXT;
    current = given;
    return CZR_CUDA_SUCCESS;
}
