/* The machine of a plan: its constants in the order of dsl/vocab/machine.def.
 */
#include "frontend/cmd/cmd.h"

#include <string.h>

static const struct {
    const char *name;
    int64_t low;
} constants[] = {
#define CZ_CONSTANT(field, unit, scale, low, what) {#field, low},
#include "dsl/vocab/machine.def"
#undef CZ_CONSTANT
};
enum { N_CONSTANTS = sizeof constants / sizeof *constants };

static const cz_document_constant *find(const cz_document *document,
                                        const char *name)
{
    for (int i = 0; i < document->n_constants; i++)
        if (strcmp(document->constants[i].name, name) == 0)
            return &document->constants[i];
    return NULL;
}

/* The document's constants, as a machine that was read. */
static bool read(cz_arena *arena, const char *input,
                 const cz_document *document, cz_diags *diags,
                 cz_machine_given *out)
{
    const char **sources = CZ_NEW(arena, const char *, N_CONSTANTS);
    int64_t *values = CZ_NEW(arena, int64_t, N_CONSTANTS);
    int64_t *measured = CZ_NEW(arena, int64_t, N_CONSTANTS);
    for (int i = 0; i < N_CONSTANTS; i++) {
        const cz_document_constant *it = find(document, constants[i].name);
        if (!it) {
            cz_diag_error(diags, CZ_BAD_PLAN, (cz_span){0},
                          "%s: constants do not say %s", input,
                          constants[i].name);
            return false;
        }
        sources[i] = "plan";
        values[i] = it->value;
    }
    *out = (cz_machine_given){.fact = {.name = "the plan's",
                                       .values = {values, N_CONSTANTS},
                                       .measured = {measured, N_CONSTANTS},
                                       .sources = {sources, N_CONSTANTS}}};
    for (int i = 0; i < document->n_uneven_reduces; i++)
        *CZ_PUSH(arena, out->uneven_reduces, out->n_uneven_reduces) =
            document->uneven_reduces[i];
    return true;
}

static bool check(const char *input, const cz_machine_given *said,
                  cz_diags *diags)
{
    for (int i = 0; i < N_CONSTANTS; i++)
        if (said->fact.values.v[i] < constants[i].low) {
            cz_diag_error(diags, CZ_BAD_PLAN, (cz_span){0},
                          "%s: %s cannot be 0", input, constants[i].name);
            return false;
        }
    return true;
}

bool cz_cmd_machine(cz_arena *arena, const char *input,
                    const cz_document *document, const char *name,
                    const char *const *defines, int n, cz_diags *diags,
                    cz_machine *out)
{
    cz_machine_given said = {0};
    int i = 0;
    if ((!name && !read(arena, input, document, diags, &said)) ||
        ((name || n > 0) &&
         !cz_machine_load(arena, name, defines, n, diags, &said)) ||
        !check(input, &said, diags))
        return false;
    cz_machine_uneven *unevens =
        CZ_NEW(arena, cz_machine_uneven, said.n_uneven_reduces);
    for (int k = 0; k < said.n_uneven_reduces; k++)
        unevens[k] = cz_machine_uneven_of(&said.uneven_reduces[k]);
    *out = (cz_machine){.name = said.fact.name,
                        .n_unevens = said.n_uneven_reduces,
                        .unevens = unevens};
#define CZ_CONSTANT(field, unit, scale, low, what)                             \
    out->field = said.fact.values.v[i++];
#include "dsl/vocab/machine.def"
#undef CZ_CONSTANT
    return true;
}

static bool is_of_links(const char *constant)
{
    return strcmp(constant, "gpus_per_node") == 0 ||
           strncmp(constant, "node_", strlen("node_")) == 0 ||
           strncmp(constant, "network_", strlen("network_")) == 0;
}

bool cz_cmd_has_kernels_of(const cz_document *document,
                           const cz_machine *machine)
{
    bool same = true;
#define CZ_CONSTANT(field, unit, scale, low, what)                             \
    const cz_document_constant *field = find(document, #field);                \
    same &= is_of_links(#field) || (field && field->value == machine->field);
#include "dsl/vocab/machine.def"
#undef CZ_CONSTANT
    return same;
}
