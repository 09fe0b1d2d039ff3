/* programs.def is written by the build: a row PROGRAM(optimizer, file stem)
 * for each file that canzona generated. */
#include "programs.h"

#include <stddef.h>
#include <string.h>

#define PROGRAM(optimizer, stem) extern const czr_program stem##_program;
#include "programs.def"
#undef PROGRAM

static const struct {
    const char *optimizer;
    const czr_program *program;
} PROGRAMS[] = {
#define PROGRAM(optimizer, stem) {#optimizer, &stem##_program},
#include "programs.def"
#undef PROGRAM
};

enum { N_PROGRAMS = sizeof PROGRAMS / sizeof *PROGRAMS };

/* An axis the mesh does not name has size 1. */
static int extent(const czr_program *program, const char *axis)
{
    for (int i = 0; i < program->n_axes; i++)
        if (strcmp(program->axes[i], axis) == 0)
            return program->sizes[i];
    return 1;
}

const czr_program *programs_find(const char *optimizer, int dp, int tp)
{
    for (size_t i = 0; i < N_PROGRAMS; i++) {
        const czr_program *program = PROGRAMS[i].program;
        if (strcmp(PROGRAMS[i].optimizer, optimizer) == 0 &&
            extent(program, "dp") == dp && extent(program, "tp") == tp)
            return program;
    }
    return NULL;
}

void programs_print(FILE *file)
{
    for (size_t i = 0; i < N_PROGRAMS; i++)
        fprintf(file, "%s%s on %dx%d", i ? ", " : "", PROGRAMS[i].optimizer,
                extent(PROGRAMS[i].program, "dp"),
                extent(PROGRAMS[i].program, "tp"));
    fputc('\n', file);
}
