#!/usr/bin/env python3
"""A GPT of bytes on this project's own manual, with Canzona or with torch.optim.

    export PYTHONPATH=build/dev/python       # or: pip install the wheel
    python examples/torch/train.py
    python examples/torch/train.py --optimizer=torch
    torchrun --nproc-per-node=2 examples/torch/train.py --layout=ddp
    torchrun --nproc-per-node=4 examples/torch/train.py --layout=fsdp_tp

All layouts learn alike: they see the same batches, and the optimizer reads from the
model how its parameters are sharded."""
import argparse
import os
import pathlib

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor.parallel import (ColwiseParallel, RowwiseParallel,
                                               parallelize_module)
from torch.nn.parallel import DistributedDataParallel

RULES = """
use muon_torch(lr = 0.02, decay = 0.1) as matrices on h.**.weight where ndim == 2
use adamw(lr = 2e-3, decay = 0)        as rest     on **
"""
WIDTH, HEADS, LAYERS, CONTEXT, BATCH = 128, 4, 4, 64, 16
TEXT = pathlib.Path(__file__).resolve().parents[2] / "dsl" / "LANGUAGE.md"


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.q, self.k, self.v, self.o = (nn.Linear(WIDTH, WIDTH, bias=False)
                                          for _ in range(4))
        self.up = nn.Linear(WIDTH, 4 * WIDTH, bias=False)
        self.down = nn.Linear(4 * WIDTH, WIDTH, bias=False)

    def forward(self, x):
        y = self.norm1(x)
        q, k, v = (part(y).unflatten(-1, (-1, WIDTH // HEADS)).transpose(1, 2)
                   for part in (self.q, self.k, self.v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.o(y.transpose(1, 2).flatten(2))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Gpt(nn.Module):
    def __init__(self):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(256, WIDTH), nn.Embedding(CONTEXT, WIDTH)
        self.h = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 256, bias=False)

    def forward(self, tokens):
        x = self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1]))
        for block in self.h:
            x = block(x)
        return self.head(self.norm(x))


def lay_out(model, layout):
    """The model as ranks have it; how many see other data, and which of these is this."""
    if layout == "plain":
        return model, 1, 0
    dist.init_process_group("gloo")
    rank, ranks = dist.get_rank(), dist.get_world_size()
    if layout == "ddp":
        return DistributedDataParallel(model), ranks, rank
    mesh = init_device_mesh("cpu", (ranks // 2, 2), mesh_dim_names=("fsdp", "tp"))
    for block in model.h:
        parallelize_module(block, mesh["tp"], {
            **{name: ColwiseParallel() for name in ("q", "k", "v", "up")},
            **{name: RowwiseParallel() for name in ("o", "down")}})
        fully_shard(block, mesh=mesh["fsdp"])
    return fully_shard(model, mesh=mesh["fsdp"]), ranks // 2, rank // 2


def optimizers_of(model, choice):
    if choice == "canzona":
        import canzona
        return [canzona.Optimizer(model.named_parameters(), RULES)]
    matrices = [p for name, p in model.named_parameters() if "h." in name and p.ndim == 2]
    rest = [p for name, p in model.named_parameters() if not ("h." in name and p.ndim == 2)]
    return [torch.optim.Muon(matrices, lr=0.02, weight_decay=0.1),
            torch.optim.AdamW(rest, lr=2e-3, weight_decay=0)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--layout", choices=["plain", "ddp", "fsdp_tp"], default="plain")
    parser.add_argument("--optimizer", choices=["canzona", "torch"], default="canzona")
    parser.add_argument("--steps", type=int, default=200)
    options = parser.parse_args()
    torch.manual_seed(1)
    model, parts, part = lay_out(Gpt(), options.layout)
    optimizers = optimizers_of(model, options.optimizer)
    schedulers = [torch.optim.lr_scheduler.LambdaLR(o, lambda t: 1 - t / options.steps)
                  for o in optimizers]
    text = torch.tensor(list(TEXT.read_bytes()))
    random = torch.Generator().manual_seed(2)
    for step in range(options.steps + 1):
        starts = torch.randint(len(text) - CONTEXT, (BATCH,), generator=random)
        data = torch.stack([text[s:s + CONTEXT + 1] for s in starts[part::parts]])
        loss = F.cross_entropy(model(data[:, :-1]).flatten(0, 1), data[:, 1:].flatten())
        if step % 20 == 0:
            mean = loss.detach().double()
            if parts > 1:
                dist.all_reduce(mean)
                mean /= dist.get_world_size()
            if int(os.environ.get("RANK", 0)) == 0:
                print(f"step {step:4}  loss {mean:.4f}", flush=True)
        for optimizer in optimizers:
            optimizer.zero_grad()
        loss.backward()
        for each in (*optimizers, *schedulers):
            each.step()
    if dist.is_initialized():
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
