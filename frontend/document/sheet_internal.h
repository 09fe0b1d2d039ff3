/* Private to frontend/plan_sheet*.c: a sheet while it is read. */
#ifndef CZ_FRONTEND_DOCUMENT_SHEET_INTERNAL_H
#define CZ_FRONTEND_DOCUMENT_SHEET_INTERNAL_H

#include "frontend/document/read.h"
#include "frontend/document/sheet.h"

typedef struct cz_sheet_reader {
    cz_json_reading *reading;
    cz_sheet *out;
} cz_sheet_reader;

/* A number from 0 to high, -1 for null. */
int64_t cz_sheet_optional(const cz_json_at *in, const char *key, int64_t high);
/* Parameters, matrices, buckets, stages, operations and constants. */
void cz_sheet_read_lists(cz_sheet_reader *r, const cz_json_at *root);

#endif
