/* The cache of compiled code: folders that cannot or must not be used, disks
 * that are full, processes that share one. */
#define _XOPEN_SOURCE 700
#include "tests/gpu/compile/cache_setting.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NOBODY = 65534, N_PROCESSES = 8, N_ROUNDS = 150 };

/* ---- folders ------------------------------------------------------------ */

static void assert_unused(const char *path, const char *why)
{
    czr_cache *cache = setting_open(path, 0);

    assert_int_equal(setting_n_warnings, 1);
    if (!strstr(setting_warning, why))
        fail_msg("%s", setting_warning);
    assert_false(setting_is_kept(cache, &setting_source));
    assert_false(setting_is_kept(cache, &setting_source));
    assert_int_equal(setting_n_warnings, 1);
    czr_cache_close(cache);
}

static void folders_that_others_may_fill_are_not_used(void **state)
{
    char path[SETTING_PATH + 16];

    (void)state;
    assert_int_equal(mkdir(setting_folder, 0700), 0);
    assert_int_equal(chmod(setting_folder, 0770), 0);
    assert_unused(setting_folder, "others may write");
    assert_int_equal(chmod(setting_folder, 0707), 0);
    assert_unused(setting_folder, "others may write");
    assert_int_equal(chmod(setting_folder, 0700), 0);
    snprintf(path, sizeof path, "%s.link", setting_folder);
    assert_int_equal(symlink(setting_folder, path), 0);
    assert_unused(path, "cannot be used");
    if (geteuid() == 0) {
        assert_int_equal(chown(setting_folder, NOBODY, NOBODY), 0);
        assert_unused(setting_folder, "another user's");
    }
    assert_int_equal(setting_count(""), 0);
    snprintf(path, sizeof path, "%s.file", setting_folder);
    setting_write(path, (const unsigned char *)"x", 1);
    assert_unused(path, "cannot be used");
    snprintf(path, sizeof path, "%s.file/below", setting_folder);
    assert_unused(path, "cannot be used");
}

static void the_environment_names_the_folder(void **state)
{
    char path[2 * SETTING_PATH];

    (void)state;
    assert_int_equal(setenv("XDG_CACHE_HOME", setting_folder, 1), 0);
    czr_cache *cache = setting_open(NULL, 0);
    assert_false(setting_is_kept(cache, &setting_source));
    czr_cache_close(cache);
    snprintf(path, sizeof path, "%s/canzona", setting_folder);
    assert_int_equal(access(path, W_OK), 0);

    /* A relative path does not count. */
    assert_int_equal(setenv("XDG_CACHE_HOME", "relative", 1), 0);
    assert_int_equal(setenv("HOME", setting_folder, 1), 0);
    cache = setting_open(NULL, 0);
    assert_false(setting_is_kept(cache, &setting_source));
    czr_cache_close(cache);
    snprintf(path, sizeof path, "%s/.cache/canzona", setting_folder);
    assert_int_equal(access(path, W_OK), 0);
    assert_int_equal(setting_n_warnings, 0);

    assert_int_equal(unsetenv("XDG_CACHE_HOME"), 0);
    assert_int_equal(unsetenv("HOME"), 0);
    assert_unused(NULL, "HOME");
}

/* As root, who may write anywhere, it is nobody's folder. */
static void a_folder_for_reading_is_read(void **state)
{
    const czr_cache_source second = {"other", setting_text, setting_options, 2};
    const czr_cache_source third = {"third", setting_text, setting_options, 2};
    const bool is_root = geteuid() == 0;

    (void)state;
    assert_int_equal(mkdir(setting_folder, 0700), 0);
    if (is_root) {
        assert_int_equal(chmod(setting_around, 0755), 0);
        assert_int_equal(chown(setting_folder, NOBODY, NOBODY), 0);
        assert_int_equal(seteuid(NOBODY), 0);
    }
    czr_cache *cache = setting_open(setting_folder, 0);
    assert_false(setting_is_kept(cache, &setting_source));
    czr_cache_close(cache);
    assert_int_equal(chmod(setting_folder, 0500), 0);
    cache = setting_open(setting_folder, 0);
    assert_true(setting_is_kept(cache, &setting_source));
    assert_int_equal(setting_n_warnings, 0);
    assert_false(setting_is_kept(cache, &second));
    assert_false(setting_is_kept(cache, &third));
    assert_int_equal(setting_n_warnings, 1);
    assert_non_null(strstr(setting_warning, "cannot be written"));
    czr_cache_close(cache);
    assert_int_equal(chmod(setting_folder, 0700), 0);
    if (is_root)
        assert_int_equal(seteuid(0), 0);
}

static void a_folder_that_goes_away_is_done_without(void **state)
{
    czr_cache *cache = setting_open(setting_folder, 0);

    (void)state;
    assert_int_equal(rmdir(setting_folder), 0);
    assert_false(setting_is_kept(cache, &setting_source));
    assert_false(setting_is_kept(cache, &setting_source));
    assert_int_equal(setting_n_warnings, 1);
    czr_cache_close(cache);
}

/* A limit on the size of files stands for a disk that fills up. */
static void what_does_not_fit_on_the_disk_leaves_nothing(void **state)
{
    const size_t whole = CACHE_HEADER_BYTES + strlen(setting_text);
    struct rlimit all, little;

    (void)state;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &all), 0);
    little = all;
    for (size_t n = 0; n < whole; n++) {
        czr_cache *cache = setting_open(setting_folder, 0);
        little.rlim_cur = n;
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &little), 0);
        const bool was_kept = setting_is_kept(cache, &setting_source);
        const bool is_kept_then = setting_is_kept(cache, &setting_source);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &all), 0);
        assert_false(was_kept || is_kept_then);
        assert_int_equal(setting_n_warnings, 1);
        assert_int_equal(setting_count("") + setting_count(CACHE_PARTIAL), 0);
        czr_cache_close(cache);
    }
    czr_cache *cache = setting_open(setting_folder, 0);
    assert_false(setting_is_kept(cache, &setting_source));
    assert_true(setting_is_kept(cache, &setting_source));
    assert_int_equal(setting_n_warnings, 0);
    czr_cache_close(cache);
}

/* ---- many processes ----------------------------------------------------- */

static unsigned next(unsigned *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 16;
}

/* An entry cut short, as by a disk's mistake. */
static void spoil(const char *path, unsigned salt)
{
    char aside[SETTING_PATH + 32];

    snprintf(aside, sizeof aside, "%.400s.%u-%ld", path, salt, (long)getpid());
    setting_write(aside, (const unsigned char *)setting_text,
                  salt % sizeof setting_text);
    assert_int_equal(rename(aside, path), 0);
}

/* Exit status: 0 if all code was right and there were no warnings but for
 * entries that were spoiled. */
static int run_process(unsigned seed, bool is_spoiling)
{
    enum { N_TEXTS = 5 };
    static const char *const names[N_TEXTS] = {"a", "b", "c", "d", "e"};
    czr_cache_source s = setting_source;
    czr_cache *cache = setting_open(setting_folder, 3 * 200);
    char path[SETTING_PATH];

    for (int i = 0; i < N_ROUNDS; i++) {
        s.name = names[next(&seed) % N_TEXTS];
        s.text = setting_text + next(&seed) % 2;
        setting_is_kept(cache, &s);
        setting_path_of(&s, path);
        if (next(&seed) % 4 == 0) {
            unlink(path);
        } else if (is_spoiling && next(&seed) % 4 == 0) {
            spoil(path, next(&seed));
        }
    }
    czr_cache_close(cache);
    return is_spoiling ? setting_n_warnings == 0 : setting_n_warnings != 0;
}

static void processes_share_a_folder(void **state)
{
    (void)state;
    for (int is_spoiling = 0; is_spoiling < 2; is_spoiling++) {
        for (unsigned i = 0; i < N_PROCESSES; i++) {
            const unsigned seed = 8u * (unsigned)is_spoiling + i;
            const pid_t child = fork();
            assert_true(child >= 0);
            if (!child)
                _exit(run_process(seed, is_spoiling));
        }
        for (int i = 0; i < N_PROCESSES; i++) {
            int status;
            assert_true(wait(&status) > 0);
            assert_true(WIFEXITED(status));
            assert_int_equal(WEXITSTATUS(status), 0);
        }
        assert_int_equal(setting_count(CACHE_PARTIAL), 0);
    }
}

/* ------------------------------------------------------------------------- */

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        SETTING_TEST(folders_that_others_may_fill_are_not_used),
        SETTING_TEST(the_environment_names_the_folder),
        SETTING_TEST(a_folder_for_reading_is_read),
        SETTING_TEST(a_folder_that_goes_away_is_done_without),
        SETTING_TEST(what_does_not_fit_on_the_disk_leaves_nothing),
        SETTING_TEST(processes_share_a_folder),
    };

    return setting_run(argc, argv, tests, sizeof tests / sizeof *tests);
}
