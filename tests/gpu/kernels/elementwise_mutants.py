#!/usr/bin/python3
"""Plants bugs in generated kernels and in what they are written in, one at a
time: each must be noticed beside the loops of C, or by the model of the device.

elementwise_mutants.py CANZONA CXX [--few]"""
import pathlib
import subprocess
import sys
import tempfile

import elementwise
import plant

FORMS, PARTS = elementwise.PROGRAMS[-2:]
HEADER = "elementwise.cuh"
# name, program, file (None: the generated one), what stands there, the mutant
MUTANTS = [
    ("warps' sums are read before all are there", FORMS, HEADER,
     "sums[threadIdx.x / WARP] = x;\n    __syncthreads();",
     "sums[threadIdx.x / WARP] = x;"),
    ("warps' sums are overwritten while they are read", FORMS, HEADER,
     "x += sums[w];\n    __syncthreads();", "x += sums[w];"),
    ("half a warp is added up", FORMS, HEADER, "mask = WARP / 2;",
     "mask = WARP / 4;"),
    ("a tail is read as a whole", FORMS, HEADER,
     "if (is_wide && left == V) {\n#pragma unroll\n        for (int q = 0; q < "
     "QUADS; q++)\n            w.",
     "if (is_wide) {\n#pragma unroll\n        for (int q = 0; q < QUADS; q++)\n"
     "            w."),
    ("a tail is written as a whole", FORMS, HEADER,
     "if (is_wide && left == V) {\n#pragma unroll\n        for (int q = 0; q < "
     "QUADS; q++)\n            store",
     "if (is_wide) {\n#pragma unroll\n        for (int q = 0; q < QUADS; q++)\n"
     "            store"),
    ("arrays are taken for aligned", FORMS, HEADER, "(u64)p % 16 == 0 && ", ""),
    ("16 bytes are half as far apart", FORMS, HEADER, "A_QUAD = 16 / sizeof(T)",
     "A_QUAD = 8 / sizeof(T)"),
    ("an entry is the one behind", FORMS, HEADER, "if (block < t.ends[middle])",
     "if (block + 1 < t.ends[middle])"),
    ("an entry begins where the first does", FORMS, HEADER,
     "number ? t.ends[number - 1] : 0", "0"),
    ("what is behind an entry's end is another's", FORMS, None,
     "if (at >= n)", "if (at > n + 8)"),
    ("entries behind the grid are left out", FORMS, None,
     "block < blocks_of(entries); block += gridDim.x",
     "block < gridDim.x; block += gridDim.x"),
    ("chunks overlap", FORMS, None, "start = c * CHUNK;",
     "start = c * (CHUNK - 8);"),
    ("a chunk has no end", FORMS, HEADER,
     "length - start < CHUNK ? length : start + CHUNK", "length"),
    ("all parts of rows are the first", PARTS, HEADER,
     " + part * width + e % width", " + e % width"),
    ("rows are left out", FORMS, HEADER, "(u64)gridDim.x * WARPS,",
     "(u64)gridDim.x * WARPS * 2,"),
    ("strips overlap", FORMS, HEADER, "s.row + STRIP_ROWS < s.rows ? s.row + "
     "STRIP_ROWS", "s.row + STRIP_ROWS < s.rows ? s.row + STRIP_ROWS + 1"),
    ("the largest loses a NaN", FORMS, HEADER, "b > a || b != b ? b : a",
     "b > a ? b : a"),
    ("NaN is rounded to infinity or to another NaN", FORMS, HEADER,
     "return f == f ? (czr_bf16)pack_bf16(f, 0.f)\n                  : "
     "(czr_bf16)(bits_of(f) >> 16 | 0x40u);", "return pack_bf16(f, 0.f);"),
    ("f16 loses a NaN's bits", FORMS, HEADER, "(bits >> 13 & 0x3ffu)", "0"),
    ("random numbers are others", FORMS, HEADER, "y >> 28", "y >> 27"),
    ("the sum of a part is all parts'", PARTS, HEADER,
     "sum += of.partial[part * of.length + i]", "sum += of.partial[i]"),
    ("columns past the last are added up", FORMS, None,
     "        if (j >= columns)\n            continue;\n", ""),
    ("what is transposed is not", FORMS, None, "t1[x][y]", "t1[y][x]"),
    ("a square is read before it is there", FORMS, None,
     "rows, columns);\n        __syncthreads();", "rows, columns);"),
    ("a square is overwritten while it is read", FORMS, None,
     "t1[x][y]);\n        }\n        __syncthreads();", "t1[x][y]);\n        }"),
    ("squares begin in other columns", FORMS, HEADER,
     "block % across * SIDE, block", "block % across * (SIDE - 1), block"),
    ("rows of any length are taken for aligned", FORMS, None,
     "columns % 8 == 0 && ", ""),
    ("columns' numbers stand still", FORMS, None, "const u64 j = e + k;",
     "const u64 j = e;"),
    ("neighbours past the last are added up", FORMS, None,
     "if (k >= left)\n                    continue;", ";"),
    ("a result stays in registers", FORMS, None,
     "write_wide(y1 + at, wy1, left, is_wide);", ";"),
    ("what is not finite is not told", FORMS, None, "keep_first(entry.status, failure);", ";"),
    ("all is told to be wild", FORMS, HEADER, "return bits_of(x - x);",
     "return bits_of(x);"),
    ("a partial sum of each row is the first's", PARTS, None,
     "partial1 + part * rows + i", "partial1 + part * rows"),
]
# Of either program.
FEW = (("warps' sums are read before all are there", "a tail is written as a whole",
        "neighbours past the last are added up"),
       ("all parts of rows are the first",))


def is_noticed(cxx, name, found, folder):
    """Whether the test of a changed text fails, and what it says."""
    test = elementwise.compile_test(cxx, name, found, folder, folder / "first")
    run = subprocess.run([test, "60", "1"], stdout=subprocess.DEVNULL,
                         stderr=subprocess.PIPE, timeout=120, text=True)
    return run.returncode in (1, 2), run.stderr.strip().split("\n")[-1]


def try_mutant(cxx, stem, found, folder, mutant):
    name, _, file, old, new = mutant
    header = folder / "first" / HEADER
    cuda = folder / f"{stem}.cu"
    sound = cuda.read_text()
    text = (elementwise.ROOT / "runtime/cuda/kernels" / HEADER).read_text()
    header.write_text(plant.change(text, name, old, new, False) if file else text)
    cuda.write_text(sound if file else plant.change(sound, name, old, new, False))
    result = is_noticed(cxx, stem, found, folder)
    cuda.write_text(sound)
    return result


def main():
    canzona, cxx = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2]
    are_noticed = []
    for program in (FORMS, PARTS):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "first").mkdir()
            stem, found = elementwise.build(canzona, program[0], program[1], folder)
            are_noticed.append(plant.all_noticed(
                [m for m in MUTANTS if m[1] is program], FEW[program is PARTS],
                lambda m: try_mutant(cxx, stem, found, folder, m)))
    return not all(are_noticed)


if __name__ == "__main__":
    sys.exit(main())
