#!/usr/bin/python3
"""The first hour on a GPU machine, without a GPU.

    first.py doctor DOCTOR DRIVER NVRTC       what the doctor says of doubles of a
        machine: libraries and target, or the first thing to install
    first.py report SOURCE TESTS DRIVER NVRTC   run.sh with programs of the folder TESTS
        that pass, fail, are skipped or do not end: what its report says
    first.py assumptions SOURCE BUILD   each test on a GPU, of ctest and of the bundle,
        has an assumption, and each assumption a test"""
import fnmatch
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

# What the double is like; whether it has NVRTC; exit status; lines, as expressions.
MACHINES = (
    ("", True, 0, ("ok +driver +for CUDA 12.9, /", "ok +GPU .*capability 9.0",
                   "ok +target +sm_90a: machine code", "ok +NVRTC +12.9, /",
                   "none +NCCL .* skipped, unless: pip install nvidia-nccl-cu12$",
                   "none +cuSOLVER .*LAPACK", "use nvrtc=/.* target=sm_90a$")),
    ("capability=86", True, 0, ("use nvrtc=/.* target=sm_80$",)),
    ("capability=120", True, 0, ("ok +target +sm_80: .*PTX", "use .* target=sm_80$")),
    ("version=12000 capability=120", True, 1,
     ("other +NVRTC +12.9, /.*for CUDA 12.9 or later reads", "MISSING NVRTC",
      "install: pip install nvidia-cuda-nvrtc-cu12, or NVRTC=PATH")),
    ("version=13000", False, 1,
     ("MISSING NVRTC .*not there", "install: pip install nvidia-cuda-nvrtc, or")),
    ("version=11080", True, 1, ("MISSING driver .*11.8", "install: NVIDIA's driver")),
    ("devices=0", True, 1, ("MISSING driver .*cuInit, 100", "install: NVIDIA's driver")),
    ("capability=75", True, 1,
     ("MISSING GPU .*7.5", "install: a GPU of compute capability 8.0")),
    (None, True, 1, ("MISSING driver .*not there", "ok +NVRTC +12.9",
                     "install: NVIDIA's driver for CUDA 12.0")),
)


def hold(is_right, what, more=""):
    print(f"{'ok' if is_right else 'FAILED'}: {what}")
    if not is_right:
        print(more)
    return not is_right


def plug_in(folder, driver):
    """A folder in which the loader finds this driver, and neither NCCL nor, where
    `driver` is None, any."""
    folder.mkdir(exist_ok=True)
    for name, library in (("libcuda.so.1", driver), ("libnccl.so.2", None)):
        if library:
            (folder / name).symlink_to(pathlib.Path(library).resolve())
        else:
            (folder / name).write_bytes(b"")
    return f"{folder}:{os.environ.get('LD_LIBRARY_PATH', '')}"


def check_doctor(doctor, driver, nvrtc):
    n_wrong = 0
    for of, has_nvrtc, status, lines in MACHINES:
        with tempfile.TemporaryDirectory() as name:
            libraries = plug_in(pathlib.Path(name, "lib"), None if of is None else driver)
            done = subprocess.run(
                [doctor, "libnvrtc_none.so", *([nvrtc] if has_nvrtc else [])],
                env=dict(os.environ, LD_LIBRARY_PATH=libraries, RUN_DOUBLE=of or ""),
                stdout=subprocess.PIPE, text=True, check=False)
        is_right = done.returncode == status and all(
            re.search(line, done.stdout, re.M) for line in lines)
        n_wrong += hold(is_right, f"{of}: {done.returncode}, {lines[-1]}", done.stdout)
    return n_wrong


# Names of real tests, run as others: run.sh's assumptions are those of the names.
RUNS = """test 60 graph bin/cuda_product_host
test 60 queue bin/cuda_primitives golden /none
test 60 primitives bin/cuda_primitives golden golden
test 1 multiply bin/cuda_sm80_nt 1000000 1
test 60 text sh words {nvrtc} {out} {python} {target}
nccl 60 nccl_pair sh fails a rank is killed, captured: FAILED
nccl 60 nccl_turns sh fails drawn, captured: FAILED
sanitizer 60 memcheck_primitives sh sanitize.sh compute-sanitizer memcheck bin/none
bench 60 bench sh words measured
"""
WANTED = (
    r"^# First hour on a GPU: 4 of 9 failed, 2 skipped$", r"^\d{4}-.*UTC, \d+ s\.",
    r"^    ok +driver +for CUDA 12.9", r"^    ok +target +sm_90a",
    r"^### primitives: FAILED, exit status 1, \d+ s\n\nRefutes:\n\n"
    r"- wgmma reads operands where our descriptors say, in both orders\n\n"
    r"The end of primitives.log:\n\n(?:    .*\n)*    FAILED: 1 of \d+ words differ\n"
    r"(?:    .*\n)*    .*; 1 differ\n$",
    r"^### multiply: late, no end within 1 s, \d s\n\nRefutes:\n\n"
    r"- plain products have the bits of the host's fixed order\n$",
    r"^### nccl_pair: FAILED, .*\n\nRefutes:\n\n"
    r"- when a rank is killed, all others say so within the deadline\n\n",
    r"^### nccl_turns: FAILED, .*\n\nRefutes:\n\n- NCCL's calls can be captured, .*\n\n",
    r"^- queue: skipped: nothing is recorded", r"^- memcheck_primitives: skipped: no compute-sanitizer$",
    r"^\| graph \| passed \| \d+ \| what is captured once has the bits of list order",
    r"^\| multiply \| late \| \d+ \|", r"^\| primitives \| FAILED \| \d+ \| single ",
    r"^## What was measured\n\nmeasured\n$",
)


def make_bundle(folder, source, tests):
    source, tests = pathlib.Path(source), pathlib.Path(tests).resolve()
    shutil.copy(source / "tests/tools/gpu_run.sh", folder / "run.sh")
    shutil.copy(source / "tests/gpu/first/assumptions", folder)
    shutil.copytree(source / "tests/gpu/golden", folder / "golden")
    spoilt = folder / "golden" / "wgmma_64_k.words"
    spoilt.write_bytes(spoilt.read_bytes()[:-1] + bytes([spoilt.read_bytes()[-1] ^ 1]))
    (folder / "words").write_text('echo "$@"\n', encoding="utf-8")
    (folder / "fails").write_text('echo "$@"\nexit 1\n', encoding="utf-8")
    (folder / "bin").symlink_to(tests)


def check_report(source, tests, driver, nvrtc):
    n_wrong = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name, "bundle")
        folder.mkdir()
        make_bundle(folder, source, tests)

        def run(runs, libraries, *arguments):
            (folder / "runs").write_text(runs, encoding="utf-8")
            shutil.rmtree(pathlib.Path(name, "out"), ignore_errors=True)
            done = subprocess.run(
                ["sh", "bundle/run.sh", *arguments], cwd=name, check=False,
                env={"PATH": "/usr/bin:/bin", "LD_LIBRARY_PATH": libraries, "HOME": name,
                     "TORCH": "/none", "NVRTC": str(pathlib.Path(nvrtc).resolve())},
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            report = pathlib.Path(name, "out/report.md").read_text(encoding="utf-8")
            return done.returncode, done.stdout, report

        here = plug_in(pathlib.Path(name, "lib"), driver)
        status, said, report = run(RUNS, here)
        for line in WANTED:
            n_wrong += hold(re.search(line, report, re.M), line, report)
        n_wrong += hold(status == 1 and "late multiply 1 s" in said, "one failed", said)
        words = pathlib.Path(name, "out/text.log").read_text(encoding="utf-8").split()
        n_wrong += hold(words[1:] == [str(pathlib.Path(name, "out")), "/none", "sm_90a"]
                        and words[0].startswith("/"), f"words of a command: {words}")
        n_wrong += hold(len(re.findall("^- (?!queue|memcheck)", report, re.M)) == 4,
                        "nothing else is refuted", report)
        left = sorted(p.name for p in pathlib.Path(name, "out").iterdir())
        n_wrong += hold([n for n in left if not n.endswith(".log")]
                        == ["machine", "report.md"], f"what is left: {left}")
        status, said, report = run(RUNS, here, "bench")
        n_wrong += hold(status == 0 and "0 of 1 failed" in report, "a part alone", said)
        status, said, report = run(RUNS, here, "sanitizer")
        n_wrong += hold(status == 1 and "0 of 1 failed, 1 skipped" in report,
                        "nothing passed: that is a failure, too", said)
        status, said, report = run(RUNS, here, "bench", "0")
        n_wrong += hold(status == 1 and "### bench: unrun, no time was left" in report
                        and "Refutes" not in report, "no time refutes nothing", report)
        status, said, report = run(RUNS, plug_in(pathlib.Path(name, "none"), None))
        n_wrong += hold(status == 1 and "nothing ran" in report and "install: NVI" in report
                        and {p.name for p in pathlib.Path(name, "out").iterdir()}
                        == {"machine", "report.md"}, "no driver: nothing runs", said)
    return n_wrong


def read_table(text):
    """[(test, log, assumption)]"""
    rows = [[cell.strip() for cell in line.split(";")] for line in text.split("\n")
            if line and not line.startswith("#")]
    assert all(len(row) == 4 and row[3] for row in rows)
    return [(row[0], row[1], row[3]) for row in rows]


def gaps(rows, tests):
    """What has no assumption of its own, and which assumptions have no test."""
    general = [test for test, log, _ in rows if not log]
    return ([f"{test} has no assumption" for test in tests
             if sum(fnmatch.fnmatchcase(test, of) for of in general) != 1]
            + [f"{of} is no test" for of, _, _ in rows if not fnmatch.filter(tests, of)])


def check_assumptions(source, build):
    shown = json.loads(subprocess.run(
        ["ctest", "--show-only=json-v1", "-L", "^gpu$"], cwd=build, check=True,
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout)
    tests = [test["name"].removeprefix("cuda_gpu_") for test in shown["tests"]]
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["sh", f"{source}/tests/tools/gpu_bundle.sh", build, source,
                        f"{folder}/it", "doctor"], check=True, stdout=subprocess.DEVNULL)
        runs = pathlib.Path(folder, "it/runs").read_text(encoding="utf-8")
    named = [line.split()[2] for line in runs.split("\n") if line]
    rows = read_table(pathlib.Path(source, "tests/gpu/first/assumptions").read_text("utf-8"))
    missing = gaps(rows, sorted({*tests, *named}))
    n_wrong = hold(not missing and len(tests) > 30 and len(named) > 30,
                   f"{len(rows)} assumptions of {len(tests)} tests, {len(named)} runs",
                   "\n".join(missing))
    n_wrong += hold(len(gaps(rows + [("gone", "", "it")], tests + named + ["new"])) == 2,
                    "a test without a row, and a row without a test, are noticed")
    unrun = {*tests} - {*named} - {"run"}  # which is run_bits, run_values and run_nccl
    return n_wrong + hold(not unrun, "the bundle has all tests of ctest", unrun)


if __name__ == "__main__":
    CHECKS = {"doctor": check_doctor, "report": check_report,
              "assumptions": check_assumptions}
    sys.exit(CHECKS[sys.argv[1]](*sys.argv[2:]) != 0)
