#!/usr/bin/python3
"""Random rules without products, on random shapes that are cut by rows or by columns,
planned, proved, executed and compared with one rank's bits on meshes with tp and
with fsdp; and that nothing of a matrix travels where shards have the rows that its
rule needs, and numbers of rows alone where they have not.

    run_rows.py CANZONA COUNT [SEED]

A program that fails is printed.  No length is 1: what is centred along it is nothing but
rounding, of which the float64 interpreter has other.
"""
import pathlib
import random
import subprocess
import sys
import tempfile

from plan_schema import parse

MESHES = ("dp = 1, tp = 1", "dp = 2, tp = 1", "dp = 1, tp = 2", "dp = 2, tp = 2",
          "dp = 2, tp = 4", "dp = 1, fsdp = 2", "dp = 2, fsdp = 4")
OPTIONS = ((), ("--late",), ("--check=values",))
STEPS, LIMIT_S = 2, 120
# What a rule may make of a matrix x: sums over rows, and over columns, too.
OF_ROWS = ("{x} / (norm({x}, 1) + 1e-3)", "{x} - mean({x}, 1)",
           "{x} * where(largest({x}, 1) > 0, 1, 0.5)",
           "{x} / (norm({x}, 1) + 1e-3) * mean(abs({x}), 1)")
OF_MORE = ("{x} / (norm({x}, 0) + 1e-3)", "{x} / (norm({x}) + 1e-3)",
           "{x} - mean({x}, 0)", "{x} * norm(mean({x}, 1))")


def rule(rng, of):
    x, lines = "mom", []
    for i in range(rng.randrange(1, 4)):
        lines.append(f"    x{i} = {rng.choice(of).format(x=x)}")
        x = f"x{i}"
    body = "\n".join(lines)
    return f""" for [m, n] {{
    state mom : f32[m, n] = 0
    mom   <- ema(mom, grad, 0.9)
{body}
    param <- param - lr * {x}
}}
"""


def program(rng, mesh):
    axis = "fsdp" if "fsdp" in mesh else "tp"
    shapes = [(8 * rng.randrange(1, 5), 8 * rng.randrange(1, 5)) for _ in range(2)]
    stored = rng.choice(("", " stored transposed"))
    params = "".join(f"""
        {group} {{
            r0 : [{shapes[0][0]}/{axis}, {shapes[0][1]}]
            r1 : [{shapes[1][0]}/{axis}, {shapes[1][1]}]
            c0 : [{shapes[0][1]}, {shapes[0][0]}/{axis}]{stored}
            odd : [{rng.randrange(2, 9)}, {rng.randrange(2, 9)}]
        }}""" for group in ("rows", "more"))
    return f"""mesh {mesh}
model m {{
    params f32 {{{params}
    }}
}}
optimizer of_rows(lr = 0.01){rule(rng, OF_ROWS)}
optimizer of_more(lr = 0.01){rule(rng, OF_ROWS + OF_MORE)}
use of_rows() on rows.**
use of_more() on more.**
"""


def execute(canzona, path, options):
    done = subprocess.run(
        [canzona, "run", "--check", f"--steps={STEPS}", *options, path], text=True,
        capture_output=True, timeout=LIMIT_S, check=False)
    return "" if done.returncode == 0 else done.stdout + done.stderr


def travelling(canzona, path):
    """What is wrong with what travels of matrices with rules of rows, whose rows
    shards have."""
    plan = parse(subprocess.run(
        [canzona, "plan", "--json", "--no-baselines", path], check=True,
        stdout=subprocess.PIPE).stdout.decode())
    for m in plan["matrices"]:
        name = plan["parameters"][m["parameter"]]["name"]
        if not name.startswith("rows.r"):
            continue
        if (m["strategy"], m["cost"]["bytes"], m["micro_group"]) != ("local", 0, None):
            yield f"{name} does not stay: {m['strategy']}, {m['cost']['bytes']} bytes"


def fails(canzona, path, text, options):
    """Strict plans have sums down columns made by columns: --check=values has not."""
    path.write_text(text, encoding="utf-8")
    said = execute(canzona, path, options)
    shards = "tp = 1" not in text
    return said or "\n".join(travelling(canzona, path) if shards else ())


def main(canzona, count, first="1"):
    n_failed = n_run = 0
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "rows.cz"
        for seed in range(int(first), int(first) + int(count)):
            for i, mesh in enumerate(MESHES):
                text = program(random.Random(seed), mesh)
                said = fails(canzona, path, text, OPTIONS[(seed + i) % len(OPTIONS)])
                n_failed, n_run = n_failed + bool(said), n_run + 1
                if said:
                    print(f"seed {seed}: {said}\n{text}", flush=True)
    print(f"seeds {first} to {int(first) + int(count) - 1}: {n_failed} of {n_run} "
          "programs failed")
    return 1 if n_failed or n_run == 0 else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
