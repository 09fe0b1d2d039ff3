#!/usr/bin/python3
"""`canzona diff` names each single change of a program, also where another change
moves owners and times beside it.

    diff_changes.py CANZONA
"""
import json
import pathlib
import subprocess
import sys
import tempfile

SOURCE = """
mesh dp = 2, tp = 2

model gpt(width = 64, layers = 4, vocab = 256) {
    params f32 {
        wte                : [vocab/tp, width]
        h[i < layers] {
            attn.{q, k, v} : [width/tp, width]
            norm           : [width]
        }
    }
}

optimizer mine(lr, momentum = 0.95, const keep = 0.5) for any {
    state mom : f32
    mom   <- ema(mom, grad, momentum)
    param <- param - lr * keep * mom
}

use muon(lr = 0.02, momentum = 0.95) as matrices on h.** where ndim == 2
use mine(lr)                         as rest     on **

schedule {
    grads f32 partial over dp
    clip norm 1.0, skip nonfinite
}
"""

# symptom: what was, what is, {(section, name): (before, after)}; None: whatever they are
CHANGES = {
    "momentum": ("0.95) as", "0.9) as", {("hypers", "matrices momentum"): ("0.95", "0.9")}),
    "default of the source": ("momentum = 0.95, const", "momentum = 0.9, const",
                              {("hypers", "rest momentum"): ("0.95", "0.9")}),
    "hyper with a value": ("mine(lr)     ", "mine(lr = 0.1)",
                           {("hypers", "rest lr"): ("the trainer's", "0.1")}),
    "constant hyper": ("keep = 0.5", "keep = 0.25", {("rules", "rest.any"): None}),
    "rule": ("lr * keep * mom", "lr * keep * mom * mom", {("rules", "rest.any"): None}),
    "sign of a rule": ("param - lr", "param + lr", {("rules", "rest.any"): None}),
    "type of a parameter": ("norm           : [", "norm           : bf16[",
                            {("parameters", "h.0.norm"): None}),
    "type of gradients": ("grads f32", "grads bf16",
                          {("reductions", "reduction.0"): None, ("parameters", "wte"): None}),
    "clip": ("norm 1.0", "norm 2.0", {("policy", "clip"): ("1", "2")}),
    "skip": (", skip nonfinite", "", {("policy", "skip"): ("true", "false")}),
    "sum": ("over dp\n", "over dp sum\n", {("reductions", "reduction.0"): None}),
    "initial state": ("mom : f32", "mom : f32 = 1", {("states", "rest.any mom"): None}),
    "shard": ("[vocab/tp, width]", "[vocab, width/tp]", {("parameters", "wte"): None}),
    "mesh": ("dp = 2", "dp = 4", {("mesh", "dp"): (2, 4)}),
    "optimizer": ("use mine(lr)", "use sgd(lr)", {("hypers", "rest"): ("mine", "sgd")}),
    "wire": ("clip", "wire 0.25, clip", {("policy", "wire"): ("0.5", "0.25")}),
    "tolerance": ("clip", "tolerance 0.01, clip", {("policy", "tolerance"): ("0", "0.01")}),
    "bucket": ("clip", "bucket 5000, clip", {("policy", "bucket_elements"): ("400000000", "5000")}),
}
OPTIONS = ("mesh.tp=1", "machine.launch=1e-5")


def plan(canzona, source, *options):
    done = subprocess.run([canzona, "plan", "--json", *options, "-"], input=source,
                          capture_output=True, text=True, timeout=120, check=False)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return done.stdout


def differences(canzona, folder, *plans):
    paths = []
    for i, text in enumerate(plans):
        paths.append(folder / f"{i}.json")
        paths[-1].write_text(text, encoding="utf-8")
    done = subprocess.run([canzona, "diff", "--json", *paths], capture_output=True,
                          text=True, timeout=120, check=False)
    shown = subprocess.run([canzona, "diff", *paths], capture_output=True, text=True,
                           timeout=120, check=False)
    rows = json.loads(done.stdout)["differences"]
    return ({(r["section"], r["name"]): (r["before"], r["after"]) for r in rows}, shown.stdout)


def complaints(canzona, folder):
    original = plan(canzona, SOURCE)
    for symptom, (old, new, expected) in CHANGES.items():
        if SOURCE.count(old) != 1:
            yield f"{symptom}: '{old}' is not in the source once"
            continue
        text = SOURCE.replace(old, new)
        beside = [plan(canzona, text)] + [plan(canzona, text, "-D", o) for o in OPTIONS]
        for number, after in enumerate(beside):
            if number > 0 and symptom == "mesh":
                continue
            found, shown = differences(canzona, folder, original, after)
            for key, values in expected.items():
                if key not in found or values not in (None, found[key]):
                    yield f"{symptom}, {number}: {key} is {found.get(key, 'not said')}"
                if key[0] + ": " not in shown:
                    yield f"{symptom}, {number}: the text has no section {key[0]}"
    for option in OPTIONS:
        found, _ = differences(canzona, folder, original, plan(canzona, SOURCE, "-D", option))
        said = {section for section, _ in found}
        if said & {"hypers", "policy", "rules", "states"}:
            yield f"{option}: {said}"


def main():
    with tempfile.TemporaryDirectory() as folder:
        found = list(complaints(sys.argv[1], pathlib.Path(folder)))
    print("\n".join(found) or f"{len(CHANGES)} changes are named")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
