/* What the tests of the cache share: a folder of their own for each, a compiler
 * that is none (fake_nvrtc.c), and warnings counted. */
#ifndef CZ_TESTS_CUDA_CACHE_SETTING_H
#define CZ_TESTS_CUDA_CACHE_SETTING_H

#include "runtime/cuda/driver/cache_internal.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { SETTING_PATH = 512, SETTING_TEXT = 44 };

/* The cache's, not there at first, and the one that it lies in. */
extern char setting_folder[SETTING_PATH], setting_around[SETTING_PATH];
/* Since the cache was opened, and the last one. */
extern int setting_n_warnings;
extern char setting_warning[SETTING_PATH];

/* A kernel of this text, and what it is made from. */
extern const char setting_text[SETTING_TEXT];
extern const char *const setting_options[2];
extern const czr_cache_source setting_source;
extern czr_nvrtc *setting_nvrtc;

czr_cache *setting_open(const char *folder, uint64_t max_bytes);
/* Compiles, or takes what is kept; whatever it does, the code is right. */
bool setting_is_kept(czr_cache *cache, const czr_cache_source *source);
/* Where the source's entry lies. */
void setting_path_of(const czr_cache_source *source, char path[SETTING_PATH]);

size_t setting_read(const char *path, unsigned char *bytes, size_t room);
void setting_write(const char *path, const unsigned char *bytes, size_t n);
/* Files of the folder whose name begins so; "": that are not hidden. */
int setting_count(const char *start);

int setting_make(void **state), setting_remove(void **state);
#define SETTING_TEST(f)                                                        \
    cmocka_unit_test_setup_teardown(f, setting_make, setting_remove)

/* Opens the library that argument 1 names; exit status.  What is wrong with the
 * size of a file is an error, no signal. */
int setting_run(int argc, char **argv, const struct CMUnitTest *tests,
                size_t n_tests);

#endif
