/* The cache of compiled code: what is taken is what was put, whatever happens
 * to its entries. */
#define _XOPEN_SOURCE 700
#include "tests/gpu/compile/cache_setting.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { NOBODY = 65534 };

/* ---- taken and put ------------------------------------------------------ */

static void code_is_compiled_once(void **state)
{
    (void)state;
    czr_cache *cache = setting_open(setting_folder, 0);
    struct stat s;

    assert_false(setting_is_kept(cache, &setting_source));
    assert_true(setting_is_kept(cache, &setting_source));
    czr_cache_close(cache);
    cache = setting_open(setting_folder, 0);
    assert_true(setting_is_kept(cache, &setting_source));
    czr_cache_close(cache);
    assert_false(setting_is_kept(NULL, &setting_source));
    assert_int_equal(setting_n_warnings, 0);
    assert_int_equal(stat(setting_folder, &s), 0);
    assert_int_equal(s.st_mode & 0777, 0700);
    assert_int_equal(setting_count(CACHE_PARTIAL), 0);
}

static void what_is_refused_is_not_kept(void **state)
{
    (void)state;
    const czr_cache_source bad = {"kernel", "error", setting_options, 2};
    czr_cache *cache = setting_open(setting_folder, 0);

    for (int i = 0; i < 2; i++) {
        czr_nvrtc_code code;
        bool was_kept = true;
        assert_int_equal(
            czr_cache_compile(cache, setting_nvrtc, &bad, &code, &was_kept),
            CZR_NVRTC_REFUSED);
        assert_false(was_kept);
        czr_nvrtc_code_fini(&code);
    }
    assert_int_equal(setting_count(""), 0);
    czr_cache_close(cache);
}

static void all_that_decides_code_is_in_its_key(void **state)
{
    static const char *const swapped[] = {"-DN=1", "-arch=sm_90a"};
    static const char *const joined[] = {"-arch=sm_90a-DN=1", ""};
    static const char *const cut[] = {"-arch=sm_90", "a-DN=1"};
    const czr_cache_source others[] = {
        {"kernel2", setting_text, setting_options, 2},
        {"kernel", setting_text + 1, setting_options, 2},
        {"kernel", setting_text, setting_options, 1},
        {"kernel", setting_text, swapped, 2},
        {"kernel", setting_text, joined, 2},
        {"kernel", setting_text, cut, 2},
        {"kernelthe", setting_text + 3, setting_options, 2}};
    unsigned char key[CZR_CACHE_KEY_BYTES], other[CZR_CACHE_KEY_BYTES];

    (void)state;
    czr_cache_key(&setting_source, 12, 9, key);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        czr_cache_key(&others[i], 12, 9, other);
        assert_memory_not_equal(key, other, sizeof key);
    }
    czr_cache_key(&setting_source, 13, 9, other);
    assert_memory_not_equal(key, other, sizeof key);
    czr_cache_key(&setting_source, 12, 10, other);
    assert_memory_not_equal(key, other, sizeof key);
    czr_cache_key(&setting_source, 12, 9, other);
    assert_memory_equal(key, other, sizeof key);
}

/* ---- entries that are not what was put ---------------------------------- */

/* It is ignored with a warning, and replaced. */
static void assert_replaced(czr_cache *cache)
{
    setting_n_warnings = 0;
    assert_false(setting_is_kept(cache, &setting_source));
    assert_int_equal(setting_n_warnings, 1);
    assert_non_null(strstr(setting_warning, "ignored"));
    assert_true(setting_is_kept(cache, &setting_source));
    assert_int_equal(setting_n_warnings, 1);
}

static void cut_and_changed_entries_are_replaced(void **state)
{
    unsigned char bytes[SETTING_PATH] = {0};
    char path[SETTING_PATH];
    czr_cache *cache = setting_open(setting_folder, 0);

    (void)state;
    assert_false(setting_is_kept(cache, &setting_source));
    setting_path_of(&setting_source, path);
    const size_t n = setting_read(path, bytes, sizeof bytes);
    assert_int_equal(n, CACHE_HEADER_BYTES + strlen(setting_text));
    for (size_t cut = 0; cut <= n + 3; cut++) {
        if (cut == n)
            continue;
        setting_write(path, bytes, cut);
        assert_replaced(cache);
    }
    for (size_t i = 0; i < n; i++) {
        const unsigned char flip = (unsigned char)(1u << i % 8);
        bytes[i] ^= flip;
        setting_write(path, bytes, n);
        bytes[i] ^= flip;
        assert_replaced(cache);
    }
    czr_cache_close(cache);
}

static void entries_of_others_are_replaced(void **state)
{
    const czr_cache_source second = {"other", setting_text, setting_options, 2};
    unsigned char bytes[SETTING_PATH];
    char path[SETTING_PATH], from[SETTING_PATH], aside[SETTING_PATH + 8];
    czr_cache *cache = setting_open(setting_folder, 0);

    (void)state;
    assert_false(setting_is_kept(cache, &setting_source));
    assert_false(setting_is_kept(cache, &second));
    setting_path_of(&setting_source, path);
    setting_path_of(&second, from);
    /* Whole, but of another key. */
    setting_write(path, bytes, setting_read(from, bytes, sizeof bytes));
    assert_replaced(cache);
    /* Whole, but behind a link. */
    snprintf(aside, sizeof aside, "%s.aside", path);
    assert_int_equal(rename(path, aside), 0);
    assert_int_equal(symlink(aside, path), 0);
    assert_replaced(cache);
    assert_int_equal(chmod(path, 0666), 0);
    assert_replaced(cache);
    /* A pipe: nobody waits. */
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_replaced(cache);
    if (geteuid() == 0) {
        assert_int_equal(chown(path, NOBODY, NOBODY), 0);
        assert_replaced(cache);
    }
    czr_cache_close(cache);
}

static void a_folder_in_an_entrys_place_stays(void **state)
{
    char path[SETTING_PATH];
    czr_cache *cache = setting_open(setting_folder, 0);

    (void)state;
    setting_path_of(&setting_source, path);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_false(setting_is_kept(cache, &setting_source));
    /* Ignored, and not written. */
    assert_int_equal(setting_n_warnings, 2);
    assert_false(setting_is_kept(cache, &setting_source));
    assert_int_equal(setting_n_warnings, 3);
    assert_int_equal(setting_count(CACHE_PARTIAL), 0);
    czr_cache_close(cache);
}

/* ---- room --------------------------------------------------------------- */

/* As if last used `seconds` ago. */
static void set_age(const char *path, time_t seconds)
{
    const struct timespec t = {time(NULL) - seconds, 0};
    const struct timespec both[2] = {t, t};

    assert_int_equal(utimensat(AT_FDCWD, path, both, 0), 0);
}

static void the_oldest_make_room(void **state)
{
    enum { N = 6 };
    static const char *const names[N] = {"a", "b", "c", "d", "e", "f"};
    const size_t each = CACHE_HEADER_BYTES + strlen(setting_text);
    char path[SETTING_PATH];
    czr_cache *cache = setting_open(setting_folder, 4 * each);
    czr_cache_source s = setting_source;

    (void)state;
    for (int i = 0; i < 4; i++) {
        s.name = names[i];
        assert_false(setting_is_kept(cache, &s));
        setting_path_of(&s, path);
        set_age(path, 100 - i);
    }
    /* The first is the last that was used, then. */
    s.name = names[0];
    assert_true(setting_is_kept(cache, &s));
    for (int i = 4; i < N; i++) {
        s.name = names[i];
        assert_false(setting_is_kept(cache, &s));
    }
    assert_int_equal(setting_count(""), 4);
    for (int i = 0; i < N; i++) {
        s.name = names[i];
        setting_path_of(&s, path);
        assert_int_equal(access(path, F_OK), i == 1 || i == 2 ? -1 : 0);
    }
    /* One that is larger than all may be pushes no others out. */
    char large[5 * sizeof setting_text];
    memset(large, 'x', sizeof large);
    large[sizeof large - 1] = '\0';
    s.text = large;
    czr_cache_close(cache);
    cache = setting_open(setting_folder, sizeof large);
    assert_int_equal(setting_count(""), 1);
    assert_false(setting_is_kept(cache, &s));
    assert_false(setting_is_kept(cache, &s));
    assert_int_equal(setting_count(""), 1);
    assert_int_equal(setting_n_warnings, 0);
    czr_cache_close(cache);
}

static void what_is_not_ours_stays(void **state)
{
    char path[SETTING_PATH + 32], part[SETTING_PATH + 32],
        young[SETTING_PATH + 32];

    (void)state;
    assert_int_equal(mkdir(setting_folder, 0700), 0);
    snprintf(path, sizeof path, "%s/letter.code", setting_folder);
    snprintf(part, sizeof part, "%s/" CACHE_PARTIAL "1", setting_folder);
    snprintf(young, sizeof young, "%s/" CACHE_PARTIAL "2", setting_folder);
    setting_write(path, (const unsigned char *)setting_text,
                  sizeof setting_text);
    setting_write(part, (const unsigned char *)setting_text,
                  sizeof setting_text);
    setting_write(young, (const unsigned char *)setting_text,
                  sizeof setting_text);
    set_age(path, 100000);
    set_age(part, 100000);
    czr_cache_close(setting_open(setting_folder, 1));
    assert_int_equal(access(path, F_OK), 0);
    assert_int_equal(access(part, F_OK), -1);
    assert_int_equal(access(young, F_OK), 0);
}

/* ------------------------------------------------------------------------- */

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        SETTING_TEST(code_is_compiled_once),
        SETTING_TEST(what_is_refused_is_not_kept),
        SETTING_TEST(all_that_decides_code_is_in_its_key),
        SETTING_TEST(cut_and_changed_entries_are_replaced),
        SETTING_TEST(entries_of_others_are_replaced),
        SETTING_TEST(a_folder_in_an_entrys_place_stays),
        SETTING_TEST(the_oldest_make_room),
        SETTING_TEST(what_is_not_ours_stays),
    };

    return setting_run(argc, argv, tests, sizeof tests / sizeof *tests);
}
