#!/usr/bin/python3
"""Every constant in the stages of the library's optimizers is another one: times 1.5,
0, times 1000.  The verifier refuses, or nothing changes.

It once accepted `where(x > -1, x, -1)` for `where(x > 0, x, 0)`, and any floor
under a norm that gradients of ordinary size do not reach.

    verify_constants.py CANZONA JUDGE FOLDER [OPTIMIZER...]
"""
import pathlib
import re
import subprocess
import sys
import tempfile

OPTIMIZER = re.compile(r"^optimizer (\w+)\(", re.M)
SOURCE = """mesh dp = 1, tp = 1
model constants {{ params f32 {{ w : [{}] }} }}
use {}(lr = 0.01) on **
"""
NUMBER = r"-?\d+(?:\.\d+)?(?:e[-+]\d+)?"
# Of bodies, of what a product without one does with its sum, and of factorisations.
CONSTANT = re.compile(rf"(?:arith\.constant |alpha = |beta = )({NUMBER})"
                      rf'(?!.* body = "?@)|(?<=parameters = array<f64: )([^>]+)>')
CHANGES = (lambda x: 1.5 * x, lambda x: 0.0, lambda x: 1000 * x)


def stages_of(text):
    """Where the stages' functions begin: behind all rules."""
    return text.index('"canzona.stage"')


def mutants(text):
    for found in CONSTANT.finditer(text, stages_of(text)):
        group = 1 if found[1] else 2
        items = found[group].split(", ")
        for k, item in enumerate(items):
            for change in CHANGES:
                value = change(float(item))
                if value != float(item):
                    again = ", ".join([*items[:k], f"{value:.17e}", *items[k + 1:]])
                    yield (text[:found.start(group)] + again +
                           text[found.end(group):], f"{item} -> {value:g}")


def try_one(canzona, judge, name, work):
    """How many changes there were, and what became of those that were accepted."""
    for shape in ("6, 4", "6, 6"):
        done = subprocess.run([canzona, "plan", "--ir", "-"], text=True,
                              input=SOURCE.format(shape, name), check=False,
                              capture_output=True)
        if done.returncode == 0:
            break
    if done.returncode:
        return 0, [done.stderr]
    (work / "plan.mlir").write_text(done.stdout)
    changes = []
    for k, (text, change) in enumerate(mutants(done.stdout)):
        (work / f"{k}.mlir").write_text(text)
        changes.append(change)
    answers = subprocess.run([judge, work / "plan.mlir", "12"], text=True,
                             input="".join(f"{work}/{k}.mlir\n"
                                           for k in range(len(changes))),
                             stdout=subprocess.PIPE, check=False).stdout.splitlines()
    if len(answers) != len(changes):
        return 0, ["no judgement"]
    return len(changes), [f"{change}: {answer}" for change, answer in
                          zip(changes, answers)
                          if not answer.startswith(("rejected", "malformed"))]


def main(canzona, judge, folder, *names):
    names = names or sorted({name for file in pathlib.Path(folder).glob("*.cz")
                             for name in OPTIMIZER.findall(file.read_text())})
    n_all, n_wrong, n_idle = 0, 0, 0
    for name in names:
        with tempfile.TemporaryDirectory() as work:
            n, accepted = try_one(canzona, judge, name, pathlib.Path(work))
        wrong = [line for line in accepted if ": same" not in line]
        n_all, n_wrong, n_idle = (n_all + n, n_wrong + len(wrong),
                                  n_idle + len(accepted) - len(wrong))
        for line in accepted:
            print(f"{name}: {line}")
    print(f"{n_all} changes of constants: {n_idle} accepted that change no bit, "
          f"{n_wrong} that are wrong")
    return n_wrong > 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
