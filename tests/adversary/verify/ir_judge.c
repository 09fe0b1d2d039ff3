/* What becomes of edited IR: the verifier's word, and, where it accepts, what a
 * run of it computes beside the plan that it was.
 *
 *   ir_judge ORIGINAL MICROBATCHES     names of files on standard input
 *
 * Prints a line for each: "malformed", "rejected" with the reason, or,
 * accepted, "same" bits, "differs", "failed" with the reason, "uncompiled" or
 * "crashed". Each is judged in a process of its own. */
#include "dsl/ir/ir.h"
#include "dsl/plan/build/build.h"
#include "passes/verify/verify.h"
#include "tests/adversary/verify/planned.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_TEXT = 1 << 24, MAX_NAME = 4096, SECONDS = 60 };

static const char hash[] = "00000000000000000000000000000000"
                           "00000000000000000000000000000000";

/* A plan read from a file, a view of *ir; NULL: it is none. */
static const cz_plan_view *read_plan(const char *name, cz_arena *arena,
                                     cz_diags *diags, cz_ir **ir)
{
    cz_text text = {0};
    const char *why = "";

    if (!cz_text_read_file(&text, name, MAX_TEXT, &why)) {
        fprintf(stderr, "%s %s\n", name, why);
        exit(2);
    }
    *ir = cz_ir_parse(cz_text_string(&text), text.n, diags);
    cz_text_fini(&text);
    return *ir ? cz_plan_view_build(arena, *ir, diags) : NULL;
}

static void say(const char *verdict, const char *why)
{
    printf("%s %.*s\n", verdict, (int)strcspn(why, "\n"), why);
}

/* Both devices; NULL where the run does as `expected` did. */
static const char *run_plan(const cz_plan_view *view,
                            const czr_program *program, int64_t microbatches,
                            const cz_run_result *expected, cz_arena *arena)
{
    for (int late = 0; late < 2; late++) {
        cz_run_result result;
        if (planned_run(view, program, microbatches, late, arena, &result) !=
            CZR_OK) {
            say("failed", result.error);
            return "failed";
        }
        if (!planned_same_bits(expected, &result)) {
            say("differs", late ? "on the late device" : "on the host");
            return "differs";
        }
    }
    return NULL;
}

static void judge(const char *name, int64_t microbatches,
                  const cz_run_result *expected)
{
    cz_arena arena;
    cz_diags diags;
    cz_loaded loaded;
    cz_ir *ir; /* ends with its process */

    cz_arena_init(&arena);
    cz_diags_init(&diags, &arena);
    const cz_plan_view *view = read_plan(name, &arena, &diags, &ir);
    if (!view) {
        say("malformed", diags.n > 0 ? diags.list[0].message : "");
        return;
    }
    if (!cz_verify(view, &diags)) {
        say("rejected", diags.list[0].message);
        return;
    }
    if (!cz_loaded_open(view, hash, &diags, &loaded)) {
        say("uncompiled", "");
        return;
    }
    if (!run_plan(view, loaded.program, microbatches, expected, &arena))
        say("same", "");
}

/* In a process of its own, which may crash. */
static void judge_apart(const char *name, int64_t microbatches,
                        const cz_run_result *expected)
{
    int status;

    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        alarm(SECONDS);
        judge(name, microbatches, expected);
        fflush(stdout);
        _exit(0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child)
        exit(2);
    if (WIFSIGNALED(status))
        printf("crashed by signal %d\n", WTERMSIG(status));
    else if (WEXITSTATUS(status) != 0)
        printf("crashed with status %d\n", WEXITSTATUS(status));
}

int main(int argc, char **argv)
{
    cz_arena arena;
    cz_diags diags;
    cz_loaded loaded;
    cz_run_result expected;
    char name[MAX_NAME];
    cz_ir *ir;

    cz_arena_init(&arena);
    cz_diags_init(&diags, &arena);
    if (argc != 3)
        return 2;
    const int64_t microbatches = atoll(argv[2]);
    const cz_plan_view *view = read_plan(argv[1], &arena, &diags, &ir);
    if (!view || !cz_verify(view, &diags) ||
        !cz_loaded_open(view, hash, &diags, &loaded) ||
        planned_run(view, loaded.program, microbatches, false, &arena,
                    &expected) != CZR_OK)
        return 2;
    cz_loaded_close(&loaded);
    while (fgets(name, sizeof name, stdin)) {
        name[strcspn(name, "\n")] = '\0';
        judge_apart(name, microbatches, &expected);
    }
    fflush(stdout);
    cz_ir_close(ir);
    cz_arena_fini(&arena);
    return 0;
}
