#!/usr/bin/python3
"""canzona import, end to end.

    convert.py round-trips CANZONA [--seed N]   every input comes back exactly
    convert.py golden CANZONA [--update]        golden/convert, byte for byte
    convert.py robust CANZONA                   broken inputs: one error each
"""
import argparse
import json
import pathlib
import random
import resource
import shutil
import subprocess
import sys
import tempfile

import convert_inputs
import counts

ROOT = pathlib.Path(__file__).resolve().parents[2]
CONFIGS = ROOT / "examples" / "configs"
ARCHITECTURES = ROOT / "dsl" / "std" / "arch"
GOLDEN = ROOT / "tests/golden" / "convert"


def run(canzona, *words, **more):
    return subprocess.run([str(canzona), *map(str, words)], text=True,
                          capture_output=True, timeout=60, check=False,
                          errors="replace", **more)


def expect_ok(canzona, *words):
    done = run(canzona, *words)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, words))}: status {done.returncode}\n"
                 f"{done.stderr}")
    return done.stdout


def parameters(canzona, source):
    """name -> (shape, dtype, shard) of the plan, wherever a rank holds it."""
    plan = json.loads(expect_ok(canzona, "plan", "--json", source))
    return {name: (p["shape"], p["dtype"], p["shard"])
            for p in plan["parameters"] for name in p["names"] or [p["name"]]}


# ---- round trips -------------------------------------------------------------

def check_configs(canzona, folder):
    """The counts of an imported configuration are the published ones, also on
    stages that cannot have equally many layers."""
    inventory = json.loads((ROOT / "tests/models/inventory.json").read_text())
    meshes = [[], ["--mesh=pp=5,dp=2"]]
    for name, expected in inventory.items():
        for mesh in meshes:
            source = folder / f"{name}.cz"
            expect_ok(canzona, "import", "--force", *mesh, "-o", source,
                      shutil.copy(CONFIGS / f"{name}.json", folder))
            expect_ok(canzona, "check", source)
            ir = expect_ok(canzona, "plan", "--ir=source", source)
            counts.check(name, counts.count_ir(ir), expected)
    print(f"{len(inventory)} configurations: counts as published, also on 5 "
          "stages")
    return len(inventory)


def compare(what, found, expected):
    for name in sorted(set(found) | set(expected)):
        if found.get(name) != expected.get(name):
            sys.exit(f"{what}: {name} is {found.get(name)}, "
                     f"expected {expected.get(name)}")


def unsharded(params):
    return {name: (shape, dtype, [[]] * len(shape))
            for name, shape, dtype in params}


def check_safetensors(canzona, folder, what, params, n_shards):
    """One file or an index with shards of these parameters, as a program."""
    made = convert_inputs.write_safetensors(folder, params, n_shards)
    source = folder / "imported.cz"
    expect_ok(canzona, "import", "--force", "--mesh=dp=2", "-o", source, made)
    compare(what, parameters(canzona, source), unsharded(params))


def check_published(canzona, folder):
    """A configuration and safetensors of its parameters are one model."""
    source = folder / "published.cz"
    expect_ok(canzona, "import", "--mesh=dp=2", "-o", source,
              shutil.copy(CONFIGS / "qwen3-0.6b.json", folder))
    params = [(name, shape, dtype) for name, (shape, dtype, _)
              in parameters(canzona, source).items()]
    check_safetensors(canzona, folder, "qwen3-0.6b", params, 3)
    text = (folder / "imported.cz").read_text()
    if "model.layers[i < 28] {" not in text or " if " in text:
        sys.exit(f"qwen3-0.6b: its layers were not found\n{text}")
    print("qwen3-0.6b: the same model from configuration and safetensors")


def check_random_dump(canzona, folder, rng, what):
    dump, expected = convert_inputs.random_dump(rng)
    made, source = folder / "params.json", folder / "dumped.cz"
    made.write_text(json.dumps(dump, indent=rng.choice([None, 1])))
    expect_ok(canzona, "import", "--force", "-o", source, made)
    compare(what, parameters(canzona, source), expected)


def check_random(canzona, folder, seed, n):
    for i in range(n):
        rng = random.Random(f"{seed}-{i}")
        what = f"seed {seed}, case {i}"
        params = convert_inputs.random_params(rng)
        check_safetensors(canzona, folder, what, params, rng.randint(1, 3))
        check_random_dump(canzona, folder, rng, what)
    print(f"{2 * n} random lists came back, seed {seed}")


def round_trips(args):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        if check_configs(args.canzona, folder) == 0:
            sys.exit("no configuration was checked")
        check_published(args.canzona, folder)
        check_random(args.canzona, folder, args.seed, args.n)


# ---- golden files ------------------------------------------------------------

def golden_output(canzona, folder, case):
    """What import says about one case, in the folder where it lies, and what
    check says of a source that it writes."""
    options = convert_inputs.GOLDEN_OPTIONS.get(case.stem, [])
    done = run(canzona.resolve(), "import", *options, case.name, cwd=folder)
    checked = run(canzona.resolve(), "check", "-", cwd=folder,
                  input=done.stdout) if done.returncode == 0 else done
    return done.stdout + (done.stderr or checked.stderr)


def golden(args):
    """Each input of the folder beside its .cz or .err."""
    n_wrong = n_cases = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for case in convert_inputs.golden_cases(GOLDEN, folder):
            output = golden_output(args.canzona, folder, case)
            kept = GOLDEN / f"{case.name.split('.')[0]}.txt"
            n_cases += 1
            if args.update:
                kept.write_text(output)
            elif not kept.exists() or kept.read_text() != output:
                n_wrong += 1
                print(f"{kept.name}: the output is\n{output}")
    print(f"{n_cases} golden imports, {n_wrong} wrong")
    sys.exit(1 if n_wrong or n_cases == 0 else 0)


# ---- broken inputs -----------------------------------------------------------

def check_broken(canzona, folder, name, path, limit, stdin=subprocess.DEVNULL):
    """One error, exit status 1 or 3, no output, no file."""
    output = folder / "must_not_exist.cz"
    done = run(canzona, "import", "-o", output, path, stdin=stdin,
               preexec_fn=limit)
    n_errors = done.stderr.count("error: ")
    if (done.returncode not in (1, 3) or n_errors != 1 or done.stdout
            or output.exists()):
        sys.exit(f"{name}: status {done.returncode}, {n_errors} errors\n"
                 f"{done.stdout[:1000]}{done.stderr[:1000]}")


def limits(canzona):
    """5 s of processor and 512 MB for a child; a sanitizer's address space is
    its own affair."""
    is_sanitized = b"__asan_init" in canzona.read_bytes()

    def limit():
        resource.setrlimit(resource.RLIMIT_CPU, (5, 5))
        if not is_sanitized:
            resource.setrlimit(resource.RLIMIT_AS, (512 << 20, 512 << 20))
    return limit


def check_unknown_type(canzona, folder):
    """An unknown model_type is answered with those that are known, which the
    names of a trainer's storage are not."""
    path = folder / "config.json"
    path.write_text('{"model_type": "lama"}')
    said = run(canzona, "import", path).stderr
    stems = sorted(file.stem for file in ARCHITECTURES.glob("*.cz"))
    known = [s for s in stems if not s.endswith(("_megatron", "_torchtitan"))]
    missing = [word for word in [*known, "did you mean 'llama'", "LANGUAGE.md"]
               if word not in said]
    if missing or not known or "_megatron" in said or "_torchtitan" in said:
        sys.exit(f"unknown model_type: {missing} missing in\n{said}")


def robust(args):
    n, limit = 0, limits(args.canzona)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for case, path in convert_inputs.broken_inputs(folder):
            check_broken(args.canzona, folder, case, path, limit)
            n += 1
        check_unknown_type(args.canzona, folder)
        with open("/dev/zero", "rb") as zeros:
            check_broken(args.canzona, folder, "zeros", "-", limit, stdin=zeros)
    print(f"{n + 1} broken inputs: one error each, nothing written")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["round-trips", "golden", "robust"])
    parser.add_argument("canzona", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=20261121)
    parser.add_argument("--n", type=int, default=10)
    parser.add_argument("--update", action="store_true")
    args = parser.parse_args()
    {"round-trips": round_trips, "golden": golden, "robust": robust}[
        args.what](args)


if __name__ == "__main__":
    main()
