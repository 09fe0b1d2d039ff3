#!/usr/bin/python3
"""Every configuration, in each trainer's storage, dealt out to the stages of a
pipeline: the same parameters as without stages, each layer on the stages that a
list of layers says, and the ends of the model on the first and the last.

    stage_counts.py COMPILE_TOOL
"""
import json
import math
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile

import counts
import storage_counts

STAGES, CHUNKS = 4, 2
PROGRAM = """mesh {pp}dp = 2
model {model} from "{config}"
use sgd(lr) on **
schedule {{ {clause} }}
"""
LAYER = re.compile(r"(?:^|\.)(?:layers|h)\.\{0\}")


def layers_of(values):
    return values.get("num_hidden_layers") or values["n_layer"]


def random_list(rng, n):
    """STAGES * CHUNKS numbers that sum to n."""
    cuts = sorted(rng.randint(0, n) for _ in range(STAGES * CHUNKS - 1))
    return [b - a for a, b in zip([0] + cuts, cuts + [n])]


def families(tool, config, model, pp, clause, defines=()):
    """(pattern, first, extents, shape, home) of each trained family."""
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "program.cz"
        shutil.copy(config, folder)
        source.write_text(PROGRAM.format(pp=pp, model=model,
                                         config=config.name, clause=clause))
        done = subprocess.run([tool, source, *defines], capture_output=True,
                              text=True, timeout=60, check=False)
    if done.returncode != 0:
        sys.exit(f"{config.name} {model} {clause}: {done.stdout}{done.stderr}")
    found = []
    for line in re.findall(r'"canzona\.pattern"\(\) \{(.*)\} :', done.stdout):
        lists = [counts.integers(
            re.search(rf" ?\b{key} = array<(i64[^>]*)>", line)[1])
            for key in ("first", "extents", "shape", "residents")]
        found.append((re.search(r'name = "([^"]+)"', line)[1], *lists))
    return found


def elements(list_of_families):
    return sum(math.prod(e) * math.prod(s) for _, _, e, s, _ in list_of_families)


def check_family(name, family, stage_of):
    """Whether a family is where the list, or its place in the model, says;
    1 where it is one of layers."""
    pattern, first, extents, _, home = family
    if not LAYER.search(pattern) or pattern.startswith("mtp."):
        if home not in ([0], [STAGES - 1], [0, STAGES - 1]):
            sys.exit(f"{name}: {pattern} is on stages {home}")
        return 0
    for layer in range(first[0], first[0] + extents[0]):
        stage = stage_of[layer] if layer < len(stage_of) else STAGES - 1
        if home != [stage]:
            sys.exit(f"{name}: layer {layer} of {pattern} is on stages {home}, "
                     f"not {stage}")
    return 1


def check(tool, config, model, rng, defines=()):
    """How many families of layers were seen where they belong."""
    n = layers_of(json.loads(config.read_text()))
    layers = random_list(rng, n)
    stage_of = [k % STAGES for k, m in enumerate(layers) for _ in range(m)]
    clause = f"pipeline ({', '.join(map(str, layers))}) chunks {CHUNKS}"
    whole = families(tool, config, model, "", "", defines)
    staged = families(tool, config, model, f"pp = {STAGES}, ", clause, defines)
    name = f"{config.stem} as {model}"
    if elements(whole) != elements(staged):
        sys.exit(f"{name}: {elements(staged)} elements on stages, "
                 f"{elements(whole)} without")
    if any(home for *_, home in whole):
        sys.exit(f"{name}: a home without a pipeline")
    homes = {p: h for p, *_, h in staged if not LAYER.search(p)}
    if not any(0 in h for h in homes.values()) or \
            not any(STAGES - 1 in h for h in homes.values()):
        sys.exit(f"{name}: an end of the model is on no stage: {homes}")
    return sum(check_family(name, family, stage_of) for family in staged)


def main():
    tool, rng = sys.argv[1], random.Random(20261121)
    n_models = n_families = 0
    for path in sorted(counts.CONFIGS.glob("*.json")):
        model = json.loads(path.read_text())["model_type"]
        for storage, models in storage_counts.STORAGES.items():
            if model not in models or (model, storage) == ("gpt2", "_torchtitan"):
                continue
            n_families += check(tool, path, model + storage, rng)
            n_models += 1
            if model == "deepseek_v3" and storage != "_torchtitan":
                check(tool, path, model + storage, rng,
                      ["mtp_layers=1"])
    if n_models == 0 or n_families == 0:
        sys.exit("nothing was checked")
    print(f"{n_models} models on {STAGES} stages with {CHUNKS} chunks each: "
          f"{n_families} families of layers where the list says")


if __name__ == "__main__":
    main()
