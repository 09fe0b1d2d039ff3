/* What the tests share that compile kernels. */
#ifndef CZ_TESTS_CUDA_COMPILING_H
#define CZ_TESTS_CUDA_COMPILING_H

#include "runtime/cuda/nvrtc.h"

#include <stdbool.h>

/* Exit status of a test that says skipped. */
enum { COMPILING_SKIPPED = 77, COMPILING_FILES = 5, COMPILING_FOLDER = 64 };

/* The parts of a product, in their order; ended by NULL where there are fewer.
 */
extern const char *const compiling_sm90[COMPILING_FILES];
extern const char *const compiling_sm80[COMPILING_FILES];

/* The first of these libraries that serves, or NULL; says why others do not. */
czr_nvrtc *compiling_open(char **paths, int n_paths);
/* The files one after the other; static storage, which may be changed.  Exits
 * where one cannot be read. */
char *compiling_read(const char *folder, const char *const *files);
/* An empty folder for a cache, and its end. */
bool compiling_make_folder(char folder[COMPILING_FOLDER]);
void compiling_remove_folder(const char *folder);
/* Seconds that this process took of a processor: others may run, too. */
double compiling_seconds(void);

#endif
