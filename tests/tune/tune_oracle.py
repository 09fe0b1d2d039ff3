#!/usr/bin/python3
"""`canzona tune` against all meshes and all geometries: small models and
machines are drawn, each mesh is written down here, planned by `canzona plan`
and simulated by `canzona simulate`.  None may be quicker than what tune found,
and the three best of tune are confirmed from texts that are written here; but for
2 %, by which `canzona plan` chooses what tune leaves it to: joined updates, and
room for micro-groups.

    tune_oracle.py CANZONA FIRST_SEED SEEDS
"""
import itertools
import json
import math
import os
import random
import re
import subprocess
import sys
import tempfile

from plan_schema import Validator, parse

HERE = os.path.dirname(os.path.abspath(__file__))
GEOMETRIES = ("uneven", "padded", "equal")
DENSE, EXPERTS = ("pp", "dp", "fsdp", "cp", "tp"), ("edp", "ep", "etp")

CHOSEN = 0.02

# Which axes a model's text divides by, besides dp.
KINDS = (("tp", "pp"), ("tp", "cp"), ("tp",), ("fsdp",), ("ep", "etp"), ("tp", "ep"))


def draw_source(draw, axes):
    """A program without its mesh, and the ranks that it is for."""
    tp, pp = ("/tp" if "tp" in axes else ""), ("/pp" if "pp" in axes else "")
    ep, etp = ("/ep" if "ep" in axes else ""), ("/etp" if "etp" in axes else "")
    d, f = draw.choice((256, 384, 1024)), draw.choice((512, 2048))
    layers, vocab = draw.choice((4, 8)), draw.choice((512, 4096))
    first, last = (" stage first", " stage last") if pp else ("", "")
    lines = [f"model drawn(d = {d}, f = {f}, layers = {layers}) {{",
             "    params bf16 {",
             f"        embed.weight : [{vocab}{tp}, d]{first}",
             f"        layers[i < layers{pp}] {{",
             f"            {{q_proj, k_proj, v_proj}}.weight : [d{tp}, d]",
             f"            o_proj.weight : [d, d{tp}]",
             "            norm.weight : [d]"]
    if ep or etp:
        lines += [f"            experts[e < 8{ep}] {{",
                  f"                up.weight : [f{etp}, d]",
                  f"                down.weight : [d, f{etp}]",
                  "            }"]
    else:
        lines += [f"            up.weight : [f{tp}, d]",
                  f"            down.weight : [d, f{tp}]"]
    lines += ["        }", f"        head.weight : [{vocab}{tp}, d]{last}", "    }", "}"]
    rate = 10 ** draw.uniform(10, 11.5)
    lines += ["machine drawn from h100 {",
              f"    gpus_per_node = {draw.choice((2, 4, 8))}",
              f"    node_rate = {int(rate * draw.uniform(1, 8))}",
              f"    network_rate = {int(rate)}",
              f"    node_latency = {draw.choice(('0', '1e-6', '15e-6'))}",
              f"    network_latency = {draw.choice(('0', '3e-6', '30e-6'))}",
              f"    bf16_rate = {int(10 ** draw.uniform(12, 14.5))}",
              f"    uneven_reduce = [(\"network\", 1e6, 8, {draw.choice((0.5, 0.9))})]",
              "}", "machine drawn",
              "use muon(lr = 0.02) as matrices on layers.** where ndim == 2",
              "use adamw(lr = 1e-3) as rest on **", "schedule {"]
    if "fsdp" in axes:
        lines += ["    grads f32 partial over dp", "    shard dim 0 over fsdp chunk"]
    elif "cp" not in axes:
        lines.append("    grads f32 partial over dp")
    lines += [draw.choice(("    clip norm 1.0, skip nonfinite", "    skip nonfinite")), "}"]
    return "\n".join(lines) + "\n"


def factors(n, k):
    if k == 1:
        yield (n,)
        return
    for size in (s for s in range(1, n + 1) if n % s == 0):
        for rest in factors(n // size, k - 1):
            yield (size,) + rest


def meshes(axes, ranks):
    """All of them, as sizes by name."""
    dense = [a for a in DENSE if a == "dp" or a in axes]
    experts = [a for a in ("ep", "etp") if a in axes]
    for sizes in factors(ranks, len(dense)):
        mesh = dict.fromkeys(DENSE + EXPERTS, 1)
        mesh.update(zip(dense, sizes))
        left = ranks // mesh["pp"]
        if not experts:
            yield mesh
            continue
        for more in itertools.product(*[[s for s in range(1, left + 1) if left % s == 0]
                                        for _ in experts]):
            if left % math.prod(more) == 0:
                yield {**mesh, **dict(zip(experts, more)), "edp": left // math.prod(more)}


def text_of(source, mesh, clauses, has_experts):
    def line(word, names):
        return f"mesh {word}" + ", ".join(f"{n} = {mesh[n]}" for n in names) + "\n"
    text = line("", DENSE) + (line("experts ", EXPERTS) if has_experts else "")
    said = "".join(f"    {word} {choice}\n" for word, choice in clauses.items())
    return text + source.replace("schedule {\n", "schedule {\n" + said)


def confirms(found, point):
    """What `plan` makes of it takes as long, or less by what it chooses."""
    told = point["iteration_ps"]
    if not found:
        return False
    return (found == (told, point["memory_bytes"]) or
            told * (1 - CHOSEN) <= found[0] < told)


class Judge:
    def __init__(self, canzona, folder, options):
        self.canzona, self.folder, self.options = canzona, folder, options

    def run(self, *words):
        return subprocess.run([self.canzona, *words], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, check=False)

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def judge(self, text):
        """(iteration, memory), or None without a plan."""
        planned = self.run("plan", "--json", "--no-baselines",
                           self.write("one.cz", text))
        if planned.returncode:
            return None
        plan = planned.stdout.decode()
        kinds = json.loads(plan)["metrics"]["memory_bytes"].values()
        memory = max(sum(of) for of in zip(*kinds))
        result = self.run("simulate", "--json", *self.options,
                          self.write("one.json", plan))
        found = json.loads(result.stdout)
        return found["rows"][0]["iteration_ps"], memory + found["activation_bytes"]


def check(canzona, seed, folder, validator):
    draw = random.Random(seed)
    axes = KINDS[seed % len(KINDS)]
    has_experts = "ep" in axes or "etp" in axes
    ranks = 4 if has_experts and "tp" not in axes else 8
    source = draw_source(draw, axes)
    tokens = draw.choice((4096, 65536, 1 << 20))
    sequence = draw.choice((256, 1024))
    options = [f"--tokens={tokens}", f"--sequence={sequence}"]
    judge = Judge(canzona, folder, options)
    path = judge.write("drawn.cz", source)
    memory = draw.choice((10**12, 10**12, draw.randrange(20, 400) * 10**6))
    command = ("tune", "--json", f"--gpus={ranks}", f"--memory={memory}", *options, path)
    answer = judge.run(*command)
    least = None
    for mesh in meshes(axes, ranks):
        if (tokens // sequence < mesh["dp"] * mesh["fsdp"] or mesh["cp"] > sequence):
            continue
        for geometry in GEOMETRIES:
            found = judge.judge(text_of(source, mesh, {"geometry": geometry}, has_experts))
            if found and found[1] <= memory and (least is None or found[0] < least[0]):
                least = (found[0], mesh, geometry)
    if answer.returncode == 3 and least is None:
        return
    if answer.returncode or least is None:
        yield f"exit {answer.returncode}, and {least} is feasible: {answer.stderr.decode()}"
        return
    text = answer.stdout.decode()
    yield from validator.validate(parse(text))
    if judge.run(*command).stdout != answer.stdout:
        yield "not alike twice"
    found = json.loads(text)
    best = found["best"]
    if best[0]["iteration_ps"] * (1 - CHOSEN) > least[0]:
        yield f"{best[0]['mesh']} takes {best[0]['iteration_ps']}, {least} less"
    for i, point in enumerate(best[:3]):
        again = judge.judge(text_of(source, point["mesh"], point["clauses"], has_experts))
        if not confirms(again, point):
            yield f"number {i + 1}, {point['mesh']}: {again}, not as tune says"
        terms = sum(point[f"{t}_ps"] for t in ("products", "links", "bubble", "optimizer"))
        if terms != point["iteration_ps"] or point["bound_ps"] > point["iteration_ps"]:
            yield f"number {i + 1}: terms or bound do not fit"
    with open(path.replace(".cz", ".tuned.cz"), encoding="utf-8") as file:
        tuned = file.read()
    if not confirms(judge.judge(tuned), best[0]):
        yield "the text that was written is not the first"
    if re.sub(r"(?m)^(mesh .*|# .*|    (geometry|bucket|layout|form|wire|tp) .*)?\n", "", tuned) != \
            re.sub(r"(?m)^\n", "", source):
        yield "more than mesh and schedule of the text was changed"


def main(canzona, first, n):
    with open(os.path.join(HERE, "tune.schema.json"), encoding="utf-8") as file:
        validator = Validator(parse(file.read()))
    messages = []
    for seed in range(int(first), int(first) + int(n)):
        with tempfile.TemporaryDirectory() as folder:
            messages += [f"seed {seed}: {m}"
                         for m in check(canzona, seed, folder, validator)]
    print("\n".join(messages[:20]) or f"{n} seeds: nothing is quicker")
    return 1 if messages else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
