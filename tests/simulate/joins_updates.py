#!/usr/bin/python3
"""Small matrices in many buckets are updated by one operation, whose batches are
larger; large ones, whose gathers would wait for all of it, bucket by bucket.

    joins_updates.py CANZONA
"""
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SMALL = ROOT / "tests/fixtures/plans/joined.cz"
LARGE = ROOT / "examples/qwen3-32b.cz"


def plan(canzona, source):
    return json.loads(subprocess.run(
        [canzona, "plan", "--json", "--no-baselines", source],
        capture_output=True, check=True).stdout)


def updates(data):
    """Operations that update whole matrices."""
    whole = {i for i, stage in enumerate(data["stages"]) if stage["where"] == "whole"}
    return sum(any(work["stage"] in whole for work in op["work"])
               for op in data["schedule"] if op["kind"] == "kernel")


def main(canzona):
    joined = plan(canzona, SMALL)
    apart = plan(canzona, LARGE)
    found = [(d["policy"]["joins_updates"], updates(d) == 1) for d in (joined, apart)]
    if found != [(True, True), (False, False)]:
        return f"joined, one operation: {found}"
    return None


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
