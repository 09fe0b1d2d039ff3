"""Generated C inside a Python process, as a trainer embeds it: canzona build,
one shared object with libczr.a, and runtime/czr.h through ctypes.

Knows the public header alone.  Structures below repeat its first part."""
import ctypes as ct
import os
import pathlib
import re
import subprocess
import tempfile
import threading

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
OK, ERR_ARGUMENT, ERR_ELSEWHERE = 0, 2, 5
F64, F32, BF16 = 0, 1, 2
ELEMENT = {F64: np.float64, F32: np.float32, BF16: np.uint16}
DIMS = ct.c_int64 * 8


class Tensor(ct.Structure):
    _fields_ = [("data", ct.c_void_p), ("dtype", ct.c_int),
                ("n_dims", ct.c_int), ("shape", ct.POINTER(ct.c_int64)),
                ("strides", ct.POINTER(ct.c_int64))]


class Options(ct.Structure):
    _fields_ = [("late_device", ct.c_int), ("fixed_order_product", ct.c_int),
                ("deadline_ms", ct.c_int64), ("threads", ct.c_int),
                ("undo", ct.c_int), ("replica_check", ct.c_int64),
                ("assume_finite", ct.c_int)]


class Hyper(ct.Structure):
    _fields_ = [("values", ct.POINTER(ct.c_double)), ("n", ct.c_size_t)]


class Result(ct.Structure):
    _fields_ = [("grad_norm", ct.c_double), ("skipped", ct.c_int),
                ("step", ct.c_int64)]


class Layout(ct.Structure):
    _fields_ = [("bucket", ct.c_int), ("offset", ct.c_int64),
                ("n", ct.c_int64), ("param", ct.c_void_p),
                ("grad", ct.c_void_p), ("param_dtype", ct.c_int),
                ("grad_dtype", ct.c_int), ("leaves", ct.c_int64),
                ("grad_stride", ct.c_int64), ("n_dims", ct.c_int),
                ("shape", DIMS), ("globe", DIMS), ("start", DIMS)]

    def dims(self):
        return tuple(self.shape[:self.n_dims])

    def window(self):
        """This rank's shard as slices of the whole tensor."""
        return tuple(slice(s, s + n) for s, n in
                     zip(self.start[:self.n_dims], self.dims()))


class State(ct.Structure):
    _fields_ = [("name", ct.c_char_p), ("param", ct.c_int),
                ("dtype", ct.c_int), ("first", ct.c_int64), ("n", ct.c_int64),
                ("rows", ct.c_int64), ("columns", ct.c_int64),
                ("symmetric", ct.c_int), ("data", ct.c_void_p)]


class Extern(ct.Structure):
    _fields_ = [("name", ct.c_char_p), ("param", ct.c_int),
                ("rows", ct.c_int64), ("columns", ct.c_int64)]


BODY = ct.CFUNCTYPE(ct.c_int, ct.c_void_p, ct.c_void_p)
PROTOTYPES = {
    "czr_status_name": (ct.c_char_p, [ct.c_int]),
    "czr_world_threads_run": (ct.c_int, [ct.c_int, BODY, ct.c_void_p]),
    "czr_world_rank": (ct.c_int, [ct.c_void_p]),
    "czr_world_coordinate": (ct.c_int, [ct.c_void_p, ct.c_char_p]),
    "czr_open": (ct.c_int, [ct.c_void_p, ct.c_void_p, ct.POINTER(Options),
                            ct.POINTER(ct.c_void_p)]),
    "czr_param_count": (ct.c_int, [ct.c_void_p]),
    "czr_param_name": (ct.c_int, [ct.c_void_p, ct.c_int, ct.c_char_p,
                                  ct.c_size_t]),
    "czr_layout": (ct.c_int, [ct.c_void_p, ct.c_char_p, ct.POINTER(Layout)]),
    "czr_bind": (ct.c_int, [ct.c_void_p, ct.c_char_p, ct.POINTER(Tensor),
                            ct.POINTER(Tensor)]),
    "czr_seal": (ct.c_int, [ct.c_void_p]),
    "czr_extern_set": (ct.c_int, [ct.c_void_p, ct.c_char_p, ct.c_char_p,
                                  ct.POINTER(ct.c_float), ct.c_size_t]),
    "czr_extern_count": (ct.c_int, [ct.c_void_p]),
    "czr_extern_get": (ct.c_int, [ct.c_void_p, ct.c_int, ct.POINTER(Extern)]),
    "czr_step": (ct.c_int, [ct.c_void_p, ct.POINTER(Hyper), ct.c_void_p,
                            ct.POINTER(Result)]),
    "czr_state_count": (ct.c_int, [ct.c_void_p]),
    "czr_state_get": (ct.c_int, [ct.c_void_p, ct.c_int, ct.POINTER(State)]),
    "czr_master_get": (ct.c_int, [ct.c_void_p, ct.c_int, ct.POINTER(State)]),
    "czr_masters_renew": (ct.c_int, [ct.c_void_p]),
    "czr_step_set": (ct.c_int, [ct.c_void_p, ct.c_int64]),
    "czr_error": (ct.c_char_p, [ct.c_void_p]),
    "czr_close": (None, [ct.c_void_p]),
}


def view(address, shape, dtype):
    """A NumPy array over memory that is not NumPy's."""
    n_bytes = int(np.prod(shape)) * np.dtype(ELEMENT[dtype]).itemsize
    memory = (ct.c_char * n_bytes).from_address(address)
    return np.frombuffer(memory, ELEMENT[dtype]).reshape(shape)


def tensor_of(array, dtype):
    """`array` for czr_bind, with its strides in elements."""
    dims = ct.c_int64 * max(array.ndim, 1)
    strides = [s // array.itemsize for s in array.strides]
    return Tensor(array.ctypes.data, dtype, array.ndim, dims(*array.shape),
                  dims(*strides))


class Program:
    """One .cz text, built for one mesh and loaded.  Where it is_in_place, ranks
    bind all tensors where the engine has them."""
    is_in_place = False

    def __init__(self, canzona, library, name, source, dp=1, tp=1, pp=1):
        self.folder = tempfile.TemporaryDirectory()
        self.ranks = pp * dp * tp
        here = pathlib.Path(self.folder.name)
        (here / f"{name}.cz").write_text(source, encoding="utf-8")
        run = lambda *words: subprocess.run(
            [str(w) for w in words], check=True, stdout=subprocess.PIPE,
            text=True).stdout
        run(canzona, "build", "--allow-path=/", "-o", here, "-D", f"mesh.dp={dp}", "-D",
            f"mesh.tp={tp}", *(["-D", f"mesh.pp={pp}"] if pp > 1 else []),
            here / f"{name}.cz")
        flags = run(canzona, "build", "--print-cflags").split()
        run(os.environ.get("CC", "gcc"), *flags, "-Wall", "-Wextra",
            "-Werror", "-shared", "-fPIC", "-I", ROOT / "runtime", here / f"{name}.c", "-o",
            here / f"{name}.so", "-Wl,--whole-archive", library,
            "-Wl,--no-whole-archive", "-lpthread", "-ldl", "-lm",
            *os.environ.get("CC_LEVEL", "").split())
        self.c = ct.CDLL(str(here / f"{name}.so"))
        for function, (result, arguments) in PROTOTYPES.items():
            getattr(self.c, function).restype = result
            getattr(self.c, function).argtypes = arguments
        self.address = ct.addressof(ct.c_char.in_dll(self.c, f"{name}_program"))
        self.hypers = self.read_hypers(here / f"{name}.h", name)

    @staticmethod
    def read_hypers(header, name):
        """Names of the run-time values, in order: "ADAMW_LR"."""
        enum = re.search(r"enum \{(.*?)\}", header.read_text(), re.S).group(1)
        prefix = name.upper() + "_"
        words = [word.strip()[len(prefix):] for word in enum.split(",")]
        return words[:words.index("N_HYPERS")]

    def must(self, status, engine=None):
        if status != OK:
            why = self.c.czr_error(engine).decode() if engine else ""
            raise RuntimeError(
                f"{self.c.czr_status_name(status).decode()}: {why}")

    def run(self, body, options=None):
        """`body(rank)` on all ranks; what each returned, by rank."""
        results, failures = [None] * self.ranks, []
        lock = threading.Lock()

        def on_rank(world, _):
            try:
                with Rank(self, world, options) as rank:
                    results[rank.rank] = body(rank)
                return OK
            except Exception as failure:  # it may not pass through C
                with lock:
                    failures.append(failure)
                return ERR_ARGUMENT
        status = self.c.czr_world_threads_run(self.ranks, BODY(on_rank), None)
        if failures:
            raise failures[0]
        self.must(status)
        return results


class Rank:
    """One rank of a trainer: an engine with all its tensors bound (those of
    other stages are not), every third in place, in foreign memory, in foreign memory with columns first.
    Fused and padded storage is bound by its own name, out of place: `layouts`
    has what is bound, `units` what the engine calls a parameter."""

    def __init__(self, program, world, options):
        self.program, self.c = program, program.c
        self.rank = self.c.czr_world_rank(world)
        self.engine = ct.c_void_p()
        self.must(self.c.czr_open(program.address, world,
                                  options and ct.byref(options),
                                  ct.byref(self.engine)))
        self.dp = self.c.czr_world_coordinate(world, b"dp")
        self.tp = self.c.czr_world_coordinate(world, b"tp")
        self.names, self.layouts, self.units = [], {}, {}
        self.params, self.grads = {}, {}
        for index in range(self.c.czr_param_count(self.engine)):
            self.bind(index)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.c.czr_close(self.engine)

    def must(self, status):
        self.program.must(status, self.engine)

    def layout(self, name):
        layout = Layout()
        self.must(self.c.czr_layout(self.engine, name.encode(),
                                    ct.byref(layout)))
        assert layout.leaves == 1
        return layout

    def bind(self, index):
        text = ct.create_string_buffer(256)
        self.must(self.c.czr_param_name(self.engine, index, text, 256))
        unit = text.value.decode()
        name = unit.split("[")[0]
        self.names.append(unit)
        if self.c.czr_layout(self.engine, text.value,
                             ct.byref(Layout())) == ERR_ELSEWHERE:
            return
        self.units[unit] = self.layout(unit)
        if name in self.layouts:
            return
        layout = self.layouts[name] = self.layout(name)
        in_place = layout.bucket >= 0 and (self.program.is_in_place or
                                           index % 3 == 0)
        for arrays, place, dtype in (
                (self.params, layout.param, layout.param_dtype),
                (self.grads, layout.grad, layout.grad_dtype)):
            arrays[name] = (
                view(place, layout.dims(), dtype) if in_place else
                np.zeros(layout.dims(), ELEMENT[dtype],
                         order="C" if index % 3 == 1 else "F"))
        bound = [None, None] if in_place else [
            ct.byref(tensor_of(self.params[name], layout.param_dtype)),
            ct.byref(tensor_of(self.grads[name], layout.grad_dtype))]
        self.must(self.c.czr_bind(self.engine, name.encode(), *bound))

    def seal(self):
        self.must(self.c.czr_seal(self.engine))

    def give(self, unit, name, values):
        """The extern `name` of a parameter; the status, as a name."""
        flat = np.ascontiguousarray(values, np.float32).ravel()
        status = self.c.czr_extern_set(
            self.engine, unit.encode(), name.encode(),
            flat.ctypes.data_as(ct.POINTER(ct.c_float)), flat.size)
        return self.c.czr_status_name(status).decode()

    def externs(self):
        """(parameter name, extern's name): its shape, of all to be given."""
        found = {}
        for index in range(self.c.czr_extern_count(self.engine)):
            extern = Extern()
            self.must(self.c.czr_extern_get(self.engine, index,
                                            ct.byref(extern)))
            found[self.names[extern.param], extern.name.decode()] = (
                extern.rows, extern.columns)
        return found

    def attempt(self, hypers):
        """One update, which may fail: the status, as a name, what is said of it, and
        the result.  `hypers` names the values that are not defaults."""
        unknown = set(hypers) - set(self.program.hypers)
        assert not unknown, unknown
        values = [hypers.get(name, np.nan) for name in self.program.hypers]
        array = (ct.c_double * len(values))(*values)
        result = Result()
        status = self.c.czr_step(self.engine, ct.byref(Hyper(array, len(values))),
                                 None, ct.byref(result))
        return (self.c.czr_status_name(status).decode(),
                self.c.czr_error(self.engine).decode(), result)

    def step(self, hypers):
        """One that does not."""
        status, said, result = self.attempt(hypers)
        if status != "CZR_OK":
            raise RuntimeError(f"{status}: {said}")
        return result

    def states(self):
        """(state name, parameter name, first element, values), copied; of one
        that is whole the values have its shape."""
        for *names, values in self.lent_states():
            yield (*names, values.copy())

    def lent_masters(self):
        """(parameter name, values where they lie) of this rank's slices."""
        for index, name in enumerate(self.names):
            master = State()
            self.must(self.c.czr_master_get(self.engine, index,
                                            ct.byref(master)))
            if master.n:
                yield name, view(master.data, (master.n,), master.dtype)

    def lent_states(self):
        """The same where they lie."""
        for index in range(self.c.czr_state_count(self.engine)):
            state = State()
            self.must(self.c.czr_state_get(self.engine, index,
                                           ct.byref(state)))
            shape = (state.rows, state.columns) if state.rows else (state.n,)
            yield (state.name.decode(), self.names[state.param], state.first,
                   view(state.data, shape, state.dtype))
