#!/usr/bin/python3
"""Runs a test of the PyTorch package by a Python that has torch.

    with_torch.py FOLDER PACKAGE SCRIPT [ARGUMENT...]
    with_torch.py --install FOLDER

That Python is $CANZONA_TORCH_PYTHON, else that of the virtual environment FOLDER, else
/usr/bin/python3.  Status 77 where it has none.  PACKAGE has `canzona`.  --install makes
FOLDER, of PyPI's packages, unless $CANZONA_TORCH_PYTHON serves; status 77 without PyPI."""
import os
import pathlib
import subprocess
import sys
import venv

PACKAGES = ["numpy", "torch", "transformers", "accelerate", "torchtitan",
            "megatron-core"]
SKIPPED = 77
INSTALL_S = 2400


def has_torch(python):
    try:
        return subprocess.run([python, "-c", "import torch"], check=False,
                              stderr=subprocess.DEVNULL).returncode == 0
    except OSError:
        return False


def install(folder):
    python = folder / "bin" / "python"
    if any(map(has_torch, filter(None, [os.environ.get("CANZONA_TORCH_PYTHON"), python]))):
        return 0
    venv.create(folder, with_pip=True)
    done = subprocess.run([python, "-m", "pip", "install", "--quiet",
                           "--disable-pip-version-check", *PACKAGES],
                          timeout=INSTALL_S, check=False)
    if done.returncode:
        print("skipped: PyPI is out of reach")
        return SKIPPED
    return 0


def run(folder, package, words):
    own = folder / "bin" / "python"
    chosen = os.environ.get("CANZONA_TORCH_PYTHON")
    python = chosen or (own if own.exists() else sys.executable)
    if not has_torch(python):
        print(f"skipped: {python} has no torch; CANZONA_TORCH_PYTHON names one that has, "
              "and the test torch_install makes one")
        return SKIPPED
    path = os.pathsep.join([package, os.environ.get("PYTHONPATH", "")])
    return subprocess.run([python, "-B", *words], check=False,
                          env={**os.environ, "PYTHONPATH": path}).returncode


if __name__ == "__main__":
    sys.exit(install(pathlib.Path(sys.argv[2]).absolute()) if sys.argv[1] == "--install"
             else run(pathlib.Path(sys.argv[1]).absolute(), sys.argv[2], sys.argv[3:]))
