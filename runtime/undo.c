/* What a step writes, kept before it: states, masters and the slice of the
 * parameters that this rank updates.  Other slices are their owners', from whom
 * they are gathered again. */
#include "runtime/engine.h"

/* A region of a bucket that updates write, and where it is kept. */
typedef struct region {
    unsigned char *at;
    size_t bytes;
} region;

enum { N_REGIONS = 3 };

static void find_regions(const czr_engine *engine, int b, region *regions)
{
    const czr_program *program = engine->program;
    const czr_spaces *spaces = &engine->spaces[b];
    const size_t element = czr_dtype_bytes(program->buckets[b].dtype);
    const size_t n = (size_t)spaces->slice.n;

    regions[0] = (region){spaces->states, spaces->state_bytes};
    regions[1] = (region){
        spaces->master,
        spaces->master ? n * czr_dtype_bytes(program->master_dtype) : 0};
    regions[2] = (region){spaces->param + (size_t)spaces->slice.first * element,
                          n * element};
}

czr_status czr_undo_open(czr_engine *engine)
{
    czr_device *device = engine->device;

    for (int b = 0; b < engine->program->n_buckets; b++) {
        czr_spaces *spaces = &engine->spaces[b];
        region regions[N_REGIONS];
        size_t bytes = 0;
        if (!spaces->param)
            continue;
        find_regions(engine, b, regions);
        for (int i = 0; i < N_REGIONS; i++)
            bytes += regions[i].bytes;
        spaces->kept = device->ops->alloc(device, bytes, 1);
        if (!spaces->kept)
            return CZR_ERR_NO_MEMORY;
    }
    return CZR_OK;
}

static void copy_bucket(czr_engine *engine, int b, bool is_back)
{
    czr_device *device = engine->device;
    unsigned char *kept = engine->spaces[b].kept;
    region regions[N_REGIONS];

    find_regions(engine, b, regions);
    for (int i = 0; i < N_REGIONS; i++) {
        unsigned char *at = regions[i].at;
        if (regions[i].bytes)
            device->ops->copy(device, is_back ? at : kept, is_back ? kept : at,
                              regions[i].bytes);
        kept += regions[i].bytes;
    }
}

static void copy_all(czr_engine *engine, bool is_back)
{
    for (int b = 0; b < engine->program->n_buckets; b++)
        if (engine->spaces[b].kept)
            copy_bucket(engine, b, is_back);
}

void czr_undo_keep(czr_engine *engine)
{
    copy_all(engine, false);
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
