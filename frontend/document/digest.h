/* SHA-256 of texts, in hexadecimal. */
#ifndef CZ_FRONTEND_DOCUMENT_DIGEST_H
#define CZ_FRONTEND_DOCUMENT_DIGEST_H

#include "dsl/base/text.h"
#include "dsl/plan/document.h"

void cz_digest(const cz_text *text, char digits[CZ_DOCUMENT_DIGEST]);

#endif
