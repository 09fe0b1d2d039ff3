/* Workspace: intermediate results live from the step that writes them to the
 * last one that reads them, accumulators during their step.  A map that reads
 * a value for the last time may leave its result in its place. */
#include "passes/kernel/workspace.h"

#include <assert.h>

#include "dsl/plan/within.h"
#include "passes/kernel/liveness.h"

enum { NOWHERE = -1 };

/* What a value lies in: a buffer, or a slot, in which it takes all. */
typedef struct home {
    int buffer, place; /* NOWHERE */
} home;

/* How the slots are filled. */
typedef struct taste {
    bool in_place;   /* results take the place of what was gathered */
    bool last_first; /* what lives last takes its place first */
} taste;

typedef struct workspace {
    cz_arena *arena;
    const cz_view_stage *stage;
    taste taste;
    int first_result; /* value number of the first step's first result */
    home *homes;      /* of values */
    int n;            /* buffers */
    cz_live *buffers;
    int *moved;            /* of buffers: to this slot as a whole, or NOWHERE */
    int n_places, n_in;    /* slots; of these what is gathered, in front */
    cz_live_place *places; /* busy with what is gathered, or scattered */
    int64_t *within;       /* of rooms */
    int **numbers;         /* of steps' entries: buffers, or NOWHERE */
} workspace;

/* ---- values ---- */

static int output_of(const cz_view_stage *stage, int value)
{
    for (int i = 0; i < stage->n_out; i++)
        if (stage->out_value[i] == value)
            return i;
    return NOWHERE;
}

static bool reads(const cz_view_step *step, int value)
{
    for (int i = 0; i < step->n_in; i++)
        if (step->in[i] == value)
            return true;
    return false;
}

static int last_use(const cz_view_stage *stage, int value, int step)
{
    for (int s = stage->n_steps - 1; s > step; s--)
        if (reads(&stage->steps[s], value))
            return s;
    return step;
}

static bool needs_accumulator(const cz_view_step *step)
{
    return step->is_product &&
           (step->body >= 0 || step->alpha != 1 || step->beta != 0 ||
            step->out_dtype[0] != CZ_F32);
}

/* ---- slots ---- */

static void add_room(workspace *w, int slot, int first, int last)
{
    const int64_t bytes = cz_view_capacity(w->stage, slot + 1);

    if (bytes == 0)
        return;
    w->places[w->n_places] = (cz_live_place){bytes, first, last};
    w->within[w->n_places++] = slot + 1;
}

static int step_of(const cz_view_stage *stage, int value)
{
    int end = stage->n_in + stage->fact->scalars.n, s = 0;

    while (value >= (end += stage->steps[s].n_out))
        s++;
    return s;
}

/* What is gathered is there from before the first step on, what is scattered
 * until behind the last. */
static void add_rooms(workspace *w)
{
    const cz_view_stage *stage = w->stage;
    const int n = stage->n_in + stage->n_out;

    w->places = CZ_NEW(w->arena, cz_live_place, n + 1);
    w->within = CZ_NEW(w->arena, int64_t, n + 1);
    for (int i = 0; i < stage->n_in; i++) {
        w->homes[i].place =
            cz_view_capacity(stage, i + 1) ? w->n_places : NOWHERE;
        add_room(w, i, -1, last_use(stage, i, -1));
    }
    w->n_in = w->n_places;
    for (int i = 0; i < stage->n_out; i++)
        add_room(w, stage->n_in + i, step_of(stage, stage->out_value[i]),
                 stage->n_steps);
}

static int room_of_output(const workspace *w, int output)
{
    for (int r = w->n_in; r < w->n_places; r++)
        if (w->within[r] == w->stage->n_in + output + 1)
            return r;
    return NOWHERE;
}

/* ---- results in the place of operands ---- */

static int64_t bytes_at(const workspace *w, home at)
{
    return at.buffer != NOWHERE  ? w->buffers[at.buffer].bytes
           : at.place != NOWHERE ? w->places[at.place].bytes
                                 : 0;
}

/* The operand whose place a result of a map may take, or NOWHERE. */
static int predecessor_of(const workspace *w, int s, int result)
{
    const cz_view_step *step = &w->stage->steps[s];

    if (w->stage->where != CZ_WHERE_FULL_MATRIX)
        return NOWHERE;
    for (int i = 0; i < step->n_in; i++)
        if (cz_view_may_replace(step, i, result) &&
            last_use(w->stage, step->in[i], s) == s &&
            output_of(w->stage, step->in[i]) == NOWHERE &&
            bytes_at(w, w->homes[step->in[i]]) ==
                cz_view_place_bytes(step, result))
            return step->in[i];
    return NOWHERE;
}

static bool is_taken(const workspace *w, home at, int first_result, int value)
{
    for (int v = first_result; v < value; v++)
        if ((at.buffer != NOWHERE && w->homes[v].buffer == at.buffer) ||
            (at.place != NOWHERE && w->homes[v].place == at.place))
            return true;
    return false;
}

/* Whether the result takes an operand's place; another of the same step cannot
 * have it as well. */
static bool join(workspace *w, int s, int value, int first_result)
{
    const int before = predecessor_of(w, s, value - first_result);
    const int last = last_use(w->stage, value, s);

    if (before == NOWHERE || is_taken(w, w->homes[before], first_result, value))
        return false;
    const home at = w->homes[before];
    assert(w->moved || at.buffer == NOWHERE);
    if (at.buffer != NOWHERE) {
        if (w->moved[at.buffer] != NOWHERE)
            return false;
        if (w->buffers[at.buffer].last < last)
            w->buffers[at.buffer].last = last;
    } else if (at.place != NOWHERE && w->taste.in_place) {
        if (w->places[at.place].last < last)
            w->places[at.place].last = last;
    } else {
        return false;
    }
    w->homes[value] = at;
    return true;
}

/* A buffer that the step reads for the last time is in the slot already that
 * output `output` takes. */
static void join_output(workspace *w, int s, int value, int output,
                        int first_result)
{
    const int before = predecessor_of(w, s, value - first_result);
    const int room = room_of_output(w, output);

    if (room == NOWHERE || before == NOWHERE)
        return;
    const int buffer = w->homes[before].buffer;
    assert(w->moved || buffer == NOWHERE);
    if (buffer == NOWHERE || w->moved[buffer] != NOWHERE ||
        is_taken(w, w->homes[before], first_result, value) ||
        w->buffers[buffer].bytes != w->places[room].bytes)
        return;
    w->moved[buffer] = room;
    w->places[room].first = w->buffers[buffer].first;
}

/* ---- buffers ---- */

static int add_buffer(workspace *w, int64_t bytes, int first, int last)
{
    int n = w->n;

    *CZ_PUSH(w->arena, w->moved, n) = NOWHERE;
    *CZ_PUSH(w->arena, w->buffers, w->n) =
        (cz_live){.bytes = bytes, .first = first, .last = last};
    return w->n - 1;
}

static void add_result(workspace *w, int s, int i, int first_result)
{
    const int value = first_result + i;
    const int output = output_of(w->stage, value);

    if (output != NOWHERE)
        join_output(w, s, value, output, first_result);
    else if (!join(w, s, value, first_result))
        w->homes[value].buffer =
            add_buffer(w, cz_view_place_bytes(&w->stage->steps[s], i), s,
                       last_use(w->stage, value, s));
}

static void add_step(workspace *w, int s, int first_result)
{
    const cz_view_step *step = &w->stage->steps[s];
    /* What a step needs for itself: a product its accumulator, a factorisation
     * the workspace of its routine. */
    const int64_t own = step->factor || needs_accumulator(step)
                            ? cz_view_place_bytes(step, step->n_out)
                            : 0;

    for (int i = 0; i < step->n_out; i++)
        add_result(w, s, i, first_result);
    w->numbers[s] = CZ_NEW(w->arena, int, 1);
    *w->numbers[s] = own ? add_buffer(w, own, s, s) : NOWHERE;
}

/* ---- places ---- */

static void put(const workspace *w, home at, int64_t *offset, int64_t *within)
{
    int room = at.place;

    *offset = *within = 0;
    if (at.buffer != NOWHERE) {
        room = w->moved[at.buffer];
        if (room == NOWHERE) {
            *offset = w->buffers[at.buffer].offset;
            room = w->buffers[at.buffer].place;
        }
    }
    if (room == NOWHERE)
        *offset = -1;
    else if (room < w->n_places)
        *within = w->within[room];
}

static void put_step(const workspace *w, int s, int first_result,
                     cz_places *places)
{
    const cz_view_step *step = &w->stage->steps[s];
    int64_t *offsets = CZ_NEW(w->arena, int64_t, step->n_out + 1);
    int64_t *within = CZ_NEW(w->arena, int64_t, step->n_out + 1);
    bool is_elsewhere = false;

    for (int i = 0; i <= step->n_out; i++) {
        const home own = {*w->numbers[s], NOWHERE};
        put(w, i < step->n_out ? w->homes[first_result + i] : own, &offsets[i],
            &within[i]);
        is_elsewhere = is_elsewhere || within[i] != CZ_WITHIN_WORK;
    }
    places->offsets[s] = offsets;
    places->within[s] = is_elsewhere ? within : NULL;
}

static int64_t solve(cz_arena *arena, const cz_view_stage *stage, taste how,
                     cz_places *places)
{
    workspace w = {.arena = arena, .stage = stage, .taste = how};
    int n_values = stage->n_in + stage->fact->scalars.n;
    int64_t bytes;

    w.first_result = n_values;
    for (int s = 0; s < stage->n_steps; s++)
        n_values += stage->steps[s].n_out;
    w.homes = CZ_NEW(arena, home, n_values + 1);
    for (int i = 0; i < n_values; i++)
        w.homes[i] = (home){NOWHERE, NOWHERE};
    w.numbers = CZ_NEW(arena, int *, stage->n_steps + 1);
    add_rooms(&w);
    for (int s = 0, value = w.first_result; s < stage->n_steps; s++) {
        add_step(&w, s, value);
        value += stage->steps[s].n_out;
    }
    /* Buffers in slots as a whole need no other place. */
    for (int i = 0; i < w.n; i++)
        if (w.moved[i] != NOWHERE)
            w.buffers[i].bytes = 0;
    bytes = cz_liveness_place_among(arena, w.buffers, w.n, CZ_ALIGN_BYTES,
                                    w.places, w.n_places, how.last_first);
    places->offsets = CZ_NEW(arena, int64_t *, stage->n_steps + 1);
    places->within = CZ_NEW(arena, int64_t *, stage->n_steps + 1);
    for (int s = 0, value = w.first_result; s < stage->n_steps; s++) {
        put_step(&w, s, value, places);
        value += stage->steps[s].n_out;
    }
    return bytes;
}

int64_t cz_workspace_solve(cz_arena *arena, const cz_view_stage *stage,
                           cz_places *places)
{
    static const taste tastes[] = {
        {false, false}, {true, false}, {false, true}, {true, true}};
    int64_t least = solve(arena, stage, tastes[0], places);

    for (size_t i = 1; i < sizeof tastes / sizeof *tastes; i++) {
        cz_places other;
        const int64_t bytes = solve(arena, stage, tastes[i], &other);
        if (bytes < least) {
            least = bytes;
            *places = other;
        }
    }
    return least;
}
