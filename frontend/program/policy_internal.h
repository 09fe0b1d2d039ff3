/* Between the files of policy: what reading a clause needs, and what clauses
 * have in common. */
#ifndef CZ_FRONTEND_PROGRAM_POLICY_INTERNAL_H
#define CZ_FRONTEND_PROGRAM_POLICY_INTERNAL_H

#include "frontend/program/policy.h"

typedef struct cz_clauses {
    cz_policy *policy;
    const cz_mesh *mesh;
    cz_env *env;
    cz_diags *diags;
    const cz_node *seen[CZ_AST_N_KINDS];
    bool failed;
} cz_clauses;

/* Reports "`what` not supported yet". */
void cz_clause_unsupported(cz_clauses *c, cz_span span, const char *what);
void cz_clause_said_before(cz_clauses *c, const cz_node *node,
                           const cz_node *before);
/* Whether it is one of `words`; what is not is reported. */
bool cz_clause_check_word(cz_clauses *c, const cz_node *node, const char *word,
                          const char *const *words, int n);
/* The enum of a word of the vocabulary; one that it lacks is reported. */
bool cz_clause_choice(cz_clauses *c, const cz_node *node, const char *word,
                      cz_vocabulary vocabulary, int *choice);
/* Pieces of the mesh.  `of_data`: axes that hold replicas of every dense
 * parameter. */
int64_t cz_clause_axes(cz_clauses *c, const cz_node *node, bool of_data);
/* The type that a clause names; with `narrow` it may be bf16. */
cz_dtype cz_clause_dtype(cz_clauses *c, const cz_node *node, const char *what,
                         bool narrow);

#endif
