#!/usr/bin/python3
"""Tests on the double of the driver find no library of NVIDIA's that a plan would
open: by each of its names the loader finds one of ours, which has no functions.

absent.py SOURCE_FOLDER"""
import ctypes
import pathlib
import re
import sys

NAMES = re.compile(r'libraries\[\] = \{([^}]*)\}')


def main():
    folder = pathlib.Path(sys.argv[1], "runtime/cuda")
    names = []
    for file in ("library/cublas.c", "library/cusolver.c"):
        rows = NAMES.search((folder / file).read_text(encoding="utf-8")).group(1)
        names += re.findall(r'"([^"]+)"', rows)
    n_wrong = 0
    for name in names:
        try:
            is_ours = hasattr(ctypes.CDLL(name), "canzona_absent")
        except OSError as error:
            print(error)
            is_ours = False
        print(f"{name}: {'ours' if is_ours else 'FAILED: not ours'}")
        n_wrong += not is_ours
    return n_wrong > 0 or len(names) < 4


if __name__ == "__main__":
    sys.exit(main())
