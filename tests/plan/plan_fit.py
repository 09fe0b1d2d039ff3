"""The bound by fit of a plan: its prices prove it, which is shown here by
dynamic programming over whole pieces, in exact integers.  Written from the
schema alone.

What a rank's load is worth beyond elements alone is the sum over its pieces of
what each adds to that; a list of loads of which none is both longer and worth
less than another grows by one kind of piece after the other, and drops what
cannot become worth enough."""
import math


def pieces(classes, counts, owners):
    """(class, group, matrices, picoseconds): batches of an owner, one matrix in
    the other admitted forms."""
    for c, of in enumerate(classes):
        for form in of["forms"] if counts[c] else ():
            if form["admitted"] and form["group_size"] > 1:
                yield c, form["group_size"], 1, form["batches"][0]["time_ps"]
            elif form["admitted"]:
                for batch, time in owners[c]:
                    yield c, 1, batch, time


def best_of(loads):
    """Those that no shorter one is worth as much as."""
    kept, most = [], -1
    for time, worth in sorted(loads, key=lambda load: (load[0], -load[1])):
        if worth > most:
            kept.append((time, worth))
            most = worth
    return kept


def add(loads, time, worth, limit):
    """Each load, with as many more pieces as end by then."""
    return best_of((at + n * time, own + n * worth) for at, own in loads
                   for n in range((limit - at) // time + 1))


def is_load_worth(added, limit, wanted):
    """Whether pieces that end by the limit together add so much; added: (time,
    worth) of each kind."""
    added = sorted((kind for kind in added if kind[1] > 0 and kind[0] <= limit),
                   key=lambda kind: kind[1] / kind[0], reverse=True)
    loads = [(0, 0)]
    for q, (time, worth) in enumerate(added):
        loads = [(at, own) for at, own in add(loads, time, worth, limit)
                 if any((wanted - own) * kind[0] <= (limit - at) * kind[1]
                        for kind in [(1, 0), *added[q + 1:]])]
    return any(worth >= wanted for _, worth in loads)


def is_refuted(classes, counts, owners, elements_ps, n_ranks, prices, time_ps):
    """Whether n_ranks loads that end by time_ps are worth less than all matrices
    and elements.  All is times group sizes' common multiple and elements_ps."""
    kinds = list(pieces(classes, counts, owners))
    scale = 1
    for _, group, *_ in kinds:
        scale *= group // math.gcd(scale, group)
    whole, elements = max(elements_ps, 1), prices["elements"] * scale
    added = [(time, prices["classes"][c] * batch * (scale // group) * whole -
              elements * time) for c, group, batch, time in kinds]
    total = scale * whole * (prices["elements"] + sum(
        y * n for y, n in zip(prices["classes"], counts)))
    wanted = -(-(total - n_ranks * elements * time_ps) // n_ranks)
    return wanted > 0 and not is_load_worth(added, time_ps, wanted)


def check_fit(bound, classes, counts, owners, elements_ps, witness, others):
    """counts: matrices of each class at home where the witness is; owners: of each
    class pieces of an owner, so many matrices in so much time; witness: its class; others: the largest of the other bounds of kernels."""
    value, prices = bound["value"], bound["prices"]
    if value == 0 or prices is None:
        if value or prices or witness is not None:
            yield "fit: a value, prices and a witness, or none"
        return
    worth = [y * n for y, n in zip(prices["classes"], counts)]
    if len(prices["classes"]) != len(classes):
        yield "fit: a price for each class"
    elif value <= others:
        yield "fit: no more than the others say"
    elif witness is None or worth[witness] < max(worth):
        yield "fit: the witness is not worth most"
    elif prices["elements"] and not elements_ps:
        yield "fit: a price of no elements"
    elif not is_refuted(classes, counts, owners, elements_ps, bound["ranks"],
                        prices, value - 1):
        yield "fit: its prices do not refute the time before"
