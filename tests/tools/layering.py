#!/usr/bin/python3
"""Checks includes and MLIR calls against the table of layers.

Each folder may include what the table says, directly; the verifier may not
reach MLIR through other headers either.  --self-test plants one violation of
each kind and expects exactly those.
"""
import os
import re
import sys
import tempfile

import tree

ENDINGS = (".c", ".h", ".re", ".y", ".def")
LAYERS = ("dsl", "frontend", "passes", "codegen", "runtime")
C_HEADERS = {
    "assert.h", "ctype.h", "errno.h", "fenv.h", "float.h", "inttypes.h",
    "limits.h", "locale.h", "math.h", "setjmp.h", "signal.h", "stdalign.h",
    "stdarg.h", "stdatomic.h", "stdbool.h", "stddef.h", "stdint.h", "stdio.h",
    "stdlib.h", "stdnoreturn.h", "string.h", "time.h", "unistd.h", "fcntl.h",
    "sys/stat.h", "sys/types.h", "sys/wait.h", "sys/resource.h",
    "sys/mman.h", "poll.h", "strings.h", "dirent.h", "spawn.h", "sys/time.h",
}
RUNTIME_HEADERS = {"pthread.h", "dlfcn.h", "sched.h", "cblas.h",
                   "immintrin.h", "cpuid.h"}  # the compiler's, of vectors
DRIVER = re.compile(r"frontend/cmd/")
GENERATED = {"gram.h": "frontend/syntax/gram.h"}


class Layer:
    """What one folder may name: project paths, system headers, MLIR."""

    def __init__(self, paths, headers=frozenset(), mlir=False):
        self.paths = re.compile(paths)
        self.headers = C_HEADERS | headers
        self.mlir = mlir


TABLE = {
    "dsl": Layer(r"dsl/", mlir=True),
    "driver": Layer(r"(dsl|frontend|passes|codegen|runtime)/",
                    {"jansson.h", "nettle/sha2.h", "dlfcn.h", "argp.h",
                     "pthread.h"}),
    "report": Layer(r"(dsl|frontend|passes)/",
                    {"jansson.h", "nettle/sha2.h"}),  # of what the passes predict
    "frontend": Layer(r"(dsl|frontend)/", {"jansson.h", "nettle/sha2.h"}),
    "passes": Layer(r"(dsl|passes)/(?!verify/)"),
    "pass": Layer(r"(dsl|passes)/(?!verify/)", mlir=True),
    "solve": Layer(r"(dsl/base/|passes/(solve/|timeline/|gpu/tile_))"),
    "verify": Layer(r"(dsl/plan/(plan|within)\.h|dsl/vocab/(step|opcode)\.def|dsl/base/"
                    r"|passes/verify/)"),  # .def: the enums of plan.h
    "codegen": Layer(r"(dsl|codegen)/"),
    "runtime": Layer(r"runtime/", RUNTIME_HEADERS),
    "cuda": Layer(r"runtime/", RUNTIME_HEADERS | {"nettle/sha2.h"}),
}


def layer_of(path):
    if DRIVER.match(path):
        return "driver"
    if re.match("frontend/(report|document)/", path):
        return "report"
    if path.startswith("passes/verify/"):
        return "verify"
    if re.match("passes/(solve/|timeline/|gpu/tile_)", path):
        return "solve"
    if path.startswith("runtime/cuda/"):
        return "cuda"
    if path.startswith("passes/") and path.endswith("_pass.c"):
        return "pass"
    return path.split("/")[0]


def includes(text):
    """(line number, name, is_system) of each include."""
    pattern = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
    for number, line in enumerate(text.split("\n"), 1):
        match = pattern.match(line)
        if match:
            yield number, match.group(2), match.group(1) == "<"


def resolve(root, path, name):
    """The project path a quoted include names, or None."""
    beside = os.path.normpath(os.path.join(os.path.dirname(path), name))
    for candidate in (name, beside):
        if os.path.isfile(os.path.join(root, candidate)):
            return candidate
    return GENERATED.get(name)


def is_outside(name):
    return name.startswith("mlir-c/") or name.startswith("oneapi/")


def may_include_system(layer, name):
    if name.startswith("mlir-c/"):
        return TABLE[layer].mlir
    if name.startswith("oneapi/dnnl/"):
        return layer == "runtime"
    return name in TABLE[layer].headers


def check_include(root, path, layer, name, is_system):
    """Why this include is forbidden, or None."""
    if is_system or is_outside(name):
        if not may_include_system(layer, name):
            return f"{layer} may not include <{name}>"
        return None
    target = resolve(root, path, name)
    if target is None:
        return f'no header "{name}" in the tree'
    if not TABLE[layer].paths.match(target):
        return f"{layer} may not include {target}"
    return None


def reaches_mlir(root, path, seen):
    """The first chain of headers from `path` to MLIR, or None."""
    seen.add(path)
    if not os.path.isfile(os.path.join(root, path)):
        return None
    for _, name, is_system in includes(tree.read(root, path)):
        if name.startswith("mlir-c/"):
            return [path, name]
        target = None if is_system else resolve(root, path, name)
        if target and target not in seen:
            rest = reaches_mlir(root, target, seen)
            if rest:
                return [path] + rest
    return None


def check_file(root, path):
    layer, text = layer_of(path), tree.read(root, path)
    for number, name, is_system in includes(text):
        why = check_include(root, path, layer, name, is_system)
        if why:
            yield f"{path}:{number}: {why}"
    if not TABLE[layer].mlir:
        lines = tree.without_comments(text).split("\n")
        for number, line in enumerate(lines, 1):
            call = re.search(r"\bmlir[A-Z]\w*", line)
            if call:
                yield f"{path}:{number}: {layer} may not call {call.group()}"
    if layer == "verify":
        chain = reaches_mlir(root, path, set())
        if chain and len(chain) > 2:
            yield f"{path}: reaches MLIR through {' -> '.join(chain)}"


def check_tree(root):
    for path in tree.sources(root, ENDINGS, LAYERS):
        yield from check_file(root, path)


PLANTED = {
    "dsl/ir/ir.h": ("#include <mlir-c/IR.h>\n", 0),
    "dsl/plan/plan.h": ("#include <stddef.h>\n", 0),
    "dsl/bad.c": ('#include "passes/cost.h"\n', 1),
    "passes/cost.h": ("/* mlirThis is a comment */\n", 0),
    "passes/cost.c": ("int f(void) { return mlirOpGetX(); }\n", 1),
    "passes/cost_pass.c": ("#include <mlir-c/IR.h>\nint g = mlirX;\n", 0),
    "passes/bad.c": ('#include "passes/verify/v.h"\n', 1),
    "passes/solve/s.h": ("#include <string.h>\n", 0),
    "passes/solve/s.c": ('#include "passes/solve/s.h"\n'
                         '#include "dsl/plan/plan.h"\nint x = mlirX;\n', 2),
    "passes/verify/v.h": ('#include "dsl/plan/plan.h"\n', 0),
    "passes/verify/v.c": ('#include "dsl/ir/ir.h"\n', 2),
    "frontend/ast.c": ('#include "gram.h"\n#include <jansson.h>\n', 0),
    "frontend/bad.c": ('#include "passes/cost.h"\n#include <dlfcn.h>\n', 2),
    "frontend/cmd/plan.c": ('#include "passes/cost.h"\n', 0),
    "frontend/cmd/main.c": ("int x = mlirCreate;\n", 1),
    "codegen/c.c": ("#include <mlir-c/IR.h>\n", 1),
    "codegen/d.c": ('#include "nowhere.h"\n', 1),
    "runtime/w.c": ('#include <pthread.h>\n#include <oneapi/dnnl/dnnl.h>\n', 0),
    "runtime/hash.c": ("#include <nettle/sha2.h>\n", 1),
    "runtime/cuda/w.c": ('#include <nettle/sha2.h>\n'
                         '#include "runtime/cuda/none.h"\n', 1),
    "runtime/bad.c": ('#include "dsl/plan/plan.h"\n#include <jansson.h>\n', 2),
}


def self_test():
    """Plants violations; returns messages about counts that are not right."""
    with tempfile.TemporaryDirectory() as root:
        for path, (text, _) in PLANTED.items():
            os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
            with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                file.write(text)
        for path, (_, expected) in PLANTED.items():
            found = list(check_file(root, path))
            if len(found) != expected:
                yield f"{path}: expected {expected} violations, found {found}"


def main():
    check = self_test() if "--self-test" in sys.argv else check_tree(tree.ROOT)
    messages = list(check)
    print("\n".join(messages) or "layers: clean")
    return 1 if messages else 0


if __name__ == "__main__":
    sys.exit(main())
