/* What the grammar would have taken instead of a token that has no place.
 * Private to the parser. */
#ifndef CZ_FRONTEND_SYNTAX_EXPECTED_H
#define CZ_FRONTEND_SYNTAX_EXPECTED_H

#include "frontend/syntax/grammar.h"

enum { CZ_MAX_TOKEN_KINDS = 128 };

typedef struct cz_expected {
    int kinds[CZ_MAX_TOKEN_KINDS];
    int n;
} cz_expected;

/* All kinds of token that the grammar accepts now. */
void cz_expected_collect(cz_expected *expected, const cz_grammar *grammar);
/* Report this token, and what was expected; suggest the keyword meant. */
void cz_expected_report(const cz_expected *expected, cz_parser *parser,
                        int kind, cz_token token);

#endif
