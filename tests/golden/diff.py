#!/usr/bin/python3
"""`canzona diff`: what it says of two plans, against their JSON; and that it
sees a change in any part of a document.

    diff.py CANZONA FILE.cz OPTION
The second plan has the option, as mesh.dp=4.
"""
import copy
import json
import os
import subprocess
import sys
import tempfile

from plan_schema import Validator, canonical

HERE = os.path.dirname(os.path.abspath(__file__))
OK, ERRORS, DIFFERENT = 0, 1, 4
MEMORIES = ("param", "grad", "reduced", "master", "state", "scratch")


def run(*words):
    done = subprocess.run(words, capture_output=True, text=True, timeout=120,
                          check=False)
    return done.returncode, done.stdout, done.stderr


def owners(plan):
    return {plan["parameters"][m["parameter"]]["name"]:
            (m["strategy"], m["group_size"], m["owner"])
            for m in plan["matrices"]}


def changed(a, b):
    return {name for name in a.keys() | b.keys() if a.get(name) != b.get(name)}


def axes(plan):
    sizes = {a["name"]: a["size"] for a in plan["mesh"]["axes"]}
    found = {"ranks": plan["mesh"]["ranks"]}
    for name in plan["mesh"]["names"]:
        found[name["name"]] = 1
        for axis in name["axes"]:
            found[name["name"]] *= sizes[axis]
    return found


def numbers(plan):
    """{(section, name): number} of those that are compared as they are."""
    metrics = plan["metrics"]
    times = metrics["time_ps"]
    found = {("mesh", name): n for name, n in axes(plan).items()}
    found["time", "busiest rank"] = max(times)
    found["time", "mean rank"] = sum(times) // len(times)
    found["time", "bound"] = max(b["value"] for b in metrics["bounds"]
                                  if b["of"] == "kernels")
    for kind in MEMORIES:
        found["memory", kind] = max(metrics["memory_bytes"][kind])
    for kind, sent in metrics["sent_bytes"].items():
        found["wire", kind] = sum(sent)
    for kind, sent in metrics["trainer_bytes"].items():
        found["wire", f"trainer's {kind}"] = sent
    return found


def complaints(rows, a, b):
    before, after = numbers(a), numbers(b)
    found = {(r["section"], r["name"]): (r["before"], r["after"]) for r in rows
             if r["section"] in ("mesh", "time", "memory", "wire")}
    expected = {key: (before.get(key), after.get(key))
                for key in changed(before, after)}
    if found != expected:
        yield f"numbers: {found}, not {expected}"
    moved = {r["name"] for r in rows if r["section"] == "owners"}
    if moved != changed(owners(a), owners(b)):
        yield f"{len(moved)} owners moved"
    buckets = {int(r["name"]) for r in rows if r["section"] == "buckets"}
    if len(a["buckets"]) != len(b["buckets"]) and not (
            set(range(*sorted((len(a["buckets"]), len(b["buckets"]))))) <= buckets):
        yield "buckets of one plan alone are not said"


def form_complaints(out):
    with open(os.path.join(HERE, "diff.schema.json"), encoding="utf-8") as file:
        validator = Validator(json.load(file))
    yield from validator.validate(json.loads(out))
    if out != canonical(json.loads(out)) + "\n":
        yield "JSON is not canonical"


def compare(canzona, folder, plans):
    paths = [write(folder, i, plan) for i, plan in enumerate(plans)]
    status, out, _ = run(canzona, "diff", "--json", *paths)
    rows = json.loads(out)["differences"]
    yield from form_complaints(out)
    if status != (DIFFERENT if rows else OK):
        yield f"exit {status} with {len(rows)} differences"
    yield from complaints(rows, *plans)
    status, text, _ = run(canzona, "diff", *paths)
    for section in {r["section"] for r in rows}:
        if f"{section}: " not in text:
            yield f"the text has no section {section}"
    status, out, _ = run(canzona, "diff", "--json", *reversed(paths))
    back = {(r["section"], r["name"], r["after"], r["before"])
            for r in json.loads(out)["differences"]}
    if back != {(r["section"], r["name"], r["before"], r["after"]) for r in rows}:
        yield "the other way round it is not the same"


def write(folder, name, plan):
    path = os.path.join(folder, f"{name}.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(plan, file)
    return path


def bump(value):
    """The same with its first number changed."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value + 1
    if isinstance(value, (list, dict)):
        keys = value if isinstance(value, dict) else range(len(value))
        for key in keys:
            part = bump(value[key])
            if part is not None:
                result = copy.copy(value)
                result[key] = part
                return result
    return None


def unseen(canzona, folder, plan):
    """Parts of a document in which a change is not noticed."""
    whole = write(folder, "whole", plan)
    for part in plan:
        if part in ("schema", "header"):
            continue
        damaged = bump(plan[part])
        if damaged is None:
            continue
        path = write(folder, "damaged", plan | {part: damaged})
        status, _, error = run(canzona, "diff", whole, path)
        if status not in (DIFFERENT, ERRORS) or (status == ERRORS and not error):
            yield f"a change in {part} ends with {status}"


def planned(canzona, *words):
    status, out, error = run(canzona, "plan", "--json", *words)
    if status != OK:
        sys.exit(error)
    return json.loads(out)


def same(canzona, folder, source):
    """A comment changes hashes alone, of a source and of its plan."""
    with open(source, encoding="utf-8") as file:
        text = file.read()
    path = os.path.join(folder, os.path.basename(source))
    with open(path, "w", encoding="utf-8") as file:
        file.write("# so\n" + text)
    status, out, _ = run(canzona, "diff", source, path)
    if (status, out) != (OK, "no differences\n"):
        yield f"a comment is a difference: {status} {out}"


def main():
    canzona, source, option = sys.argv[1:]
    plans = [planned(canzona, source), planned(canzona, "-D", option, source)]
    with tempfile.TemporaryDirectory() as folder:
        found = list(compare(canzona, folder, plans))
        found += compare(canzona, folder, [plans[0], plans[0]])
        found += unseen(canzona, folder, plans[0])
        if "configs/" not in open(source, encoding="utf-8").read():
            found += same(canzona, folder, source)
    print("\n".join(found) or "differences are those of JSON")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
