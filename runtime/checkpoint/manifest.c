/* manifest.json: what a checkpoint is, written when all of it is there. */
#define _POSIX_C_SOURCE 200809L
#include "runtime/checkpoint/internal.h"

#include "runtime/base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FORMAT = 1, FILE_BYTES = 128, TENSOR_BYTES = 1280, MOST = 1 << 28 };

static const char name[] = "manifest.json";

/* ---- writing ------------------------------------------------------------ */

static bool print_all(const czr_manifest *m, char *text, size_t size, size_t *n)
{
    bool ok =
        czr_print(text, size, n,
                  "{\"canzona_checkpoint\":%d,\"save\":%lld,\"step\":%lld,"
                  "\n\"files\":[",
                  FORMAT, (long long)m->save, (long long)m->step);

    for (int i = 0; i < m->n_files && ok; i++)
        ok = czr_print(text, size, n, "%s\n{\"bytes\":%lld,\"sum\":%lld}",
                       i ? "," : "", (long long)m->files[i].bytes,
                       (long long)m->files[i].sum);
    ok = ok && czr_print(text, size, n, "],\n\"tensors\":[");
    for (int i = 0; i < m->n_tensors && ok; i++) {
        const czr_saved_tensor *t = &m->tensors[i];
        ok = czr_print(text, size, n,
                       "%s\n{\"name\":\"%s\",\"dtype\":\"%s\",\"shape\":[",
                       i ? "," : "", t->key, czr_dtype_label(t->dtype)) &&
             czr_print_numbers(text, size, n, t->shape, t->n_dims) &&
             czr_print(text, size, n, "]}");
    }
    ok = ok && czr_print(text, size, n, "],\n\"sum\":");
    return ok &&
           czr_print(text, size, n, "%lld}\n", (long long)czr_sum_of(text, *n));
}

/* 0, or errno. */
static int write_file(const char *path, const char *text, size_t n)
{
    const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    int error = file < 0 ? errno : 0;

    for (size_t done = 0; done < n && !error;) {
        const ssize_t some = write(file, text + done, n - done);
        if (some < 0 && errno != EINTR)
            error = errno;
        done += some > 0 ? (size_t)some : 0;
    }
    if (!error && fsync(file) != 0)
        error = errno;
    if (file >= 0 && close(file) != 0 && !error)
        error = errno;
    return error;
}

/* Names of a folder that were changed are on the disk. */
static int keep_names(const char *folder)
{
    const int file = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const int error = file < 0 || fsync(file) != 0 ? errno : 0;

    if (file >= 0)
        close(file);
    return error;
}

czr_status czr_manifest_write(czr_engine *engine, const char *folder,
                              const czr_manifest *m)
{
    const size_t size = 256 + (size_t)m->n_files * FILE_BYTES +
                        (size_t)m->n_tensors * TENSOR_BYTES;
    char path[CZR_PATH_BYTES], temporary[CZR_PATH_BYTES];
    char *text = czr_alloc(size, 1);
    size_t n = 0;

    if (!text || !print_all(m, text, size, &n)) {
        czr_free(text);
        return czr_engine_refuse(engine, CZR_ERR_NO_MEMORY,
                                 "no memory for a manifest");
    }
    snprintf(path, sizeof path, "%s/%s", folder, name);
    snprintf(temporary, sizeof temporary, "%s/%s.part", folder, name);
    /* The files that it names come first. */
    int error = keep_names(folder);
    if (!error)
        error = write_file(temporary, text, n);
    if (!error && rename(temporary, path) != 0)
        error = errno;
    if (error)
        unlink(temporary);
    else
        error = keep_names(folder);
    czr_free(text);
    return error ? czr_engine_refuse(engine, CZR_ERR_FILE,
                                     "%s cannot be written: %s", path,
                                     strerror(error))
                 : CZR_OK;
}

/* ---- reading ------------------------------------------------------------ */

void czr_manifest_fini(czr_manifest *m)
{
    czr_free(m->files);
    czr_free(m->tensors);
    *m = (czr_manifest){0};
}

/* Twice: how many there are, then what they are. */
static bool take_files(const char **at, const char *end, czr_manifest *m)
{
    int n = 0;

    for (; !czr_take(at, end, "],"); n++) {
        int64_t bytes, sum;
        if ((n > 0 && !czr_take(at, end, ",")) || n == MOST ||
            !czr_take(at, end, "\n{\"bytes\":") ||
            !czr_take_number(at, end, &bytes) ||
            !czr_take(at, end, ",\"sum\":") ||
            !czr_take_number(at, end, &sum) || !czr_take(at, end, "}"))
            return false;
        if (m->files)
            m->files[n] = (czr_saved_file){bytes, sum};
    }
    m->n_files = n;
    return true;
}

static bool take_tensors(const char **at, const char *end, czr_manifest *m)
{
    int n = 0;

    for (; !czr_take(at, end, "],"); n++) {
        czr_saved_tensor t = {.n_dims = 0};
        if ((n > 0 && !czr_take(at, end, ",")) || n == MOST ||
            !czr_take(at, end, "\n{\"name\":\"") ||
            !czr_take_text(at, end, t.key, sizeof t.key) ||
            !czr_take(at, end, "\",\"dtype\":\"") ||
            !czr_take_dtype(at, end, &t.dtype) ||
            !czr_take(at, end, ",\"shape\":") ||
            !czr_take_numbers(at, end, t.shape, 8, &t.n_dims) ||
            !czr_take(at, end, "}"))
            return false;
        if (m->tensors)
            m->tensors[n] = t;
    }
    m->n_tensors = n;
    return true;
}

static bool take_all(const char *text, const char *end, czr_manifest *m)
{
    const char *at = text;
    int64_t format, sum;

    if (!czr_take(&at, end, "{\"canzona_checkpoint\":") ||
        !czr_take_number(&at, end, &format) || format != FORMAT ||
        !czr_take(&at, end, ",\"save\":") ||
        !czr_take_number(&at, end, &m->save) ||
        !czr_take(&at, end, ",\"step\":") ||
        !czr_take_number(&at, end, &m->step) ||
        !czr_take(&at, end, ",\n\"files\":[") || !take_files(&at, end, m) ||
        !czr_take(&at, end, "\n\"tensors\":[") || !take_tensors(&at, end, m) ||
        !czr_take(&at, end, "\n\"sum\":"))
        return false;
    const int64_t own = czr_sum_of(text, (size_t)(at - text));
    return czr_take_number(&at, end, &sum) && sum == own &&
           czr_take(&at, end, "}\n") && at == end;
}

czr_status czr_manifest_read(czr_engine *engine, const char *folder,
                             bool *is_found, czr_manifest *out)
{
    char path[CZR_PATH_BYTES];
    struct stat info;
    czr_mapped mapped;

    *out = (czr_manifest){0};
    snprintf(path, sizeof path, "%s/%s", folder, name);
    *is_found = stat(path, &info) == 0 || errno != ENOENT;
    if (!*is_found)
        return CZR_OK;
    czr_status status = czr_tensors_open(engine, path, &mapped);
    if (status != CZR_OK)
        return status;
    const char *text = (const char *)mapped.bytes, *end = text + mapped.n;
    bool ok = mapped.n > 0 && take_all(text, end, out);
    if (ok) {
        out->files = czr_alloc((size_t)out->n_files + 1, sizeof *out->files);
        out->tensors =
            czr_alloc((size_t)out->n_tensors + 1, sizeof *out->tensors);
        if (!out->files || !out->tensors)
            status = czr_engine_refuse(engine, CZR_ERR_NO_MEMORY,
                                       "no memory for a manifest");
        else
            take_all(text, end, out);
    } else {
        status = czr_engine_refuse(engine, CZR_ERR_FILE,
                                   "%s is no manifest of a checkpoint", path);
    }
    czr_tensors_close(&mapped);
    if (status != CZR_OK)
        czr_manifest_fini(out);
    return status;
}
