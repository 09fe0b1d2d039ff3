#!/usr/bin/python3
"""Plants bugs in the kernels of collect_*.cu, one at a time: each must be noticed by
the tests/cuda/collect_*_test.cpp of its file.

collect_mutants.py CXX SOURCE_FOLDER LIBRARY [--few]
The library is the runtime's, without CUDA."""
import os
import subprocess
import sys

from pack_mutants import try_all

LIBRARY = sys.argv[3]

# name, file of runtime/cuda, what stands there, what the mutant has
SUM, STEP, MEMORY = "collect_sum.cu", "collect_step.cu", "collect_memory.cu"
MUTANTS = [
    ("the first leaf of each member begins anew", SUM,
     "m == 0 && leaf == 0", "leaf == 0"),
    ("the first values are added to what was there", SUM,
     "is_first ? float_at(w.v[k])", "false ? float_at(w.v[k])"),
    ("leaves lie behind each other without their stride", SUM,
     "leaf * s.leaf_stride", "leaf * s.n"),
    ("the slice's first element is forgotten", SUM, " + s.first + e", " + e"),
    ("sums are not scaled", SUM, "sum[k] * scale", "sum[k]"),
    ("a negative number is no large one", SUM, "& 0x7fffffffu);\n            most",
     "& 0xffffffffu);\n            most"),
    ("elements past the last are among the largest", SUM,
     "        if (k < left) {\n            w.v[k] = sum", "        {\n            w.v[k] = sum"),
    ("a block's largest begins as that of the one before", SUM,
     "        most = 0;\n", "        ;\n"),
    ("a block's largest is read too soon", SUM,
     "        atomic_raise(&most, mine);\n    __syncthreads();",
     "        atomic_raise(&most, mine);"),
    ("the largest is replaced", SUM, "atomic_raise(reach(largest), most)",
     "*reach(largest) = most"),
    ("members are added in turn", SUM, "const bool is_set = m >> l & 1;",
     "const bool is_set = l == 0 && m;"),
    ("a tree is left out", SUM, "S::keep(sums.rows[l][k] + sum[k])",
     "(l > 2 ? sum[k] : S::keep(sums.rows[l][k] + sum[k]))"),
    ("the last neighbour is left out", SUM,
     "        for (int k = 0; k < V; k++)\n            if (is_set &&",
     "        for (int k = 0; k < V - (V > 1); k++)\n            if (is_set &&"),
    ("neighbours past the last are written", SUM,
     "if (left == V && are_aligned(p))", "if (are_aligned(p))"),
    ("neighbours are written at once wherever they lie", SUM,
     "if (left == V && are_aligned(p))", "if (left == V)"),
    ("neighbours are read at once wherever they lie", SUM,
     "read_wide<V>(p, left, are_aligned(p));\n#pragma",
     "read_wide<V>(p, left, true);\n#pragma"),
    ("many members are taken for few", SUM, "if (t.n >> FEW_LEVELS)",
     "if (t.n >> LEVELS)"),
    ("sums of bf16 are rounded once where each should be", SUM,
     "return czr_bf16_to_f32(czr_f32_to_bf16(x));", "return x;"),
    ("sums of bf16 are cut", SUM, "return czr_f32_to_bf16(x);\n    }\n};",
     "return (u16)(bits_of(x) >> 16);\n    }\n};"),
    ("one member less gets sums", SUM, "m < to_end; m++)\n        write_some",
     "m + 1 < to_end; m++)\n        write_some"),
    ("all get all parts", SUM, "s.n, thread, threads}, own, own + 1",
     "s.n, thread, threads}, t.to, t.to_end"),
    ("parts begin with the first member's", SUM, "{own * s.n, s.n,",
     "{(own - t.to) * s.n, s.n,"),
    ("sums come though the step is skipped", SUM,
     "if (is_skipped(reach(skip)))\n        return;\n    if (type == SUM_F64)\n"
     "        sum_slice", "if (type == SUM_F64)\n        sum_slice"),
    ("a band is one block too wide", SUM, "(blocks / 2 + 1) * block",
     "(blocks / 2 + (blocks > 2 ? 2 : 1)) * block"),
    ("a band does not go on at the row's first element", SUM,
     "r.row + (k - r.head)", "r.first + k % (r.head ? r.head : 1)"),
    ("a band's sums end with the row", SUM, "second < 2; second++",
     "second < 1; second++"),
    ("rows of a band begin with the first member's", SUM,
     "t.to * rows + blockIdx.x", "blockIdx.x"),
    ("a gathered band leaves a member out", SUM, "if (m != own)",
     "if (m != own && m + 1 != own)"),
    ("a band's edge is mirrored", SUM, "% blocks > blocks / 2",
     "% blocks >= blocks / 2"),
    ("the triangle below is the mirror image", SUM, "return column > row;",
     "return column < row;"),
    ("a tile is read before all of it is there", SUM,
     "column + y) * b.side + row + x];\n    __syncthreads();",
     "column + y) * b.side + row + x];"),
    ("rows past the last are mirrored", SUM,
     "if (row + y < side && column + x < side &&", "if (column + x < side &&"),

    ("a unit is of the span before it", STEP, "spans[middle].first <= unit",
     "spans[middle].first < unit"),
    ("units count from the first span", STEP, "(unit - s.first) * SPAN_UNIT",
     "unit * SPAN_UNIT"),
    ("elements past the last are used", STEP,
     "            if (i < left)\n                use(w.v[i]);",
     "                use(w.v[i]);"),
    ("the last part of a unit is left out", STEP, "if (first + k >= s.n)",
     "if (first + k + NEIGHBOURS > s.n)"),
    ("subnormal numbers have the hidden bit", STEP,
     "fraction | (marked ? 1u << FRACTION_BITS : 0u)",
     "fraction | 1u << FRACTION_BITS"),
    ("subnormal numbers lie one exponent lower", STEP,
     "marked ? marked : 1;", "marked;"),
    ("what is outside the window is added to another exponent", STEP,
     "        put_digits(sum, words);\n        const u32 below",
     "        const u32 below"),
    ("the window begins anew with what was there", STEP,
     "sum = {0, 0, exponent > below", "sum = {sum.low, 0, exponent > below"),
    ("the window is wider than its bits", STEP, "WINDOW = 24", "WINDOW = 60"),
    ("carries between the halves are lost", STEP, " + (sum.low < low)", ""),
    ("a square's upper bits are lost", STEP, "(square >> 1 >> (63 - shift))",
     "0ull"),
    ("digits are one too low", STEP, "sum.base + LOWEST_BIT,",
     "sum.base + LOWEST_BIT - 1,"),
    ("the upper half of a word is lost", STEP, "if (before + x < before)",
     "if (false)"),
    ("infinities count as NaNs", STEP, "fraction ? NORM_NANS : NORM_INFINITIES",
     "NORM_NANS"),
    ("words of the block before count again", STEP,
     "words[threadIdx.x][0] = words[threadIdx.x][1] = 0;", ";"),
    ("words are read while they are carried", STEP,
     "(u32)(top >> 32);\n    }\n    __syncthreads();",
     "(u32)(top >> 32);\n    }"),
    ("a block's carries are lost", STEP, "carried = (low >> 32) + words[d][1]",
     "carried = words[d][1]"),
    ("words replace those of other blocks", STEP,
     "atomic_add(to + threadIdx.x, word)", "to[threadIdx.x] = word"),
    ("NaNs are left out of the norm", STEP, "threadIdx.x >= NORM_FAULTS",
     "threadIdx.x >= NORM_NANS"),

    ("what is at its limit passes", STEP, ">= s.limit", "> s.limit"),
    ("negative numbers pass", STEP, "(bits_of(x) & 0x7fffffffu) >= s.limit",
     "bits_of(x) >= s.limit"),
    ("the last parameter is named", STEP,
     "atomic_lower(&reach(v)->beyond, s.param)",
     "reach(v)->beyond = s.param"),
    ("spans are read without need", STEP,
     "    if (!reach(v)->counts[MAY_BE_BEYOND])\n        return;\n", ""),
    ("the largest may not be at the limit", STEP, "->largest >= limit",
     "->largest > limit"),
    ("faults are forgotten with the step", STEP,
     "v->norm[NORM_FAULTS] = v->counts[FAULTY] = v->status != 0;", ""),
    ("a step begins with the largest of the last", STEP, "    v->largest = 0;\n",
     ""),

    ("ranks' carries are lost", STEP, "carried = sum >> 32;", "carried = 0;"),
    ("the sum of squares is cut", STEP, "(double)(high | (rest != 0))",
     "(double)(high >> 11 << 11)"),
    ("what follows the leading bits does not round", STEP,
     "        rest |= (u64)digits[d];", "        ;"),
    ("bits behind the leading ones are lost", STEP,
     "high << 1 | (rest >> 31 & 1)", "high << 1"),
    ("an infinite gradient hides a NaN", STEP,
     "    if (words[NORM_NANS])\n        return NAN;\n", ""),
    ("the coefficient is above 1", STEP, "least > 1 ? 1 : least", "least"),
    ("a NaN is no coefficient", STEP, "least > 1 ? 1 : least",
     "least < 1 ? least : 1"),
    ("a fault of another rank is not seen", STEP,
     "v.counts[FAULTY] || v.norm[NORM_FAULTS]", "v.counts[FAULTY]"),
    ("gradients beyond are applied", STEP,
     "    if (v.counts[BEYOND])\n        return GRADIENT;\n", ""),
    ("skipped steps count", STEP, "v.steps += reason == APPLIED", "v.steps++"),
    ("decisions are not counted", STEP, "    v.sequence++;\n", ""),

    ("any row that failed is named", STEP,
     "first = firsts[i] < first ? firsts[i] : first", "first = firsts[i]"),
    ("rows stay failed", STEP, "status && i < n; i += THREADS", "false;"),
    ("a later failure is named", STEP, "if (status && !v->status)",
     "if (status)"),
    ("a rank's fault is all ranks'", STEP, "k == rank && status", "status"),
    ("the last rank speaks", STEP,
     "while (rank < n_ranks && !reach(faults)[rank])\n        rank++;",
     "for (int k = 0; k < n_ranks; k++)\n        "
     "rank = reach(faults)[k] || !k ? k : rank;\n"
     "    rank = reach(faults)[rank] ? rank : n_ranks;"),
    ("an undone update counts", STEP, "(double)--v.steps", "(double)v.steps"),
    ("an undone update is a fault of the next", STEP,
     "        v.status = 0;\n", ""),
    ("what is undone is told as applied", STEP, "reason = UNDONE;", ";"),

    ("the last run-time value is left out", MEMORY, "(int)threadIdx.x < n",
     "(int)threadIdx.x + 1 < n"),
    ("a diagonal is a row", MEMORY, "to[i * stride] = value", "to[i] = value"),
    ("elements past the last are filled", MEMORY, "left_of<V>(n - i)", "V"),
    ("doubles become bf16 by cutting", MEMORY, "czr_f32_to_bf16((float)x)",
     "(u16)(bits_of((float)x) >> 16)"),
    ("masters are made though the step is skipped", MEMORY,
     "    if (is_skipped(reach(skip)))\n        return;\n"
     "    for (u64 i = thread_in_grid(); i < n; i += threads_in_grid())\n"
     "        store_number",
     "    for (u64 i = thread_in_grid(); i < n; i += threads_in_grid())\n"
     "        store_number"),
    ("numbers of four bytes are copied by two", MEMORY,
     "    else if (bytes == 4)\n        copy(",
     "    else if (bytes == 4)\n        copy(reach((u16 *)to), "
     "reach((const u16 *)from), n);\n    else if (bytes == 16)\n        copy("),
]
FEW = ("members are added in turn", "carries between the halves are lost",
       "what follows the leading bits does not round",
       "doubles become bf16 by cutting")


def build_and_run(cxx, source, folder):
    part = next(f for f in os.listdir(folder) if f.endswith(".cu"))[8:-3]
    subprocess.run([cxx, "-std=c++17", "-O1", "-w", "-Wno-psabi",
                    "-ffp-contract=off", f"-I{folder}", f"-I{source}",
                    f"-I{source}/runtime", f"-I{source}/runtime/cuda",
                    f"{source}/tests/cuda/collect_{part}_test.cpp", LIBRARY,
                    "-lpthread", "-ldl", "-lm", "-o", f"{folder}/test"], check=True)
    run = subprocess.run([f"{folder}/test", "150"], stdout=subprocess.DEVNULL,
                         stderr=subprocess.PIPE, timeout=120, text=True)
    return run.returncode, run.stderr.strip().split("\n")[-1]


if __name__ == "__main__":
    sys.exit(try_all(MUTANTS, FEW, build_and_run))
