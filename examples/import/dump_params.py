"""Parameters of any trainer to a params.json for `canzona import`.

    from dump_params import dump
    if rank == 0:
        dump(model.named_parameters(), {"dp": 32, "tp": 8}, "params.json")

Understands plain tensors, DTensors (placements over a device mesh) and
Megatron's attributes (tensor_model_parallel, partition_dim).  `axes` renames
dimensions of a device mesh, {"dp_shard": "dp"}; None leaves one out, as is
right for FSDP, whose shards of the optimizer the compiler lays out itself.
"""
import json

DTYPES = {"bfloat16": "bf16", "float32": "f32", "float64": "f64"}


def sharding(param, mesh, axes):
    """The global shape, and for each dimension its axes, major to minor."""
    shape = [int(size) for size in param.shape]
    shard = [[] for _ in shape]
    if hasattr(param, "placements"):  # a DTensor: its shape is global
        dims = list(zip(param.device_mesh.mesh_dim_names, param.placements))
        dims.sort(key=lambda dim: hasattr(dim[1], "split_factor"))  # strided: minor
        for name, placement in dims:
            axis = axes.get(name, name)
            if placement.is_shard() and axis and mesh.get(axis, 1) > 1:
                shard[placement.dim].append(axis)
    elif getattr(param, "tensor_model_parallel", False):  # Megatron: it is local
        is_expert = not getattr(param, "allreduce", True)
        axis = "etp" if is_expert and "etp" in mesh else "tp"
        if mesh.get(axis, 1) > 1:
            shape[param.partition_dim] *= mesh[axis]
            shard[param.partition_dim].append(axis)
    return shape, shard


def describe(name, param, mesh, axes, stages):
    shape, shard = sharding(param, mesh, axes)
    dtype = str(param.dtype).rsplit(".", 1)[-1]
    entry = {"name": name, "shape": shape, "dtype": DTYPES.get(dtype, dtype)}
    if any(shard):
        entry["shard"] = [dim or None for dim in shard]
    if not getattr(param, "requires_grad", True):
        entry["frozen"] = True
    if name in stages:
        entry["stage"] = stages[name]
    return entry


def dump(named_parameters, mesh, path, experts=None, axes=None, stages=None):
    """Write what the pairs (name, parameter) say.  `mesh` maps axes to sizes,
    major to minor; `experts` likewise, where they factor the ranks anew.  In a
    pipeline the pairs are those of all stages, and `stages` maps each name to
    its stage, or to a list of them."""
    sizes = {**mesh, **(experts or {})}
    document = {"schema": "canzona.params/1", "mesh": mesh}
    if experts:
        document["experts"] = experts
    document["parameters"] = [describe(name, param, sizes, axes or {}, stages or {})
                              for name, param in named_parameters]
    with open(path, "w", encoding="utf-8") as file:
        json.dump(document, file, indent=1)
