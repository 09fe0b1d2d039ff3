/* What the generated parser offers (lemon emits no prototypes).  Private to
 * the parser. */
#ifndef CZ_FRONTEND_SYNTAX_GRAMMAR_H
#define CZ_FRONTEND_SYNTAX_GRAMMAR_H

#include "frontend/syntax/tree.h"

typedef struct yyParser cz_grammar;

/* A parser object in the arena, its results going to `parser`; its stack is on
 * the heap until it is closed. */
cz_grammar *cz_grammar_open(cz_parser *parser);
void cz_grammar_close(cz_grammar *grammar);
/* Feed one token; kind 0 ends the text. */
void cz_grammar_feed(cz_grammar *grammar, int kind, cz_token token);
/* Would this token be accepted next, by its own kind and not as a name? */
bool cz_grammar_accepts(const cz_grammar *grammar, int kind);
/* How many symbols wait on the stack for the rest of their rule. */
size_t cz_grammar_depth(const cz_grammar *grammar);
/* How many kinds of token there are; they count from 1. */
int cz_grammar_n_tokens(void);

/* After an error was recovered: the next one is reported again. */
void cz_grammar_recovered(cz_grammar *grammar);

/* Called when the grammar's stack cannot grow: reports it, and ends the
 * parse; parse.c. */
void cz_parse_too_deep(cz_parser *parser);

#endif
