/* What the tests share that compile kernels. */
#ifndef CZ_TESTS_CUDA_COMPILING_H
#define CZ_TESTS_CUDA_COMPILING_H

#include "runtime/cuda/library/nvrtc.h"
#include "runtime/cuda/driver/source.h"

#include <stdbool.h>

/* Exit status of a test that says skipped. */
enum { COMPILING_SKIPPED = 77, COMPILING_FOLDER = 64 };

/* The first of these libraries that serves, or NULL; says why others do not. */
czr_nvrtc *compiling_open(char **paths, int n_paths);
/* As czr_source_make, and a file's text, the caller's to free.  They exit
 * without memory, or where the file cannot be read. */
char *compiling_text(czr_source_body body, const char *header, const char *end);
char *compiling_read(const char *path);
/* An empty folder for a cache, and its end. */
bool compiling_make_folder(char folder[COMPILING_FOLDER]);
void compiling_remove_folder(const char *folder);
/* Seconds that this process took of a processor: others may run, too. */
double compiling_seconds(void);

#endif
