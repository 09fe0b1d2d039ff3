/* Files of checkpoints: private to runtime/checkpoint.
 *
 * A checkpoint is a folder: a file of each rank, in the form of safetensors,
 * and manifest.json, which names them and is written last.  Files of one save
 * have its number, so that none is written over while the manifest before names
 * it. Numbers are little-endian, as the format wants them.
 *
 * A tensor of a file is a box of one of the checkpoint: NAME of a parameter,
 * NAME#STATE of a state or master, and behind it, unless the box is all of it,
 * @i,j,... : where it begins. */
#ifndef CZR_CHECKPOINT_INTERNAL_H
#define CZR_CHECKPOINT_INTERNAL_H

#include "runtime/czr_checkpoint.h"
#include "runtime/engine/engine.h"

enum { CZR_PATH_BYTES = 4096, CZR_KEY_BYTES = 768, CZR_FILE_NAME_BYTES = 64 };

/* What the manifest says of a rank's file. */
typedef struct czr_saved_file {
    int64_t bytes, sum;
} czr_saved_file;

typedef struct czr_saved_tensor {
    char key[CZR_KEY_BYTES]; /* NAME or NAME#STATE */
    czr_dtype dtype;
    int n_dims;
    int64_t shape[8];
} czr_saved_tensor;

typedef struct czr_manifest {
    int64_t save, step;
    int n_files; /* ranks that saved */
    int n_tensors;
    czr_saved_file *files;
    czr_saved_tensor *tensors;
} czr_manifest;

/* A box as a file has it. */
typedef struct czr_saved_box {
    char key[CZR_KEY_BYTES];
    czr_dtype dtype;
    int n_dims;
    int64_t start[8], shape[8];
    const unsigned char *data; /* in the mapped file */
} czr_saved_box;

/* A file that is read: mapped, all of it. */
typedef struct czr_mapped {
    unsigned char *bytes;
    size_t n;
} czr_mapped;

/* All that can go wrong is CZR_ERR_FILE, and a sentence is left with the
 * engine; or CZR_ERR_NO_MEMORY. */

/* The key of a tensor. */
void czr_key_of(const czr_checkpoint_tensor *tensor, char key[CZR_KEY_BYTES]);
void czr_file_name(int64_t save, int rank, char name[CZR_FILE_NAME_BYTES]);
int64_t czr_count_of(int n_dims, const int64_t *shape);

/* tensors.c: a rank's own main boxes to a file, and what it is then. */
czr_status czr_tensors_write(czr_engine *engine, const char *folder,
                             int64_t save, czr_saved_file *out);
czr_status czr_tensors_open(czr_engine *engine, const char *path,
                            czr_mapped *out);
void czr_tensors_close(czr_mapped *mapped);
/* The boxes of a mapped file, one after the other: *at is 0 before the first,
 * and 0 again behind the last. */
czr_status czr_tensors_next(czr_engine *engine, const char *path,
                            const czr_mapped *mapped, size_t *at,
                            czr_saved_box *out);

/* manifest.c.  Writes it in the place of what is there; reads what is there,
 * *is_found: something is.  Arrays are given back by fini. */
czr_status czr_manifest_write(czr_engine *engine, const char *folder,
                              const czr_manifest *manifest);
czr_status czr_manifest_read(czr_engine *engine, const char *folder,
                             bool *is_found, czr_manifest *out);
void czr_manifest_fini(czr_manifest *manifest);

/* Of all bytes, which tells whether they are the same. */
int64_t czr_sum_of(const void *bytes, size_t n);
/* text.c: reading what was printed, to the letter.  `at` goes on behind it;
 * false: something else is there. */
bool czr_take(const char **at, const char *end, const char *literal);
bool czr_take_number(const char **at, const char *end, int64_t *out);
/* Up to a quote, which is left; no escapes. */
bool czr_take_text(const char **at, const char *end, char *to, size_t size);
bool czr_take_numbers(const char **at, const char *end, int64_t *to, int most,
                      int *n);
bool czr_take_dtype(const char **at, const char *end, czr_dtype *out);
const char *czr_dtype_label(czr_dtype dtype); /* as safetensors has it */
/* Prints into text[size] behind *n; false: no room. */
bool czr_print(char *text, size_t size, size_t *n, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
bool czr_print_numbers(char *text, size_t size, size_t *n,
                       const int64_t *numbers, int count);

#endif
