/* Words about bounds. */
#include "frontend/report/bounds.h"

#include <inttypes.h>
#include <string.h>

#include "frontend/document/number.h"

static void put_param(const cz_document *document, int64_t param, cz_text *out)
{
    cz_text_printf(out, "%s [%s]", document->params[param].name,
                   document->params[param].shape);
}

static void put_ranks(int64_t n, cz_text *out)
{
    cz_text_printf(out, "%" PRId64 " rank%s", n, n == 1 ? "" : "s");
}

static void put_mean(const cz_document *document,
                     const cz_document_bound *bound, cz_text *out)
{
    cz_text_puts(out, "least work of every matrix and element, over ");
    put_ranks(bound->n_ranks, out);
    if (bound->witness < 0)
        return;
    cz_text_puts(out, "; most of it like ");
    put_param(document, bound->witness, out);
}

static void put_item(const cz_document *document,
                     const cz_document_bound *bound, cz_text *out)
{
    if (bound->witness < 0) {
        cz_text_puts(out, "no matrix has an owner");
        return;
    }
    put_param(document, bound->witness, out);
    cz_text_puts(out, ", quickest on ");
    put_ranks(bound->n_ranks, out);
}

static void put_fit(const cz_document *document, const cz_document_bound *bound,
                    cz_text *out)
{
    if (bound->witness < 0) {
        cz_text_puts(out, "whole pieces of matrices do not raise the others");
        return;
    }
    cz_text_puts(out, "whole pieces of matrices do not fit ");
    put_ranks(bound->n_ranks, out);
    cz_text_puts(out, " sooner; most of them like ");
    put_param(document, bound->witness, out);
}

static void put_link(const cz_document *document,
                     const cz_document_bound *bound, cz_text *out)
{
    const bool is_node = strcmp(bound->name, "node") == 0;
    cz_number_short(out, bound->bytes, "B");
    cz_text_puts(out, is_node ? " to reduce gradients and gather parameters, "
                                "if none left a node"
                              : " of these between nodes");
    if (bound->witness < 0)
        return;
    cz_text_puts(out, "; most for such as ");
    put_param(document, bound->witness, out);
}

void cz_bound_witness(const cz_document *document,
                      const cz_document_bound *bound, cz_text *out)
{
    if (bound->is_of_links)
        put_link(document, bound, out);
    else if (strcmp(bound->name, "mean") == 0)
        put_mean(document, bound, out);
    else if (strcmp(bound->name, "item") == 0)
        put_item(document, bound, out);
    else
        put_fit(document, bound, out);
}

void cz_bound_admits(const cz_document_bound *bound, cz_text *out)
{
    int n = 0;
    for (int i = 0; i < bound->n_admits; i++)
        if (bound->admits[i] == 1)
            cz_text_puts(out, "owners");
        else
            cz_text_printf(out, "%s%" PRId64,
                           n++     ? ", "
                           : i > 0 ? ", groups of "
                                   : "groups of ",
                           bound->admits[i]);
    if (bound->n_admits == 0)
        cz_text_puts(out, "any plan");
}
