/* Which stages have what: patterns by their residents, hand-made cases, and
 * random lists of layers against a count of each single one. */
#include "tests/unit/frontend/program/compiled.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

/* "pattern first+extent @ stages", one pattern a line. */
static const char *homes_of(compiled *c)
{
    int n;
    cz_text text;
    cz_text_init(&text);
    const cz_fact_pattern *f = cz_ir_read_pattern(c->ir, &c->arena, &n);
    for (int i = 0; i < n; i++) {
        cz_text_puts(&text, f[i].name);
        for (int k = 0; k < f[i].extents.n; k++)
            cz_text_printf(&text, " %lld+%lld", (long long)f[i].first.v[k],
                           (long long)f[i].extents.v[k]);
        cz_text_puts(&text, f[i].resident_axes ? " @" : "");
        for (int k = 0; k < f[i].residents.n; k++)
            cz_text_printf(&text, " %lld", (long long)f[i].residents.v[k]);
        cz_text_puts(&text, "\n");
    }
    const char *copy = cz_arena_copy(&c->arena, cz_text_string(&text), text.n);
    cz_text_fini(&text);
    return copy;
}

static void compile_staged(compiled *c, const char *mesh, const char *params,
                           const char *clause)
{
    char source[2048];
    snprintf(source, sizeof source,
             "mesh %s\nmodel tiny(d = 8) {\n params f32 {\n%s\n }\n}\n"
             "schedule { %s\n}\nuse sgd(lr) on **\n",
             mesh, params, clause);
    compile_text(c, source);
    assert_non_null(c->ir);
}

static void assert_homes(const char *mesh, const char *params,
                         const char *clause, const char *expected)
{
    compiled c;
    compile_staged(&c, mesh, params, clause);
    assert_string_equal(homes_of(&c), expected);
    compiled_close(&c);
}

static void layers_are_dealt_out_evenly(void **state)
{
    (void)state;
    assert_homes("pp = 2, dp = 2", "h[i < 6/pp].w : [d]", "",
                 "h.{0}.w 0+3 @ 0\nh.{0}.w 3+3 @ 1\n");
    assert_homes("pp = 2, dp = 2", "h[i < 6/pp].w : [d]", "pipeline even",
                 "h.{0}.w 0+3 @ 0\nh.{0}.w 3+3 @ 1\n");
    assert_homes("pp = 2, dp = 2", "h[i < 4/pp].w : [d]",
                 "pipeline even chunks 2",
                 "h.{0}.w 0+1 @ 0\nh.{0}.w 1+1 @ 1\nh.{0}.w 2+1 @ 0\n"
                 "h.{0}.w 3+1 @ 1\n");
    assert_homes("dp = 2", "h[i < 6/pp].w : [d]", "pipeline (1, 2, 3)",
                 "h.{0}.w 0+6\n");
}

static void layers_are_dealt_out_as_listed(void **state)
{
    (void)state;
    assert_homes("pp = 3, dp = 1", "h[i < 4/pp].w : [d]", "pipeline (3, 0, 1)",
                 "h.{0}.w 0+3 @ 0\nh.{0}.w 3+1 @ 2\n");
    /* chunks of one stage that meet are one run */
    assert_homes("pp = 2, dp = 1", "h[i < 4/pp].w : [d]",
                 "pipeline (1, 0, 2, 1) chunks 2",
                 "h.{0}.w 0+3 @ 0\nh.{0}.w 3+1 @ 1\n");
}

static void what_is_behind_the_layers_is_on_the_last_stage(void **state)
{
    (void)state;
    assert_homes("pp = 2, dp = 1", "h[i < 2/pp + 1].w : [d]", "",
                 "h.{0}.w 0+1 @ 0\nh.{0}.w 1+2 @ 1\n");
    assert_homes("pp = 2, dp = 1", "h[i < 2/pp + 1 + 1].w : [d]",
                 "pipeline (2, 0)", "h.{0}.w 0+2 @ 0\nh.{0}.w 2+2 @ 1\n");
}

static void layers_that_differ_keep_their_stages(void **state)
{
    (void)state;
    assert_homes("pp = 2, dp = 1",
                 "h[i < 4/pp] {\nif i < 3 { a : [d]\n } else { b : [d]\n }\n}",
                 "", "h.{0}.a 0+2 @ 0\nh.{0}.a 2+1 @ 1\nh.{0}.b 3+1 @ 1\n");
}

static void the_nearest_stage_counts(void **state)
{
    (void)state;
    assert_homes("pp = 4, dp = 1",
                 "g stage first {\n a : [d]\n b : [d] stage last - 1\n"
                 "h[i < 2] stage 2*i { c : [d]\n }\n"
                 "e[k < 4/pp].w : [d] stage 1, first\n}",
                 "",
                 "g.a @ 0\ng.b @ 2\ng.h.{0}.c 0+1 @ 0\ng.h.{0}.c 1+1 @ 2\n"
                 "g.e.{0}.w 0+1 @ 0 1\ng.e.{0}.w 1+1 @ 0 1\n"
                 "g.e.{0}.w 2+1 @ 0 1\ng.e.{0}.w 3+1 @ 0 1\n");
    /* all stages: nothing to tell apart */
    assert_homes("pp = 2, dp = 1", "a : [d] stage first, last", "", "a\n");
}

static void a_tied_parameter_lives_where_its_names_do(void **state)
{
    (void)state;
    assert_homes("pp = 3, dp = 1",
                 "w : [d] stage first\ntie x = w stage last\ntie y = w", "",
                 "w @ 0 2\n");
    /* one member of a pattern: the others stay */
    assert_homes("pp = 3, dp = 1",
                 "h[i < 5] stage first { w : [d]\n }\n"
                 "tie x = h.2.w stage last\ntie y = h.2.w stage 1\n"
                 "tie z = h.4.w stage 1",
                 "",
                 "h.{0}.w 2+1\nh.{0}.w 0+2 @ 0\nh.{0}.w 4+1 @ 0 1\n"
                 "h.{0}.w 3+1 @ 0\n");
}

/* ---- random lists ---- */

enum { STAGES = 4, CHUNKS = 2, LAYERS = 23 };

/* The stage of each layer, and the clause that says so. */
static void make_list(unsigned *seed, int *stage_of, char *clause)
{
    int n[STAGES * CHUNKS] = {0}, layer = 0;
    for (int i = 0; i < LAYERS; i++) {
        *seed = *seed * 1103515245u + 12345u;
        n[(*seed >> 16) % (STAGES * CHUNKS)]++;
    }
    clause += sprintf(clause, "pipeline (");
    for (int k = 0; k < STAGES * CHUNKS; k++) {
        clause += sprintf(clause, "%s%d", k == 0 ? "" : ", ", n[k]);
        for (int i = 0; i < n[k]; i++)
            stage_of[layer++] = k % STAGES;
    }
    sprintf(clause, ") chunks %d", CHUNKS);
}

static void every_layer_is_on_the_stage_of_its_chunk(void **state)
{
    (void)state;
    unsigned seed = 20261121;
    for (int round = 0; round < 50; round++) {
        int stage_of[LAYERS], seen[LAYERS] = {0}, n;
        char clause[256];
        compiled c;
        make_list(&seed, stage_of, clause);
        compile_staged(&c, "pp = 4, dp = 1", "h[i < 23/pp].w : [d]", clause);
        const cz_fact_pattern *f = cz_ir_read_pattern(c.ir, &c.arena, &n);
        for (int i = 0; i < n; i++)
            for (int64_t k = 0; k < f[i].extents.v[0]; k++) {
                const int64_t layer = f[i].first.v[0] + k;
                assert_int_equal(f[i].residents.n, 1);
                assert_int_equal(f[i].residents.v[0], stage_of[layer]);
                seen[layer]++;
            }
        for (int i = 0; i < LAYERS; i++)
            assert_int_equal(seen[i], 1);
        compiled_close(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layers_are_dealt_out_evenly),
        cmocka_unit_test(layers_are_dealt_out_as_listed),
        cmocka_unit_test(what_is_behind_the_layers_is_on_the_last_stage),
        cmocka_unit_test(layers_that_differ_keep_their_stages),
        cmocka_unit_test(the_nearest_stage_counts),
        cmocka_unit_test(a_tied_parameter_lives_where_its_names_do),
        cmocka_unit_test(every_layer_is_on_the_stage_of_its_chunk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
