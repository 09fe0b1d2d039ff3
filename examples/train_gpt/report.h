/* What the trainer tells the user: losses on stdout and in a CSV file, a
 * progress bar on stderr when that is a terminal. */
#ifndef EXAMPLES_TRAIN_GPT_REPORT_H
#define EXAMPLES_TRAIN_GPT_REPORT_H

#include <stdbool.h>
#include <stdio.h>

#include "options.h"

typedef struct report {
    FILE *csv;
    int steps;
    bool quiet, has_bar;
} report;

/* Fails, with errno, when the CSV file cannot be written. */
bool report_open(report *, const options *);
bool report_close(report *);

/* After each step: the mean loss of its batch in nats per byte. */
void report_step(report *, int step, double train);

/* After each validation. */
void report_validation(report *, int step, double train, double validation,
                       double grad_norm);

#endif
