#!/usr/bin/python3
"""Checkpoints, by boxes and by files: saved on one mesh, loaded on another, and the next
steps have the bits of a training that went on.  All plans are strict.

    checkpoint.py CANZONA TOOL RUNTIME [few]
"""
import json
import math
import pathlib
import struct
import sys
import tempfile

from processes import PLANS, build, run

WIDTHS = {"F32": 4, "BF16": 2, "F64": 8}
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


def check_files(folder):
    """What the package safetensors would read: headers by the format's own rules,
    and each element of the manifest's tensors in one box."""
    manifest = json.loads((folder / "manifest.json").read_text("utf-8"))
    assert manifest["canzona_checkpoint"] == 1 and manifest["step"] == 3
    assert len(list(folder.iterdir())) == 1 + len(manifest["files"])
    left = {t["name"]: math.prod(t["shape"]) for t in manifest["tensors"]}
    for rank, file in enumerate(manifest["files"]):
        data = (folder / f"save{manifest['save']}.rank{rank}.safetensors").read_bytes()
        length, = struct.unpack("<Q", data[:8])
        header = json.loads(data[8:8 + length])
        assert header.pop("__metadata__") == {"format": "canzona"}
        end = 0
        for key, box in header.items():
            begin, behind = box["data_offsets"]
            n = math.prod(box["shape"])
            assert begin == end and behind - begin == n * WIDTHS[box["dtype"]], key
            end = behind
            left[key.split("@")[0]] -= n
        assert len(data) == file["bytes"] == 8 + length + end and length % 8 == 0
    assert not any(left.values()), left


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
                second = built[(i + 1) % len(built)]
                print(source.stem, meshes[i], end=": ")
                print(run([tool, *first, *second]), end="")
                saved = pathlib.Path(folder, f"saved{i}")
                print("by files:", run([tool, *first, *second, saved]), end="")
                check_files(saved)


if __name__ == "__main__":
    main()
