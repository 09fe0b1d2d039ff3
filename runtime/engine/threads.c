/* Elements that may be cut anywhere, shared by threads.  Bits do not depend on
 * how many there are: other meshes cut elsewhere, too. */
#define _GNU_SOURCE
#include "runtime/engine/engine.h"

#ifdef __linux__
#include <sched.h>
#endif

#include "runtime/base/memory.h"
#include "runtime/base/testing.h"

/* Starting a thread costs as much as some ten thousand elements. */
static int64_t least_elements = 1 << 17; /* of a thread */

void czr_testing_thread_elements(int64_t n)
{
    least_elements = n;
}

int czr_threads_worth(const czr_engine *engine, int64_t elements)
{
    const int64_t worth = elements / least_elements;
    const int n_threads = engine->math.n_threads < CZR_MAX_THREADS
                              ? engine->math.n_threads
                              : CZR_MAX_THREADS;

    return worth < n_threads ? (worth > 1 ? (int)worth : 1)
           : n_threads > 1   ? n_threads
                             : 1;
}

czr_range czr_thread_range(int64_t elements, int n_threads, int thread)
{
    const int64_t line = CZR_ALIGN / (int64_t)sizeof(float);
    const int64_t each = (elements / n_threads + line) / line * line;
    const int64_t first = thread * each < elements ? thread * each : elements;
    const int64_t left = elements - first;

    return (czr_range){first, left < each ? left : each};
}

/* What a thread does. */
typedef struct job {
    czr_thread_body body;
    void *user;
    int thread;
} job;

static void *run_job(void *argument)
{
    const job *own = argument;

    own->body(own->user, own->thread);
    return NULL;
}

/* Not the processor of the caller, which is about to work: where others have
 * the rest, a system leaves new threads there for as long as a step takes. */
static void keep_apart(pthread_attr_t *attributes)
{
#ifdef __linux__
    cpu_set_t processors;
    const int own = sched_getcpu();

    if (own < 0 || own >= CPU_SETSIZE ||
        sched_getaffinity(0, sizeof processors, &processors) != 0)
        return;
    CPU_CLR((size_t)own, &processors);
    if (CPU_COUNT(&processors) > 0)
        (void)pthread_attr_setaffinity_np(attributes, sizeof processors,
                                          &processors);
#else
    (void)attributes;
#endif
}

void czr_threads_run(int n_threads, czr_thread_body body, void *user)
{
    job jobs[CZR_MAX_THREADS];
    pthread_t threads[CZR_MAX_THREADS];
    bool has_thread[CZR_MAX_THREADS] = {false};
    pthread_attr_t attributes;
    const bool has_attributes =
        n_threads > 1 && pthread_attr_init(&attributes) == 0;

    if (has_attributes)
        keep_apart(&attributes);
    for (int i = 1; i < n_threads; i++) {
        jobs[i] = (job){body, user, i};
        has_thread[i] =
            pthread_create(&threads[i], has_attributes ? &attributes : NULL,
                           run_job, &jobs[i]) == 0;
    }
    if (has_attributes)
        pthread_attr_destroy(&attributes);
    for (int i = 0; i < n_threads; i++)
        if (!has_thread[i])
            body(user, i);
    for (int i = 1; i < n_threads; i++)
        if (has_thread[i])
            pthread_join(threads[i], NULL);
}
