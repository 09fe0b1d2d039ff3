/* The thread that watches: nothing of the driver's is called here. */
#define _POSIX_C_SOURCE 200809L
#include "runtime/cuda/world/nccl_internal.h"

#include <stdarg.h>
#include <stdio.h>

#include "runtime/cuda/driver/clock.h"

/* ABORTED_MS: NCCL has that long at least.  CALL_MS: and a call, to return. */
enum {
    LOOKS = 20,
    MOST_PAUSE_MS = 50,
    ABORTED_MS = 10000,
    CALL_MS = 500,
    MS = 1000,
    NS_PER_MS = 1000000
};

czr_status czr_nccl_fail(czr_world_nccl *world, czr_status status,
                         const char *format, ...)
{
    va_list args;

    if (world->failure != CZR_OK)
        return world->failure;
    va_start(args, format);
    vsnprintf(world->why, sizeof world->why, format, args);
    va_end(args);
    world->failure = status;
    pthread_cond_broadcast(&world->wake);
    return status;
}

czr_status czr_nccl_failure(czr_world_nccl *world)
{
    pthread_mutex_lock(&world->lock);
    const czr_status status = world->failure;
    pthread_mutex_unlock(&world->lock);
    return status;
}

/* ---- looking ------------------------------------------------------------ */

static const char *name_of(const czr_world_nccl *world, int op)
{
    return op >= 0 && world->program
               ? czr_op_kind_name(world->program->ops[op].kind)
               : "agreeing with other ranks";
}

/* The operation that has begun at a member; -2: none has. */
static int find_begun(const czr_nccl_member *member, int64_t *mark)
{
    *mark = __atomic_load_n(&member->marks[CZR_NCCL_MARK], __ATOMIC_RELAXED);
    return *mark < czr_nccl_mark_of(-1, false) || *mark % 2
               ? -2
               : (int)(*mark / 2) - 2;
}

/* Whether what has begun there takes too long. */
static void look_at_time(czr_world_nccl *world, czr_nccl_member *member,
                         int64_t now)
{
    int64_t mark;
    const int op = find_begun(member, &mark);
    const int64_t heartbeat =
        __atomic_load_n(&member->marks[CZR_NCCL_HEARTBEAT], __ATOMIC_RELAXED);
    const int64_t deadline_ms = world->base.deadline_ms;

    if (op < -1 || mark != member->seen[CZR_NCCL_MARK] ||
        heartbeat != member->seen[CZR_NCCL_HEARTBEAT]) {
        member->seen[CZR_NCCL_MARK] = mark;
        member->seen[CZR_NCCL_HEARTBEAT] = heartbeat;
        member->since_ms = now;
    } else if (now - member->since_ms >= deadline_ms) {
        czr_nccl_fail(world, CZR_ERR_TIMEOUT,
                      "operation %d, %s: rank %d waited %lld ms for the %d "
                      "others of its communicator",
                      op, name_of(world, op), world->base.rank,
                      (long long)deadline_ms, member->comm.size - 1);
    }
}

static void look_at_state(czr_world_nccl *world, const czr_nccl_member *member)
{
    char message[CZR_NCCL_MESSAGE];
    int64_t mark;
    int state = CZR_NCCL_SUCCESS;
    const int code =
        world->options.nccl->async_error(member->nccl.handle, &state);
    const int op = find_begun(member, &mark);

    state = code ? code : state;
    if (state == CZR_NCCL_SUCCESS || state == CZR_NCCL_IN_PROGRESS)
        return;
    const czr_status status =
        czr_nccl_settle(&member->nccl, state, 0, "watching", message);
    if (op < -1)
        czr_nccl_fail(world, status, "%s", message);
    else
        czr_nccl_fail(world, status, "operation %d, %s: %s", op,
                      name_of(world, op), message);
}

void czr_nccl_check(czr_world_nccl *world)
{
    for (const czr_nccl_member *member = world->members; member;
         member = member->next)
        if (member->nccl.handle && world->failure == CZR_OK)
            look_at_state(world, member);
}

static void look(czr_world_nccl *world)
{
    const int64_t now = czr_now_ms();

    czr_nccl_check(world);
    for (czr_nccl_member *member = world->members; member;
         member = member->next)
        if (member->nccl.handle)
            look_at_time(world, member, now);
}

/* Where calls block nobody may be in one when NCCL aborts, says its user guide;
 * but one that waits for what hangs is ended by that alone. */
static void await_call(czr_world_nccl *world)
{
    static const struct timespec pause = {0, NS_PER_MS};
    const int64_t start = czr_now_ms();

    while (pthread_mutex_trylock(&world->call) != 0) {
        if (czr_now_ms() - start >= CALL_MS)
            return;
        nanosleep(&pause, NULL);
    }
    pthread_mutex_unlock(&world->call);
}

static void *abort_member(void *argument)
{
    czr_nccl_comm_abort(&((czr_nccl_member *)argument)->aborted);
    return NULL;
}

/* The parent carries nothing, and may be in use.  Lock held, but not while NCCL
 * aborts: that returns when graphs are destroyed that captured a communicator,
 * by who needs the lock until then.  All at once, for one may wait for a kernel
 * of another's. */
static void abort_all(czr_world_nccl *world)
{
    czr_nccl_member *const members = world->members;

    for (czr_nccl_member *member = members; member; member = member->next) {
        member->aborted = member->nccl;
        member->nccl.handle = NULL;
    }
    pthread_mutex_unlock(&world->lock);
    await_call(world);
    for (czr_nccl_member *member = members; member; member = member->next)
        member->has_thread =
            member->aborted.handle &&
            pthread_create(&member->thread, NULL, abort_member, member) == 0;
    for (czr_nccl_member *member = members; member; member = member->next)
        if (member->has_thread)
            pthread_join(member->thread, NULL);
        else
            abort_member(member);
    pthread_mutex_lock(&world->lock);
}

/* ---- the thread --------------------------------------------------------- */

static struct timespec after_ms(int64_t ms)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    time.tv_sec += (time_t)(ms / MS);
    time.tv_nsec += (long)(ms % MS) * NS_PER_MS;
    if (time.tv_nsec >= (long)MS * NS_PER_MS) {
        time.tv_sec++;
        time.tv_nsec -= (long)MS * NS_PER_MS;
    }
    return time;
}

static void *watchdog(void *argument)
{
    czr_world_nccl *world = argument;

    pthread_mutex_lock(&world->lock);
    while (!world->is_over && world->failure == CZR_OK) {
        const int64_t part = world->base.deadline_ms / LOOKS + 1;
        const struct timespec next =
            after_ms(part < MOST_PAUSE_MS ? part : MOST_PAUSE_MS);
        pthread_cond_timedwait(&world->wake, &world->lock, &next);
        if (!world->is_over && world->failure == CZR_OK)
            look(world);
    }
    if (world->failure != CZR_OK)
        abort_all(world);
    world->has_watchdog = false;
    pthread_cond_broadcast(&world->wake);
    pthread_mutex_unlock(&world->lock);
    return NULL;
}

czr_status czr_nccl_watchdog_open(czr_world_nccl *world)
{
    pthread_condattr_t monotonic;

    if (pthread_mutex_init(&world->call, NULL) != 0)
        return CZR_ERR_NO_MEMORY;
    if (pthread_mutex_init(&world->lock, NULL) != 0) {
        pthread_mutex_destroy(&world->call);
        return CZR_ERR_NO_MEMORY;
    }
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    world->has_lock = pthread_cond_init(&world->wake, &monotonic) == 0;
    pthread_condattr_destroy(&monotonic);
    if (!world->has_lock) {
        pthread_mutex_destroy(&world->lock);
        pthread_mutex_destroy(&world->call);
        return CZR_ERR_NO_MEMORY;
    }
    world->has_watchdog = true;
    world->has_thread =
        pthread_create(&world->watchdog, NULL, watchdog, world) == 0;
    if (!world->has_thread)
        world->has_watchdog = false;
    return world->has_thread ? CZR_OK : CZR_ERR_NO_MEMORY;
}

bool czr_nccl_watchdog_close(czr_world_nccl *world)
{
    const int64_t patience_ms = world->base.deadline_ms;
    const struct timespec deadline =
        after_ms(patience_ms > ABORTED_MS ? patience_ms : ABORTED_MS);
    int code = 0;

    if (!world->has_thread)
        return true;
    pthread_mutex_lock(&world->lock);
    world->is_over = true;
    pthread_cond_broadcast(&world->wake);
    while (world->has_watchdog && code == 0)
        code = pthread_cond_timedwait(&world->wake, &world->lock, &deadline);
    const bool is_gone = !world->has_watchdog;
    pthread_mutex_unlock(&world->lock);
    if (!is_gone)
        return false;
    pthread_join(world->watchdog, NULL);
    world->has_thread = false;
    return true;
}
