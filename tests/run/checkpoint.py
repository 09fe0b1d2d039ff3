#!/usr/bin/python3
"""Checkpoints of boxes: saved on one mesh, loaded on another, and the next steps have
the bits of a training that went on.  All plans are strict.

    checkpoint.py CANZONA TOOL RUNTIME [few]
"""
import sys
import tempfile

from processes import PLANS, build, run

# Source, options, meshes: each is loaded on the next.
CASES = [
    (PLANS / "chunks.cz", "", ["dp=2 mesh.fsdp=3", "dp=1 mesh.fsdp=2",
                               "dp=3 mesh.fsdp=1", "dp=1 mesh.fsdp=1"]),
    (PLANS / "fsdp.cz", "", ["dp=1 mesh.fsdp=5 mesh.tp=2",
                             "dp=2 mesh.fsdp=3 mesh.tp=1",
                             "dp=1 mesh.fsdp=2 mesh.tp=2"]),
    (PLANS / "few.cz", "", ["dp=2 mesh.tp=2", "dp=1 mesh.tp=4",
                            "dp=4 mesh.tp=1"]),
    (PLANS / "fused.cz", "", ["dp=2 mesh.tp=2", "dp=1 mesh.tp=4",
                              "dp=3 mesh.tp=1"]),
    (PLANS / "bases.cz", "", ["dp=2 mesh.tp=2", "dp=1 mesh.tp=2",
                              "dp=4 mesh.tp=1"]),
    (PLANS / "externs.cz", "", ["dp=2 mesh.tp=2", "dp=1 mesh.tp=4"]),
    (PLANS / "tiles.cz", "", ["dp=2 mesh.tp=2", "dp=1 mesh.tp=4"]),
    (PLANS / "states.cz", "", ["dp=4 mesh.tp=2", "dp=1 mesh.tp=4"]),
    (PLANS / "pipeline.cz", "", ["pp=2 mesh.dp=2 mesh.tp=2",
                                 "pp=3 mesh.dp=1 mesh.tp=2"]),
    (PLANS / "moe.cz", "", [
        "edp=2 mesh.ep=2 mesh.etp=2 mesh.dp=4 mesh.tp=2",
        "edp=1 mesh.ep=8 mesh.etp=1 mesh.dp=4 mesh.tp=2"]),
]


def main():
    canzona, tool, runtime, *few = sys.argv[1:]
    for source, options, meshes in CASES:
        if few and source.stem not in ("chunks", "fused", "states", "moe"):
            continue
        with tempfile.TemporaryDirectory() as folder:
            built = []
            for i, mesh in enumerate(meshes[:2] if few else meshes):
                where = tempfile.mkdtemp(dir=folder)
                built.append(build(canzona, runtime, source,
                                   f"--strict mesh.{mesh} {options}", where))
            for i, first in enumerate(built):
                print(source.stem, meshes[i], end=": ")
                print(run([tool, *first, *built[(i + 1) % len(built)]]), end="")


if __name__ == "__main__":
    main()
