#!/usr/bin/python3
"""Ours in other people's trainers, where the Python that runs this has them: Hugging
Face's Trainer and Accelerate learn as with torch's, and go on from their checkpoints
with the same bits; torchtitan's container and its schedulers, on two processes of gloo
under FSDP2, go on from a checkpoint of torch.distributed.checkpoint.  torchtitan's own
trainer wants a GPU.

    adapters.py"""
import importlib.util
import sys
import tempfile
import warnings

import torch
import torch.distributed.checkpoint as dcp
from torch import nn
from torch.distributed.device_mesh import init_device_mesh

import canzona
import gloo
from ranks import cut, same_states, shard
from small_gpt import ADAMW, BATCH, MUON, batch, loss_of, make

RANKS, STEPS, SKIPPED = 2, 8, 77


def has(name):
    return importlib.util.find_spec(name) is not None


# ---- Hugging Face ----

class Wrapped(nn.Module):
    """A model as Hugging Face's Trainer wants it."""

    def __init__(self):
        super().__init__()
        self.gpt = make()

    def forward(self, tokens, labels):
        return {"loss": loss_of(self.gpt, tokens, labels)}


def train_with_hugging_face(make_optimizer, folder, resume=False):
    from transformers import Trainer, TrainingArguments
    model = Wrapped()
    optimizer = make_optimizer(model)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda t: 1 - t / STEPS)
    data = [{"tokens": tokens, "labels": labels} for step in range(STEPS)
            for tokens, labels in zip(*batch(step))]
    trainer = Trainer(
        model=model, train_dataset=data, optimizers=(optimizer, scheduler),
        args=TrainingArguments(
            folder, per_device_train_batch_size=BATCH, max_steps=STEPS, logging_steps=1,
            report_to=[], save_steps=STEPS // 2, use_cpu=True, disable_tqdm=True,
            max_grad_norm=1.0, label_names=["labels"]))
    trainer.train(resume_from_checkpoint=f"{folder}/checkpoint-{STEPS // 2}" if resume else None)
    losses = [float(entry["loss"]) for entry in trainer.state.log_history if "loss" in entry]
    return losses, model


def hugging_face_trainer():
    own = lambda model: canzona.Optimizer(model.named_parameters(), ADAMW)
    with tempfile.TemporaryDirectory() as folder:
        losses, model = train_with_hugging_face(own, folder)
        other, _ = train_with_hugging_face(
            lambda model: torch.optim.AdamW(model.parameters(), lr=1e-3), f"{folder}/torch")
        assert max(abs(a - b) for a, b in zip(losses, other, strict=True)) <= 2e-6
        again, resumed = train_with_hugging_face(own, folder, resume=True)
        assert again == losses
        assert all(map(torch.equal, model.parameters(), resumed.parameters()))


def accelerate():
    from accelerate import Accelerator
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
    losses = [], []
    for is_ours in (True, False):
        model = make()
        made = (canzona.Optimizer(model.named_parameters(), ADAMW) if is_ours else
                torch.optim.AdamW(model.parameters(), lr=1e-3))
        model, optimizer = accelerator.prepare(model, made)
        for step in range(2 * STEPS):
            with accelerator.accumulate(model):
                loss = loss_of(model, *batch(step))
                losses[is_ours].append(loss.item())
                accelerator.backward(loss)
                accelerator.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                optimizer.zero_grad()
        assert not is_ours or made.state[model.wte.weight]["step"] == STEPS
    assert max(abs(a - b) for a, b in zip(*losses, strict=True)) <= 2e-6
    with tempfile.TemporaryDirectory() as folder:
        accelerator.save_state(folder)
        accelerator.load_state(folder)


# ---- torchtitan ----

def container(model):
    from canzona.torchtitan import OptimizersContainer
    from torchtitan.components.optimizer import LRSchedulersContainer, ParamGroupConfig

    def group(pattern, **values):
        return ParamGroupConfig(pattern=pattern, optimizer_name="Canzona",
                                optimizer_kwargs=values)
    optimizers = OptimizersContainer.Config(
        param_groups=[
            group(r"^h\..*(q|k|v|gate|o|up|down)\.weight$", rule="muon_torch", lr=0.02,
                  decay=0.1, name="matrices"),
            group(".*", rule="adamw", lr=1e-3, decay=0.01, name="rest")],
        optimizer_factory_kwargs_by_name={"Canzona": {"strict": True}},
    ).build(model_parts=[model])
    schedulers = LRSchedulersContainer.Config(warmup_steps=2).build(
        optimizers=optimizers, training_steps=STEPS)
    return optimizers, schedulers


def train(model, optimizers, schedulers, steps, rank):
    losses = []
    for step in steps:
        optimizers.zero_grad()
        loss = loss_of(model, *batch(step, rank, RANKS))
        loss.backward()
        optimizers.step()
        for scheduler in schedulers:
            scheduler.step()
        losses.append(loss.item())
    return losses


def torchtitan(rank, folder):
    mesh = init_device_mesh("cpu", (RANKS,), mesh_dim_names=("fsdp",))
    model, plain = shard(make(), mesh), shard(make(), mesh)
    optimizers, schedulers = container(model)
    assert len(optimizers) == 1
    [own] = optimizers
    losses = train(model, optimizers, [schedulers], range(4), rank)
    alone = canzona.Optimizer(plain.named_parameters(), MUON, strict=True)
    factor = torch.optim.lr_scheduler.LambdaLR(alone, schedulers.schedulers[0].lr_lambdas[0])
    assert losses == train(plain, alone, [factor], range(4), rank)
    saved, state = own.state_dict(), {"model": model.state_dict(), "optim":
                                      optimizers.state_dict(), "lr": schedulers.state_dict()}
    assert "state.wte.weight.m" in state["optim"], sorted(state["optim"])[:5]
    dcp.save(state, checkpoint_id=f"{folder}/checkpoint")
    losses = train(model, optimizers, [schedulers], range(4, STEPS), rank)
    tp = init_device_mesh("cpu", (RANKS,), mesh_dim_names=("tp",))
    for other, is_alike in ((shard(make(), mesh), True), (cut(make(), tp), False)):
        optimizers, schedulers = container(other)
        found = {"model": other.state_dict(), "optim": optimizers.state_dict(),
                 "lr": schedulers.state_dict()}
        dcp.load(found, checkpoint_id=f"{folder}/checkpoint")
        other.load_state_dict(found["model"])
        optimizers.load_state_dict(found["optim"])
        schedulers.load_state_dict(found["lr"])
        assert same_states(optimizers.optimizers[0].state_dict(), saved)
        assert not is_alike or losses == train(other, optimizers, [schedulers],
                                               range(4, STEPS), rank)


def main():
    warnings.simplefilter("ignore")
    is_right, is_there = True, [name for name in ("torchtitan", "transformers", "accelerate")
                                if has(name)]
    if "accelerate" not in is_there:  # which Trainer wants
        is_there = [name for name in is_there if name != "transformers"]
    if "torchtitan" in is_there:
        is_right = gloo.run(RANKS, torchtitan)
    torch.set_num_threads(1)
    if "transformers" in is_there:
        hugging_face_trainer()
    if "accelerate" in is_there:
        accelerate()
    print("with", ", ".join(is_there) or "none of them: skipped")
    return SKIPPED if not is_there else 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
