/* From tokens, and the comments in the gaps between them, to statements and
 * blocks.  The text has no errors, so brackets and braces are in order. */
#include "frontend/format/internal.h"

#include <string.h>

#include "gram.h"

/* ---- words, comments and ends of statements, in a row ---------------------
 */

typedef enum element_kind { WORD, COMMENT, END, END_OF_TEXT } element_kind;

typedef struct element {
    element_kind kind;
    bool blank_before;
    int word; /* WORD */
    cz_fmt_comment *comment;
} element;

typedef struct reader {
    cz_fmt *fmt;
    size_t at;      /* read up to here */
    int n_newlines; /* since the last word or comment */
    element *list;
    int n;
} reader;

static element *push(reader *r, element_kind kind)
{
    element *e = CZ_PUSH(r->fmt->arena, r->list, r->n);

    *e = (element){.kind = kind, .blank_before = r->n_newlines > 1};
    return e;
}

static size_t comment_length(const char *text, size_t n)
{
    const char *end = memchr(text, '\n', n);

    n = end ? (size_t)(end - text) : n;
    while (strchr(" \t\r", text[n - 1]))
        n--;
    return n;
}

static void take_comment(reader *r, size_t to)
{
    const char *text = r->fmt->source->bytes + r->at;
    cz_fmt_comment *comment = CZ_NEW(r->fmt->arena, cz_fmt_comment, 1);

    *comment = (cz_fmt_comment){text, comment_length(text, to - r->at),
                                r->n_newlines > 0 || r->n == 0};
    push(r, COMMENT)->comment = comment;
    r->n_newlines = 0;
    while (r->at < to && r->fmt->source->bytes[r->at] != '\n')
        r->at++;
}

static int columns(const char *text, size_t n)
{
    int width = 0;

    for (size_t i = 0; i < n; i++)
        width += ((unsigned char)text[i] & 0xc0) != 0x80;
    return width;
}

static void take_word(reader *r, const cz_seen_token *token)
{
    cz_fmt *fmt = r->fmt;
    const char *text = fmt->source->bytes + token->span.offset;
    const size_t n = token->span.length;

    push(r, WORD)->word = fmt->n_words;
    *CZ_PUSH(fmt->arena, fmt->words, fmt->n_words) =
        (cz_fmt_word){.kind = token->kind,
                      .offset = token->span.offset,
                      .text = text,
                      .n = n,
                      .width = columns(text, n)};
    r->n_newlines = 0;
    r->at = token->span.offset + n;
}

/* ---- statements and blocks ------------------------------------------------
 */

typedef struct builder {
    cz_fmt *fmt;
    const element *at;
} builder;

static int kind_at(const builder *b)
{
    return b->at->kind == WORD ? b->fmt->words[b->at->word].kind : 0;
}

static cz_fmt_block *read_block(builder *b, bool is_blocks);

static cz_fmt_run *add_part(builder *b, cz_fmt_item *item)
{
    cz_fmt_run *run = CZ_PUSH(b->fmt->arena, item->runs, item->n_runs);

    *run = (cz_fmt_run){.first = b->at->word};
    return run;
}

/* A comment inside a statement, or behind its end. */
static void take_inner_comment(builder *b, cz_fmt_item *item)
{
    const cz_fmt_run *run = &item->runs[item->n_runs - 1];
    cz_fmt_word *word = &b->fmt->words[run->first + run->n - 1];

    if (b->at[1].kind == END || run->block)
        item->comment = b->at->comment;
    else
        *CZ_PUSH(b->fmt->arena, word->comments, word->n_comments) =
            *b->at->comment;
    b->at++;
}

/* `path : [...] blocks n { pieces }` is the one statement with a colon before
 * its block. */
static bool has_colon(const cz_fmt *fmt, const cz_fmt_item *item)
{
    for (int i = 0; i < item->runs[0].n; i++)
        if (fmt->words[item->runs[0].first + i].kind == TOK_COLON)
            return true;
    return false;
}

static void take_inner_block(builder *b, cz_fmt_item *item)
{
    cz_fmt_run *run = &item->runs[item->n_runs - 1];

    b->at++;
    run->block = read_block(b, has_colon(b->fmt, item));
    b->at++; /* the closing brace */
}

static void take_inner_word(builder *b, cz_fmt_item *item, int *depth)
{
    const int kind = kind_at(b);

    if (item->n_runs == 0 || item->runs[item->n_runs - 1].block)
        add_part(b, item);
    item->runs[item->n_runs - 1].n++;
    *depth += cz_fmt_is_open(kind) - cz_fmt_is_close(kind);
    b->at++;
}

static void read_statement(builder *b, cz_fmt_item *item, bool is_piece)
{
    int depth = 0;

    item->blank_before = b->at->blank_before;
    while (b->at->kind == WORD || b->at->kind == COMMENT) {
        const int kind = kind_at(b);
        if (kind == TOK_RBRACE)
            return;
        if (kind == 0)
            take_inner_comment(b, item);
        else if (kind == TOK_LBRACE)
            take_inner_block(b, item);
        else if (kind == TOK_COMMA && is_piece && depth == 0)
            break;
        else
            take_inner_word(b, item, &depth);
    }
    if (b->at->kind != END_OF_TEXT)
        b->at++;
}

/* A comment between statements: behind the one before it, behind the brace,
 * or alone. */
static void take_comment_item(builder *b, cz_fmt_block *block)
{
    const cz_fmt_comment *comment = b->at->comment;

    if (!comment->own_line && block->n_items == 0)
        block->comment = comment;
    else if (!comment->own_line)
        block->items[block->n_items - 1].comment = comment;
    else
        *CZ_PUSH(b->fmt->arena, block->items, block->n_items) = (cz_fmt_item){
            .blank_before = b->at->blank_before, .comment = comment};
    b->at++;
}

/* Up to the brace that closes it, or the end of the text. */
static cz_fmt_block *read_block(builder *b, bool is_blocks)
{
    cz_fmt_block *block = CZ_NEW(b->fmt->arena, cz_fmt_block, 1);

    block->is_blocks = is_blocks;
    while (b->at->kind != END_OF_TEXT && kind_at(b) != TOK_RBRACE) {
        if (b->at->kind == END)
            b->at++;
        else if (b->at->kind == COMMENT)
            take_comment_item(b, block);
        else
            read_statement(b,
                           CZ_PUSH(b->fmt->arena, block->items, block->n_items),
                           is_blocks);
    }
    return block;
}

void cz_fmt_read(cz_fmt *fmt, const cz_seen_tokens *tokens)
{
    reader r = {.fmt = fmt};

    for (int i = 0; i < tokens->n; i++) {
        const cz_seen_token *token = &tokens->list[i];
        while (r.at < token->span.offset)
            if (r.fmt->source->bytes[r.at] == '#')
                take_comment(&r, token->span.offset);
            else
                r.n_newlines += r.fmt->source->bytes[r.at++] == '\n';
        if (token->kind == TOK_NEWLINE)
            push(&r, END);
        else if (token->kind != 0)
            take_word(&r, token);
    }
    push(&r, END_OF_TEXT);
    builder b = {fmt, r.list};
    fmt->file = read_block(&b, false);
}

/* ---- what the other stages ask --------------------------------------------
 */

bool cz_fmt_is_open(int kind)
{
    return kind == TOK_LPAREN || kind == TOK_LBRACK;
}

bool cz_fmt_is_close(int kind)
{
    return kind == TOK_RPAREN || kind == TOK_RBRACK;
}

const cz_fmt_word *cz_fmt_first(const cz_fmt *fmt, const cz_fmt_item *item)
{
    return item->n_runs > 0 ? &fmt->words[item->runs[0].first] : NULL;
}

bool cz_fmt_same_children(const cz_node *node, int i)
{
    const cz_node *child = cz_child(node, i),
                  *before = i ? cz_child(node, i - 1) : NULL;

    if (!before || cz_n_children(child) == 0 ||
        cz_n_children(child) != cz_n_children(before))
        return false;
    for (int k = 0; k < cz_n_children(child); k++)
        if (cz_child(child, k) != cz_child(before, k))
            return false;
    return true;
}
