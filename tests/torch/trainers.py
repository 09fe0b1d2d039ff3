#!/usr/bin/python3
"""What trainers do beside the plain step, on two processes of gloo: FSDP2 in mixed
precision and with parameters that it ignores; a GradScaler; checkpoints of
torch.distributed.checkpoint, saved under FSDP2 and loaded there and under TP.

    trainers.py"""
import sys

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.state_dict import (get_optimizer_state_dict,
                                                     set_optimizer_state_dict)
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

import canzona
import gloo
from ranks import cut, same_states, shard
from small_gpt import HAS_FSDP, MUON, batch, loss_of, make, theirs

RANKS = 2


def ours(model):
    return canzona.Optimizer(model.named_parameters(), MUON, strict=True)


def train(model, optimizers, steps, rank, parts=RANKS):
    losses = []
    for step in steps:
        loss = loss_of(model, *batch(step, rank if parts > 1 else 0, parts))
        for optimizer in optimizers:
            optimizer.zero_grad()
        loss.backward()
        for optimizer in optimizers:
            optimizer.step()
        losses.append(loss.item())
    return losses


def mixed_precision(mesh, rank):
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    losses = []
    for make_optimizers in (lambda model: [ours(model)], lambda model: theirs(model, MUON)):
        model = make()
        for block in model.h:
            fully_shard(block, mesh=mesh, mp_policy=policy)
        fully_shard(model, mesh=mesh, mp_policy=policy)
        losses.append(train(model, make_optimizers(model), range(6), rank))
    assert max(abs(a - b) for a, b in zip(*losses)) < 0.02, losses


def ignored_parameters(mesh, rank):
    model, alone = make(), make()
    for block in model.h:
        fully_shard(block, mesh=mesh)
    fully_shard(model, mesh=mesh, ignored_params={model.mix})
    own, one = ours(model), theirs(alone, MUON)
    for step in range(4):
        own.zero_grad()
        loss_of(model, *batch(step, rank, RANKS)).backward()
        dist.all_reduce(model.mix.grad)  # nobody else does
        model.mix.grad /= RANKS
        own.step()
    train(alone, one, range(4), 0, parts=1)
    assert (model.mix - alone.mix).abs().max() < 1e-4
    assert "on mix" not in own.source and "on wte.weight" in own.source


def a_grad_scaler(mesh, rank):
    model, plain = shard(make(), mesh), shard(make(), mesh)
    own, other = ours(model), ours(plain)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    for step in range(3):
        own.zero_grad()
        scaler.scale(loss_of(model, *batch(step, rank, RANKS))).backward()
        scaler.step(own)
        scaler.update()
    train(plain, [other], range(3), rank)
    for a, b in zip(model.parameters(), plain.parameters()):
        assert torch.equal(a.to_local(), b.to_local())  # a power of 2


def checkpoints(mesh, rank, folder):
    model = shard(make(), mesh)
    own = ours(model)
    train(model, [own], range(3), rank)
    dcp.save({"model": model.state_dict(), "optim": get_optimizer_state_dict(model, own)},
             checkpoint_id=f"{folder}/checkpoint")
    saved = own.state_dict()
    losses = train(model, [own], range(3, 6), rank)
    tp = init_device_mesh("cpu", (RANKS,), mesh_dim_names=("tp",))
    for other, is_alike in ((shard(make(), mesh), True), (cut(make(), tp), False)):
        own = ours(other)
        found = {"model": other.state_dict(), "optim": get_optimizer_state_dict(other, own)}
        dcp.load(found, checkpoint_id=f"{folder}/checkpoint")
        other.load_state_dict(found["model"])
        set_optimizer_state_dict(other, own, found["optim"])
        assert same_states(own.state_dict(), saved)
        assert not is_alike or train(other, [own], range(3, 6), rank) == losses


def run_rank(rank, folder):
    mesh = init_device_mesh("cpu", (RANKS,), mesh_dim_names=("fsdp",))
    gloo.each((mixed_precision, ignored_parameters, a_grad_scaler), rank, mesh)
    checkpoints(mesh, rank, folder)


def main():
    if not HAS_FSDP:
        print("skipped: this torch has no FSDP2 on CPUs")
        return 77
    return 0 if gloo.run(RANKS, run_rank) else 1


if __name__ == "__main__":
    sys.exit(main())
