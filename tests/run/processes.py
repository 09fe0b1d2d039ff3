#!/usr/bin/python3
"""Ranks that are processes, 2 to 16, have the bytes of ranks that are threads, of
parameters, states and masters, and send what plans say.  All cases together have units of all
kinds, and sums in another order are found out.

    processes.py CANZONA TOOL RUNTIME [NAME...]
"""
import os
import pathlib
import subprocess
import sys
import tempfile

TESTS = pathlib.Path(__file__).resolve().parents[1]
PLANS = TESTS / "fixtures" / "plans"
EXAMPLES = TESTS.parent / "examples"

# Name, source, defines: slices, bands and sums of subgroups, chunks, equal parts,
# stages of a pipeline, factorisations, experts, phases, externs, fused storage.
CASES = {
    "gpt": (EXAMPLES / "gpt.cz", "mesh.dp=2 mesh.tp=2"),
    "gpt_2": (EXAMPLES / "gpt.cz", "mesh.dp=2 mesh.tp=1"),
    "gpt_16": (EXAMPLES / "gpt.cz", "mesh.dp=4 mesh.tp=4"),
    "gpt_3x2": (EXAMPLES / "gpt.cz", "mesh.dp=3 mesh.tp=2"),
    "adamw": (EXAMPLES / "gpt_adamw.cz", "mesh.dp=4 mesh.tp=1"),
    "gram": (EXAMPLES / "gpt.cz", "mesh.tp=4 tp_strategy=gram"),
    "gram_two": (EXAMPLES / "gpt.cz",
                 "mesh.dp=2 mesh.tp=4 tp_strategy=gram tp_subgroup=2"),
    "bands": (PLANS / "groups.cz", "mesh.dp=2 mesh.tp=4"),
    "few": (PLANS / "few.cz", "mesh.dp=2 mesh.tp=4"),
    "fused": (PLANS / "fused.cz", "mesh.dp=1 mesh.tp=8"),
    "form": (PLANS / "form_shared.cz",
             "mesh.dp=2 mesh.tp=4 form=gram tp_strategy=gram"),
    "near": (PLANS / "near.cz",
             "mesh.dp=1 mesh.fsdp=8 machine.gpus_per_node=4 d=48"),
    "equal": (EXAMPLES / "gpt.cz", "mesh.dp=4 mesh.tp=2 geometry=equal"),
    "chunks": (PLANS / "chunks.cz", "mesh.dp=2 mesh.fsdp=3"),
    "strict": (PLANS / "chunks.cz", "--strict mesh.dp=2 mesh.fsdp=3"),
    "fsdp": (PLANS / "fsdp.cz", "mesh.dp=1 mesh.fsdp=5 mesh.tp=2"),
    "chunks_3": (PLANS / "chunks.cz", "mesh.dp=1 mesh.fsdp=3"),
    "uneven_tp": (PLANS / "uneven_tp.cz", "mesh.dp=2 mesh.fsdp=2 mesh.tp=3"),
    "experts_fsdp": (PLANS / "experts_fsdp.cz", "mesh.dp=2 mesh.fsdp=4"),
    "pipeline": (PLANS / "pipeline_chunks.cz",
                 "mesh.pp=2 mesh.dp=2 mesh.tp=2"),
    "factor": (PLANS / "factor.cz", "mesh.dp=2 mesh.tp=2"),
    "bases": (PLANS / "bases.cz", "mesh.dp=2 mesh.tp=2"),
    "moe": (PLANS / "moe.cz",
            "mesh.edp=2 mesh.ep=2 mesh.etp=2 mesh.dp=4 mesh.tp=2"),
    "externs": (PLANS / "externs.cz", "mesh.dp=2 mesh.tp=2"),
}


KINDS = {"reduce_scatter", "all_gather", "equal_parts", "transfer", "guard",
         "norm", "sum", "gather", "band_gather", "band_scatter"}


def run(command, status=0):
    done = subprocess.run(command, capture_output=True, text=True, check=False,
                          timeout=200)
    if done.returncode != status:
        sys.exit(f"{' '.join(map(str, command))}: exit {done.returncode}\n"
                 f"{done.stdout}{done.stderr}")
    return done.stdout


def build(canzona, runtime, source, defines, folder):
    """The plan's program, and the name of its symbol."""
    options = [word if word.startswith("-") else f"-D{word}"
               for word in defines.split()]
    run([canzona, "build", *options, "-o", folder, source])
    made = next(p for p in pathlib.Path(folder).glob("*.c")
                if not p.stem.endswith("_cuda"))
    library = made.parent / "program.so"
    for header in ("czr.h", "czr_math.h"):
        (made.parent / header).symlink_to(
            pathlib.Path(runtime).resolve() / header)
    run([os.environ.get("CC", "cc"), "-std=c17", "-O1", "-fno-math-errno",
         "-ffp-contract=off", "-shared", "-fPIC", "-I", folder, "-o", library,
         made])
    return library, f"{made.stem}_program"


def check(canzona, tool, runtime, name):
    with tempfile.TemporaryDirectory() as folder:
        tool = [tool, *build(canzona, runtime, *CASES[name], folder)]
        said = run(tool)
        print(name, said, end="")
        print(name, run([*tool, "late"]), end="")
        if name == "strict":
            run([*tool, "planted"], status=1)
        return set(said.split(":")[-1].split())


def main():
    canzona, tool, runtime, *names = sys.argv[1:]
    found = set()
    for name in names or CASES:
        found |= check(canzona, tool, runtime, name)
    if not names and found != KINDS:
        sys.exit(f"units of other kinds: {sorted(found ^ KINDS)}")


if __name__ == "__main__":
    main()
