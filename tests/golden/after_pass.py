#!/usr/bin/python3
"""`plan --ir=after:PASS` prints the module behind every pass of the pipeline, and
is not taken for a plan.

after_pass.py CANZONA SOURCE
"""
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]


def passes():
    """Names in the order of pipeline.c."""
    text = (ROOT / "passes/pipeline.c").read_text(encoding="utf-8")
    return re.findall(r'^    \{"(\w+)",', text, re.M)


def plan(canzona, stage, source, status=0):
    done = subprocess.run([canzona, "plan", f"--ir={stage}", source], check=False,
                          capture_output=True, text=True, timeout=60)
    if done.returncode != status:
        sys.exit(f"--ir={stage} {source}: exit {done.returncode}, not {status}\n"
                 f"{done.stderr}")
    return done.stdout if status == 0 else done.stderr


def main():
    canzona, source = sys.argv[1:3]
    names = passes()
    printed = {name: plan(canzona, f"after:{name}", source) for name in names}
    modules = {}
    for name, text in printed.items():
        first, module = text.split("\n", 1)
        assert first == f"// behind the pass {name}", first
        modules[name] = module
    assert modules["strategy"] == plan(canzona, "assigned", source)
    assert modules["schedule"] == plan(canzona, "scheduled", source)
    assert "canzona.stage" in modules["cut"]
    assert "canzona.stage" not in modules["gram"]
    assert "kernel.map" in modules["kernel"] and "kernel.map" not in modules["cut"]
    changed = sum(a != b for a, b in zip(list(modules.values()),
                                         list(modules.values())[1:]))
    assert changed >= 6, f"{changed} passes of {len(names)} change the module"

    with tempfile.TemporaryDirectory() as folder:
        for name, text in printed.items():
            file = pathlib.Path(folder, f"{name}.mlir")
            file.write_text(text, encoding="utf-8")
            assert "from between two passes" in plan(canzona, "scheduled", file, 1)
        file = pathlib.Path(folder, "assigned.mlir")
        file.write_text(modules["strategy"], encoding="utf-8")
        assert "is planned" in plan(canzona, "after:cut", file, 1)
    assert ", ".join(names) in plan(canzona, "after:cutt", source, 2)
    print(f"{len(names)} passes, {changed} of them seen to change {source}")


if __name__ == "__main__":
    main()
