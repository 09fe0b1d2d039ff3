/* One table of options; each row knows how to read its value. */
#include "options.h"

#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_RANKS = 1024 };

typedef struct option {
    const char *name, *value, *help;
    bool (*read)(const char *text, void *to);
    size_t offset;
} option;

static bool read_text(const char *text, void *to)
{
    *(const char **)to = text;
    return *text != '\0';
}

static bool read_seed(const char *text, void *to)
{
    char *end;
    errno = 0;
    const long long value = strtoll(text, &end, 10);
    *(int64_t *)to = value;
    return errno == 0 && end != text && *end == '\0' && value >= 0;
}

static bool read_count(const char *text, void *to)
{
    int64_t value;
    if (!read_seed(text, &value) || value < 1 || value > INT_MAX)
        return false;
    *(int *)to = (int)value;
    return true;
}

static bool read_rate(const char *text, void *to)
{
    char *end;
    const double value = strtod(text, &end);
    *(double *)to = value;
    return end != text && *end == '\0' && value > 0 && value < 1e3;
}

static bool read_ranks(const char *text, void *to)
{
    options *o = to;
    char *cross, *end;
    const long dp = strtol(text, &cross, 10);
    const long tp = *cross == 'x' ? strtol(cross + 1, &end, 10) : 0;
    if (dp < 1 || tp < 1 || dp > MOST_RANKS || tp > MOST_RANKS || *end)
        return false;
    o->dp = (int)dp;
    o->tp = (int)tp;
    return true;
}

static bool read_optimizer(const char *text, void *to)
{
    return read_text(text, to) &&
           (strcmp(text, "muon") == 0 || strcmp(text, "adamw") == 0);
}

static bool read_world(const char *text, void *to)
{
    return read_text(text, to) &&
           (strcmp(text, "threads") == 0 || strcmp(text, "mpi") == 0);
}

#define AT(field) offsetof(options, field)
static const option OPTIONS[] = {
    {"--optimizer", "NAME", "muon (with adamw for what is no matrix) or adamw",
     read_optimizer, AT(optimizer)},
    {"--ranks", "DPxTP", "data-parallel times tensor-parallel ranks",
     read_ranks, 0},
    {"--world", "NAME",
     "threads, or mpi: this is one of the processes of mpirun or srun",
     read_world, AT(world)},
    {"--steps", "N", "updates", read_count, AT(steps)},
    {"--batch", "N", "windows a step, over all ranks", read_count, AT(batch)},
    {"--seed", "N", "of weights and batches", read_seed, AT(seed)},
    {"--lr-muon", "X", "peak learning rate of muon", read_rate, AT(lr_muon)},
    {"--lr-adamw", "X", "peak learning rate of adamw", read_rate, AT(lr_adamw)},
    {"--eval-every", "N", "steps between validations", read_count,
     AT(eval_every)},
    {"--data", "PATH", "a file, or a folder of files, to learn", read_text,
     AT(data)},
    {"--checkpoint", "FOLDER",
     "go on from what is there, and save at each validation", read_text,
     AT(checkpoint)},
    {"--csv", "FILE", "write step,train,validation,grad_norm", read_text,
     AT(csv)},
};
#undef AT

static const options DEFAULTS = {.optimizer = "muon",
                                 .dp = 1,
                                 .tp = 1,
                                 .steps = 300,
                                 .eval_every = 50,
                                 .batch = 16,
                                 .seed = 1,
                                 .world = "threads",
                                 .lr_muon = 0.01,
                                 .lr_adamw = 0.003,
                                 .data = "/usr/share/common-licenses"};

enum { N_OPTIONS = sizeof OPTIONS / sizeof *OPTIONS };

/* Of "--name" or "--name=value"; *value: of that, or NULL. */
static const option *find(const char *text, const char **value)
{
    const char *equal = strchr(text, '=');
    const size_t n = equal ? (size_t)(equal - text) : strlen(text);

    *value = equal ? equal + 1 : NULL;
    for (size_t i = 0; i < N_OPTIONS; i++)
        if (strlen(OPTIONS[i].name) == n &&
            memcmp(OPTIONS[i].name, text, n) == 0)
            return &OPTIONS[i];
    return NULL;
}

static bool read_flag(options *o, const char *name)
{
    if (strcmp(name, "--quiet") == 0)
        return o->quiet = true;
    if (strcmp(name, "--help") == 0)
        return o->help = true;
    return false;
}

bool options_parse(options *o, int argc, char **argv)
{
    *o = DEFAULTS;
    for (int i = 1; i < argc; i++) {
        if (read_flag(o, argv[i]))
            continue;
        const char *value;
        const option *row = find(argv[i], &value);
        if (!row) {
            fprintf(stderr, "train_gpt: no option '%s'; see --help\n", argv[i]);
            return false;
        }
        if (!value && ++i < argc)
            value = argv[i];
        if (!value || !row->read(value, (char *)o + row->offset)) {
            fprintf(stderr, "train_gpt: %s wants %s: %s\n", row->name,
                    row->value, row->help);
            return false;
        }
    }
    if (o->batch % o->dp != 0) {
        fprintf(stderr, "train_gpt: %d ranks cannot share %d windows alike\n",
                o->dp, o->batch);
        return false;
    }
    return true;
}

void options_print_help(void)
{
    puts("Trains a small GPT on bytes; its optimizer is generated by canzona.\n"
         "\n"
         "usage: train_gpt [options]\n");
    for (size_t i = 0; i < N_OPTIONS; i++)
        printf("  %-12s %-6s %s\n", OPTIONS[i].name, OPTIONS[i].value,
               OPTIONS[i].help);
    puts("  --quiet             validations only\n"
         "\n"
         "example: train_gpt --ranks 2x2 --steps 300 --optimizer muon");
}
