/* What a step writes, kept before it: states, masters and the slice of the
 * parameters that this rank updates.  Other slices are their owners', from whom
 * they are gathered again; but a GPU, which nobody waits for, puts all of them
 * back. */
#include "runtime/engine/engine.h"

void czr_undo_find(const czr_engine *engine, int b, czr_undo_regions *out)
{
    const czr_program *program = engine->program;
    const czr_spaces *spaces = &engine->spaces[b];
    const size_t element = czr_dtype_bytes(program->buckets[b].dtype);
    const size_t master =
        spaces->master ? czr_dtype_bytes(program->master_dtype) : 0;
    const czr_range params =
        engine->cuda ? (czr_range){0, engine->program->buckets[b].length}
                     : engine->spaces[b].slice;
    unsigned char *kept = spaces->kept;

    out->of[0] = (czr_undo_region){spaces->states, NULL, spaces->state_bytes};
    out->of[1] = (czr_undo_region){spaces->master, NULL,
                                   (size_t)spaces->slice.n * master};
    out->of[2] =
        (czr_undo_region){spaces->param + (size_t)params.first * element, NULL,
                          (size_t)params.n * element};
    for (int i = 0; kept && i < CZR_UNDO_REGIONS; i++) {
        out->of[i].kept = kept;
        kept += out->of[i].bytes;
    }
}

czr_status czr_undo_open(czr_engine *engine)
{
    czr_device *device = engine->device;

    for (int b = 0; b < engine->program->n_buckets; b++) {
        czr_spaces *spaces = &engine->spaces[b];
        czr_undo_regions regions;
        size_t bytes = 0;
        if (!spaces->param)
            continue;
        czr_undo_find(engine, b, &regions);
        for (int i = 0; i < CZR_UNDO_REGIONS; i++)
            bytes += regions.of[i].bytes;
        spaces->kept = device->ops->alloc(device, bytes, 1);
        if (!spaces->kept)
            return CZR_ERR_NO_MEMORY;
    }
    return CZR_OK;
}

static void copy_bucket(czr_engine *engine, int b, bool is_back)
{
    czr_device *device = engine->device;
    czr_undo_regions regions;

    czr_undo_find(engine, b, &regions);
    for (int i = 0; i < CZR_UNDO_REGIONS; i++) {
        const czr_undo_region *r = &regions.of[i];
        if (r->bytes)
            device->ops->copy(device, is_back ? r->at : r->kept,
                              is_back ? r->kept : r->at, r->bytes);
    }
}

static void copy_all(czr_engine *engine, bool is_back)
{
    for (int b = 0; b < engine->program->n_buckets; b++)
        if (engine->spaces[b].kept)
            copy_bucket(engine, b, is_back);
}

czr_status czr_op_keep(czr_engine *engine, int op, czr_segment *segment)
{
    (void)op;
    segment->is_last = true;
    copy_all(engine, false);
    return CZR_OK;
}

czr_status czr_undo_restore(czr_engine *engine)
{
    const czr_program *program = engine->program;
    czr_status status = CZR_OK;

    copy_all(engine, true);
    for (int op = 0; op < program->n_ops && status == CZR_OK; op++)
        if (program->ops[op].kind == CZR_ALL_GATHER &&
            !czr_op_is_skipped(engine, op))
            status = czr_op_carry_out(engine, op);
    return status;
}
