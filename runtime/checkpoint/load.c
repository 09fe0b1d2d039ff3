/* Loading: whatever ranks saved, each takes what its boxes cover.  All is
 * looked at before anything is written. */
#include "runtime/checkpoint/internal.h"

#include "runtime/base/memory.h"
#include "runtime/checkpoint/ranks.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct loading {
    czr_engine *engine;
    const char *folder;
    czr_manifest manifest;
    czr_mapped *files;              /* [n_files] */
    czr_checkpoint_tensor *tensors; /* [n] of the engine */
    int *sorted;                    /* [n] numbers of them, by their keys */
    int64_t *missing;               /* [n] elements of boxes, not yet found */
    int n;
} loading;

static czr_status refuse(loading *l, const char *key, const char *what)
{
    return czr_engine_refuse(l->engine, CZR_ERR_FILE, "%s: %s %s", l->folder,
                             key, what);
}

/* ---- tensors ------------------------------------------------------------ */

typedef struct named {
    char key[CZR_KEY_BYTES];
    int number;
} named;

static int compare_names(const void *a, const void *b)
{
    return strcmp(((const named *)a)->key, ((const named *)b)->key);
}

static czr_status sort_tensors(loading *l)
{
    named *all = czr_alloc((size_t)l->n + 1, sizeof *all);

    if (!all)
        return CZR_ERR_NO_MEMORY;
    for (int i = 0; i < l->n; i++) {
        czr_key_of(&l->tensors[i], all[i].key);
        all[i].number = i;
    }
    qsort(all, (size_t)l->n, sizeof *all, compare_names);
    for (int i = 0; i < l->n; i++)
        l->sorted[i] = all[i].number;
    czr_free(all);
    return CZR_OK;
}

/* -1: none. */
static int find(const loading *l, const char *key)
{
    int low = 0, high = l->n;

    while (low < high) {
        const int middle = low + (high - low) / 2;
        char theirs[CZR_KEY_BYTES];
        czr_key_of(&l->tensors[l->sorted[middle]], theirs);
        const int order = strcmp(key, theirs);
        if (order == 0)
            return l->sorted[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return -1;
}

static czr_status take_tensors(loading *l)
{
    czr_status status = CZR_OK;

    l->n = czr_checkpoint_count(l->engine);
    l->tensors = czr_alloc((size_t)l->n + 1, sizeof *l->tensors);
    l->sorted = czr_alloc((size_t)l->n + 1, sizeof *l->sorted);
    l->missing = czr_alloc((size_t)l->n + 1, sizeof *l->missing);
    l->files = czr_alloc((size_t)l->manifest.n_files + 1, sizeof *l->files);
    if (!l->tensors || !l->sorted || !l->missing || !l->files)
        return CZR_ERR_NO_MEMORY;
    for (int i = 0; i < l->manifest.n_files; i++)
        l->files[i] = (czr_mapped){0};
    for (int i = 0; i < l->n && status == CZR_OK; i++) {
        status = czr_checkpoint_get(l->engine, i, &l->tensors[i]);
        l->missing[i] = 0;
        for (int64_t k = 0; status == CZR_OK && k < l->tensors[i].n_boxes;
             k++) {
            czr_checkpoint_box box;
            status = czr_checkpoint_get_box(l->engine, i, k, &box);
            l->missing[i] += czr_count_of(l->tensors[i].n_dims, box.shape);
        }
    }
    return status == CZR_OK ? sort_tensors(l) : status;
}

/* The manifest has just the engine's tensors. */
static czr_status compare_tensors(loading *l)
{
    for (int i = 0; i < l->manifest.n_tensors; i++) {
        const czr_saved_tensor *saved = &l->manifest.tensors[i];
        const int number = find(l, saved->key);
        if (number < 0)
            return refuse(l, saved->key, "is not in this plan");
        const czr_checkpoint_tensor *own = &l->tensors[number];
        if (own->dtype != saved->dtype)
            return refuse(l, saved->key, "has another type in this plan");
        if (own->n_dims != saved->n_dims ||
            memcmp(own->shape, saved->shape,
                   (size_t)own->n_dims * sizeof *own->shape) != 0)
            return refuse(l, saved->key, "has another shape in this plan");
    }
    if (l->manifest.n_tensors == l->n)
        return CZR_OK;
    return czr_engine_refuse(l->engine, CZR_ERR_FILE,
                             "%s has %d tensors, and this plan has %d",
                             l->folder, l->manifest.n_tensors, l->n);
}

/* ---- files -------------------------------------------------------------- */

static void path_of(const loading *l, int file, char path[CZR_PATH_BYTES])
{
    char name[CZR_FILE_NAME_BYTES];

    czr_file_name(l->manifest.save, file, name);
    snprintf(path, CZR_PATH_BYTES, "%s/%s", l->folder, name);
}

/* Each rank adds up some of the files: all together all. */
static czr_status map_files(loading *l)
{
    for (int i = 0; i < l->manifest.n_files; i++) {
        const bool is_own = i % l->engine->world->size == l->engine->rank;
        char path[CZR_PATH_BYTES];
        path_of(l, i, path);
        const czr_status status =
            czr_tensors_open(l->engine, path, &l->files[i]);
        if (status != CZR_OK)
            return status;
        if ((int64_t)l->files[i].n != l->manifest.files[i].bytes ||
            (is_own && czr_sum_of(l->files[i].bytes, l->files[i].n) !=
                           l->manifest.files[i].sum))
            return czr_engine_refuse(l->engine, CZR_ERR_FILE,
                                     "%s has other bytes than were saved",
                                     path);
    }
    return CZR_OK;
}

/* ---- boxes -------------------------------------------------------------- */

/* Where two boxes of a tensor meet; how many elements. */
static int64_t meet(int n_dims, const czr_saved_box *saved,
                    const czr_checkpoint_box *own, int64_t *start,
                    int64_t *shape)
{
    int64_t n = 1;

    for (int d = 0; d < n_dims; d++) {
        const int64_t a = saved->start[d], b = own->start[d];
        const int64_t end_a = a + saved->shape[d], end_b = b + own->shape[d];
        start[d] = a > b ? a : b;
        shape[d] = (end_a < end_b ? end_a : end_b) - start[d];
        if (shape[d] <= 0)
            return 0;
        n *= shape[d];
    }
    return n;
}

static void copy(int n_dims, const czr_saved_box *from,
                 const czr_checkpoint_box *to, const int64_t *start,
                 const int64_t *shape, size_t element)
{
    const int last = n_dims - 1;
    const int64_t n = czr_count_of(n_dims, shape);
    const int64_t row = n_dims && to->strides[last] == 1 ? shape[last] : 1;

    for (int64_t i = 0; i < n; i += row) {
        int64_t rest = i, at = 0, place = 0, stride = 1;
        for (int d = last; d >= 0; d--) {
            const int64_t c = start[d] + rest % shape[d];
            at += (c - from->start[d]) * stride;
            place += (c - to->start[d]) * to->strides[d];
            stride *= from->shape[d];
            rest /= shape[d];
        }
        memcpy((unsigned char *)to->data + (ptrdiff_t)element * place,
               from->data + (size_t)at * element, (size_t)row * element);
    }
}

/* Of a saved box what this rank has of it: counted, or written. */
static czr_status take_box(loading *l, const czr_saved_box *saved, bool writes)
{
    const int number = find(l, saved->key);

    if (number < 0 || l->tensors[number].dtype != saved->dtype ||
        l->tensors[number].n_dims != saved->n_dims)
        return refuse(l, saved->key, "is not in its manifest");
    const czr_checkpoint_tensor *tensor = &l->tensors[number];
    const size_t element = czr_dtype_bytes(tensor->dtype);
    czr_status status = CZR_OK;

    for (int64_t k = 0; k < tensor->n_boxes && status == CZR_OK; k++) {
        czr_checkpoint_box own;
        int64_t start[8], shape[8];
        status = czr_checkpoint_get_box(l->engine, number, k, &own);
        if (status != CZR_OK)
            break;
        const int64_t n = meet(tensor->n_dims, saved, &own, start, shape);
        l->missing[number] -= writes ? 0 : n;
        if (writes && n > 0)
            copy(tensor->n_dims, saved, &own, start, shape, element);
    }
    return status;
}

static czr_status take_boxes(loading *l, bool writes)
{
    for (int i = 0; i < l->manifest.n_files; i++) {
        char path[CZR_PATH_BYTES];
        czr_saved_box box;
        size_t at = 0;
        path_of(l, i, path);
        do {
            czr_status status =
                czr_tensors_next(l->engine, path, &l->files[i], &at, &box);
            if (status == CZR_OK && at > 0)
                status = take_box(l, &box, writes);
            if (status != CZR_OK)
                return status;
        } while (at > 0);
    }
    for (int i = 0; i < l->n && !writes; i++)
        if (l->missing[i] != 0) {
            char key[CZR_KEY_BYTES];
            czr_key_of(&l->tensors[i], key);
            return refuse(l, key, "is not there as a whole");
        }
    return CZR_OK;
}

/* ---- all ---------------------------------------------------------------- */

static czr_status look(loading *l)
{
    bool is_found;
    czr_status status =
        czr_manifest_read(l->engine, l->folder, &is_found, &l->manifest);

    if (status == CZR_OK && !is_found)
        status = czr_engine_refuse(l->engine, CZR_ERR_FILE,
                                   "%s has no manifest.json: it is no "
                                   "checkpoint, or one that is not whole",
                                   l->folder);
    if (status == CZR_OK)
        status = take_tensors(l);
    if (status == CZR_ERR_NO_MEMORY)
        return czr_engine_refuse(l->engine, status, "no memory to load");
    if (status == CZR_OK)
        status = compare_tensors(l);
    if (status == CZR_OK)
        status = map_files(l);
    return status == CZR_OK ? take_boxes(l, false) : status;
}

czr_status czr_load(czr_engine *engine, const char *folder)
{
    loading l = {.engine = engine, .folder = folder};
    czr_status status = czr_ranks_ready(engine, folder);

    if (status != CZR_OK)
        return status;
    status = czr_ranks_agree(engine, look(&l), "read the checkpoint");
    if (status == CZR_OK)
        status = take_boxes(&l, true);
    if (status == CZR_OK)
        status = czr_step_set(engine, l.manifest.step);
    for (int i = 0; i < l.manifest.n_files && l.files; i++)
        czr_tensors_close(&l.files[i]);
    czr_manifest_fini(&l.manifest);
    czr_free(l.files);
    czr_free(l.tensors);
    czr_free(l.sorted);
    czr_free(l.missing);
    return status;
}
