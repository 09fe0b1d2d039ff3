/* canzona trace: what ranks did last before a failure, as the runtime's
 * recorders have written it. */
#include "frontend/cmd/cmd.h"

#include "frontend/document/json.h"

#include <string.h>

enum { MAX_BYTES = 256 << 20, N_SHOWN = 8 };

static const struct argp_option options[] = {CZ_OPTION_DIAGNOSTICS, {0}};

/* An operation of a rank.  Its end is 0 while it is under way. */
typedef struct event {
    const char *name;
    int64_t rank, op, step, bytes, begin, end;
} event;

static event read_event(const cz_json_at *at)
{
    const cz_json_at args = cz_json_member(at, "args");

    return (event){
        .name = cz_json_word_of(at, "name"),
        .rank = cz_json_number_of(at, "pid", 0, INT32_MAX),
        .op = cz_json_number_of(&args, "op", -1, INT32_MAX),
        .step = cz_json_number_of(&args, "step", 0, INT64_MAX),
        .bytes = cz_json_number_of(&args, "bytes", 0, INT64_MAX),
        .begin = cz_json_number_of(&args, "begin_ns", 0, INT64_MAX),
        .end = cz_json_number_of(&args, "end_ns", 0, INT64_MAX),
    };
}

static void print_event(const event *e, int64_t now, cz_text *out)
{
    enum { NS_PER_US = 1000 };
    const double ms = 1e6;

    cz_text_printf(out, "  %12.3f", -(double)(now - e->begin) / ms);
    if (e->end)
        cz_text_printf(out, "  %10.3f", (double)(e->end - e->begin) / ms);
    else
        cz_text_printf(out, "  %10s", "under way");
    if (e->op >= 0)
        cz_text_printf(out, "  %5lld  %5lld  %10lld", (long long)e->step,
                       (long long)e->op, (long long)e->bytes);
    else
        cz_text_printf(out, "  %5s  %5s  %10s", "", "", "");
    cz_text_printf(out, "  %s\n", e->name);
}

/* The last operations of each rank; events of a rank follow each other. */
static void print_events(const event *events, int n, int64_t now, cz_text *out)
{
    for (int first = 0, end; first < n; first = end) {
        end = first;
        while (end < n && events[end].rank == events[first].rank)
            end++;
        cz_text_printf(out, "\nrank %lld\n  %12s  %10s  %5s  %5s  %10s\n",
                       (long long)events[first].rank, "begins, ms", "lasts, ms",
                       "step", "op", "bytes");
        for (int i = end - first > N_SHOWN ? end - N_SHOWN : first; i < end;
             i++)
            print_event(&events[i], now, out);
    }
}

static void read_and_print(cz_arena *arena, const cz_json_at *root,
                           cz_text *out)
{
    const cz_json_at other = cz_json_member(root, "otherData");
    const cz_json_at list = cz_json_member(root, "traceEvents");
    const int n = cz_json_length(&list);
    event *events = CZ_NEW(arena, event, n + 1);
    int n_events = 0;

    cz_text_printf(out, "%s\n", cz_json_word_of(&other, "failure"));
    for (int i = 0; i < n; i++) {
        const cz_json_at at = cz_json_element(&list, i);
        if (strcmp(cz_json_word_of(&at, "ph"), "M") != 0)
            events[n_events++] = read_event(&at);
    }
    print_events(events, n_events,
                 cz_json_number_of(&other, "at_ns", 0, INT64_MAX), out);
}

static int print_file(cz_arena *arena, cz_diags *diags, const char *file)
{
    cz_json_reading reading = {arena, diags, file, false};
    cz_json_at root = {&reading, NULL, NULL, 0, NULL};
    cz_text text = {0}, out = {0};
    const char *why = "";

    if (!cz_text_read_file(&text, file, MAX_BYTES, &why)) {
        cz_diag_error(diags, CZ_CANNOT_READ, (cz_span){0}, "%s %s", file, why);
        return CZ_EXIT_ERRORS;
    }
    json_t *tree = cz_json_parse(&root, &text);
    if (tree)
        read_and_print(arena, &root, &out);
    if (tree && !reading.failed)
        fwrite(cz_text_string(&out), 1, out.n, stdout);
    json_decref(tree);
    cz_text_fini(&text);
    cz_text_fini(&out);
    return tree && !reading.failed ? CZ_EXIT_OK : CZ_EXIT_ERRORS;
}

static int run(const cz_cmd_options *given)
{
    cz_arena arena;
    cz_diags diags;
    int status = CZ_EXIT_OK;

    cz_arena_init(&arena);
    cz_diags_init(&diags, &arena);
    for (int i = 0; i < given->n_inputs && status == CZ_EXIT_OK; i++)
        status = print_file(&arena, &diags, given->inputs[i]);
    cz_print_diagnostics(&diags);
    cz_arena_fini(&arena);
    return status;
}

const cz_command cz_command_trace = {
    "trace",
    "what ranks did last before a failure",
    options,
    "Print the failure of a run and the last operations of each rank, which "
    "the runtime writes where CZR_TRACE_FOLDER names a folder.  Times count "
    "from the failure.\v"
    "Examples:\n\n"
    "  CZR_TRACE_FOLDER=. ./train\n"
    "  canzona trace canzona.trace.json\n",
    run,
    "FILE..."};
