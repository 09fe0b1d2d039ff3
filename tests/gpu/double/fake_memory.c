/* Memory of the double's device: of the host, under addresses that are none
 * there, and full of NaN. */
#include "tests/gpu/double/fake_state.h"

#include <stdlib.h>
#include <string.h>

#define DEVICE_TAG (UINT64_C(1) << 62)
enum { POISON = 0xff, ALIGN = 256, DEFAULT_MEMORY = 1 << 26 };

static size_t memory_bytes = DEFAULT_MEMORY;
static bool is_shared;
static int64_t n_gone; /* copies and fills whose memory had been freed */

int64_t fake_gone(void)
{
    return n_gone;
}

void fake_set_memory(size_t bytes)
{
    memory_bytes = bytes;
}

static size_t used(void)
{
    size_t bytes = 0;

    for (const fake_object *o = fake_first(BLOCK); o; o = o->next)
        bytes += ((const fake_block *)o)->bytes;
    return bytes;
}

static void delete_block(fake_block *block)
{
    free(block->host);
    fake_delete(block);
}

void fake_memory_reset(void)
{
    for (int kind = BLOCK; kind <= PINNED; kind++)
        while (fake_first((enum fake_kind)kind))
            delete_block((fake_block *)fake_first((enum fake_kind)kind));
    memory_bytes = DEFAULT_MEMORY;
    is_shared = false;
    n_gone = 0;
}

static fake_block *find_block(fake_kind kind, uint64_t address, size_t bytes)
{
    for (fake_object *o = fake_first(kind); o; o = o->next) {
        fake_block *block = (struct fake_block *)o;
        const uint64_t first = (uint64_t)(uintptr_t)block->host;
        if (address >= first && bytes <= block->bytes &&
            address - first <= block->bytes - bytes)
            return block;
    }
    return NULL;
}

void fake_share_addresses(void)
{
    is_shared = true;
}

static bool is_device(uint64_t address)
{
    return is_shared ? find_block(BLOCK, address, 0) != NULL
                     : (address & DEVICE_TAG) != 0;
}

int fake_is_reachable(uint64_t address)
{
    return is_device(address)
               ? find_block(BLOCK, address & ~DEVICE_TAG, 0) != NULL
               : find_block(PINNED, address, 0) != NULL;
}

unsigned char *fake_find(uint64_t address, size_t bytes)
{
    const uint64_t host = address & ~DEVICE_TAG;

    if (!is_device(address))
        return (unsigned char *)(uintptr_t)host;
    return find_block(BLOCK, host, bytes) ? (unsigned char *)(uintptr_t)host
                                          : NULL;
}

void *fake_at(uint64_t address, size_t bytes)
{
    unsigned char *found =
        is_device(address) ? fake_find(address, bytes) : NULL;

    if (!found)
        fake_lose(CZR_CUDA_ILLEGAL_ADDRESS);
    return found;
}

static fake_block *new_block(fake_kind kind, size_t bytes)
{
    fake_block *block = fake_new(kind, sizeof *block);

    block->bytes = bytes;
    block->host = aligned_alloc(ALIGN, (bytes + ALIGN - 1) / ALIGN * ALIGN);
    if (!block->host)
        abort();
    memset(block->host, POISON, bytes);
    return block;
}

int cuMemGetInfo_v2(size_t *available, size_t *total)
{
    FAKE_ENTER_CONTEXT("cuMemGetInfo_v2");
    *total = memory_bytes;
    *available = memory_bytes - used();
    return CZR_CUDA_SUCCESS;
}

int cuMemAlloc_v2(uint64_t *address, size_t bytes)
{
    FAKE_ENTER_CONTEXT("cuMemAlloc_v2");
    if (fake_capture_forbids())
        return CZR_CUDA_STREAM_CAPTURE_UNSUPPORTED;
    if (!bytes)
        return CZR_CUDA_INVALID_VALUE;
    if (bytes > memory_bytes - used())
        return CZR_CUDA_OUT_OF_MEMORY;
    *address = (uint64_t)(uintptr_t)new_block(BLOCK, bytes)->host;
    if (!is_shared)
        *address |= DEVICE_TAG;
    return CZR_CUDA_SUCCESS;
}

/* Does not wait for what still uses it. */
int cuMemFree_v2(uint64_t address)
{
    const int code = fake_enter_context("cuMemFree_v2");
    fake_block *block =
        is_device(address) ? find_block(BLOCK, address & ~DEVICE_TAG, 0) : NULL;

    if (!block || (uint64_t)(uintptr_t)block->host != (address & ~DEVICE_TAG))
        return CZR_CUDA_INVALID_VALUE;
    delete_block(block);
    return code;
}

int cuMemAllocHost_v2(void **memory, size_t bytes)
{
    FAKE_ENTER_CONTEXT("cuMemAllocHost_v2");
    if (fake_capture_forbids())
        return CZR_CUDA_STREAM_CAPTURE_UNSUPPORTED;
    if (!bytes)
        return CZR_CUDA_INVALID_VALUE;
    *memory = new_block(PINNED, bytes)->host;
    return CZR_CUDA_SUCCESS;
}

int cuMemFreeHost(void *memory)
{
    const int code = fake_enter_context("cuMemFreeHost");
    fake_block *block = find_block(PINNED, (uint64_t)(uintptr_t)memory, 0);

    if (!block || block->host != memory)
        return CZR_CUDA_INVALID_VALUE;
    delete_block(block);
    return code;
}

/* Bytes from the first to the last of rows so far apart. */
static size_t reach(const fake_node *node, size_t stride)
{
    return node->n_rows > 1 ? (node->n_rows - 1) * stride + node->bytes
                            : node->bytes;
}

static void set_ends(fake_node *node, uint64_t to, uint64_t from)
{
    node->to = to;
    node->from = from;
    node->is_to_device = is_device(to);
    node->is_from_device = is_device(from);
}

/* What was the device's when it was put, and still is there. */
static unsigned char *find_end(uint64_t address, bool was_device, size_t bytes)
{
    return was_device && !is_device(address) ? NULL : fake_find(address, bytes);
}

/* When its stream has come to it. */
void fake_carry_out(const fake_node *node)
{
    unsigned char *to =
        find_end(node->to, node->is_to_device, reach(node, node->to_stride));
    const unsigned char *from = node->staged
                                    ? node->staged
                                    : find_end(node->from, node->is_from_device,
                                               reach(node, node->from_stride));

    if (!to || (node->kind == COPY && !from)) {
        n_gone++;
        fake_lose(CZR_CUDA_ILLEGAL_ADDRESS);
        return;
    }
    if (node->kind == FILL)
        memset(to, node->value, node->bytes);
    for (size_t i = 0; node->kind == COPY && i < node->n_rows; i++)
        memmove(to + i * node->to_stride, from + i * node->from_stride,
                node->bytes);
}

static bool is_unpinned(uint64_t address, size_t bytes)
{
    return !is_device(address) && !find_block(PINNED, address, bytes);
}

/* A run that begins in pinned memory and ends behind it is refused. */
static bool is_half_pinned(uint64_t address, size_t bytes)
{
    return find_block(PINNED, address, 1) && is_unpinned(address, bytes);
}

int cuMemcpyAsync(uint64_t to, uint64_t from, size_t bytes, void *handle)
{
    fake_stream *stream = fake_stream_of(handle);

    int code = fake_enter_context("cuMemcpyAsync");
    if (code)
        return code;
    if (!stream)
        return CZR_CUDA_INVALID_HANDLE;
    if (!fake_find(to, bytes) || !fake_find(from, bytes) ||
        is_half_pinned(to, bytes) || is_half_pinned(from, bytes))
        return CZR_CUDA_INVALID_VALUE;
    fake_node *node = fake_make(COPY);
    set_ends(node, to, from);
    node->bytes = bytes;
    node->n_rows = 1;
    if (!stream->capture && is_unpinned(from, bytes)) {
        node->staged = fake_take(bytes);
        memcpy(node->staged, fake_find(from, bytes), bytes);
    }
    fake_note(FAKE_COPY, stream, NULL, 0);
    code = fake_push(stream, node);
    if (!code && !stream->capture && is_unpinned(to, bytes))
        fake_finish(stream);
    return code ? code : fake_lost();
}

/* Of the device alone, without arrays. */
int cuMemcpy2DAsync_v2(const czr_copy_box *box, void *handle)
{
    const czr_copy_side *sides[] = {&box->from, &box->to};

    FAKE_ENTER_CONTEXT("cuMemcpy2DAsync_v2");
    if (!fake_is(handle, STREAM))
        return CZR_CUDA_INVALID_HANDLE;
    fake_node *node = fake_make(COPY);
    set_ends(node, box->to.address, box->from.address);
    node->bytes = box->row_bytes;
    node->n_rows = box->n_rows;
    node->to_stride = box->to.stride;
    node->from_stride = box->from.stride;
    for (int i = 0; i < 2; i++)
        if (sides[i]->type != CZR_MEMORY_TYPE_DEVICE || sides[i]->column ||
            sides[i]->row || sides[i]->stride < box->row_bytes ||
            !is_device(sides[i]->address) ||
            !fake_find(sides[i]->address, reach(node, sides[i]->stride))) {
            fake_node_drop(node);
            return CZR_CUDA_INVALID_VALUE;
        }
    fake_note(FAKE_COPY, handle, NULL, 0);
    return fake_push(handle, node);
}

int cuMemsetD8Async(uint64_t to, unsigned char value, size_t bytes,
                    void *handle)
{
    FAKE_ENTER_CONTEXT("cuMemsetD8Async");
    if (!fake_is(handle, STREAM))
        return CZR_CUDA_INVALID_HANDLE;
    if (!is_device(to) || !fake_find(to, bytes))
        return CZR_CUDA_INVALID_VALUE;
    fake_node *node = fake_make(FILL);
    set_ends(node, to, 0);
    node->value = value;
    node->bytes = bytes;
    fake_note(FAKE_COPY, handle, NULL, 0);
    return fake_push(handle, node);
}
