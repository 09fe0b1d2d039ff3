#!/usr/bin/env python3
"""A step of the PyTorch package beside torch.optim's, in turns; one process.

    PYTHONPATH=build/dev/python python bench/torch_step.py [TURNS [CASE ...]]

Prints a table of medians in ms, torch's time over ours, and what of ours is Python."""
import statistics
import sys
import time

import torch
from torch import nn
from torch.nn import functional as F

import canzona
from canzona import czr

WIDTH, LAYERS, HEADS, WORDS, TOKENS = 768, 12, 12, 50257, 64
ADAMW = "use adamw(lr = 1e-3, decay = 0.01) on **"
MUON = "use muon_torch(lr = 0.02, decay = 0.1) on **"
UNGUARDED = {"assume_finite": True}  # as torch's


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.o = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        q, k, v = (part.view(1, TOKENS, HEADS, -1).transpose(1, 2)
                   for part in self.qkv(self.norm1(x)).split(WIDTH, -1))
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.o(mixed.transpose(1, 2).reshape(1, TOKENS, WIDTH))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class GPT2(nn.Module):
    def __init__(self):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(WORDS, WIDTH), nn.Embedding(1024, WIDTH)
        self.h = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.norm = nn.LayerNorm(WIDTH)
        self.tokens = torch.arange(TOKENS)[None] * 701

    def forward(self):
        x = self.wte(self.tokens) + self.wpe(torch.arange(TOKENS))
        for layer in self.h:
            x = layer(x)
        words = F.linear(self.norm(x), self.wte.weight)
        return F.cross_entropy(words[0, :-1], self.tokens[0, 1:])


def gpt2():
    torch.manual_seed(1)
    return GPT2()


def with_gradients(params):
    for _, param in params:
        param.grad = torch.randn(param.shape)
    return params


def matrices():
    torch.manual_seed(1)
    return with_gradients([(f"h.{i}.{name}", param) for i in range(2)
                           for name, param in Layer().named_parameters()
                           if param.dim() == 2])


def large():
    torch.manual_seed(1)
    return with_gradients([(f"w.{i}", nn.Parameter(torch.randn(1024, 4096))) for i in range(8)])


def small():
    return with_gradients([(f"p.{i}", nn.Parameter(torch.randn(8))) for i in range(150)])


class Small(nn.Module):
    """Whose gradients are new ones in each step."""

    def __init__(self):
        super().__init__()
        self.p = nn.ParameterList(param for _, param in small())

    def forward(self):
        return sum(param.sum() for param in self.p)


def muon(params):
    return torch.optim.Muon(params, lr=0.02, weight_decay=0.1)


def fused(params):
    return torch.optim.AdamW(params, lr=1e-3, fused=True)


class Looking(torch.optim.AdamW):
    """It looks at all gradients before it writes, as our guard does."""

    def step(self, closure=None):
        grads = [param.grad for group in self.param_groups for param in group["params"]]
        nn.utils.get_total_norm(grads, error_if_nonfinite=True)
        return super().step(closure)


def by_hand():
    return with_gradients(list(gpt2().named_parameters()))


# What, parameters or a model, ours, torch's, steps of a turn, options of ours.  A model's
# gradients are those of a backward pass before each step.
CASES = (
    ("AdamW, GPT-2 of 124 M", gpt2, ADAMW, fused, 2, {}),
    ("AdamW, the same, without a guard", gpt2, ADAMW, fused, 2, UNGUARDED),
    ("AdamW, gradients set by hand", by_hand, ADAMW, fused, 3, {}),
    ("AdamW, gradients set by hand, without a guard", by_hand, ADAMW, fused, 3, UNGUARDED),
    ("AdamW, gradients set by hand, and torch looks at them, too", by_hand, ADAMW,
     lambda params: Looking(params, lr=1e-3, fused=True), 3, {}),
    ("Muon, 8 matrices of two of its layers", matrices, MUON, muon, 1, {}),
    ("Muon, 8 matrices of 1024x4096", large, MUON, muon, 1, {}),
    ("AdamW, 150 tensors of 8", small, ADAMW, fused, 200, {}),
    ("AdamW, the same behind a backward pass", Small, ADAMW, fused, 100, {}),
)


class Engine:
    """czr_step, and the seconds that it has taken."""

    def __init__(self):
        self.step, self.seconds = czr.lib.czr_step, 0

    def __call__(self, *arguments):
        start = time.perf_counter()
        status = self.step(*arguments)
        self.seconds += time.perf_counter() - start
        return status


class Run:
    """An optimizer and what it updates; milliseconds of its turns."""

    def __init__(self, make, optimizer):
        made = make()
        self.model = made if isinstance(made, nn.Module) else None
        self.optimizer = optimizer(list(made.named_parameters()) if self.model else made)
        self.passes, self.steps = [], []

    def turn(self, n):
        passes = steps = 0
        for _ in range(n):
            start = time.perf_counter()
            if self.model:
                self.optimizer.zero_grad()
                self.model().backward()
            behind = time.perf_counter()
            self.optimizer.step()
            passes, steps = passes + behind - start, steps + time.perf_counter() - behind
        self.passes.append(1e3 * passes / n)
        self.steps.append(1e3 * steps / n)


def row(what, threads, torchs, own, package):
    ratio = statistics.median(a / b for a, b in zip(torchs, own))
    print(f"| {what} | {threads} | {statistics.median(torchs):.3g} | "
          f"{statistics.median(own):.3g} | {ratio:.2f} | {package} |", flush=True)


def measure(threads, case, turns):
    what, make, rules, theirs, steps, options = case
    torch.set_num_threads(threads)
    runs = (Run(make, lambda named: theirs([param for _, param in named])),
            Run(make, lambda named: canzona.Optimizer(named, rules, **options)))
    packages, engine = [], czr.lib.czr_step
    for turn in range(turns + 1):
        for run in runs:
            run.turn(steps if turn else 1)
        packages.append(1e3 * runs[1].steps[-1] - 1e6 * engine.seconds / (steps if turn else 1))
        engine.seconds = 0
    torchs, own = (run.steps[1:] for run in runs)
    row(what, threads, torchs, own, f"{statistics.median(packages[1:]):.0f}")
    if runs[0].model:
        torchs, own = ([a + b for a, b in zip(run.passes[1:], run.steps[1:])] for run in runs)
        row("an iteration with it", threads, torchs, own, "")
    runs[1].optimizer.close()


def main(words):
    turns = int(words[0]) if words else 9
    cases = [case for case in CASES if not words[1:] or any(word in case[0] for word in words[1:])]
    czr.lib.czr_step = Engine()
    print("| step | threads | torch ms | ours ms | torch/ours | package us |\n"
          "|---|---:|---:|---:|---:|---:|")
    for case in cases:
        for threads in (1, 2):
            measure(threads, case, turns if "Muon" not in case[0] else max(3, turns // 3))


if __name__ == "__main__":
    main(sys.argv[1:])
