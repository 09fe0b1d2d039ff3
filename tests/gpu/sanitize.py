#!/usr/bin/python3
"""tests/tools/sanitize.sh with a compute-sanitizer that is none: what it finds is
told from what the program says, skipping is passed on, and children are watched.

sanitize.py SANITIZE_SH"""
import pathlib
import subprocess
import sys
import tempfile

# Finds something where its program says "fault" and succeeds, as the tool does.
STUB = """#!/bin/sh
echo "asked: $*"
while [ "${1#--}" != "$1" ]; do
    [ "$1" = --error-exitcode ] && code=$2
    shift 2
done
said=$("$@"); status=$?
echo "$said"
[ $status = 0 ] && [ "$said" = fault ] && exit $code
exit $status
"""
CASES = [("echo fine", 0), ("echo fault", 99), ("exit 77", 77), ("exit 1", 1)]


def main():
    script = sys.argv[1]
    n_wrong = 0

    def run(sanitizer, what):
        done = subprocess.run(["sh", script, str(sanitizer), "memcheck", "sh", "-c",
                               what], stdout=subprocess.PIPE, text=True, check=False)
        return done.returncode, done.stdout

    with tempfile.TemporaryDirectory() as folder:
        stub = pathlib.Path(folder, "compute-sanitizer")
        status, said = run(stub, "echo fine")
        n_wrong += status != 77 or "no compute-sanitizer" not in said
        stub.write_text(STUB, encoding="utf-8")
        stub.chmod(0o700)
        for what, wanted in CASES:
            status, said = run(stub, what)
            is_right = (status == wanted and "--tool memcheck" in said
                        and "--target-processes all" in said)
            if not is_right:
                print(f"FAILED: {what}: {status}, not {wanted}\n{said}")
            n_wrong += not is_right
    return n_wrong != 0


if __name__ == "__main__":
    sys.exit(main())
