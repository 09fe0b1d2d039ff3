/* Small changes of a row's plan, drawn at random: ways, blocks, batches and
 * the order in which matrices gather. */
#include "passes/solve/subgroup/internal.h"

uint64_t cz_subgroup_draw(cz_subgroup_draft *d, int n)
{
    d->random = d->random * 6364136223846793005u + 1442695040888963407u;
    return (d->random >> 33) % (uint64_t)n;
}

const cz_subgroup_way *cz_subgroup_way_of(const cz_subgroup_problem *problem,
                                          const cz_subgroup_job *job)
{
    return &problem->classes[job->of].ways[job->way];
}

static int batch_of(const cz_subgroup_draft *d, const cz_subgroup_job *job)
{
    return cz_subgroup_batch(cz_subgroup_way_of(d->problem, job));
}

static void redraw_block(cz_subgroup_draft *d, cz_subgroup_job *job)
{
    const int g = cz_subgroup_way_of(d->problem, job)->g;
    job->first = g * (int)cz_subgroup_draw(d, d->problem->width / g);
}

/* A way for so many matrices, the first from a random one on; false: none. */
static bool redraw_way(cz_subgroup_draft *d, cz_subgroup_job *job, int batch)
{
    const int n_ways = d->problem->classes[job->of].n_ways;
    const int from = (int)cz_subgroup_draw(d, n_ways);
    for (int w = 0; w < n_ways; w++) {
        job->way = (from + w) % n_ways;
        if (batch_of(d, job) != batch)
            continue;
        redraw_block(d, job);
        return true;
    }
    return false;
}

/* One of the class's other jobs joins the batch. */
static bool merge(cz_subgroup_draft *d, int at)
{
    const int from = (int)cz_subgroup_draw(d, d->n);
    for (int i = 0; i < d->n; i++) {
        const int other = (from + i) % d->n;
        cz_subgroup_job job = d->jobs[at];
        if (other == at || d->jobs[other].of != job.of)
            continue;
        if (!redraw_way(d, &job,
                        batch_of(d, &job) + batch_of(d, &d->jobs[other])))
            return false;
        d->jobs[at] = job;
        d->jobs[other] = d->jobs[--d->n];
        return true;
    }
    return false;
}

/* A batch becomes two. */
static bool split(cz_subgroup_draft *d, int at)
{
    cz_subgroup_job a = d->jobs[at], b = a;
    const int batch = batch_of(d, &a);
    if (batch == 1)
        return false;
    const int part = 1 + (int)cz_subgroup_draw(d, batch - 1);
    if (!redraw_way(d, &a, part) || !redraw_way(d, &b, batch - part))
        return false;
    d->jobs[at] = a;
    d->jobs[d->n++] = b;
    return true;
}

static void exchange_blocks(const cz_subgroup_draft *d, cz_subgroup_job *a,
                            cz_subgroup_job *b)
{
    const int first = a->first;
    a->first = b->first - b->first % cz_subgroup_way_of(d->problem, a)->g;
    b->first = first - first % cz_subgroup_way_of(d->problem, b)->g;
}

static void exchange_places(cz_subgroup_job *a, cz_subgroup_job *b)
{
    const cz_subgroup_job job = *a;
    *a = *b;
    *b = job;
}

static bool has_batches(const cz_subgroup_class *of)
{
    for (int w = 0; w < of->n_ways; w++)
        if (of->ways[w].batch > 1)
            return true;
    return false;
}

static bool rebatch(cz_subgroup_draft *d, int at)
{
    return has_batches(&d->problem->classes[d->jobs[at].of]) &&
           cz_subgroup_draw(d, 4) == 0 &&
           (cz_subgroup_draw(d, 2) ? merge(d, at) : split(d, at));
}

void cz_subgroup_move_way(cz_subgroup_draft *d)
{
    const int at = (int)cz_subgroup_draw(d, d->n);
    cz_subgroup_job *job = &d->jobs[at];
    if (!rebatch(d, at))
        redraw_way(d, job, batch_of(d, job));
}

void cz_subgroup_move(cz_subgroup_draft *d)
{
    const int at = (int)cz_subgroup_draw(d, d->n);
    cz_subgroup_job *job = &d->jobs[at];
    cz_subgroup_job *other = &d->jobs[cz_subgroup_draw(d, d->n)];
    if (rebatch(d, at))
        return;
    switch (cz_subgroup_draw(d, 8)) {
    case 0:
    case 1:
    case 2:
        redraw_way(d, job, batch_of(d, job));
        break;
    case 3:
    case 4:
        redraw_block(d, job);
        break;
    case 5:
    case 6:
        exchange_blocks(d, job, other);
        break;
    default:
        exchange_places(job, other);
    }
}

void cz_subgroup_redraw(cz_subgroup_draft *d)
{
    for (int i = 0; i < d->n; i++)
        redraw_way(d, &d->jobs[i], 1);
    for (int i = 0; i < d->n; i++) /* the last one may move when it merges */
        while (i < d->n && has_batches(&d->problem->classes[d->jobs[i].of]) &&
               cz_subgroup_draw(d, 3) == 0 && merge(d, i)) {
        }
}

/* The same form and g for so many matrices; one that there is for one. */
static int way_for(const cz_subgroup_class *of, int way, int batch)
{
    int found = way;
    for (int w = 0; w < of->n_ways; w++) {
        if (of->ways[w].form != of->ways[way].form ||
            of->ways[w].g != of->ways[way].g)
            continue;
        if (cz_subgroup_batch(&of->ways[w]) == batch)
            return w;
        if (cz_subgroup_batch(&of->ways[w]) == 1)
            found = w;
    }
    return found;
}

void cz_subgroup_put_alike(cz_subgroup_draft *d, int of, int count, int way)
{
    const cz_subgroup_class *class = &d->problem->classes[of];
    const int batch = cz_subgroup_batch(&class->ways[way]);
    while (count > 0) {
        const int w = way_for(class, way, batch < count ? batch : count);
        d->jobs[d->n++] = (cz_subgroup_job){of, w, 0};
        count -= cz_subgroup_batch(&class->ways[w]);
    }
}

void cz_subgroup_redraw_alike(cz_subgroup_draft *d, const int *counts)
{
    d->n = 0;
    for (int c = 0; c < d->problem->n_classes; c++)
        if (counts[c] > 0)
            cz_subgroup_put_alike(
                d, c, counts[c],
                (int)cz_subgroup_draw(d, d->problem->classes[c].n_ways));
}
