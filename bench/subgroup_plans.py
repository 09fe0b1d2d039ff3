#!/usr/bin/python3
"""Prints the tables of bench/subgroup.md: plans themselves, and those with a
tolerance.

    subgroup_plans.py CANZONA
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
CONFIGS = os.path.join(HERE, "..", "examples", "configs")
SOURCE = """mesh %s
model %s from "qwen3-%s.json"
machine notes
use muon(lr, momentum = 0.95, decay = 0.1, factor = polar_norm_first) as matrices on %s
use adamw(lr, decay = 0)   as vectors on ** where ndim == 1
use adamw(lr, decay = 0.1) as rest    on **
schedule { grads f32 %s, clip norm 1.0, skip nonfinite, bucket 400M, tp auto, wire 4
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
CELLS = ("case", "kernels ms", "T_LB ms", "ratio", "step ms", "iteration ms", "wire",
         "staging GiB", "state")
TOLERANCE = "-D", "schedule.tolerance=0.05"


def run(canzona, *arguments):
    return json.loads(subprocess.run([canzona, *arguments], check=True,
                                     stdout=subprocess.PIPE).stdout)


def sent(plan):
    """By all ranks, the trainer's own included."""
    metrics = plan["metrics"]
    return (sum(sum(each) for each in metrics["sent_bytes"].values()) +
            sum(metrics["trainer_bytes"].values()))


def show(cells):
    print("| " + " | ".join(cells) + " |", flush=True)


def head():
    show(CELLS)
    print("|---" * len(CELLS) + "|")


def cells_of(canzona, source, case, *options):
    plan = run(canzona, "plan", "--json", "--no-baselines", *options, source)
    owners = run(canzona, "plan", "--json", "--no-baselines", *options,
                 "-D", "tp_strategy=owner", source)
    row = run(canzona, "simulate", "--json", *options, source)["rows"][0]
    kernels = max(plan["metrics"]["time_ps"]) / 1e9
    least = max(b["value"] for b in plan["metrics"]["bounds"]
                if b["of"] == "kernels") / 1e9
    memory = plan["metrics"]["memory_bytes"]
    state = [sum(both) for both in zip(memory["state"], memory["master"])]
    staging = max(group["peak_bytes"] for group in plan["groups"])
    return (case, f"{kernels:.3f}", f"{least:.3f}", f"{kernels / least:.3f}",
            f"{row['step_ps'] / 1e9:.1f}", f"{row['iteration_ps'] / 1e9:.1f}",
            f"{sent(plan) / sent(owners):.3f}",
            f"{staging / 2**30:.2f}",
            f"{max(state) * len(state) / sum(state):.2f}")


def sources(folder):
    """Of each case its name and a file, in turn."""
    for size in SIZES:
        config = f"qwen3-{size}.json"
        shutil.copy(os.path.join(CONFIGS, config), folder)
    for size, storage, mesh in CASES:
        axes, grads, shards = MESHES[mesh]
        model, pattern = STORAGES[storage]
        case = f"{size.upper()} {storage} {mesh}"
        source = os.path.join(folder, f"{storage}-{size}-{mesh}.cz")
        with open(source, "w", encoding="utf-8") as out:
            out.write(SOURCE % (axes, model, size, pattern, grads, shards))
        yield case, source


def main():
    canzona, = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        cases = list(sources(folder))
        for title, options in (("As it is", ()), ("`tolerance 0.05`", TOLERANCE)):
            print(f"\n{title}:\n")
            head()
            for case, source in cases:
                show(cells_of(canzona, source, case, *options))


if __name__ == "__main__":
    main()
