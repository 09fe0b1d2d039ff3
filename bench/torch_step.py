#!/usr/bin/env python3
"""A step of the PyTorch package beside torch.optim's, in turns; one process.

    PYTHONPATH=build/dev/python python bench/torch_step.py [TURNS]

Prints a table of medians in ms, and torch's time over ours."""
import statistics
import sys
import time

import torch

import canzona

WIDTH, LAYERS = 768, 12
ADAMW = "use adamw(lr = 1e-3, decay = 0.01) on **"
MUON = "use muon_torch(lr = 0.02, decay = 0.1) on **"


def matrices(layers=2):
    for layer in range(layers):
        for name, rows, columns in (("qkv", 3 * WIDTH, WIDTH), ("o", WIDTH, WIDTH),
                                    ("up", 4 * WIDTH, WIDTH), ("down", WIDTH, 4 * WIDTH)):
            yield f"h.{layer}.{name}", (rows, columns)


def gpt2():
    yield "wte", (50257, WIDTH)
    yield "wpe", (1024, WIDTH)
    yield from matrices(LAYERS)
    for layer in range(LAYERS):
        for name, n in (("qkv", 3), ("o", 1), ("up", 4), ("down", 1), ("norm1", 1),
                        ("norm1b", 1), ("norm2", 1), ("norm2b", 1)):
            yield f"v.{layer}.{name}", (n * WIDTH,)
    yield "norm", (WIDTH,)
    yield "normb", (WIDTH,)


def small():
    for i in range(150):
        yield f"p.{i}", (8,)


def drawn(shapes):
    random = torch.Generator().manual_seed(1)
    params = [(name, torch.nn.Parameter(torch.randn(shape, generator=random)))
              for name, shape in shapes]
    for _, param in params:
        param.grad = torch.randn(param.shape, generator=random)
    return params


def values(params):
    return [param for _, param in params]


# What, shapes, ours, torch's, steps of a turn.
CASES = (
    ("AdamW, GPT-2 of 124 M", gpt2, ADAMW,
     lambda params: torch.optim.AdamW(params, lr=1e-3, fused=True), 3),
    ("Muon, 8 matrices of two of its layers", matrices, MUON,
     lambda params: torch.optim.Muon(params, lr=0.02, weight_decay=0.1), 1),
    ("AdamW, 150 tensors of 8", small, ADAMW,
     lambda params: torch.optim.AdamW(params, lr=1e-3, fused=True), 200),
)


def milliseconds(optimizer, steps):
    start = time.perf_counter()
    for _ in range(steps):
        optimizer.step()
    return 1e3 * (time.perf_counter() - start) / steps


def measure(threads, case, turns):
    what, shapes, rules, theirs, steps = case
    torch.set_num_threads(threads)
    optimizers = (theirs(values(drawn(shapes()))),
                  canzona.Optimizer(drawn(shapes()), rules))
    times = ([], [])
    for turn in range(turns + 1):
        for optimizer, found in zip(optimizers, times):
            found.append(milliseconds(optimizer, steps if turn else 1))
    torchs, own = (statistics.median(found[1:]) for found in times)
    ratio = statistics.median(a / b for a, b in zip(times[0][1:], times[1][1:]))
    optimizers[1].close()
    print(f"| {what} | {threads} | {torchs:.3g} | {own:.3g} | {ratio:.2f} |", flush=True)


def main(words):
    turns = int(words[0]) if words else 9
    cases = [case for case in CASES if not words[1:] or case[0].split(",")[0] in words[1:]]
    print("| step | threads | torch ms | ours ms | torch/ours |\n|---|---:|---:|---:|---:|")
    for case in cases:
        for threads in (1, 2):
            measure(threads, case, turns if "Muon" not in case[0] else max(3, turns // 3))


if __name__ == "__main__":
    main(sys.argv[1:])
