"""A plan with frozen parameters and ties: the same bytes by way of IR, C
without a warning, and names that the IR may not give away.

    frozen.py CANZONA FILE
"""
import pathlib
import re
import subprocess
import sys
import tempfile

from value_names import without_names

RUNTIME = pathlib.Path(__file__).resolve().parents[2] / "runtime"
STRICT_C = ["gcc", "-std=c17", "-Wall", "-Wextra", "-Werror", "-c",
            "-I", RUNTIME, "-o", "program.o"]


def run(command, folder, data=None, status=0):
    done = subprocess.run(command, cwd=folder, input=data, timeout=60,
                          capture_output=True, check=False)
    if done.returncode != status:
        sys.exit(f"{command}: exit {done.returncode}, not {status}\n"
                 f"{done.stderr.decode(errors='replace')}")
    return done


def built(canzona, source, folder, data=None):
    out = pathlib.Path(tempfile.mkdtemp(dir=folder))
    run([canzona, "build", "-o", out, source], folder, data)
    return {path.name: without_names(path.read_bytes())
            for path in sorted(out.iterdir())}, out


def check_edits(canzona, ir, folder):
    """What a tie or a frozen pattern may not say in IR."""
    edits = [(b"pattern = @param.0", b"pattern = @param.77", "names no"),
             (b"index = array<i64: 1>", b"index = array<i64: 3>", "tie: index"),
             (b'name = "head.weight"', b'name = "embed.weight"', "are named"),
             (b'name = "pos.weight"', b'name = "embed.weight"', "are named")]
    for old, new, message in edits:
        if old not in ir:
            sys.exit(f"{old} is not in the IR")
        edited = re.sub(rb'("canzona.(?:tie|frozen)"\(\) .*?)' + re.escape(old),
                        rb"\g<1>" + new, ir)
        said = run([canzona, "verify", "-"], folder, edited, 1).stderr.decode()
        if message not in said:
            sys.exit(f"{new}: '{message}' is not in {said}")


def main():
    canzona, source = (pathlib.Path(p).resolve() for p in sys.argv[1:])
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        files, out = built(canzona, source, folder)
        ir = run([canzona, "plan", "--ir", source], folder).stdout
        by_ir, _ = built(canzona, "-", folder, ir)
        if files != by_ir:
            sys.exit("other bytes by way of IR")
        run([*STRICT_C, "frozen_tied.c"], out)
        check_edits(canzona, ir, folder)
    print("same bytes by way of IR, no warning, wrong edits seen")


if __name__ == "__main__":
    main()
