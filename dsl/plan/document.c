/* What follows from a document's own numbers. */
#include "dsl/plan/document.h"

#include "dsl/base/checked.h"

/* Equal slices are rounded up to so many elements; the last may be short. */
enum { SLICE_ALIGN = 64 };

void cz_document_measure_slices(cz_document_bucket *bucket,
                                const int64_t *bounds, int64_t *own)
{
    const int64_t mean = cz_ceil_div(bucket->length, bucket->n_slices);
    const int64_t step =
        cz_metrics_equal_step(bucket->length, bucket->n_slices);
    bucket->own = own;
    for (int i = 0; i < bucket->n_slices; i++) {
        const int64_t start =
            i * step < bucket->length ? i * step : bucket->length;
        const int64_t end =
            start + step < bucket->length ? start + step : bucket->length;
        const int64_t low = start > bounds[i] ? start : bounds[i];
        const int64_t high = end < bounds[i + 1] ? end : bounds[i + 1];
        const int64_t kept = high > low ? high - low : 0;
        const int64_t most = end - start > bounds[i + 1] - bounds[i]
                                 ? end - start
                                 : bounds[i + 1] - bounds[i];
        own[i] = bounds[i + 1] - bounds[i];
        if (bucket->is_equal && most - kept > bucket->exchanged)
            bucket->exchanged = most - kept;
        if (own[i] > bucket->longest)
            bucket->longest = own[i];
        if (i == 0 || own[i] < bucket->shortest)
            bucket->shortest = own[i];
    }
    bucket->is_uneven = !bucket->is_padded && !bucket->is_equal &&
                        bucket->longest > cz_round_up(mean, SLICE_ALIGN);
}

int64_t cz_document_replicas(const cz_document *document)
{
    int64_t n = 1;
    for (int a = 0; a < document->n_axes; a++)
        n *= document->data_set >> a & 1 ? document->axes[a].size : 1;
    return n;
}
