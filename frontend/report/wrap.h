/* Lines no wider than a terminal. */
#ifndef CZ_FRONTEND_REPORT_WRAP_H
#define CZ_FRONTEND_REPORT_WRAP_H

#include "dsl/base/text.h"

/* Appends `text`, in which lines of more than `width` bytes are broken at
 * spaces; what follows begins two columns further right than the line.  A word
 * that is too long stands alone. */
void cz_report_wrap(const char *text, int width, cz_text *out);

#endif
