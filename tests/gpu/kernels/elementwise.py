#!/usr/bin/python3
"""Element-wise kernels of CUDA, on the model of the device, beside the loops of
generated C: of every optimizer of the library, and of what is strict and in parts.
Results are the same to the bit, sums within their bound.  What launches them compiles
without a warning.

    elementwise.py CANZONA CXX SHAPES SEED
    elementwise.py write OUT               a program of every optimizer

SHAPES is how many shapes each loop is run on.  Also, bugs planted in the kernels
are noticed (elementwise_mutants.py).
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile

import elementwise_text

ROOT = pathlib.Path(__file__).resolve().parents[3]
GOLDEN = ROOT / "tests" / "golden" / "cuda"
LEAST_LOOPS = 200
# Options of a build, and the source; None: the library's optimizers on dp x tp.
PROGRAMS = [([], None, (1, 1)), (["--strict"], None, (2, 2)),
            ([], ROOT / "tests/gpu/kernels/elements.cz", None),
            ([], GOLDEN / "forms.cz", None),
            (["--strict"], GOLDEN / "parts.cz", None)]


def every_optimizer(dp, tp):
    """All optimizers of the library on matrices of three shapes."""
    sys.path[:0] = [str(ROOT / "tests" / name)
                    for name in ("run", "numbers", "golden")]
    sys.argv[1:] = ["", ROOT / "dsl" / "std" / "opt", str(dp), str(tp)]
    import library_run
    return library_run.program(list(library_run.entries()))


def build(canzona, options, source, folder):
    """NAME and the loops of a program, built into the folder."""
    subprocess.run([canzona, "build", "--target=cpu,sm_80", *options, "-o", folder,
                    source], check=True)
    cuda = next(folder.glob("*.cu"))
    return cuda.stem, elementwise_text.loops(cuda.with_suffix(".c").read_text(),
                                             cuda.read_text())


def compile_launches(stem, folder):
    """NAME_cuda.c, by all C compilers that there are."""
    compilers = [c for c in ("gcc", "clang") if shutil.which(c)]
    for compiler in compilers or ["cc"]:
        subprocess.run([compiler, "-std=c11", "-Wall", "-Wextra", "-Wpedantic",
                        "-Werror", f"-I{folder}", f"-I{ROOT}/runtime", "-c",
                        folder / f"{stem}_cuda.c", "-o", folder / "launches.o"],
                       check=True)


def compile_test(cxx, name, found, folder, first="", **more):
    """The test program of these loops; files of `first` come before ours."""
    c, cpp = elementwise_text.sources(name, found, **more)
    (folder / "loops.c").write_text(c)
    (folder / "kernels.cpp").write_text(cpp)
    flags = ["-w", "-ffp-contract=off", *([f"-I{first}"] if first else []),
             f"-I{folder}", f"-I{ROOT}", f"-I{ROOT}/tests/gpu/kernels", f"-I{ROOT}/runtime/cuda/kernels",
             f"-I{ROOT}/runtime"]
    cc = subprocess.Popen(["cc", "-std=c17", "-O1", *flags, "-c",
                           folder / "loops.c", "-o", folder / "loops.o"])
    subprocess.run([cxx, "-std=c++17", "-O1", *flags, "-c",
                    folder / "kernels.cpp", "-o", folder / "kernels.o"],
                   check=True)
    if cc.wait():
        sys.exit("the loops of C do not compile")
    subprocess.run([cxx, folder / "kernels.o", folder / "loops.o", "-lm", "-o",
                    folder / "test"], check=True)
    return folder / "test"


def main():
    if sys.argv[1] == "write":
        pathlib.Path(sys.argv[2]).write_text(every_optimizer(1, 1), encoding="utf-8")
        return
    canzona, cxx, shapes, seed = (pathlib.Path(sys.argv[1]).resolve(),
                                  *sys.argv[2:])
    seen, n_loops = set(), 0
    for options, source, mesh in PROGRAMS:
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            if not source:
                source = folder / "library.cz"
                source.write_text(every_optimizer(*mesh), encoding="utf-8")
            stem, found = build(canzona, options, source, folder)
            compile_launches(stem, folder)
            new = [loop for loop in found if loop.text() not in seen]
            seen |= {loop.text() for loop in found}
            n_loops += len(new)
            print(f"{source.name} {' '.join(options)}: {len(new)} of "
                  f"{len(found)} loops are new", flush=True)
            if new:
                test = compile_test(cxx, stem, new, folder)
                subprocess.run([test, shapes, seed], check=True)
    if n_loops < LEAST_LOOPS:
        sys.exit(f"{n_loops} loops: the library has at least {LEAST_LOOPS}")
    print(f"{n_loops} loops agree with their kernels")


if __name__ == "__main__":
    main()
