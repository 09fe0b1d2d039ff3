#!/usr/bin/python3
"""Plants bugs in kernel bodies, one at a time, and runs them on the model of
the device: each must be noticed by its result or by the model, and the bodies
as they are must pass (--few leaves that to other tests).  --only takes the bugs
of one test's body.

mutants.py CXX SOURCE_FOLDER [--few] [--only TEST]"""
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

import plant

SM90 = ("product_sm90_test.cpp", "-DBM=128", "-DBN=128", "-DSTAGES=3",
        "-DBUFFERS=2")
WIDE = ("product_sm90_test.cpp", "-DBM=192", "-DBN=192", "-DSTAGES=3",
        "-DBUFFERS=1")
SM80 = ("product_sm80_test.cpp",)
PLAIN = ("product_plain_test.cpp", "-DLEVELS=0")
IN_PARTS = ("product_plain_test.cpp", "-DLEVELS=3")
SYMMETRIC = ("-DSYMMETRIC=1", "-DM_MAJOR=0", "-DN_MAJOR=0")
GENERAL = ("-DSYMMETRIC=0", "-DM_MAJOR=0", "-DN_MAJOR=1")
TURNED = ("-DSYMMETRIC=1", "-DM_MAJOR=1", "-DN_MAJOR=1")

# test and specialisation, file; name, what stands there, what the mutant has
OF = [
    (SM90 + SYMMETRIC, "product_sm90.cu", [
        ("below the diagonal nothing is mirrored",
         "is_diagonal = SYMMETRIC && r0 == c0", "is_diagonal = false"),
        ("products begin before their stage is there",
         "mbarrier_wait(p.full + 8 * ring_slot(r), ring_parity(r));", ""),
        ("a stage is given back while it is read",
         "give_back(p, {r.n - 1});\n    }", "give_back(p, r);\n    }"),
        ("shared memory reaches TMA unfenced", "    proxy_fence();\n", ""),
        ("the producer does not wait for empty stages",
         "mbarrier_wait(p.empty + 8 * ring_slot(r), ring_parity(r) ^ 1);", ";"),
        ("parity of empty stages", "ring_parity(r) ^ 1", "ring_parity(r)"),
        ("too many bytes are promised", "mbarrier_expect(full, STAGE_BYTES)",
         "mbarrier_expect(full, STAGE_BYTES + 128)"),
        ("too few arrivals end a phase",
         "p.empty + 8 * i, CONSUMERS * 4", "p.empty + 8 * i, CONSUMERS"),
        ("each step begins its sums anew", "k | kk)", "kk)"),
        ("accumulators are read under way", "wgmma_wait<0>();", "wgmma_wait<1>();"),
        ("staging is written while it is stored",
         "        tma_store_wait_read<BUFFERS - 1>();\n", "        ;\n"),
        ("one store too many is left under way",
         "tma_store_wait_read<BUFFERS - 1>", "tma_store_wait_read<BUFFERS>"),
        ("s is read before it is there",
         "mbarrier_wait(p.full + 8 * ring_slot(at), ring_parity(at));", ""),
        ("s is waited for with the parity of the products",
         "ring_slot(at), ring_parity(at))", "ring_slot(at), ring_parity({r.n - 1}))"),
        ("stages of s are given back before they are read",
         "    __syncwarp();\n    for (int stage", "    for (int stage"),
        ("s is loaded into stages that are in use",
         "int n = 0;\n\n    wait_empty(p, r);", "int n = 0;\n\n"),
        ("blocks of s that nobody loads are promised",
         "mbarrier_expect(full, n * BLOCK_BYTES)",
         "mbarrier_expect(full, STAGE_BYTES)"),
        ("blocks of s change places",
         "const int id = b * CONSUMERS + wg;", "const int id = wg * (BN / 64) + b;"),
        ("staging is stored while it is written",
         "proxy_fence();\n    named_barrier(1 + wg, WARPGROUP);", "proxy_fence();"),
        ("the mirror image is not transposed", "stmatrix4_transposed(", "stmatrix4("),
        ("the mirror image is stored at its original's place",
         "tma_store(c, mirror, r0, c0, z)", "tma_store(c, mirror, c0, r0, z)"),
        ("diagonal 8x8 blocks stay as computed",
         "const u32 t = movmatrix(v[q]);", "const u32 t = v[q];"),
        ("swizzle of staging", "(chunk ^ (row & 7))", "(chunk ^ (row & 3))"),
        ("groups of rows lie elsewhere",
         "(u64)(1024 >> 4) << 32", "(u64)(512 >> 4) << 32"),
        ("the last stores are not waited for",
         "        tma_store_wait();\n", "        ;\n"),
        ("TMA does not know of barriers",
         "        mbarrier_init_fence();\n", "        ;\n"),
        ("a part is left out", "part < parts; part++", "part + 1 < parts; part++"),
        ("s is added to each part", " && (!w.sums || list.is_end)", ""),
        ("a part ends the tile", "if (w.sums && !list.is_end)", "if (false)")]),
    (SM90 + GENERAL, "product_sm90.cu", [
        ("all blocks are staged in the first buffer",
         "n_stored++ % BUFFERS * BUFFER_BYTES", "0"),
        ("rows and columns of s change places",
         "s, full, c0, r0, t.z", "s, full, r0, c0, t.z"),
        ("panels of the second operand lie elsewhere",
         "N_MAJOR ? BLOCK_BYTES : 16", "N_MAJOR ? BLOCK_BYTES / 2 : 16"),
        ("columns and k of the second operand change places",
         "full, col, k * BK, t.z", "full, k * BK, col, t.z"),
        ("consumers share sums of a part", "sums + wg * 64 * BN", "sums")]),
    (WIDE + SYMMETRIC, "product_sm90.cu", [
        ("one buffer is as two",
         "tma_store_wait_read<BUFFERS - 1>", "tma_store_wait_read<1>"),
        ("the second stage of s is never read",
         "const ring at = {r.n + id / STAGE_BLOCKS};", "const ring at = {r.n};"),
        ("consumers take registers that nobody gave",
         "{128, 32, 160}", "{136, 40, 168}")]),
    (SM90 + TURNED, "product_sm90.cu", [
        ("rows and k of the first operand change places",
         "full, t.i * BM + row, k * BK,", "full, k * BK, t.i * BM + row,"),
        ("k of the first operand is as long as its rows",
         "a + kk * (M_MAJOR ? 128 : 2)", "a + kk * 2")]),
    (SM80 + TURNED, "product_sm80.cu", [
        ("halves of k of the first operand change places",
         "kk * 16 + (lane >> 4) * 8", "kk * 16 + (lane >> 3 & 1) * 8")]),
    (SM80 + SYMMETRIC, "product.cuh", [
        ("parts of a tile share sums",
         "(u64)at * w.splits + part", "(u64)at * w.splits")]),
    (SM80 + GENERAL, "product.cuh", [
        ("parts overlap by a step", "(int)((u64)n_steps * part / w.splits)",
         "(int)((u64)n_steps * part / w.splits) - (part > 0)"),
        ("ends are of the first tiles",
         "tile_at(w.tiles, w.n_full + n)", "tile_at(w.tiles, n)")]),
    (SM80 + SYMMETRIC, "product_sm80.cu", [
        ("sums of the tile before are kept",
         "    for (int s = w.first; s < w.end; s++) {",
         "    for (int s = 0; s < w.end; s++) {"),
        ("s has another stride", "row * s.stride + col", "row * cols + col"),
        ("matrices of a batch share one s", "z * s.batch + ", ""),
        ("a stage is read before all threads have it",
         "cp_async_wait<STAGES - 2>();\n        __syncthreads();",
         "cp_async_wait<STAGES - 2>();"),
        ("one copy too few is waited for",
         "cp_async_wait<STAGES - 2>();", "cp_async_wait<STAGES - 1>();"),
        ("rows past the last are read",
         "row + r < rows ? bytes_before(k + chunk * 8, k_size) : 0",
         "bytes_before(k + chunk * 8, k_size)"),
        ("k past the last is read", "size - at >= 8 ? 16 : 2 * (size - at)", "16"),
        ("c is written past its columns", "if (col + 8 <= cols) {", "if (true) {"),
        ("the diagonal tile keeps both halves",
         "if (SYMMETRIC && i0 == j0)", "if (false)"),
        ("the next tile is loaded over this one's output",
         "store_cols(c, shared, i0, j0, t.z, rows, cols);\n        __syncthreads();",
         "store_cols(c, shared, i0, j0, t.z, rows, cols);")]),
    (SM80 + GENERAL, "product_sm80.cu", [
        ("half a fragment is taken twice", "kk * 16 + half * 8", "kk * 16")]),
    (PLAIN, "product_plain.cu", [
        ("a tile is read before all of it is there",
         "depth, end);\n        __syncthreads();", "depth, end);"),
        ("a tile is loaded while it is read",
         "y[d][j0 + j];\n        __syncthreads();", "y[d][j0 + j];"),
        ("rows past the last are read",
         "row + r < x.rows && depth + d < end", "depth + d < end"),
        ("a transposed operand is as the other",
         "p.transpose_b ? p.k : 1", "p.transpose_a ? p.k : 1"),
        ("the result is written past its columns", "column >= p.n ||", ""),
        ("the upper half of a diagonal tile has its own sums",
         "|| (p.symmetric && column > row))", ")"),
        ("tiles are not mirrored", "if (p.symmetric && column < row)", "if (false)"),
        ("what is added is scaled with the product",
         "x += p.beta *", "x += p.alpha * p.beta *"),
        ("a skipped step writes", "if (skip && *skip)", "if (false)")]),
    (IN_PARTS, "product_plain.cu", [
        ("k past the last is read",
         "row + r < x.rows && depth + d < end", "row + r < x.rows"),
        ("parts are added from the right", "part >> level & 1", "level == 0 && part"),
        ("sums of parts are not rounded",
         "add_sums(c, waiting[level]);\n            round_sums(c, narrow);",
         "add_sums(c, waiting[level]);"),
        ("parts themselves are not rounded", "round_sums(c, p.narrow);", "")]),
]
MUTANTS = [(name, test, file, old, new) for test, file, bugs in OF
           for name, old, new in bugs]
C_FILES = ("passes/gpu/tile_order.c", "runtime/math/library_lapack.c",
           "runtime/math/library_dnnl.c",
           "runtime/math/product.c", "runtime/math/product_strips.c",
           "runtime/math/product_finish.c", "runtime/cuda/products/plain.c")
FEW = ("below the diagonal nothing is mirrored",
       "shared memory reaches TMA unfenced",
       "consumers take registers that nobody gave",
       "a tile is read before all of it is there")


def build(cxx, source, folder, out, objects, flags):
    """One test program; files in `folder` come before the bodies."""
    test, *defines = flags
    subprocess.run(
        [cxx, "-std=c++17", "-O1", "-w", "-Wno-psabi", f"-I{folder}",
         f"-I{source}", f"-I{source}/tests/gpu",
         f"-I{source}/runtime/cuda/kernels", *defines,
         f"{source}/tests/gpu/kernels/{test}",
         *objects, "-ldl", "-pthread", "-o", out], check=True)


def compile_c(source, folder, name):
    """What tests need of the compiler and of the runtime."""
    out = f"{folder}/{os.path.basename(name)}.o"
    subprocess.run(["cc", "-O1", "-w", f"-I{source}", "-c", "-o", out,
                    f"{source}/{name}"], check=True)
    return out


def status_of(program):
    """Exit status with ten seeds, and what is said."""
    run = subprocess.run([program, "10"], stdout=subprocess.DEVNULL,
                         stderr=subprocess.PIPE, timeout=120, text=True)
    words = run.stderr.strip().split("\n")[-1]
    return run.returncode, words or f"status {run.returncode}"


def main():
    cxx, source = plant.arguments()[:2]
    mutants = MUTANTS
    plant.check_places(f"{source}/runtime/cuda/kernels", mutants, is_once=False)
    if "--only" in sys.argv:
        test = sys.argv[sys.argv.index("--only") + 1]
        mutants = [m for m in MUTANTS if m[1][0].startswith(test)]
    with tempfile.TemporaryDirectory() as folder:
        objects = [compile_c(source, folder, name) for name in C_FILES]
        for flags in sorted({m[1] for m in mutants} if "--few" not in sys.argv else ()):
            build(cxx, source, folder, f"{folder}/sound", objects, flags)
            status, words = status_of(f"{folder}/sound")
            if status:
                sys.exit(f"{flags}: the body as it is fails: {words}")

        def is_noticed(mutant):
            name, flags, file, old, new = mutant
            path = pathlib.Path(folder, file)
            plant.change_file(f"{source}/runtime/cuda/kernels/{file}", path, name, old,
                              new, is_once=False)
            # What a static assertion would say is left to the model.
            path.write_text(path.read_text().replace(
                "static_assert(SPLIT", "static_assert(true || SPLIT"))
            build(cxx, source, folder, f"{folder}/mutant", objects, flags)
            status, words = status_of(f"{folder}/mutant")
            path.unlink()
            # Or an index that nobody set ends it.
            return status in (1, 2, -signal.SIGSEGV), words

        return not plant.all_noticed(mutants, FEW, is_noticed)


if __name__ == "__main__":
    sys.exit(main())
