#!/usr/bin/python3
"""Random programs with whole states, factorisations, chains and phases, planned,
proved, executed and compared with one rank's bits and with the interpreter.

    run_random.py CANZONA RANDOM_PROGRAM_TOOL COUNT [SEED]

A program that fails is printed.
"""
import os
import subprocess
import sys
import tempfile

MESHES, STEPS, LIMIT_S = (1, 2, 3), 4, 120


def fails(canzona, folder, text, dp):
    """What was said, or nothing."""
    path = os.path.join(folder, "random.cz")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    done = subprocess.run(
        [canzona, "run", "--check", f"--steps={STEPS}", f"-Dmesh.dp={dp}", path],
        capture_output=True, text=True, timeout=LIMIT_S, check=False)
    repeated = " rules repeated by the interpreter" in done.stdout
    return "" if done.returncode == 0 and repeated else done.stderr[:1000] or "-"


def main(canzona, tool, count, first="1"):
    n_failed = 0
    seeds = range(int(first), int(first) + int(count))
    with tempfile.TemporaryDirectory() as folder:
        for seed in seeds:
            text = subprocess.run([tool, str(seed)], capture_output=True,
                                  text=True, check=True).stdout
            dp = MESHES[seed % len(MESHES)]
            said = fails(canzona, folder, text, dp)
            n_failed += bool(said)
            if said:
                print(f"seed {seed}, dp {dp}: {said}\n{text}", flush=True)
    print(f"seeds {seeds[0]} to {seeds[-1]}: {n_failed} failed")
    return 1 if n_failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
