/* What comparisons of plans read besides: facts as text, digests of parts. */
#ifndef CZ_FRONTEND_DOCUMENT_COMPARE_H
#define CZ_FRONTEND_DOCUMENT_COMPARE_H

#include "dsl/plan/document.h"
#include "frontend/document/json.h"

/* Policy, hyperparameters, rules, reductions, states and stages. */
void cz_document_read_facts(const cz_json_at *root, cz_document *out);
void cz_document_find_digests(const cz_json_at *root, cz_document *out);

#endif
