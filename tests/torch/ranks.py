#!/usr/bin/python3
"""The small transformer on several processes of gloo, as trainers shard it.

    ranks.py [--rules=adamw] [LAYOUT...]

20 steps in each layout with AdamW and with Muon, strictly: losses are those of torch's
own optimizers in one process, and parameters and states have the bits of ours in one
process on the same gradients.  A parameter lies where torch has put it, uneven and empty shards
included."""
import math
import multiprocessing
import os
import sys
import tempfile

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import Replicate, Shard, distribute_tensor
from torch.distributed.tensor.parallel import (ColwiseParallel, RowwiseParallel,
                                               parallelize_module)
from torch.nn.parallel import DistributedDataParallel

import canzona
from small_gpt import HAS_FSDP, MUON_EXPERTS, RULES, batch, loss_of, make, theirs

STEPS = 20
# How far losses may be from torch's: AdamW's rounding, and that of bf16 iterations;
# thrice as far where the optimizer adds gradients up.
NEAR = {"adamw": 1e-6, "muon": 1e-3}
PLAN = {"q": ColwiseParallel, "k": ColwiseParallel, "v": ColwiseParallel,
        "gate": ColwiseParallel, "up": ColwiseParallel, "o": RowwiseParallel,
        "down": RowwiseParallel}


# ---- layouts: what a trainer does to the model; which part of the batch ranks see ----

def ddp(model, _):
    return DistributedDataParallel(model)


def own_gradients(model, _):
    return model


def shard(model, mesh):
    for block in model.h:
        fully_shard(block, mesh=mesh)
    return fully_shard(model, mesh=mesh)


def cut(model, mesh):
    for block in model.h:
        parallelize_module(block, mesh, {name: style() for name, style in PLAN.items()})
    return model


def shard_cut(model, mesh):
    return shard(cut(model, mesh["tp"]), mesh["fsdp"])


def cut_vocabulary(model, mesh):
    """Of 66 rows ranks have 17, 17, 17 and 15."""
    tp = mesh["tp"]
    parallelize_module(model, tp, {
        "wte": RowwiseParallel(input_layouts=Replicate()),
        "head": ColwiseParallel(output_layouts=Replicate())})
    cut(model, tp)
    return shard(model, mesh["fsdp"]) if mesh.ndim > 1 else model


def part_experts(model, mesh):
    """Each rank along ep has some of the experts."""
    for block in model.h:
        block.experts.group = mesh["ep"].get_group()
        for name in ("w_in", "w_out"):
            own = distribute_tensor(getattr(block.experts, name).detach(), mesh["ep"], [Shard(0)])
            setattr(block.experts, name, torch.nn.Parameter(own))
    return model


def shard_experts(model, mesh, dim=0):
    """FSDP2 cuts experts over the ranks that ep leaves, and all else over all."""
    *replicas, _, _ = names = mesh.mesh_dim_names
    sizes = *mesh.shape[:-2], mesh.size() // math.prod(mesh.shape[:-2])
    dense = init_device_mesh("cpu", sizes, mesh_dim_names=(*replicas, "fsdp"))
    for block in part_experts(model, mesh).h:
        fully_shard(block.experts, mesh=mesh[names[:-1]],
                    shard_placement_fn=lambda _: Shard(dim))
    return shard(model, dense)


def shard_matrices(model, mesh):
    return shard_experts(model, mesh, 1)


# name: (sizes and names of the mesh, what is done, further arguments)
LAYOUTS = {
    "ddp_2": ((2,), ("dp",), ddp, {}),
    "ddp_4": ((4,), ("dp",), ddp, {}),
    "averaged_2": ((2,), ("dp",), own_gradients, {"reduces": True, "strict": False}),
    "fsdp_2": ((2,), ("fsdp",), shard, {}),
    "fsdp_3": ((3,), None, shard, {}),
    "fsdp_4": ((4,), ("dp",), shard, {}),
    "tp_2": ((2,), ("tp",), cut, {}),
    "fsdp_tp_2x2": ((2, 2), ("fsdp", "tp"), shard_cut, {}),
    "hsdp_2x2": ((2, 2), ("dp_replicate", "dp_shard"), shard, {}),
    "tp_4_uneven": ((4,), ("tp",), cut_vocabulary, {}),
    "fsdp_tp_2x4_uneven": ((2, 4), ("fsdp", "tp"), cut_vocabulary, {}),
    "moe_fsdp_2": ((2,), ("fsdp",), shard, {}),
    "moe_ep_fsdp_2x2": ((2, 2), ("efsdp", "ep"), shard_experts, {}),
    "moe_ep_fsdp_2x2_rows": ((2, 2), ("efsdp", "ep"), shard_matrices, {}),
    "moe_hsdp_2x2x2": ((2, 2, 2), ("dp_replicate", "efsdp", "ep"), shard_experts, {}),
    "moe_averaged_2x2": ((2, 2), ("dp", "ep"), part_experts, {"reduces": True, "strict": False, "mesh": True}),
}


NO_FSDP = (ddp, own_gradients, cut, part_experts)


def experts_of(layout):
    return "batch" if layout.startswith("moe") else None


def rules_of(layout, rules):
    return MUON_EXPERTS if rules == "muon" and experts_of(layout) else RULES[rules]


def whole(tensor):
    return (tensor.full_tensor() if hasattr(tensor, "full_tensor") else tensor).detach().clone()


def same_states(one, other):
    return one["param_groups"] == other["param_groups"] and all(
        state.keys() == other["state"][i].keys() and
        all(torch.equal(value, other["state"][i][name]) for name, value in state.items())
        for i, state in one["state"].items())


def train(layout, rules, rank, folder):
    sizes, names, change, arguments = LAYOUTS[layout]
    mesh = init_device_mesh("cpu", sizes, mesh_dim_names=names)
    plain = make(experts=experts_of(layout))
    model = change(plain, mesh)
    optimizer = canzona.Optimizer(model.named_parameters(), rules_of(layout, rules),
                                  **{"strict": True, **arguments,
                                     "mesh": mesh if "mesh" in arguments else None})
    n, of = dist.get_world_size(), rank
    if names and "tp" in names:  # ranks along tp see the same
        n, of = n // mesh["tp"].size(), rank // mesh["tp"].size()
    losses, grads = [], []
    for step in range(STEPS):
        loss = loss_of(model, *batch(step, of, n))
        optimizer.zero_grad()
        loss.backward()
        grads.append({name: whole(p.grad) for name, p in plain.named_parameters()})
        optimizer.step()
        if step == STEPS // 2:
            half = optimizer.state_dict()
        loss = loss.detach().double() / dist.get_world_size()
        dist.all_reduce(loss)
        losses.append(loss.item())
    found = {"losses": losses, "grads": grads, "source": optimizer.source,
             "params": {name: whole(p) for name, p in plain.named_parameters()}}
    found["state"] = optimizer.state_dict()
    optimizer.load_state_dict(half)
    assert same_states(optimizer.state_dict(), half), f"{layout}: a state does not load"
    optimizer.close()
    torch.save(found, f"{folder}/{layout}_{rules}_{rank}")


def run_rank(rank, ranks, jobs, folder):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=ranks,
                            init_method=f"file://{folder}/store_{ranks}")
    for layout, rules in jobs:
        train(layout, rules, rank, folder)
    dist.destroy_process_group()
    os._exit(0)  # torch's threads may outlive what they use


# ---- one process ----

def losses_of_torch(rules, has_experts):
    model, losses = make(experts="apart" if has_experts else None), []
    optimizers = theirs(model, RULES[rules])
    for step in range(STEPS):
        loss = loss_of(model, *batch(step))
        model.zero_grad()
        loss.backward()
        for optimizer in optimizers:
            optimizer.step()
        losses.append(loss.item())
    return losses


def bits_of_one(layout, rules, grads):
    """Ours on these gradients; each step has those of all ranks."""
    model = make(experts=experts_of(layout))
    optimizer = canzona.Optimizer(model.named_parameters(), rules_of(layout, rules),
                                  strict=True)
    for step in grads:
        for name, p in model.named_parameters():
            p.grad = step[name]
        optimizer.step()
    return dict(model.named_parameters()), optimizer.state_dict()


def judge(layout, rules, reference, folder):
    sizes, _, _, arguments = LAYOUTS[layout]
    found = [torch.load(f"{folder}/{layout}_{rules}_{rank}")
             for rank in range(torch.Size(sizes).numel())]
    losses = reference[rules, bool(experts_of(layout))]
    far = max(abs(a - b) for a, b in zip(found[0]["losses"], losses))
    # Where the optimizer averages, ranks agree; plans that add up are not strict.
    own, state = ((found[0]["params"], found[0]["state"]) if "reduces" in arguments
                  else bits_of_one(layout, rules, found[0]["grads"]))
    other = [f"{name} on rank {rank}" for rank, one in enumerate(found)
             for name, value in one["params"].items() if not torch.equal(value, own[name])]
    other += [f"states on rank {rank}" for rank, one in enumerate(found)
              if not same_states(one["state"], state)]
    is_well = far <= NEAR[rules] * (3 if "reduces" in arguments else 1) and not other
    print(f"{layout:20} {rules:6} losses within {far:.1e} of torch's; "
          f"{'other bits: ' + ', '.join(other[:3]) if other else 'the bits of one process'}"
          f"{'' if is_well else '  WRONG'}", flush=True)
    return is_well


def main(words):
    fork = multiprocessing.get_context("fork")
    layouts = [word for word in words if word in LAYOUTS] or LAYOUTS
    chosen = [rules for rules in RULES if f"--rules={rules}" in words] or RULES
    jobs = [(layout, rules) for layout in layouts for rules in chosen
            if HAS_FSDP or LAYOUTS[layout][2] in NO_FSDP]
    with tempfile.TemporaryDirectory() as folder:
        for ranks in (2, 3, 4, 8):
            own = [job for job in jobs if torch.Size(LAYOUTS[job[0]][0]).numel() == ranks]
            processes = [fork.Process(target=run_rank, args=(rank, ranks, own, folder))
                         for rank in range(ranks if own else 0)]
            for process in processes:
                process.start()
            for process in processes:
                process.join()
            if any(process.exitcode for process in processes):
                return 1
        torch.set_num_threads(1)
        kinds = {(rules, bool(experts_of(layout))) for layout, rules in jobs}
        reference = {kind: losses_of_torch(*kind) for kind in kinds}
        return 0 if all([judge(*job, reference, folder) for job in jobs]) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
