/* A rank's file: safetensors, whose header is 8 bytes of its length and JSON.
 */
#define _POSIX_C_SOURCE 200809L
#include "runtime/checkpoint/internal.h"

#include "runtime/base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BUFFER_BYTES = 1 << 20, LENGTH_BYTES = 8, ENTRY_BYTES = 1536 };

static const char head[] = "{\"__metadata__\":{\"format\":\"canzona\"}";

/* ---- sums --------------------------------------------------------------- */

/* Of all bytes, in words of 8; what is left counts with zeros. */
static uint64_t add_bytes(uint64_t sum, const unsigned char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i += 8) {
        uint64_t word = 0;
        memcpy(&word, bytes + i, n - i < 8 ? n - i : 8);
        sum = (sum ^ word) * UINT64_C(0x9e3779b97f4a7c15);
        sum ^= sum >> 29;
    }
    return sum;
}

int64_t czr_sum_of(const void *bytes, size_t n)
{
    return (int64_t)(add_bytes(0, bytes, n) >> 1);
}

/* ---- writing ------------------------------------------------------------ */

typedef struct writer {
    int file;
    unsigned char *buffer; /* [BUFFER_BYTES] */
    size_t n;
    int64_t bytes;
    uint64_t sum;
    int error; /* errno of the first failure */
} writer;

static void flush(writer *w)
{
    w->sum = add_bytes(w->sum, w->buffer, w->n);
    w->bytes += (int64_t)w->n;
    for (size_t done = 0; done < w->n && !w->error;) {
        const ssize_t n = write(w->file, w->buffer + done, w->n - done);
        if (n < 0 && errno != EINTR)
            w->error = errno;
        done += n > 0 ? (size_t)n : 0;
    }
    w->n = 0;
}

static void put(writer *w, const void *bytes, size_t n)
{
    const unsigned char *from = bytes;

    while (n > 0) {
        const size_t room = BUFFER_BYTES - w->n, some = n < room ? n : room;
        memcpy(w->buffer + w->n, from, some);
        w->n += some;
        from += some;
        n -= some;
        if (w->n == BUFFER_BYTES)
            flush(w);
    }
}

static void put_box(writer *w, const czr_checkpoint_box *box, int n_dims,
                    size_t element)
{
    const int64_t n = czr_count_of(n_dims, box->shape);
    const int last = n_dims - 1;
    const bool is_run = n_dims > 0 && box->strides[last] == 1;
    const int64_t row = is_run ? box->shape[last] : 1;

    for (int64_t i = 0; i < n; i += row) {
        int64_t rest = i, at = 0;
        for (int d = last; d >= 0; d--) {
            at += rest % box->shape[d] * box->strides[d];
            rest /= box->shape[d];
        }
        put(w, (const unsigned char *)box->data + (ptrdiff_t)element * at,
            (size_t)row * element);
    }
}

static bool is_whole(const czr_checkpoint_tensor *tensor,
                     const czr_checkpoint_box *box)
{
    return !memcmp(box->shape, tensor->shape,
                   (size_t)tensor->n_dims * sizeof *box->shape);
}

static bool print_box(char *text, size_t size, size_t *n,
                      const czr_checkpoint_tensor *tensor,
                      const czr_checkpoint_box *box, int64_t *offset)
{
    char key[CZR_KEY_BYTES];
    const int64_t bytes = czr_count_of(tensor->n_dims, box->shape) *
                          (int64_t)czr_dtype_bytes(tensor->dtype);

    czr_key_of(tensor, key);
    bool ok = czr_print(text, size, n, ",\"%s", key);
    if (!is_whole(tensor, box))
        ok = ok && czr_print(text, size, n, "@") &&
             czr_print_numbers(text, size, n, box->start, tensor->n_dims);
    ok = ok &&
         czr_print(text, size, n, "\":{\"dtype\":\"%s\",\"shape\":[",
                   czr_dtype_label(tensor->dtype)) &&
         czr_print_numbers(text, size, n, box->shape, tensor->n_dims) &&
         czr_print(text, size, n, "],\"data_offsets\":[%lld,%lld]}",
                   (long long)*offset, (long long)(*offset + bytes));
    *offset += bytes;
    return ok;
}

/* Calls `hear` for each main box of this rank that has an element. */
static czr_status each_box(czr_engine *engine,
                           bool (*hear)(void *user,
                                        const czr_checkpoint_tensor *tensor,
                                        const czr_checkpoint_box *box),
                           void *user)
{
    czr_status status = CZR_OK;

    for (int i = 0; i < czr_checkpoint_count(engine) && status == CZR_OK; i++) {
        czr_checkpoint_tensor tensor;
        status = czr_checkpoint_get(engine, i, &tensor);
        for (int64_t k = 0;
             status == CZR_OK && tensor.is_main && k < tensor.n_boxes; k++) {
            czr_checkpoint_box box;
            status = czr_checkpoint_get_box(engine, i, k, &box);
            if (status == CZR_OK &&
                czr_count_of(tensor.n_dims, box.shape) > 0 &&
                !hear(user, &tensor, &box))
                status = czr_engine_refuse(engine, CZR_ERR_NO_MEMORY,
                                           "no memory for a header");
        }
    }
    return status;
}

typedef struct header {
    char *text;
    size_t n, size;
    int64_t offset;
} header;

static bool note_box(void *user, const czr_checkpoint_tensor *tensor,
                     const czr_checkpoint_box *box)
{
    header *h = user;

    if (h->size - h->n < ENTRY_BYTES) {
        char *more = czr_alloc(2 * h->size, 1);
        if (!more)
            return false;
        memcpy(more, h->text, h->n);
        czr_free(h->text);
        h->text = more;
        h->size *= 2;
    }
    return print_box(h->text, h->size, &h->n, tensor, box, &h->offset);
}

static bool write_box(void *user, const czr_checkpoint_tensor *tensor,
                      const czr_checkpoint_box *box)
{
    put_box(user, box, tensor->n_dims, czr_dtype_bytes(tensor->dtype));
    return true;
}

/* The header, padded so that data begin at a multiple of 8 bytes. */
static czr_status put_header(czr_engine *engine, writer *w)
{
    header h = {.size = 1 << 16};

    h.text = czr_alloc(h.size, 1);
    if (!h.text)
        return czr_engine_refuse(engine, CZR_ERR_NO_MEMORY,
                                 "no memory for a header");
    czr_print(h.text, h.size, &h.n, "%s", head);
    const czr_status status = each_box(engine, note_box, &h);
    if (status == CZR_OK) {
        h.text[h.n++] = '}';
        while (h.n % LENGTH_BYTES)
            h.text[h.n++] = ' ';
        const uint64_t length = h.n;
        put(w, &length, sizeof length);
        put(w, h.text, h.n);
    }
    czr_free(h.text);
    return status;
}

static czr_status refuse_file(czr_engine *engine, const char *path,
                              const char *what, int error)
{
    return czr_engine_refuse(engine, CZR_ERR_FILE, "%s cannot be %s: %s", path,
                             what, strerror(error));
}

static czr_status write_all(czr_engine *engine, writer *w, const char *path)
{
    czr_status status = put_header(engine, w);

    if (status == CZR_OK)
        status = each_box(engine, write_box, w);
    if (status == CZR_OK)
        flush(w);
    if (!w->error && fsync(w->file) != 0)
        w->error = errno;
    if (status == CZR_OK && w->error)
        status = refuse_file(engine, path, "written", w->error);
    return status;
}

czr_status czr_tensors_write(czr_engine *engine, const char *folder,
                             int64_t save, czr_saved_file *out)
{
    char name[CZR_FILE_NAME_BYTES], path[CZR_PATH_BYTES],
        temporary[CZR_PATH_BYTES];
    writer w = {.buffer = czr_alloc(BUFFER_BYTES, 1)};

    if (!w.buffer)
        return czr_engine_refuse(engine, CZR_ERR_NO_MEMORY,
                                 "no memory to write a file");
    czr_file_name(save, engine->rank, name);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    snprintf(temporary, sizeof temporary, "%s/%s.part", folder, name);
    w.file = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    czr_status status = w.file < 0
                            ? refuse_file(engine, temporary, "made", errno)
                            : write_all(engine, &w, temporary);
    if (w.file >= 0 && close(w.file) != 0 && status == CZR_OK)
        status = refuse_file(engine, temporary, "written", errno);
    if (status == CZR_OK && rename(temporary, path) != 0)
        status = refuse_file(engine, temporary, "renamed", errno);
    if (status != CZR_OK && w.file >= 0)
        unlink(temporary);
    *out = (czr_saved_file){w.bytes, (int64_t)(w.sum >> 1)};
    czr_free(w.buffer);
    return status;
}

/* ---- reading ------------------------------------------------------------ */

czr_status czr_tensors_open(czr_engine *engine, const char *path,
                            czr_mapped *out)
{
    struct stat info;
    const int file = open(path, O_RDONLY | O_CLOEXEC);

    *out = (czr_mapped){0};
    if (file < 0)
        return refuse_file(engine, path, "opened", errno);
    int error = fstat(file, &info) == 0 ? 0 : errno;
    if (!error && info.st_size > 0) {
        void *bytes =
            mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, file, 0);
        if (bytes == MAP_FAILED)
            error = errno;
        else
            *out = (czr_mapped){bytes, (size_t)info.st_size};
    }
    close(file);
    return error ? refuse_file(engine, path, "read", error) : CZR_OK;
}

void czr_tensors_close(czr_mapped *mapped)
{
    if (mapped->bytes)
        munmap(mapped->bytes, mapped->n);
    *mapped = (czr_mapped){0};
}

/* NAME[#STATE][@i,j] */
static bool split_key(czr_saved_box *box)
{
    char *start = strchr(box->key, '@');
    const char *at = start ? start + 1 : NULL, *end;

    if (!start)
        return true;
    end = at + strlen(at);
    for (int d = 0; d < box->n_dims; d++)
        if ((d > 0 && !czr_take(&at, end, ",")) ||
            !czr_take_number(&at, end, &box->start[d]))
            return false;
    *start = '\0';
    return at == end;
}

static bool take_box(const char **at, const char *end, czr_saved_box *box,
                     int64_t *first, int64_t *last)
{
    const int most = (int)(sizeof box->shape / sizeof *box->shape);

    return czr_take(at, end, ",\"") &&
           czr_take_text(at, end, box->key, sizeof box->key) &&
           czr_take(at, end, "\":{\"dtype\":\"") &&
           czr_take_dtype(at, end, &box->dtype) &&
           czr_take(at, end, ",\"shape\":") &&
           czr_take_numbers(at, end, box->shape, most, &box->n_dims) &&
           czr_take(at, end, ",\"data_offsets\":[") &&
           czr_take_number(at, end, first) && czr_take(at, end, ",") &&
           czr_take_number(at, end, last) && czr_take(at, end, "]}") &&
           split_key(box);
}

czr_status czr_tensors_next(czr_engine *engine, const char *path,
                            const czr_mapped *mapped, size_t *at,
                            czr_saved_box *out)
{
    uint64_t length = 0;
    int64_t first, last;

    *out = (czr_saved_box){.data = NULL};
    if (mapped->n >= LENGTH_BYTES)
        memcpy(&length, mapped->bytes, LENGTH_BYTES);
    const char *text = (const char *)mapped->bytes + LENGTH_BYTES;
    const bool has_header =
        mapped->n >= LENGTH_BYTES && length <= mapped->n - LENGTH_BYTES;
    const char *end = has_header ? text + length : text, *from = text + *at;
    bool ok = has_header && (*at > 0 || czr_take(&from, end, head));
    if (ok && czr_take(&from, end, "}")) {
        *at = 0;
        return CZR_OK;
    }
    ok = ok && take_box(&from, end, out, &first, &last);
    const int64_t n = ok ? czr_count_of(out->n_dims, out->shape) : -1;
    const int64_t room = (int64_t)(mapped->n - LENGTH_BYTES - length);
    int64_t bytes;
    if (n < 0 ||
        __builtin_mul_overflow(n, (int64_t)czr_dtype_bytes(out->dtype),
                               &bytes) ||
        last > room || first > last || last - first != bytes)
        return czr_engine_refuse(engine, CZR_ERR_FILE,
                                 "%s is no file of a checkpoint", path);
    out->data = mapped->bytes + LENGTH_BYTES + length + first;
    *at = (size_t)(from - text);
    return CZR_OK;
}
