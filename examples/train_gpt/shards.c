/* Cutting and joining along one dimension, on a flat list of tensors. */
#include "shards.h"

#include <stdlib.h>
#include <string.h>

/* Where a shard lies in its tensor: `n_rows` runs of `run` elements, `pitch`
 * apart from `start` on. */
typedef struct cut {
    size_t n_rows, run, pitch, start;
} cut;

static cut cut_of(const shards *s, const gpt_tensor *tensor, int coordinate)
{
    const size_t rows = (size_t)tensor->rows, cols = (size_t)tensor->cols;
    const size_t size = (size_t)s->size, at = (size_t)coordinate;

    if (tensor->shard_dim == 0)
        return (cut){1, rows / size * cols, 0, at * (rows / size) * cols};
    if (tensor->shard_dim == 1)
        return (cut){rows, cols / size, cols, at * (cols / size)};
    return (cut){1, rows * cols, 0, 0};
}

size_t shards_shape(const shards *s, const gpt_tensor *tensor, int64_t shape[2])
{
    shape[0] = tensor->rows;
    shape[1] = tensor->cols;
    if (tensor->shard_dim >= 0)
        shape[tensor->shard_dim] /= s->size;
    return (size_t)shape[0] * (size_t)shape[1];
}

static size_t count_elements(const shards *s)
{
    size_t count = 0;
    int64_t shape[2];

    for (int i = 0; i < gpt_tensor_count(s->model); i++)
        count += shards_shape(s, gpt_tensor_get(s->model, i), shape);
    return count;
}

czr_status shards_open(shards *s, czr_world *world, const gpt *model)
{
    *s = (shards){.world = world,
                  .model = model,
                  .size = czr_world_extent(world, "tp"),
                  .coordinate = czr_world_coordinate(world, "tp")};
    s->count = s->size > 0 ? count_elements(s) : 0;
    if (s->count == 0)
        return CZR_ERR_ARGUMENT;
    s->params = calloc(s->count, sizeof *s->params);
    s->grads = calloc(s->count, sizeof *s->grads);
    s->gathered = calloc(s->count * (size_t)s->size, sizeof *s->gathered);
    return s->params && s->grads && s->gathered ? CZR_OK : CZR_ERR_NO_MEMORY;
}

void shards_close(shards *s)
{
    free(s->gathered);
    free(s->grads);
    free(s->params);
    *s = (shards){0};
}

void shards_cut(const shards *s, const float *whole, float *local)
{
    for (int i = 0; i < gpt_tensor_count(s->model); i++) {
        const gpt_tensor *tensor = gpt_tensor_get(s->model, i);
        const cut c = cut_of(s, tensor, s->coordinate);
        const float *from = whole + tensor->offset + c.start;
        for (size_t row = 0; row < c.n_rows; row++, local += c.run)
            memcpy(local, from + row * c.pitch, c.run * sizeof *local);
    }
}

/* One rank's shards into the whole; what is replicated arrives once from each
 * rank, alike. */
static void join(const shards *s, const float *local, int coordinate,
                 float *whole)
{
    for (int i = 0; i < gpt_tensor_count(s->model); i++) {
        const gpt_tensor *tensor = gpt_tensor_get(s->model, i);
        const cut c = cut_of(s, tensor, coordinate);
        float *to = whole + tensor->offset + c.start;
        for (size_t row = 0; row < c.n_rows; row++, local += c.run)
            memcpy(to + row * c.pitch, local, c.run * sizeof *local);
    }
}

czr_status shards_gather(shards *s, float *whole)
{
    const czr_status status = czr_world_all_gather(
        s->world, "tp", s->params, s->gathered, s->count, CZR_F32);

    for (int i = 0; status == CZR_OK && i < s->size; i++)
        join(s, s->gathered + (size_t)i * s->count, i, whole);
    return status;
}
