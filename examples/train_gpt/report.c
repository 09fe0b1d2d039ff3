/* Printing; nothing here decides anything. */
#include "report.h"

#include <unistd.h>

enum { BAR_CELLS = 32 };

bool report_open(report *r, const options *o)
{
    *r = (report){.steps = o->steps,
                  .quiet = o->quiet,
                  .has_bar = !o->quiet && isatty(STDERR_FILENO)};
    if (!o->csv)
        return true;
    r->csv = fopen(o->csv, "w");
    return r->csv && fputs("step,train,validation,grad_norm\n", r->csv) >= 0;
}

bool report_close(report *r)
{
    return !r->csv || fclose(r->csv) == 0;
}

static void clear_bar(const report *r)
{
    if (r->has_bar)
        fputs("\r\033[K", stderr);
}

void report_step(report *r, int step, double train)
{
    char bar[BAR_CELLS + 1] = {0};

    if (!r->has_bar)
        return;
    for (int i = 0; i < BAR_CELLS; i++)
        bar[i] = i * r->steps < step * BAR_CELLS ? '#' : '.';
    fprintf(stderr, "\r[%s] %d/%d  loss %.3f", bar, step, r->steps, train);
    fflush(stderr);
    if (step == r->steps)
        clear_bar(r);
}

void report_validation(report *r, int step, double train, double validation,
                       double grad_norm)
{
    clear_bar(r);
    printf("step %4d  train %.4f  validation %.4f  gradient norm %.3f\n", step,
           train, validation, grad_norm);
    fflush(stdout);
    if (r->csv)
        fprintf(r->csv, "%d,%.6f,%.6f,%.6f\n", step, train, validation,
                grad_norm);
}
