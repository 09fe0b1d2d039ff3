#!/usr/bin/python3
"""Makes the PyTorch package one file that pip installs.

    wheel.py PACKAGE VERSION NOTICE FOLDER

PACKAGE is the folder of links that the build makes.  Compiler and runtime travel
without symbols, with the shared libraries of theirs that a machine may lack.  Bytes
depend on what is inside alone."""
import base64
import hashlib
import pathlib
import re
import stat
import subprocess
import sys
import tempfile
import zipfile

EPOCH = (1980, 1, 1, 0, 0, 0)
TRAVEL = ("libjansson", "libnettle")


def stripped(path):
    with tempfile.NamedTemporaryFile() as out:
        subprocess.run(["strip", "-o", out.name, path], check=True)
        return pathlib.Path(out.name).read_bytes()


def libraries_of(program):
    """What the loader finds for it, of those that travel."""
    text = subprocess.run(["ldd", program], check=True, capture_output=True, text=True)
    for name, path in re.findall(r"^\s*(\S+) => (\S+)", text.stdout, re.M):
        if name.startswith(TRAVEL):
            yield name, pathlib.Path(path)


def glibc():
    """The version that programs of this machine need."""
    text = subprocess.run(["ldd", "--version"], check=True, capture_output=True, text=True)
    return re.search(r"(\d+)\.(\d+)$", text.stdout.splitlines()[0]).groups()


def contents(package, version, notice, tag):
    """(path, bytes, mode) of all files but the last, which lists them."""
    for path in sorted(package.glob("*.py")):
        yield f"canzona/{path.name}", path.read_bytes(), 0o644
    for path in sorted(package.glob("include/*.h")):
        yield f"canzona/include/{path.name}", path.read_bytes(), 0o644
    program = package / "bin" / "canzona"
    yield "canzona/bin/canzona", stripped(program), 0o755
    yield "canzona/lib/libczr.so", stripped(package / "lib" / "libczr.so"), 0o755
    for name, path in libraries_of(program):
        yield f"canzona/lib/{name}", stripped(path), 0o755
    info = f"canzona-{version}.dist-info"
    yield f"{info}/METADATA", (
        f"Metadata-Version: 2.1\nName: canzona\nVersion: {version}\n"
        "Summary: Distributed matrix optimizers for PyTorch, planned and compiled\n"
        "Requires-Python: >=3.9\nRequires-Dist: torch>=2.6\n").encode(), 0o644
    yield f"{info}/WHEEL", (f"Wheel-Version: 1.0\nGenerator: canzona\n"
                            f"Root-Is-Purelib: false\nTag: {tag}\n").encode(), 0o644
    for path in (notice, notice.parent.parent / "LICENSE"):
        yield f"{info}/licenses/{path.name}", path.read_bytes(), 0o644


def main(package, version, notice, folder):
    tag = "py3-none-manylinux_{}_{}_x86_64".format(*glibc())
    folder.mkdir(parents=True, exist_ok=True)
    out, record = folder / f"canzona-{version}-{tag}.whl", []
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
        def put(path, data, mode):
            entry = zipfile.ZipInfo(path, EPOCH)
            entry.external_attr = (stat.S_IFREG | mode) << 16  # else pip takes it for data
            file.writestr(entry, data, zipfile.ZIP_DEFLATED, compresslevel=9)

        for path, data, mode in contents(package, version, notice, tag):
            put(path, data, mode)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest())
            record.append(f"{path},sha256={digest.rstrip(b'=').decode()},{len(data)}\n")
        path = f"canzona-{version}.dist-info/RECORD"
        put(path, "".join([*record, f"{path},,\n"]), 0o644)
    print(f"{out}  {out.stat().st_size / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]), sys.argv[2],
                  *map(pathlib.Path, sys.argv[3:])))
