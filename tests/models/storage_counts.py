#!/usr/bin/python3
"""Every configuration in each trainer's storage has the trained elements and the
matrices, by shape, that it has as Hugging Face names it: on one rank, where
tensor parallelism cuts inside query groups, and with experts dealt out.

    storage_counts.py CANZONA one|all

of `one`, each configuration in each storage is compiled on one of the meshes, in
turn; of `all`, on all of them.
"""
import collections
import itertools
import json
import math
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import counts

EXPERTS = "\nmesh experts edp = {}, ep = {}, etp = {}"
MESHES = [("mesh dp = 1", (1, 1, 1)), ("mesh dp = 2, tp = 4", (1, 8, 1)),
          ("mesh dp = 1, tp = 16", (1, 1, 16))]
STORAGES = {
    "": counts.PATHS,
    "_megatron": dict.fromkeys(counts.PATHS, "**.linear_*.weight.**"),
    "_torchtitan": {
        "qwen3": "layers.*.{attention,feed_forward}.w*.weight",
        "llama": "layers.*.{attention,feed_forward}.w*.weight",
        "qwen3_moe": "layers.*.*.w*.weight, "
                     "layers.*.moe.experts.**",
        "deepseek_v3": "layers.*.{attention,feed_forward}.w*.weight, "
                       "layers.*.moe.{experts,shared_experts}.**"},
}
PROGRAM = """{mesh}
model {model} from "{config}"
use muon(lr) as matrices on {paths} view {view}
use sgd(lr) as rest on **
"""


def matrices_of(ir):
    """(matrices by the shape that the rule sees, trained elements) of IR."""
    sizes = counts.integers(
        re.search(r'"canzona\.mesh".*? sizes = array<(i64[^>]*)>', ir)[1])
    shapes, elements = collections.Counter(), 0
    for line in re.findall(r'"canzona\.pattern"\(\) \{(.*)\} :', ir):
        extents, shape = (
            counts.integers(re.search(rf" ?{key} = array<(i64[^>]*)>", line)[1])
            for key in ("extents", "shape"))
        spread = int((re.search(r"expert_axes = (\d+)", line) or [0, 0])[1])
        n = math.prod(extents) * math.prod(
            s for axis, s in enumerate(sizes) if spread >> axis & 1)
        elements += n * math.prod(shape)
        rule = re.search(r'rule = @"?matrices\.\w+(\.t)?', line)
        if rule:
            shapes[tuple(shape[::-1] if rule[1] else shape)] += n
    return shapes, elements


def paths_of(storage, values):
    """Of the matrices of a configuration; Megatron predicts by one more."""
    paths = STORAGES[storage][values["model_type"]]
    predicts = storage == "_megatron" and values.get("mtp_layers")
    return paths + (", **.eh_proj.weight" if predicts else "")


def compiled(tool, config, storage, mesh, view="blocks"):
    """matrices_of() a configuration in a storage on a mesh."""
    values = json.loads(config.read_text())
    model = values["model_type"]
    ranks, experts = mesh
    if "num_experts" in values or "n_routed_experts" in values:
        ranks += EXPERTS.format(*experts)
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "program.cz"
        shutil.copy(config, folder)
        source.write_text(PROGRAM.format(
            mesh=ranks, model=model + storage, config=config.name, view=view,
            paths=paths_of(storage, values)))
        done = subprocess.run([tool, "plan", "--ir=source", source],
                              capture_output=True, text=True, timeout=60,
                              check=False)
    if done.returncode != 0:
        sys.exit(f"{config.name}{storage} {ranks}: {done.stdout}{done.stderr}")
    shapes, elements = matrices_of(done.stdout)
    if model == "gpt2" and not storage:  # c_attn: one matrix, of q, k and v
        d = values["n_embd"]
        shapes[d, d] += 3 * shapes.pop((3 * d, d))
    return shapes, elements


def check(tool, config, meshes):
    """How many storages and meshes agree with Hugging Face's on one rank."""
    model = json.loads(config.read_text())["model_type"]
    expected = compiled(tool, config, "", MESHES[0])
    n = 0
    for storage in [s for s in STORAGES if s and model in STORAGES[s]]:
        for mesh in next(meshes):
            found = compiled(tool, config, storage, mesh)
            if found != expected:
                sys.exit(f"{config.stem}{storage} {mesh}: {found}, "
                         f"expected {expected}")
            n += 1
    whole = compiled(tool, config, "_megatron", MESHES[1], "whole")
    if whole[0] == expected[0] or whole[1] != expected[1]:
        sys.exit(f"{config.stem}: a view that ignores the blocks went unseen")
    print(f"{config.stem}: {sum(expected[0].values()):,} matrices of "
          f"{len(expected[0])} shapes, {expected[1]:,} trained elements, "
          f"alike in {n} storages and meshes")
    return n


def main():
    tool = sys.argv[1]
    meshes = itertools.cycle([[mesh] for mesh in MESHES] if sys.argv[2] == "one"
                             else [MESHES])
    configs = sorted(counts.CONFIGS.glob("*.json"))
    n = sum(check(tool, config, meshes) for config in configs)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "deepseek-v3-mtp.json"
        values = json.loads((counts.CONFIGS / "deepseek-v3.json").read_text())
        path.write_text(json.dumps({**values, "mtp_layers": 1}))
        del STORAGES["_torchtitan"]["deepseek_v3"]  # it has no such layer
        n += check(tool, path, meshes)
    print(f"{n} programs")
    return 0 if n else 1


if __name__ == "__main__":
    sys.exit(main())
