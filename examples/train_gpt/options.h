/* The command line. */
#ifndef EXAMPLES_TRAIN_GPT_OPTIONS_H
#define EXAMPLES_TRAIN_GPT_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct options {
    const char *optimizer; /* "muon" or "adamw" */
    int dp, tp;
    int steps, eval_every, batch; /* batch: windows a step, over all ranks */
    int64_t seed;
    double lr_muon, lr_adamw;
    const char *data;             /* a file or a folder */
    const char *csv, *checkpoint; /* NULL: none */
    const char *world;            /* "threads" or "mpi" */
    bool quiet, help;
} options;

/* Fills in defaults, then what the arguments say.  On a wrong argument prints
 * a sentence to stderr and returns false. */
bool options_parse(options *, int argc, char **argv);

/* Prints the help text to stdout. */
void options_print_help(void);

#endif
