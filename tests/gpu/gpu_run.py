#!/usr/bin/python3
"""tests/tools/gpu_run.sh with programs that are none: what passes, is skipped, fails
or does not end is told apart, within the time that there is.

gpu_run.py GPU_RUN_SH"""
import pathlib
import shutil
import subprocess
import sys
import tempfile

RUNS = """test 9 fine sh program 0
test 9 absent sh program 77
other 9 elsewhere sh program 1
test 1 slow sh program 0 8
test 9 words sh program 0 0 {out} {python}
"""
PROGRAM = 'sleep "${2:-0}"; echo "said $*"; [ -z "${3:-}" ] || echo "$3" > "$3/it"; exit "$1"\n'


def main():
    n_wrong = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name, "bundle")
        folder.mkdir()
        shutil.copy(sys.argv[1], folder / "run.sh")
        (folder / "program").write_text(PROGRAM, encoding="utf-8")

        def run(runs, part, seconds, wanted, *lines):
            (folder / "runs").write_text(runs, encoding="utf-8")
            done = subprocess.run(["sh", "bundle/run.sh", part, str(seconds), "out"],
                                  cwd=name, env={"PATH": "/usr/bin:/bin", "TORCH": "py"},
                                  stdout=subprocess.PIPE, text=True, check=False)
            is_right = done.returncode == wanted and all(
                any(said.startswith(line) for said in done.stdout.split("\n"))
                for line in lines) and ("elsewhere" in done.stdout) == (part == "other")
            if not is_right:
                print(f"FAILED: {part}: {done.returncode}\n{done.stdout}")
            return not is_right

        n_wrong += run(RUNS, "test", 60, 1, "passed fine ", "skipped absent ",
                       "late slow ", "passed words ")
        out = pathlib.Path(name, "out")
        n_wrong += f"said 0 0 {out} py" not in (out / "words.log").read_text("utf-8")
        n_wrong += (out / "it").read_text("utf-8") != f"{out}\n"
        n_wrong += run(RUNS, "other", 60, 1, "FAILED elsewhere ", "    said 1")
        n_wrong += run("test 9 fine sh program 0\n", "test", 60, 0, "passed fine ")
        n_wrong += run("test 9 fine sh program 0\n", "test", 0, 1, "late fine ")
    return n_wrong != 0


if __name__ == "__main__":
    sys.exit(main())
