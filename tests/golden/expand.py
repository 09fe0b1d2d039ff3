#!/usr/bin/python3
"""Chains and the equations that `canzona fmt --expand` writes for them compile to
the same IR: names of states, types, order of operations, numbers.

    expand.py CANZONA COMPILE_TOOL FOLDER MANUAL

The programs of FOLDER, the chains of MANUAL and the library's files; what is
expanded is expanded already, and numbers that were changed are noticed.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

CANZONA, COMPILE_TOOL = sys.argv[1:3]
FOLDER, MANUAL = map(pathlib.Path, sys.argv[3:5])
LIBRARY = MANUAL.parent / "std" / "opt"
MODEL = """model tiny(d = 64, layers = 2) {
    params f32 {
        up[i < layers]   : [2*d, d]
        down[i < layers] : [d, 2*d] stored transposed
    }
}
"""
PATHS = "up.0", "down.0", "up.1", "down.1"
# The text's hash and nothing else tells the program of a chain from the other.
HASH = re.compile(r'source_hash = "[0-9a-f]*"')


def demand(holds, what):
    if not holds:
        sys.exit(f"expand: {what}")


def run(*words):
    return subprocess.run(words, capture_output=True, text=True, timeout=120,
                          check=False)


def expanded(file):
    done = run(CANZONA, "fmt", "--expand", str(file))
    demand(done.returncode == 0, f"{file.name}: {done.stderr}")
    return done.stdout


def ir(folder, text):
    """The program's IR; its file's name is part of it."""
    file = folder / "program.cz"
    file.write_text(text, encoding="utf-8")
    done = run(COMPILE_TOOL, str(file))
    demand(done.returncode == 0, f"{done.stdout}{done.stderr}\n{text}")
    without, n = HASH.subn("", done.stdout)
    demand(n == 1, "the IR has no hash of its source")
    return without


def optimizers(text):
    return re.findall(r"^optimizer .*?^}", text, re.M | re.S)


def examine(folder, name, text):
    """How many rules were written as equations."""
    file = folder / "chain.cz"
    file.write_text(text, encoding="utf-8")
    equations = expanded(file)
    before = optimizers(text)
    demand(len(before) == len(optimizers(equations)), f"{name}: rules are lost")
    demand(not any("|>" in rule for rule in optimizers(equations)),
           f"{name}: a chain is left")
    demand(ir(folder, text) == ir(folder, equations), f"{name}: another IR")
    file.write_text(equations, encoding="utf-8")
    demand(expanded(file) == equations, f"{name}: expanded twice")
    changed = re.sub(r"\b0\.9(\d*)\b", r"0.8\1", equations)
    demand(ir(folder, changed) != ir(folder, text),
           f"{name}: another number is not noticed")
    return sum(a != b for a, b in zip(before, optimizers(equations)))


def chapters():
    """The manual's chains, with a model and uses."""
    section = MANUAL.read_text(encoding="utf-8").split("### Chains\n")[1]
    section = section.split("\n### ")[0]
    for text in re.findall(r"^```cz\n(.*?)^```$", section, re.M | re.S):
        rules = re.findall(r"^optimizer (\w+)", text, re.M) * len(PATHS)
        uses = "".join(f"use {rule}(lr) as group_{i} on {path}\n"
                       for i, (path, rule) in enumerate(zip(PATHS, rules)))
        yield text + MODEL + uses


def main():
    n = n_rules = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for file in sorted(FOLDER.glob("*.cz")):
            if file.with_suffix(".err").exists():
                continue
            n_rules += examine(folder, file.name,
                               file.read_text(encoding="utf-8"))
            n += 1
        chains, equations = chapters()
        for text in (chains, equations):
            n_rules += examine(folder, "the manual's", text)
            n += 1
        file = folder / "chains.cz"
        file.write_text(chains, encoding="utf-8")
        demand(optimizers(equations)[0] in expanded(file),
               "the manual's equations are others")
        for file in sorted(LIBRARY.glob("*.cz")):
            source = file.read_text(encoding="utf-8")
            demand("|>" in "".join(optimizers(source)) or
                   expanded(file) == source, f"{file.name} changes")
    demand(n_rules > 5, "too few chains")
    print(f"expand: {n} programs, {n_rules} rules as equations, the same IR")


if __name__ == "__main__":
    main()
