"""What the parameters of a live model are, as mesh, model block and schedule of a
source.  Sharding is read from the placements of DTensors; what no plan expresses is a
ValueError that names parameter and placement."""
import math
import operator
import re

import torch
import torch.distributed as dist

DTYPES = {torch.float32: "f32", torch.bfloat16: "bf16"}
# Dimensions of device meshes, as trainers name them, and the axes that they are; those
# in which experts alone are sharded.
AXES = {"dp": "dp", "ddp": "dp", "replicate": "dp", "dp_replicate": "dp",
        "fsdp": "fsdp", "shard": "fsdp", "dp_shard": "fsdp", "dp_shard_cp": "fsdp",
        "cp": "cp", "tp": "tp"}
EXPERTS = {"ep": "ep", "etp": "etp", "edp": "edp", "efsdp": "edp", "dp_mod_ep": "edp",
           "dp_shard_mod_ep": "edp"}
WRAPPERS = ("_orig_mod.", "_checkpoint_wrapped_module.", "_fsdp_wrapped_module.")


def is_sharded(placement):
    """Of a _StridedShard, too: some versions of torch say that it is none."""
    return hasattr(placement, "dim")


def is_folded(tensor):
    """Programs have one to three dimensions: others have `fold`'s there."""
    return not 1 <= tensor.dim() <= 3


def fold(shape):
    """A number is a vector of one, a kernel of a convolution `view matrix`: a row for each
    output channel."""
    return (shape[0], math.prod(shape[1:])) if shape else (1,)


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


def n_processes():
    """Of torch.distributed; 1 without it."""
    is_shared = dist.is_available() and dist.is_initialized()
    return dist.get_world_size() if is_shared else 1


def _has_experts(mesh):
    return any(name in EXPERTS for name in mesh.mesh_dim_names or ())


def _factoring(axes, sizes, names):
    """Axes and sizes; neighbours of one axis are one."""
    found = {}
    for axis, size in zip(axes, sizes):
        if axis in found and next(reversed(found)) != axis:
            raise ValueError(f"two dimensions of the mesh {names} are the same axis of {axes}")
        found[axis] = found.get(axis, 1) * size
    return found


class Mesh:
    """How ranks are factored: `axes` maps axes to sizes, major to minor, `experts` those
    of experts, if they have their own.  `ranks` are those of torch.distributed in that
    order.  Of a dict of axes, of ranks that need not be there, it has no ranks.

    Trainers that shard without DTensors have a class of their own, which reads another
    way: axis_placements, whole_shape, pieces, grad_of and grad_dtype."""

    grad_of = operator.attrgetter("grad")

    def __init__(self, params, device_mesh):
        meshes = [p.device_mesh for p in params.values() if hasattr(p, "placements")]
        self.roots, self.axes_of, self.experts = [], {}, {}
        if isinstance(device_mesh, dict):
            if meshes:
                raise ValueError("parameters lie on a mesh of their own: a dict is for "
                                 "plain tensors")
            self.ranks, self.axes = [], device_mesh
            return
        if device_mesh is None and not meshes:
            self.ranks = list(range(n_processes()))
            self.axes = {"dp": len(self.ranks)}
            return
        dense = self._largest(meshes) if device_mesh is None else device_mesh
        self.roots, self.ranks = [dense], dense.mesh.flatten().tolist()
        if device_mesh is None and len(self.ranks) != dist.get_world_size():
            raise ValueError(
                f"parameters lie on a mesh of {len(self.ranks)} ranks, and there are "
                f"{dist.get_world_size()}: give mesh=, the mesh of all")
        if dist.get_rank() not in self.ranks:
            raise ValueError(f"the mesh has no rank {dist.get_rank()}")
        self.roots += [mesh for mesh in {m: 0 for m in meshes if _has_experts(m)}
                       if mesh != dense and mesh.mesh.flatten().tolist() == self.ranks]
        sharding = {dim for name, param in params.items()
                    for dim, placement in self.placements(name, param)
                    if is_sharded(placement)}
        self.axes = self._read(dense, sharding, False)
        for root in self.roots:
            if _has_experts(root):
                self.experts = self._read(root, sharding, True)
                break

    @staticmethod
    def _largest(meshes):
        """Of the meshes of all ranks, not the experts' if there is another."""
        return max(meshes, key=lambda mesh: (mesh.size(), not _has_experts(mesh), mesh.ndim))

    def _read(self, root, sharding, is_of_experts):
        """Its factoring.  Notes which axis each dimension is to a parameter; one that is
        called dp, and that shards, is fsdp."""
        names, sizes = root.mesh_dim_names, list(root.mesh.shape)
        if names is None:
            if len(sizes) > 2:
                raise ValueError("a mesh of three dimensions and more needs their names")
            self.axes_of.update(zip(range(len(sizes)), ["dp", "fsdp"][-len(sizes):]))
            return dict(zip(["dp", "fsdp"][-len(sizes):], sizes))
        for name in names:
            if name not in AXES and name not in EXPERTS:
                raise ValueError(f"dimension {name!r} of the mesh: they are called "
                                 f"{', '.join([*AXES, *EXPERTS])}")
            axis = AXES.get(name) or EXPERTS[name]
            if axis in ("dp", "edp") and name in sharding:
                axis = "fsdp"
            self.axes_of[name] = {"edp": "dp"}.get(axis, axis)
        as_axis = ({"dp": "edp", "fsdp": "edp", "cp": "edp", "tp": "etp"} if is_of_experts
                   else {"ep": "dp", "etp": "tp"})
        axes = [as_axis.get(self.axes_of[name], self.axes_of[name]) for name in names]
        return _factoring(axes, sizes, names)

    def placements(self, name, param):
        """(dimension, placement) over each dimension of the parameter's own mesh, by
        names; by numbers where the mesh has none."""
        if not hasattr(param, "placements"):
            return []
        own = param.device_mesh
        names = own.mesh_dim_names or range(own.ndim)
        for root in self.roots:
            whole = dict(zip(root.mesh_dim_names or (), root.mesh.shape))
            if own == root or all(whole.get(n) == size for n, size in zip(names, own.mesh.shape)):
                return list(zip(names, param.placements))
        raise ValueError(f"{name}: its mesh {own} is no part of {self.roots[0]}")

    def axis_placements(self, name, param):
        """(axis, placement, number of ranks), in the mesh's order, without axes of one
        rank.  To experts fsdp may be a part of that axis."""
        found = self.placements(name, param)
        sizes = param.device_mesh.mesh.shape if found else ()
        return [(self.axes_of[dim], placement, size)
                for (dim, placement), size in zip(found, sizes) if size > 1]

    def whole_shape(self, name, param):
        """Of all ranks' parts together."""
        return param.shape

    def pieces(self, name, param):
        """Names of the tensors of equal rows that it joins, if it is fused storage: a rank
        along tp has its rows of the first, then of the second."""
        return ()

    def grad_dtype(self, param):
        return param.dtype


class Shape:
    """A parameter as a source has it: `text` is its shape, `clauses` what the schedule
    says of it.

    The first of three dimensions counts matrices, as of experts.  Where FSDP cuts it
    inside the shards of ep, rank c has part order[c] of it in torch, and part c in the
    plan: to an optimizer one matrix is as good as another, though a rule that draws random
    numbers draws others.  So have ranks along tp parts of the pieces of fused storage.
    Else `order` is None."""

    def __init__(self, name, param, mesh):
        self.name, self.mesh, self.order = name, mesh, None
        self.shape = [int(size) for size in mesh.whole_shape(name, param)]
        self.left, self.axes = list(self.shape), [[] for _ in self.shape]
        self.clauses, self.is_batch = [], len(self.shape) == 3
        shards = []
        for axis, placement, size in mesh.axis_placements(name, param):
            at = f"{name} {tuple(self.shape)}: {placement!r} over {axis}"
            if placement.is_partial():
                raise ValueError(f"{at}: a partial sum is no parameter")
            if not is_sharded(placement):
                continue
            if is_folded(param):
                raise ValueError(f"{at}: four dimensions and more are not sharded")
            if axis == "dp":
                raise ValueError(f"{at}, beside fsdp: shards over both have no plan")
            shards.append((axis, placement, size, at))
        for axis, placement, size, at in shards:
            if axis != "fsdp":
                self._divide(placement.dim, axis, size, at)
        for i, shard in enumerate(shards):
            if shard[0] == "fsdp":
                self._shard(shards[:i], shard, shards[i + 1:])
        sizes = ["/".join([str(n), *axes]) for n, axes in zip(self.shape, self.axes)]
        self.text = (f"[{', '.join(sizes) or 1}]" +
                     (" view matrix" if len(sizes) > 3 else ""))
        self.pieces = mesh.pieces(name, param)
        if self.pieces:
            self._join(mesh.axes["tp"] if "tp" in self.axes[0] else 1)

    def _join(self, n):
        """The pieces, of which each of n ranks has some rows."""
        many = len(self.pieces)
        if self.shape[0] % (n * many):
            raise ValueError(f"{self.name} {tuple(self.shape)}: {self.shape[0]} rows are no "
                             f"{' and '.join(self.pieces)} of {n} ranks")
        rows = ", ".join(f"{piece} = {self.shape[0] // (n * many)}" for piece in self.pieces)
        self.text += f" blocks {n} {{ {rows} }}"
        self.order = [p * n + rank for rank in range(n) for p in range(many)]

    def _divide(self, d, axis, size, at):
        """Over an axis of the model's: to equal shards, or as torch.chunk does."""
        if self.left[d] % size == 0:
            self.left[d] //= size
            self.axes[d].append(axis)
            return
        if axis != "tp" or (self.is_batch and d == 0):
            raise ValueError(f"{at}, whose {size} ranks do not divide {self.left[d]}")
        self.clauses.append(f"shard dim {d} over tp chunk on {self.name}")
        self.left[d] = -(-self.left[d] // size)

    def _shard(self, before, fsdp, behind):
        """Over fsdp, which has to cut last what others cut, too."""
        _, placement, size, at = fsdp
        d, whole = placement.dim, self.mesh.axes["fsdp"]
        first, later = (math.prod(n for _, p, n, _ in shards if p.dim == d)
                        for shards in (before, behind))
        counts = self.is_batch and d == 0  # matrices
        factor = getattr(placement, "split_factor", 1)
        if factor != later and not (counts and factor == 1):
            raise ValueError(f"{at}, before tp: fsdp has to cut the shards of others, as "
                             "fully_shard does behind parallelize_module")
        if (d or counts) and self.left[d] % size:
            raise ValueError(f"{at}, whose {size} ranks do not divide {self.left[d]}: only "
                             "dimension 0 of vectors and matrices has uneven shards")
        if size < whole and not any("ep" in axes for axes in self.axes):
            raise ValueError(f"{at}: {size} of the {whole} ranks of fsdp, whose others have "
                             "no experts of their own")
        if not counts:
            self.clauses.append(f"shard dim {d} over fsdp {'' if d else 'chunk '}on "
                                f"{self.name}")
            return
        if size < whole and (self.axes[0] != ["ep"] or first * size * later != whole):
            raise ValueError(f"{at}, and {'/'.join(self.axes[0]) or 'no ep'}: together they "
                             "are not the axis fsdp")
        if factor == later:
            self.order = [(a * later + b) * size + f for a in range(first)
                          for f in range(size) for b in range(later)]
        self.axes[0] = ["fsdp"] if size < whole else [
            axis for axis, p, _, _ in (*before, fsdp, *behind) if p.dim == 0]

    def torch_row(self, row):
        """Of dimension 0, where torch has the plan's row."""
        if self.order is None:
            return row
        n = self.shape[0] // len(self.order)
        return self.order[row // n] * n + row % n

    def torch_runs(self, row, rows):
        """(row in torch, the first of these rows, how many) of runs of the plan's."""
        n = self.shape[0] // len(self.order) if self.order else row + rows
        first = row
        while first < row + rows:
            behind = min(row + rows, first - first % n + n)
            yield self.torch_row(first), first - row, behind - first
            first = behind


def source(params, mesh, rules, reduces, clauses):
    """The whole text.  `rules` come first, so that errors count their lines; `clauses`
    are the caller's of the schedule."""
    lines, schedule, clauses_of = [], [], {}
    for name, param in params.items():
        shape = Shape(name, param, mesh)
        lines.append(f"        {name} : {DTYPES[param.dtype]}{shape.text}")
        if shape.clauses:
            clauses_of[name] = shape.clauses
    arrive = "partial over dp" if reduces else "reduced"
    grads = {name: mesh.grad_dtype(param) for name, param in params.items()}
    first = next(iter(grads.values()))
    schedule.append(f"grads {DTYPES[first]} {arrive}")
    schedule += [f"grads {DTYPES[dtype]} {arrive} on {name}"
                 for name, dtype in grads.items() if dtype != first]
    usual = "shard dim 0 over fsdp chunk"
    if len(clauses_of) == len(params) and all(
            own == [f"{usual} on {name}"] for name, own in clauses_of.items()):
        schedule.append(usual)
    else:
        schedule += [clause for own in clauses_of.values() for clause in own]
    meshes = [f"mesh {word}" + ", ".join(f"{axis} = {size}" for axis, size in axes.items())
              for word, axes in (("", mesh.axes), ("experts ", mesh.experts)) if axes]
    return "\n".join([
        rules.rstrip(), "", *meshes, "model live {", "    params f32 {", *lines,
        "    }", "}", "schedule {", *(f"    {c}" for c in schedule), clauses, "}", ""])
