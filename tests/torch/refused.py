#!/usr/bin/python3
"""What the PyTorch package refuses, in one process and in four: a Python exception that
says of which parameter, on every rank, and nothing has changed.

    refused.py"""
import os
import sys
import time

import torch
from torch import nn
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor

import canzona
import gloo
from small_gpt import ADAMW, HAS_FSDP, MUON, batch, loss_of, make

RANKS = 4


def refuses(kind, words, call, *arguments, **options):
    """Whether the call raises that, with all of these words."""
    try:
        call(*arguments, **options)
    except kind as error:
        missing = [word for word in words if word not in str(error)]
        assert not missing, f"{missing} is not in {error!r}"
        return
    raise AssertionError(f"not refused: {words}")


def optimizer_of(params, rules=ADAMW, **options):
    return canzona.Optimizer(params, rules, **options)


def named(**tensors):
    return [(name, nn.Parameter(tensor)) for name, tensor in tensors.items()]


# ---- one process ----

def wrong_parameters():
    w = torch.zeros(4, 4)
    refuses(ValueError, ["named_parameters"], optimizer_of, make().parameters())
    refuses(ValueError, ["no parameter"], optimizer_of, [])
    refuses(ValueError, ["a: torch.float16"], optimizer_of, named(a=w.half()))
    refuses(ValueError, ["'a b'"], optimizer_of, [("a b", nn.Parameter(w))])
    refuses(ValueError, ["a: two"], optimizer_of, named(a=w) + named(a=w))
    [(_, tied)] = named(a=w)
    refuses(ValueError, ["two names"], optimizer_of, [("a", tied), ("b", tied)])
    group = {"params": [nn.Parameter(w)], "rule": "adamw"}
    refuses(canzona.Error, ["group0.0", "momentum"], optimizer_of, [{**group, "momentum": 1}], "")
    refuses(ValueError, ["group0: lr without"], optimizer_of,
            [{"params": named(a=w), "lr": 0.1}])
    refuses(ValueError, ["group 1: groups are dicts"], optimizer_of, [group, nn.Parameter(w)])
    refuses(ValueError, ["two names"], optimizer_of, [group, {**group, "name": "more"}])
    conv = torch.zeros(2, 2, 3, 3).to(memory_format=torch.channels_last)
    refuses(ValueError, ["conv: 4 dimensions"], optimizer_of, named(conv=conv))


def wrong_rules():
    refuses(canzona.Error, ["wte.weight", "E0502"], optimizer_of,
            make().named_parameters(), "use adamw(lr = 0.1) on h.**")
    refuses(canzona.Error, ["rules.cz:2:5", "E0"], optimizer_of,
            make().named_parameters(), "\nuse nobody(lr = 0.1) on **")
    refuses(canzona.Error, ["nobody.weight", "E0501"], optimizer_of,
            make().named_parameters(), f"use muon(lr = 1) on nobody.weight\n{ADAMW}")
    refuses(ValueError, ["adamw", "lr"], optimizer_of,
            make().named_parameters(), "use adamw(lr) on **")
    refuses(canzona.Error, ["CZR_ERR_WORLD_SIZE"], optimizer_of, make().named_parameters(),
            mesh={"dp": 2})
    refuses(ValueError, ["strict", "reduces"], optimizer_of, make().named_parameters(),
            reduces=True, strict=True)


def wrong_steps():
    model = make()
    optimizer = optimizer_of(model.named_parameters())
    before = [p.detach().clone() for p in model.parameters()]
    loss_of(model, *batch(0)).backward()
    model.norm.weight.data = model.norm.weight.data.clone()
    optimizer.step()  # before the first one it may have moved
    before = [p.detach().clone() for p in model.parameters()]
    norm, head = model.norm.weight, model.head.weight
    norm_place, head_place = norm.data, head.data
    norm.data = norm_place.clone()
    for _ in range(2):  # it stays there
        refuses(RuntimeError, ["norm.weight lies elsewhere"], optimizer.step)
    norm.data = norm_place
    head.data = head_place.as_strided(head.shape, (1, head.shape[0]))
    refuses(RuntimeError, ["head.weight lies elsewhere"], optimizer.step)
    head.data = head_place
    norm.grad.data = norm.grad.bfloat16()
    refuses(RuntimeError, ["norm.weight: its gradient is torch.strided torch.bfloat16"],
            optimizer.step)
    refuses(RuntimeError, ["another optimizer"], optimizer.add_param_group,
            {"params": list(make().parameters())})
    assert all(map(torch.equal, before, model.parameters()))

    table = nn.Embedding(5, 4, sparse=True)
    optimizer = optimizer_of(table.named_parameters())
    table(torch.tensor([1])).sum().backward()
    refuses(RuntimeError, ["weight: its gradient is torch.sparse"], optimizer.step)


def wrong_states():
    optimizer = optimizer_of(make().named_parameters())
    good = optimizer.state_dict()
    refuses(ValueError, ["'matrices'"], optimizer.load_state_dict,
            optimizer_of(make().named_parameters(), MUON).state_dict())
    other = optimizer_of(make().h[0].named_parameters()).state_dict()
    refuses(ValueError, ["another model"], optimizer.load_state_dict, other)
    for change, words in ((lambda s: s.pop("m"), ["mix", "m is missing"]),
                          (lambda s: s.update(m=torch.zeros(3)), ["mix", "(3,)", "(2, 32)"])):
        bad = optimizer.state_dict()
        change(bad["state"][0])
        refuses(ValueError, words, optimizer.load_state_dict, bad)
    optimizer.load_state_dict(good)


def closed_twice():
    model = make()
    optimizer = optimizer_of(model.named_parameters())
    loss_of(model, *batch(0)).backward()
    optimizer.close()
    for call in (optimizer.close, optimizer.step, optimizer.state_dict):
        refuses(RuntimeError, ["closed"], call)


# ---- four processes ----

def wrong_placements(rank):
    square = init_device_mesh("cpu", (2, 2), mesh_dim_names=("fsdp", "tp"))
    line = init_device_mesh("cpu", (4,), mesh_dim_names=("tp",))

    def lay(mesh, placements, rows=8, columns=8):
        return distribute_tensor(torch.zeros(rows, columns), mesh, placements)

    refuses(ValueError, ["both (8, 8)", "over fsdp", "before tp"],
            optimizer_of, named(both=lay(square, [Shard(0), Shard(0)])))
    refuses(ValueError, ["wide (8, 9)", "Shard(dim=1) over fsdp", "do not divide 9"],
            optimizer_of, named(wide=lay(square, [Shard(1), Replicate()], columns=9)))
    part = DTensor.from_local(torch.zeros(4, 4), line, [Partial()])
    refuses(ValueError, ["part (4, 4)", "Partial"], optimizer_of, named(part=part))
    tall = DTensor.from_local(torch.zeros(1, 2, 2, 2), line, [Shard(0)])
    refuses(ValueError, ["tall (4, 2, 2, 2)", "Shard(dim=0)"], optimizer_of, named(tall=tall))
    for_nobody = init_device_mesh("cpu", (4,), mesh_dim_names=("heads",))
    refuses(ValueError, ["'heads'", "tp"], optimizer_of, named(a=lay(for_nobody, [Shard(0)])))


def wrong_experts(rank):
    """Batches of matrices."""
    dense = init_device_mesh("cpu", (4,), mesh_dim_names=("fsdp",))
    sparse = init_device_mesh("cpu", (2, 2), mesh_dim_names=("efsdp", "ep"))

    def experts(mesh, placements, n=8):
        rest = distribute_tensor(torch.zeros(8, 8), dense, [Shard(0)])
        return named(rest=rest, e=distribute_tensor(torch.zeros(n, 6, 5), mesh, placements))

    refuses(ValueError, ["e (7, 6, 5)", "Shard(dim=0) over ep", "do not divide 7"],
            optimizer_of, experts(sparse, [Replicate(), Shard(0)], 7))
    refuses(ValueError, ["e (6, 6, 5)", "Shard(dim=0) over fsdp", "do not divide 6"],
            optimizer_of, experts(dense, [Shard(0)], 6))
    refuses(ValueError, ["e (8, 6, 5)", "Shard(dim=1) over fsdp", "2 of the 4 ranks"],
            optimizer_of, experts(sparse, [Shard(1), Replicate()]))
    refuses(ValueError, ["e (8, 6, 5)", "Shard(dim=2) over fsdp", "do not divide 5"],
            optimizer_of, experts(sparse, [Shard(2), Shard(0)]))
    both = init_device_mesh("cpu", (2, 2), mesh_dim_names=("ep", "efsdp"))
    for mesh, placements in ((sparse, [Shard(0), Shard(0)]), (both, [Shard(0), Shard(0)]),
                             (sparse, [Shard(1), Shard(0)]), (sparse, [Replicate(), Shard(0)])):
        optimizer = optimizer_of(experts(mesh, placements), "use muon(lr = 1) on **")
        assert "mesh experts" in optimizer.source
        optimizer.close()


def wrong_meshes(rank):
    square = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
    half = distribute_tensor(torch.zeros(8, 8), square["tp"], [Shard(0)])
    refuses(ValueError, ["2 ranks", "there are 4"], optimizer_of, named(half=half))
    line = init_device_mesh("cpu", (4,), mesh_dim_names=("fsdp",))
    refuses(ValueError, ["half", "no part"], optimizer_of, named(half=half), mesh=line)
    others = DeviceMesh("cpu", [r for r in range(RANKS) if r != rank], _init_backend=False)
    refuses(ValueError, [f"no rank {rank}"], optimizer_of, named(a=torch.zeros(4, 4)),
            mesh=others)
    optimizer_of(named(half=half), mesh=square).close()


def wrong_gradients(rank):
    line = init_device_mesh("cpu", (4,), mesh_dim_names=("fsdp",))
    [(_, p)] = params = named(w=distribute_tensor(torch.zeros(8, 8), line, [Shard(0)]))
    optimizer = optimizer_of(params)
    p.grad = DTensor.from_local(torch.ones(8, 8), line, [Partial()])
    optimizer.step()  # the sum of all
    p.grad = distribute_tensor(torch.ones(8, 8), line, [Replicate()])
    optimizer.step()  # its rows
    p.grad = distribute_tensor(torch.ones(8, 8), line, [Shard(1)])
    refuses(RuntimeError, ["w: its gradient lies as", "Shard(dim=1)"], optimizer.step)
    other = init_device_mesh("cpu", (2, 2), mesh_dim_names=("fsdp", "tp"))
    p.grad = distribute_tensor(torch.ones(8, 8), other, [Shard(0), Replicate()])
    refuses(RuntimeError, ["w: its gradient lies as", "Replicate"], optimizer.step)
    optimizer.close()


def ranks_with_other_rules(rank):
    is_odd = rank == 2
    both = ["on rank 2, where rank 0 has"]
    refuses(ValueError, ["'use adamw(lr = 0.1) on **'", *both], optimizer_of,
            named(a=torch.zeros(4, 4)), f"use adamw(lr = {0.1 if is_odd else 0.2}) on **")
    refuses(ValueError, ["'a : f32[4, 5]'", "'a : f32[4, 4]'", *both], optimizer_of,
            named(a=torch.zeros(4, 5 if is_odd else 4)))
    refuses(ValueError, ["'b : f32[4]'", *both], optimizer_of,
            named(a=torch.zeros(4), **({"b": torch.zeros(4)} if is_odd else {})))
    refuses(ValueError, ["'a : bf16[4]'", *both], optimizer_of,
            named(a=torch.zeros(4).to(torch.bfloat16 if is_odd else torch.float32)))


def what_one_rank_does_is_known_to_all(rank):
    """Long before the deadline, and what all do right goes on."""
    is_odd, start = rank == 2, time.monotonic()
    told = lambda *words: [*words] if is_odd else ["rank 2 has failed", *words]
    kind = lambda own: own if is_odd else RuntimeError
    rules = "use nobody(lr = 1) on **" if is_odd else ADAMW
    refuses(kind(canzona.Error), told("nobody"), optimizer_of, make().named_parameters(), rules)
    refuses(kind(canzona.Error), told("wte.weight", "E0502"), optimizer_of,
            make().named_parameters(), ADAMW.replace("**", "h.**") if is_odd else ADAMW)
    width = torch.float16 if is_odd else torch.float32
    refuses(kind(ValueError), told("a: torch.float16"), optimizer_of,
            named(a=torch.zeros(4, dtype=width)))
    model = make()
    optimizer = optimizer_of(model.named_parameters())
    good = optimizer.state_dict()

    def backward():
        model.zero_grad()
        loss_of(model, *batch(0)).backward()

    if not is_odd:
        backward()
    refuses(RuntimeError, told("mix has no gradient"), optimizer.step)
    backward()
    if is_odd:
        model.h[1].up.bias.grad = None
    refuses(RuntimeError, told("h.1.up.bias has no gradient"), optimizer.step)
    backward()
    if is_odd:
        model.wte.weight.grad = model.wte.weight.grad.to_sparse()
    refuses(RuntimeError, told("wte.weight: its gradient is torch.sparse"), optimizer.step)
    backward()
    optimizer.step()
    backward()
    place = model.norm.weight.data
    if is_odd:
        model.norm.weight.data = place.clone()
    refuses(RuntimeError, told("norm.weight lies elsewhere"), optimizer.step)
    model.norm.weight.data = place
    state = optimizer.state_dict()
    if is_odd:
        state["state"][3].pop("v")
    name = list(dict(model.named_parameters()))[3]
    refuses(kind(ValueError), told(name, "v is missing"), optimizer.load_state_dict, state)
    state = optimizer.state_dict()
    if is_odd:
        state["state"][3]["step"] += 1
    refuses(kind(ValueError), told("different steps"), optimizer.load_state_dict, state)
    optimizer.load_state_dict(good)
    backward()
    optimizer.step()
    optimizer.close()
    refuses(RuntimeError, ["closed"], optimizer.close)
    assert time.monotonic() - start < 60


def a_model_that_changes(rank):
    line = init_device_mesh("cpu", (RANKS,), mesh_dim_names=("fsdp",))
    for change, words in (
            (lambda m: m.head.weight.requires_grad_(False), "head.weight has no gradient"),
            (lambda m: m.bfloat16(), "mix lies elsewhere"),
            *([(lambda m: fully_shard(m, mesh=line), "mix has no gradient")] if HAS_FSDP else []),
            (lambda m: setattr(m, "mix", nn.Parameter(m.mix.detach().clone())),
             "mix has no gradient")):
        model = make()
        optimizer = optimizer_of(model.named_parameters())
        change(model)
        loss_of(model, *batch(0)).backward()
        refuses(RuntimeError, [words], optimizer.step)
        optimizer.close()


def a_rank_that_ends(rank):
    params = named(a=torch.zeros(64, 64))
    optimizer = optimizer_of(params, reduces=True, deadline=20)
    params[0][1].grad = torch.ones(64, 64)
    optimizer.step()
    if rank == 2:
        os._exit(0)
    refuses(canzona.Error, ["rank"], optimizer.step)


def run_rank(rank, _):
    gloo.each((wrong_placements, wrong_experts, wrong_meshes, wrong_gradients, ranks_with_other_rules,
               what_one_rank_does_is_known_to_all, a_model_that_changes,
               a_rank_that_ends), rank)


def main():
    is_right = gloo.run(RANKS, run_rank)
    torch.set_num_threads(1)
    for check in (wrong_parameters, wrong_rules, wrong_steps, wrong_states, closed_twice):
        check()
        print(check.__name__.replace("_", " "), flush=True)
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
