/* Which tiles generated code asks for. */
#include "frontend/cmd/tiles.h"

#include "dsl/base/embedded.h"
#include "passes/cost/machine.h"

#include <assert.h>
#include <limits.h>

extern const cz_embedded cz_tile_files[];

static cz_tile_product shape_of(const cz_emit_product *product)
{
    return (cz_tile_product){.m = product->m,
                             .n = product->n,
                             .k = product->k,
                             .batch = product->batch,
                             .is_symmetric = product->is_symmetric,
                             .is_n_major = product->is_n_major,
                             .is_gram = product->is_gram,
                             .has_addend = product->has_addend};
}

/* As the runtime lists products. */
static void say_library(cz_text *said, const cz_tile_product *p,
                        const cz_tile_choice *choice)
{
    if (p->batch > 1)
        cz_text_printf(said, "%lld of ", (long long)p->batch);
    cz_text_printf(said,
                   "bf16[%lld, %lld] x bf16%s[%lld, %lld], unless symmetric: "
                   "%lld ns, ours %lld ns\n",
                   (long long)p->m, (long long)p->k, p->is_n_major ? "" : "'",
                   (long long)p->k, (long long)p->n,
                   (long long)choice->library_time, (long long)choice->time);
}

static bool choose(const void *user, const cz_emit_product *product,
                   cz_emit_tiles *out)
{
    const cz_build_tiles *tiles = user;
    const cz_tile_product shape = shape_of(product);
    cz_tile_choice choice;

    if (!cz_tile_choose(&shape, &tiles->machine, tiles->measured,
                        tiles->n_measured, &choice))
        return false;
    *out = (cz_emit_tiles){choice.shape.rows,      choice.shape.cols,
                           choice.shape.stages,    choice.shape.cluster,
                           (int)choice.cost.parts, choice.is_library};
    if (choice.is_library)
        say_library(tiles->said, &shape, &choice);
    return true;
}

static int64_t batch(const void *user, const cz_emit_product *product,
                     int64_t available)
{
    const cz_build_tiles *tiles = user;
    const cz_tile_product shape = shape_of(product);

    return cz_tile_batch(&shape, &tiles->machine, tiles->measured,
                         tiles->n_measured, available);
}

static int count_lines(const char *text)
{
    int n = 1;

    for (; *text; text++)
        n += *text == '\n';
    return n;
}

/* A table that is wrong was noticed by the test of tile_model.h. */
static void read_measured(cz_arena *arena, cz_build_tiles *tiles)
{
    const char *text = cz_tile_files[0].bytes;
    const int most = count_lines(text);
    int line;

    tiles->measured = CZ_NEW(arena, cz_tile_measured, (size_t)most);
    const bool is_read = cz_tile_measured_read(text, tiles->measured, most,
                                               &tiles->n_measured, &line);
    assert(is_read);
    if (!is_read)
        tiles->n_measured = 0;
}

const cz_emit_tiler *cz_build_tiles_open(cz_arena *arena,
                                         const cz_plan_view *view,
                                         cz_text *said, cz_build_tiles *out)
{
    cz_machine machine;

    if (!cz_machine_of(arena, view, &machine) || machine.sms > INT_MAX ||
        !cz_tile_machine_of((int)machine.sms, machine.bf16_rate,
                            machine.memory_rate, &out->machine))
        return NULL;
    read_measured(arena, out);
    out->said = said;
    out->tiler = (cz_emit_tiler){out->machine.sms, choose, batch, out};
    return &out->tiler;
}
