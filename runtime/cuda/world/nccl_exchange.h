/* Inside the world of NCCL: one unit under way, and groups of sends and
 * receives between its members. */
#ifndef CZR_CUDA_WORLD_NCCL_EXCHANGE_H
#define CZR_CUDA_WORLD_NCCL_EXCHANGE_H

#include "runtime/cuda/collect/box.h"
#include "runtime/cuda/world/nccl_internal.h"

/* The first failure stays: what comes behind it does nothing. */
typedef struct czr_nccl_work {
    czr_world_nccl *world;
    czr_nccl_member *member;
    const czr_collective *collective;
    void *stream;
    int self, size;
    czr_status status;
} czr_nccl_work;

/* Of what a member sent, of what is sent to one, and of packed boxes. */
unsigned char *czr_nccl_slot(const czr_nccl_work *work, int member);
unsigned char *czr_nccl_send_buffer(const czr_nccl_work *work, int member);
unsigned char *czr_nccl_boxes(const czr_nccl_work *work);

void czr_nccl_copy(czr_nccl_work *work, const void *to, const void *from,
                   size_t bytes);
/* For boxes on the work's stream; what they end with is the work's status. */
czr_boxes czr_nccl_boxes_of(const czr_nccl_work *work);

/* A group: what is put between these two goes on together; false: nothing may
 * be put.  The end waits until NCCL has taken it. */
bool czr_nccl_begin(czr_nccl_work *work);
void czr_nccl_end(czr_nccl_work *work);
/* In a group. */
void czr_nccl_send(czr_nccl_work *work, const void *from, size_t bytes,
                   int peer);
void czr_nccl_receive(czr_nccl_work *work, void *to, size_t bytes, int peer);
/* Keeps what a call of NCCL's gave. */
void czr_nccl_keep(czr_nccl_work *work, int code);

/* A group of the member's pieces to and from all other members. */
void czr_nccl_exchange(czr_nccl_work *work);
/* `bytes` from slot `self` to all, and as many from each to its slot. */
void czr_nccl_all_slots(czr_nccl_work *work, size_t bytes);
/* Slot `self` becomes the sum of n elements of all slots. */
void czr_nccl_sum(czr_nccl_work *work, czr_sum type, size_t n);
/* Whether the member's shares are alike and lie one behind the other. */
bool czr_nccl_are_equal(const czr_nccl_work *work);

/* nccl_sum.c: units of these kinds. */
void czr_nccl_reduce_scatter(czr_nccl_work *work);
void czr_nccl_all_reduce(czr_nccl_work *work);
void czr_nccl_sum_scatter(czr_nccl_work *work);
void czr_nccl_band_gather(czr_nccl_work *work);

/* nccl_boxes.c */
void czr_nccl_transfer(czr_nccl_work *work);

#endif
