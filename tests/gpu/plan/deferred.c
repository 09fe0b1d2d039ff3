#include "tests/gpu/plan/deferred.h"

#include "tests/gpu/double/fake.h"

#include <stdlib.h>

#define DEFERRED_CODE "FAKE sm_90\ndeferred 0 8\n"

typedef struct record {
    struct record *next, **link;
    const deferred *of;
    deferred_work work;
    _Alignas(16) unsigned char given[];
} record;

static record *records; /* that no stream has come to, or all */
static bool is_kept;

void deferred_keep(bool keeps)
{
    is_kept = keeps;
}

static void drop(record *r)
{
    *r->link = r->next;
    if (r->next)
        r->next->link = r->link;
    free(r);
}

static void run(void **arguments)
{
    record *r = *(record **)arguments[0];

    r->work(r->given);
    if (!is_kept)
        drop(r);
}

czr_status deferred_open(czr_context *context, deferred *out)
{
    *out = (deferred){.context = context};
    fake_register("deferred", run);
    const czr_status status =
        czr_module_open(context, DEFERRED_CODE, "deferred", &out->module);
    return status == CZR_OK
               ? czr_module_find(&out->module, "deferred", 0, &out->kernel)
               : status;
}

void deferred_close(deferred *d)
{
    czr_module_close(&d->module);
    for (record *r = records, *next; r; r = next) {
        next = r->next;
        if (r->of == d)
            drop(r);
    }
}

czr_status deferred_put(const deferred *d, deferred_work work,
                        const void *given, size_t bytes, void *stream)
{
    static const czr_launch once = {.grid = {1, 1, 1}, .block = {1, 1, 1}};
    record *r = malloc(sizeof *r + bytes);

    if (!r)
        abort();
    r->of = d;
    r->work = work;
    memcpy(r->given, given, bytes);
    r->next = records;
    r->link = &records;
    if (records)
        records->link = &r->next;
    records = r;
    void *arguments[] = {&r};
    const czr_status status =
        czr_module_launch(d->context, d->kernel, &once, arguments, stream);
    if (status != CZR_OK && records == r)
        drop(r);
    return status;
}

void *deferred_at(const void *pointer, size_t bytes)
{
    return fake_at(czr_address_of(pointer), bytes);
}
