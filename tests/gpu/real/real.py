#!/usr/bin/python3
"""What we declare of NVIDIA's libraries beside their headers and the libraries
themselves: a row a version, whose prototypes, numbers and places compile to the
same, whose library has every symbol that ours looks up, by a name that ours opens.

    real.py installed CXX SOURCE_FOLDER           what this machine has
    real.py fetched CXX SOURCE_FOLDER FOLDER COMPILE
        the versions of ROWS, fetched with pip into FOLDER, of which headers and names
        stay; COMPILE, cuda_compile, has each NVRTC compile all products
    real.py self-test CXX SOURCE_FOLDER           mistakes planted in our declarations
        are named, by what this machine has

Exit status 77: nothing is installed, or something could not be fetched: skipped."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

SKIPPED, HERE = 77, pathlib.Path(__file__).parent
FETCH_SECONDS, COMPILE_SECONDS = 600, 900
VERSIONS = HERE / "versions.txt"

# library: (its header, the table of what we call, our headers with its numbers, who
# opens it).
LIBRARIES = {
    "driver": ("cuda.h", "driver/driver_calls.def", ["driver/driver.h"],
               "driver/driver.c"),
    "nvrtc": ("nvrtc.h", "library/nvrtc_calls.def", [], "library/nvrtc.c"),
    "nccl": ("nccl.h", "world/nccl_calls.def", ["world/nccl.h"], "world/nccl.c"),
    "cublas": ("cublasLt.h", "library/cublas_calls.def",
               ["library/cublas.h", "library/cublas_internal.h"], "library/cublas.c"),
    "cusolver": ("cusolverDn.h", "library/cusolver_calls.def",
                 ["library/cusolver.h", "library/cusolver_internal.h"],
                 "library/cusolver.c"),
}
# Numbers that are ours alone.
OURS = {"CZR_DRIVER_MESSAGE", "CZR_NCCL_MESSAGE", "CZR_CUBLAS_MESSAGE",
        "CZR_CUSOLVER_MESSAGE", "CZR_TENSOR_MAP_MAX_RANK", "CZR_CUBLAS_ALIGNMENT",
        "CZR_NCCL_ORDER_VERSION"}

# Headers that others include, by version of CUDA.
TOOLKITS = {
    "12.0": ["nvidia-cuda-runtime-cu12==12.0.146", "nvidia-cuda-nvcc-cu12==12.0.140"],
    "12.6": ["nvidia-cuda-runtime-cu12==12.6.77"],
    "12.9": ["nvidia-cuda-runtime-cu12==12.9.79", "nvidia-cuda-nvcc-cu12==12.9.86"],
    "13.0": ["nvidia-cuda-runtime==13.0.96", "nvidia-cuda-crt==13.0.88"],
    "13.5": ["nvidia-cuda-runtime==13.5.37", "nvidia-cuda-crt==13.5.37"],
}
# library, version of CUDA, its package, packages whose libraries it brings along.
ROWS = [
    *(("driver", cuda, TOOLKITS[cuda][0], []) for cuda in TOOLKITS),
    ("nccl", "12.9", "nvidia-nccl-cu12==2.20.5", []),
    ("nccl", "12.9", "nvidia-nccl-cu12==2.23.4", []),
    ("nccl", "12.9", "nvidia-nccl-cu12==2.26.2", []),
    ("nccl", "12.9", "nvidia-nccl-cu12==2.28.9", []),
    ("nccl", "13.5", "nvidia-nccl-cu13==2.32.3", []),
    ("cublas", "12.0", "nvidia-cublas-cu12==12.0.2.224", []),
    ("cublas", "12.9", "nvidia-cublas-cu12==12.9.1.4", []),
    ("cublas", "13.0", "nvidia-cublas==13.0.2.14", []),
    ("cublas", "13.5", "nvidia-cublas==13.10.0.20", []),
    ("cusolver", "12.0", "nvidia-cusolver-cu12==11.4.3.1",
     ["nvidia-cublas-cu12==12.0.2.224"]),
    ("cusolver", "12.9", "nvidia-cusolver-cu12==11.7.5.82",
     ["nvidia-cublas-cu12==12.9.1.4"]),
    ("cusolver", "13.0", "nvidia-cusolver==12.0.4.66", ["nvidia-cublas==13.0.2.14"]),
    ("cusolver", "13.5", "nvidia-cusolver==12.4.1.2", ["nvidia-cublas==13.10.0.20"]),
    ("nvrtc", "12.6", "nvidia-cuda-nvrtc-cu12==12.6.85", []),
    ("nvrtc", "12.9", "nvidia-cuda-nvrtc-cu12==12.9.86", []),
    ("nvrtc", "13.0", "nvidia-cuda-nvrtc==13.0.88", []),
    ("nvrtc", "13.5", "nvidia-cuda-nvrtc==13.5.37", []),
]

CALL = re.compile(r"^CZR_\w*CALL\((\w+),", re.M)
NUMBER = re.compile(r"\b(CZR_[A-Z0-9_]+) = ")
MACRO = re.compile(r"^#define (CZR_[A-Z0-9_]+) \w", re.M)
OPENED = re.compile(r'"(lib\w+\.so[.\d]*)"')
UNEQUAL = re.compile(r"static assertion failed: (.*)|static_assert failed.* \"(.*)\"")


# ---- libraries and their names ----------------------------------------------

def names_of(library):
    """What a shared library is called, needs and exports."""
    dynamic = subprocess.run(["readelf", "-dW", library], text=True, check=True,
                             stdout=subprocess.PIPE).stdout
    symbols = subprocess.run(["nm", "-D", "--defined-only", library], text=True,
                             check=True, stdout=subprocess.PIPE).stdout
    return {"soname": re.findall(r"\(SONAME\).*\[(.*)\]", dynamic)[0],
            "needed": re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic),
            "symbols": [line.split()[-1].split("@")[0]
                        for line in symbols.splitlines()]}


def found(library, others):
    """What dlsym finds in a library: its own names, and those of what it needs."""
    symbols = set(library["symbols"])
    for other in others:
        if other["soname"] in library["needed"]:
            symbols |= set(other["symbols"])
    return symbols


# ---- one row -----------------------------------------------------------------

class Declarations:
    """What a source folder declares of one library."""

    def __init__(self, source, name):
        header, calls, numbers, opener = LIBRARIES[name]
        cuda = pathlib.Path(source, "runtime/cuda")
        self.source, self.name, self.header = source, name, header
        self.symbols = CALL.findall((cuda / calls).read_text(encoding="utf-8"))
        self.opened = set(OPENED.findall((cuda / opener).read_text(encoding="utf-8")))
        self.compared = pathlib.Path(source, f"tests/gpu/real/{name}.cpp")
        text = "".join((cuda / file).read_text(encoding="utf-8") for file in numbers)
        self.numbers = set(NUMBER.findall(text)) | set(MACRO.findall(text))
        for text_of in (self.symbols, self.opened):
            if not text_of:
                sys.exit(f"{name}: nothing is declared")

    def uncompared(self):
        """Numbers that no version is asked for."""
        compared = set(re.findall(r"\w+", self.compared.read_text(encoding="utf-8")))
        return sorted(self.numbers - compared - OURS)

    def unequal(self, cxx, folders):
        """What a compiler says of us beside the headers in these folders."""
        words = [cxx, "-std=c++17", "-fsyntax-only", "-I", self.source, "-I",
                 f"{self.source}/runtime"]
        for folder in folders:
            words += ["-isystem", folder]
        done = subprocess.run([*words, self.compared], text=True, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        wrong = [a or b for a, b in UNEQUAL.findall(done.stdout)]
        if done.returncode and not wrong:
            wrong = [line for line in done.stdout.splitlines() if "error" in line]
        return wrong or (["it does not compile"] if done.returncode else [])


def check(declared, cxx, folders, library, others):
    """What is wrong with a row; `library` is None where only headers are there."""
    wrong = declared.unequal(cxx, folders)
    if library:
        symbols = found(library, others)
        wrong += [f"no symbol {s}" for s in declared.symbols if s not in symbols]
        if library["soname"] not in declared.opened:
            wrong.append(f"nobody opens {library['soname']}")
    return wrong


def show(name, version, cuda, n_symbols, wrong, more=""):
    verdict = "; ".join(wrong) if wrong else "same"
    print(f"{name:<9} {version:<12} {cuda:<10} {n_symbols:>7}  {verdict}{more}", flush=True)
    return len(wrong)


def show_head(source):
    """The head of the table, and how many numbers nobody compares."""
    n_wrong = 0
    for name in LIBRARIES:
        for number in Declarations(source, name).uncompared():
            print(f"FAILED: {number} is compared with nothing")
            n_wrong += 1
    print(f"{'library':<9} {'version':<12} {'CUDA':<10} {'symbols':>7}  prototypes, "
          "numbers and places")
    return n_wrong


# ---- what is installed -------------------------------------------------------

def installed(name):
    """(folders of headers, library or None, others) of this machine, or None."""
    roots = [os.environ.get("CUDA_PATH"), "/usr/local/cuda", "/usr/local", "/usr"]
    roots = [pathlib.Path(root) for root in roots if root]
    header = LIBRARIES[name][0]
    folders = [root / "include" for root in roots
               if any((root / "include" / h).exists() for h in (header, "cuda.h"))]
    if not any((folder / header).exists() for folder in folders):
        return None
    stem = {"driver": "libcuda.so", "cublas": "libcublasLt.so"}.get(name, f"lib{name}.so")
    places = [root / part for root in roots for part in ("lib64", "lib", "lib/stubs")]
    # The driver of a machine with a GPU would do, too; a stub has all its names.
    files = [place / stem for place in places if (place / stem).exists()]
    others = [place / "libcublas.so" for place in places
              if (place / "libcublas.so").exists()]
    return ([str(f) for f in folders if f != pathlib.Path("/usr/include")],
            names_of(files[0]) if files else None,
            [names_of(other) for other in others[:1]])


def run_installed(cxx, source):
    rows = {name: installed(name) for name in LIBRARIES}
    if not any(rows.values()):
        print("skipped: no header of CUDA is installed")
        return SKIPPED
    n_wrong = show_head(source)
    for name, row in rows.items():
        if row:
            declared = Declarations(source, name)
            n_wrong += show(name, "installed", "", len(declared.symbols) if row[1] else "-",
                            check(declared, cxx, *row))
    return n_wrong > 0


# ---- what is fetched ---------------------------------------------------------

def is_shared(name):
    return ".so" in name and not name.endswith(".a")


def unpack(wheel, folder, is_kept):
    """Headers and the names of libraries; with is_kept libraries, too."""
    libraries = []
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if "/include/" in name and not name.endswith("/"):
                out = folder / "include" / name.split("/include/", 1)[1]
                out.parent.mkdir(parents=True, exist_ok=True)
                out.write_bytes(archive.read(name))
            elif is_shared(name):
                out = folder / pathlib.Path(name).name
                with archive.open(name) as packed, open(out, "wb") as file:
                    shutil.copyfileobj(packed, file)
                libraries.append(dict(names_of(out), file=out.name))
                if not is_kept:
                    out.unlink()
    (folder / "names.json").write_text(json.dumps(libraries), encoding="utf-8")


def fetch(package, root):
    """The package's folder below `root`, or why there is none."""
    folder = root / package.replace("==", "-")
    if folder.exists():
        return folder, None
    line, = [line for line in VERSIONS.read_text(encoding="utf-8").splitlines()
             if line.startswith(f"{package} ")]
    root.mkdir(parents=True, exist_ok=True)
    # To a folder of its own first: what is half there is not there.
    with tempfile.TemporaryDirectory(dir=root) as part:
        part = pathlib.Path(part)
        (part / "wanted.txt").write_text(line, encoding="utf-8")
        try:
            done = subprocess.run(
                [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps",
                 "--only-binary", ":all:", "--require-hashes",
                 "--disable-pip-version-check", "--retries", "1", "--timeout", "20",
                 "--dest", part, "-r", part / "wanted.txt"], text=True, check=False,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=FETCH_SECONDS)
        except subprocess.TimeoutExpired:
            return None, "fetching takes too long"
        wheels = list(part.glob("*.whl"))
        if done.returncode or not wheels:
            lines = [said for said in done.stdout.splitlines() if "ERROR" in said or
                     "No module" in said]
            return None, lines[0] if lines else "pip has failed"
        (part / "out").mkdir()
        unpack(wheels[0], part / "out", "nvrtc" in package)
        (part / "out").rename(folder)
    return folder, None


def compile_all(compiler, library):
    """What is wrong with all products by this NVRTC, and what is said of them."""
    done = subprocess.run([compiler, "code", library], text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          timeout=COMPILE_SECONDS)
    lines = done.stdout.splitlines()
    wrong = [line for line in lines if "FAILED" in line]
    if done.returncode:
        wrong.append(f"{pathlib.Path(compiler).name} says {done.returncode}")
    return wrong, "".join(f"; {line}" for line in lines if "DEPBAR" in line)


def library_of(declared, libraries):
    """The one that we open, else the one that a loader would take for it."""
    stems = {name.split(".so")[0] for name in declared.opened}
    named = [one for one in libraries if one["soname"].split(".so")[0] in stems]
    return named[0] if named else None


def fetched_row(row, cxx, source, root, compiler):
    """How much is wrong; None, and said: not all of it could be fetched."""
    name, cuda, package, others = row
    packages = dict.fromkeys([package, *others, *TOOLKITS[cuda]])
    for wanted in packages:
        packages[wanted], why = fetch(wanted, root)
        if why:
            show(name, package.split("==")[1], cuda, "-", [f"skipped: {wanted}: {why}"])
            return None
    declared = Declarations(source, name)
    libraries = {wanted: json.loads((folder / "names.json").read_text(encoding="utf-8"))
                 for wanted, folder in packages.items()}
    library = library_of(declared, libraries[package])
    wrong = check(declared, cxx, [str(folder / "include") for folder in packages.values()],
                  library, [one for other in others for one in libraries[other]])
    # No package has the driver.
    if not library and name != "driver":
        wrong.append("the package has no library of ours")
    more = ""
    if name == "nvrtc" and library:
        found_wrong, more = compile_all(compiler, packages[package] / library["file"])
        wrong += found_wrong
    return show(name, package.split("==")[1], cuda,
                len(declared.symbols) if library else "-", wrong, more)


def run_fetched(cxx, source, folder, compiler):
    n_wrong, n_skipped = show_head(source), 0
    for row in ROWS:
        result = fetched_row(row, cxx, source, pathlib.Path(folder), compiler)
        n_wrong += result or 0
        n_skipped += result is None
        # Without a network no other will come, either.
        if n_skipped and n_skipped == ROWS.index(row) + 1:
            break
    print(f"{len(ROWS)} versions, {n_wrong} mismatches"
          + (f", {n_skipped} or more not fetched: skipped" if n_skipped else ""))
    return 1 if n_wrong else SKIPPED if n_skipped else 0


# ---- planted mistakes --------------------------------------------------------

# What must be named, library, file below runtime/cuda, what stands there, the mistake.
PLANTED = [
    ("cuInit", "driver", "driver/driver_calls.def", "(unsigned flags))\nCZR_CALL(cuDriver",
     "(void *flags))\nCZR_CALL(cuDriver"),
    ("ncclSend", "nccl", "world/nccl_calls.def", "int type, int peer, void *comm, void *"
     "stream))\nCZR_CALL(ncclRecv", "int peer, void *comm, void *stream))\nCZR_CALL("
     "ncclRecv"),
    ("CUlaunchConfig", "driver", "driver/driver.h", "unsigned n_attributes;",
     "unsigned n_attributes, more[2];"),
    ("sharedMemBytes", "driver", "driver/driver.h", "block[3], shared", "block[4], shared"),
    ("trafficClass", "nccl", "world/nccl.h", "    int traffic_class;",
     "    int other, traffic_class;"),
    ("CUtensorMap", "driver", "driver/driver.h", "opaque[16]", "opaque[32]"),
    ("ncclFloat32", "nccl", "world/nccl.h", "CZR_NCCL_FLOAT32 = 7",
     "CZR_NCCL_FLOAT32 = 6"),
    ("initial.magic", "nccl", "world/nccl.h", "0xcafebeefu", "0xcafebabeu"),
    ("CUDA_VERSION", "driver", "driver/driver.h", "CZR_DRIVER_VERSION = 12000",
     "CZR_DRIVER_VERSION = 99000"),
    ("ncclSplit", "nccl", "world/nccl_calls.def", "CALL(ncclCommSplit",
     "CALL(ncclSplit"),
    ("nobody opens libnccl.so.2", "nccl", "world/nccl.c", '"libnccl.so.2"',
     '"libnccl.so.3"'),
    ("CZR_NCCL_NEW", "nccl", "world/nccl.h", "CZR_NCCL_SUM = 0",
     "CZR_NCCL_SUM = 0, CZR_NCCL_NEW = 1"),
]


def named(cxx, source, name, row):
    declared = Declarations(source, name)
    return declared.uncompared() + check(declared, cxx, *row)


def run_self_test(cxx, source):
    rows = {name: installed(name) for name in ("driver", "nccl")}
    if not all(row and row[1] for row in rows.values()):
        print("skipped: headers or libraries are not installed")
        return SKIPPED
    folders, library, others = rows["nccl"]
    lacking = dict(library, symbols=[s for s in library["symbols"]
                                     if s != "ncclCommSplit"])
    n_missed = named(cxx, source, "nccl", (folders, lacking, others)) != \
        ["no symbol ncclCommSplit"]
    for wanted, name, file, old, new in PLANTED:
        with tempfile.TemporaryDirectory() as folder:
            for part in ("runtime", "tests/gpu/real"):
                shutil.copytree(pathlib.Path(source, part), pathlib.Path(folder, part))
            path = pathlib.Path(folder, "runtime/cuda", file)
            text = path.read_text(encoding="utf-8")
            if text.count(old) != 1:
                sys.exit(f"{file}: not there once: {old}")
            said = named(cxx, folder, name, rows[name])
            path.write_text(text.replace(old, new), encoding="utf-8")
            said_now = named(cxx, folder, name, rows[name])
        is_named = not said and any(wanted in one for one in said_now)
        n_missed += not is_named
        print(f"{'named' if is_named else 'MISSED'}: {wanted}: {'; '.join(said_now)}"[:99])
    n = len(PLANTED) + 1
    print(f"{n - n_missed} of {n} planted mistakes named")
    return n_missed > 0


if __name__ == "__main__":
    MODES = {"installed": run_installed, "fetched": run_fetched,
             "self-test": run_self_test}
    sys.exit(MODES[sys.argv[1]](*sys.argv[2:]))
