#!/usr/bin/python3
"""Every optimizer of the library on the double of the driver.

    stages_library.py write OUT       the program of them all
    stages_library.py run TEST LAUNCHES ARGUMENT...

`run` starts cuda_stages_library without the stages, by LAUNCHES, NAME_cuda.c, that
have eigenvectors: the device has a method of its own for them."""
import pathlib
import re
import subprocess
import sys

LEAST_STAGES = 200
STAGE = re.compile(r"^static const czr_cuda_stage_step stage_(\d+)\w*\[.*?CZR_CUDA_END",
                   re.S | re.M)


def write(out):
    import elementwise
    pathlib.Path(out).write_text(elementwise.every_optimizer(1, 1),
                                 encoding="utf-8")


def run(test, launches, *arguments):
    bodies = list(STAGE.finditer(pathlib.Path(launches).read_text()))
    stages = {int(m.group(1)) for m in bodies}
    left_out = sorted({int(m.group(1)) for m in bodies
                       if "CZR_FACTOR_EIGH" in m.group(0)})
    print(f"{len(stages)} stages, {len(left_out)} of them left out", flush=True)
    if len(stages) - len(left_out) < LEAST_STAGES:
        sys.exit(f"the library has at least {LEAST_STAGES}")
    return subprocess.run([test, *arguments, *map(str, left_out)],
                          check=False).returncode


def main():
    verb, *arguments = sys.argv[1:]
    return write(*arguments) if verb == "write" else run(*arguments)


if __name__ == "__main__":
    sys.exit(main())
