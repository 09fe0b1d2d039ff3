/* What communicators put on streams, and how it meets: the k-th send of a to b
 * is the k-th receive of b from a, the k-th collective of all is one.
 *
 * A kernel keeps its place on the GPU until its partners have come, and there
 * may be no place for another communicator's beside it.  "Using multiple NCCL
 * communicators per-device required serializing the order of all communication
 * operations (via CUDA stream dependencies or synchronization) into a
 * consistent total global order otherwise deadlocks could ensue" (NCCL's user
 * guide, Using multiple NCCL communicators concurrently).  From 2.26 on NCCL
 * can do so by the order of calls, by the same page with CUDA launch completion
 * events: a kernel begins when the one before it has. */
#include "tests/gpu/double/fake_nccl_state.h"

#include <stdlib.h>
#include <string.h>

/* ---- posts -------------------------------------------------------------- */

fake_post *fake_post_make(fake_comm *comm)
{
    fake_post *post = fake_take(sizeof *post);

    post->comm = comm;
    post->next = comm->clique->posts;
    comm->clique->posts = post;
    return post;
}

void fake_post_add(fake_post *post, fake_op op)
{
    if (post->n == post->room) {
        post->room = 2 * post->room + 8;
        fake_op *ops = fake_take((size_t)post->room * sizeof *ops);
        if (post->n)
            memcpy(ops, post->ops, (size_t)post->n * sizeof *ops);
        fake_drop(post->ops);
        post->ops = ops;
    }
    post->ops[post->n++] = op;
}

/* Of each device, those that were launched and are not over. */
static fake_post *launched[FAKE_MAX_RANKS];

void fake_post_drop(fake_post *post)
{
    fake_post **at = &post->comm->clique->posts;

    while (*at != post)
        at = &(*at)->next;
    *at = post->next;
    for (at = &launched[post->comm->device]; *at; at = &(*at)->next_launched)
        if (*at == post) {
            *at = post->next_launched;
            break;
        }
    for (at = &post->comm->clique->arrived; *at; at = &(*at)->next_arrived)
        if (*at == post) {
            *at = post->next_arrived;
            post->comm->n_running--;
            break;
        }
    fake_drop(post->ops);
    fake_drop(post);
}

/* As it comes behind all that the communicator and the device have. */
static void number(fake_post *post)
{
    fake_comm *comm = post->comm;
    fake_post **at = &launched[comm->device];

    while (*at)
        at = &(*at)->next_launched;
    *at = post;
    post->is_large = fake_draw(2) == 0;

    for (int i = 0; i < post->n; i++) {
        fake_op *op = &post->ops[i];
        if (op->kind == FAKE_SEND)
            op->number = comm->sent[op->peer]++;
        else if (op->kind == FAKE_RECEIVE)
            op->number = comm->received[op->peer]++;
        else
            op->number = comm->n_collectives++;
    }
}

int fake_post_push(fake_comm *comm)
{
    struct fake_stream *stream = comm->pending_stream;
    fake_node *node = fake_make(MEET);

    node->post = comm->pending;
    comm->pending = NULL;
    if (!stream->capture)
        number(node->post);
    return fake_push(stream, node);
}

fake_post *fake_post_again(const fake_post *post)
{
    fake_post *again = fake_post_make(post->comm);

    for (int i = 0; i < post->n; i++)
        fake_post_add(again, post->ops[i]);
    number(again);
    return again;
}

void fake_post_capture(fake_post *post, int n_graphs)
{
    post->comm->n_graphs += n_graphs;
}

bool fake_is_posted(const fake_comm *comm)
{
    for (const fake_post *p = comm->clique->posts; p; p = p->next)
        if (p->comm == comm)
            return true;
    return false;
}

/* ---- matching ----------------------------------------------------------- */

static size_t bytes_of(const fake_op *op)
{
    static const size_t bytes[] = {[CZR_NCCL_INT8] = 1,
                                   [CZR_NCCL_INT64] = 8,
                                   [CZR_NCCL_FLOAT32] = 4,
                                   [CZR_NCCL_FLOAT64] = 8};

    return op->n * bytes[op->type];
}

static bool is_partner(const fake_op *a, int a_rank, const fake_op *b,
                       int b_rank)
{
    if (a->peer < 0)
        return b->peer < 0 && a->number == b->number;
    return b->peer == a_rank && a->peer == b_rank && a->number == b->number &&
           (a->kind == FAKE_SEND) == (b->kind == FAKE_RECEIVE);
}

/* The operation of a member that has arrived and that meets this one. */
static fake_op *find_partner(const fake_post *post, const fake_op *op, int rank)
{
    for (fake_post *p = post->comm->clique->arrived; p; p = p->next_arrived) {
        if (p->comm->rank != rank)
            continue;
        for (int i = 0; i < p->n; i++)
            if (!p->ops[i].is_done &&
                is_partner(op, post->comm->rank, &p->ops[i], rank))
                return &p->ops[i];
    }
    return NULL;
}

static bool can_do(const fake_post *post, const fake_op *op)
{
    if (op->is_done)
        return false;
    if (op->peer >= 0)
        return find_partner(post, op, op->peer) != NULL;
    for (int rank = 0; rank < post->comm->clique->size; rank++)
        if (!find_partner(post, op, rank))
            return false;
    return true;
}

static bool is_over(const fake_post *post)
{
    for (int i = 0; i < post->n; i++)
        if (!post->ops[i].is_done)
            return false;
    return true;
}

/* Whether the device has a place for it, and it is its turn. */
static bool can_arrive(const fake_post *post)
{
    bool is_earlier = true;

    for (const fake_post *p = launched[post->comm->device]; p;
         p = p->next_launched) {
        is_earlier = is_earlier && p != post;
        if (p->comm == post->comm || !p->comm->is_alive)
            continue;
        if (p->has_arrived ? p->is_large || post->is_large
                           : is_earlier && fake_nccl_is_ordered())
            return false;
    }
    return true;
}

bool fake_can_meet(const fake_post *post)
{
    if (!post->comm->is_alive || is_over(post))
        return true;
    if (!post->has_arrived)
        return can_arrive(post);
    for (int i = 0; i < post->n; i++)
        if (can_do(post, &post->ops[i]))
            return true;
    return false;
}

/* ---- data --------------------------------------------------------------- */

static void pass(fake_op *a, fake_op *b)
{
    fake_op *from = a->kind == FAKE_SEND ? a : b;
    fake_op *to = a->kind == FAKE_SEND ? b : a;

    from->is_done = to->is_done = true;
    if (from->n != to->n || from->type != to->type) {
        fake_nccl_wrong("a send and a receive of two sizes");
        return;
    }
    const unsigned char *source = fake_at(from->from, bytes_of(from));
    unsigned char *target = fake_at(to->to, bytes_of(to));
    if (source && target)
        memmove(target, source, bytes_of(from));
}

static void add_to(unsigned char *sum, const unsigned char *x, size_t n,
                   int type)
{
    for (size_t i = 0; i < n; i++) {
        if (type == CZR_NCCL_INT64)
            ((int64_t *)(void *)sum)[i] +=
                ((const int64_t *)(const void *)x)[i];
        else if (type == CZR_NCCL_FLOAT32)
            ((float *)(void *)sum)[i] += ((const float *)(const void *)x)[i];
        else if (type == CZR_NCCL_FLOAT64)
            ((double *)(void *)sum)[i] += ((const double *)(const void *)x)[i];
    }
}

/* All members' input, one behind the other, or added up from a drawn one on; of
 * a broadcast the root's. */
static unsigned char *gather(fake_op **ops, int size, size_t bytes)
{
    unsigned char *all = fake_take((size_t)size * bytes);
    const bool is_sum = ops[0]->kind != FAKE_ALL_GATHER;

    if (ops[0]->kind == FAKE_BROADCAST) {
        const unsigned char *from = fake_at(ops[ops[0]->root]->from, bytes);
        if (from)
            memcpy(all, from, bytes);
        return all;
    }
    const int start = (int)fake_draw((uint32_t)size);

    for (int i = 0; i < size; i++) {
        const int rank = (start + i) % size;
        const unsigned char *from = fake_at(ops[rank]->from, bytes);
        if (from && (!is_sum || i == 0))
            memcpy(all + (is_sum ? 0 : (size_t)rank * bytes), from, bytes);
        else if (from)
            add_to(all, from, bytes / (bytes_of(ops[0]) / ops[0]->n),
                   ops[0]->type);
    }
    return all;
}

static void collect(fake_op **ops, int size)
{
    const size_t own = bytes_of(ops[0]);
    const bool is_scatter = ops[0]->kind == FAKE_REDUCE_SCATTER;
    const bool is_gather = ops[0]->kind == FAKE_ALL_GATHER;
    unsigned char *all =
        gather(ops, size, is_scatter ? own * (size_t)size : own);

    for (int rank = 0; rank < size; rank++) {
        const size_t bytes = is_gather ? own * (size_t)size : own;
        if (ops[0]->kind == FAKE_REDUCE && rank != ops[0]->root)
            continue;
        unsigned char *to = fake_at(ops[rank]->to, bytes);
        if (to)
            memcpy(to, all + (is_scatter ? (size_t)rank * own : 0), bytes);
    }
    fake_drop(all);
}

static void meet_all(const fake_post *post, fake_op *op)
{
    const int size = post->comm->clique->size;
    fake_op *ops[FAKE_MAX_RANKS] = {op};
    bool is_one = op->n > 0;

    for (int rank = 0; rank < size; rank++) {
        ops[rank] = find_partner(post, op, rank);
        is_one = is_one && ops[rank]->kind == op->kind &&
                 ops[rank]->n == op->n && ops[rank]->type == op->type &&
                 ops[rank]->root == op->root && op->root < size;
    }
    if (is_one)
        collect(ops, size);
    else
        fake_nccl_wrong("ranks are in different collectives");
    for (int rank = 0; rank < size; rank++)
        ops[rank]->is_done = true;
}

static void arrive(fake_post *post)
{
    if (post->has_arrived || !can_arrive(post))
        return;
    post->has_arrived = true;
    post->comm->n_running++;
    post->next_arrived = post->comm->clique->arrived;
    post->comm->clique->arrived = post;
}

bool fake_meet(fake_post *post)
{
    if (!post->comm->is_alive)
        return true;
    arrive(post);
    if (!post->has_arrived)
        return false;
    for (int i = 0; i < post->n; i++) {
        fake_op *op = &post->ops[i];
        if (!can_do(post, op))
            continue;
        if (op->peer >= 0)
            pass(op, find_partner(post, op, op->peer));
        else
            meet_all(post, op);
    }
    return is_over(post);
}
