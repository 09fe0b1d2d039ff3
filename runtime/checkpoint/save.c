/* Saving: each rank its file, then the first the manifest. */
#define _POSIX_C_SOURCE 200809L
#include "runtime/checkpoint/internal.h"

#include "runtime/base/memory.h"
#include "runtime/checkpoint/ranks.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* By the first rank: the folder, and the number behind that of what is there.
 */
static czr_status begin(czr_engine *engine, const char *folder, int64_t *save)
{
    czr_manifest before;
    bool is_found;

    if (mkdir(folder, 0777) != 0 && errno != EEXIST)
        return czr_engine_refuse(engine, CZR_ERR_FILE,
                                 "folder %s cannot be made: %s", folder,
                                 strerror(errno));
    const czr_status status =
        czr_manifest_read(engine, folder, &is_found, &before);
    *save = before.save + 1;
    czr_manifest_fini(&before);
    return status;
}

/* What all ranks have written, in words that are added up. */
static czr_status share_files(czr_engine *engine, const czr_saved_file *own,
                              czr_manifest *out)
{
    const size_t n = (size_t)engine->world->size, rank = (size_t)engine->rank;
    int64_t *words = czr_alloc(2 * n, sizeof *words);

    out->files = czr_alloc(n, sizeof *out->files);
    if (!words || !out->files) {
        czr_free(words);
        return czr_engine_refuse(engine, CZR_ERR_NO_MEMORY,
                                 "no memory for a manifest");
    }
    memset(words, 0, 2 * n * sizeof *words);
    words[2 * rank] = own->bytes;
    words[2 * rank + 1] = own->sum;
    const czr_status status = czr_handshake_sum(engine, words, 2 * n);
    for (size_t i = 0; i < n; i++)
        out->files[i] = (czr_saved_file){words[2 * i], words[2 * i + 1]};
    out->n_files = (int)n;
    czr_free(words);
    return status;
}

static czr_status list_tensors(czr_engine *engine, czr_manifest *out)
{
    const int n = czr_checkpoint_count(engine);
    czr_status status = CZR_OK;

    out->tensors = czr_alloc((size_t)n + 1, sizeof *out->tensors);
    if (!out->tensors)
        return czr_engine_refuse(engine, CZR_ERR_NO_MEMORY,
                                 "no memory for a manifest");
    for (int i = 0; i < n && status == CZR_OK; i++) {
        czr_saved_tensor *to = &out->tensors[i];
        czr_checkpoint_tensor tensor;
        status = czr_checkpoint_get(engine, i, &tensor);
        czr_key_of(&tensor, to->key);
        to->dtype = tensor.dtype;
        to->n_dims = tensor.n_dims;
        memcpy(to->shape, tensor.shape, sizeof to->shape);
    }
    out->n_tensors = n;
    return status;
}

/* What other saves have left in the folder, also those that broke off. */
static void remove_others(const char *folder, int64_t save)
{
    DIR *all = opendir(folder);

    for (struct dirent *e; all && (e = readdir(all)) != NULL;) {
        char path[CZR_PATH_BYTES];
        long long number;
        int rank, n = 0;
        if (sscanf(e->d_name, "save%lld.rank%d.safetensors%n", &number, &rank,
                   &n) != 2 ||
            n == 0 || (number == save && !e->d_name[n]))
            continue;
        if (e->d_name[n] && strcmp(e->d_name + n, ".part") != 0)
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        unlink(path);
    }
    if (all)
        closedir(all);
}

static czr_status finish(czr_engine *engine, const char *folder,
                         czr_manifest *manifest)
{
    czr_status status = czr_step_get(engine, &manifest->step);

    if (status == CZR_OK)
        status = list_tensors(engine, manifest);
    if (status == CZR_OK)
        status = czr_manifest_write(engine, folder, manifest);
    if (status == CZR_OK)
        remove_others(folder, manifest->save);
    return status;
}

czr_status czr_save(czr_engine *engine, const char *folder)
{
    czr_manifest manifest = {.save = 0};
    czr_saved_file own = {0, 0};
    czr_status status = czr_ranks_ready(engine, folder);

    if (status != CZR_OK)
        return status;
    if (czr_phase_any_absent(engine))
        return czr_engine_refuse(engine, CZR_ERR_STATE,
                                 "parameters have missed updates, which files "
                                 "do not say: czr_param_step_get");
    const bool is_first = engine->rank == 0;
    status = is_first ? begin(engine, folder, &manifest.save) : CZR_OK;
    status = czr_ranks_agree(engine, status, "begin a checkpoint");
    if (status == CZR_OK)
        status = czr_handshake_sum(engine, &manifest.save, 1);
    if (status == CZR_OK) {
        status = czr_tensors_write(engine, folder, manifest.save, &own);
        status = czr_ranks_agree(engine, status, "write its file");
    }
    if (status == CZR_OK)
        status = share_files(engine, &own, &manifest);
    if (status == CZR_OK) {
        status = is_first ? finish(engine, folder, &manifest) : CZR_OK;
        status = czr_ranks_agree(engine, status, "write the manifest");
    }
    czr_manifest_fini(&manifest);
    return status;
}
