#!/usr/bin/python3
"""Files of checkpoints where something fails: a process that is killed while it saves, a
call of the system that fails, files that are cut, changed, foreign or gone.  What was
saved before is loaded, and goes on with the bits of a training that was never
interrupted; or one sentence says which file is wrong.

    checkpoint_faults.py CANZONA TOOL RUNTIME FAIL_IO [KILLS [SEED]]
"""
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time

import fail_io
from processes import PLANS, build, run

UNREADABLE = 3
NO_SPACE, BROKEN = 28, 5
FAULTS = [(call, number, error)
          for call, numbers in (("write", (1, 2, 5, 9, 14, "3+")),
                                ("fsync", (1, 3, 7, 11, 12)),
                                ("rename", (1, 4, 5, 8, 10)),
                                ("open", (1, 3, 6, 11, 13)),
                                ("close", (1, 4, 9, 10)), ("mkdir", (1,)))
          for number in numbers
          for error in (NO_SPACE if call == "write" else BROKEN,)]


class Bench:
    def __init__(self, canzona, tool, runtime, shim, folder):
        self.tool, self.shim = tool, shim
        self.folder = pathlib.Path(folder)
        self.programs = []
        for source in ("few", "chunks"):
            where = tempfile.mkdtemp(dir=folder)
            mesh = "mesh.dp=2 mesh." + ("tp=2" if source == "few" else "fsdp=2")
            self.programs.append(build(canzona, runtime, PLANS / f"{source}.cz",
                                       f"--strict {mesh}", where))

    def command(self, what, name, program=0):
        return [self.tool, *self.programs[program], what, name]

    def do(self, what, name, program=0, **more):
        return subprocess.run(self.command(what, name, program), cwd=self.folder,
                              capture_output=True, text=True, check=False,
                              timeout=200, **more)

    def goes_on(self, name, why):
        """From the last save that was whole, if there was one."""
        done = self.do("resume", name)
        has_one = (self.folder / name / "manifest.json").exists()
        if done.returncode != (0 if has_one else UNREADABLE):
            sys.exit(f"{why}: resume: exit {done.returncode}\n{done.stdout}")
        return has_one


def check_calls(bench, faults):
    n_failed = n_before = 0
    for call, number, error in faults:
        name, log = f"{call}{number}", bench.folder / "log"
        log.unlink(missing_ok=True)
        done = bench.do("save", name, env=fail_io.environment(
            bench.shim, log, f"{call}:{number}:{error}"))
        has_failed = log.exists()
        said = os.strerror(error)
        if done.returncode != (UNREADABLE if has_failed else 0) or (
                has_failed and not (said in done.stdout and "CZR_ERR_FILE" in done.stdout)):
            sys.exit(f"{call} {number}: exit {done.returncode}\n{done.stdout}")
        n_failed += has_failed
        n_before += bench.goes_on(name, f"{call} {number}")
        shutil.rmtree(bench.folder / name, ignore_errors=True)
    print(f"{n_failed} calls fail and are named; behind {n_before} a checkpoint is there")
    assert n_failed > len(faults) // 2 and n_before > 1


def check_kills(bench, n_kills, seed):
    draw = random.Random(seed)
    begin = time.monotonic()
    run([bench.tool, *bench.programs[0], "save", bench.folder / "whole"])
    longest = time.monotonic() - begin
    n_there = 0
    for i in range(n_kills):
        name = f"killed{i}"
        with subprocess.Popen(bench.command("save", name), cwd=bench.folder) as process:
            time.sleep(draw.random() * longest)
            process.kill()
        n_there += bench.goes_on(name, f"seed {seed}, kill {i}")
        if i % 2:  # what was left is saved over, and goes
            done = bench.do("save", name)
            left = {p.name for p in (bench.folder / name).iterdir()}
            if done.returncode or len(left) != 5:
                sys.exit(f"seed {seed}, kill {i}: saved over\n{done.stdout}{left}")
        shutil.rmtree(bench.folder / name, ignore_errors=True)
    print(f"seed {seed}: {n_kills} kills, behind {n_there} a checkpoint is there")
    assert n_there > 0


def check_files(bench, seed):
    draw = random.Random(seed)
    whole = bench.folder / "whole"
    if not whole.exists():
        run([bench.tool, *bench.programs[0], "save", whole])
    files = sorted(p.name for p in whole.iterdir())

    def spoil(what, change, sentence):
        shutil.rmtree(bench.folder / "bad", ignore_errors=True)
        shutil.copytree(whole, bench.folder / "bad")
        change(bench.folder / "bad")
        done = bench.do("resume", "bad")
        if done.returncode != UNREADABLE or sentence not in done.stdout:
            sys.exit(f"{what}: exit {done.returncode}\n{done.stdout}")

    for i in range(20):
        name = draw.choice(files)
        size = (whole / name).stat().st_size
        at, bit = draw.randrange(size), 1 << draw.randrange(8)

        def flip(folder):
            data = bytearray((folder / name).read_bytes())
            data[at] ^= bit
            (folder / name).write_bytes(data)

        def cut(folder):
            os.truncate(folder / name, at)

        what = f"seed {seed}, {name}, byte {at}"
        spoil(f"{what}, bit {bit}", flip, f"bad/{name}")
        spoil(f"{what}, cut", cut, f"bad/{name}")
    for name in files:
        spoil(f"no {name}", lambda folder: (folder / name).unlink(),
              name if name != "manifest.json" else "bad has no manifest.json")
    done = bench.do("resume", "whole", program=1)
    if done.returncode != UNREADABLE or "in this plan" not in done.stdout:
        sys.exit(f"another model's: exit {done.returncode}\n{done.stdout}")
    print(f"seed {seed}: files that are changed, cut, gone or another model's are named")


def main():
    canzona, tool, runtime, shim, *more = sys.argv[1:]
    n_kills = int(more[0]) if more else 5
    seed = int(more[1]) if len(more) > 1 else random.randrange(1 << 30)
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(canzona, tool, runtime, shim, folder)
        check_kills(bench, n_kills, seed)
        check_files(bench, seed)
        check_calls(bench, FAULTS if n_kills > 10 else FAULTS[::3])


if __name__ == "__main__":
    main()
