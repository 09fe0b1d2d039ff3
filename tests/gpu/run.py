#!/usr/bin/python3
"""`canzona run` with a GPU as target.

    run.py double CANZONA NVRTC FILE STEPS [OPTION...]   on the double of the driver,
        libcuda.so.1 beside FILE: bits and figures of --check are those of threads,
        in several orders of streams, for each target; machine code is kept
    run.py values CANZONA NVRTC FILE STEPS [OPTION...]   the same by --check=values, whose
        figures are within their bounds
    run.py nccl CANZONA NVRTC FILE STEPS [OPTION...]     a process of MPI over the double
        of NCCL, which has one process; 77 in builds without MPI: skipped
    run.py faults CANZONA NVRTC FILE STEPS               what is missing or fails: one
        error each, its exit status, and nothing stays
    run.py ranges CANZONA NVRTC FILE STEPS TOOL          TOOL lists ranges of NVTX: in the
        first step one for each operation, by its stage in generated C; then graphs
    run.py gpu CANZONA NVRTC FILE STEPS [OPTION...]      on the machine's GPU; NVRTC is
        the one to take where the loader has none.  77: skipped"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

SKIPPED, NO_GPU = 77, 5
SUMMARY = re.compile(r"^(\w+: \d+ steps on \d+ ranks), [0-9.]+ s per step, (.*)$", re.M)
FIGURES = re.compile(r"^(?:bits|counters|float64) .*$", re.M)
NVRTC_NAMES = ("libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so")


class Bench:
    """A folder for temporary files, one for the cache, and one for libraries that the
    loader finds first."""

    def __init__(self, folder, canzona, file, options):
        self.folder, self.canzona = pathlib.Path(folder), canzona
        self.file, self.options = file, options
        for name in ("tmp", "cache", "lib"):
            (self.folder / name).mkdir()

    def have(self, name, library):
        """The loader finds `library` by this name; None: nothing that it can load."""
        link = self.folder / "lib" / name
        if link.exists() or link.is_symlink():
            link.unlink()
        if library is None:
            link.write_bytes(b"")
        else:
            link.symlink_to(pathlib.Path(library).resolve())

    def run(self, *options, double="", cache=None):
        environment = dict(os.environ, TMPDIR=str(self.folder / "tmp"),
                           XDG_CACHE_HOME=str(cache or self.folder / "cache"),
                           RUN_DOUBLE=double)
        environment["LD_LIBRARY_PATH"] = ":".join(
            [str(self.folder / "lib"), os.environ.get("LD_LIBRARY_PATH", "")])
        done = subprocess.run(
            [self.canzona, "run", *self.options, *options, self.file],
            env=environment, text=True, check=False, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE)
        return done

    def left(self):
        return sorted(str(p) for p in (self.folder / "tmp").iterdir())

    def kept(self):
        return sorted(p.name for p in (self.folder / "cache").rglob("*") if p.is_file())


def figures(done):
    """What threads and GPUs say alike."""
    summary = SUMMARY.search(done.stdout)
    lines = [line.replace(" on a thread", "") for line in FIGURES.findall(done.stdout)]
    return (summary.groups() if summary else None, lines)


def hold(is_right, what, done=None):
    print(f"{'ok' if is_right else 'FAILED'}: {what}")
    if not is_right and done:
        print(f"exit status {done.returncode}\n{done.stdout}{done.stderr}")
    return not is_right


def check_double(bench, steps):
    wanted = figures(bench.run("--check", f"--steps={steps}"))
    n_wrong = hold(wanted[0] is not None and len(wanted[1]) > 3, f"threads: {wanted[0]}")
    n_kept = 0
    for target, double in (("sm_90a", "seed=1"), ("sm_90a", "seed=2"),
                           ("sm_80", "capability=86 seed=3"),
                           ("sm_80", "capability=120 seed=4")):
        done = bench.run("--check", f"--steps={steps}", f"--target={target}", double=double)
        lines = done.stdout.split("\n")
        is_right = done.returncode == 0 and figures(done) == wanted and (
            lines[0].startswith("gpu       ") and not done.stderr
            and any(line.startswith("kernel    ") for line in lines)
            and any(line.startswith("graphs    ") for line in lines))
        n_wrong += hold(is_right, f"{target}, {double}: {figures(done)[1][:1]}", done)
        is_new = double.startswith("seed=2")
        n_wrong += hold((len(bench.kept()) == n_kept) == is_new and bench.kept(),
                        f"{len(bench.kept())} entries are kept")
        n_kept = len(bench.kept())
    mode = (bench.folder / "cache/canzona").stat().st_mode & 0o777
    n_wrong += hold(mode == 0o700, f"the cache is private: {mode:o}")
    return n_wrong + hold(not bench.left(), f"nothing stays: {bench.left()}")


def check_nccl(bench, steps, driver):
    options = ["--check", f"--steps={steps}"]
    of_gpu = [*options, "--target=sm_90a", "--world=nccl"]
    wanted = figures(bench.run(*options))
    bench.have("libnccl.so.2", driver)
    done = bench.run(*of_gpu)
    if "there is no MPI in this build" in done.stderr:
        print(f"skipped: {done.stderr}")
        sys.exit(SKIPPED)
    n_wrong = hold(done.returncode == 0 and figures(done) == wanted
                   and "graphs    " in done.stdout, f"one process: {figures(done)}", done)
    bench.have("libnccl.so.2", None)
    done = bench.run(*of_gpu)
    n_wrong += hold(done.returncode == NO_GPU and "NCCL is not there" in done.stderr,
                    f"without NCCL: {done.returncode}", done)
    return n_wrong + hold(not bench.left(), f"nothing stays: {bench.left()}")


def check_ranges(bench, steps, tool):
    plan = json.loads(subprocess.run(
        [bench.canzona, "plan", "--json", "--no-baselines", bench.file],
        text=True, check=True, stdout=subprocess.PIPE).stdout)
    listed = bench.folder / "ranges"
    os.environ.update(NVTX_INJECTION64_PATH=tool, RANGES_FILE=str(listed))
    done = bench.run("--check", f"--steps={steps}", "--target=sm_90a", double="seed=1")
    *ranges, last = listed.read_text().splitlines()
    n_wrong = hold(done.returncode == 0 and last == "0 are open", f"ends: {last}", done)
    found = [re.fullmatch(r"(.*) #(-?\d+)", line).groups() for line in ranges]
    graphs = [name for name, op in found if op == "-1"]
    stages = {"stage_" + re.sub(r"\W", "_", stage["name"]) for stage in plan["stages"]}
    counts = {}
    for name, op in found:
        counts[op] = counts.get(op, 0) + (op != "-1")
        kind, _, of = name.partition(" of ")
        if op == "-1":
            continue
        known = plan["schedule"][int(op)]["kind"]
        n_wrong += kind != known and hold(False, f"{name} is operation {op}, {known}")
        if known == "kernel":
            n_wrong += of.split(",")[0] not in stages and hold(False, f"no stage: {name}")
            stages.discard(of.split(",")[0])
    kinds = {name.partition(" of ")[0] for name, op in found if op != "-1"}
    n_wrong += hold({"kernel", "reduce_scatter", "all_gather"} <= kinds, f"{sorted(kinds)}")
    n_wrong += hold(set(counts.values()) <= {0, 1}, "an operation has one range, when it "
                    "is launched by itself")
    return n_wrong + hold(set(graphs) == {"graph of a step", "graph of a reduction"}
                          and graphs.count("graph of a step") == steps - 1,
                          f"{len(graphs)} graphs are launched")


def planned_batches(bench):
    """What `plan` says that `run` says of batches, by tables of the program's."""
    done = subprocess.run([bench.canzona, "plan", "--json", "--target=sm_90a",
                           "--no-baselines", *bench.options, bench.file],
                          text=True, check=True, stdout=subprocess.PIPE)
    planned = json.loads(done.stdout)["metrics"]["batch_bytes"]
    return (f"batches   {max(planned)} bytes behind the arena of a rank at most, "
            f"{sum(planned)} of all ranks")


def check_values(bench, steps):
    """By the kernels of tensor cores, several matrices at once."""
    batches = planned_batches(bench)
    options = ["--check=values", f"--steps={steps}"]
    wanted = figures(bench.run(*options))
    n_wrong = hold(wanted[0] is not None and len(wanted[1]) > 2, f"threads: {wanted[0]}")
    for target, double, kernel in (
            ("sm_90a", "seed=1", "product_symmetric_"),
            ("sm_90a", "seed=2", "product_symmetric_"),
            ("sm_80", "capability=80 seed=3", "product_symmetric_")):
        done = bench.run(*options, f"--target={target}", double=double)
        said = figures(done)
        names = [[line.split(":")[0] for line in lines] for lines in (said[1], wanted[1])]
        kernels = [line for line in done.stdout.split("\n") if line.startswith("kernel ")]
        is_right = (done.returncode == 0 and not done.stderr and names[0] == names[1]
                    and any("up to " in k and kernel in k for k in kernels)
                    and batches in done.stdout.split("\n"))
        n_wrong += hold(is_right, f"{target}, {double}: {batches}", done)
    return n_wrong + hold(not bench.left(), f"nothing stays: {bench.left()}")


# What the double is like, options, exit status, and what the error says.
FAULTS = (
    ("version=11080", (), NO_GPU, "the CUDA driver knows CUDA 11.8"),
    ("devices=0", (), NO_GPU, "(cuInit, 100)"),
    ("capability=75", (), NO_GPU, "7.5"),
    ("capability=80", (), NO_GPU, "runs no code of sm_90a"),
    ("capability=90", ("--target=sm_80",), NO_GPU, "runs no code of sm_80"),
    ("capability=120 version=12000", ("--target=sm_80",), NO_GPU, "PTX of NVRTC 12.9"),
    ("bytes=20000", (), NO_GPU, "20000"),
    ("fail=cuInit:1:999", (), NO_GPU, "does not start"),
    ("fail=cuLibraryLoadData:1:200", (), NO_GPU, "(200)"),
    ("fail=cuLaunchKernelEx:90:719", (), 1, "(719)"),
    ("fail=cuMemcpyAsync:40:700", (), 1, "(700)"),
    ("", ("--late",), 2, "--late is for threads"),
    ("", ("--world=mpi",), 3, "loopback or nccl is"),
    ("", ("--world=threads",), 3, 'world "threads" is not supported yet'),
    ("", ("--target=cpu", "--world=loopback"), 3, "threads or mpi is"),
    ("", ("--target=sm_90",), 3, 'target "sm_90" is not supported yet'),
    ("", ("--microbatches=7",), 1, "cannot be shared by 2 ranks"),
)


def check_faults(bench, steps, driver, nvrtc):
    n_wrong = 0

    def fails(what, options, double, status, sentence):
        done = bench.run("--check", f"--steps={steps}", "--target=sm_90a", *options,
                         double=double)
        is_right = (done.returncode == status and sentence in done.stderr
                    and done.stderr.count("error: ") == 1 and not bench.left()
                    and not SUMMARY.search(done.stdout))
        said = done.stderr.split("\n")[0]
        return hold(is_right, f"{what}: {status}, {said}", done)

    for double, options, status, sentence in FAULTS:
        n_wrong += fails(f"{double} {' '.join(options)}", options, double, status, sentence)
    bench.have("libcuda.so.1", None)
    n_wrong += fails("no driver", (), "", NO_GPU, "the CUDA driver is not there")
    bench.have("libcuda.so.1", driver)
    for name in NVRTC_NAMES:
        bench.have(name, None)
    n_wrong += fails("no NVRTC", (), "", NO_GPU, "NVRTC is not there")
    bench.have(NVRTC_NAMES[0], nvrtc)
    done = bench.run("--check", f"--steps={steps}", "--target=sm_90a", cache=bench.file)
    is_right = (done.returncode == 0 and SUMMARY.search(done.stdout)
                and done.stderr.count("warning: cache of compiled code") == 1)
    return n_wrong + hold(is_right, "no cache: a warning, and it runs", done)


def check_gpu(bench, steps, nvrtc):
    options = ["--check", f"--steps={steps}"]
    done = bench.run(*options, "--target=sm_90a")
    if "NVRTC is not there" in done.stderr and pathlib.Path(nvrtc).exists():
        bench.have(NVRTC_NAMES[1], nvrtc)
        done = bench.run(*options, "--target=sm_90a")
    target = "sm_90a"
    other = re.search(r"try --target=(\w+)", done.stderr)
    if other:
        target = other.group(1)
        done = bench.run(*options, f"--target={target}")
    if done.returncode == NO_GPU:
        print(f"skipped: {done.stderr}")
        sys.exit(SKIPPED)
    print(done.stdout)
    wanted = figures(bench.run(*options))
    n_wrong = hold(done.returncode == 0 and figures(done) == wanted, "figures of threads",
                   done)
    done = bench.run("--check=values", f"--steps={steps}", f"--target={target}")
    print(done.stdout)
    n_wrong += hold(done.returncode == 0, "values of the plan that build makes", done)
    done = bench.run(*options, f"--target={target}", "--world=nccl")
    print(done.stdout)
    return n_wrong + hold(done.returncode == 0 and figures(done) == wanted,
                          "processes over NCCL", done)


def main():
    what, canzona, nvrtc, file, steps, *options = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(folder, canzona, file, options)
        if what == "gpu":
            return check_gpu(bench, steps, nvrtc) != 0
        driver = pathlib.Path(file).parent / "libcuda.so.1"
        bench.have("libcuda.so.1", driver)
        bench.have(NVRTC_NAMES[0], nvrtc)
        if what == "ranges":
            bench.options = []
            return check_ranges(bench, int(steps), *options) != 0
        if what == "nccl":
            return check_nccl(bench, int(steps), driver) != 0
        if what in ("double", "values"):
            check = check_double if what == "double" else check_values
            return check(bench, steps) != 0
        return check_faults(bench, steps, driver, nvrtc) != 0


if __name__ == "__main__":
    sys.exit(main())
