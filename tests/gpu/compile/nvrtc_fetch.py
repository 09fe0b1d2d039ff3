#!/usr/bin/python3
"""cmake/nvrtc.cmake, with a Python that is none: what is there or not needed is
not fetched, what cannot be fetched is said and stops nothing, and what is half
there is removed.

nvrtc_fetch.py CMAKE SOURCE_FOLDER"""
import pathlib
import subprocess
import sys
import tempfile

CMAKE, SOURCE = sys.argv[1], pathlib.Path(sys.argv[2])
LIBRARY = "nvidia/cuda_nvrtc/lib/libnvrtc.so.12"
# Notes its arguments, and makes what --target names, whole or a part.
PYTHON = """#!/bin/sh
echo "$@" >> {calls}
while [ "$1" != --target ]; do shift; done
mkdir -p "$2/$(dirname {library})"
{rest}
"""
WHOLE = f'touch "$2/{LIBRARY}"'
OFFLINE = "echo 'ERROR: Could not find a version' >&2; exit 1"


class Fetch:
    """One folder of a build, and a Python that ends with `rest`."""

    def __init__(self, root, rest):
        self.calls, self.folder = root / "calls", root / "nvrtc"
        self.python = root / "python"
        self.python.write_text(PYTHON.format(
            calls=self.calls, library=LIBRARY, rest=rest), encoding="utf-8")
        self.python.chmod(0o755)

    def run(self, *definitions):
        """The output, and how often Python was called until now."""
        result = subprocess.run(
            [CMAKE, f"-DPYTHON={self.python}", f"-DFOLDER={self.folder}",
             *definitions, "-P", SOURCE / "cmake/nvrtc.cmake"],
            capture_output=True, text=True, check=True)
        calls = self.calls.read_text(encoding="utf-8").splitlines() \
            if self.calls.exists() else []
        return result.stdout + result.stderr, calls

    def is_there(self):
        return (self.folder / LIBRARY).exists()


def check(is_right, what):
    if not is_right:
        sys.exit(f"FAILED: {what}")


def with_fetch(rest, body):
    with tempfile.TemporaryDirectory() as root:
        body(Fetch(pathlib.Path(root), rest))


def fetched_once(fetch):
    said, calls = fetch.run()
    check(fetch.is_there() and "12.9" in said, said)
    for word in ("--require-hashes", "--only-binary :all:", "nvrtc.txt"):
        check(word in calls[0], f"{word} in {calls}")
    check(len(fetch.run()[1]) == 1, "what is there is fetched again")


def offline(fetch):
    said, calls = fetch.run()
    check("not fetched" in said and "Could not find" in said, said)
    check(len(calls) == 1 and not fetch.is_there(), "a part that stays")
    left = sorted(p.name for p in fetch.folder.parent.iterdir())
    check(left == ["calls", "python"], f"{left} stay")


def probed(fetch):
    check(not fetch.run("-DPROBE=/bin/true", "-DINSTALLED=x")[1],
          "one that serves is fetched anew")
    check(len(fetch.run("-DPROBE=/bin/false", "-DINSTALLED=x")[1]) == 1,
          "one that does not serve is not fetched")


with_fetch(WHOLE, fetched_once)
with_fetch(OFFLINE, offline)
with_fetch(WHOLE, probed)
PINNED = (SOURCE / "cmake/nvrtc.txt").read_text(encoding="utf-8")
check("==12.9." in PINNED and PINNED.count("--hash=sha256:") == 2, "pinned")
check("://" not in PINNED, "a registry's host")
print("fetched as it should be")
