"""Counts parameters and matrices of every configuration, as the compiler sees
them, against tests/data/inventory.json; and of random configurations against
a count made here from the architectures' definitions alone.

    counts.py COMPILE_TOOL [--seed N]
"""
import argparse
import json
import math
import pathlib
import random
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
CONFIGS = HERE.parent / "examples" / "configs"
PATHS = {"qwen3": "model.layers.**.*_proj.weight",
         "llama": "model.layers.**.*_proj.weight",
         "gpt2": "**.c_*.weight"}
PROGRAM = """mesh dp = 2
model {model} from "{config}"
use sgd(lr) as matrices on {path}
use sgd(lr) as rest on **
"""


class Count(dict):
    """parameters (elements), matrices, matrix_elements."""

    def __init__(self):
        super().__init__(parameters=0, matrices=0, matrix_elements=0)

    def add(self, n, shape, is_matrix):
        elements = n * math.prod(shape)
        self["parameters"] += elements
        if is_matrix:
            self["matrices"] += n
            self["matrix_elements"] += elements


def integers(text):
    return [int(word) for word in re.findall(r"-?\d+", text.partition(":")[2])]


def count_ir(ir):
    """Sum the family facts of printed IR."""
    uses = dict(re.findall(
        r'"canzona\.rule"\(\) \{.*?sym_name = "([^"]+)".*?use = @"?(\w+)', ir))
    count = Count()
    for line in re.findall(r'"canzona\.family"\(\) \{(.*)\} :', ir):
        extents = integers(re.search(r"extents = array<(i64[^>]*)>", line)[1])
        shape = integers(re.search(r" shape = array<(i64[^>]*)>", line)[1])
        rule = re.search(r'rule = @"?([^",]+)', line)[1]
        count.add(math.prod(extents), shape, uses[rule] == "matrices")
    return count


def compile_count(tool, config):
    """What the compiler counts for a configuration file."""
    model = json.loads(config.read_text())["model_type"]
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "program.cz"
        source.write_text(PROGRAM.format(model=model, config=config,
                                         path=PATHS[model]))
        done = subprocess.run([tool, str(source)], capture_output=True,
                              text=True, timeout=60)
    if done.returncode != 0:
        sys.exit(f"{config.name}: {done.stdout}{done.stderr}")
    return count_ir(done.stdout)


def count_decoder(config, normed_heads):
    """Qwen3 and Llama, from the papers: per layer four projections of
    attention and three of a gated MLP, two norms, and maybe norms of heads."""
    d, f = config["hidden_size"], config["intermediate_size"]
    heads = config["num_attention_heads"]
    kv_heads = config.get("num_key_value_heads", heads)
    head_dim = config.get("head_dim") or d // heads
    layers, vocab = config["num_hidden_layers"], config["vocab_size"]
    q, kv = heads * head_dim, kv_heads * head_dim
    count = Count()
    for out, inner in ((q, d), (kv, d), (kv, d), (d, q), (f, d), (f, d), (d, f)):
        count.add(layers, (out, inner), True)
    biases = []
    if config.get("attention_bias"):
        biases += [q, kv, kv, d]
    if config.get("mlp_bias"):
        biases += [f, f, d]
    norms = [d, d] + ([head_dim] * 2 if normed_heads else [])
    for n in biases + norms:
        count.add(layers, (n,), False)
    count.add(1 if config.get("tie_word_embeddings") else 2, (vocab, d), False)
    count.add(1, (d,), False)
    return count


def count_gpt2(config):
    d, layers = config["n_embd"], config["n_layer"]
    f = config.get("n_inner") or 4 * d
    count = Count()
    for inner, out in ((d, 3 * d), (d, d), (d, f), (f, d)):
        count.add(layers, (inner, out), True)
        count.add(layers, (out,), False)
    count.add(4 * layers + 2, (d,), False)
    count.add(1, (config["vocab_size"], d), False)
    count.add(1, (config["n_positions"], d), False)
    if not config.get("tie_word_embeddings", True):
        count.add(1, (config["vocab_size"], d), False)
    return count


def random_config(rng, model):
    """A configuration nobody trained, with every optional key now and then."""
    if model == "gpt2":
        config = {"n_embd": 8 * rng.randint(1, 300), "n_layer": rng.randint(1, 60),
                  "n_positions": rng.randint(1, 5000),
                  "vocab_size": rng.randint(1, 100000),
                  "n_inner": rng.choice([None, rng.randint(1, 9000)]),
                  "tie_word_embeddings": rng.choice([True, False])}
    else:
        heads = rng.randint(1, 64)
        config = {"num_attention_heads": heads,
                  "hidden_size": heads * rng.randint(1, 200),
                  "num_key_value_heads": rng.randint(1, heads),
                  "num_hidden_layers": rng.randint(1, 100),
                  "intermediate_size": rng.randint(1, 30000),
                  "vocab_size": rng.randint(1, 200000),
                  "head_dim": rng.choice([None, rng.randint(1, 256)]),
                  "attention_bias": rng.choice([True, False]),
                  "tie_word_embeddings": rng.choice([True, False])}
        if model == "llama":
            config["mlp_bias"] = rng.choice([True, False])
    return dict(config, model_type=model, unknown={"nested": [1, 2.5, "x"]})


def count_here(config):
    if config["model_type"] == "gpt2":
        return count_gpt2(config)
    return count_decoder(config, config["model_type"] == "qwen3")


def check(name, found, expected):
    if found != expected:
        sys.exit(f"{name}: compiler {dict(found)}, expected {dict(expected)}")


def check_inventory(tool):
    inventory = json.loads((HERE / "data" / "inventory.json").read_text())
    for name, expected in inventory.items():
        config = CONFIGS / f"{name}.json"
        check(name, compile_count(tool, config), expected)
        check(name, count_here(json.loads(config.read_text())), expected)
        print(f"{name}: {expected['matrices']:,} matrices of "
              f"{expected['matrix_elements']:,} elements, "
              f"{expected['parameters']:,} parameters")
    return len(inventory)


def check_random(tool, seed):
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        for model in PATHS:
            for i in range(5):
                config = random_config(rng, model)
                path = pathlib.Path(folder) / f"{model}-{i}.json"
                path.write_text(json.dumps(config))
                check(f"seed {seed}: {config}", compile_count(tool, path),
                      count_here(config))
    print(f"random configurations agree, seed {seed}")


def self_test():
    """A wrong count is seen, and the count of printed facts is a count."""
    ir = ('"canzona.rule"() {sym_name = "matrices.2x3", use = @matrices} : x\n'
          '"canzona.family"() {extents = array<i64: 4, 5>, '
          'rule = @matrices.2x3, shape = array<i64: 2, 3>} : x\n'
          '"canzona.rule"() {sym_name = "rest.any", use = @rest} : x\n'
          '"canzona.family"() {extents = array<i64>, rule = @rest.any, '
          'shape = array<i64: 7>} : x\n')
    expected = {"parameters": 127, "matrices": 20, "matrix_elements": 120}
    check("self-test", count_ir(ir), expected)
    try:
        check("self-test", count_ir(ir), dict(expected, parameters=126))
    except SystemExit:
        print("counts.py sees a wrong count")
        return
    sys.exit("self-test: a wrong count went unseen")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tool", nargs="?")
    parser.add_argument("--seed", type=int, default=20240901)
    parser.add_argument("--self-test", action="store_true")
    args = parser.parse_args()
    if args.self_test:
        return self_test()
    if check_inventory(args.tool) == 0:
        sys.exit("no configuration was checked")
    check_random(args.tool, args.seed)


if __name__ == "__main__":
    main()
