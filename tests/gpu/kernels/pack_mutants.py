#!/usr/bin/python3
"""Plants bugs in the kernel of pack.cu and in its tables, one at a time: each must
be noticed by tests/gpu/kernels/pack_test.cpp.

pack_mutants.py CXX SOURCE_FOLDER [--few]"""
import pathlib
import subprocess
import sys
import tempfile

import plant

# name, file of runtime/cuda/kernels, what stands there, what the mutant has
MUTANTS = [
    ("a unit is of the move before it", "pack.cu", "moves[middle].first <= unit",
     "moves[middle].first < unit"),
    ("units count from the first move", "pack.cu", "u - m.first", "u"),
    ("the last unit has no end", "pack.cu",
     "if (e < end)\n            copy_element(", "copy_element("),
    ("rows of the target are as far apart as those of the source", "pack.cu",
     "(T *)(to + r * m.to_stride) + c", "(T *)(to + r * m.from_stride) + c"),
    ("all elements are counted in 32 bits", "pack.cu",
     "m.rows * m.columns < (u64)1 << 31", "true"),
    ("the table rounds units down", "pack.c",
     "elements / CZR_PACK_CHUNK + (elements % CZR_PACK_CHUNK > 0)",
     "elements / CZR_PACK_CHUNK"),
    ("elements are wider than strides allow", "pack.c",
     "n_rows > 1 ? from.stride | to.stride : 0", "0"),
    ("elements are wider than addresses allow", "pack.c",
     "row_bytes | from.address | to.address | strides",
     "row_bytes | from.address | strides"),
]
FEW = ("units count from the first move", "the table rounds units down")


# In what a test says of itself, or the model of it.
ENDS = (":",)


def build(cxx, source, folder):
    table = f"{source}/runtime/cuda/collect/pack.c"
    if pathlib.Path(f"{folder}/pack.c").exists():
        table = f"{folder}/pack.c"
    subprocess.run(["cc", "-O1", "-w", f"-I{source}", "-c", table, "-o",
                    f"{folder}/pack.o"], check=True)
    subprocess.run([cxx, "-std=c++17", "-O1", "-w", "-Wno-psabi", f"-I{folder}",
                    f"-I{source}", f"-I{source}/runtime/cuda/kernels",
                    f"{source}/tests/gpu/kernels/pack_test.cpp", f"{folder}/pack.o",
                    "-o", f"{folder}/test"], check=True)
    return f"{folder}/test", "100"


def try_all(mutants, few, build_test):
    """Exit status of a program with the arguments above: 0 where all are noticed.
    build_test(CXX, SOURCE_FOLDER, FOLDER) takes files of FOLDER before others; it
    gives the test's command."""
    cxx, source = plant.arguments()[:2]

    def is_noticed(mutant):
        name, file, old, new = mutant
        where = "kernels" if file.endswith(("cu", "cuh")) else "collect"
        with tempfile.TemporaryDirectory() as folder:
            plant.change_file(f"{source}/runtime/cuda/{where}/{file}",
                              f"{folder}/{file}", name, old, new, is_once=False)
            status, words = plant.run(build_test(cxx, source, folder), 120, ENDS)
        return status in (1, 2), words

    return not plant.all_noticed(mutants, few, is_noticed)


if __name__ == "__main__":
    sys.exit(try_all(MUTANTS, FEW, build))
