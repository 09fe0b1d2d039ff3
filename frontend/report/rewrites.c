/* Rewrites of plan JSON, explained. */
#include "frontend/report/rewrites.h"

#include <inttypes.h>
#include <string.h>

#include "frontend/document/number.h"

static const struct reason {
    const char *name;
    const char *what, *why; /* %s: an s where there are several */
} reasons[] = {
    {"gram", "iteration%s put in Gram form",
     "products of square matrices are less than those with long ones"},
    {"cut", "value%s that travel alone",
     "element-wise work is done on shards, as early and as late as it can be"},
    {"settled", "state%s that live at the owner and do not travel",
     "work on the whole matrix alone reads and writes them"},
    {"symmetric", "product%s of which one triangle is computed",
     "they equal their transposes"},
    {"epilogue",
     "product%s with all that follows folded in, as scale and decay",
     "nobody else reads them"},
    {"transpose", "transpose%s that nobody makes",
     "products and loops read a value either way"},
};

static const struct reason *reason_of(const char *name)
{
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (strcmp(reasons[i].name, name) == 0)
            return &reasons[i];
    return NULL;
}

/* "    4 products of which one triangle is computed, because they equal their
 * transposes; FLOPs 16.8 M -> 8.45 M." */
static void put_rewrite(const cz_document_rewrite *it, cz_text *out)
{
    const struct reason *reason = reason_of(it->name);
    const bool is_flops = strcmp(it->unit, "flops") == 0;
    cz_text_printf(out, "    rewritten: %" PRId64 " ", it->count);
    if (reason) {
        const char *gap = strstr(reason->what, "%s");
        cz_text_put(out, reason->what, (size_t)(gap - reason->what));
        cz_text_puts(out, it->count == 1 ? "" : "s");
        cz_text_printf(out, "%s, because %s", gap + 2, reason->why);
    } else {
        cz_text_puts(out, it->name);
    }
    cz_text_printf(out, "; %s ", is_flops ? "FLOPs" : "bytes");
    cz_number_short(out, it->before, is_flops ? "" : "B");
    cz_text_puts(out, " -> ");
    cz_number_short(out, it->after, is_flops ? "" : "B");
    cz_text_puts(out, ".\n");
}

static bool has_rewrites(const cz_document *document)
{
    for (int s = 0; s < document->n_stages; s++)
        if (document->stages[s].n_rewrites > 0)
            return true;
    return false;
}

void cz_report_rewrites(const cz_document *document, cz_text *out)
{
    if (!has_rewrites(document))
        return;
    cz_text_puts(out, "\nalgebra, of one matrix\n");
    for (int s = 0; s < document->n_stages; s++) {
        const cz_document_stage *stage = &document->stages[s];
        if (stage->n_rewrites > 0)
            cz_text_printf(out, "  %s\n", stage->name);
        for (int i = 0; i < stage->n_rewrites; i++)
            put_rewrite(&stage->rewrites[i], out);
    }
}
