/* Processor time of the parts of a command, for --time.  What it says goes to
 * people, never into a plan. */
#ifndef CZ_FRONTEND_CMD_PARTS_H
#define CZ_FRONTEND_CMD_PARTS_H

#include "dsl/base/text.h"

#include <time.h>

/* In the order in which they run.  CZ_PART(enum, name) */
#define CZ_PARTS(X)                                                            \
    X(FRONT, "front end")                                                      \
    X(OWNERS, "owners")                                                        \
    X(SCHEDULE, "schedule")                                                    \
    X(VIEW, "plan view")                                                       \
    X(VERIFIER, "verifier")                                                    \
    X(HASH, "hash")                                                            \
    X(REPORT, "report")

typedef enum cz_part {
#define CZ_PART(tag, name) CZ_PART_##tag,
    CZ_PARTS(CZ_PART)
#undef CZ_PART
        CZ_N_PARTS
} cz_part;

typedef struct cz_parts {
    clock_t since; /* when the part that runs now began */
    clock_t ticks[CZ_N_PARTS];
} cz_parts;

/* Everything is zero, and a part begins now. */
void cz_parts_begin(cz_parts *parts);
/* What was done since the last call was of this part. */
void cz_parts_end(cz_parts *parts, cz_part part);
/* A line for each part and one for their sum, in seconds. */
void cz_parts_print(const cz_parts *parts, cz_text *out);

#endif
