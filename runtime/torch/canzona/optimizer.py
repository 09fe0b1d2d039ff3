"""torch.optim.Optimizer over an engine."""
import contextlib
import ctypes as ct
import re

import torch

from . import czr, layout, program
from .hooks import Hooks, Checks
from .tensors import Bound, Gradients, Parameters, describe
from .world import World

TORCH = {czr.F64: torch.float64, czr.F32: torch.float32, czr.BF16: torch.bfloat16}


def _memory(address, shape, strides, dtype):
    """A tensor over a box of the engine's, or of the trainer's, memory."""
    if 0 in shape:
        return torch.empty(shape, dtype=TORCH[dtype])
    n = 1 + sum((size - 1) * stride for size, stride in zip(shape, strides))
    size = torch.empty(0, dtype=TORCH[dtype]).element_size()
    memory = (ct.c_char * (n * size)).from_address(address)
    return torch.frombuffer(memory, dtype=TORCH[dtype]).as_strided(shape, strides)


class Optimizer(torch.optim.Optimizer):
    """Updates `params`, pairs of names and parameters, as the text `rules` says:
    `use` clauses, and optimizers of the caller's own (dsl/LANGUAGE.md).  Each `use` is a
    param_group, with its run-time values such as lr.  Or `params` are torch's groups,
    which say their rule: [{"params": matrices, "rule": "muon", "lr": 0.02}, ...].

    mesh      a DeviceMesh of all ranks.  None: that of the parameters; of plain tensors
              all ranks of torch.distributed, which have the same ones
    reduces   True: gradients are this rank's own, and the optimizer averages them over
              dp.  False: DDP, FSDP2 or whoever else has done so
    overlap   True: while backward() still runs.  With `reduces` each but the last one
              before a step is under no_sync(), and nobody changes gradients behind the
              last.  In one process large gradients are looked at as they are made, so
              that step() need not read all of them before it writes; it looks again at
              those that torch's functions changed since.  False: in step()
    schedule  further clauses: "clip norm 1.0, skip nonfinite"
    strict    bits do not depend on the mesh
    assume_finite  True: as torch's own, it does not look at gradients before it writes.
              One that is not finite is then an Error of the next step, and parameters
              are lost.  False: it is one of this step, which changes nothing
    deadline  seconds that one wait for another rank may last

    A tensor of four dimensions, a convolution's kernel, is the matrix [out, in*kh*kw] to
    rules; one of three is a batch of matrices, as of experts, and so is a Conv1d's, for
    names and parameters do not say of which module they are: its rule is one `for any`,
    as adamw, or its module a Conv2d over [1, k], to be [out, in*k].  What the compiler
    warns of is a UserWarning.

    Construction, step, state_dict and load_state_dict are collective over the mesh: what
    is wrong on one rank is an exception on all, and nothing has changed.  ValueError and
    RuntimeError name the parameter that they are about; Error is what the
    compiler or the engine says."""

    def __init__(self, params, rules="", *, mesh=None, reduces=False, overlap=True,
                 schedule="", strict=False, assume_finite=False, deadline=600):
        if reduces and strict:
            raise ValueError("a strict plan adds up gradients of each microbatch, which "
                             "torch does not keep: reduces or strict, not both")
        try:
            named, rules = layout.read(params, rules)
            where = mesh if isinstance(mesh, layout.Mesh) else layout.Mesh(named, mesh)
        except Exception as error:
            if mesh is None and layout.n_processes() > 1:  # the others expect all
                World(list(range(layout.n_processes())), deadline).agree(error)
            raise
        self._engine, self._hooks, self._checks = ct.c_void_p(), None, None
        self._world, self.source = World(where.ranks, deadline), ""
        with self._together(lambda: self.source):
            self.source = layout.source(named, where, rules, reduces, schedule)
            self.bound = [Bound(i, name, param, where)
                          for i, (name, param) in enumerate(named.items())]
            self._parameters = Parameters(self.bound)
            self._parameters.note()
            self._library, self._program = program.load(self.source, strict)
        self._options = czr.Options(deadline_ms=int(1000 * deadline),
                                    threads=torch.get_num_threads(),
                                    assume_finite=assume_finite)
        self._has_stepped, self._gradients = False, Gradients(self._parameters)
        self._open()
        self._hypers = self._read_hypers()
        self.result, self._steps = czr.Result(), torch.tensor(0.0)
        groups = self._groups(named)
        self._gradients.follow(self._engine)
        shared = set.intersection(*(set(group) for group in groups)) - {"params", "name"}
        super().__init__(groups, {key: groups[0][key] for key in sorted(shared)})
        self._is_made = True
        self._note_step(0)
        if reduces and overlap and len(where.ranks) > 1:
            self._hooks = Hooks(self._gradients, self._check)
        elif overlap and len(where.ranks) == 1 and not assume_finite:
            self._checks = Checks(self._gradients)

    @contextlib.contextmanager
    def _together(self, text=str):
        """What fails on one rank in here is an exception on all; so are other texts."""
        failure = None
        try:
            yield
        except Exception as error:
            failure = error
        self._world.agree(failure, text())

    # ---- construction -------------------------------------------------------
    def _open(self):
        self._check(czr.lib.czr_open(self._program, self._world.pointer,
                                     ct.byref(self._options), ct.byref(self._engine)))
        for one in self.bound:
            own = describe(one.local(one.param))
            self._check(czr.lib.czr_bind(self._engine, one.key, ct.byref(own),
                                         self._first_grad(one)))
        self._check(czr.lib.czr_seal(self._engine))

    def _follow(self):
        """Before the first step: to where parameters have moved.  Older FSDP2 pads uneven
        shards in the first forward pass."""
        moved = self._parameters.moved()
        is_alike = all(one.is_like(one.local(one.param)) for one in moved)
        if self._hooks or not self._world.is_any(moved) or self._world.is_any(not is_alike):
            return
        saved = self.state_dict() if int(self._steps) else None
        czr.lib.czr_close(self._engine)
        self._engine = ct.c_void_p()
        self._parameters.note()
        self._open()
        self._gradients.follow(self._engine)
        if self._checks:
            self._checks.seen.clear()
        if saved:
            self.load_state_dict(saved)

    def _check(self, status):
        if status == czr.OK:
            return
        why = czr.lib.czr_error(self._engine).decode() if self._engine else ""
        try:
            czr.check(status, why)
        except czr.Error as error:
            raise error from self._world.failure

    @staticmethod
    def _first_grad(one):
        """Stored tensors of several matrices want both; any place will do."""
        if one.param.dim() != 3 and not one.layout.pieces:
            return None
        one.zero = torch.zeros_like(one.local(one.param), dtype=one.grad_dtype)
        return ct.byref(describe(one.zero))

    def _read_hypers(self):
        found, desc = [], czr.HyperDesc()
        for i in range(czr.lib.czr_hyper_count(self._engine)):
            self._check(czr.lib.czr_hyper_get(self._engine, i, ct.byref(desc)))
            found.append((desc.param_group.decode(), desc.name.decode(),
                          desc.value if desc.has_default else None))
        return found

    def _groups(self, named):
        """A group for each `use`, in the order of the text; betas_0 and betas_1 of the
        engine are one tuple, betas, as schedulers want it."""
        text, group_of = ct.create_string_buffer(512), {}
        by_name = {one.name: one for one in self.bound}
        for i in range(czr.lib.czr_param_count(self._engine)):
            self._check(czr.lib.czr_param_name(self._engine, i, text, len(text)))
            name = text.value.decode().partition("[")[0]
            by_name[name].numbers.append(i)
            group_of[name] = czr.lib.czr_param_group(self._engine, i).decode()
        order = dict.fromkeys(group for group, _, _ in self._hypers)
        order.update(dict.fromkeys(group_of.values()))
        groups = []
        for group in order:
            values = {}
            for _, word, value in (h for h in self._hypers if h[0] == group):
                if value is None:
                    raise ValueError(f"group {group}: give {word} a value in the rules")
                stem, _, digit = word.rpartition("_")
                if digit.isdigit():
                    values[stem] = (*values.get(stem, ()), value)
                else:
                    values[word] = value
            groups.append({"name": group, **values, "params": [
                (name, param) for name, param in named.items() if group_of[name] == group]})
        return [group for group in groups if group["params"]]

    def add_param_group(self, param_group):
        if getattr(self, "_is_made", False):
            raise RuntimeError("a plan has its parameters from the start: make another "
                               "optimizer")
        super().add_param_group(param_group)

    # ---- a step -------------------------------------------------------------
    def _values(self):
        by_name = {group["name"]: group for group in self.param_groups}
        values = (ct.c_double * len(self._hypers))()
        for i, (group, word, value) in enumerate(self._hypers):
            own = by_name.get(group)
            stem, _, digit = word.rpartition("_")
            if own is not None:
                value = own[stem][int(digit)] if digit.isdigit() else own[word]
            values[i] = float(value)
        return czr.Hyper(values, len(values))

    def _check_params(self):
        for one in self._parameters.moved():
            raise RuntimeError(f"{one.name} lies elsewhere than when the optimizer was "
                               "made: make it behind whatever moves the model")
        for one in self._parameters.written():
            raise RuntimeError(f"{one.name} was written since the last step, which goes "
                               "on from its float32 master: call renew_masters(), or "
                               "load the optimizer's state behind the model's")

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        self._need_open()
        if not self._has_stepped:
            self._follow()
        told, changed = {}, self._checks.changed() if self._checks else ()
        with self._together():
            self._check_params()
            if self._hooks:
                self._hooks.wait()
                told = self._hooks.told
            parts, data, strides, absent = self._gradients.take(told)
            hyper = self._values()
        for status in self._gradients.move(parts, data, strides, changed):
            self._check(status)
        for one in absent:
            for number in one.numbers:
                self._check(czr.lib.czr_grad_absent(self._engine, number))
        status = czr.lib.czr_step(self._engine, ct.byref(hyper), None,
                                  ct.byref(self.result))
        told.clear()
        if self._checks:
            self._checks.seen.clear()
        self._check(status)
        torch.autograd.graph.increment_version(self._parameters.all)
        self._has_stepped = True
        self._note_step(self.result.step)
        return loss

    @contextlib.contextmanager
    def no_sync(self):
        """Gradients of backward() in here are not the last ones before the step."""
        if not self._hooks:
            yield
            return
        was_on, self._hooks.is_on = self._hooks.is_on, False
        try:
            yield
        finally:
            self._hooks.is_on = was_on

    def _note_step(self, step):
        """What torch looks for in `state`: one tensor for all.  Moments stay the
        engine's."""
        self._steps.fill_(step)
        self._parameters.note_versions(step)
        if len(self.state) < len(self.bound):
            self.state.update({one.param: {"step": self._steps} for one in self.bound})

    @property
    def grad_norm(self):
        """Of the last step, before clipping; 0 where the schedule has no clip."""
        return self.result.grad_norm

    @property
    def skipped(self):
        """Whether the last step changed nothing, as `skip nonfinite` says."""
        return bool(self.result.skipped)

    def renew_masters(self):
        """Parameters were written, as by load_state_dict of the model: the next step goes
        on from what they are."""
        self._need_open()
        self._check(czr.lib.czr_masters_renew(self._engine))
        self._parameters.note_versions(False)

    # ---- checkpoints --------------------------------------------------------
    def _checkpoint(self):
        """(parameter, name of the state, tensor of a checkpoint, its boxes) of all states
        and masters; a box is its part of the whole tensor, and memory."""
        tensor, box = czr.CheckpointTensor(), czr.CheckpointBox()
        by_name = {one.name: one for one in self.bound}
        for i in range(czr.lib.czr_checkpoint_count(self._engine)):
            self._check(czr.lib.czr_checkpoint_get(self._engine, i, ct.byref(tensor)))
            if tensor.state is None:
                continue
            name, bracket, matrix = tensor.name.decode().partition("[")
            one, n, boxes = by_name[name], tensor.n_dims, []
            if bracket:  # of a batch
                matrix = re.sub(r"^\d+", lambda m: str(one.layout.torch_row(int(m[0]))), matrix)
            is_stored = not bracket and (n == 3 or tensor.shape[:n] == one.layout.shape)
            for k in range(tensor.n_boxes):
                self._check(czr.lib.czr_checkpoint_get_box(self._engine, i, k, ct.byref(box)))
                memory = _memory(box.data, box.shape[:n], box.strides[:n], tensor.dtype)
                window = tuple(slice(a, a + size) for a, size in zip(box.start[:n], memory.shape))
                if not is_stored:
                    boxes.append((window, memory))
                    continue
                boxes += [((slice(row, row + rows), *window[1:]), memory[first:first + rows])
                          for row, first, rows in one.layout.torch_runs(box.start[0], len(memory))]
            yield one.param, tensor.state.decode() + bracket + matrix, tensor, boxes

    def state_names(self):
        """For each parameter a dict with the names of all that state_dict has of it."""
        found = {one.param: {"step": None} for one in self.bound}
        for param, state, _, _ in self._checkpoint():
            found[param][state] = None
        return found

    @torch.no_grad()
    def state_dict(self):
        """torch's form, with whole tensors on every rank: any mesh loads what another one
        saved.  All ranks call it."""
        self._need_open()
        local, self.state = self.state, {one.param: {"step": self._step_of(one)}
                                         for one in self.bound}
        try:
            for param, state, tensor, boxes in self._checkpoint():
                whole = torch.zeros(tensor.shape[:tensor.n_dims], dtype=TORCH[tensor.dtype])
                for window, memory in boxes if tensor.is_main else ():
                    whole[window] = memory
                self._world.all_reduce_bytes(whole)
                self.state[param][state] = whole
            return super().state_dict()
        finally:
            self.state = local

    @torch.no_grad()
    def load_state_dict(self, state_dict):
        """What state_dict has made, on any mesh of the same parameters and rules."""
        self._need_open()
        with self._together():
            found = self._match(state_dict)
        super().load_state_dict({**state_dict, "state": {}})
        self._fill(lambda param, state, window: found[param][state][window],
                   [int(found[one.param]["step"]) for one in self.bound])

    def _fill(self, value_of, steps):
        """All states and masters, by value_of(parameter, name, window); and each
        parameter's step."""
        for param, state, _, boxes in self._checkpoint():
            for window, memory in boxes:
                if memory.numel():
                    memory.copy_(value_of(param, state, window))
        step = max(steps)
        self._check(czr.lib.czr_step_set(self._engine, step))
        for one, own in zip(self.bound, steps):
            for number in one.numbers if own < step else ():
                self._check(czr.lib.czr_param_step_set(self._engine, number, own))
        self._note_step(step)

    def _step_of(self, one):
        """Its own: it counts no steps without a gradient."""
        step = ct.c_int64()
        self._check(czr.lib.czr_param_step_get(self._engine, one.numbers[0], ct.byref(step)))
        return torch.tensor(float(step.value))

    def _match(self, state_dict):
        """The states by our parameters.  ValueError where they are another model's."""
        name_of = {id(one.param): one.name for one in self.bound}
        groups, found = state_dict["param_groups"], {}
        if [g.get("name") for g in groups] != [g["name"] for g in self.param_groups]:
            raise ValueError(f"a state of groups {[g.get('name') for g in groups]}, where "
                             f"{[g['name'] for g in self.param_groups]} train")
        for own, other in zip(self.param_groups, groups):
            names = [name_of[id(param)] for param in own["params"]]
            theirs = other.get("param_names", names)
            for name in set(names) ^ set(theirs):
                raise ValueError(f"{name}: the state is that of another model")
            index_of = dict(zip(theirs, other["params"]))
            for name, param in zip(names, own["params"]):
                found[param] = state_dict["state"].get(index_of[name], {})
        for param, state, tensor, _ in self._checkpoint():
            value = found[param].get(state)
            if value is None or list(value.shape) != tensor.shape[:tensor.n_dims]:
                raise ValueError(
                    f"{name_of[id(param)]}: {state} is "
                    f"{'missing' if value is None else tuple(value.shape)}, and has to be "
                    f"{tuple(tensor.shape[:tensor.n_dims])}")
        if (len({int(state["step"]) for state in found.values()}) != 1 and
                not all(one.is_alone for one in self.bound)):
            raise ValueError("parameters of the state are at different steps, from which one "
                             "process alone goes on")
        return found

    # ---- the end ------------------------------------------------------------
    def _need_open(self):
        if not self._engine:
            raise RuntimeError("the optimizer is closed")

    def close(self):
        """Gives its memory and its process groups back; nothing else may be called."""
        self._need_open()
        for hooks in filter(None, (self._hooks, self._checks)):
            hooks.close()
        czr.lib.czr_close(self._engine)
        self._engine = ct.c_void_p()
        self._world.close()

    def __del__(self):
        if getattr(self, "_engine", None):
            for hooks in filter(None, (self._hooks, self._checks)):
                hooks.close()
            czr.lib.czr_close(self._engine)
