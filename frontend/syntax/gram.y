/* The grammar of the language; dsl/LANGUAGE.md explains it.  Every action is
 * one call.  A statement is followed by exactly one NEWLINE (lines.c); an
 * error is recovered at the next one. */
%name cz_gram
%token_prefix TOK_
%token_type { cz_token }
%default_type { cz_node * }
%extra_context { cz_parser *p }
%stack_size 0

%include {
#include "frontend/syntax/internal.h"

#include <assert.h>
#include <stdlib.h> /* lemon grows its stack with it */

#define JOIN(a, b) cz_span_join((a).span, (b).span)
#define REACH(a, b) cz_span_join((a)->span, (b).span)
#define UPTO(a, b) cz_span_join((a).span, (b)->span)
#define LAST(list) ((list).items[(list).n - 1])
#define SPANNING(list) cz_span_join((list).items[0]->span, LAST(list)->span)
#define LEAF(kind, token) cz_tree_token(p, CZ_AST_##kind, token)
#define NODE(kind, span, text, ...)                                            \
    cz_tree_node(p, CZ_AST_##kind, span, text, CZ_NODES(__VA_ARGS__))
#define LIST(kind, span, text, list)                                           \
    cz_tree_node(p, CZ_AST_##kind, span, text, list)
#define UNARY(kind, span, a) cz_tree_unary(p, CZ_AST_##kind, span, a)
#define BINARY(kind, a, b) cz_tree_binary(p, CZ_AST_##kind, a, b)
#define ADD(list, node) cz_list_add(p, list, node)
}

%syntax_error { p->syntax_error = true; }
%stack_overflow { cz_parse_too_deep(p); }

/* Contextual keywords: names wherever the grammar does not ask for them. */
%fallback ID ACTIVE ANY AS BLOCKS BUCKET CHUNK CHUNKS CLIP CONST CYCLE DEF DIM ELSE
    EVEN EVERY EXTERN FIRST FOR FORM FROM FROZEN GEOMETRY GRADS GROUP IF IMPORT IN
    LAST LAYOUT LET MACHINE MASTER MEASURED MEMORY MESH MODEL NONFINITE NORM OF ON
    OPTIMIZER OVER OVERLAP PARAMS PARTIAL PIPELINE REDUCED RETURN SCHEDULE
    SHARD SKIP SPLIT STAGE STAGGER STATE STORED STRICT SUM TABLE THEN TIE
    TILES TOKENS TOLERANCE TRANSPOSED USE VIEW WHERE WIDE WIRE.

%left OR.
%left AND.
%right NOT.
%nonassoc LT LE GT GE EQ NE.
%nonassoc DOTS.
%left PLUS MINUS.
%left STAR SLASH AT.
%right NEGATE.
%right CARET.
%left TICK LBRACK.

%type statements { cz_list }
%type lets { cz_list }
%type axes { cz_list }
%type model_items { cz_list }
%type param_items { cz_list }
%type clauses { cz_list }
%type constants { cz_list }
%type rules { cz_list }
%type states { cz_list }
%type names { cz_list }
%type args { cz_list }
%type arg_list { cz_list }
%type paths { cz_list }
%type path { cz_path }
%type pieces { cz_list }
%type exprs { cz_list }

file ::= statements(L).
    { p->file = LIST(FILE, (cz_span){0}, p->scanner.source->name, L); }

/* ---- statements of a file ------------------------------------------------ */

statements(L) ::= .                                 { L = CZ_NO_NODES; }
statements(L) ::= statements(A) statement(S) NEWLINE.    { L = ADD(A, S); }
statements(L) ::= statements(A) lets(B) NEWLINE.
    { L = cz_list_join(p, A, B); }
statements(L) ::= statements(A) error NEWLINE.      { L = A; }

statement(S) ::= IMPORT(T) STRING(N).
    { S = LIST(IMPORT, JOIN(T, N), N.text, CZ_NO_NODES); }

statement(S) ::= MESH(T) axes(L).
    { S = LIST(MESH, UPTO(T, LAST(L)), NULL, L); }
statement(S) ::= MESH(T) ID(N) axes(L).
    { S = LIST(MESH, UPTO(T, LAST(L)), N.text, L); }
axes(L) ::= axis(A).                                { L = ADD(CZ_NO_NODES, A); }
axes(L) ::= axes(A) COMMA axis(B).                  { L = ADD(A, B); }
axis(A) ::= ID(N) ASSIGN expr(E).
    { A = NODE(AXIS, UPTO(N, E), N.text, E); }
axis(A) ::= ID(N) ASSIGN expr(E) OF ID(O).
    { A = NODE(AXIS, JOIN(N, O), N.text, E, LEAF(NAME, O)); }

statement(S) ::= MODEL(T) ID(N) FROM STRING(F).
    { S = NODE(MODEL_FROM, JOIN(T, F), N.text, LEAF(STRING, F)); }
statement(S) ::= MODEL(T) ID(N) LPAREN args(A) RPAREN(R).
    { S = LIST(MODEL_CALL, JOIN(T, R), N.text, A); }
statement(S) ::= MODEL(T) ID(N) LPAREN(L) args(A) RPAREN(R) model_block(B).
    { S = NODE(MODEL, UPTO(T, B), N.text,
               cz_tree_formals(p, JOIN(L, R), A), B); }
statement(S) ::= MODEL(T) ID(N) model_block(B).
    { S = NODE(MODEL, UPTO(T, B), N.text,
               cz_tree_formals(p, N.span, CZ_NO_NODES), B); }

statement(S) ::= use(U).                            { S = U; }
use(U) ::= USE(T) callee(C) ON selection(P).
    { U = NODE(USE, UPTO(T, P), C->text, C, P); }
use(U) ::= USE(T) callee(C) AS ID(N) ON selection(P).
    { U = cz_tree_mark(NODE(USE, UPTO(T, P), N.text, C, P), CZ_FLAG_NAMED,
                       P->span); }
use(U) ::= use(A) VIEW ID(N).
    { U = cz_tree_view(p, A, N); }
use(U) ::= use(A) VIEW TILES(T) expr(E).
    { U = cz_tree_attribute(p, A, NODE(TILES, UPTO(T, E), NULL, E), T); }
use(U) ::= use(A) VIEW ID(N) TILES(T) expr(E).
    { U = cz_tree_attribute(p, cz_tree_view(p, A, N),
                            NODE(TILES, UPTO(T, E), NULL, E), T); }
use(U) ::= use(A) WHERE(T) expr(E).
    { U = cz_tree_where(p, A, E, T); }
callee(C) ::= ID(N).
    { C = LIST(CALL, N.span, N.text, CZ_NO_NODES); }
callee(C) ::= ID(N) LPAREN args(A) RPAREN(R).
    { C = LIST(CALL, JOIN(N, R), N.text, A); }

statement(S) ::= SCHEDULE(T) LBRACE clauses(L) RBRACE(R).
    { S = LIST(SCHEDULE, JOIN(T, R), NULL, L); }

statement(S) ::= OPTIMIZER(T) ID(N) formals(F) FOR shape(H) block(B).
    { S = NODE(OPTIMIZER, UPTO(T, B), N.text, F, H, B); }
shape(H) ::= ANY(T).
    { H = cz_tree_mark(LIST(FOR_SHAPE, T.span, NULL, CZ_NO_NODES), CZ_FLAG_ANY,
                       T.span); }
shape(H) ::= LBRACK(T) names(L) RBRACK(R).
    { H = LIST(FOR_SHAPE, JOIN(T, R), NULL, L); }

statement(S) ::= DEF(T) ID(N) formals(F) block(B).
    { S = NODE(DEF, UPTO(T, B), N.text, F, B); }
statement(S) ::= DEF(T) ID(N) formals(F) WIDE block(B).
    { S = cz_tree_mark(NODE(DEF, UPTO(T, B), N.text, F, B), CZ_FLAG_WIDE,
                       B->span); }

statement(S) ::= table(A).                          { S = A; }
statement(S) ::= table(A) THEN LAST(T).
    { S = cz_tree_mark(A, CZ_FLAG_LAST, T.span); }
statement(S) ::= table(A) THEN CYCLE(T).
    { S = cz_tree_mark(A, CZ_FLAG_CYCLE, T.span); }
table(A) ::= TABLE(T) ID(N) ASSIGN expr(E).
    { A = NODE(TABLE, UPTO(T, E), N.text, E); }

statement(S) ::= MACHINE(T) ID(N).
    { S = LIST(MACHINE_CHOICE, JOIN(T, N), N.text, CZ_NO_NODES); }
statement(S) ::= MACHINE(T) ID(N) LBRACE constants(L) RBRACE(R).
    { S = LIST(MACHINE, JOIN(T, R), N.text, L); }
statement(S) ::= MACHINE(T) ID(N) FROM ID(O) LBRACE constants(L) RBRACE(R).
    { S = LIST(MACHINE, JOIN(T, R), N.text, ADD(L, LEAF(NAME, O))); }
constants(L) ::= .                                  { L = CZ_NO_NODES; }
constants(L) ::= constants(A) constant(B) separator.     { L = ADD(A, B); }
constants(L) ::= constants(A) error NEWLINE.        { L = A; }
constant(C) ::= ID(N) ASSIGN expr(E).
    { C = NODE(CONSTANT, UPTO(N, E), N.text, E); }
constant(C) ::= MEASURED(T) ID(N) ASSIGN expr(E).
    { C = cz_tree_mark(NODE(CONSTANT, UPTO(T, E), N.text, E),
                       CZ_FLAG_MEASURED, E->span); }

/* ---- parts that several statements share --------------------------------- */

lets(L) ::= LET(T) ID(N) ASSIGN expr(E).
    { L = ADD(CZ_NO_NODES, NODE(LET, UPTO(T, E), N.text, E)); }
lets(L) ::= lets(A) COMMA ID(N) ASSIGN expr(E).
    { L = ADD(A, NODE(LET, UPTO(N, E), N.text, E)); }

formals(F) ::= LPAREN(L) args(A) RPAREN(R).
    { F = cz_tree_formals(p, JOIN(L, R), A); }

args(L) ::= .                                       { L = CZ_NO_NODES; }
args(L) ::= arg_list(A).                            { L = A; }
arg_list(L) ::= arg(A).                             { L = ADD(CZ_NO_NODES, A); }
arg_list(L) ::= arg_list(A) COMMA arg(B).           { L = ADD(A, B); }
arg(A) ::= pipe(E).                 { A = NODE(ARG, E->span, NULL, E); }
arg(A) ::= ID(N) ASSIGN pipe(E).    { A = NODE(ARG, UPTO(N, E), N.text, E); }
arg(A) ::= CONST(T) ID(N) ASSIGN pipe(E).
    { A = cz_tree_mark(NODE(ARG, UPTO(T, E), N.text, E), CZ_FLAG_CONST,
                       E->span); }

names(L) ::= ID(N).                 { L = ADD(CZ_NO_NODES, LEAF(NAME, N)); }
names(L) ::= names(A) COMMA ID(N).  { L = ADD(A, LEAF(NAME, N)); }

type(Y) ::= ID(N).
    { Y = LIST(TYPE, N.span, N.text, CZ_NO_NODES); }
type(Y) ::= ID(N) LBRACK exprs(L) RBRACK(R).
    { Y = LIST(TYPE, JOIN(N, R), N.text, L); }

selection(P) ::= paths(L).
    { P = LIST(PATHS, SPANNING(L), NULL, L); }
paths(L) ::= path(A).
    { L = ADD(CZ_NO_NODES, cz_path_node(p, A)); }
paths(L) ::= paths(A) COMMA path(B). { L = ADD(A, cz_path_node(p, B)); }

/* ---- statements of a model ----------------------------------------------- */

model_block(B) ::= LBRACE(T) model_items(L) RBRACE(R).
    { B = LIST(BLOCK, JOIN(T, R), NULL, L); }
model_items(L) ::= .                                { L = CZ_NO_NODES; }
model_items(L) ::= model_items(A) params(S) NEWLINE.     { L = ADD(A, S); }
model_items(L) ::= model_items(A) lets(B) NEWLINE.
    { L = cz_list_join(p, A, B); }
model_items(L) ::= model_items(A) error NEWLINE.    { L = A; }

params(S) ::= PARAMS(T) ID(N) LBRACE param_items(L) RBRACE(R).
    { S = LIST(PARAMS, JOIN(T, R), N.text, L); }
param_block(B) ::= LBRACE(T) param_items(L) RBRACE(R).
    { B = LIST(BLOCK, JOIN(T, R), NULL, L); }
param_items(L) ::= .                                { L = CZ_NO_NODES; }
param_items(L) ::= param_items(A) param_item(S) NEWLINE. { L = ADD(A, S); }
param_items(L) ::= param_items(A) lets(B) NEWLINE.
    { L = cz_list_join(p, A, B); }
param_items(L) ::= param_items(A) error NEWLINE.    { L = A; }

param_item(S) ::= param(A).                         { S = A; }
param_item(S) ::= param_if(A).                      { S = A; }
param_item(S) ::= own_path(A) param_block(B).
    { S = NODE(PREFIX, REACH(A, *B), NULL, A, B); }
param_item(S) ::= own_path(A) stage(G) param_block(B).
    { S = NODE(PREFIX, REACH(A, *B), NULL, A, B, G); }
param_item(S) ::= TIE(T) own_path(A) ASSIGN own_path(B).
    { S = NODE(TIE, UPTO(T, B), NULL, A, B); }
param_item(S) ::= TIE(T) own_path(A) ASSIGN own_path(B) stage(G).
    { S = NODE(TIE, UPTO(T, G), NULL, A, B, G); }
stage(G) ::= STAGE(T) exprs(L).
    { G = LIST(STAGE, UPTO(T, LAST(L)), NULL, L); }

param_if(S) ::= IF(T) expr(E) param_block(B).
    { S = NODE(IF, UPTO(T, B), NULL, E, B); }
param_if(S) ::= IF(T) expr(E) param_block(B) ELSE param_block(C).
    { S = NODE(IF, UPTO(T, C), NULL, E, B, C); }
param_if(S) ::= IF(T) expr(E) param_block(B) ELSE param_if(C).
    { S = NODE(IF, UPTO(T, C), NULL, E, B, NODE(BLOCK, C->span, NULL, C)); }

param(S) ::= own_path(A) COLON dims(D).
    { S = NODE(PARAM, REACH(A, *D), NULL, A, D); }
param(S) ::= own_path(A) COLON ID(N) dims(D).
    { S = NODE(PARAM, REACH(A, *D), N.text, A, D); }
param(S) ::= param(A) STORED TRANSPOSED(T).
    { S = cz_tree_mark(A, CZ_FLAG_TRANSPOSED, T.span); }
param(S) ::= param(A) VIEW ID(N).                   { S = cz_tree_matrix(p, A, N); }
param(S) ::= param(A) FROZEN(T).
    { S = cz_tree_mark(A, CZ_FLAG_FROZEN, T.span); }
param(S) ::= param(A) BLOCKS(T) expr(E) LBRACE pieces(L) NEWLINE RBRACE(R).
    { S = cz_tree_attribute(p, A, LIST(BLOCKS, JOIN(T, R), NULL,
          cz_list_join(p, ADD(CZ_NO_NODES, E), L)), T); }
param(S) ::= param(A) STAGE(T) exprs(L).
    { S = cz_tree_attribute(p, A, LIST(STAGE, UPTO(T, LAST(L)), NULL, L), T); }
dims(D) ::= LBRACK(T) RBRACK(R).
    { D = LIST(DIMS, JOIN(T, R), NULL, CZ_NO_NODES); }
dims(D) ::= LBRACK(T) exprs(L) RBRACK(R).
    { D = LIST(DIMS, JOIN(T, R), NULL, L); }
pieces(L) ::= piece(A).                             { L = ADD(CZ_NO_NODES, A); }
pieces(L) ::= pieces(A) separator piece(B).         { L = ADD(A, B); }
piece(A) ::= ID(N) ASSIGN expr(E).  { A = NODE(STRIP, UPTO(N, E), N.text, E); }

separator ::= COMMA.
separator ::= NEWLINE.

own_path(A) ::= path(B).                            { A = cz_path_own(p, B); }
path(A) ::= PATH(T).                                { A = cz_path_begin(p, T); }
path(A) ::= path(B) PATH_MORE(T).
    { A = cz_path_more(p, B, T); }
path(A) ::= path(B) LBRACK ID(N) LT expr(E) RBRACK(R).
    { A = cz_path_index(p, B, N, E, R); }

/* ---- clauses of a schedule ----------------------------------------------- */

clauses(L) ::= .                                    { L = CZ_NO_NODES; }
clauses(L) ::= clauses(A) clause(B) separator.      { L = ADD(A, B); }
clauses(L) ::= clauses(A) error NEWLINE.            { L = A; }

clause(C) ::= grads(A).                             { C = A; }
clause(C) ::= grads(A) ON PATH(T).                  { C = cz_tree_on(p, A, T); }
grads(C) ::= GRADS(T) ID(N) PARTIAL OVER over(A).
    { C = NODE(GRADS, UPTO(T, A), N.text, A); }
grads(C) ::= GRADS(T) ID(N) PARTIAL OVER over(A) SUM(R).
    { C = cz_tree_mark(NODE(GRADS, UPTO(T, A), N.text, A), CZ_FLAG_SUM,
                       R.span); }
grads(C) ::= GRADS(T) ID(N) REDUCED(R).
    { C = cz_tree_mark(NODE(GRADS, JOIN(T, R), N.text,
          LIST(AXES, R.span, NULL, CZ_NO_NODES)), CZ_FLAG_REDUCED, R.span); }
over(A) ::= ID(N).
    { A = NODE(AXES, N.span, NULL, LEAF(NAME, N)); }
over(A) ::= LPAREN(T) names(L) RPAREN(R).
    { A = LIST(AXES, JOIN(T, R), NULL, L); }

clause(C) ::= MASTER(T) ID(N).
    { C = LIST(MASTER, JOIN(T, N), N.text, CZ_NO_NODES); }
clause(C) ::= STATE(T) ID(N).
    { C = NODE(KEEP, JOIN(T, N), N.text,
               LIST(AXES, N.span, NULL, CZ_NO_NODES)); }
clause(C) ::= STATE(T) ID(N) SPLIT OVER over(A).
    { C = NODE(KEEP, UPTO(T, A), N.text, A); }
clause(C) ::= CLIP(T) NORM expr(E).     { C = NODE(CLIP, UPTO(T, E), NULL, E); }
clause(C) ::= SKIP(T) NONFINITE(R).
    { C = LIST(SKIP, JOIN(T, R), NULL, CZ_NO_NODES); }
clause(C) ::= BUCKET(T) expr(E).
    { C = NODE(BUCKET, UPTO(T, E), NULL, E); }
clause(C) ::= GROUP(T) expr(E).
    { C = NODE(MICRO_GROUP_CAP, UPTO(T, E), NULL, E); }
clause(C) ::= MEMORY(T) expr(E).
    { C = NODE(MEMORY_CAP, UPTO(T, E), NULL, E); }
clause(C) ::= OVERLAP(T) ID(N).
    { C = LIST(OVERLAP, JOIN(T, N), N.text, CZ_NO_NODES); }
clause(C) ::= TOLERANCE(T) expr(E).
    { C = NODE(TOLERANCE, UPTO(T, E), NULL, E); }
clause(C) ::= WIRE(T) expr(E).          { C = NODE(WIRE_CAP, UPTO(T, E), NULL, E); }
clause(C) ::= TOKENS(T) expr(E).        { C = NODE(TOKENS, UPTO(T, E), NULL, E); }
clause(C) ::= ACTIVE(T) expr(E).        { C = NODE(ACTIVE, UPTO(T, E), NULL, E); }
clause(C) ::= STRICT(T).
    { C = LIST(STRICT, T.span, NULL, CZ_NO_NODES); }
clause(C) ::= LAYOUT(T) ID(N).
    { C = LIST(LAYOUT, JOIN(T, N), N.text, CZ_NO_NODES); }
clause(C) ::= GEOMETRY(T) ID(N).
    { C = LIST(GEOMETRY, JOIN(T, N), N.text, CZ_NO_NODES); }
clause(C) ::= FORM(T) ID(N).
    { C = LIST(FORM, JOIN(T, N), N.text, CZ_NO_NODES); }
clause(C) ::= shard(A).                             { C = A; }
clause(C) ::= shard(A) ON PATH(T).                  { C = cz_tree_on(p, A, T); }
shard(C) ::= SHARD(T) DIM expr(E) OVER over(A).
    { C = NODE(SHARD, UPTO(T, A), NULL, E, A); }
shard(C) ::= SHARD(T) DIM expr(E) OVER over(A) CHUNK(R).
    { C = cz_tree_mark(NODE(SHARD, UPTO(T, A), NULL, E, A), CZ_FLAG_CHUNK,
                       R.span); }
clause(C) ::= pipeline(A).                          { C = A; }
pipeline(C) ::= PIPELINE(T) EVEN(R).
    { C = NODE(PIPELINE, JOIN(T, R), NULL,
               LIST(TUPLE, R.span, NULL, CZ_NO_NODES)); }
pipeline(C) ::= PIPELINE(T) LPAREN(A) exprs(L) RPAREN(R).
    { C = NODE(PIPELINE, JOIN(T, R), NULL, LIST(TUPLE, JOIN(A, R), NULL, L)); }
pipeline(C) ::= pipeline(A) CHUNKS(T) expr(E).
    { C = cz_tree_once(p, A, E, 1, T); }
clause(C) ::= ID(T) ID(N).
    { C = NODE(AXIS_STRATEGY, JOIN(T, N), T.text, LEAF(NAME, N)); }

/* ---- statements of a rule ------------------------------------------------ */

block(B) ::= LBRACE(T) rules(L) RBRACE(R).
    { B = LIST(BLOCK, JOIN(T, R), NULL, L); }
rules(L) ::= .                                      { L = CZ_NO_NODES; }
rules(L) ::= rules(A) rule(S) NEWLINE.              { L = ADD(A, S); }
rules(L) ::= rules(A) states(B) NEWLINE.
    { L = cz_list_join(p, A, B); }
rules(L) ::= rules(A) error NEWLINE.                { L = A; }

states(L) ::= STATE names(A) COLON type(Y).
    { L = cz_tree_states(p, A, Y, NULL); }
states(L) ::= STATE names(A) COLON type(Y) ASSIGN expr(E).
    { L = cz_tree_states(p, A, Y, E); }
rule(S) ::= EXTERN(T) ID(N) COLON type(Y).
    { S = NODE(EXTERN, UPTO(T, Y), N.text, Y); }
rule(S) ::= target(A) ASSIGN pipe(E).               { S = BINARY(BIND, A, E); }
rule(S) ::= target(A) ARROW pipe(E).                { S = BINARY(WRITE, A, E); }
rule(S) ::= FOR(T) target(A) IN expr(E) block(B).
    { S = NODE(FOR, UPTO(T, B), NULL, A, E, B); }
rule(S) ::= FIRST(T) block(A).      { S = NODE(FIRST, UPTO(T, A), NULL, A); }
rule(S) ::= FIRST(T) block(A) ELSE block(B).
    { S = NODE(FIRST, UPTO(T, B), NULL, A, B); }
rule(S) ::= EVERY(T) expr(E) block(B).
    { S = NODE(EVERY, UPTO(T, B), NULL, E, B); }
rule(S) ::= EVERY(T) expr(E) FROM expr(F) block(B).
    { S = NODE(EVERY, UPTO(T, B), NULL, E, B, F); }
rule(S) ::= EVERY(T) expr(E) STAGGER(W) block(B).
    { S = cz_tree_mark(NODE(EVERY, UPTO(T, B), NULL, E, B), CZ_FLAG_STAGGERED,
                       W.span); }
rule(S) ::= EVERY(T) expr(E) FROM expr(F) STAGGER(W) block(B).
    { S = cz_tree_mark(NODE(EVERY, UPTO(T, B), NULL, E, B, F),
                       CZ_FLAG_STAGGERED, W.span); }
rule(S) ::= rule_if(A).                             { S = A; }
rule(S) ::= RETURN(T) pipe(E).      { S = NODE(RETURN, UPTO(T, E), NULL, E); }

rule_if(S) ::= IF(T) expr(E) block(B).
    { S = NODE(IF, UPTO(T, B), NULL, E, B); }
rule_if(S) ::= IF(T) expr(E) block(B) ELSE block(C).
    { S = NODE(IF, UPTO(T, C), NULL, E, B, C); }
rule_if(S) ::= IF(T) expr(E) block(B) ELSE rule_if(C).
    { S = NODE(IF, UPTO(T, C), NULL, E, B, NODE(BLOCK, C->span, NULL, C)); }

target(A) ::= ID(N).                                { A = LEAF(NAME, N); }
target(A) ::= LPAREN(T) names(L) RPAREN(R).
    { A = LIST(TUPLE, JOIN(T, R), NULL, L); }

/* ---- expressions --------------------------------------------------------- */

exprs(L) ::= expr(E).                               { L = ADD(CZ_NO_NODES, E); }
exprs(L) ::= exprs(A) COMMA expr(E).                { L = ADD(A, E); }

expr(E) ::= NUMBER(T).                              { E = LEAF(NUMBER, T); }
expr(E) ::= STRING(T).                              { E = LEAF(STRING, T); }
expr(E) ::= ID(T).                                  { E = LEAF(NAME, T); }
expr(E) ::= TRUE(T).                { E = cz_tree_bool(p, T, true); }
expr(E) ::= FALSE(T).               { E = cz_tree_bool(p, T, false); }
expr(E) ::= ID(N) LPAREN args(A) RPAREN(R).
    { E = LIST(CALL, JOIN(N, R), N.text, A); }
expr(E) ::= LPAREN(L) pipe(A) RPAREN(R).
    { E = cz_tree_parens(A, JOIN(L, R)); }
expr(E) ::= LPAREN(L) expr(A) COMMA exprs(B) RPAREN(R).
    { E = LIST(TUPLE, JOIN(L, R), NULL,
               cz_list_join(p, ADD(CZ_NO_NODES, A), B)); }
expr(E) ::= LBRACK(L) exprs(A) RBRACK(R).
    { E = LIST(LIST, JOIN(L, R), NULL, A); }
expr(E) ::= expr(A) TICK(T).        { E = UNARY(TRANSPOSE, REACH(A, T), A); }
expr(E) ::= expr(A) LBRACK expr(B) RBRACK(R).
    { E = NODE(ROW, REACH(A, R), NULL, A, B); }
expr(E) ::= MINUS(T) expr(A). [NEGATE]  { E = UNARY(NEG, UPTO(T, A), A); }
expr(E) ::= NOT(T) expr(A).         { E = UNARY(NOT, UPTO(T, A), A); }
expr(E) ::= expr(A) CARET expr(B).  { E = BINARY(POW, A, B); }
expr(E) ::= expr(A) STAR expr(B).   { E = BINARY(MUL, A, B); }
expr(E) ::= expr(A) SLASH expr(B).  { E = BINARY(DIV, A, B); }
expr(E) ::= expr(A) AT expr(B).     { E = BINARY(MATMUL, A, B); }
expr(E) ::= expr(A) PLUS expr(B).   { E = BINARY(ADD, A, B); }
expr(E) ::= expr(A) MINUS expr(B).  { E = BINARY(SUB, A, B); }
expr(E) ::= expr(A) DOTS expr(B).   { E = BINARY(INTERVAL, A, B); }
expr(E) ::= expr(A) LT expr(B).     { E = BINARY(LT, A, B); }
expr(E) ::= expr(A) LE expr(B).     { E = BINARY(LE, A, B); }
expr(E) ::= expr(A) GT expr(B).     { E = BINARY(GT, A, B); }
expr(E) ::= expr(A) GE expr(B).     { E = BINARY(GE, A, B); }
expr(E) ::= expr(A) EQ expr(B).     { E = BINARY(EQ, A, B); }
expr(E) ::= expr(A) NE expr(B).     { E = BINARY(NE, A, B); }
expr(E) ::= expr(A) AND expr(B).    { E = BINARY(AND, A, B); }
expr(E) ::= expr(A) OR expr(B).     { E = BINARY(OR, A, B); }

/* Where no operator can follow, so that nobody asks which comes first. */
pipe(E) ::= expr(A).                                { E = A; }
pipe(E) ::= pipe(A) PIPE ID(N) LPAREN args(L) RPAREN(R).
    { E = cz_tree_pipe(p, A, LIST(CALL, JOIN(N, R), N.text, L)); }

/* ---- behind the tables of the generated parser --------------------------- */

%code {
cz_grammar *cz_grammar_open(cz_parser *parser)
{
    cz_grammar *grammar = CZ_NEW(parser->arena, cz_grammar, 1);
    cz_gramInit(grammar, parser);
    return grammar;
}

void cz_grammar_close(cz_grammar *grammar)
{
    cz_gramFinalize(grammar);
}

void cz_grammar_feed(cz_grammar *grammar, int kind, cz_token token)
{
    cz_gram(grammar, kind, token);
}

/* lemon is silent for three tokens after an error; we start afresh at the
 * next statement. */
void cz_grammar_recovered(cz_grammar *grammar)
{
    grammar->yyerrcnt = -1;
}

size_t cz_grammar_depth(const cz_grammar *grammar)
{
    return (size_t)(grammar->yytos - grammar->yystack);
}

int cz_grammar_n_tokens(void)
{
    return YYNTOKEN;
}

/* What the tables say of this token in this state, without the fallback to
 * ID.  A state above YY_MAX_SHIFT is a reduction that is already decided. */
static YYACTIONTYPE action_of(YYACTIONTYPE state, int kind)
{
    if (state > YY_MAX_SHIFT)
        return state;
    const int i = yy_shift_ofst[state] + kind;
    return yy_lookahead[i] == kind ? yy_action[i] : yy_default[state];
}

/* Reductions are simulated: the real stack is kept up to `depth`, and what
 * they push lies on top of it. */
enum { MAX_PUSHED = 64 };

bool cz_grammar_accepts(const cz_grammar *grammar, int kind)
{
    YYACTIONTYPE pushed[MAX_PUSHED];
    int n_pushed = 0;
    const yyStackEntry *top = grammar->yytos;
    YYACTIONTYPE action = action_of(top->stateno, kind);

    while (action >= YY_MIN_REDUCE) {
        const int rule = action - YY_MIN_REDUCE;
        int n = -yyRuleInfoNRhs[rule];
        for (; n > 0 && n_pushed > 0; n--)
            n_pushed--;
        top -= n;
        const YYACTIONTYPE below = n_pushed ? pushed[n_pushed - 1]
                                            : top->stateno;
        if (n_pushed == MAX_PUSHED)
            return false;
        pushed[n_pushed++] = yy_find_reduce_action(below, yyRuleInfoLhs[rule]);
        action = action_of(pushed[n_pushed - 1], kind);
    }
    return action <= YY_MAX_SHIFTREDUCE || action == YY_ACCEPT_ACTION;
}
}
