"""What the parameters of a live model are, as mesh, model block and schedule of a
source.  Sharding is read from the placements of DTensors; what no plan expresses is a
ValueError that names parameter and placement."""
import math
import re

import torch
import torch.distributed as dist

DTYPES = {torch.float32: "f32", torch.bfloat16: "bf16"}
# Dimensions of device meshes, as trainers name them, and the axes that they are.
AXES = {"dp": "dp", "ddp": "dp", "replicate": "dp", "dp_replicate": "dp",
        "fsdp": "fsdp", "shard": "fsdp", "dp_shard": "fsdp", "dp_shard_cp": "fsdp",
        "cp": "cp", "tp": "tp"}
WRAPPERS = ("_orig_mod.", "_checkpoint_wrapped_module.", "_fsdp_wrapped_module.")


def is_sharded(placement):
    """Of a _StridedShard, too: some versions of torch say that it is none."""
    return hasattr(placement, "dim")


def is_flat(tensor):
    """Sources have one to three dimensions; all others are vectors there."""
    return not 1 <= tensor.dim() <= 3


def local(tensor):
    """This rank's part of a DTensor; of any other tensor all."""
    return tensor.to_local() if hasattr(tensor, "placements") else tensor


def named(params):
    """Pairs of names and parameters that train, by the names that modules give:
    without what wrappers add.  ValueError of what is no such pair."""
    found = {}
    for pair in params:
        if not (isinstance(pair, (tuple, list)) and len(pair) == 2):
            raise ValueError("parameters come with names: model.named_parameters()")
        name, param = pair
        for wrapper in WRAPPERS:
            name = name.replace(wrapper, "")
        if not param.requires_grad:
            continue
        if not re.fullmatch(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*", name):
            raise ValueError(f"{name!r}: segments of a name are letters, digits, _ and -")
        if name in found:
            raise ValueError(f"{name}: two parameters of that name")
        if param.dtype not in DTYPES:
            raise ValueError(f"{name}: {param.dtype}, where float32 and bfloat16 train")
        found[name] = param
    if not found:
        raise ValueError("no parameter that trains")
    if all(name.startswith("module.") for name in found):  # DDP's
        found = {name.removeprefix("module."): p for name, p in found.items()}
    if len({id(param) for param in found.values()}) < len(found):
        raise ValueError("a parameter has two names: name it once")
    return found


def _words(value):
    """A value of a group, as a source has it."""
    if isinstance(value, (tuple, list)):
        return f"({', '.join(map(_words, value))})"
    if isinstance(value, bool):
        return str(value).lower()
    return repr(float(value)) if isinstance(value, (float, torch.Tensor)) else str(value)


def read(params, rules):
    """Parameters by name, and the rules.  Where `params` are torch's groups, each that
    names its rule becomes a `use`, whose arguments are the group's other values:
    {"params": tensors or pairs, "rule": "adamw", "lr": 1e-3, "name": "rest"}."""
    params = list(params)
    if not any(isinstance(item, dict) for item in params):
        return named(params), rules
    groups = []
    for i, group in enumerate(params):
        if not isinstance(group, dict) or "params" not in group:
            raise ValueError(f"group {i}: groups are dicts with params")
        own, name = group["params"], group.get("name", f"group{i}")
        own = [own] if isinstance(own, torch.Tensor) else list(own)
        groups.append((name, group, [item if isinstance(item, (tuple, list)) else
                                     (f"{name}.{k}", item) for k, item in enumerate(own)]))
    found = named([pair for _, _, own in groups for pair in own])
    name_of = {id(param): name for name, param in found.items()}
    uses = []
    for name, group, own in groups:
        values = {key: value for key, value in group.items()
                  if key not in ("params", "param_names", "name", "rule")}
        if "rule" not in group:
            if values:
                raise ValueError(f"group {name}: {', '.join(values)} without its rule")
            continue
        on = [name_of[id(param)] for _, param in own if id(param) in name_of]
        words = ", ".join(f"{key} = {_words(value)}" for key, value in values.items())
        if on:
            uses.append(f"use {group['rule']}({words}) as {name} on {', '.join(on)}")
    return found, "\n".join([rules, *uses])


class Mesh:
    """How ranks are factored: `axes` maps axes to sizes, major to minor, `ranks` are
    those of torch.distributed in that order, `names` its dimensions, None of one that
    has no names.  Of a dict of axes, of ranks that need not be there, it has no ranks."""

    def __init__(self, params, device_mesh):
        meshes = [p.device_mesh for p in params.values() if hasattr(p, "placements")]
        self.names, self.device_mesh = (), device_mesh
        if isinstance(device_mesh, dict):
            if meshes:
                raise ValueError("parameters lie on a mesh of their own: a dict is for "
                                 "plain tensors")
            self.ranks, self.axes = [], device_mesh
            return
        is_shared = dist.is_available() and dist.is_initialized()
        if device_mesh is None and not meshes:
            self.ranks = list(range(dist.get_world_size())) if is_shared else [0]
            self.axes = {"dp": len(self.ranks)}
            return
        if device_mesh is None:
            self.device_mesh = max(meshes, key=lambda mesh: mesh.ndim)
        self.ranks = self.device_mesh.mesh.flatten().tolist()
        if device_mesh is None and len(self.ranks) != dist.get_world_size():
            raise ValueError(
                f"parameters lie on a mesh of {len(self.ranks)} ranks, and there are "
                f"{dist.get_world_size()}: give mesh=, the mesh of all")
        if dist.get_rank() not in self.ranks:
            raise ValueError(f"the mesh has no rank {dist.get_rank()}")
        sizes = list(self.device_mesh.mesh.shape)
        self.names = self.device_mesh.mesh_dim_names
        axes = self._axes(params, sizes)
        if len(set(axes)) != len(axes):
            raise ValueError(f"two dimensions of the mesh {self.names} are the same axis "
                             f"of {axes}")
        self.axes = dict(zip(axes, sizes))

    def _axes(self, params, sizes):
        """The axis of each dimension.  One that is called dp, and that shards, is fsdp."""
        if self.names is None:
            if len(sizes) > 2:
                raise ValueError("a mesh of three dimensions and more needs their names")
            return ["dp", "fsdp"][-len(sizes):]
        for name in self.names:
            if name not in AXES:
                raise ValueError(f"dimension {name!r} of the mesh: they are called "
                                 f"{', '.join(AXES)}")
        sharding = {dim for name, param in params.items()
                    for dim, placement in self.placements(name, param)
                    if is_sharded(placement)}
        return ["fsdp" if AXES[name] == "dp" and name in sharding else AXES[name]
                for name in self.names]

    def placements(self, name, param):
        """(dimension, placement) over each dimension of the parameter's own mesh, by
        names; by numbers where the mesh has none."""
        if not hasattr(param, "placements"):
            return []
        own = param.device_mesh
        if own == self.device_mesh:
            return list(zip(self.names or range(own.ndim), param.placements))
        whole = dict(zip(self.names or (), self.device_mesh.mesh.shape))
        names = own.mesh_dim_names or ("",)
        if any(whole.get(n) != size for n, size in zip(names, own.mesh.shape)):
            raise ValueError(f"{name}: its mesh {own} is no part of {self.device_mesh}")
        return list(zip(names, param.placements))

    def axis_placements(self, name, param):
        """The same by axis, in the mesh's order, without axes of one rank."""
        names = self.names or range(len(self.axes))
        axis_of = dict(zip(names, self.axes))
        found = {axis_of[n]: p for n, p in self.placements(name, param)}
        return {axis: found[axis] for axis, size in self.axes.items()
                if size > 1 and axis in found}


def _dimensions(name, param, mesh):
    """The parameter's shape as a source has it, and the dimension that fsdp cuts."""
    placements = mesh.axis_placements(name, param)
    shape = [int(size) for size in param.shape]
    sizes, cuts, fsdp = list(shape), [""] * len(shape), None
    for axis, placement in placements.items():
        at = f"{name} {tuple(shape)}: {placement!r} over {axis}"
        if placement.is_partial():
            raise ValueError(f"{at}: a partial sum is no parameter")
        if not is_sharded(placement):
            continue
        if is_flat(param):
            raise ValueError(f"{at}: four dimensions and more are not sharded")
        d = placement.dim
        if axis == "fsdp":
            fsdp = d
        elif axis == "dp":
            raise ValueError(f"{at}, beside fsdp: shards over both have no plan")
        elif sizes[d] % mesh.axes[axis]:
            raise ValueError(f"{at}, whose {mesh.axes[axis]} ranks do not divide {sizes[d]}")
        else:
            sizes[d] //= mesh.axes[axis]
            cuts[d] += f"/{axis}"
    if fsdp is not None:
        _check_fsdp(name, shape, sizes[fsdp], placements, mesh)
    if is_flat(param):
        return str(math.prod(shape)), fsdp
    return ", ".join(f"{n}{cut}" for n, cut in zip(shape, cuts)), fsdp


def _check_fsdp(name, shape, size, placements, mesh):
    """`size` is what other axes leave of the dimension; fsdp has to cut it last."""
    placement, n = placements["fsdp"], mesh.axes["fsdp"]
    at = f"{name} {tuple(shape)}: {placement!r} over fsdp"
    order = list(placements)
    later = math.prod(mesh.axes[a] for a in order[order.index("fsdp") + 1:]
                      if is_sharded(placements[a]) and placements[a].dim == placement.dim)
    if getattr(placement, "split_factor", 1) != later:
        raise ValueError(f"{at}, before tp: fsdp has to cut the shards of others, as "
                         "fully_shard does behind parallelize_module")
    if placement.dim and size % n:
        raise ValueError(f"{at}, whose {n} ranks do not divide {size}: only dimension 0 "
                         "has uneven shards")


def source(params, mesh, rules, reduces, clauses):
    """The whole text.  `rules` come first, so that errors count their lines; `clauses`
    are the caller's of the schedule."""
    lines, schedule, cut = [], [], {}
    for name, param in params.items():
        shape, fsdp = _dimensions(name, param, mesh)
        lines.append(f"        {name} : {DTYPES[param.dtype]}[{shape}]")
        if fsdp is not None:
            cut[name] = fsdp
    arrive = "partial over dp" if reduces else "reduced"
    first = next(iter(params.values())).dtype
    schedule.append(f"grads {DTYPES[first]} {arrive}")
    schedule += [f"grads {DTYPES[p.dtype]} {arrive} on {name}"
                 for name, p in params.items() if p.dtype != first]
    if len(cut) == len(params) and set(cut.values()) == {0}:
        schedule.append("shard dim 0 over fsdp chunk")
    else:
        schedule += [f"shard dim {d} over fsdp {'' if d else 'chunk '}on {name}"
                     for name, d in cut.items()]
    axes = ", ".join(f"{axis} = {size}" for axis, size in mesh.axes.items())
    return "\n".join([
        rules.rstrip(), "", f"mesh {axes}", "model live {", "    params f32 {", *lines,
        "    }", "}", "schedule {", *(f"    {c}" for c in schedule), clauses, "}", ""])
