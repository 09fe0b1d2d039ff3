#!/usr/bin/python3
"""The wheel, installed with nothing else of this project in reach, runs the lines of
the README.

    wheel_installs.py WHEEL.PY PACKAGE README NOTICE"""
import os
import pathlib
import subprocess
import sys
import tempfile

import torch

from small_gpt import batch, loss_of, make


def lines_of(readme):
    """The block behind "In PyTorch", before what a trainer does and from it on."""
    text = readme.read_text().split("## In PyTorch\n", 1)[1].split("\n\nIt is", 1)[0]
    lines = [line.removeprefix("    ") for line in text.splitlines() if line.strip()]
    at = lines.index("...")
    return "\n".join(lines[:at]), "\n".join(lines[at + 1:])


def train(readme, folder):
    sys.path[:] = [folder] + [path for path in sys.path if "build" not in path]
    torch.set_num_threads(1)
    first, each = lines_of(pathlib.Path(readme))
    scope = {"model": make()}
    exec(first, scope)
    assert scope["canzona"].__file__.startswith(folder), scope["canzona"]
    losses = []
    for step in range(20):
        scope["optimizer"].zero_grad()
        scope["loss"] = loss_of(scope["model"], *batch(step))
        exec(each, scope)
        losses.append(scope["loss"].item())
    assert losses[-1] < losses[0] - 0.2, losses
    print(f"loss {losses[0]:.3f} to {losses[-1]:.3f}")


def main(wheel, package, readme, notice):
    with tempfile.TemporaryDirectory() as folder:
        made = [subprocess.run([sys.executable, "-B", wheel, package, "0.1.0", notice,
                                f"{folder}/{turn}"], check=True, stdout=subprocess.PIPE,
                               text=True).stdout.split()[0] for turn in (1, 2)]
        bytes_of = [pathlib.Path(path).read_bytes() for path in made]
        assert bytes_of[0] == bytes_of[1] and len(bytes_of[0]) < 20e6
        subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-deps",
                        "--no-index", "--target", f"{folder}/site", made[0]], check=True)
        subprocess.run([sys.executable, "-B", __file__, readme, f"{folder}/site"], check=True,
                       env={**os.environ, "CANZONA_CACHE": f"{folder}/cache"})
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]) if len(sys.argv) > 3 else train(*sys.argv[1:]))
