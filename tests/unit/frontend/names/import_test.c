/* Files and names: imports from the importing file's folder, the library,
 * and who comes first. */
#include "frontend/names/sources.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "dsl/base/embedded.h"

static void put(const char *path, const char *content)
{
    cz_text text;
    cz_text_init(&text);
    cz_text_puts(&text, content);
    assert_true(cz_text_write_file(&text, path));
    cz_text_fini(&text);
}

typedef struct world {
    cz_arena arena;
    cz_diags diags;
    cz_scope *scope;
} world;

static void open_scope(world *w, const char *path)
{
    cz_arena_init(&w->arena);
    cz_diags_init(&w->diags, &w->arena);
    w->scope =
        cz_scope_build(&w->arena, path, NULL, (cz_allowed){0}, &w->diags);
}

static int write_files(void **state)
{
    (void)state;
    mkdir("import_test", 0777);
    mkdir("import_test/lib", 0777);
    mkdir("import_test/lib/deep", 0777);
    put("import_test/main.cz", "import \"lib/a.cz\"\n"
                               "import \"lib/./deep/../b.cz\"\n"
                               "let here = 1\n");
    put("import_test/lib/a.cz", "import \"b.cz\"\n"
                                "import \"deep/c.cz\"\n"
                                "let a = 1\n");
    put("import_test/lib/b.cz", "let b = 1\n"
                                "optimizer sgd(lr) for any {\n"
                                "    param <- param - lr * grad\n"
                                "}\n");
    put("import_test/lib/deep/c.cz", "import \"../b.cz\"\nlet c = 1\n");
    return 0;
}

static void imports_are_relative_and_read_once(void **state)
{
    (void)state;
    static const char *const names[] = {"main.cz", "lib/a.cz", "lib/b.cz",
                                        "lib/deep/c.cz"};
    world w;
    open_scope(&w, "import_test/main.cz");
    assert_int_equal(w.diags.n, 0);
    assert_int_equal(cz_scope_n_files(w.scope), 4);
    for (int i = 0; i < 4; i++)
        assert_string_equal(cz_scope_file_at(w.scope, i)->source->name,
                            names[i]);
    assert_non_null(cz_scope_find(w.scope, CZ_AST_LET, "a"));
    assert_non_null(cz_scope_find(w.scope, CZ_AST_LET, "c"));
    assert_null(cz_scope_find(w.scope, CZ_AST_LET, "d"));
    assert_null(cz_scope_find(w.scope, CZ_AST_TABLE, "a"));
    cz_arena_fini(&w.arena);
}

static void the_users_names_come_before_the_library(void **state)
{
    (void)state;
    world w;
    open_scope(&w, "import_test/main.cz");
    const cz_node *sgd = cz_scope_find(w.scope, CZ_AST_OPTIMIZER, "sgd");
    assert_string_equal(sgd->span.source->name, "lib/b.cz");
    const cz_node *adamw = cz_scope_find(w.scope, CZ_AST_OPTIMIZER, "adamw");
    assert_string_equal(adamw->span.source->name, "std/opt/adamw.cz");
    assert_string_equal(cz_scope_nearest(w.scope, CZ_AST_OPTIMIZER, "adamv"),
                        "adamw");
    for (int i = 0; i < cz_scope_n_files(w.scope); i++) {
        const cz_scope_file *file = cz_scope_file_at(w.scope, i);
        const char *name = file->source->name;
        assert_int_equal(file->used,
                         i < 4 || strcmp(name, "std/opt/adamw.cz") == 0);
    }
    cz_arena_fini(&w.arena);
}

static void the_library_parses(void **state)
{
    (void)state;
    world w;
    int n = 0;
    open_scope(&w, "import_test/main.cz");
    assert_null(cz_scope_find(w.scope, CZ_AST_MODEL, "nothing"));
    for (const cz_embedded *file = cz_std_files; file->path; file++)
        n++;
    assert_int_equal(cz_scope_n_files(w.scope), 4 + n);
    assert_int_equal(w.diags.n, 0);
    assert_non_null(cz_scope_find(w.scope, CZ_AST_MODEL, "qwen3"));
    assert_non_null(cz_scope_find(w.scope, CZ_AST_OPTIMIZER, "muon"));
    cz_arena_fini(&w.arena);
}

/* A chain of imports longer than anybody writes ends in one error. */
static void long_chains_end(void **state)
{
    (void)state;
    enum { N = 40 };
    char path[64], content[64];
    world w;
    for (int i = 0; i < N; i++) {
        snprintf(path, sizeof path, "import_test/chain%d.cz", i);
        snprintf(content, sizeof content, "import \"chain%d.cz\"\n", i + 1);
        put(path, i + 1 < N ? content : "let end = 1\n");
    }
    open_scope(&w, "import_test/chain0.cz");
    assert_int_equal(w.diags.n_errors, 1);
    assert_int_equal(w.diags.list[0].code, CZ_TOO_LARGE);
    cz_arena_fini(&w.arena);
}

static void what_cannot_be_read_is_said(void **state)
{
    (void)state;
    world w;
    open_scope(&w, "import_test/nowhere.cz");
    assert_int_equal(w.diags.n_errors, 1);
    assert_int_equal(w.diags.list[0].code, CZ_CANNOT_READ);
    assert_int_equal(cz_scope_n_files(w.scope), 0);
    cz_arena_fini(&w.arena);
    open_scope(&w, "import_test");
    assert_int_equal(w.diags.n_errors, 1);
    cz_arena_fini(&w.arena);
}

static void a_text_beyond_4_mib_is_not_taken(void **state)
{
    (void)state;
    world w;
    cz_text text;
    cz_arena_init(&w.arena);
    cz_diags_init(&w.diags, &w.arena);
    cz_text_init(&text);
    for (int i = 0; i <= 4 << 20; i++)
        cz_text_put(&text, " ", 1);
    w.scope = cz_scope_build(&w.arena, "-", &text, (cz_allowed){0}, &w.diags);
    assert_int_equal(w.diags.n_errors, 1);
    assert_int_equal(w.diags.list[0].code, CZ_TOO_LARGE);
    cz_text_fini(&text);
    cz_arena_fini(&w.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(imports_are_relative_and_read_once),
        cmocka_unit_test(the_users_names_come_before_the_library),
        cmocka_unit_test(the_library_parses),
        cmocka_unit_test(long_chains_end),
        cmocka_unit_test(what_cannot_be_read_is_said),
        cmocka_unit_test(a_text_beyond_4_mib_is_not_taken),
    };
    return cmocka_run_group_tests(tests, write_files, NULL);
}
