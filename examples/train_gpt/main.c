/* train_gpt: trains a small GPT on N ranks, threads of this process or
 * processes of MPI. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "corpus.h"
#include "options.h"
#include "programs.h"
#include "report.h"
#include "train.h"
#include "world.h"

enum { EXIT_USAGE = 2, CONTEXT = 128, FEWEST_BYTES = 10 * (CONTEXT + 2) };

static int complain(const char *path, const char *why)
{
    fprintf(stderr, "train_gpt: %s: %s\n", path, why);
    return EXIT_FAILURE;
}

/* World NULL: all ranks are threads here. */
static int train(const options *o, const corpus *text,
                 const czr_program *program, czr_world *world)
{
    report told;
    training shared = {o, text, program, &told};

    if (!report_open(&told, o))
        return complain(o->csv, strerror(errno));
    const czr_status status =
        world ? train_rank(world, &shared)
              : czr_world_threads_run(o->dp * o->tp, train_rank, &shared);
    if (!report_close(&told))
        return complain(o->csv, strerror(errno));
    return status == CZR_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int read_and_train(const options *o, const czr_program *program,
                          czr_world *world)
{
    corpus text;

    if (!corpus_open(&text, o->data))
        return complain(o->data, strerror(errno));
    const int code = text.n_bytes < FEWEST_BYTES
                         ? complain(o->data, "too short to learn from")
                         : train(o, &text, program, world);
    corpus_close(&text);
    return code;
}

int main(int argc, char **argv)
{
    options o;

    if (!options_parse(&o, argc, argv))
        return EXIT_USAGE;
    if (o.help) {
        options_print_help();
        return EXIT_SUCCESS;
    }
    const czr_program *program = programs_find(o.optimizer, o.dp, o.tp);
    if (!program) {
        fprintf(stderr, "train_gpt: no %s on %dx%d in this build, which has ",
                o.optimizer, o.dp, o.tp);
        programs_print(stderr);
        return EXIT_USAGE;
    }
    if (strcmp(o.world, "threads") == 0)
        return read_and_train(&o, program, NULL);
    czr_world *world = NULL;
    if (!world_open(o.dp * o.tp, &world))
        return EXIT_FAILURE;
    if (czr_world_rank(world) != 0)
        o.csv = NULL; /* the first one writes it */
    const int code = read_and_train(&o, program, world);
    world_close(world, code != EXIT_SUCCESS);
    return code;
}
