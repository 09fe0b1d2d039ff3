/* Names that are no parameters of the engine's.  Tensors that hold blocks of a
 * parameter and something else between them are bound by their own name, and
 * copied block by block; those of ties mean a parameter, or such a tensor;
 * frozen ones are refused as such.  Gradients may be new ones in each step. */
#include "runtime/engine/engine.h"
#include "tests/unit/unit.h"
#include "tests/unit/runtime/engine/toy.h"

enum { ROWS = 9, COLUMNS = 8, PADDING = 4444 };

static toy program;
static czr_stored_pattern piece;
static czr_storage storage;
static czr_pattern tie = {.name = "again", .first_param = 1};
static int n_wrong;

/* box.{0}: rows 0, 1, 3, 4, 6 and 7 are layers.{0}.w. */
static void prepare(void)
{
    const toy_options options = toy_usual(1);

    toy_init(&program, &options);
    program.patterns[0].dtype = CZR_F32;
    piece = (czr_stored_pattern){0, 0, {{0, 2, 3}, {0, COLUMNS, COLUMNS}}};
    storage = (czr_storage){program.patterns[0], 1, &piece};
    storage.of.name = "box.{0}";
    storage.of.shape[0] = ROWS;
    program.program.n_storages = program.program.n_ties = 1;
    program.program.storages = &storage;
    program.program.ties = &tie;
    n_wrong = 0;
}

static bool is_padding(int row)
{
    return row % 3 == 2;
}

typedef struct box {
    float param[ROWS][COLUMNS];
    float grad[TOY_LEAVES][ROWS][COLUMNS];
} box;

/* What nobody may read is not a number. */
static void fill(box *b)
{
    for (int row = 0; row < ROWS; row++)
        for (int i = 0; i < COLUMNS; i++) {
            b->param[row][i] = is_padding(row) ? PADDING : 1;
            for (int leaf = 0; leaf < TOY_LEAVES; leaf++)
                b->grad[leaf][row][i] =
                    is_padding(row) ? NAN : (float)(row + 1);
        }
}

static czr_status bind(czr_engine *e, const char *name, box *b, int64_t rows)
{
    const int64_t shape[] = {TOY_LEAVES, rows, COLUMNS};
    const czr_tensor param = {b->param, CZR_F32, 2, shape + 1, NULL};
    const czr_tensor grad = {b->grad, CZR_F32, 3, shape, NULL};

    fill(b);
    return czr_bind(e, name, &param, &grad);
}

static int n_moved_wrongly(const box *b)
{
    int n = 0;

    for (int row = 0; row < ROWS; row++)
        for (int i = 0; i < COLUMNS; i++)
            n += is_padding(row) ? b->param[row][i] != PADDING
                                 : b->param[row][i] >= 1;
    return n;
}

static czr_status bind_rest(czr_engine *e)
{
    n_wrong += czr_bind(e, "bias", NULL, NULL) != CZR_OK;
    n_wrong += czr_bind(e, "scale", NULL, NULL) != CZR_OK;
    return czr_seal(e);
}

static czr_status step_body(czr_world *world, void *user)
{
    static box first, second;
    const double rate[] = {0.01, 0};
    const czr_hyper hypers = {rate, 2};
    czr_layout_info info;
    czr_engine *e;
    czr_result result = {.skipped = 1};
    czr_status status = czr_open(&program.program, world, NULL, &e);

    if (status == CZR_OK) {
        n_wrong += czr_layout(e, "box.0", &info) != CZR_OK;
        n_wrong += info.bucket != -1 || info.param || info.n != 72;
        n_wrong += czr_layout(e, "again", &info) != CZR_OK || info.n != 72;
        n_wrong += czr_bind(e, "box.0", NULL, NULL) != CZR_ERR_SHAPE;
        n_wrong += bind(e, "box.0", &first, ROWS - 1) != CZR_ERR_SHAPE;
        n_wrong += bind(e, "box.0", &first, ROWS) != CZR_OK;
        n_wrong += bind(e, "again", &second, ROWS) != CZR_OK;
        status = bind_rest(e);
    }
    if (status == CZR_OK)
        status = czr_step(e, &hypers, NULL, &result);
    n_wrong +=
        result.skipped || n_moved_wrongly(&first) || n_moved_wrongly(&second);
    czr_close(e);
    return status;
}

static void blocks_move_and_padding_stays(void **state)
{
    prepare();
    assert_int_equal(czr_world_threads_run(1, step_body, NULL), CZR_OK);
    assert_int_equal(n_wrong, 0);
}

static czr_status overlap_body(czr_world *world, void *user)
{
    static box shared;
    czr_engine *e;
    czr_status status = czr_open(&program.program, world, NULL, &e);

    if (status == CZR_OK) {
        n_wrong += bind(e, "box.0", &shared, ROWS) != CZR_OK;
        n_wrong += bind(e, "box.1", &shared, ROWS) != CZR_OK;
        status = bind_rest(e);
    }
    czr_close(e);
    return status;
}

static void one_tensor_cannot_be_two(void **state)
{
    prepare();
    assert_int_equal(czr_world_threads_run(1, overlap_body, NULL),
                     CZR_ERR_OVERLAP);
    assert_int_equal(n_wrong, 0);
}

static czr_status open_body(czr_world *world, void *user)
{
    czr_engine *engine;
    const czr_status status = czr_open(&program.program, world, NULL, &engine);

    czr_close(engine);
    return status;
}

static void pieces_outside_their_tensor_are_refused(void **state)
{
    static const int64_t bad[][3] = {
        {-1, 2, 3}, {2, 2, 3}, {0, 0, 3}, {0, 2, 1}, {0, 2, 4}};

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        prepare();
        memcpy(piece.map[0], bad[i], sizeof bad[i]);
        assert_int_equal(czr_world_threads_run(1, open_body, NULL),
                         CZR_ERR_VERSION);
    }
    prepare();
    piece.pattern = 3;
    assert_int_equal(czr_world_threads_run(1, open_body, NULL),
                     CZR_ERR_VERSION);
}

/* ---- gradients that are new ones in each step ---- */

enum { STEPS = 3, BIAS = 5 };

typedef enum where { STAYS, MOVES, MOVES_AT_ONCE } where;

typedef struct moving {
    where where;
    box boxes[2];
    float bias[BIAS];
} moving;

typedef struct gradients {
    float box[TOY_LEAVES][ROWS][COLUMNS], bias[TOY_LEAVES][BIAS];
} gradients;

static void fill_gradients(gradients *of, int step)
{
    for (int leaf = 0; leaf < TOY_LEAVES; leaf++) {
        for (int i = 0; i < ROWS * COLUMNS; i++)
            of->box[leaf][i / COLUMNS][i % COLUMNS] =
                toy_grad(0, i, leaf, step);
        for (int i = 0; i < BIAS; i++)
            of->bias[leaf][i] = toy_grad(2, i, leaf, step);
    }
}

/* By addresses alone. */
static czr_status move(czr_engine *e, gradients *own)
{
    void *data[TOY_PARAMS] = {own->box, NULL, own->bias, NULL};
    void *in_engine[TOY_PARAMS] = {NULL, NULL, NULL, own->bias};

    n_wrong += czr_grads_move(e, in_engine, TOY_PARAMS) != CZR_ERR_UNBOUND;
    n_wrong += czr_grads_move(e, data, 2) != CZR_ERR_ARGUMENT;
    n_wrong += czr_grads_move(e, NULL, TOY_PARAMS) != CZR_ERR_ARGUMENT;
    return czr_grads_move(e, data, TOY_PARAMS);
}

/* Of each step in memory of its own, or all in that of the first. */
static czr_status moving_body(czr_world *world, void *user)
{
    static gradients all[STEPS];
    static const int64_t shape[] = {TOY_LEAVES, ROWS, COLUMNS};
    static const int64_t bias_shape[] = {TOY_LEAVES, BIAS};
    moving *of = user;
    czr_engine *e;
    czr_status status = czr_open(&program.program, world, NULL, &e);
    const czr_tensor bias = {of->bias, CZR_F32, 1, bias_shape + 1, NULL};

    for (int i = 0; i < 2 && status == CZR_OK; i++)
        status = bind(e, i ? "box.1" : "box.0", &of->boxes[i], ROWS);
    const czr_tensor first = {all[0].bias, CZR_F32, 2, bias_shape, NULL};
    n_wrong += czr_grad_bind(e, "bias", &first) != CZR_ERR_UNBOUND;
    n_wrong += czr_bind(e, "bias", &bias, &first) != CZR_OK;
    n_wrong += czr_bind(e, "scale", NULL, NULL) != CZR_OK;
    status = czr_seal(e);
    for (int step = 0; step < STEPS && status == CZR_OK; step++) {
        gradients *own = &all[of->where == STAYS ? 0 : step];
        const czr_tensor in_box = {own->box, CZR_F32, 3, shape, NULL};
        const czr_tensor in_bias = {own->bias, CZR_F32, 2, bias_shape, NULL};
        void *const ready[TOY_PARAMS] = {NULL, NULL, all[0].box, NULL};
        memset(all, 0xff, sizeof all); /* NaN */
        fill_gradients(own, step);
        memcpy(of->boxes[1].grad, own->box, sizeof own->box);
        if (of->where == MOVES_AT_ONCE && step)
            n_wrong += move(e, own) != CZR_OK;
        else
            n_wrong += czr_grad_bind(e, "box.0", &in_box) != CZR_OK ||
                       czr_grad_bind(e, "bias", &in_bias) != CZR_OK;
        n_wrong += czr_grad_bind(e, "bias", &in_box) != CZR_ERR_SHAPE;
        n_wrong += czr_grad_bind(e, "box.0", NULL) != CZR_ERR_SHAPE;
        n_wrong += czr_grad_bind(e, "nobody", NULL) != CZR_ERR_NOT_FOUND;
        n_wrong += czr_grad_ready(e, 2, NULL) != CZR_OK;
        n_wrong += czr_grad_bind(e, "bias", &in_bias) != CZR_ERR_STATE;
        n_wrong += of->where == MOVES_AT_ONCE &&
                   czr_grads_move(e, ready, TOY_PARAMS) != CZR_ERR_STATE;
        status = czr_step(e, &hyper, NULL, NULL);
    }
    czr_close(e);
    return status;
}

static void gradients_may_lie_elsewhere_in_each_step(void **state)
{
    static moving stays, moves[] = {{.where = MOVES}, {.where = MOVES_AT_ONCE}};

    prepare();
    assert_int_equal(czr_world_threads_run(1, moving_body, &stays), CZR_OK);
    for (moving *of = moves; of < moves + 2; of++) {
        assert_int_equal(czr_world_threads_run(1, moving_body, of), CZR_OK);
        assert_int_equal(n_wrong, 0);
        assert_memory_equal(stays.bias, of->bias, sizeof stays.bias);
        assert_memory_equal(stays.boxes[0].param, of->boxes[0].param,
                            sizeof stays.boxes[0].param);
        assert_memory_equal(of->boxes[0].param, of->boxes[1].param,
                            sizeof stays.boxes[0].param);
        assert_true(of->bias[0] != 0 && of->boxes[0].param[0][0] != 1);
    }
}

/* ---- without such tensors ---- */

static const czr_pattern frozen = {
    .name = "still.bias", .n_dims = 1, .shape = {4}};

static void prepare_names(void)
{
    prepare();
    program.program.n_storages = 0;
    program.program.n_frozen = 1;
    program.program.frozen = &frozen;
}

static czr_status names_body(czr_world *world, void *user)
{
    czr_layout_info mine, again;
    czr_hyper_desc decay;
    czr_engine *e;
    czr_status status = czr_open(&program.program, world, NULL, &e);

    if (status == CZR_OK) {
        n_wrong += czr_layout(e, "layers.1.w", &mine) != CZR_OK;
        n_wrong += czr_layout(e, "again", &again) != CZR_OK;
        n_wrong += mine.param != again.param || mine.grad != again.grad;
        n_wrong += czr_bind(e, "still.bias", NULL, NULL) != CZR_ERR_FROZEN;
        n_wrong += strstr(czr_error(e), "still.bias is frozen") == NULL;
        n_wrong += czr_layout(e, "still.bias", &again) != CZR_ERR_FROZEN;
        n_wrong += czr_layout(e, "moving.bias", &again) != CZR_ERR_NOT_FOUND;
        n_wrong += czr_bind(e, "layers.0.w", NULL, NULL) != CZR_OK;
        n_wrong += czr_bind(e, "bias", NULL, NULL) != CZR_OK;
        n_wrong += czr_bind(e, "scale", NULL, NULL) != CZR_OK;
        n_wrong += czr_seal(e) != CZR_ERR_UNBOUND;
        n_wrong += czr_bind(e, "again", NULL, NULL) != CZR_OK;
        n_wrong += strcmp(czr_param_group(e, 3), "all") != 0;
        n_wrong += czr_param_group(e, TOY_PARAMS) != NULL;
        n_wrong += czr_hyper_count(e) != 2;
        n_wrong += czr_hyper_get(e, 2, &decay) != CZR_ERR_ARGUMENT;
        n_wrong += czr_hyper_get(e, 1, &decay) != CZR_OK;
        n_wrong += strcmp(decay.name, "decay") != 0 || !decay.has_default;
        status = czr_seal(e);
    }
    czr_close(e);
    return status;
}

static void a_tied_name_means_its_parameter(void **state)
{
    prepare_names();
    assert_int_equal(czr_world_threads_run(1, names_body, NULL), CZR_OK);
    assert_int_equal(n_wrong, 0);
}

static void malformed_patterns_are_refused(void **state)
{
    czr_pattern bad = frozen;

    prepare_names();
    tie.first_param = TOY_PARAMS;
    assert_int_equal(czr_world_threads_run(1, open_body, NULL),
                     CZR_ERR_VERSION);
    tie.first_param = 1;
    assert_int_equal(czr_world_threads_run(1, open_body, NULL), CZR_OK);
    bad.name = "still.{0}";
    program.program.frozen = &bad;
    assert_int_equal(czr_world_threads_run(1, open_body, NULL),
                     CZR_ERR_VERSION);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_move_and_padding_stays),
        cmocka_unit_test(one_tensor_cannot_be_two),
        cmocka_unit_test(gradients_may_lie_elsewhere_in_each_step),
        cmocka_unit_test(pieces_outside_their_tensor_are_refused),
        cmocka_unit_test(a_tied_name_means_its_parameter),
        cmocka_unit_test(malformed_patterns_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
