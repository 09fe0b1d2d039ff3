/* safetensors headers: names, shapes and types of tensors.  Weights are never
 * read.  Format: u64 little-endian length, then that many bytes of JSON. */
#ifndef CZ_FRONTEND_IMPORT_SAFETENSORS_H
#define CZ_FRONTEND_IMPORT_SAFETENSORS_H

#include "frontend/import/import.h"
#include "frontend/import/list.h"

/* A tensor and the file it is in. */
typedef struct cz_tensor_place {
    const char *name, *file;
} cz_tensor_place;

/* What the headers say that were read, one or those of all shards.  All memory
 * belongs to the arena. */
typedef struct cz_safetensors {
    cz_import_list list;
    cz_tensor_place *places; /* of all tensors, also of those left out */
    int n_places;
    int64_t data_bytes; /* all files */
    size_t header_bytes;
} cz_safetensors;

/* Add what the header of the file at `path` says; `name` is what messages call
 * it.  False after reporting. */
bool cz_safetensors_read(const cz_import *convert, const char *path,
                         const char *name, cz_safetensors *tensors);
/* Write what was read.  `text` is where to complain. */
bool cz_safetensors_write(const cz_import *convert, const cz_json_text *text,
                          const cz_safetensors *tensors, cz_text *out);

/* A single file to a program.  `start` holds all of standard input, or
 * anything where the input is a file. */
bool cz_import_safetensors(const cz_import *convert, const cz_text *start,
                           cz_text *out);

#endif
