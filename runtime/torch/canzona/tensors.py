"""Parameters and gradients of the trainer's, as the engine has them."""
import array
import ctypes as ct
import operator

import torch

from . import czr, layout

DTYPES = {torch.float32: czr.F32, torch.bfloat16: czr.BF16}
# A step of many small tensors is mostly Python, which asks all of them for one thing in
# one go: map(DATA, tensors).
DATA, STRIDE = torch.Tensor.data_ptr, torch.Tensor.stride
DTYPE = operator.attrgetter("dtype")


def describe(tensor):
    """For czr_bind."""
    dims = ct.c_int64 * max(tensor.dim(), 1)
    return czr.Tensor(tensor.data_ptr() or None, DTYPES[tensor.dtype], tensor.dim(),
                      dims(*tensor.shape), dims(*tensor.stride()))


class Bound:
    """A parameter; `index` is its place among all."""

    def __init__(self, index, name, param, mesh):
        self.index, self.name, self.param, self.key = index, name, param, name.encode()
        self.layout, self.grad_of = layout.Shape(name, param, mesh), mesh.grad_of
        self.grad_dtype = mesh.grad_dtype(param)
        self.is_folded, self.is_shared = layout.is_folded(param), hasattr(param, "placements")
        self.is_plain, self.dtype = not (self.is_folded or self.is_shared), param.dtype
        self.has_master = param.dtype != torch.float32
        self.is_alone = len(mesh.ranks) == 1  # as torch's, then it may lack a gradient
        self.numbers = []
        if self.is_folded and not param.is_contiguous():
            raise ValueError(f"{name}: {param.dim()} dimensions, which are not contiguous")
        if param.device.type != "cpu":
            raise ValueError(f"{name}: on {param.device}, where the CPU's parameters train")
        self.shape = self.local(param).shape

    def local(self, tensor):
        if self.is_plain:
            return tensor
        own = layout.local(tensor) if self.is_shared else tensor
        return own.reshape(layout.fold(own.shape)) if self.is_folded else own

    def is_like(self, tensor):
        return tensor.dtype == self.dtype and tensor.shape == self.shape

    def take_grad(self):
        """This rank's part of the gradient; None if it has none, and there is no other
        rank.  RuntimeError if there is none that fits."""
        param = self.param
        grad = self.grad_of(param)
        if (self.is_plain and type(grad) is torch.Tensor and  # no DTensor
                grad.dtype is self.grad_dtype and grad.layout is torch.strided):
            return grad
        if grad is None and self.is_alone:
            return None
        if grad is None:
            raise RuntimeError(f"{self.name} has no gradient: call backward() before step(), "
                               "and take from the optimizer what never gets one")
        if grad.layout != torch.strided or grad.dtype != self.grad_dtype:
            raise RuntimeError(f"{self.name}: its gradient is {grad.layout} {grad.dtype}")
        found, own = (getattr(tensor, "placements", None) for tensor in (grad, param))
        if found != own:
            # Under sequence parallelism a norm's gradient is a partial sum over tp, and
            # that of an uneven embedding is whole on each rank.
            if not (found and own and grad.device_mesh == param.device_mesh and
                    all(a == b or a.is_partial() or a.is_replicate()
                        for a, b in zip(found, own))):
                raise RuntimeError(f"{self.name}: its gradient lies as {found}, the "
                                   f"parameter as {own}")
            grad = grad.redistribute(placements=own)
        return self.local(grad)


class Parameters:
    """All that are bound, and where they lay then."""

    def __init__(self, bound):
        self.bound, self.data, self.strides = bound, [], []
        self.all = [one.param for one in bound]
        self.are_plain = all(one.is_plain for one in bound)
        self.with_master = [one for one in bound if one.has_master]
        self.known = None  # versions of these behind a step

    def _places(self):
        own = self.all if self.are_plain else [one.local(one.param) for one in self.bound]
        return list(map(DATA, own)), list(map(STRIDE, own))

    def note(self):
        self.data, self.strides = self._places()

    def moved(self):
        """Which lie elsewhere."""
        data, strides = self._places()
        if data == self.data and strides == self.strides:
            return []
        return [one for one, *of in zip(self.bound, data, self.data, strides, self.strides)
                if of[0] != of[1] or of[2] != of[3]]

    def _versions(self):
        return [one.param._version for one in self.with_master]

    def note_versions(self, are_known):
        self.known = self._versions() if are_known else None

    def written(self):
        """Which have masters that do not know what they are."""
        found = self._versions()
        if self.known is None or found == self.known:
            return []
        return [one for one, *of in zip(self.with_master, found, self.known)
                if of[0] != of[1]]


class Gradients:
    """Where the engine has those of all that are bound."""

    def __init__(self, parameters):
        self.parameters, self.bound = parameters, parameters.bound
        self.dtypes = [one.grad_dtype for one in self.bound]
        self.grad_of = self.bound[0].grad_of
        self.engine, self.data, self.strides, self.pick = None, [], [], None

    def follow(self, engine):
        """It has none of them."""
        self.engine = engine
        self.data, self.strides = [None] * len(self.bound), [None] * len(self.bound)
        index_of = [-1] * (czr.lib.czr_param_count(engine) + 1)  # nobody's; one more
        for one in self.bound:
            for number in one.numbers:
                index_of[number] = one.index
        self.pick = operator.itemgetter(*index_of)

    def bind(self, one, part):
        status = czr.lib.czr_grad_bind(self.engine, one.key, ct.byref(describe(part)))
        if status == czr.OK:
            self.data[one.index], self.strides[one.index] = part.data_ptr(), part.stride()
        return status

    def bind_moved(self, one, part):
        """If the engine has it elsewhere."""
        if part.data_ptr() == self.data[one.index] and part.stride() == self.strides[one.index]:
            return czr.OK
        return self.bind(one, part)

    def take(self, told):
        """This rank's parts but of those that were told, None for these; addresses and
        strides; and which have none.  Errors as in Bound.take_grad."""
        if self.parameters.are_plain and not told:
            parts = list(map(self.grad_of, self.parameters.all))
            if set(map(type, parts)) == {torch.Tensor} and \
                    list(map(DTYPE, parts)) == self.dtypes:
                try:  # sparse ones have no strides
                    return parts, list(map(DATA, parts)), list(map(STRIDE, parts)), ()
                except RuntimeError:
                    pass
        parts = [None if one in told else one.take_grad() for one in self.bound]
        return (parts, [0 if part is None else part.data_ptr() for part in parts],
                [own if part is None else part.stride()
                 for part, own in zip(parts, self.strides)],
                [one for one, part in zip(self.bound, parts) if part is None and one not in told])

    def move(self, parts, data, strides, changed):
        """Tells the engine of all that lie elsewhere, and binds those that have `changed`.
        Yields what calls return."""
        anew = {one.index for one in changed}
        if strides != self.strides:
            anew.update(i for i, own in enumerate(strides) if own != self.strides[i])
        if data != self.data:
            if None in self.data or 0 in data:
                anew.update(i for i, own in enumerate(data) if not own or not self.data[i])
            usual = [0 if i in anew else own for i, own in enumerate(data)] if anew else data
            addresses = array.array("Q", self.pick((*usual, 0)))
            yield czr.lib.czr_grads_move(self.engine, addresses.buffer_info()[0],
                                         len(addresses) - 1)
            self.data = [own or old for own, old in zip(data, self.data)] if anew else data
        for i in anew:
            if parts[i] is not None:
                yield self.bind(self.bound[i], parts[i])
