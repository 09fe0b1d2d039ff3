/* Paths against names: examples, and random paths against a matcher that
 * tries everything. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "frontend/names/match.h"
#include "frontend/syntax/parse.h"

enum { MAX_NAME = 256, MAX_SEGMENTS = 64 };

static const cz_node *parse(cz_arena *arena, const char *path)
{
    cz_diags diags;
    cz_source *source = CZ_NEW(arena, cz_source, 1);
    cz_diags_init(&diags, arena);
    source->name = "test";
    source->bytes = cz_arena_printf(arena, "use o() on %s", path);
    source->n = strlen(source->bytes);
    const cz_node *file = cz_parse(arena, source, &diags);
    if (diags.n_errors > 0)
        print_message("cannot parse: %s\n", path);
    assert_int_equal(diags.n_errors, 0);
    return cz_item(cz_use_paths(cz_item(file, 0)), 0);
}

static bool matches(cz_arena *arena, const cz_node *path, const char *name)
{
    const char *words[MAX_SEGMENTS];
    int n = 0;
    char *copy = cz_arena_copy(arena, name, strlen(name));
    for (char *word = strtok(copy, "."); word; word = strtok(NULL, "."))
        words[n++] = word;
    return cz_match_path(path, words, n);
}

static const struct {
    const char *path, *name;
    bool matches;
} cases[] = {
    {"model.layers.**.*_proj.weight", "model.layers.0.mlp.up_proj.weight", 1},
    {"model.layers.**.*_proj.weight", "model.layers.up_proj.weight", 1},
    {"model.layers.**.*_proj.weight", "model.layers.0.q_norm.weight", 0},
    {"model.layers.**.*_proj.weight", "x.model.layers.0.q_proj.weight", 0},
    {"model.layers.**.*_proj.weight", "model.layers.0.q_proj.weight.x", 0},
    {"**.c_*.weight", "transformer.h.11.attn.c_attn.weight", 1},
    {"**.c_*.weight", "c_attn.weight", 1},
    {"**.c_*.weight", "transformer.h.11.attn.c_attn.bias", 0},
    {"**", "a", 1},
    {"**.**", "a.b.c", 1},
    {"a.**", "a", 1},
    {"**.a", "a", 1},
    {"a.**.a", "a", 0},
    {"a.**.a", "a.a", 1},
    {"a.**.b.**.c", "a.b.x.b.c", 1},
    {"h.{0..3}.w", "h.3.w", 1},
    {"h.{0..3}.w", "h.4.w", 0},
    {"h.{0..3}.w", "h.03.w", 0},
    {"h.{0..3,7,9..10}.w", "h.10.w", 1},
    {"h.{0..3,7,9..10}.w", "h.8.w", 0},
    {"h.1.w", "h.1.w", 1},
    {"h.1.w", "h.11.w", 0},
    {"h.1*.w", "h.11.w", 1},
    {"{k,v}_proj", "v_proj", 1},
    {"{k,v}_proj", "q_proj", 0},
    {"{a,ab}{c,bc}", "abbc", 1},
    {"{a,ab}{c,bc}", "abc", 1},
    {"*a*b*", "xaxxbx", 1},
    {"*a*b*", "xbxxa", 0},
    {"*", "a.b", 0},
    {"expert{0..11}x", "expert10x", 1},
    {"expert{0..11}x", "expert12x", 0},
};

static void examples(void **state)
{
    (void)state;
    cz_arena arena;
    cz_arena_init(&arena);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const cz_node *path = parse(&arena, cases[i].path);
        if (matches(&arena, path, cases[i].name) != cases[i].matches)
            fail_msg("%s against %s", cases[i].path, cases[i].name);
    }
    cz_arena_fini(&arena);
}

/* ---- everything tried ---- */

static bool try_word(const char *segment, const char *word)
{
    if (*segment == '\0')
        return *word == '\0';
    if (*segment == '*')
        return try_word(segment + 1, word) ||
               (*word && try_word(segment, word + 1));
    return *segment == *word && try_word(segment + 1, word + 1);
}

/* Up to the dot, copied to `out`; returns what is behind it, or NULL. */
static const char *cut(const char *text, char *out)
{
    const size_t n = strcspn(text, ".");
    memcpy(out, text, n);
    out[n] = '\0';
    return text[n] ? text + n + 1 : NULL;
}

/* NULL stands for no segments. */
static bool try_path(const char *path, const char *name)
{
    char segment[MAX_NAME], word[MAX_NAME];
    if (!path)
        return !name;
    const char *rest = cut(path, segment);
    const char *next_word = name ? cut(name, word) : NULL;
    if (strcmp(segment, "**") == 0)
        return try_path(rest, name) || (name && try_path(path, next_word));
    return name && try_word(segment, word) && try_path(rest, next_word);
}

static unsigned next(unsigned *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 16;
}

static void random_name(unsigned *seed, const char *const *words, unsigned n,
                        char *out)
{
    *out = '\0';
    const unsigned n_words = 1 + next(seed) % 5;
    for (unsigned i = 0; i < n_words; i++) {
        strcat(out, i == 0 ? "" : ".");
        strcat(out, words[next(seed) % n]);
    }
}

static void random_paths_agree_with_brute_force(void **state)
{
    (void)state;
    static const char *const names[] = {"a", "b", "ab", "ba", "1"};
    static const char *const paths[] = {"a",  "b",  "ab", "*",   "a*",
                                        "*b", "**", "**", "*a*", "1"};
    enum { N = 20000 };
    cz_arena arena;
    unsigned seed = 20240901;
    int n_matches = 0;
    print_message("seed %u\n", seed);
    cz_arena_init(&arena);
    for (int i = 0; i < N; i++) {
        char path[MAX_NAME], name[MAX_NAME];
        random_name(&seed, paths, sizeof paths / sizeof *paths, path);
        random_name(&seed, names, sizeof names / sizeof *names, name);
        const bool expected = try_path(path, name);
        if (matches(&arena, parse(&arena, path), name) != expected)
            fail_msg("%s against %s: not %d", path, name, expected);
        n_matches += expected;
    }
    assert_in_range(n_matches, N / 20, N - N / 20);
    cz_arena_fini(&arena);
}

/* Stars that could be placed in many ways take no more time. */
static void hard_patterns_are_quick(void **state)
{
    (void)state;
    cz_arena arena;
    char path[MAX_NAME] = "", name[MAX_NAME] = "";
    cz_arena_init(&arena);
    for (int i = 0; i < 40; i++) {
        strcat(path, "*a");
        strcat(name, "aaaa");
    }
    strcat(path, "*b");
    assert_false(matches(&arena, parse(&arena, path), name));
    *path = *name = '\0';
    for (int i = 0; i < 30; i++) {
        strcat(path, "**.a.");
        strcat(name, "a.a.");
    }
    strcat(path, "b");
    strcat(name, "a");
    assert_false(matches(&arena, parse(&arena, path), name));
    cz_arena_fini(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(examples),
        cmocka_unit_test(random_paths_agree_with_brute_force),
        cmocka_unit_test(hard_patterns_are_quick),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
