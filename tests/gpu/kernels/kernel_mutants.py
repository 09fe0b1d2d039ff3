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

# name, test and specialisation, file, what stands there, what the mutant has
MUTANTS = [
    ("below the diagonal nothing is mirrored", SM90 + SYMMETRIC,
     "product_sm90.cu", "is_diagonal = SYMMETRIC && r0 == c0",
     "is_diagonal = false"),
    ("products begin before their stage is there", SM90 + SYMMETRIC,
     "product_sm90.cu",
     "mbarrier_wait(p.full + 8 * ring_slot(r), ring_parity(r));", ""),
    ("a stage is given back while it is read", SM90 + SYMMETRIC,
     "product_sm90.cu", "give_back(p, {r.n - 1});\n    }",
     "give_back(p, r);\n    }"),
    ("shared memory reaches TMA unfenced", SM90 + SYMMETRIC,
     "product_sm90.cu", "    proxy_fence();\n", ""),
    ("the producer does not wait for empty stages", SM90 + SYMMETRIC,
     "product_sm90.cu", "mbarrier_wait(p.empty + 8 * ring_slot(r), ring_parity(r) ^ 1);", ";"),
    ("parity of empty stages", SM90 + SYMMETRIC, "product_sm90.cu",
     "ring_parity(r) ^ 1", "ring_parity(r)"),
    ("too many bytes are promised", SM90 + SYMMETRIC, "product_sm90.cu",
     "mbarrier_expect(full, STAGE_BYTES)",
     "mbarrier_expect(full, STAGE_BYTES + 128)"),
    ("too few arrivals end a phase", SM90 + SYMMETRIC, "product_sm90.cu",
     "p.empty + 8 * i, CONSUMERS * 4", "p.empty + 8 * i, CONSUMERS"),
    ("each step begins its sums anew", SM90 + SYMMETRIC,
     "product_sm90.cu", "k | kk)", "kk)"),
    ("accumulators are read under way", SM90 + SYMMETRIC, "product_sm90.cu",
     "wgmma_wait<0>();", "wgmma_wait<1>();"),
    ("staging is written while it is stored", SM90 + SYMMETRIC,
     "product_sm90.cu", "        tma_store_wait_read<BUFFERS - 1>();\n",
     "        ;\n"),
    ("one store too many is left under way", SM90 + SYMMETRIC,
     "product_sm90.cu", "tma_store_wait_read<BUFFERS - 1>",
     "tma_store_wait_read<BUFFERS>"),
    ("all blocks are staged in the first buffer", SM90 + GENERAL,
     "product_sm90.cu", "n_stored++ % BUFFERS * BUFFER_BYTES", "0"),
    ("one buffer is as two", WIDE + SYMMETRIC, "product_sm90.cu",
     "tma_store_wait_read<BUFFERS - 1>", "tma_store_wait_read<1>"),
    ("s is read before it is there", SM90 + SYMMETRIC, "product_sm90.cu",
     "mbarrier_wait(p.full + 8 * ring_slot(at), ring_parity(at));", ""),
    ("s is waited for with the parity of the products", SM90 + SYMMETRIC,
     "product_sm90.cu", "ring_slot(at), ring_parity(at))",
     "ring_slot(at), ring_parity({r.n - 1}))"),
    ("stages of s are given back before they are read", SM90 + SYMMETRIC,
     "product_sm90.cu", "    __syncwarp();\n    for (int stage", "    for (int stage"),
    ("s is loaded into stages that are in use", SM90 + SYMMETRIC,
     "product_sm90.cu", "int n = 0;\n\n    wait_empty(p, r);",
     "int n = 0;\n\n"),
    ("blocks of s that nobody loads are promised", SM90 + SYMMETRIC,
     "product_sm90.cu", "mbarrier_expect(full, n * BLOCK_BYTES)",
     "mbarrier_expect(full, STAGE_BYTES)"),
    ("blocks of s change places", SM90 + SYMMETRIC, "product_sm90.cu",
     "const int id = b * CONSUMERS + wg;",
     "const int id = wg * (BN / 64) + b;"),
    ("the second stage of s is never read", WIDE + SYMMETRIC,
     "product_sm90.cu", "const ring at = {r.n + id / STAGE_BLOCKS};",
     "const ring at = {r.n};"),
    ("rows and columns of s change places", SM90 + GENERAL,
     "product_sm90.cu", "s, full, c0, r0, t.z", "s, full, r0, c0, t.z"),
    ("staging is stored while it is written", SM90 + SYMMETRIC,
     "product_sm90.cu",
     "proxy_fence();\n    named_barrier(1 + wg, WARPGROUP);", "proxy_fence();"),
    ("the mirror image is not transposed", SM90 + SYMMETRIC,
     "product_sm90.cu", "stmatrix4_transposed(", "stmatrix4("),
    ("the mirror image is stored at its original's place", SM90 + SYMMETRIC,
     "product_sm90.cu", "tma_store(c, mirror, r0, c0, z)",
     "tma_store(c, mirror, c0, r0, z)"),
    ("diagonal 8x8 blocks stay as computed", SM90 + SYMMETRIC,
     "product_sm90.cu", "const u32 t = movmatrix(v[q]);",
     "const u32 t = v[q];"),
    ("swizzle of staging", SM90 + SYMMETRIC, "product_sm90.cu",
     "(chunk ^ (row & 7))", "(chunk ^ (row & 3))"),
    ("groups of rows lie elsewhere", SM90 + SYMMETRIC, "product_sm90.cu",
     "(u64)(1024 >> 4) << 32", "(u64)(512 >> 4) << 32"),
    ("the last stores are not waited for", SM90 + SYMMETRIC,
     "product_sm90.cu", "        tma_store_wait();\n", "        ;\n"),
    ("consumers take registers that nobody gave", WIDE + SYMMETRIC,
     "product_sm90.cu", "{128, 32, 160}", "{136, 40, 168}"),
    ("panels of the second operand lie elsewhere", SM90 + GENERAL,
     "product_sm90.cu", "N_MAJOR ? BLOCK_BYTES : 16",
     "N_MAJOR ? BLOCK_BYTES / 2 : 16"),
    ("rows and k of the first operand change places", SM90 + TURNED,
     "product_sm90.cu", "full, t.i * BM + row, k * BK,", "full, k * BK, t.i * BM + row,"),
    ("k of the first operand is as long as its rows", SM90 + TURNED,
     "product_sm90.cu", "a + kk * (M_MAJOR ? 128 : 2)", "a + kk * 2"),
    ("halves of k of the first operand change places", SM80 + TURNED,
     "product_sm80.cu", "kk * 16 + (lane >> 4) * 8", "kk * 16 + (lane >> 3 & 1) * 8"),
    ("columns and k of the second operand change places", SM90 + GENERAL,
     "product_sm90.cu", "full, col, k * BK, t.z", "full, k * BK, col, t.z"),
    ("TMA does not know of barriers", SM90 + SYMMETRIC,
     "product_sm90.cu", "        mbarrier_init_fence();\n", "        ;\n"),
    ("a part is left out", SM90 + SYMMETRIC, "product_sm90.cu",
     "part < parts; part++", "part + 1 < parts; part++"),
    ("s is added to each part", SM90 + SYMMETRIC, "product_sm90.cu",
     " && (!w.sums || list.is_end)", ""),
    ("consumers share sums of a part", SM90 + GENERAL, "product_sm90.cu",
     "sums + wg * 64 * BN", "sums"),
    ("a part ends the tile", SM90 + SYMMETRIC, "product_sm90.cu",
     "if (w.sums && !list.is_end)", "if (false)"),
    ("parts of a tile share sums", SM80 + SYMMETRIC, "product.cuh",
     "(u64)at * w.splits + part", "(u64)at * w.splits"),
    ("parts overlap by a step", SM80 + GENERAL, "product.cuh",
     "(int)((u64)n_steps * part / w.splits)",
     "(int)((u64)n_steps * part / w.splits) - (part > 0)"),
    ("ends are of the first tiles", SM80 + GENERAL, "product.cuh",
     "tile_at(w.tiles, w.n_full + n)", "tile_at(w.tiles, n)"),
    ("sums of the tile before are kept", SM80 + SYMMETRIC, "product_sm80.cu",
     "    for (int s = w.first; s < w.end; s++) {",
     "    for (int s = 0; s < w.end; s++) {"),
    ("s has another stride", SM80 + SYMMETRIC, "product_sm80.cu",
     "row * s.stride + col", "row * cols + col"),
    ("delta misses odd places of the diagonal", SM80 + SYMMETRIC,
     "product.cuh", "if (row == col + 1)", "if (row == col + 2)"),
    ("matrices of a batch share one s", SM80 + SYMMETRIC,
     "product_sm80.cu", "z * s.batch + ", ""),
    ("a stage is read before all threads have it", SM80 + SYMMETRIC,
     "product_sm80.cu",
     "cp_async_wait<STAGES - 2>();\n        __syncthreads();",
     "cp_async_wait<STAGES - 2>();"),
    ("one copy too few is waited for", SM80 + SYMMETRIC, "product_sm80.cu",
     "cp_async_wait<STAGES - 2>();", "cp_async_wait<STAGES - 1>();"),
    ("rows past the last are read", SM80 + SYMMETRIC, "product_sm80.cu",
     "row + r < rows ? bytes_before(k + chunk * 8, k_size) : 0",
     "bytes_before(k + chunk * 8, k_size)"),
    ("k past the last is read", SM80 + SYMMETRIC, "product_sm80.cu",
     "size - at >= 8 ? 16 : 2 * (size - at)", "16"),
    ("c is written past its columns", SM80 + SYMMETRIC, "product_sm80.cu",
     "if (col + 8 <= cols) {", "if (true) {"),
    ("the diagonal tile keeps both halves", SM80 + SYMMETRIC,
     "product_sm80.cu", "if (SYMMETRIC && i0 == j0)", "if (false)"),
    ("half a fragment is taken twice", SM80 + GENERAL, "product_sm80.cu",
     "kk * 16 + half * 8", "kk * 16"),
    ("the next tile is loaded over this one's output", SM80 + SYMMETRIC,
     "product_sm80.cu",
     "store_cols(c, shared, i0, j0, t.z, rows, cols);\n        __syncthreads();",
     "store_cols(c, shared, i0, j0, t.z, rows, cols);"),
    ("a tile is read before all of it is there", PLAIN, "product_plain.cu",
     "depth, end);\n        __syncthreads();", "depth, end);"),
    ("a tile is loaded while it is read", PLAIN, "product_plain.cu",
     "y[d][j0 + j];\n        __syncthreads();", "y[d][j0 + j];"),
    ("rows past the last are read", PLAIN, "product_plain.cu",
     "row + r < x.rows && depth + d < end", "depth + d < end"),
    ("k past the last is read", IN_PARTS, "product_plain.cu",
     "row + r < x.rows && depth + d < end", "row + r < x.rows"),
    ("a transposed operand is as the other", PLAIN, "product_plain.cu",
     "p.transpose_b ? p.k : 1", "p.transpose_a ? p.k : 1"),
    ("the result is written past its columns", PLAIN, "product_plain.cu",
     "column >= p.n ||", ""),
    ("the upper half of a diagonal tile has its own sums", PLAIN,
     "product_plain.cu", "|| (p.symmetric && column > row))", ")"),
    ("tiles are not mirrored", PLAIN, "product_plain.cu",
     "if (p.symmetric && column < row)", "if (false)"),
    ("what is added is scaled with the product", PLAIN, "product_plain.cu",
     "x += p.beta *", "x += p.alpha * p.beta *"),
    ("a skipped step writes", PLAIN, "product_plain.cu",
     "if (skip && *skip)", "if (false)"),
    ("parts are added from the right", IN_PARTS, "product_plain.cu",
     "part >> level & 1", "level == 0 && part"),
    ("sums of parts are not rounded", IN_PARTS, "product_plain.cu",
     "add_sums(c, waiting[level]);\n            round_sums(c, narrow);",
     "add_sums(c, waiting[level]);"),
    ("parts themselves are not rounded", IN_PARTS, "product_plain.cu",
     "round_sums(c, p.narrow);", ""),
]
C_FILES = ("passes/gpu/tile_order.c", "runtime/math/library_lapack.c",
           "runtime/math/library_dnnl.c",
           "runtime/math/product.c", "runtime/math/product_strips.c",
           "runtime/math/product_finish.c", "runtime/cuda/products/plain.c")
FEW = ("below the diagonal nothing is mirrored",
       "shared memory reaches TMA unfenced",
       "consumers take registers that nobody gave",
       "a slot is given back to its own block alone",
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
