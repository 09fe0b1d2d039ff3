#!/usr/bin/python3
"""Which folder may include which: one row of a table a folder.

A folder may include itself, what its row says, and the system headers of its
top-level room; MLIR only where the row says so.  The verifier may not reach
MLIR through other headers either.  No circle of folders, none of headers, and
at most 25 sources in a folder.  --self-test plants one violation of each kind
and expects exactly those; --print shows the table as docs/ARCHITECTURE.md has it.
"""
import os
import re
import sys
import tempfile

import tree

ENDINGS = (".c", ".h", ".re", ".y", ".def", ".cu", ".cuh")
ROOMS = ("dsl", "frontend", "passes", "codegen", "runtime")
MOST_SOURCES = 25
C_HEADERS = {
    "assert.h", "ctype.h", "errno.h", "fenv.h", "float.h", "inttypes.h",
    "limits.h", "locale.h", "math.h", "setjmp.h", "signal.h", "stdalign.h",
    "stdarg.h", "stdatomic.h", "stdbool.h", "stddef.h", "stdint.h", "stdio.h",
    "stdlib.h", "stdnoreturn.h", "string.h", "time.h", "unistd.h", "fcntl.h",
    "sys/stat.h", "sys/types.h", "sys/wait.h", "sys/resource.h",
    "sys/mman.h", "sys/statvfs.h", "poll.h", "strings.h", "dirent.h", "spawn.h",
    "sys/time.h",
}
RUNTIME = {"pthread.h", "dlfcn.h", "sched.h", "immintrin.h", "cpuid.h"}
JSON = {"jansson.h"}
HASH = {"nettle/sha2.h"}

BASE = "dsl/base"
PLAN = "dsl/base dsl/vocab dsl/plan"
IR = f"{PLAN} dsl/ir"
BUILT = f"{IR} dsl/plan/build"

# folder: (folders that it may include, system headers besides C's)
TABLE = {
    "dsl/base": ("", set()),
    "dsl/vocab": (BASE, set()),
    "dsl/syntax": (BASE, set()),
    "dsl/ir": (f"{BASE} dsl/vocab", {"mlir-c"}),
    "dsl/plan": (f"{BASE} dsl/vocab", set()),
    "dsl/plan/build": (IR, set()),
    "dsl/reference": (IR, set()),

    "frontend/syntax": (f"{BASE} dsl/syntax", set()),
    "frontend/names": (f"{BASE} dsl/syntax frontend/syntax frontend/document",
                       JSON),
    "frontend/model": (f"{BASE} dsl/vocab dsl/syntax frontend/names", set()),
    "frontend/rule": (f"{IR} dsl/syntax frontend/names frontend/rule/expand",
                      set()),
    "frontend/rule/expand": (f"{BASE} dsl/syntax frontend/names", set()),
    "frontend/program": (f"{IR} dsl/syntax frontend/names frontend/model "
                         "frontend/rule", HASH),
    "frontend/format": (f"{BASE} dsl/syntax frontend/syntax", set()),
    "frontend/import": (f"{BASE} dsl/vocab frontend/names frontend/model "
                        "frontend/program frontend/format "
                        "frontend/document", JSON),
    "frontend/document": (PLAN, JSON | HASH),
    "frontend/document/plan": (
        f"{PLAN} frontend/document passes/bound passes/cost passes/grid "
        "passes/baseline passes/kernel passes/solve", set()),
    "frontend/report": (
        f"{PLAN} frontend/document frontend/document/plan passes/bound "
        "passes/baseline passes/cost passes/simulate", set()),
    "frontend/report/page": (f"{BASE} frontend/document frontend/report", set()),
    "frontend/tune": (
        f"{BUILT} dsl/syntax frontend/syntax frontend/names frontend/model "
        "frontend/program frontend/document frontend/document/plan passes "
        "passes/cost passes/simulate passes/verify", set()),
    "frontend/lsp": (
        f"{BASE} dsl/syntax dsl/vocab frontend/syntax frontend/names "
        "frontend/model frontend/program frontend/format", JSON),
    "frontend/run": (f"{PLAN} frontend/document codegen runtime runtime/base "
                     "runtime/cuda/driver runtime/cuda/library "
                     "runtime/cuda/products runtime/cuda/world runtime/math "
                     "runtime/world",
                     {"dlfcn.h", "pthread.h"}),
    "frontend/cmd": (
        f"{BUILT} codegen frontend/syntax frontend/program frontend/rule "
        "frontend/rule/expand frontend/format frontend/import "
        "frontend/document frontend/document/plan frontend/report "
        "frontend/lsp frontend/names frontend/tune "
        "frontend/report/page frontend/run passes passes/cost passes/gpu "
        "passes/grid passes/share passes/simulate passes/verify",
        JSON | HASH | {"argp.h", "malloc.h"}),
    # Model types that have another's parameters are in frontend/model.
    "frontend/cmd/help": (f"{PLAN} dsl/syntax frontend/cmd frontend/document "
                         "frontend/model frontend/names frontend/syntax", set()),
    "frontend/cmd/run": (f"{PLAN} dsl/reference frontend/cmd "
                         "frontend/document frontend/run "
                         "runtime/cuda/exec",
                         set()),

    "passes": (f"{BASE} dsl/ir", set()),
    "passes/graph": (f"{BASE} dsl/vocab dsl/ir", set()),
    "passes/math": (f"{IR} passes passes/graph passes/kernel passes/cost",
                    {"mlir-c"}),
    "passes/cut": (f"{IR} passes passes/graph", {"mlir-c"}),
    "passes/kernel": (f"{BUILT} passes passes/graph passes/cost", {"mlir-c"}),
    "passes/grid": (PLAN, set()),
    "passes/cost": (f"{PLAN} passes/grid passes/solve/subgroup "
                    "passes/timeline", set()),
    "passes/bound": (f"{PLAN} passes/cost passes/grid passes/kernel "
                     "passes/solve/bound", set()),
    "passes/timeline": (BASE, set()),
    "passes/solve": (f"{BASE} passes/timeline", set()),
    "passes/solve/bound": (f"{BASE} passes/solve", set()),
    "passes/solve/search": (f"{BASE} passes/solve passes/solve/bound", set()),
    "passes/solve/subgroup": (f"{BASE} passes/timeline", set()),
    "passes/gpu": (f"{BUILT} passes passes/cost passes/grid", set()),
    "passes/baseline": (f"{PLAN} passes/cost passes/grid passes/kernel "
                        "passes/place passes/solve passes/solve/subgroup "
                        "passes/timeline", set()),
    "passes/place": (f"{BUILT} passes passes/cost passes/grid passes/kernel "
                     "passes/solve passes/solve/search passes/solve/subgroup "
                     "passes/timeline", set()),
    "passes/share": (f"{BUILT} passes passes/cost passes/grid passes/kernel",
                     set()),
    "passes/schedule": (f"{BUILT} passes passes/cost passes/grid "
                        "passes/kernel passes/solve passes/timeline", set()),
    "passes/simulate": (f"{PLAN} passes/cost passes/timeline", set()),
    "passes/verify": ("dsl/base dsl/plan dsl/vocab passes/verify/small", set()),
    "passes/verify/small": ("dsl/base dsl/plan dsl/vocab", set()),

    "codegen": (f"{PLAN} codegen/common", set()),
    "codegen/common": (PLAN, set()),
    "codegen/c": (f"{PLAN} codegen/common", set()),
    "codegen/cuda": (f"{PLAN} codegen codegen/common", set()),

    "runtime": ("", RUNTIME | {"mpi.h"}),
    "runtime/base": ("runtime", RUNTIME),
    "runtime/program": ("runtime runtime/base", RUNTIME),
    "runtime/math": ("runtime runtime/base", RUNTIME | {"oneapi/dnnl"}),
    "runtime/world": ("runtime runtime/base runtime/program", RUNTIME),
    "runtime/mpi": ("runtime", RUNTIME | {"mpi.h"}),
    "runtime/device": ("runtime runtime/base runtime/program runtime/math",
                       RUNTIME),
    "runtime/engine": ("runtime runtime/base runtime/program runtime/math "
                       "runtime/world runtime/device", RUNTIME),
    "runtime/checkpoint": ("runtime runtime/base runtime/engine", RUNTIME),
    "runtime/cuda/kernels": ("", set()),
    "runtime/cuda/library": ("runtime", RUNTIME),
    "runtime/cuda/driver": ("runtime runtime/base runtime/cuda/library",
                            RUNTIME | HASH | {"nvtx3"}),
    "runtime/cuda/collect": ("runtime runtime/base runtime/math runtime/world "
                             "runtime/cuda/driver", RUNTIME),
    "runtime/cuda/products": ("runtime runtime/base runtime/math "
                              "runtime/program runtime/cuda/driver "
                              "runtime/cuda/library", RUNTIME),
    "runtime/cuda/factor": ("runtime runtime/base runtime/math "
                            "runtime/cuda/driver runtime/cuda/library "
                            "runtime/cuda/products", RUNTIME),
    "runtime/cuda/exec": ("runtime runtime/base runtime/program "
                          "runtime/device runtime/engine runtime/cuda/driver "
                          "runtime/cuda/products runtime/cuda/collect", RUNTIME),
    "runtime/cuda/world": ("runtime runtime/base runtime/program "
                           "runtime/world runtime/cuda/driver "
                           "runtime/cuda/library runtime/cuda/collect "
                           "runtime/cuda/products runtime/cuda/exec", RUNTIME),
}
# What both sides share is one text: the compiler expands it, and includes no
# code of the runtime.
SHARED = "runtime/abi.def"
SHARERS = ("dsl/vocab", "codegen/c")
# The parser's generated header has no file.
GENERATED = {"gram.h": "frontend/syntax/gram.h"}
# What the verifier may see of the plan, and nothing else of its folders.
VERIFIER = re.compile(r"dsl/base/|dsl/plan/(box|error_bound|plan|within)\.h$|"
                      r"dsl/vocab/opcode\.def$|passes/verify/")


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


def check_system(folder, path, name):
    """Why a header from outside may not be included, or None."""
    allowed = TABLE[folder][1]
    if name.startswith("mlir-c/"):
        is_pass = not folder.startswith("passes/") or path.endswith("_pass.c")
        fine = "mlir-c" in allowed and is_pass
    else:
        fine = name in C_HEADERS | allowed or os.path.dirname(name) in allowed
    return None if fine else f"{folder} may not include <{name}>"


def check_include(root, path, folder, name, is_system):
    """Why this include is forbidden, or None."""
    if is_system or name.startswith(("mlir-c/", "oneapi/")):
        return check_system(folder, path, name)
    target = resolve(root, path, name)
    if target is None:
        return f'no header "{name}" in the tree'
    other = os.path.dirname(target)
    if folder.startswith("passes/verify") and not VERIFIER.match(target):
        return f"{folder} may not include {target}"
    if target == SHARED and folder in SHARERS:
        return None
    if other != folder and other not in TABLE[folder][0].split():
        return f"{folder} may not include {target}"
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
    folder, text = os.path.dirname(path), tree.read(root, path)
    if folder not in TABLE:
        yield f"{path}: {folder} has no row in the table of layers"
        return
    for number, name, is_system in includes(text):
        why = check_include(root, path, folder, name, is_system)
        if why:
            yield f"{path}:{number}: {why}"
    if "mlir-c" not in TABLE[folder][1] or (
            folder.startswith("passes/") and not path.endswith("_pass.c")):
        lines = tree.without_comments(text).split("\n")
        for number, line in enumerate(lines, 1):
            call = re.search(r"\bmlir[A-Z]\w*", line)
            if call:
                yield f"{path}:{number}: {folder} may not call {call.group()}"
    if folder.startswith("passes/verify"):
        chain = reaches_mlir(root, path, set())
        if chain and len(chain) > 2:
            yield f"{path}: reaches MLIR through {' -> '.join(chain)}"


def circles(edges):
    """One way round for each node that reaches itself; {node: {node}}."""
    found = []
    done = set()

    def walk(node, way):
        if node in way:
            found.append(way[way.index(node):] + [node])
            return
        if node in done:
            return
        for other in sorted(edges.get(node, ())):
            walk(other, way + [node])
        done.add(node)

    for node in sorted(edges):
        walk(node, [])
    return found


def check_whole(root, files):
    """What no single file shows: sizes of folders, and circles."""
    folders, headers, sizes = {}, {}, {}
    for path in files:
        folder = os.path.dirname(path)
        sizes[folder] = sizes.get(folder, 0) + 1
        for _, name, is_system in includes(tree.read(root, path)):
            target = None if is_system else resolve(root, path, name)
            if not target or target == path:
                continue
            headers.setdefault(path, set()).add(target)
            if os.path.dirname(target) != folder:
                folders.setdefault(folder, set()).add(os.path.dirname(target))
    for folder, size in sorted(sizes.items()):
        if size > MOST_SOURCES:
            yield f"{folder}: {size} sources, more than {MOST_SOURCES}"
    for way in circles(folders):
        yield f"a circle of folders: {' -> '.join(way)}"
    for way in circles(headers):
        yield f"a circle of headers: {' -> '.join(way)}"


def check_tree(root):
    files = tree.sources(root, ENDINGS, ROOMS)
    for path in files:
        yield from check_file(root, path)
    yield from check_whole(root, files)


PLANTED = {
    "dsl/ir/ir.h": ("#include <mlir-c/IR.h>\n", 0),
    "dsl/plan/plan.h": ("#include <stddef.h>\n", 0),
    "dsl/plan/bad.c": ('#include "passes/cost/cost.h"\n', 1),
    "dsl/nowhere/bad.c": ("int x;\n", 1),
    "passes/cost/cost.h": ("/* mlirThis is a comment */\n", 0),
    "passes/cost/cost.c": ("int f(void) { return mlirOpGetX(); }\n", 1),
    "passes/math/gram_pass.c": ("#include <mlir-c/IR.h>\nint g = mlirX;\n", 0),
    "passes/math/gram.c": ("#include <mlir-c/IR.h>\nint g = mlirX;\n", 2),
    "passes/cut/bad.c": ('#include "passes/verify/v.h"\n', 1),
    "passes/solve/s.h": ("#include <string.h>\n", 0),
    "passes/solve/s.c": ('#include "passes/solve/s.h"\n'
                         '#include "dsl/plan/plan.h"\nint x = mlirX;\n', 2),
    "passes/verify/v.h": ('#include "dsl/plan/plan.h"\n', 0),
    "passes/verify/v.c": ('#include "dsl/ir/ir.h"\n', 2),
    "frontend/syntax/parse.c": ('#include "gram.h"\n', 0),
    "frontend/names/config.c": ("#include <jansson.h>\n", 0),
    "frontend/model/bad.c": ('#include "passes/cost/cost.h"\n'
                             "#include <dlfcn.h>\n", 2),
    "frontend/cmd/plan.c": ('#include "passes/cost/cost.h"\n', 0),
    "frontend/cmd/main.c": ("int x = mlirCreate;\n", 1),
    "codegen/c/loop.c": ("#include <mlir-c/IR.h>\n", 1),
    "codegen/cuda/d.c": ('#include "nowhere.h"\n', 1),
    "runtime/math/w.c": ("#include <pthread.h>\n"
                         "#include <oneapi/dnnl/dnnl.h>\n", 0),
    "runtime/world/hash.c": ("#include <nettle/sha2.h>\n", 1),
    "runtime/cuda/driver/w.c": ("#include <nettle/sha2.h>\n"
                                '#include "runtime/cuda/none.h"\n', 1),
    "runtime/engine/bad.c": ('#include "dsl/plan/plan.h"\n'
                             "#include <jansson.h>\n", 2),
}
# Whole trees, and how many complaints they are worth.
PLANTED_WHOLES = [
    ({f"dsl/base/a{i}.c": "" for i in range(MOST_SOURCES + 1)}, 1),
    ({f"dsl/base/a{i}.c": "" for i in range(MOST_SOURCES)}, 0),
    ({"dsl/ir/a.h": '#include "dsl/plan/b.h"\n',
      "dsl/plan/b.h": '#include "dsl/ir/c.h"\n', "dsl/ir/c.h": ""}, 1),
    ({"dsl/ir/a.h": '#include "dsl/ir/b.h"\n',
      "dsl/ir/b.h": '#include "dsl/ir/a.h"\n'}, 1),
]


def write(root, files):
    for path, text in files.items():
        os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
        with open(os.path.join(root, path), "w", encoding="utf-8") as file:
            file.write(text)


def self_test():
    """Plants violations; returns messages about counts that are not right."""
    with tempfile.TemporaryDirectory() as root:
        write(root, {path: text for path, (text, _) in PLANTED.items()})
        for path, (_, expected) in PLANTED.items():
            found = list(check_file(root, path))
            if len(found) != expected:
                yield f"{path}: expected {expected} violations, found {found}"
    for files, expected in PLANTED_WHOLES:
        with tempfile.TemporaryDirectory() as root:
            write(root, files)
            found = list(check_whole(root, sorted(files)))
            if len(found) != expected:
                yield f"{sorted(files)[:3]}: expected {expected}, found {found}"


def main():
    if "--print" in sys.argv:
        for folder, (others, _) in TABLE.items():
            print(f"| `{folder}` | {others.replace(' ', ', ')} |")
        return 0
    check = self_test() if "--self-test" in sys.argv else check_tree(tree.ROOT)
    messages = list(check)
    print("\n".join(messages) or "layers: clean")
    return 1 if messages else 0


if __name__ == "__main__":
    sys.exit(main())
