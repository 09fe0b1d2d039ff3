"""A .cz text to a program in this process: `canzona build`, the C compiler, dlopen.

What was made is kept in $CANZONA_CACHE, else ~/.cache/canzona, by a hash of all that
it is made of."""
import ctypes as ct
import fcntl
import hashlib
import os
import pathlib
import shutil
import subprocess
import tempfile
import warnings

from .czr import HOME, Error

NAME = "rules"  # of the file: what errors call the user's text
FORM = 2  # of a folder: rules.so, and warnings


def _run(*words, folder, env=None):
    done = subprocess.run([str(word) for word in words], cwd=folder, env=env, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if done.returncode:
        raise Error(done.stderr.strip() or f"{words[0]} ended with {done.returncode}")
    return done.stdout, done.stderr


def canzona(*words, folder=None):
    """What the command prints, and what it warns of; Error with its complaint."""
    # Libraries that travel with it; the C compiler has its own.
    path = os.pathsep.join(filter(None, [str(HOME / "lib"), os.environ.get("LD_LIBRARY_PATH")]))
    return _run(HOME / "bin" / "canzona", *words, folder=folder,
                env={**os.environ, "LD_LIBRARY_PATH": path})


def warn(words):
    """Of what the compiler has said beside its result."""
    if words.strip():
        warnings.warn(words.strip(), stacklevel=4)


def _processor():
    """What -march=native depends on."""
    try:
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
            return next((line for line in file if line.startswith("flags")), "")
    except OSError:
        return ""


def _compile(text, options, compiler, folder):
    """Makes folder/rules.so, and folder/warnings."""
    (folder / f"{NAME}.cz").write_text(text, encoding="utf-8")
    _, words = canzona("build", *options, f"{NAME}.cz", folder=folder)
    (folder / "warnings").write_text(words, encoding="utf-8")
    flags = canzona("build", "--print-cflags")[0].split()
    _run(compiler, *flags, "-march=native", "-shared", "-fPIC", "-I", HOME / "include",
         "-I", ".", "-o", f"{NAME}.so", f"{NAME}.c", folder=folder)


def load(text, strict):
    """(library, address of its czr_program).  Error with the compiler's words; of what it
    warns, a UserWarning."""
    options = ["--strict"] if strict else []
    compiler = os.environ.get("CC") or "cc"
    made = (HOME / "bin" / "canzona").stat()
    key = hashlib.sha256(repr((FORM, text, options, compiler, made.st_size, made.st_mtime_ns,
                               _processor())).encode()).hexdigest()[:32]
    cache = pathlib.Path(os.environ.get("CANZONA_CACHE") or
                         pathlib.Path.home() / ".cache" / "canzona")
    cache.mkdir(mode=0o700, parents=True, exist_ok=True)
    with open(cache / f"{key}.lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # ranks of one machine compile once
        if not (cache / key).exists():
            folder = pathlib.Path(tempfile.mkdtemp(dir=cache))
            try:
                _compile(text, options, compiler, folder)
                folder.rename(cache / key)
            finally:
                shutil.rmtree(folder, ignore_errors=True)
    warn((cache / key / "warnings").read_text(encoding="utf-8"))
    library = ct.CDLL(str(cache / key / f"{NAME}.so"))
    return library, ct.addressof(ct.c_char.in_dll(library, f"{NAME}_program"))
