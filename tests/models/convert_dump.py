#!/usr/bin/python3
"""examples/import/dump_params.py on trainers made of plain objects: what it
dumps fits the schema, and comes back from the plan as it was.

    convert_dump.py CANZONA
"""
import importlib.util
import json
import pathlib
import re
import sys
import tempfile
from types import SimpleNamespace as Object

import convert
import counts
import plan_schema

ROOT = pathlib.Path(__file__).resolve().parents[2]
MESH = {"dp": 2, "tp": 4}


def load_example():
    path = ROOT / "examples" / "import" / "dump_params.py"
    spec = importlib.util.spec_from_file_location("dump_params", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def placement(dim=None, **more):
    return Object(dim=dim, is_shard=lambda: dim is not None, **more)


def plain(*shape, dtype="torch.float32", **more):
    return Object(shape=shape, dtype=dtype, **more)


def dtensor(shape, *placements):
    mesh = Object(mesh_dim_names=("dp_shard", "tp"))
    return plain(*shape, dtype="torch.bfloat16", placements=placements,
                 device_mesh=mesh, requires_grad=True)


def megatron(dim, *shape):
    return plain(*shape, dtype="torch.bfloat16", tensor_model_parallel=dim >= 0,
                 partition_dim=dim, allreduce=True)


NONE = placement()
PARAMETERS = [
    ("embed.weight", dtensor((64, 8), NONE, placement(0)),
     ([64, 8], "bf16", [["tp"], []])),
    ("layers.0.up.weight", megatron(0, 8, 8), ([32, 8], "bf16", [["tp"], []])),
    ("layers.1.up.weight", megatron(0, 8, 8), ([32, 8], "bf16", [["tp"], []])),
    ("layers.0.down.weight", megatron(1, 8, 8), ([8, 32], "bf16", [[], ["tp"]])),
    ("layers.1.down.weight", dtensor((8, 32), placement(0), placement(1)),
     ([8, 32], "bf16", [[], ["tp"]])),
    ("layers.0.norm", megatron(-1, 8), ([8], "bf16", [[]])),
    ("layers.1.norm", plain(8), ([8], "f32", [[]]))]


def check_order(example):
    """Axes of one dimension come major to minor, strided shards last."""
    for placements, expected in (
            ((placement(0), placement(0)), ["dp", "tp"]),
            ((placement(0, split_factor=4), placement(0)), ["tp", "dp"])):
        _, shard = example.sharding(dtensor((64,), *placements), MESH,
                                    {"dp_shard": "dp"})
        if shard != [expected]:
            sys.exit(f"axes in the order {shard}, expected {expected}")


def check_frozen(example, folder):
    """A frozen parameter is dumped, and imported, as one."""
    path = folder / "frozen.json"
    example.dump([("a", plain(4, requires_grad=False)), ("b", plain(8))], MESH,
                 path)
    text = convert.expect_ok(convert_canzona(), "import", path)
    if "a : [4] frozen\n" not in text or "b : [8]\n" not in text:
        sys.exit(f"frozen parameters were lost\n{text}")


def check_stages(example, folder):
    """Stages are dumped, and are those of the program."""
    path, source = folder / "stages.json", folder / "stages.cz"
    stages = {"embed": [0, 1], "norm": 1,
              **{f"layers.{i}.{w}": int(i > 2) for i in range(5) for w in "ab"}}
    example.dump([(name, plain(8)) for name in stages], {"pp": 2, **MESH}, path,
                 stages={**stages, "absent": 0})
    check_schema(json.loads(path.read_text()))
    convert.expect_ok(convert_canzona(), "import", "-o", source, path)
    ir = convert.expect_ok(convert_canzona(), "plan", "--ir=source", source)
    found = {}
    for line in re.findall(r'"canzona\.pattern"\(\) \{(.*)\} :', ir):
        first, extents, residents = (
            counts.integers(re.search(rf"\b{key} = array<(i64[^>]*)>", line)[1])
            for key in ("first", "extents", "residents"))
        pattern = re.search(r'name = "([^"]+)"', line)[1]
        values = range(first[0], first[0] + extents[0]) if first else [0]
        found.update({pattern.replace("{0}", str(i)): residents for i in values})
    expected = {name: [] if at == [0, 1] else [at] for name, at in stages.items()}
    if found != expected:
        sys.exit(f"stages came back as {found}, not {expected}")


def convert_canzona():
    return pathlib.Path(sys.argv[1])


def check_schema(document):
    schema = json.loads((ROOT / "dsl" / "params.schema.json").read_text())
    validator = plan_schema.Validator(schema)
    wrong = list(validator.validate(document))
    if wrong:
        sys.exit("\n".join(wrong))
    if not list(validator.validate({**document, "mesh": {"xp": 1}})):
        sys.exit("the schema lets an unknown axis pass")


def main():
    example = load_example()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        path, source = folder / "params.json", folder / "dumped.cz"
        example.dump([p[:2] for p in PARAMETERS], MESH, path,
                     axes={"dp_shard": None})
        check_schema(json.loads(path.read_text()))
        convert.expect_ok(convert_canzona(), "import", "-o", source, path)
        convert.compare("dump", convert.parameters(convert_canzona(), source),
                        {p[0]: p[2] for p in PARAMETERS})
        check_frozen(example, folder)
        check_stages(example, folder)
    check_order(example)
    print(f"{len(PARAMETERS)} parameters of DTensors, Megatron and plain "
          "tensors came back")


if __name__ == "__main__":
    main()
