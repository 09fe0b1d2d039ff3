/* Communicators and groups of the double of NCCL; what meets is in
 * fake_nccl_meet.c. */
#define _POSIX_C_SOURCE 200809L
#include "tests/gpu/double/fake_nccl_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    DEFAULT_VERSION = 22809,
    FIRST_ORDERED = 22600,
    MOST_POLLS = 3,
    MOST_ROOM = 8, /* of some 1000 */
    MS = 1000,
    NS_PER_MS = 1000000,
    LEAST_CONFIG = 48
};

static struct {
    int version;
    uint64_t n_ids;
    fake_clique *cliques;
    fake_comm *_Atomic comms; /* aborts of other threads look */
    char fault[160];
    _Atomic int64_t n_aborted, n_crowded;
    int64_t n_reduces, n_broadcasts;
    const char *last_error;
    bool has_launched, is_ordered, has_room;
    int room, slow_ms;
} state = {.version = DEFAULT_VERSION};

static _Thread_local int depth; /* of groups */
static _Thread_local fake_post *group;
static _Thread_local void *group_stream;

/* ---- what tests tell and ask -------------------------------------------- */

void fake_nccl_set_version(int version)
{
    state.version = version;
}

void fake_nccl_break(int device, int code)
{
    for (fake_comm *comm = state.comms; comm; comm = comm->next)
        if (comm->device == device)
            comm->broken = code;
}

void fake_nccl_slow(int ms)
{
    state.slow_ms = ms;
}

void fake_nccl_set_room(int room)
{
    state.room = room;
    state.has_room = true;
}

const char *fake_nccl_fault(void)
{
    return state.fault[0] ? state.fault : NULL;
}

int fake_nccl_wrong(const char *what)
{
    if (!state.fault[0])
        snprintf(state.fault, sizeof state.fault, "%s", what);
    return CZR_NCCL_INVALID_USAGE;
}

int64_t fake_nccl_comms(void)
{
    int64_t n = 0;

    for (fake_comm *comm = state.comms; comm; comm = comm->next) {
        n += comm->is_alive;
        if (!comm->is_alive && comm->pending) {
            fake_post_drop(comm->pending);
            comm->pending = NULL;
        }
    }
    return n;
}

int64_t fake_nccl_reduces(void)
{
    return state.n_reduces;
}

int64_t fake_nccl_broadcasts(void)
{
    return state.n_broadcasts;
}

int64_t fake_nccl_aborted(void)
{
    return state.n_aborted;
}

int64_t fake_nccl_crowded(void)
{
    return state.n_crowded;
}

void fake_nccl_reset(void)
{
    while (state.comms) {
        fake_comm *comm = state.comms;
        state.comms = comm->next;
        free(comm);
    }
    while (state.cliques) {
        fake_clique *clique = state.cliques;
        state.cliques = clique->next;
        free(clique);
    }
    memset(&state, 0, sizeof state);
    state.version = DEFAULT_VERSION;
}

/* NCCL_LAUNCH_ORDER_IMPLICIT came with 2.26, and is 0 by default (NCCL's user
 * guide, Environment Variables); enqueue.cc asks for it as it launches first,
 * and param.cc keeps what it got. */
bool fake_nccl_is_ordered(void)
{
    const char *value = getenv("NCCL_LAUNCH_ORDER_IMPLICIT");

    if (!state.has_launched)
        state.is_ordered = state.version >= FIRST_ORDERED && value &&
                           strtoll(value, NULL, 0) != 0;
    state.has_launched = true;
    return state.is_ordered;
}

/* ---- communicators ------------------------------------------------------ */

static fake_clique *new_clique(uint64_t id, int size)
{
    fake_clique *clique = calloc(1, sizeof *clique);

    if (!clique)
        abort();
    clique->id = id;
    clique->size = size;
    clique->next = state.cliques;
    state.cliques = clique;
    return clique;
}

static fake_clique *find_clique(uint64_t id, int size)
{
    for (fake_clique *c = state.cliques; c; c = c->next)
        if (c->id == id)
            return c;
    return new_clique(id, size);
}

static fake_comm *new_comm(int device)
{
    fake_comm *comm = calloc(1, sizeof *comm);

    if (!comm)
        abort();
    comm->mark = FAKE_COMM_MARK;
    comm->is_alive = true;
    comm->device = device;
    comm->polls = (int)fake_draw(MOST_POLLS);
    comm->is_patient = fake_draw(4) != 0;
    comm->next = state.comms;
    state.comms = comm;
    return comm;
}

static bool is_comm(const fake_comm *comm)
{
    return comm && comm->mark == FAKE_COMM_MARK && comm->is_alive;
}

static bool shares_device(const fake_clique *clique)
{
    for (int a = 0; a < clique->size; a++)
        for (int b = 0; b < a; b++)
            if (clique->members[a]->device == clique->members[b]->device)
                return true;
    return false;
}

static void enter_clique(fake_comm *comm, fake_clique *clique, int rank)
{
    comm->clique = clique;
    comm->rank = rank;
    if (clique->members[rank])
        fake_nccl_wrong("two ranks of one number");
    clique->members[rank] = comm;
    if (++clique->n_members == clique->size && shares_device(clique)) {
        for (int i = 0; i < clique->size; i++)
            clique->members[i]->broken = CZR_NCCL_INVALID_USAGE;
        state.last_error = FAKE_DUPLICATE_GPU " : rank 1 and rank 0 both on "
                                              "CUDA device 53000";
    }
}

/* 2.26 asks no version of trafficClass (parseCommConfig in its init.cc), and
 * gives it to network cards as it is. */
static int check_config(const czr_nccl_config *config)
{
    if (!config || config->size < LEAST_CONFIG ||
        config->magic != CZR_NCCL_MAGIC || config->version < CZR_NCCL_VERSION ||
        config->blocking != 0 || config->traffic_class != CZR_NCCL_DEFAULT)
        return CZR_NCCL_INVALID_ARGUMENT;
    return CZR_NCCL_SUCCESS;
}

int ncclGetVersion(int *version)
{
    const int code = fake_enter("ncclGetVersion");

    if (code && code != CZR_CUDA_NOT_INITIALIZED)
        return code;
    *version = state.version;
    return CZR_NCCL_SUCCESS;
}

const char *ncclGetErrorString(int code)
{
    static _Thread_local char sentence[48];

    snprintf(sentence, sizeof sentence, "sentence of NCCL for %d", code);
    return sentence;
}

/* init.cc of NCCL warns with these words; debug.cc keeps a process's last
 * warning, whatever communicator is asked. */
const char *ncclGetLastError(void *comm)
{
    (void)comm;
    return state.last_error ? state.last_error : "";
}

int ncclGetUniqueId(czr_nccl_id *id)
{
    FAKE_ENTER("ncclGetUniqueId");
    memset(id, 0, sizeof *id);
    state.n_ids++;
    memcpy(id->bytes, &state.n_ids, sizeof state.n_ids);
    return CZR_NCCL_SUCCESS;
}

int ncclCommInitRankConfig(void **out, int size, czr_nccl_id id, int rank,
                           czr_nccl_config *config)
{
    uint64_t number;

    int code = fake_enter_context("ncclCommInitRankConfig");
    if (code == 0)
        code = check_config(config);
    memcpy(&number, id.bytes, sizeof number);
    if (code)
        return code;
    if (size < 1 || size > FAKE_MAX_RANKS || rank < 0 || rank >= size ||
        !number || number > state.n_ids)
        return CZR_NCCL_INVALID_ARGUMENT;
    fake_clique *clique = find_clique(number, size);
    if (clique->size != size)
        return CZR_NCCL_INVALID_ARGUMENT;
    fake_comm *comm = new_comm(fake_device());
    enter_clique(comm, clique, rank);
    *out = comm;
    return CZR_NCCL_IN_PROGRESS;
}

/* How many of a color have a smaller key, and how many there are. */
static int count_color(const fake_clique *parent, const fake_comm *mine,
                       int split, int *size)
{
    int rank = 0;

    *size = 0;
    for (int i = 0; i < parent->size; i++) {
        const fake_comm *other = parent->members[i];
        if (other->colors[split] != mine->colors[split])
            continue;
        ++*size;
        rank += other->keys[split] < mine->keys[split];
    }
    return rank;
}

/* When all have called for it, each gets its child. */
static void finish_split(fake_clique *parent, int split)
{
    for (int i = 0; i < parent->size; i++)
        if (parent->members[i]->n_splits <= split ||
            !parent->members[i]->is_alive)
            return;
    for (int i = 0; i < parent->size; i++) {
        fake_comm *mine = parent->members[i];
        int size;
        const int rank = count_color(parent, mine, split, &size);
        const uint64_t id = (parent->id + 1) * FAKE_MAX_SPLITS * 1000 +
                            (uint64_t)split * 1000 +
                            (uint64_t)mine->colors[split];
        fake_comm *child = new_comm(mine->device);
        enter_clique(child, find_clique(id, size), rank);
        *mine->child = child;
        mine->is_splitting = false;
    }
}

static bool is_settled(const fake_comm *comm)
{
    return !comm->is_splitting && !comm->pending && comm->polls == 0 &&
           comm->clique->n_members == comm->clique->size;
}

static int check_comm(const fake_comm *comm)
{
    if (!is_comm(comm))
        return fake_nccl_wrong("a communicator that is none, or is closed");
    if (comm->broken)
        return comm->broken;
    return is_settled(comm) ? CZR_NCCL_SUCCESS
                            : fake_nccl_wrong("a call before the last is over");
}

int ncclCommSplit(void *given, int color, int key, void **out,
                  czr_nccl_config *config)
{
    fake_comm *comm = given;

    int code = fake_enter_context("ncclCommSplit");
    if (code == 0)
        code = check_comm(comm);
    if (code == 0)
        code = check_config(config);
    if (code)
        return code;
    if (comm->n_splits == FAKE_MAX_SPLITS || color < 0)
        return CZR_NCCL_INVALID_ARGUMENT;
    comm->colors[comm->n_splits] = color;
    comm->keys[comm->n_splits] = key;
    comm->child = (fake_comm **)out;
    comm->is_splitting = true;
    *out = NULL;
    comm->polls = (int)fake_draw(MOST_POLLS);
    finish_split(comm->clique, comm->n_splits++);
    /* The child is there when the parent's state is success: NCCL's user guide,
     * Communicators, polls the parent; init.cc of 2.20 to 2.30 returns success.
     */
    return fake_draw(2) ? CZR_NCCL_SUCCESS : CZR_NCCL_IN_PROGRESS;
}

int ncclCommCount(void *given, int *size)
{
    const fake_comm *comm = given;

    FAKE_ENTER("ncclCommCount");
    if (!is_comm(comm))
        return CZR_NCCL_INVALID_ARGUMENT;
    *size = comm->clique->size;
    return CZR_NCCL_SUCCESS;
}

int ncclCommUserRank(void *given, int *rank)
{
    const fake_comm *comm = given;

    FAKE_ENTER("ncclCommUserRank");
    if (!is_comm(comm))
        return CZR_NCCL_INVALID_ARGUMENT;
    *rank = comm->rank;
    return CZR_NCCL_SUCCESS;
}

/* Another thread may ask at any time, but nothing goes on then. */
int ncclCommGetAsyncError(void *given, int *code)
{
    fake_comm *comm = given;

    if (!is_comm(comm))
        return fake_nccl_wrong("the state of a communicator that is closed");
    *code = CZR_NCCL_SUCCESS;
    if (comm->broken) {
        *code = comm->broken;
        return CZR_NCCL_SUCCESS;
    }
    if (!fake_has_turn() || is_settled(comm))
        return CZR_NCCL_SUCCESS;
    *code = CZR_NCCL_IN_PROGRESS;
    if (comm->polls > 0)
        comm->polls--;
    else if (comm->pending)
        fake_post_push(comm);
    fake_yield();
    return CZR_NCCL_SUCCESS;
}

int ncclCommFinalize(void *given)
{
    fake_comm *comm = given;

    int code = fake_enter_context("ncclCommFinalize");
    if (code == 0)
        code = check_comm(comm);
    if (code)
        return code;
    if (fake_is_posted(comm))
        return fake_nccl_wrong("a communicator is closed in use");
    comm->polls = (int)fake_draw(MOST_POLLS);
    return comm->polls ? CZR_NCCL_IN_PROGRESS : CZR_NCCL_SUCCESS;
}

int ncclCommDestroy(void *given)
{
    fake_comm *comm = given;
    const int code = fake_enter_context("ncclCommDestroy");

    if (!is_comm(comm))
        return fake_nccl_wrong("a communicator is closed twice");
    comm->is_alive = false;
    return code;
}

/* Whether another communicator that is not aborted has a kernel on this one's
 * device. */
static bool is_beside_others(const fake_comm *comm)
{
    for (const fake_comm *other = state.comms; other; other = other->next)
        if (other != comm && other->device == comm->device && other->is_alive &&
            other->n_running > 0)
            return true;
    return false;
}

/* By any thread.  Kernels end at once, the call when all graphs that captured
 * the communicator are destroyed: commDestroySync of NCCL's init.cc waits for
 * comm->localPersistentRefs, which graphs drop.  And it frees memory, which may
 * wait for all that runs on the device, so for kernels of other communicators,
 * until those end or are aborted as well (NCCL's user guide, Using multiple
 * NCCL communicators concurrently; NVIDIA/nccl#549 hangs in cuMemFree).  Where
 * calls block, nobody may be in one that would return (the guide, Fault
 * Tolerance). */
int ncclCommAbort(void *given)
{
    static const struct timespec pause = {0, 1000000};
    fake_comm *comm = given;

    if (!is_comm(comm))
        return fake_nccl_wrong("a communicator that is closed is aborted");
    if (comm->is_called)
        fake_nccl_wrong("a communicator is aborted under a call on it");
    state.n_crowded += comm->is_patient && is_beside_others(comm);
    comm->broken = CZR_NCCL_INTERNAL_ERROR;
    comm->is_alive = false;
    state.n_aborted++;
    while (comm->n_graphs > 0 || (comm->is_patient && is_beside_others(comm)))
        if (!fake_yield())
            nanosleep(&pause, NULL);
    return CZR_NCCL_SUCCESS;
}

/* ---- groups ------------------------------------------------------------- */

/* How many launches a stream takes; 0: the library's own thread waits for room,
 * and the call returns.  Up to 2.22 a group that opens no connection launches
 * in the caller also where communicators do not block (group.cc,
 * ncclGroupEndInternal), later ones with NCCL_COMM_BLOCKING=1. */
static int find_room(void)
{
    if (!state.has_room)
        state.room = fake_draw(2) ? 1 + (int)fake_draw(MOST_ROOM) : 0;
    state.has_room = true;
    return state.room;
}

static bool is_full(const fake_stream *stream, int room)
{
    for (const fake_node *node = stream->head; node; node = node->next)
        room--;
    return room <= 0;
}

/* Until what was launched before has made room, or was aborted. */
static void wait_for_room(fake_comm *comm, fake_stream *stream, int room)
{
    static const struct timespec pause = {0, 1000000};

    while (comm->is_alive && is_full(stream, room)) {
        fake_drain(stream);
        if (is_full(stream, room) && !fake_yield())
            nanosleep(&pause, NULL);
    }
}

/* A launch that takes its time, but returns. */
static void take_time(fake_comm *comm)
{
    const struct timespec pause = {state.slow_ms / MS,
                                   state.slow_ms % MS * NS_PER_MS};

    state.slow_ms = 0;
    comm->is_called = true;
    nanosleep(&pause, NULL);
    comm->is_called = false;
}

/* What came of a call on a communicator: it may be over only later. */
static int put_off(fake_comm *comm, fake_post *post, void *stream)
{
    const int room = find_room();

    comm->pending = post;
    comm->pending_stream = stream;
    if (room > 0 && !((fake_stream *)stream)->capture) {
        wait_for_room(comm, stream, room);
        if (state.slow_ms)
            take_time(comm);
        return fake_post_push(comm);
    }
    comm->polls = (int)fake_draw(MOST_POLLS);
    if (comm->polls)
        return CZR_NCCL_IN_PROGRESS;
    return fake_post_push(comm);
}

static int add(const char *symbol, void *given, void *stream, fake_op op)
{
    fake_comm *comm = given;
    const bool is_new = !group || depth == 0;

    int code = fake_enter_context(symbol);
    if (code == 0 && is_new)
        code = check_comm(comm);
    if (code)
        return code;
    if (!fake_is(stream, STREAM) || op.peer >= comm->clique->size)
        return CZR_NCCL_INVALID_ARGUMENT;
    if (!is_new && (group->comm != comm || group_stream != stream))
        return fake_nccl_wrong("a group of several communicators or streams");
    if (is_new)
        group = fake_post_make(comm);
    group_stream = stream;
    fake_post_add(group, op);
    if (depth > 0)
        return CZR_NCCL_SUCCESS;
    fake_post *post = group;
    group = NULL;
    return put_off(comm, post, stream);
}

int ncclGroupStart(void)
{
    const int code = fake_enter_context("ncclGroupStart");

    if (!code)
        depth++;
    return code;
}

/* Ends the group, also where it fails. */
int ncclGroupEnd(void)
{
    const int code = fake_enter_context("ncclGroupEnd");
    fake_post *post = group;

    if (depth == 0)
        return fake_nccl_wrong("the end of a group that has not begun");
    if (--depth > 0)
        return code;
    group = NULL;
    if (!post)
        return code;
    if (!code)
        return put_off(post->comm, post, group_stream);
    fake_post_drop(post);
    return code;
}

int ncclSend(const void *from, size_t n, int type, int peer, void *comm,
             void *stream)
{
    return add("ncclSend", comm, stream,
               (fake_op){FAKE_SEND, czr_address_of(from), 0, n, type, peer, 0,
                         false, 0});
}

int ncclRecv(void *to, size_t n, int type, int peer, void *comm, void *stream)
{
    return add("ncclRecv", comm, stream,
               (fake_op){FAKE_RECEIVE, 0, czr_address_of(to), n, type, peer, 0,
                         false, 0});
}

int ncclAllGather(const void *from, void *to, size_t n, int type, void *comm,
                  void *stream)
{
    return add("ncclAllGather", comm, stream,
               (fake_op){FAKE_ALL_GATHER, czr_address_of(from),
                         czr_address_of(to), n, type, -1, 0, false, 0});
}

int ncclReduceScatter(const void *from, void *to, size_t n, int type, int how,
                      void *comm, void *stream)
{
    if (how != CZR_NCCL_SUM)
        return CZR_NCCL_INVALID_ARGUMENT;
    return add("ncclReduceScatter", comm, stream,
               (fake_op){FAKE_REDUCE_SCATTER, czr_address_of(from),
                         czr_address_of(to), n, type, -1, 0, false, 0});
}

int ncclAllReduce(const void *from, void *to, size_t n, int type, int how,
                  void *comm, void *stream)
{
    if (how != CZR_NCCL_SUM)
        return CZR_NCCL_INVALID_ARGUMENT;
    return add("ncclAllReduce", comm, stream,
               (fake_op){FAKE_ALL_REDUCE, czr_address_of(from),
                         czr_address_of(to), n, type, -1, 0, false, 0});
}

/* Who is not the root may give no place for the sum (NCCL's API reference,
 * ncclReduce). */
int ncclReduce(const void *from, void *to, size_t n, int type, int how,
               int root, void *comm, void *stream)
{
    if (how != CZR_NCCL_SUM || root < 0)
        return CZR_NCCL_INVALID_ARGUMENT;
    state.n_reduces++;
    return add("ncclReduce", comm, stream,
               (fake_op){FAKE_REDUCE, czr_address_of(from), czr_address_of(to),
                         n, type, -1, 0, false, root});
}

/* `from` is read on the root alone (NCCL's API reference, ncclBroadcast). */
int ncclBroadcast(const void *from, void *to, size_t n, int type, int root,
                  void *comm, void *stream)
{
    if (root < 0)
        return CZR_NCCL_INVALID_ARGUMENT;
    state.n_broadcasts++;
    return add("ncclBroadcast", comm, stream,
               (fake_op){FAKE_BROADCAST, czr_address_of(from),
                         czr_address_of(to), n, type, -1, 0, false, root});
}
