#!/usr/bin/python3
"""Gradients that are reduced while backward runs, on two processes of gloo: they leave
before the step, with the bits of reductions in it, also of micro-batches and where one
comes later; what would be lost is refused.

    hooks.py"""
import os
import sys

import torch
import torch.distributed as dist

import canzona
import gloo
from canzona.world import World
from refused import refuses
from small_gpt import MUON, batch, loss_of, make

RANKS, STEPS, PARTS = 2, 4, 3
MET = []  # an entry for each message of an optimizer


def count_messages():
    exchange = World._exchange

    def counted(self, *arguments):
        MET.append(arguments[1])
        return exchange(self, *arguments)
    World._exchange = counted


def ours(model, **options):
    return canzona.Optimizer(model.named_parameters(), MUON, reduces=True,
                             schedule="bucket 10000", **options)


def accumulate(model, optimizer, step, rank):
    """The last of the micro-batches alone reduces."""
    optimizer.zero_grad()
    for part in range(PARTS):
        loss = loss_of(model, *batch(step, RANKS * part + rank, RANKS * PARTS)) / PARTS
        if part == PARTS - 1:
            loss.backward()
            continue
        with optimizer.no_sync():
            loss.backward()


def bits_are_those_of_reductions_in_the_step(rank):
    models = []
    for overlap in (True, False):
        model = make()
        model.late = torch.nn.Parameter(torch.ones(5))
        optimizer = ours(model, overlap=overlap)
        for step in range(STEPS):
            before = len(MET)
            accumulate(model, optimizer, step, rank)
            model.late.grad = torch.full((5,), 1.0 + rank)
            if overlap:
                optimizer._hooks.wait()
            assert (len(MET) > before) == overlap, "reduced in backward, or not"
            optimizer.step()
        assert (model.late < 1).all()
        models.append(model)
        optimizer.close()
    for (name, p), q in zip(models[0].named_parameters(), models[1].parameters()):
        assert torch.equal(p, q), name
        whole = p.detach().clone()
        dist.all_reduce(whole, op=dist.ReduceOp.MAX)
        assert torch.equal(whole, p), f"{name} differs among ranks"


def what_would_be_lost_is_refused(rank):
    model = make()
    optimizer = ours(model, deadline=20)
    accumulate(model, optimizer, 0, rank)
    refuses(RuntimeError, ["second backward()", "no_sync()"],
            loss_of(model, *batch(1)).backward)
    refuses(RuntimeError, ["its gradient was changed"], optimizer.step)
    optimizer.close()
    optimizer = ours(model, deadline=20)
    accumulate(model, optimizer, 1, rank)
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1e-3)
    refuses(RuntimeError, ["its gradient was changed", "overlap=False"], optimizer.step)
    optimizer.close()
    optimizer = ours(model, overlap=False)
    accumulate(model, optimizer, 2, rank)
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1e-3)
    optimizer.step()
    optimizer.close()


def a_rank_that_ends(rank):
    model = make()
    optimizer = ours(model, deadline=20)
    accumulate(model, optimizer, 0, rank)
    optimizer.step()
    if rank == 1:
        os._exit(0)
    accumulate(model, optimizer, 1, rank)
    refuses(canzona.Error, ["rank 1"], optimizer.step)


def run_rank(rank, _):
    count_messages()
    gloo.each((bits_are_those_of_reductions_in_the_step, what_would_be_lost_is_refused,
               a_rank_that_ends), rank)


def main():
    return 0 if gloo.run(RANKS, run_rank) else 1


if __name__ == "__main__":
    sys.exit(main())
