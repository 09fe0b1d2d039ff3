#!/usr/bin/python3
"""Checkpoints from each mesh to each other: files saved on the one are loaded on the
other, and the next steps have the bits of a training that went on.  Rules whose states
are as parameters, whole, or none; parameters in f32, and in bf16 under masters.

    checkpoint_matrix.py CANZONA TOOL RUNTIME [few]
"""
import itertools
import pathlib
import sys
import tempfile

from processes import build, run

MODEL = """mesh pp = 1, dp = 1, fsdp = 1, tp = 1
model small(d = 32, layers = 2) {
    params %s {
        embed    : [40/tp, d] stage first
        layers[i < layers/pp] {
            up   : [2*d/tp, d]
            down : [d, 2*d/tp]
            norm : [d]
        }
    }
}
use %s as matrices on layers.*.{up, down}
use adamw(lr = 0.01) as rest on **
schedule {
    shard dim 0 over fsdp chunk, clip norm 1.0
}
"""
RULES = {
    "muon": ("f32", "muon(lr = 0.02)"),
    "soap": ("f32", "soap(lr = 0.01, interval = 2)"),
    "shampoo": ("f32", "shampoo(lr = 0.01, interval = 2, graft = true)"),
    "adamw": ("f32", "adamw(lr = 0.02)"),
    "masters": ("bf16", "muon(lr = 0.02)"),
}
MESHES = [*(f"dp={dp} mesh.tp={tp}" for dp in (1, 2, 3, 5) for tp in (1, 2, 4)),
          "fsdp=4", "pp=2"]
FEW = ["dp=3 mesh.tp=2", "fsdp=4", "pp=2"]


def main():
    canzona, tool, runtime, *few = sys.argv[1:]
    for name in ["soap", "masters"] if few else RULES:
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder, "small.cz")
            source.write_text(MODEL % RULES[name])
            built = [build(canzona, runtime, source, f"--strict --microbatches=60 mesh.{mesh}",
                           tempfile.mkdtemp(dir=folder)) for mesh in (FEW if few else MESHES)]
            pairs = list(itertools.permutations(built, 2))
            for k, (first, second) in enumerate(pairs):
                run([tool, *first, *second, pathlib.Path(folder, f"saved{k}")])
            print(f"{name}: {len(built)} meshes, {len(pairs)} pairs, the bits of each")


if __name__ == "__main__":
    main()
