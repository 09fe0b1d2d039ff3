#!/usr/bin/python3
"""Prints the last tables of bench/subgroup.md: plans themselves, and those with a
tolerance.

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
CELLS = "case", "kernels ms", "T_LB ms", "ratio", "step ms", "wire", "staging GiB", "state"
BOUND = "bound ms", "ratio"
TOLERANCE = "-D", "schedule.tolerance=0.05"


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


def show(cells, more=()):
    """A row of a table, with `more` behind the kernels."""
    print("| " + " | ".join([*cells[:2], *more, *cells[2:]]) + " |", flush=True)


def head(more=()):
    show(CELLS, more)
    print("|---" * (len(CELLS) + len(more)) + "|")


def cells_of(canzona, source, case, *options):
    plan = run(canzona, "plan", "--json", "--no-baselines", *options, source)
    owners = run(canzona, "plan", "--json", "--no-baselines", *options,
                 "-D", "tp_strategy=owner", source)
    step = run(canzona, "simulate", "--json", *options,
               source)["rows"][0]["step_ps"]
    kernels = max(plan["metrics"]["time_ps"]) / 1e9
    least = max(b["value"] for b in plan["metrics"]["bounds"]
                if b["of"] == "kernels") / 1e9
    memory = plan["metrics"]["memory_bytes"]
    state = [sum(both) for both in zip(memory["state"], memory["master"])]
    staging = max(group["peak_bytes"] for group in plan["groups"])
    return (case, f"{kernels:.3f}", f"{least:.3f}", f"{kernels / least:.3f}",
            f"{step / 1e9:.1f}", f"{sent(plan) / sent(owners):.3f}",
            f"{staging / 2**30:.2f}",
            f"{max(state) * len(state) / sum(state):.2f}")


def fit(cells, bounds):
    """How close the kernels come to the first table's bound."""
    bound = bounds.get(cells[0])
    return ((f"{bound:.3f}", f"{float(cells[1]) / bound:.3f}") if bound
            else ("-", "-"))


def sources(folder):
    """Of each case its name and a file, in turn."""
    for size in SIZES:
        config = f"qwen3-{size}.json"
        os.symlink(os.path.join(CONFIGS, config), os.path.join(folder, config))
    for size, storage, mesh in CASES:
        axes, grads, shards = MESHES[mesh]
        model, pattern = STORAGES[storage]
        case = f"{size.upper()} {storage} {mesh}"
        source = os.path.join(folder, f"{storage}-{size}-{mesh}.cz")
        with open(source, "w", encoding="utf-8") as out:
            out.write(SOURCE % (axes, model, size, pattern, grads, shards))
        yield case, source


def main():
    canzona, reach = sys.argv[1:]
    bounds = bounds_of(reach)
    with tempfile.TemporaryDirectory() as folder:
        cases = list(sources(folder))
        head(BOUND)
        for case, source in cases:
            cells = cells_of(canzona, source, case)
            show(cells, fit(cells, bounds))
        print("\nWith `tolerance 0.05`:\n")
        head()
        for case, source in cases:
            show(cells_of(canzona, source, case, *TOLERANCE))


main()
