#!/usr/bin/python3
"""Checks the programs that are shipped.

    binary.py PROGRAM...      each is hardened, and its libraries stand in NOTICE.md
    binary.py --self-test     what a program without any of it lacks

Hardened: addresses of functions are bound and made read-only at the start, the
C library's checked functions are called, and no folder of this machine is looked
through for libraries.
"""
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
NOTICE = os.path.join(ROOT, "docs", "NOTICE.md")
LOADER = "ld-linux-x86-64"


def output_of(*words):
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def complaints(program):
    dynamic = output_of("readelf", "-dW", program)
    if not re.search(r"\bBIND_NOW\b|FLAGS_1.*\bNOW\b", dynamic):
        yield "binds functions late (no BIND_NOW)"
    if "GNU_RELRO" not in output_of("readelf", "-lW", program):
        yield "has writable tables (no RELRO)"
    symbols = output_of("nm", "-D", "--undefined-only", program)
    if "_chk@" not in symbols:
        yield "calls no checked function (no _FORTIFY_SOURCE)"
    if "__stack_chk_fail" not in symbols:
        yield "has no stack protector"
    found = re.search(r"\((?:RUNPATH|RPATH)\).*\[(.*)\]", dynamic)
    if found:
        yield f"looks for libraries in {found[1]}"
    with open(NOTICE, encoding="utf-8") as file:
        notice = file.read()
    for library in re.findall(r"\(NEEDED\).*\[(.*?)\.so", dynamic):
        if library != LOADER and f"{library}.so" not in notice:
            yield f"links {library}, which docs/NOTICE.md does not name"


def self_test():
    with tempfile.TemporaryDirectory() as folder:
        plain = os.path.join(folder, "plain")
        subprocess.run(("cc", "-x", "c", "-", "-o", plain, "-U_FORTIFY_SOURCE",
                        "-fno-stack-protector", "-Wl,-z,lazy,-z,norelro",
                        "-Wl,-rpath,/nowhere", "-Wl,--no-as-needed", "-lresolv"),
                       input="int main(void) { return 0; }", text=True, check=True)
        found = "\n".join(complaints(plain))
    for word in ("BIND_NOW", "RELRO", "FORTIFY", "protector", "/nowhere",
                 "libresolv"):
        if word not in found:
            yield f"self-test: no message has {word}"


def main():
    if sys.argv[1:] == ["--self-test"]:
        messages = list(self_test())
    else:
        messages = [f"{program}: {message}" for program in sys.argv[1:]
                    for message in complaints(program)]
    print("\n".join(messages) or "binary: clean")
    return bool(messages)


if __name__ == "__main__":
    sys.exit(main())
