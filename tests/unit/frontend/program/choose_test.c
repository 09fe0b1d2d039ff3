/* Which parameter follows which use: patterns split by hand-made cases, and
 * random programs against first-match-wins on every single name. */
#include "tests/unit/frontend/program/compiled.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "frontend/names/match.h"
#include "frontend/syntax/parse.h"

/* ---- patterns as text ---- */

/* "pattern first+extent ... use", one pattern a line. */
static const char *patterns_of(compiled *c)
{
    int n, n_rules;
    cz_text text;
    cz_text_init(&text);
    const cz_fact_pattern *f = cz_ir_read_pattern(c->ir, &c->arena, &n);
    const cz_fact_rule *rules = cz_ir_read_rule(c->ir, &c->arena, &n_rules);
    for (int i = 0; i < n; i++) {
        cz_text_puts(&text, f[i].name);
        for (int k = 0; k < f[i].extents.n; k++)
            cz_text_printf(&text, " %lld+%lld", (long long)f[i].first.v[k],
                           (long long)f[i].extents.v[k]);
        for (int k = 0; k < n_rules; k++)
            if (strcmp(rules[k].sym_name, f[i].rule) == 0)
                cz_text_printf(&text, " %s\n", rules[k].use);
    }
    const char *copy = cz_arena_copy(&c->arena, cz_text_string(&text), text.n);
    cz_text_fini(&text);
    return copy;
}

static void assert_patterns(const char *params, const char *uses,
                            const char *expected)
{
    compiled c;
    char source[2048];
    snprintf(source, sizeof source,
             "mesh dp = 2\nmodel tiny(d = 8) {\n params f32 {\n%s\n }\n}\n%s",
             params, uses);
    compile_text(&c, source);
    assert_non_null(c.ir);
    assert_string_equal(patterns_of(&c), expected);
    compiled_close(&c);
}

/* The defaults of all uses, one use a line. */
static const char *defaults_of(compiled *c)
{
    int n;
    const char *text = "";
    const cz_fact_use *uses = cz_ir_read_use(c->ir, &c->arena, &n);
    for (int i = 0; i < n; i++) {
        text = cz_arena_printf(&c->arena, "%s%s", text, uses[i].sym_name);
        for (int k = 0; k < uses[i].defaults.n; k++)
            text = cz_arena_printf(&c->arena, "%s %g", text,
                                   uses[i].defaults.v[k]);
        text = cz_arena_printf(&c->arena, "%s\n", text);
    }
    return text;
}

static void an_index_of_a_use_makes_a_group_for_each_value(void **state)
{
    (void)state;
    compiled c;
    compile_text(&c, "table rates = [0.5, 0.25] then last\n"
                     "let n = 2\n"
                     "mesh dp = 2\n"
                     "model tiny(d = 8) { params f32 {\n"
                     "  h[i < 4] { {a, b}.w : [d, d] }\n"
                     "  h[i < 4].c.w : [d]\n"
                     "} }\n"
                     "use sgd(lr = rates[k], momentum = 0.1 * k) as low "
                     "  on h[k < n + 1].{a, b}.w, h[k < 3].c.w "
                     "  where ndim == 2 or k > 1\n"
                     "use sgd(lr = 1) as rest on **\n");
    assert_non_null(c.ir);
    assert_string_equal(patterns_of(&c), "h.{0}.a.w 0+1 low_0\n"
                                         "h.{0}.a.w 1+1 low_1\n"
                                         "h.{0}.a.w 2+1 low_2\n"
                                         "h.{0}.a.w 3+1 rest\n"
                                         "h.{0}.b.w 0+1 low_0\n"
                                         "h.{0}.b.w 1+1 low_1\n"
                                         "h.{0}.b.w 2+1 low_2\n"
                                         "h.{0}.b.w 3+1 rest\n"
                                         "h.{0}.c.w 0+2 rest\n"
                                         "h.{0}.c.w 2+1 low_2\n"
                                         "h.{0}.c.w 3+1 rest\n");
    assert_string_equal(defaults_of(&c), "low_0 0.5 0 0\n"
                                         "low_1 0.25 0.1 0\n"
                                         "low_2 0.25 0.2 0\n"
                                         "rest 1 0.9 0\n");
    compiled_close(&c);
}

static void patterns_stay_whole_where_nothing_splits_them(void **state)
{
    (void)state;
    assert_patterns("h[i < 61] { e[k < 256] { w : [d, d] } }",
                    "use sgd(lr) on **.w\n", "h.{0}.e.{1}.w 0+61 0+256 sgd\n");
    assert_patterns("h[i < 3].w : [d]\n {a, b}{0..1} : [d]",
                    "use sgd(lr) on **\n",
                    "h.{0}.w 0+3 sgd\na0 sgd\na1 sgd\nb0 sgd\nb1 sgd\n");
    assert_patterns("h[i < 0].w : [d]\n x : [d]", "use sgd(lr) on **\n",
                    "x sgd\n");
}

static void paths_split_patterns(void **state)
{
    (void)state;
    assert_patterns("h[i < 12].w : [d]",
                    "use sgd(lr) as a on h.{0..3,7}.w\n"
                    "use sgd(lr) as b on h.1*.w\n"
                    "use sgd(lr) as c on **\n",
                    "h.{0}.w 0+4 a\nh.{0}.w 4+3 c\nh.{0}.w 7+1 a\n"
                    "h.{0}.w 8+2 c\nh.{0}.w 10+2 b\n");
    assert_patterns("h[i < 4].e[k < 6].w : [d]",
                    "use sgd(lr) as a on h.2.e.{4..5}.w\n"
                    "use sgd(lr) as b on **\n",
                    "h.{0}.e.{1}.w 0+2 0+6 b\nh.{0}.e.{1}.w 2+1 0+4 b\n"
                    "h.{0}.e.{1}.w 2+1 4+2 a\nh.{0}.e.{1}.w 3+1 0+6 b\n");
}

static void conditions_on_an_index_split_patterns(void **state)
{
    (void)state;
    assert_patterns("h[i < 6] {\n"
                    "  if i < 2 { w : [d, d] } else { w : [2 * d, d] }\n"
                    "  x : [d]\n"
                    "}",
                    "use sgd(lr) on **\n",
                    "h.{0}.w 0+2 sgd\nh.{0}.x 0+6 sgd\nh.{0}.w 2+4 sgd\n");
    assert_patterns("h[i < 3].w : [i + 1]", "use sgd(lr) on **\n",
                    "h.{0}.w 0+1 sgd\nh.{0}.w 1+1 sgd\nh.{0}.w 2+1 sgd\n");
    assert_patterns("h[i < 3].e[k < i].w : [d]", "use sgd(lr) on **\n",
                    "h.{0}.e.{1}.w 1+1 0+1 sgd\nh.{0}.e.{1}.w 2+1 0+2 sgd\n");
}

static void conditions_see_the_optimizers_shape(void **state)
{
    (void)state;
    assert_patterns("a : [4, 8]\n b : [4, 8] stored transposed\n c : [4]",
                    "use sgd(lr) as wide on ** where rows < cols\n"
                    "use sgd(lr) as tall on ** where numel == 32\n"
                    "use sgd(lr) as rest on ** where ndim == 1\n",
                    "a wide\nb tall\nc rest\n");
}

/* Rules of one use are shared by patterns of one shape; what is transposed
 * has its own. */
static void rules_are_made_once_per_shape(void **state)
{
    (void)state;
    int n;
    compiled c;
    compile_text(&c, "mesh dp = 2\nmodel tiny(d = 8) { params f32 {\n"
                     "a : [d, 2 * d]\n b : [d, 2 * d]\n"
                     "c : [d, 2 * d] stored transposed\n"
                     "e : [2 * d, d]\n n : [d]\n x : [3, 4]\n} }\n"
                     "use muon(lr) as m on {a,b,c,e}\nuse adamw(lr) on **\n");
    assert_non_null(c.ir);
    const cz_fact_rule *rules = cz_ir_read_rule(c.ir, &c.arena, &n);
    assert_int_equal(n, 4);
    assert_int_equal(rules[0].transposed, 0);
    assert_int_equal(rules[1].transposed, 1);
    assert_int_equal(rules[1].shape.v[0], 8);
    assert_int_equal(rules[2].shape.v[0], 16);
    assert_int_equal(rules[3].shape.n, 0);
    compiled_close(&c);
}

/* ---- random programs ---- */

enum { LAYERS = 13, N_USES = 4, N_PROGRAMS = 150, MAX_NAME = 64 };

static const char *const leaves[] = {"q.w", "k.w", "norm.w", "up"};
enum { N_LEAVES = 4 };

static unsigned next(unsigned *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 16;
}

static void random_path(unsigned *seed, char *out)
{
    static const char *const layer[] = {"*",  "{0..4}", "1*",      "{2,5..7}",
                                        "**", "7",      "{11,12}", "*"};
    static const char *const leaf[] = {"**", "*.w",  "q.*",  "{q,k}.w",
                                       "up", "n*.w", "**.w", "*"};
    snprintf(out, MAX_NAME, "h.%s.%s", layer[next(seed) % 8],
             leaf[next(seed) % 8]);
}

static int first_match(const cz_node *const *paths, int n, const char *leaf,
                       int i)
{
    char layer[8], copy[16];
    const char *words[4] = {"h", layer, copy, NULL};
    int n_words = 3;
    snprintf(layer, sizeof layer, "%d", i);
    snprintf(copy, sizeof copy, "%s", leaf);
    char *dot = strchr(copy, '.');
    if (dot) {
        *dot = '\0';
        words[n_words++] = dot + 1;
    }
    for (int k = 0; k < n; k++)
        if (cz_match_path(paths[k], words, n_words))
            return k;
    return n;
}

/* Which use each parameter follows, from the facts; every one exactly once. */
static void read_choices(compiled *c, int chosen[N_LEAVES][LAYERS])
{
    int n, n_rules;
    memset(chosen, 0xff, sizeof(int) * N_LEAVES * LAYERS);
    const cz_fact_pattern *f = cz_ir_read_pattern(c->ir, &c->arena, &n);
    const cz_fact_rule *rules = cz_ir_read_rule(c->ir, &c->arena, &n_rules);
    for (int i = 0; i < n; i++) {
        int leaf = 0, use = -1;
        while (strcmp(f[i].name + strlen("h.{0}."), leaves[leaf]) != 0)
            leaf++;
        for (int k = 0; k < n_rules; k++)
            if (strcmp(rules[k].sym_name, f[i].rule) == 0)
                use = atoi(rules[k].use + 1);
        for (int64_t v = 0; v < f[i].extents.v[0]; v++) {
            int *slot = &chosen[leaf][f[i].first.v[0] + v];
            assert_int_equal(*slot, -1);
            *slot = use;
        }
    }
}

static void check_program(compiled *c, const cz_node *const *paths)
{
    int chosen[N_LEAVES][LAYERS];
    read_choices(c, chosen);
    for (int leaf = 0; leaf < N_LEAVES; leaf++)
        for (int i = 0; i < LAYERS; i++)
            assert_int_equal(chosen[leaf][i],
                             first_match(paths, N_USES, leaves[leaf], i));
}

static const char *random_program(cz_arena *arena, unsigned *seed)
{
    const char *source = cz_arena_printf(
        arena,
        "mesh dp = 2\nmodel tiny(d = 4) { params f32 { h[i < %d] {\n"
        "{q, k}.w : [d, d]\n norm.w : [d]\n up : [d]\n} } }\n",
        LAYERS);
    for (int k = 0; k < N_USES; k++) {
        char path[MAX_NAME];
        random_path(seed, path);
        source = cz_arena_printf(arena, "%suse sgd(lr) as u%d on %s\n", source,
                                 k, path);
    }
    return cz_arena_printf(arena, "%suse sgd(lr) as u%d on **\n", source,
                           N_USES);
}

static void find_paths(cz_arena *arena, const char *program,
                       const cz_node **paths)
{
    cz_diags diags;
    const cz_source source = {"test", program, strlen(program)};
    cz_diags_init(&diags, arena);
    const cz_node *file = cz_parse(arena, &source, &diags);
    for (int i = 0; i < cz_n_items(file); i++)
        if (cz_item(file, i)->kind == CZ_AST_USE)
            *paths++ = cz_item(cz_use_paths(cz_item(file, i)), 0);
}

/* A random path may match nothing: then that, and nothing else, is wrong. */
static void random_programs_follow_the_first_match(void **state)
{
    (void)state;
    unsigned seed = 20240901;
    int n_compiled = 0;
    print_message("seed %u\n", seed);
    for (int i = 0; i < N_PROGRAMS; i++) {
        cz_arena arena;
        compiled c;
        const cz_node *paths[N_USES + 1];
        cz_arena_init(&arena);
        const char *program = random_program(&arena, &seed);
        find_paths(&arena, program, paths);
        compile_text(&c, program);
        if (c.ir)
            check_program(&c, paths);
        else
            assert_true(says(&c, CZ_MATCHES_NOTHING, ""));
        n_compiled += c.ir != NULL;
        compiled_close(&c);
        cz_arena_fini(&arena);
    }
    assert_true(n_compiled > N_PROGRAMS / 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_index_of_a_use_makes_a_group_for_each_value),
        cmocka_unit_test(patterns_stay_whole_where_nothing_splits_them),
        cmocka_unit_test(paths_split_patterns),
        cmocka_unit_test(conditions_on_an_index_split_patterns),
        cmocka_unit_test(conditions_see_the_optimizers_shape),
        cmocka_unit_test(rules_are_made_once_per_shape),
        cmocka_unit_test(random_programs_follow_the_first_match),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
