/* Megabytes of source that the parser takes in a second, the best of several
 * rounds.  usage: parse_speed LEAST FILE.  Exit status 1 below LEAST. */
#define _POSIX_C_SOURCE 200809L
#include "frontend/syntax/parse.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { N_ROUNDS = 7 };

/* The processor's time: the machine may have other work. */
static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Seconds of one round; negative after an error. */
static double parse_once(const cz_source *source)
{
    cz_arena arena;
    cz_diags diags;
    cz_arena_init(&arena);
    cz_diags_init(&diags, &arena);
    const double start = seconds();
    cz_parse(&arena, source, &diags);
    const double took = seconds() - start;
    cz_arena_fini(&arena);
    return diags.n_errors > 0 ? -1 : took;
}

int main(int argc, char **argv)
{
    cz_text text;
    const char *why = "";
    double best = 1e9;
    if (argc != 3 ||
        !cz_text_read_file(&text, argv[2], CZ_MAX_SOURCE_BYTES, &why)) {
        fprintf(stderr, "parse_speed: LEAST FILE, which %s\n", why);
        return 2;
    }
    const cz_source source = {"speed.cz", cz_text_string(&text), text.n};
    for (int i = 0; i < N_ROUNDS; i++) {
        const double took = parse_once(&source);
        if (took < 0) {
            fputs("parse_speed: the text has errors\n", stderr);
            return 2;
        }
        best = took < best ? took : best;
    }
    const double rate = (double)text.n / best / 1e6;
    printf("%.2f MB parsed in %.1f ms: %.1f MB/s\n", (double)text.n / 1e6,
           best * 1e3, rate);
    cz_text_fini(&text);
    return rate < strtod(argv[1], NULL);
}
