#!/usr/bin/python3
"""Architectures against models as published: every name and shape that `canzona
import` makes of a configuration is one that transformers makes of it, and the
other way round, ties too; and Muon moves the linear layers and experts alone, but
no head and no router.  tests/models/published.json holds what transformers has;
published_dump.py beside it wrote that.  With --plan small ones are planned and
executed, too.

    published.py CANZONA [NAME ...] [--plan]
    published.py --self-test
"""
import argparse
import itertools
import json
import math
import pathlib
import re
import subprocess
import sys
import tempfile

INVENTORY = pathlib.Path(__file__).resolve().parent / "published.json"
# Classes of transformers whose weights multiply activations.
LINEAR = re.compile(r"Linear$|Experts$|Conv1D$")
APART = re.compile(r"(^|\.)(lm_head|classifier|gate|router|shared_expert_gate)\.")
# Meshes that small models are planned on; the last where there are experts.
MESHES = [{"dp": 8}, {"dp": 4, "tp": 2}, {"pp": 2, "dp": 2, "tp": 2}]
EXPERTS = {"dp": 4, "tp": 2, "ep": "4 of dp"}


# ---- names ----

def values_of(text):
    """"0..2,5" as [0, 1, 2, 5]."""
    for run in text.split(","):
        first, _, last = run.partition("..")
        yield from range(int(first), int(last or first) + 1)


def expanded(tensors):
    """{name: fact} of {pattern: fact}."""
    out = {}
    for pattern, fact in tensors.items():
        parts = re.split(r"\{([^}]*)\}", pattern)
        choices = [list(values_of(text)) for text in parts[1::2]]
        for numbers in itertools.product(*choices):
            words = zip(parts[::2], [*map(str, numbers), ""])
            out["".join(a + b for a, b in words)] = fact
    return out


def folded(shape):
    """More than three dimensions as three: the last ones as one."""
    return [*shape[:2], math.prod(shape[2:])] if len(shape) > 3 else shape


def is_matrix(name, owner, shape):
    return len(shape) > 1 and bool(LINEAR.search(owner)) \
        and not name.endswith("bias") and not APART.search(name)


# ---- what the compiler says ----

def integers(text, key):
    found = re.search(rf" {key} = array<i64(?:: ([^>]*))?>", " " + text)
    return [int(word) for word in (found[1] or "").split(",") if word.strip()]


def words(text, key):
    return re.search(rf'\b{key} = @?"?([^",}}]+)', text)[1]


def members(facts):
    """Names of the members of a pattern."""
    first, extents = integers(facts, "first"), integers(facts, "extents")
    boxes = [range(a, a + n) for a, n in zip(first, extents)]
    name = re.search(r'\bname = "([^"]*)"', facts)[1]
    for index in itertools.product(*boxes):
        yield re.sub(r"\{(\d+)\}", lambda m: str(index[int(m[1])]), name), index


def operations(ir, kind):
    return re.findall(rf'"canzona\.{kind}"\(\) \{{(.*)\}} :', ir)


def tensors_of(ir):
    """(shapes, names of matrices, ties) of the parameters in printed IR."""
    uses = {words(r, "sym_name"): words(r, "use")
            for r in re.findall(r'"canzona\.rule"\(\) \{(.*)\}', ir)}
    patterns = {words(p, "sym_name"): p for p in operations(ir, "pattern")}
    storage = {words(s, "sym_name"): s for s in operations(ir, "storage")}
    kept = {words(s, "pattern"): storage[words(s, "storage")]
            for s in operations(ir, "stored")}
    shapes, matrices, ties = {}, set(), {}
    for sym, facts in patterns.items():
        stored = kept.get(sym, facts)
        names = dict(members(stored))
        shapes.update(dict.fromkeys(names, integers(stored, "shape")))
        if uses[words(facts, "rule")] == "matrices":
            matrices.update(names)
    for facts in operations(ir, "frozen"):
        shapes.update(dict.fromkeys(dict(members(facts)),
                                    integers(facts, "shape")))
    for facts in operations(ir, "tie"):
        target = patterns[words(facts, "pattern")]
        index = tuple(integers(facts, "index"))
        there = {i: name for name, i in members(target)}
        ties.update(dict.fromkeys(dict(members(facts)), there[index]))
    return shapes, matrices, ties


def called(*command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=280)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}:\n{done.stdout}{done.stderr}")
    return done.stdout


def imported(canzona, folder, name, entry):
    """The program that import writes of the configuration, and options for it:
    no key says that transformers keeps a layer's experts as one tensor."""
    config, program = folder / "config.json", folder / "program.cz"
    config.write_text(json.dumps(entry["config"]))
    program.unlink(missing_ok=True)
    called(canzona, "import", config, "-o", program)
    model = re.search(r"^model (\w+)", program.read_text(), re.M)[1]
    batched = name.endswith("-batched")
    return program, [f"-D{model}.batched_experts=true"] if batched else []


# ---- checks ----

def differing(kind, found, expected):
    """Up to five differences in words."""
    names = [n for n in {**expected, **found} if found.get(n) != expected.get(n)]
    return [f"{kind} {n}: canzona {found.get(n)}, transformers {expected.get(n)}"
            for n in names[:5]]


def check(name, entry, ir):
    shapes, matrices, ties = tensors_of(ir)
    facts = expanded(entry["tensors"])
    wrong = differing("tensor", shapes,
                      {n: folded(shape) for n, (_, shape) in facts.items()})
    wrong += differing("tie", ties, entry["ties"])
    wrong += differing("matrix", dict.fromkeys(matrices, True), {
        n: True for n, fact in facts.items() if is_matrix(n, *fact)})
    if len(facts) != entry["n_tensors"]:
        wrong.append(f"{len(facts)} names, not {entry['n_tensors']}")
    if wrong:
        sys.exit(f"{name}:\n  " + "\n  ".join(wrong))
    return len(facts), len(matrices), sum(math.prod(s) for s in shapes.values())


def is_small(entry):
    return entry["n_elements"] < 1_000_000


def on_mesh(program, text, mesh):
    """The program's text, on another mesh, into its file."""
    axes = ", ".join(f"{axis} = {size}" for axis, size in mesh.items())
    program.write_text(re.sub(r"^mesh .*", f"mesh {axes}", text, flags=re.M))


def check_plans(canzona, program, options):
    """Plans on several meshes are verified, also with experts dealt out; the last
    is executed beside one rank and float64."""
    text = program.read_text()
    meshes = MESHES + ([EXPERTS] if "experts" in text else [])
    for mesh in meshes:
        on_mesh(program, text, mesh)
        called(canzona, "plan", "--no-baselines", *options, program)
    on_mesh(program, text, {**meshes[-1], "pp": 1, "dp": 2, **(
        {"ep": "2 of dp"} if "ep" in meshes[-1] else {})})
    rates = [f"-D{use}.lr=0.01" for use in re.findall(r" as (\w+) ", text)]
    called(canzona, "run", "--check", "--steps=2", *rates, *options, program)
    return len(meshes)


def check_all(canzona, names, plan):
    inventory = json.loads(INVENTORY.read_text())
    n_checked = 0
    with tempfile.TemporaryDirectory() as folder:
        for name in names or inventory:
            entry = inventory[name]
            if plan and not is_small(entry):
                continue
            program, options = imported(canzona, pathlib.Path(folder), name, entry)
            counts = check(name, entry, called(canzona, "plan", "--ir=source",
                                               *options, program))
            plans = f", {check_plans(canzona, program, options)} plans, a run" \
                if plan else ""
            print("{}: {:,} tensors, {:,} of them matrices, {:,} elements{}"
                  .format(name, *counts, plans), flush=True)
            n_checked += 1
    if n_checked == 0:
        sys.exit("nothing was checked")


def self_test():
    """Names that lack, are too many, have another shape, tie or group are seen."""
    ir = ('"canzona.rule"() {sym_name = "matrices.2x3", use = @matrices} : x\n'
          '"canzona.rule"() {sym_name = "rest.any", use = @rest} : x\n'
          '"canzona.pattern"() {extents = array<i64: 2>, first = array<i64: 1>, '
          'name = "a.{0}.w", rule = @matrices.2x3, shape = array<i64: 2, 3>, '
          'sym_name = "param.0"} : x\n'
          '"canzona.pattern"() {extents = array<i64>, first = array<i64>, '
          'name = "b", rule = @rest.any, shape = array<i64: 7>, '
          'sym_name = "param.1"} : x\n'
          '"canzona.tie"() {extents = array<i64>, first = array<i64>, '
          'index = array<i64>, name = "c", pattern = @param.1} : x\n')
    good = {"tensors": {"a.{1..2}.w": ["Linear", [2, 3]], "b": ["Norm", [7]]},
            "ties": {"c": "b"}, "n_tensors": 3}
    assert check("good", good, ir) == (3, 2, 19)
    bad = [dict(good, ties={}), dict(good, n_tensors=2),
           dict(good, tensors={**good["tensors"], "d": ["Norm", [1]]},
                n_tensors=4),
           dict(good, tensors={**good["tensors"], "b": ["Norm", [8]]}),
           dict(good, tensors={**good["tensors"],
                               "a.{1..2}.w": ["Embedding", [2, 3]]})]
    for i, entry in enumerate(bad):
        try:
            check(f"bad {i}", entry, ir)
        except SystemExit:
            continue
        sys.exit(f"self-test: fault {i} went unseen")
    print(f"published.py sees {len(bad)} faults")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("canzona", nargs="?")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--plan", action="store_true")
    parser.add_argument("--self-test", action="store_true")
    args = parser.parse_args()
    if args.self_test:
        return self_test()
    check_all(args.canzona, args.names, args.plan)


if __name__ == "__main__":
    main()
