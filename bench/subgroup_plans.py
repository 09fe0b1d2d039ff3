#!/usr/bin/python3
"""Prints the last table of bench/subgroup.md: plans themselves.

    subgroup_plans.py CANZONA REACH, where REACH is what the cost test prints
"""
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
CONFIGS = os.path.join(HERE, "..", "examples", "configs")
SOURCE = """mesh %s
model %s from "qwen3-%s.json"
machine notes
use muon(lr, momentum = 0.95, decay = 0.1) as matrices on %s
use adamw(lr, decay = 0)   as vectors on ** where ndim == 1
use adamw(lr, decay = 0.1) as rest    on **
schedule { grads f32 %s, clip norm 1.0, skip nonfinite, bucket 400M, tp auto
%s }
"""
PARTIAL, CHUNKS = "partial over dp", "shard dim 0 over fsdp chunk"
# Sizes, gradients, shards.
MESHES = {"32x8": ("dp = 32, tp = 8", PARTIAL, ""),
          "256x1": ("fsdp = 256", "reduced", CHUNKS),
          "8x32": ("dp = 8, fsdp = 32", PARTIAL, CHUNKS)}
SIZES = "8b", "14b", "32b"
CASES = [(size, storage, "32x8") for storage in ("fused", "split")
         for size in SIZES]
CASES += [("32b", storage, mesh) for storage in ("fused", "torchtitan")
          for mesh in ("256x1", "8x32")]
STORAGES = {
    "fused": ("qwen3_megatron", "**.{linear_qkv,linear_proj,linear_fc1,"
                                "linear_fc2}.weight view whole"),
    "split": ("qwen3", "model.layers.**.*_proj.weight"),
    "torchtitan": ("qwen3_torchtitan",
                   "layers.*.*.{wq,wk,wv,wo,w1,w2,w3}.weight")}
HEAD = """| case | kernels ms | bound ms | ratio | T_LB ms | ratio | step ms | wire | staging GiB | state |
|---|---|---|---|---|---|---|---|---|---|"""


def run(canzona, *arguments):
    return json.loads(subprocess.run([canzona, *arguments], check=True,
                                     stdout=subprocess.PIPE).stdout)


def bounds_of(path):
    """The bounds of the cost test's table, in ms by case."""
    with open(path, encoding="utf-8") as lines:
        rows = [[cell.strip() for cell in line.split("|")] for line in lines
                if line.startswith("| ")]
    return {row[1]: float(row[3]) for row in rows[1:]}


def sent(plan):
    """By all ranks, the trainer's own included."""
    metrics = plan["metrics"]
    return (sum(sum(each) for each in metrics["sent_bytes"].values()) +
            sum(metrics["trainer_bytes"].values()))


def row(canzona, source, case, bound):
    plan = run(canzona, "plan", "--json", "--no-baselines", source)
    owners = run(canzona, "plan", "--json", "--no-baselines",
                 "-D", "tp_strategy=owner", source)
    step = run(canzona, "simulate", "--json", source)["rows"][0]["step_ps"]
    kernels = max(plan["metrics"]["time_ps"]) / 1e9
    least = max(b["value"] for b in plan["metrics"]["bounds"]
                if b["of"] == "kernels") / 1e9
    fit = f"{bound:.3f} | {kernels / bound:.3f}" if bound else "- | -"
    wire = sent(plan) / sent(owners)
    memory = plan["metrics"]["memory_bytes"]
    state = [sum(both) for both in zip(memory["state"], memory["master"])]
    staging = max(group["peak_bytes"] for group in plan["groups"])
    print(f"| {case} | {kernels:.3f} | {fit} | {least:.3f} | "
          f"{kernels / least:.3f} | {step / 1e9:.1f} | {wire:.3f} | "
          f"{staging / 2**30:.2f} | {max(state) * len(state) / sum(state):.2f} |",
          flush=True)


def main():
    canzona, reach = sys.argv[1:]
    bounds = bounds_of(reach)
    print(HEAD)
    with tempfile.TemporaryDirectory() as folder:
        for size in SIZES:
            config = f"qwen3-{size}.json"
            os.symlink(os.path.join(CONFIGS, config),
                       os.path.join(folder, config))
        for size, storage, mesh in CASES:
            axes, grads, shards = MESHES[mesh]
            model, pattern = STORAGES[storage]
            source = os.path.join(folder, "plan.cz")
            with open(source, "w", encoding="utf-8") as out:
                out.write(SOURCE % (axes, model, size, pattern, grads, shards))
            case = f"{size.upper()} {storage} {mesh}"
            row(canzona, source, case, bounds.get(case))


main()
