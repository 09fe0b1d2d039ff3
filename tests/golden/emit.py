"""Generated C and CUDA and printed IR as bytes: the same from any folder and by way of
IR, free of warnings, and small.  (What names do to them: rename.py.)

Usage: emit.py CANZONA
"""
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time

from value_names import without_names

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = ["examples/gpt", "examples/gpt_adamw", "examples/qwen3-32b",
            "tests/fixtures/phases/elements", "tests/fixtures/phases/matrices"]
GPU = "--target=cpu,sm_90a"
STRICT_C = ["-std=c17", "-Wall", "-Wextra", "-Werror"]
# What optimisation has to do with a warning is gcc's alone.
COMPILERS = {"gcc": ["-O2", "-c", "-o", "program.o"], "clang": ["-fsyntax-only"]}


def run(command, folder, data=None):
    done = subprocess.run(command, cwd=folder, input=data,
                          capture_output=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}: exit {done.returncode}\n"
                 f"{done.stderr.decode(errors='replace')}")
    return done.stdout


def build(canzona, source, folder, *options, data=None):
    """The bytes of NAME.c and NAME.h, built into a fresh folder."""
    out = pathlib.Path(tempfile.mkdtemp(dir=folder))
    run([canzona, "build", "-o", out, *options, source], folder, data)
    return {path.name: path.read_bytes() for path in sorted(out.iterdir())}


def check(holds, sentence):
    print(("ok    " if holds else "FAILED ") + sentence)
    return holds


def same_everywhere(canzona, example, work):
    """From the root, from elsewhere, and by way of printed IR."""
    source = ROOT / f"{example}.cz"
    here = build(canzona, source, work, GPU)
    copy = work / "elsewhere"
    shutil.copytree(source.parent, copy, dirs_exist_ok=True)
    there = build(canzona, source.name, copy, GPU)
    ir = run([canzona, "plan", "--ir", source], work)
    empty = pathlib.Path(tempfile.mkdtemp(dir=work))
    by_ir = build(canzona, "-", empty, GPU, data=ir)
    assigned = run([canzona, "plan", "--ir=assigned", source], work)
    again = build(canzona, "-", empty, GPU, data=assigned)
    bodies = re.compile(rb" (\w+ body_\d+\(.*?^})", re.S | re.M)
    stem = source.stem.replace("-", "_")
    c, cuda = (bodies.findall(here[stem + end]) for end in (".c", ".cu"))
    unnamed = {name: without_names(data) for name, data in here.items()}
    return (check(c and c == cuda, f"{example}: {len(c)} functions of scalars "
                  "in CUDA are those of C")
            & check(here == there, f"{example}: same bytes from two folders")
            & check(unnamed == by_ir, f"{example}: same bytes by way of IR")
            & check(unnamed == again,
                    f"{example}: same bytes by way of assigned IR")
            & check(max(map(len, re.findall(rb'"([^"]*)"', ir))) <= 256,
                    f"{example}: no string in the IR beyond 256 bytes"))


def compiles(files, work):
    """Both compilers, all warnings; seconds of gcc -O2."""
    for name, data in files.items():
        (work / name).write_bytes(data)
    ok = True
    for source in (name for name in files if name.endswith(".c")):
        for compiler, options in COMPILERS.items():
            start = time.monotonic()
            run([compiler, *STRICT_C, *options, "-I", ROOT / "runtime", source], work)
            seconds = time.monotonic() - start
            ok &= check(seconds < 20, f"{source}: {compiler} {options[0]} without a "
                                      f"warning in {seconds:.1f} s")
    return ok


def small(canzona, work):
    """256 ranks: under 2 MB, and at most 4 times the file of 8 ranks."""
    source = ROOT / "examples" / "qwen3-32b.cz"
    large = len(build(canzona, source, work)["qwen3_32b.c"])
    few = len(build(canzona, source, work, "-D", "mesh.dp=1")["qwen3_32b.c"])
    ok = check(large < 2_000_000, f"qwen3-32b on 256 ranks: {large} bytes")
    return ok & check(large <= 4 * few,
                      f"qwen3-32b: {large / few:.2f} times the {few} bytes "
                      "for 8 ranks")


def large(canzona, work):
    """Matrices of 2^40 elements, and a bucket of 2^31 on each rank."""
    folder = ROOT / "tests/fixtures/plans/large"
    return (compiles(build(canzona, folder / "near_limit.cz", work), work)
            & compiles(build(canzona, folder / "llama-3-405b.cz", work, "-D",
                             "mesh.tp=1", "-D", "mesh.dp=8",
                             f"--allow-path={ROOT}/examples"), work))


def micro_groups(canzona, work):
    """On 1x4 matrices travel in several groups, where that is faster."""
    ir = run([canzona, "plan", "--ir", "-D", "mesh.dp=1",
              ROOT / "tests/fixtures/plans/groups.cz"], work).decode()
    transfers = ir.count('kind = "transfer"')
    return check(transfers >= 6, f"groups on 1x4: {transfers // 2} micro-groups")


def processor_time():
    """Of all children so far: a busy machine does not count."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def fast(canzona, work):
    start = processor_time()
    run([canzona, "plan", ROOT / "examples" / "qwen3-32b.cz"], work)
    seconds = processor_time() - start
    is_sanitized = b"__asan_init" in canzona.read_bytes()
    return check(seconds < 1 or is_sanitized, f"qwen3-32b planned and verified in "
                              f"{seconds:.2f} s")


def main():
    canzona = pathlib.Path(sys.argv[1]).resolve()
    ok = True
    os.environ["LANG"] = "tr_TR.UTF-8"
    with tempfile.TemporaryDirectory() as name:
        work = pathlib.Path(name)
        for example in EXAMPLES:
            ok &= same_everywhere(canzona, example, work)
            source = ROOT / f"{example}.cz"
            ok &= compiles(build(canzona, source, work, GPU), work)
        ok &= small(canzona, work)
        ok &= large(canzona, work)
        ok &= micro_groups(canzona, work)
        ok &= fast(canzona, work)
    return 0 if ok else 1


sys.exit(main())
