/* Reading text: order, symbolic links, the split, and the windows. */
#define _DEFAULT_SOURCE /* mkdtemp, symlink */

#include "examples/train_gpt/corpus.h"
#include "tests/unit/unit.h"
#include <unistd.h>

enum { PATH_BYTES = 64 };

/* A folder with the files "B" (10 bytes b), "a" (30 bytes a) and a link. */
typedef struct folder {
    char path[PATH_BYTES], upper[PATH_BYTES + 2], lower[PATH_BYTES + 2];
    char link[PATH_BYTES + 2];
} folder;

static void write_file(const char *path, char byte, int count)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    for (int i = 0; i < count; i++)
        fputc(byte, file);
    assert_int_equal(fclose(file), 0);
}

static int set_up(void **state)
{
    folder *f = calloc(1, sizeof *f);
    assert_non_null(f);
    strcpy(f->path, "corpus_test_XXXXXX");
    assert_non_null(mkdtemp(f->path));
    snprintf(f->upper, sizeof f->upper, "%s/B", f->path);
    snprintf(f->lower, sizeof f->lower, "%s/a", f->path);
    snprintf(f->link, sizeof f->link, "%s/C", f->path);
    write_file(f->upper, 'b', 10);
    write_file(f->lower, 'a', 30);
    assert_int_equal(symlink("a", f->link), 0);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    folder *f = *state;
    unlink(f->link);
    unlink(f->lower);
    unlink(f->upper);
    rmdir(f->path);
    free(f);
    return 0;
}

static void test_folder_is_read_by_bytes_without_links(void **state)
{
    const folder *f = *state;
    corpus text;

    assert_true(corpus_open(&text, f->path));
    assert_int_equal(text.n_bytes, 40);
    assert_int_equal(text.n_train, 36);
    assert_int_equal(text.bytes[0], 'b');
    assert_int_equal(text.bytes[10], 'a');
    corpus_close(&text);
}

static void test_one_file_is_enough(void **state)
{
    const folder *f = *state;
    corpus text;

    assert_true(corpus_open(&text, f->upper));
    assert_int_equal(text.n_bytes, 10);
    corpus_close(&text);
    assert_false(corpus_open(&text, "no such file"));
}

static void test_windows_stay_inside_their_part(void **state)
{
    const folder *f = *state;
    corpus text;
    int first = 0, last = 0;

    assert_true(corpus_open(&text, f->path));
    for (uint64_t i = 0; i < 1000; i++) {
        const uint8_t *window = corpus_draw(&text, 5, i, 33);
        assert_true(window >= text.bytes &&
                    window + 33 <= text.bytes + text.n_train);
        first += window == text.bytes;
        last += window + 33 == text.bytes + text.n_train;
    }
    assert_true(first > 0 && last > 0);
    assert_null(corpus_draw(&text, 5, 0, 37));
    corpus_close(&text);
}

static void test_validation_predicts_each_byte_once(void **state)
{
    const folder *f = *state;
    corpus text;

    assert_true(corpus_open(&text, f->path));
    assert_int_equal(corpus_validation_count(&text, 1), 3);
    assert_int_equal(corpus_validation_count(&text, 2), 1);
    assert_ptr_equal(corpus_validation(&text, 2, 1), text.bytes + 38);
    corpus_close(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_folder_is_read_by_bytes_without_links),
        cmocka_unit_test(test_one_file_is_enough),
        cmocka_unit_test(test_windows_stay_inside_their_part),
        cmocka_unit_test(test_validation_predicts_each_byte_once),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
