/* What comparisons of plans read besides: facts as text, digests of parts. */
#include "frontend/document/compare.h"

#include "frontend/document/digest.h"

/* ---- facts ---- */

static void add_fact(cz_arena *arena, cz_document *out, const char *part,
                     const char *name, const char *text)
{
    const char *key = cz_arena_printf(arena, "%s %s", part, name);
    *CZ_PUSH(arena, out->facts, out->n_facts) =
        (cz_document_fact){part, name, key, text};
}

static void read_use(const cz_json_at *at, cz_document *out)
{
    cz_arena *arena = at->reading->arena;
    const char *group = cz_json_word_of(at, "name");
    const cz_json_at hypers = cz_json_member(at, "hypers");
    const int n = cz_json_length(&hypers);
    add_fact(arena, out, "hypers", group, cz_json_word_of(at, "optimizer"));
    for (int i = 0; i < n && !at->reading->failed; i++) {
        const cz_json_at hyper = cz_json_element(&hypers, i);
        const cz_json_at value = cz_json_member(&hyper, "default");
        const char *name = cz_arena_printf(arena, "%s %s", group,
                                           cz_json_word_of(&hyper, "name"));
        add_fact(arena, out, "hypers", name,
                 cz_json_is_null(&value) ? "the trainer's"
                                         : cz_json_word(&value));
    }
}

/* Lists whose entries are compared as text: by their name, behind `of` if
 * there is one, the `keys` of each. */
static const struct fact_list {
    const char *section, *of, *keys[8];
} fact_lists[] = {
    {"rules", NULL, {"digest"}},
    {"reductions",
     NULL,
     {"dtype", "reduce_axes", "split_axes", "leaves", "terms"}},
    {"states",
     "rule",
     {"dtype", "shape", "init", "diagonal", "symmetric", "extern"}},
    {"stages", NULL, {"digest"}}};

/* "dtype f32, init 0" */
static const char *keys_text(const cz_json_at *at, const char *const *keys)
{
    const char *text = "";
    for (; *keys; keys++) {
        const cz_json_at member = cz_json_member(at, *keys);
        text = cz_arena_printf(at->reading->arena, "%s%s%s %s", text,
                               *text ? ", " : "", *keys,
                               cz_json_any_text(&member));
    }
    return text;
}

void cz_document_read_facts(const cz_json_at *root, cz_document *out)
{
    static const char *const clauses[] = {"master_dtype",
                                          "clip",
                                          "skip",
                                          "bucket_elements",
                                          "micro_group_bytes",
                                          "tp_strategy",
                                          "tp_subgroup",
                                          "memory_bytes",
                                          "form",
                                          "geometry",
                                          "layout",
                                          "tolerance",
                                          "wire",
                                          "tokens",
                                          "active"};
    cz_arena *arena = root->reading->arena;
    const cz_json_at policy = cz_json_member(root, "policy");
    const cz_json_at uses = cz_json_member(root, "uses");
    const int n_uses = cz_json_length(&uses);
    for (size_t i = 0; i < sizeof clauses / sizeof *clauses; i++) {
        const cz_json_at clause = cz_json_member(&policy, clauses[i]);
        add_fact(arena, out, "policy", clauses[i], cz_json_any_text(&clause));
    }
    for (int i = 0; i < n_uses && !root->reading->failed; i++) {
        const cz_json_at use = cz_json_element(&uses, i);
        read_use(&use, out);
    }
    for (size_t p = 0; p < sizeof fact_lists / sizeof *fact_lists; p++) {
        const struct fact_list *l = &fact_lists[p];
        const cz_json_at list = cz_json_member(root, l->section);
        const int n = cz_json_length(&list);
        for (int i = 0; i < n && !root->reading->failed; i++) {
            const cz_json_at at = cz_json_element(&list, i);
            const char *name = cz_json_word_of(&at, "name");
            if (l->of)
                name = cz_arena_printf(arena, "%s %s",
                                       cz_json_word_of(&at, l->of), name);
            add_fact(arena, out, l->section, name, keys_text(&at, l->keys));
        }
    }
}

/* ---- digests ---- */

const char *const cz_document_members[CZ_DOCUMENT_N_MEMBERS] = {
    "mesh",       "policy",    "uses",          "rules",     "reductions",
    "parameters", "families",  "stages",        "classes",   "matrices",
    "states",     "buckets",   "groups",        "schedule",  "metrics",
    "baselines",  "constants", "uneven_reduce", "groupings", "gpu"};

static int add_bytes(const char *bytes, size_t n, void *text)
{
    cz_text_put(text, bytes, n);
    return 0;
}

/* Of the part as compact JSON, keys in order. */
void cz_document_find_digests(const cz_json_at *root, cz_document *out)
{
    for (int i = 0; i < CZ_DOCUMENT_N_MEMBERS; i++) {
        if (!cz_json_has(root, cz_document_members[i]))
            continue;
        const cz_json_at part = cz_json_member(root, cz_document_members[i]);
        cz_text text = {0};
        json_dump_callback(part.value, add_bytes, &text,
                           JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY);
        cz_digest(&text, out->digests[i]);
        cz_text_fini(&text);
    }
}
