"""The largest models of the library on the meshes they are meant for: as many
parameters and matrices as published, planned without a search that is quadratic, which
would take minutes (`make bench-plan` has the seconds), and every figure of the plan
computed again.

    plan_large.py CANZONA FILE...
"""
import json
import os
import pathlib
import subprocess
import sys

import check_plan
import plan_schema

HERE = pathlib.Path(__file__).resolve().parent
ROOT = pathlib.Path(__file__).resolve().parents[2]
ALLOWED = f"--allow-path={ROOT}/examples"  # where configurations are
LIMIT_S = 15.0


def timed(command):
    """What a command prints, and the processor time that it took."""
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        output = process.stdout.read().decode()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{command} ended with {process.returncode}")
    return output, usage.ru_utime + usage.ru_stime


def check_count(path, screen):
    """The screen's first line against the published count."""
    inventory = json.loads((ROOT / "tests/models/inventory.json").read_text())
    expected = inventory[path.stem]
    for figure in (f"{expected['parameters']:,} parameters in ",
                   f"{expected['matrices']} matrices of "
                   f"{expected['matrix_elements']:,} elements"):
        if figure not in screen.splitlines()[0]:
            sys.exit(f"{path.name}: not {figure} in\n{screen}")


def check_figures(canzona, path):
    """How many ranks and trained parameters the plan is about."""
    schema = plan_schema.parse((HERE / "plan.schema.json").read_text())
    text, _ = timed([canzona, "plan", "--json", ALLOWED, path])
    messages = check_plan.check_text(text, plan_schema.Validator(schema))
    if messages:
        sys.exit("\n".join(f"{path.name}: {m}" for m in messages[:20]))
    plan = plan_schema.parse(text)
    return plan["mesh"]["ranks"], sum(
        max(1, len(p["names"])) for p in plan["parameters"] if p["group"])


def main():
    canzona, *paths = (pathlib.Path(p) for p in sys.argv[1:])
    is_sanitized = b"__asan_init" in canzona.read_bytes()
    for path in paths:
        screen, seconds = timed([canzona, "plan", ALLOWED, path])
        check_count(path, screen)
        ranks, parameters = check_figures(canzona, path)
        print(f"{path.name}: {parameters:,} parameters on {ranks} ranks in "
              f"{seconds:.2f} s, every figure computed again")
        if seconds > LIMIT_S and not is_sanitized:
            sys.exit(f"{path.name}: planned in {seconds:.2f} s, not {LIMIT_S} s")
    return 0 if paths else 1


if __name__ == "__main__":
    sys.exit(main())
