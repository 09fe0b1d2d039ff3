#!/usr/bin/python3
"""What `canzona tune` refuses: the exit status, one sentence, and the change
that it names helps.  And what it shows: a table, a picture, a file.

    tune_refusals.py CANZONA FILE.cz
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

SMALL = ["--gpus=8", "--sequence=128", "--tokens=100K"]
# Options, exit status, and what is said.
CASES = (
    ([], 2, "--gpus takes a number from 1 to 1048576, as --gpus=256"),
    (["--gpus=0"], 2, "--gpus takes a number"),
    (["--gpus=8", "--tokens=0"], 2, "canzona tune: --tokens takes a number from 1"),
    (["--gpus=8", "--memory=much"], 2, "--memory takes bytes, as 80GB"),
    (["--gpus=8", "-D", "mesh.tp=2"], 2, "it chooses the mesh: leave out -D mesh.tp=2"),
    (["--gpus=8", "-D", "machine.network_rate=0"], 1, "network_rate cannot be 0"),
    (["--gpus=8", "--sequence=128", "--tokens=100"], 3, "take at least `--tokens=128`"),
    (SMALL + ["--memory=1KB"], 3, "of 4 meshes none keeps a rank within 1.00 kB"),
    (["--gpus=7", "--sequence=128", "--tokens=100K", "--memory=1KB"], 3,
     "7 is prime, so that one axis has all ranks: `--gpus=4` leaves a choice"),
)
NO_MODEL = "optimizer slow(lr) for any {\n    param <- param - lr * grad\n}\n"


def main(canzona, source):
    def tune(*words):
        return subprocess.run([canzona, "tune", *words], check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              universal_newlines=True)
    messages = []

    def expect(what, truth):
        if not truth:
            messages.append(what)
    with tempfile.TemporaryDirectory() as folder:
        path = shutil.copy(source, os.path.join(folder, "gpt.cz"))
        for options, status, said in CASES:
            result = tune(*options, path)
            expect(f"{options}: exit {result.returncode}, {result.stderr}",
                   result.returncode == status and said in result.stderr and
                   not result.stdout)
            for change in re.findall(r"`(--(?:memory|tokens)=\w+)`", result.stderr):
                again = tune(*options, change, path)
                expect(f"{options} with {change}: {again.stderr}",
                       again.returncode == 0)
                os.remove(os.path.join(folder, "gpt.tuned.cz"))
        expect("a refusal left files", os.listdir(folder) == ["gpt.cz"])
        for name, text in (("rules.cz", NO_MODEL), ("empty.cz", "")):
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(text)
            result = tune("--gpus=8", os.path.join(folder, name))
            expect(f"{name}: exit {result.returncode}, {result.stderr}",
                   result.returncode == 1 and
                   "does not say which model it is about" in result.stderr)
        shown = tune(*SMALL, path).stdout
        for line in (r"searched  dp x tp; not pp, fsdp, cp, ep, etp, over which",
                     r" 1  dp 8 +\d+\.\d +1\.000 ", r" 4  dp 1 x tp 8 ",
                     r"dp 4 x tp 2 takes \d+\.\d ms more than dp 8: products \+0\.0, ",
                     r"kB \||MB \|", r" +\|.*4", r"canzona simulate --tokens=100000 "):
            expect(f"no {line!r} in\n{shown}", re.search(line, shown))
        printed = tune(*SMALL, "-o", "-", path)
        with open(os.path.join(folder, "gpt.tuned.cz"), encoding="utf-8") as file:
            expect("-o - is not what is written", printed.stdout == file.read())
        ran = subprocess.run([canzona, "run", "--check", "--microbatches=8",
                              os.path.join(folder, "gpt.tuned.cz")], check=False,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             universal_newlines=True)
        expect(f"what was chosen does not run: {ran.stderr}", ran.returncode == 0)
        with open(os.path.join(folder, "mine.cz"), "w", encoding="utf-8") as file:
            file.write("# mine\n")
        result = tune(*SMALL, "-o", os.path.join(folder, "mine.cz"), path)
        expect(f"another's file is overwritten: {result.stderr}",
               result.returncode == 1 and "--force" in result.stderr)
    print("\n".join(messages) or "as it should be")
    return 1 if messages else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
