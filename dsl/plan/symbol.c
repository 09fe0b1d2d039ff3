#include "dsl/plan/symbol.h"

#include <ctype.h>

void cz_stage_symbol(const char *stage, cz_text *out)
{
    cz_text_puts(out, "stage_");
    for (const unsigned char *c = (const unsigned char *)stage; *c; c++) {
        const char put = (char)(*c < 128 && isalnum(*c) ? *c : '_');
        cz_text_put(out, &put, 1);
    }
}
