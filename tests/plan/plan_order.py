#!/usr/bin/python3
"""Buckets in the order of the backward pass, gathers in that of the forward.

Parameters are numbered family by family; taken in that order, all down_proj of
a model would be reduced before any up_proj, and gathers would end with the
layer that runs first.

    plan_order.py CANZONA FILE.cz [OPTION...]
"""
import json
import subprocess
import sys


def layers_of(plan, bucket):
    """The least and the largest of the first numbers in names."""
    names = [plan["parameters"][p]["name"].split(".") for p in bucket["order"]]
    numbers = [int(next(s for s in name if s.isdigit())) for name in names
               if any(s.isdigit() for s in name)]
    return (min(numbers), max(numbers)) if numbers else None


def by_kind(plan):
    """Buckets that hold layers, in lists of those alike."""
    kinds = {}
    for number, bucket in enumerate(plan["buckets"]):
        layers = layers_of(plan, bucket)
        if layers:
            key = *bucket["groups"], bucket["reduction"], bucket["dtype"]
            kinds.setdefault(key, []).append((number, layers))
    return kinds


def messages(plan):
    order = [op["bucket"] for op in plan["schedule"] if op["kind"] == "all_gather"]
    several = False
    for kind, buckets in by_kind(plan).items():
        several |= len(buckets) > 1
        for (a, (low, _)), (b, (_, high)) in zip(buckets, buckets[1:]):
            if high > low:
                yield f"{kind}: bucket {b} has layer {high}, bucket {a} {low}"
    if not several:
        yield "no kind has two buckets: nothing was checked"
    places = [order.index(b) for b in range(len(plan["buckets"])) if b in order]
    late = sum(a < b for a, b in zip(places, places[1:]))
    if 4 * late > len(places):
        yield f"gathers are not in the forward order: {order}"
    yield from long_tails(plan)


def long_tails(plan):
    """Buckets that hold more than half of what their reduction has left."""
    smallest = plan["policy"]["bucket_elements"] // 16
    left = {}
    for number, bucket in reversed(list(enumerate(plan["buckets"]))):
        sizes = [plan["parameters"][p]["local_elements"] for p in bucket["order"]]
        left[bucket["reduction"]] = left.get(bucket["reduction"], 0) + sum(sizes)
        most = max(left[bucket["reduction"]] // 2, smallest) + max(sizes)
        if sum(sizes) > most:
            yield f"bucket {number} has {sum(sizes)} elements, {most} at most"


def main(canzona, *source):
    text = subprocess.run([canzona, "plan", "--json", *source], check=True,
                          stdout=subprocess.PIPE).stdout
    found = list(messages(json.loads(text)))
    print("\n".join(found) or "buckets and gathers in order")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
