#!/usr/bin/python3
"""Ours in Megatron-core's trainers, where the Python that runs this has it: its GPTModel,
its DDP and its scheduler, on processes of gloo.  Losses are those of torch's AdamW in one
process; parameters and states have the bits of ours in one process on the same gradients.

    megatron_trains.py"""
import contextlib
import importlib.util
import multiprocessing
import os
import sys
import tempfile
import types
import warnings
import zlib

import torch
import torch.distributed as dist
import torch.nn.functional as F

import gloo
from ranks import same_states

STEPS, BATCH, CONTEXT, VOCAB, SKIPPED = 8, 8, 16, 64, 77
ADAMW = "use adamw(lr = 1e-3, decay = 0.1) as all on **"
MUON = """
use muon(lr = 0.02, decay = 0.1)    as matrices on decoder.**.weight where ndim == 2
use adamw(lr = 1e-3, decay = 0.1)   as rest     on **
"""
RULES = {"adamw": ADAMW, "muon": MUON}
WORLDS = [(2, 1), (2, 2)]  # tp and dp


def start(tp, pp=1):
    """Megatron on a CPU: what it asks of CUDA is a device, and states of random numbers,
    of which nothing here draws any."""
    from megatron.core import parallel_state
    from megatron.core.tensor_parallel.random import CudaRNGStatesTracker
    sys.modules["__main__"] = types.ModuleType("__main__")  # what savers spawn imports it
    torch.cuda.current_device = lambda: "cpu"
    torch.cuda.current_stream = torch.cuda.synchronize = lambda: None
    CudaRNGStatesTracker.fork = lambda *_: contextlib.nullcontext()
    parallel_state.initialize_model_parallel(tp, pp)
    return parallel_state


def make(dtype=torch.float32, tied=False, stage=None, **more):
    from megatron.core.models.gpt.gpt_layer_specs import get_gpt_layer_local_spec
    from megatron.core.models.gpt.gpt_model import GPTModel
    from megatron.core.transformer.transformer_config import TransformerConfig
    torch.manual_seed(7)
    config = TransformerConfig(**{**dict(
        num_layers=2, hidden_size=32, num_attention_heads=4, num_query_groups=2,
        ffn_hidden_size=48, gated_linear_unit=True, activation_func=F.silu,
        hidden_dropout=0.0, attention_dropout=0.0, use_cpu_initialization=True,
        bias_dropout_fusion=False, bias_activation_fusion=False, masked_softmax_fusion=False,
        gradient_accumulation_fusion=False, persist_layer_norm=False, params_dtype=dtype,
        pipeline_dtype=dtype),
        **more})
    model = GPTModel(config, get_gpt_layer_local_spec(), VOCAB, CONTEXT, parallel_output=False,
                     share_embeddings_and_output_weights=tied,
                     pre_process=stage in (None, 0), post_process=stage in (None, 1))
    return model.to(dtype)


def wrap(model):
    from megatron.core.distributed import (DistributedDataParallel,
                                           DistributedDataParallelConfig)
    return DistributedDataParallel(
        model.config, DistributedDataParallelConfig(grad_reduce_in_fp32=True), model)


def ours(chunks, rules, clip=0.5, **more):
    from canzona.megatron import Optimizer
    from megatron.core.optimizer import OptimizerConfig
    return Optimizer(OptimizerConfig(clip_grad=clip), chunks, rules, **{"strict": True, **more})


def schedule(optimizer):
    from megatron.core.optimizer_param_scheduler import OptimizerParamScheduler
    return OptimizerParamScheduler(
        optimizer, init_lr=1e-4, max_lr=1e-3, min_lr=1e-4, lr_warmup_steps=2,
        lr_decay_steps=STEPS, lr_decay_style="linear", start_wd=0.1, end_wd=0.1,
        wd_incr_steps=STEPS, wd_incr_style="constant")


def loss_of(model, step, rank=0, ranks=1):
    random = torch.Generator().manual_seed(1000 + step)
    tokens = torch.randint(VOCAB, (BATCH, CONTEXT + 1), generator=random)
    tokens = tokens.cumsum(1) % VOCAB // 4  # there is something to learn
    own = tokens[rank * BATCH // ranks:(rank + 1) * BATCH // ranks]
    mask = torch.triu(torch.ones(1, 1, CONTEXT, CONTEXT, dtype=torch.bool), 1)
    logits = model(own[:, :-1], torch.arange(CONTEXT).expand(len(own), -1), mask)
    return F.cross_entropy(logits.float().flatten(0, 1), own[:, 1:].flatten())


# ---- whole tensors, by Megatron's attributes ----

def whole(param, tensor, state):
    if not getattr(param, "tensor_model_parallel", False):
        return tensor.clone()
    group, d, n = (state.get_tensor_model_parallel_group(), param.partition_dim,
                   param.partition_stride)
    parts = [torch.empty_like(tensor) for _ in range(group.size())]
    dist.all_gather(parts, tensor.contiguous(), group)
    return torch.cat([part.chunk(n, d)[i] for i in range(n) for part in parts], d)


def part(param, tensor, state):
    if not getattr(param, "tensor_model_parallel", False):
        return tensor.clone()
    rank, ranks = (state.get_tensor_model_parallel_rank(),
                   state.get_tensor_model_parallel_world_size())
    return torch.cat([piece.chunk(ranks, param.partition_dim)[rank] for piece in
                      tensor.chunk(param.partition_stride, param.partition_dim)],
                     param.partition_dim).clone()


def weights_of(model, state):
    return {name: whole(p, p.detach(), state) for name, p in model.named_parameters()}


def follow(model, optimizer, scheduler, grads, state):
    """Steps with these whole gradients."""
    for step in grads:
        for name, param in model.named_parameters():
            param.grad = part(param, step[name], state)
        scheduler.step(1)
        assert optimizer.step()[0]


# ---- training ----

def train(rules, state, folder, tp, dp):
    model = make()
    ddp = wrap(model)
    optimizer = ours([ddp], rules)
    scheduler = schedule(optimizer)
    rank, losses, grads, norms = state.get_data_parallel_rank(), [], [], []
    for step in range(STEPS):
        ddp.zero_grad_buffer()
        optimizer.zero_grad()
        loss = loss_of(ddp, step, rank, dp)
        loss.backward()
        ddp.finish_grad_sync()
        grads.append({name: whole(p, p.main_grad, state)
                      for name, p in model.named_parameters()})
        scheduler.step(1)
        is_done, norm, _ = optimizer.step()
        assert is_done
        loss = loss.detach().double() / dist.get_world_size()
        dist.all_reduce(loss)
        losses.append(loss.item())
        norms.append(norm)
    found = {"losses": losses, "grads": grads, "norms": norms,
             "params": weights_of(model, state), "state": optimizer.state_dict()}
    name = "adamw" if rules == ADAMW else "muon"
    torch.save(found, f"{folder}/{name}_{tp}_{dp}_{dist.get_rank()}")


def losses_of_torch():
    model, losses = make(), []
    other = torch.optim.AdamW(model.parameters(), weight_decay=0.1)
    scheduler = schedule(types.SimpleNamespace(param_groups=other.param_groups))
    for step in range(STEPS):
        other.zero_grad()
        loss = loss_of(model, step)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        scheduler.step(1)
        other.step()
        losses.append(loss.item())
    return losses, {name: p.detach() for name, p in model.named_parameters()}


def judge(folder, state):
    """In one process."""
    losses, params = losses_of_torch()
    for tp, dp in WORLDS:
        for name, rules in RULES.items():
            found = [torch.load(f"{folder}/{name}_{tp}_{dp}_{rank}") for rank in range(tp * dp)]
            if name == "adamw":
                far = max(abs(a - b) for a, b in zip(found[0]["losses"], losses, strict=True))
                wide = max((p - found[0]["params"][n]).abs().max() for n, p in params.items())
                assert far <= 1e-6 and wide <= 1e-6, (far, wide)
            assert found[0]["losses"][-1] < found[0]["losses"][0] - 0.1, found[0]["losses"]
            model = make()
            optimizer = ours([model], rules)
            follow(model, optimizer, schedule(optimizer), found[0]["grads"], state)
            own, states = weights_of(model, state), optimizer.state_dict()
            for one in found:
                assert same_states(one["state"], states), (tp, dp, name)
                for key, value in one["params"].items():
                    assert torch.equal(own[key], value), (tp, dp, name, key)
            assert optimizer.step_with_ready_grads()
            print(f"tp {tp} dp {dp} {name}: the bits of one process", flush=True)


# ---- checkpoints: saved on one world, loaded on others ----

def sharded(model, optimizer, is_loading=False):
    state = model.sharded_state_dict()
    return {"model": state, "optimizer": optimizer.sharded_state_dict(state, is_loading)}


def save_sharded(model, optimizer, folder):
    from megatron.core import dist_checkpointing
    made = sharded(model, optimizer)
    one_main_replica(made["optimizer"]["state"])
    os.makedirs(folder, exist_ok=True)
    dist.barrier()
    dist_checkpointing.save(made, folder)


def end_savers():
    """Behind the last save: their queue's process would stay, and they share it."""
    for child in multiprocessing.active_children():
        child.terminate()


def save(state, folder, grads):
    for name, rules in RULES.items():
        model = make()
        optimizer = ours([model], rules)
        scheduler = schedule(optimizer)
        follow(model, optimizer, scheduler, grads[:3], state)
        save_sharded(model, optimizer, f"{folder}/{name}")
        follow(model, optimizer, scheduler, grads[3:6], state)
        torch.save((weights_of(model, state), optimizer.state_dict()),
                   f"{folder}/{name}_{dist.get_rank()}")
    end_savers()


def one_main_replica(boxes):
    """Of each element of each state; a box has no regular grid."""
    of_all = [None] * dist.get_world_size()
    dist.all_gather_object(of_all, [
        (box.key, box.global_shape, box.global_offset, (1,) * box.prepend_axis_num +
         box.local_shape) for box in boxes.values() if box.replica_id == 0])
    seen = {}
    for key, shape, start, size in sum(of_all, []):
        count = seen.setdefault(key, torch.zeros(shape, dtype=torch.int))
        count[tuple(slice(a, a + n) for a, n in zip(start, size))] += 1
    assert seen and all((count == 1).all() for count in seen.values())
    assert all(box.axis_fragmentations is None for box in boxes.values())


def load(state, folder, grads):
    from megatron.core import dist_checkpointing
    for name, rules in RULES.items():
        model = make(init_method=torch.nn.init.zeros_)
        optimizer = ours([model], rules)
        scheduler = schedule(optimizer)
        found = dist_checkpointing.load(sharded(model, optimizer, True), f"{folder}/{name}")
        model.load_state_dict(found["model"])
        optimizer.load_state_dict(found["optimizer"])
        scheduler.num_steps = 3
        follow(model, optimizer, scheduler, grads[3:6], state)
        params, states = torch.load(f"{folder}/{name}_0")
        own = weights_of(model, state)
        assert all(torch.equal(own[key], value) for key, value in params.items()), name
        assert same_states(optimizer.state_dict(), states), name


# ---- what else there is, and what is refused; tp 2 ----

def a_scheduler_goes_by_the_groups(state):
    model = make()
    optimizer = ours([model], MUON)
    scheduler = schedule(optimizer)
    scheduler.step(1)
    matrices, rest = optimizer.param_groups
    assert matrices["name"] == "matrices" and matrices["weight_decay"] == 0.1
    assert [group["lr"] for group in (matrices, rest)] == [
        1e-4 + (top - 1e-4) / 2 for top in (0.02, 1e-3)]
    del matrices["start_wd"], matrices["end_wd"]
    scheduler.start_wd = scheduler.end_wd = 0.3
    follow(model, optimizer, scheduler, [random_grads(model, state)], state)
    assert matrices["decay"] == 0.3 and rest["decay"] == 0.1
    assert "blocks 2 { gate = 24, up = 24 }" in optimizer.optimizer.source
    assert optimizer.get_loss_scale() == 1 and optimizer.optimizer.grad_norm > 0
    optimizer.zero_grad()
    assert all(param.grad is None for param in model.parameters())


def tied_and_frozen_parameters_train_once_and_never(state):
    model = make(tied=True)
    model.embedding.position_embeddings.weight.requires_grad = False
    ddp = wrap(model)
    optimizer = ours([ddp], ADAMW)
    names = optimizer.param_groups[0]["param_names"]
    assert "embedding.word_embeddings.weight" in names and not any(
        "output_layer" in name or "position" in name for name in names)
    losses = []
    for step in range(STEPS):
        ddp.zero_grad_buffer()
        losses.append(loss_of(ddp, step))
        losses[-1].backward()
        ddp.finish_grad_sync()
        optimizer.step()
    assert losses[-1] < losses[0] - 0.05, losses


def random_grads(model, state):
    random = torch.Generator().manual_seed(5)
    return {name: torch.randn(whole(p, p.detach(), state).shape, generator=random)
            for name, p in model.named_parameters()}


def bf16_parameters_have_gradients_and_masters_in_f32(state):
    model, plain, losses = make(torch.bfloat16), make(), ([], [])
    for one, own in ((model, losses[0]), (plain, losses[1])):
        ddp = wrap(one)
        optimizer = ours([ddp], ADAMW)
        for step in range(STEPS):
            ddp.zero_grad_buffer()
            optimizer.zero_grad()
            loss = loss_of(ddp, step)
            loss.backward()
            ddp.finish_grad_sync()
            optimizer.step()
            own.append(loss.item())
        made = sharded(one, optimizer)["optimizer"]
        assert any("master" in box.key for box in made["state"].values()) == (one is model)
        optimizer.reload_model_params()
    assert "grads f32 reduced" in optimizer.optimizer.source
    assert max(abs(a - b) for a, b in zip(*losses)) < 0.05, losses


def chunks_have_names_of_their_own(state):
    chunks = [make(), make()]
    optimizer = ours(chunks, "use adamw(lr = 1e-3) on model0.**\nuse lion(lr = 1e-4) on **")
    names = [group["param_names"][0].partition(".")[0] for group in optimizer.param_groups]
    assert names == ["model0", "model1"]


def refuses(what, *words):
    try:
        what()
    except (ValueError, RuntimeError) as error:
        assert all(word in str(error) for word in words), error
        return
    raise AssertionError(f"{words} was not refused")


def what_no_plan_does_is_refused_by_name(state):
    from megatron.core.optimizer import OptimizerConfig
    from megatron.core.process_groups_config import ProcessGroupCollection
    from canzona.megatron import Optimizer
    fc1 = "decoder.layers.0.mlp.linear_fc1.weight"
    qkv = "decoder.layers.1.self_attention.linear_qkv.weight"
    refuses(lambda: ours([make()], "use adamw(lr = 1) on decoder.**"),
            "embedding.word_embeddings")
    for name, word, value in ((fc1, "partition_stride", 3), (qkv, "allreduce", False),
                              (fc1, "shared", True), (qkv, "partition_sizes", [8, 24])):
        model = make()
        if dist.get_rank() == 1:  # the other hears of it
            setattr(model.get_parameter(name), word, value)
        refuses(lambda: ours([model], ADAMW), name)
    model = make()
    ddp = wrap(model)
    del model.get_parameter(fc1).main_grad
    refuses(lambda: ours([ddp], ADAMW), fc1, "main_grad")
    optimizer = ours([make()], ADAMW)
    refuses(optimizer.step, "embedding.word_embeddings.weight", "no gradient")
    refuses(lambda: optimizer.clip_grad_norm(1.0), "clip_grad")
    refuses(optimizer.get_grad_norm, "clip_grad")
    refuses(optimizer.count_zeros, "zeros")
    refuses(lambda: optimizer.reload_model_params({}), "masters")
    for word in ("use_distributed_optimizer", "fp16", "log_num_zeros_in_grad"):
        config = OptimizerConfig()
        setattr(config, word, True)
        refuses(lambda: Optimizer(config, [make()], ADAMW), word)
    groups = ProcessGroupCollection(
        tp=state.get_tensor_model_parallel_group(), dp_cp=state.get_data_parallel_group(),
        pp=dist.group.WORLD)
    refuses(lambda: ours([make()], ADAMW, pg_collection=groups), "stages", "clip_grad")
    ours([make()], ADAMW, clip=0.0, pg_collection=groups)


def other_checkpoints_are_refused(state):
    model = make()
    optimizer = ours([model], MUON)
    found = model.sharded_state_dict()
    key = "decoder.layers.1.mlp.linear_fc1.weight"
    refuses(lambda: optimizer.sharded_state_dict(
        {name: box for name, box in found.items() if name != key}), key)
    made = optimizer.sharded_state_dict(found, is_loading=True)
    values = {label: box.data for label, box in made["state"].items()}
    lacks = {label: value for label, value in values.items() if not label.startswith(key)}
    refuses(lambda: optimizer.load_state_dict({**made, "state": lacks}), key)
    groups = [group for group in made["param_groups"] if group["name"] != "matrices"]
    refuses(lambda: optimizer.load_state_dict(
        {**made, "state": values, "param_groups": groups}), "matrices")
    optimizer.load_state_dict({**made, "state": values})


CHECKS = (a_scheduler_goes_by_the_groups, tied_and_frozen_parameters_train_once_and_never,
          bf16_parameters_have_gradients_and_masters_in_f32,
          chunks_have_names_of_their_own, what_no_plan_does_is_refused_by_name,
          other_checkpoints_are_refused)


def check(state):
    for one in CHECKS:
        one(state)
        if dist.get_rank() == 0:
            print(one.__name__.replace("_", " "), flush=True)


# ---- pipeline stages: a plan each, one checkpoint ----

def in_model(name, stage):
    """A stage has one of the two layers, and counts from 0."""
    return name.replace("layers.0", f"layers.{stage}") if stage is not None else name


def drawn_grads(model, step, stage, state):
    grads = {}
    for name, param in model.named_parameters():
        random = torch.Generator().manual_seed(zlib.crc32(in_model(name, stage).encode()) + step)
        grads[name] = torch.randn(whole(param, param.detach(), state).shape, generator=random)
    return grads


def of_stages(state, folder):
    stage = state.get_pipeline_model_parallel_rank()
    model = make(stage=stage, pipeline_model_parallel_size=2)
    optimizer = ours([model], MUON, clip=0.0)
    scheduler = schedule(optimizer)
    grads = [drawn_grads(model, step, stage, state) for step in range(5)]
    follow(model, optimizer, scheduler, grads[:3], state)
    save_sharded(model, optimizer, f"{folder}/stages")
    end_savers()
    follow(model, optimizer, scheduler, grads[3:], state)
    torch.save({in_model(name, stage): value for name, value in
                weights_of(model, state).items()}, f"{folder}/stage_{stage}")


def of_one_stage(state, folder):
    from megatron.core import dist_checkpointing
    model = make(init_method=torch.nn.init.zeros_)
    optimizer = ours([model], MUON, clip=0.0)
    scheduler = schedule(optimizer)
    found = dist_checkpointing.load(sharded(model, optimizer, True), f"{folder}/stages")
    model.load_state_dict(found["model"])
    optimizer.load_state_dict(found["optimizer"])
    scheduler.num_steps = 3
    follow(model, optimizer, scheduler,
           [drawn_grads(model, step, None, state) for step in (3, 4)], state)
    saved = {**torch.load(f"{folder}/stage_0"), **torch.load(f"{folder}/stage_1")}
    own = weights_of(model, state)
    assert own.keys() == saved.keys()
    assert all(torch.equal(own[name], value) for name, value in saved.items())


def on_ranks(tp, dp, do, pp=1):
    def body(_, __):
        do(start(tp, pp))
    return gloo.run(tp * dp * pp, body)


def main():
    warnings.simplefilter("ignore")
    if not all(map(importlib.util.find_spec, ("megatron", "megatron.core"))):
        print("skipped: no megatron.core")
        return SKIPPED
    with tempfile.TemporaryDirectory() as folder:
        def trains(tp, dp):
            return on_ranks(tp, dp, lambda state: [train(rules, state, folder, tp, dp)
                                                   for rules in RULES.values()])
        is_right = all(trains(*world) for world in WORLDS)
        is_right = is_right and on_ranks(1, 1, lambda state: judge(folder, state))
        is_right = is_right and on_ranks(2, 1, check)
        if is_right:
            grads = torch.load(f"{folder}/adamw_2_2_0")["grads"]
            is_right = on_ranks(2, 2, lambda state: save(state, folder, grads))
        for tp, dp in ((1, 1), (2, 1), (1, 2)) if is_right else ():
            is_right = is_right and on_ranks(tp, dp, lambda state: load(state, folder, grads))
            print(f"saved on tp 2 dp 2, loaded on tp {tp} dp {dp}: the bits of each", flush=True)
        if is_right:
            is_right = (on_ranks(2, 1, lambda state: of_stages(state, folder), pp=2) and
                        on_ranks(1, 1, lambda state: of_one_stage(state, folder)))
            print("saved on tp 2 pp 2, loaded on one rank: the bits of each", flush=True)
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
