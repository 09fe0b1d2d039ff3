#define _XOPEN_SOURCE 700
#include "tests/gpu/compile/cache_setting.h"

#include <dirent.h>
#include <dlfcn.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

char setting_folder[SETTING_PATH], setting_around[SETTING_PATH];
int setting_n_warnings;
char setting_warning[SETTING_PATH];
const char setting_text[SETTING_TEXT] =
    "the text of a kernel, long enough to be cut";
const char *const setting_options[2] = {"-arch=sm_90a", "-DN=1"};
const czr_cache_source setting_source = {"kernel", setting_text,
                                         setting_options, 2};
czr_nvrtc *setting_nvrtc;
static const int *n_compiled;

static void warn(void *user, const char *message)
{
    (void)user;
    setting_n_warnings++;
    snprintf(setting_warning, sizeof setting_warning, "%s", message);
}

czr_cache *setting_open(const char *folder, uint64_t max_bytes)
{
    const czr_cache_options options = {
        .folder = folder, .max_bytes = max_bytes, .warn = warn};
    setting_n_warnings = 0;
    czr_cache *cache = czr_cache_open(&options);

    assert_non_null(cache);
    return cache;
}

bool setting_is_kept(czr_cache *cache, const czr_cache_source *source)
{
    const int before = *n_compiled;
    czr_nvrtc_code code;
    bool was_kept = false;

    assert_int_equal(
        czr_cache_compile(cache, setting_nvrtc, source, &code, &was_kept),
        CZR_NVRTC_OK);
    assert_int_equal(code.n_bytes, strlen(source->text));
    assert_memory_equal(code.bytes, source->text, code.n_bytes);
    assert_non_null(code.log);
    assert_int_equal(*n_compiled - before, !was_kept);
    czr_nvrtc_code_fini(&code);
    return was_kept;
}

void setting_path_of(const czr_cache_source *source, char path[SETTING_PATH])
{
    unsigned char key[CZR_CACHE_KEY_BYTES];
    char name[CACHE_NAME_BYTES];

    czr_cache_key(source, 12, 9, key);
    czr_cache_name(key, name);
    snprintf(path, SETTING_PATH, "%.300s/%s", setting_folder, name);
}

size_t setting_read(const char *path, unsigned char *bytes, size_t room)
{
    FILE *file = fopen(path, "rb");

    assert_non_null(file);
    const size_t n = fread(bytes, 1, room, file);
    fclose(file);
    return n;
}

void setting_write(const char *path, const unsigned char *bytes, size_t n)
{
    FILE *file = fopen(path, "wb");

    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, n, file), n);
    assert_int_equal(fclose(file), 0);
}

int setting_count(const char *start)
{
    DIR *stream = opendir(setting_folder);
    int n = 0;

    assert_non_null(stream);
    for (struct dirent *d = readdir(stream); d; d = readdir(stream))
        n += *start ? !strncmp(d->d_name, start, strlen(start))
                    : d->d_name[0] != '.';
    closedir(stream);
    return n;
}

int setting_make(void **state)
{
    (void)state;
    snprintf(setting_around, sizeof setting_around, P_tmpdir "/czr-XXXXXX");
    if (!mkdtemp(setting_around))
        return -1;
    snprintf(setting_folder, sizeof setting_folder, "%.200s/cache",
             setting_around);
    return 0;
}

static int remove_one(const char *path, const struct stat *s, int type,
                      struct FTW *at)
{
    (void)s;
    (void)type;
    (void)at;
    return remove(path);
}

int setting_remove(void **state)
{
    (void)state;
    return nftw(setting_around, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

int setting_run(int argc, char **argv, const struct CMUnitTest *tests,
                size_t n_tests)
{
    char message[CZR_NVRTC_MESSAGE];
    void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;

    n_compiled = library ? dlsym(library, "fake_nvrtc_compiled") : NULL;
    if (!n_compiled ||
        czr_nvrtc_open(argv[1], &setting_nvrtc, message) != CZR_NVRTC_OK)
        return 1;
    signal(SIGXFSZ, SIG_IGN);
    const int status =
        _cmocka_run_group_tests("cache", tests, n_tests, NULL, NULL);
    czr_nvrtc_close(setting_nvrtc);
    dlclose(library);
    return status;
}
