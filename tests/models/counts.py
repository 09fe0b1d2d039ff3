"""Counts parameters and matrices of every configuration, as the compiler sees
them, against tests/models/inventory.json; and of random configurations against
a count made here from the architectures' definitions alone.

    counts.py COMPILE_TOOL [--seed N]
"""
import argparse
import json
import math
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
CONFIGS = ROOT / "examples" / "configs"
DENSE, DEALT = "mesh dp = 2", "mesh dp = 2\nmesh experts edp = 1, ep = 2"
PATHS = {"qwen3": "model.layers.**.*_proj.weight",
         "llama": "model.layers.**.*_proj.weight",
         "qwen3_moe": "model.layers.**.*_proj.weight",
         "deepseek_v3": "model.layers.**.*_proj*.weight",
         "gpt2": "**.c_*.weight"}
PROGRAM = """{mesh}
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
    """Sum the family facts of printed IR, frozen ones too; those that are
    spread over axes once per coordinate."""
    sizes = integers(re.search(r'"canzona\.mesh".*? sizes = array<(i64[^>]*)>',
                               ir)[1])
    uses = dict(re.findall(
        r'"canzona\.rule"\(\) \{.*?sym_name = "([^"]+)".*?use = @"?(\w+)', ir))
    count = Count()
    for line in re.findall(r'"canzona\.(?:pattern|frozen)"\(\) \{(.*)\} :', ir):
        extents = integers(re.search(r"extents = array<(i64[^>]*)>", line)[1])
        shape = integers(re.search(r" shape = array<(i64[^>]*)>", line)[1])
        rule = re.search(r'rule = @"?([^",]+)', line)
        spread = int((re.search(r"expert_axes = (\d+)", line) or [0, 0])[1])
        ranks = math.prod(s for a, s in enumerate(sizes) if spread >> a & 1)
        count.add(ranks * math.prod(extents), shape,
                  bool(rule) and uses[rule[1]] == "matrices")
    return count


def compile_count(tool, config, mesh=DENSE):
    """What the compiler counts for a configuration file."""
    model = json.loads(config.read_text())["model_type"]
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "program.cz"
        shutil.copy(config, folder)
        source.write_text(PROGRAM.format(
            mesh=mesh, model=model, config=config.name, path=PATHS[model]))
        done = subprocess.run([tool, str(source)], capture_output=True,
                              text=True, timeout=60)
    if done.returncode != 0:
        sys.exit(f"{config.name}: {done.stdout}{done.stderr}")
    return count_ir(done.stdout)


def add_mlp(count, n, d, f):
    """n gated MLPs."""
    for out, inner in ((f, d), (f, d), (d, f)):
        count.add(n, (out, inner), True)


def add_ends(count, config, d):
    """Embedding, head and last norm."""
    count.add(1 if config.get("tie_word_embeddings") else 2,
              (config["vocab_size"], d), False)
    count.add(1, (d,), False)


def count_decoder(config, normed_heads):
    """Qwen3 and Llama, from the papers: per layer four projections of
    attention and three of a gated MLP, two norms, and maybe norms of heads.
    Instead of the MLP, every sparse_step-th layer may have a router and as
    many smaller ones as there are experts."""
    d, f = config["hidden_size"], config["intermediate_size"]
    heads = config["num_attention_heads"]
    kv_heads = config.get("num_key_value_heads", heads)
    head_dim = config.get("head_dim") or d // heads
    layers, experts = config["num_hidden_layers"], config.get("num_experts", 0)
    sparse = layers // config.get("decoder_sparse_step", 1) if experts else 0
    q, kv = heads * head_dim, kv_heads * head_dim
    count = Count()
    for out, inner in ((q, d), (kv, d), (kv, d), (d, q)):
        count.add(layers, (out, inner), True)
    add_mlp(count, layers - sparse, d, f)
    add_mlp(count, sparse * experts, d, config.get("moe_intermediate_size", 0))
    count.add(sparse, (experts, d), False)
    biases = []
    if config.get("attention_bias"):
        biases += [q, kv, kv, d]
    if config.get("mlp_bias"):
        biases += [f, f, d]
    norms = [d, d] + ([head_dim] * 2 if normed_heads else [])
    for n in biases + norms:
        count.add(layers, (n,), False)
    add_ends(count, config, d)
    return count


def count_deepseek(config):
    """Latent attention: a low-rank query, a latent that keys and values share,
    with the rotary key beside it.  Behind the first dense layers a router, its
    bias, the routed experts, and the shared ones as one."""
    d, heads = config["hidden_size"], config["num_attention_heads"]
    q, kv = config["q_lora_rank"], config["kv_lora_rank"]
    nope, rope = config["qk_nope_head_dim"], config["qk_rope_head_dim"]
    layers, v = config["num_hidden_layers"], config["v_head_dim"]
    experts, f = config["n_routed_experts"], config["moe_intermediate_size"]
    dense = min(layers, config.get("first_k_dense_replace", 0))
    shared = config.get("n_shared_experts", 1)
    count = Count()
    for shape in ((q, d), (heads * (nope + rope), q), (kv + rope, d),
                  (heads * (nope + v), kv), (d, heads * v)):
        count.add(layers, shape, True)
    for n in (q, kv, d, d):
        count.add(layers, (n,), False)
    add_mlp(count, dense, d, config["intermediate_size"])
    add_mlp(count, (layers - dense) * experts, d, f)
    add_mlp(count, (layers - dense) * (shared > 0), d, shared * f)
    count.add(layers - dense, (experts, d), False)
    count.add(layers - dense, (experts,), False)
    add_ends(count, config, d)
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


def random_deepseek(rng):
    return {"hidden_size": rng.randint(1, 5000),
            "num_hidden_layers": rng.randint(1, 9),
            "num_attention_heads": rng.randint(1, 64),
            "q_lora_rank": rng.randint(1, 900),
            "kv_lora_rank": rng.randint(1, 900),
            "qk_nope_head_dim": rng.randint(1, 256),
            "qk_rope_head_dim": rng.randint(1, 256),
            "v_head_dim": rng.randint(1, 256),
            "first_k_dense_replace": rng.randint(0, 9),
            "intermediate_size": rng.randint(1, 9000),
            "moe_intermediate_size": rng.randint(1, 900),
            "n_routed_experts": rng.randint(1, 200),
            "n_shared_experts": rng.randint(0, 3),
            "vocab_size": rng.randint(1, 100000),
            "tie_word_embeddings": rng.choice([True, False])}


def random_config(rng, model):
    """A configuration nobody trained, with every optional key now and then."""
    if model == "deepseek_v3":
        config = random_deepseek(rng)
    elif model == "gpt2":
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
        if model == "qwen3_moe":
            config.update(num_experts=rng.randint(1, 200),
                          moe_intermediate_size=rng.randint(1, 3000),
                          decoder_sparse_step=rng.randint(1, 4))
    return dict(config, model_type=model, unknown={"nested": [1, 2.5, "x"]})


def count_here(config):
    if config["model_type"] == "gpt2":
        return count_gpt2(config)
    if config["model_type"] == "deepseek_v3":
        return count_deepseek(config)
    return count_decoder(config, config["model_type"].startswith("qwen3"))


def check(name, found, expected):
    if found != expected:
        sys.exit(f"{name}: compiler {dict(found)}, expected {dict(expected)}")


def check_dealt(tool, name, path, expected):
    """The same count where experts are dealt out over two ranks; whether the
    configuration has an even number of them, so that they can be."""
    config = json.loads(path.read_text())
    experts = config.get("num_experts", config.get("n_routed_experts", 1))
    if experts % 2 == 0:
        check(f"{name}, experts dealt out", compile_count(tool, path, DEALT),
              expected)
    return experts % 2 == 0


def check_inventory(tool):
    inventory = json.loads((ROOT / "tests/models/inventory.json").read_text())
    n_dealt = 0
    for name, expected in inventory.items():
        config = CONFIGS / f"{name}.json"
        check(name, compile_count(tool, config), expected)
        check(name, count_here(json.loads(config.read_text())), expected)
        n_dealt += check_dealt(tool, name, config, expected)
        print(f"{name}: {expected['matrices']:,} matrices of "
              f"{expected['matrix_elements']:,} elements, "
              f"{expected['parameters']:,} parameters")
    print(f"{n_dealt} also with their experts dealt out")
    return min(len(inventory), n_dealt)


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
                check_dealt(tool, f"seed {seed}: {config}", path,
                            count_here(config))
    print(f"random configurations agree, seed {seed}")


def self_test():
    """A wrong count is seen, and the count of printed facts is a count."""
    ir = ('"canzona.mesh"() {axes = ["a", "b", "c"], sets = array<i64: 7>, '
          'sizes = array<i64: 5, 2, 7>} : x\n'
          '"canzona.rule"() {sym_name = "matrices.2x3", use = @matrices} : x\n'
          '"canzona.pattern"() {extents = array<i64: 2, 5>, '
          'rule = @matrices.2x3, shape = array<i64: 2, 3>, '
          'expert_axes = 2 : i64, expert_index = 0 : i64} : x\n'
          '"canzona.rule"() {sym_name = "rest.any", use = @rest} : x\n'
          '"canzona.pattern"() {extents = array<i64>, rule = @rest.any, '
          'shape = array<i64: 7>} : x\n'
          '"canzona.frozen"() {extents = array<i64: 3>, '
          'shape = array<i64: 2>} : x\n')
    expected = {"parameters": 133, "matrices": 20, "matrix_elements": 120}
    check("self-test", count_ir(ir), expected)
    try:
        check("self-test", count_ir(ir), dict(expected, parameters=127))
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
        sys.exit("no configuration was checked, or none with experts")
    check_random(args.tool, args.seed)


if __name__ == "__main__":
    main()
