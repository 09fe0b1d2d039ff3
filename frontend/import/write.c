/* The text of an imported program. */
#include "frontend/import/internal.h"

#include <stdlib.h>
#include <string.h>

/* ---- what every program has ---- */

const char *cz_import_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* In a comment a name from outside stays on its line. */
static void put_visible(cz_text *out, const char *text)
{
    for (; *text; text++)
        cz_text_put(out, *text < ' ' || *text > '~' ? "?" : text, 1);
}

void cz_import_write_title(const cz_import *convert, cz_text *out)
{
    const char *name = strcmp(convert->input, "-") == 0
                           ? "standard input"
                           : cz_import_base_name(convert->input);

    cz_text_puts(out, "# Written by canzona import from ");
    put_visible(out, name);
    cz_text_puts(out, "\n");
}

#define MUON "use muon(lr, momentum = 0.95, decay = 0.1) as matrices on "
#define ADAMW(name, decay) "use adamw(lr, decay = " decay ") as " name " on "

void cz_import_write_uses(const cz_import *convert, cz_import_paths paths,
                          cz_text *out)
{
    if (!convert->adamw)
        cz_text_printf(out, MUON "%s\n", paths.matrices);
    if (paths.vectors)
        cz_text_printf(out, ADAMW("undecayed", "0") "%s\n", paths.vectors);
    cz_text_puts(out, ADAMW("vectors", "0") "** where ndim == 1\n");
    cz_text_puts(out, ADAMW("rest", "0.1") "**\n");
}

void cz_import_write_schedule(cz_text *out)
{
    cz_text_puts(
        out, "\n"
             "# What holds when no schedule is written:\n"
             "# schedule {\n"
             "#     grads f32 partial over dp\n"
             "#     master f32, state f32 split over dp\n"
             "#     tp auto\n"
             "# }\n"
             "# Often wanted besides: clip norm 1.0, skip nonfinite, overlap "
             "backward\n");
}

/* ---- an explicit model ---- */

static bool is_name_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           (c >= '0' && c <= '9');
}

/* The stem of the output, or of the input, as a name of the language; the
 * `m_` keeps what no name may be from being one. */
static const char *model_name(const cz_import *convert)
{
    static const char *const reserved[] = {"and", "or", "not", "true", "false"};
    const char *path = convert->output ? convert->output : convert->input;
    const char *base = cz_import_base_name(path);
    const size_t n = strcspn(base, ".");
    char *name = cz_arena_printf(convert->arena, "m_%.*s", (int)n, base);
    bool is_plain = n > 0 && (base[0] < '0' || base[0] > '9');

    if (strcmp(path, "-") == 0)
        return "imported";
    for (char *at = name; *at; at++)
        if (!is_name_byte(*at))
            *at = '_';
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++)
        is_plain &= strcmp(name + 2, reserved[i]) != 0;
    return is_plain ? name + 2 : name;
}

/* ---- who moves what ---- */

enum role { MATRIX, ROUTER, VECTOR, REST, N_ROLES };

typedef struct use_roles {
    const char **stacks; /* paths before an index under which matrices lie */
    int n_stacks;
    bool has_experts;
    bool found[N_ROLES], gate, router;
} use_roles;

enum { MAX_STACKS = 8 };

static bool ends_with(const char *name, const char *ending)
{
    const size_t n = strlen(name), n_ending = strlen(ending);

    return n >= n_ending && strcmp(name + n - n_ending, ending) == 0;
}

static void add_stack(cz_arena *arena, use_roles *roles, const char *name,
                      size_t n)
{
    for (int i = 0; i < roles->n_stacks; i++)
        if (strlen(roles->stacks[i]) == n &&
            strncmp(roles->stacks[i], name, n) == 0)
            return;
    if (roles->n_stacks <= MAX_STACKS)
        *CZ_PUSH(arena, roles->stacks, roles->n_stacks) =
            cz_arena_copy(arena, name, n);
}

static enum role role_of(const cz_import *convert, const cz_import_param *param,
                         use_roles *roles)
{
    const size_t stack = cz_import_stack_length(param->name);
    const bool is_gate = ends_with(param->name, ".gate.weight");
    const bool is_router = ends_with(param->name, ".router.weight");

    if (param->n_dims < 2)
        return VECTOR;
    if (convert->adamw || stack == 0)
        return REST;
    if (roles->has_experts && (is_gate || is_router)) {
        roles->gate |= is_gate;
        roles->router |= is_router;
        return ROUTER;
    }
    add_stack(convert->arena, roles, param->name, stack);
    return MATRIX;
}

static void put_uses(const cz_import *convert, const cz_import_list *list,
                     cz_text *out)
{
    use_roles roles = {.n_stacks = 0};

    for (int i = 0; i < list->n; i++)
        roles.has_experts |= strstr(list->params[i].name, ".experts.") != NULL;
    /* What is frozen is moved by nobody, and a use is for something. */
    for (int i = 0; i < list->n; i++)
        if (!list->params[i].frozen)
            roles.found[role_of(convert, &list->params[i], &roles)] = true;

    if (roles.found[ROUTER])
        cz_text_printf(out, ADAMW("routers", "0.1") "**.%s.weight\n",
                       !roles.gate     ? "router"
                       : !roles.router ? "gate"
                                       : "{gate, router}");
    if (roles.found[MATRIX]) {
        /* Few stacks are named; of many, all matrices are meant. */
        const bool by_stack = roles.n_stacks <= MAX_STACKS;

        cz_text_puts(out, MUON);
        for (int i = 0; by_stack && i < roles.n_stacks; i++)
            cz_text_printf(out, "%s%s.**", i > 0 ? ", " : "", roles.stacks[i]);
        cz_text_printf(out, "%s where ndim >= 2\n", by_stack ? "" : "**");
    }
    if (roles.found[VECTOR])
        cz_text_puts(out, ADAMW("vectors", "0") "** where ndim == 1\n");
    if (roles.found[REST] &&
        (!roles.found[MATRIX] || roles.n_stacks <= MAX_STACKS))
        cz_text_puts(out, ADAMW("rest", "0.1") "**\n");
}

void cz_import_write_model(const cz_import *convert, const cz_import_list *list,
                           const cz_import_mesh *mesh, const char *hint,
                           cz_text *out)
{
    int counts[CZ_N_DTYPES] = {0};
    int best = 0;

    for (int i = 0; i < list->n; i++)
        counts[list->params[i].dtype]++;
    for (int i = 1; i < CZ_N_DTYPES; i++)
        if (counts[i] > counts[best])
            best = i;
    const cz_dtype dtype = (cz_dtype)best;
    cz_text statements = {0};

    cz_import_patterns(convert->arena, list, dtype, &statements);
    cz_import_write_title(convert, out);
    cz_import_mesh_print(mesh, out);
    cz_text_puts(out, "\n");
    cz_text_puts(out, hint);
    for (int i = 0; i < list->n_comments; i++) {
        cz_text_puts(out, "# ");
        put_visible(out, list->comments[i]);
        cz_text_puts(out, "\n");
    }
    cz_text_printf(out, "model %s {\nparams %s {\n", model_name(convert),
                   cz_dtype_name(dtype));
    cz_text_put(out, cz_text_string(&statements), statements.n);
    cz_text_puts(out, "}\n}\n\n");
    put_uses(convert, list, out);
    cz_import_write_schedule(out);
    cz_text_fini(&statements);
}
