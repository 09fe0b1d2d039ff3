"""Inputs for canzona import: safetensors headers, dumps, broken files."""
import json
import math
import os
import struct

TYPES = {"bf16": ("BF16", 2), "f32": ("F32", 4), "f64": ("F64", 8)}
GOLDEN_OPTIONS = {"dump_mesh": ["--mesh=dp=4,tp=2", "--optimizer=adamw"]}


# ---- safetensors -------------------------------------------------------------

def header_of(params):
    """The header of a file with these (name, shape, dtype), and its data size."""
    entries, at = {"__metadata__": {"format": "pt"}}, 0
    for name, shape, dtype in params:
        tag, size = TYPES.get(dtype, (dtype, 1))
        end = at + size * math.prod(shape)
        entries[name] = {"dtype": tag, "shape": shape, "data_offsets": [at, end]}
        at = end
    return entries, at


def packed(text):
    data = text if isinstance(text, bytes) else text.encode()
    data += b" " * (-len(data) % 8)
    return struct.pack("<Q", len(data)) + data


def write_safetensors(folder, params, n_shards):
    """One file, or an index of several; without any weights."""
    if n_shards == 1:
        path = folder / "model.safetensors"
        path.write_bytes(packed(json.dumps(header_of(params)[0])))
        return path
    weight_map, total = {}, 0
    for i in range(n_shards):
        part = params[i::n_shards]
        name = f"model-{i + 1:05}-of-{n_shards:05}.safetensors"
        header, size = header_of(part)
        (folder / name).write_bytes(packed(json.dumps(header)))
        weight_map.update({param[0]: name for param in part})
        total += size
    path = folder / "model.safetensors.index.json"
    path.write_text(json.dumps({"metadata": {"total_size": total},
                                "weight_map": dict(sorted(weight_map.items()))}))
    return path


# ---- random lists ------------------------------------------------------------

WORDS = ["attn", "mlp", "q", "k-proj", "up_proj", "weight", "bias", "if", "let",
         "tie", "0", "7", "00", "model", "x1", "else", "params", "_", "A"]


def random_shape(rng):
    return [4 * rng.randint(1, 3) for _ in range(rng.randint(1, 2))]


def random_leaves(rng, depth):
    """Relative names with shapes, as they stand under one index value."""
    leaves = {}
    for _ in range(rng.randint(1, 4)):
        name = ".".join(rng.choices(WORDS, k=rng.randint(1, 3)))
        if depth > 0 and rng.random() < 0.3:
            for i, more in random_stack(rng, depth - 1).items():
                leaves[f"{name}.s.{i}"] = more
        else:
            leaves[name] = (random_shape(rng), rng.choice(list(TYPES)))
    return flat(leaves)


def flat(leaves):
    out = {}
    for name, value in leaves.items():
        if isinstance(value, dict):
            out.update({f"{name}.{rest}": leaf for rest, leaf in value.items()})
        else:
            out[name] = value
    return out


def random_stack(rng, depth):
    """Index value -> leaves: alike, ragged, periodic or sparse."""
    n, base, other = rng.randint(1, 9), random_leaves(rng, depth), {}
    extra, period = random_leaves(rng, 0), rng.randint(2, 4)
    style = rng.choice(["alike", "cut", "periodic", "random", "sparse"])
    for i in range(n):
        leaves = dict(base)
        if style == "cut" and i < n // 2 or style == "periodic" and i % period:
            leaves.update(extra)
        elif style == "random":
            leaves = {k: v for k, v in {**base, **extra}.items()
                      if rng.random() < 0.6}
        other[i * 1000 if style == "sparse" else i + (n if n == 5 else 0)] = leaves
    return other


def random_params(rng):
    """(name, shape, dtype) of a model that nobody would train."""
    found = {"embed": ([8, 4], "bf16")}
    found.update(random_leaves(rng, 0))
    for stack in range(rng.randint(1, 3)):
        for i, leaves in random_stack(rng, 2).items():
            for name, leaf in leaves.items():
                found[f"h{stack}.{i}.{name}"] = leaf
    params = [(name, *leaf) for name, leaf in found.items()]
    if rng.random() < 0.5:
        rng.shuffle(params)
    return params


def random_dump(rng):
    """A params.json, and what the plan is to say of it."""
    params, expected = [], {}
    for name, shape, dtype in random_params(rng):
        shard = [[] for _ in shape]
        if rng.random() < 0.5:
            shard[rng.randrange(len(shape))] = ["tp"]
        expected[name] = (shape, dtype, shard)
        entry = {"name": name, "shape": shape, "dtype": dtype}
        if any(shard):
            entry["shard"] = [rng.choice([["tp"], "tp"]) if axes else None
                              for axes in shard]
        params.append(entry)
    return {"schema": "canzona.params/1", "mesh": {"dp": 2, "tp": 2},
            "parameters": params}, expected


# ---- golden cases ------------------------------------------------------------

def golden_cases(golden, folder):
    """The JSON inputs of the folder, and headers made of NAME.header."""
    for path in sorted(golden.iterdir()):
        if path.suffix == ".header":
            made = folder / f"{path.stem}.safetensors"
            made.write_bytes(packed(path.read_text().strip()))
            yield made
        elif path.suffix == ".json":
            made = folder / path.name
            made.write_text(path.read_text())
            yield made


# ---- broken inputs -----------------------------------------------------------

def entry(dtype="BF16", shape=(2, 3), offsets=(0, 12)):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets)}


def broken_headers():
    """Headers that are wrong, as bytes of a file."""
    good = json.dumps({"a.w": entry()})
    yield "empty", b""
    yield "short length", b"\x10\0\0"
    yield "short header", packed(good)[:-10]
    yield "too long", struct.pack("<Q", 1 << 40) + good.encode()
    yield "just too long", struct.pack("<Q", 100_000_001) + good.encode()
    yield "zero", struct.pack("<Q", 0)
    yield "no object", packed("[1, 2]")
    yield "blank first", packed(" " + good)
    yield "half", packed(good[:-5])
    yield "more", packed(good + "{}")
    yield "comma", packed(good[:-1] + ",}")
    yield "twice", packed(good[:-1] + ', "a.w": ' + json.dumps(
        entry(offsets=(12, 24))) + "}")
    yield "key twice", packed('{"a": {"dtype": "F32", "dtype": "F32", '
                              '"shape": [1], "data_offsets": [0, 4]}}')
    yield "no tensors", packed("{}")
    yield "metadata", packed('{"__metadata__": {"a": [1]}, ' + good[1:])
    yield "bad UTF-8", packed(good.replace("a.w", "a.\xff").encode("latin-1"))
    yield "NUL", packed(good.replace("a.w", "a\\u0000"))
    yield "deep", packed('{"a": ' + "[" * 100_000 + "]" * 100_000 + "}")
    yield "bomb", packed('{"a": [' + "[]," * 5_000_000 + "[]]}")
    yield "long value", packed('{"a": "' + "x" * 10_000_000 + '"}')
    yield "crossed", packed('{"a": [}')
    yield "unclosed string", packed('{"a')
    for name, tensors in broken_tensors().items():
        yield name, packed(json.dumps(tensors))


def broken_tensors():
    names = ["a b", "a..b", ".a", "a.", "", "a/b", "a[0]", 'x*/;system("id");/*',
             "a\nb", "é", "w" * 129, ".".join(["w" * 100] * 3),
             ".".join("w" * 33)]
    cases = {f"name {name!r:.40}": {name: entry()} for name in names}
    cases.update({
        "hole": {"a": entry(offsets=(4, 16))},
        "gap": {"a": entry(), "b": entry(offsets=(16, 28))},
        "overlap": {"a": entry(), "b": entry(offsets=(6, 18))},
        "size": {"a": entry(offsets=(0, 13))},
        "backwards": {"a": entry(offsets=(12, 0))},
        "three offsets": {"a": entry(offsets=(0, 12, 24))},
        "float offset": {"a": entry(offsets=(0.0, 12))},
        "no offsets": {"a": {"dtype": "F32", "shape": [1]}},
        "dtype": {"a": entry("INT4")},
        "no dtype": {"a": {"shape": [1], "data_offsets": [0, 4]}},
        "half precision": {"a": entry("F16")},
        "only integers": {"a": entry("I16")},
        "shape": {"a": entry(shape=[2, -3])},
        "shape zero": {"a": entry(shape=[0, 3], offsets=(0, 0))},
        "shape text": {"a": entry(shape=["2", 3])},
        "shape float": {"a": entry(shape=[2.5, 3])},
        "no shape": {"a": {"dtype": "F32", "data_offsets": [0, 4]}},
        "overflow": {"a": entry(shape=[1 << 32, 1 << 32])},
        "beyond 64 bits": {"a": entry(shape=[1 << 70])},
        "nine dims": {"a": entry("F32", [1] * 9, (0, 4))},
        "list": {"a": [1]}, "number": {"a": 1}, "null": {"a": None}})
    return cases


def broken_dumps():
    good = {"name": "a", "shape": [4, 6], "dtype": "f32"}
    mesh = {"dp": 2, "tp": 4}

    def dump(*params, **more):
        return {"schema": "canzona.params/1", "mesh": mesh,
                "parameters": list(params), **more}
    yield "no schema", {"parameters": [good], "mesh": mesh}
    yield "schema", dump(good, schema="canzona.params/2")
    yield "no mesh", {"parameters": [good], "schema": "canzona.params/1"}
    yield "mesh list", dump(good, mesh=[2, 4])
    yield "mesh axis", dump(good, mesh={"dp": 2, "xp": 4})
    yield "mesh size", dump(good, mesh={"dp": 0})
    yield "mesh text", dump(good, mesh={"dp": "2"})
    yield "mesh real", dump(good, mesh={"dp": 1e300})
    yield "experts", dump(good, experts={"tp": 2})
    yield "unknown key", dump(good, extra=1)
    yield "none", dump()
    yield "object", dump(good, parameters={"a": good})
    yield "string", dump("a")
    yield "twice", dump(good, good)
    for key, value in {"name": 1, "shape": 4, "dtype": "f16", "shard": ["tp"],
                       "frozen": 1, "stride": 2}.items():
        yield f"bad {key}", dump({**good, key: value})
    for stage in (-1, 2, 0.5, "first", [], [0, 2], [[0]], None, True):
        yield f"stage {stage}", dump({**good, "stage": stage},
                                     mesh={"pp": 2, **mesh})
    yield "shard axis", dump({**good, "shard": ["pp", None]})
    yield "shard number", dump({**good, "shard": [1, None]})
    yield "shard twice", dump({**good, "shard": [["tp", "tp"], None]})
    yield "not divisible", dump({**good, "shard": [None, "tp"]})


def broken_indices():
    yield "no map", {"weight_map": 1}
    yield "no shard", {"weight_map": {"a": "absent.safetensors"}}
    yield "outside", {"weight_map": {"a": "../x.safetensors"}}
    yield "absolute", {"weight_map": {"a": "/dev/zero"}}
    yield "file number", {"weight_map": {"a": 1}}
    yield "empty map", {"weight_map": {}}
    shard = "shard.safetensors"
    yield "missing", {"weight_map": {"a": shard, "b": shard}}
    yield "not listed", {"weight_map": {"b": shard}}
    yield "total", {"metadata": {"total_size": 1}, "weight_map": {"a": shard}}
    yield "total text", {"metadata": {"total_size": "x"},
                         "weight_map": {"a": shard}}
    yield "metadata", {"metadata": {"x": "y" * 100_000},
                       "weight_map": {"a": shard}}


def broken_texts():
    yield "neither", b"mesh dp = 2\n"
    yield "empty object", b"{}"
    yield "unknown object", b'{"a": 1}'
    yield "model type", b'{"model_type": "no_such_model"}'
    yield "model type number", b'{"model_type": 1}'
    yield "no keys", b'{"model_type": "qwen3"}'
    yield "key twice", b'{"model_type": "qwen3", "model_type": "llama"}'
    yield "too big", b'{"model_type": "qwen3", "hidden_size": 1e999}'
    yield "map twice", b'{"weight_map": {}, "weight_map": {}}'
    yield "schema twice", (b'{"parameters": [], "schema": "canzona.params/1", '
                           b'"schema": "canzona.params/1", "mesh": {}}')
    yield "deep", b'{"parameters": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    yield "depth in map", b'{"weight_map": {"a": ' + b'{"a":' * 200 + b"1"


def broken_inputs(folder):
    """(case, path) of everything that import has to refuse."""
    path = folder / "broken.safetensors"
    for case, data in broken_headers():
        path.write_bytes(data)
        yield f"safetensors: {case}", path
    (folder / "shard.safetensors").write_bytes(
        packed(json.dumps({"a": entry()})))
    path = folder / "broken.json"
    texts = [(f"text: {case}", text) for case, text in broken_texts()]
    for kind, cases in (("dump", broken_dumps()), ("index", broken_indices())):
        texts += [(f"{kind}: {case}", json.dumps(value).encode())
                  for case, value in cases]
    for case, text in texts:
        path.write_bytes(text)
        yield case, path
    os.mkfifo(folder / "fifo")
    for case in (folder / "fifo", folder, "/dev/zero", folder / "absent"):
        yield str(case), case
