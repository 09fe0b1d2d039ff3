#!/usr/bin/python3
"""Checkpoints go from world to world: files that ranks of one kind have saved, threads,
processes of MPI, or of gloo, those of another load on another mesh, and the next steps
have the bits of a training that went on.

    worlds.py [--mpi=LIBCZR_MPI.SO] [RULES...]
    worlds.py --rank ...        one process of MPI"""
import ctypes as ct
import itertools
import os
import pathlib
import subprocess
import sys
import tempfile
import zlib

import numpy as np

import gloo
from checkpoint_matrix import MODEL, RULES
from canzona import czr, program
from canzona.world import World

STEPS, MORE = 2, 3
WITH = ("soap", "masters")  # rules: their states are whole, or masters
MESHES = {"threads": "mesh.dp=3 mesh.tp=2", "mpi": "mesh.dp=2 mesh.tp=2",
          "gloo": "mesh.fsdp=3"}
RANKS = {"threads": 6, "mpi": 4, "gloo": 3}
ELEMENT = {czr.F32: np.float32, czr.BF16: np.uint16}
ELSEWHERE = 5


class Layout(ct.Structure):
    _fields_ = [("bucket", ct.c_int), ("offset", ct.c_int64), ("n", ct.c_int64),
                ("param", ct.c_void_p), ("grad", ct.c_void_p), ("param_dtype", ct.c_int),
                ("grad_dtype", ct.c_int), ("n_grads", ct.c_int64), ("grad_stride", ct.c_int64),
                ("n_dims", ct.c_int), ("shape", czr.DIMS), ("whole", czr.DIMS),
                ("start", czr.DIMS)]


BODY = ct.CFUNCTYPE(ct.c_int, ct.c_void_p, ct.c_void_p)
for _name, _result, _arguments in (
        ("czr_world_threads_run", ct.c_int, [ct.c_int, BODY, ct.c_void_p]),
        ("czr_world_rank", ct.c_int, [ct.c_void_p]),
        ("czr_world_coordinate", ct.c_int, [ct.c_void_p, ct.c_char_p]),
        ("czr_layout", ct.c_int, [ct.c_void_p, ct.c_char_p, ct.POINTER(Layout)]),
        ("czr_save", ct.c_int, [ct.c_void_p, ct.c_char_p]),
        ("czr_load", ct.c_int, [ct.c_void_p, ct.c_char_p])):
    getattr(czr.lib, _name).restype = _result
    getattr(czr.lib, _name).argtypes = _arguments


class Trainer:
    """One rank, with its parameters where the engine has them."""

    def __init__(self, address, world):
        self.engine, self.world, self.layouts = ct.c_void_p(), world, {}
        options = czr.Options(fixed_order_product=1, threads=1, deadline_ms=60000)
        self.check(czr.lib.czr_open(address, world, ct.byref(options), ct.byref(self.engine)))
        text = ct.create_string_buffer(256)
        for i in range(czr.lib.czr_param_count(self.engine)):
            self.check(czr.lib.czr_param_name(self.engine, i, text, 256))
            layout = Layout()
            status = czr.lib.czr_layout(self.engine, text.value, ct.byref(layout))
            if status != ELSEWHERE:
                self.check(status)
                self.layouts[text.value] = layout
                self.check(czr.lib.czr_bind(self.engine, text.value, None, None))
        for name, layout in self.layouts.items():
            self.put(layout.param, layout.param_dtype, layout, 0.05 * self.values(name, layout))
        self.check(czr.lib.czr_seal(self.engine))

    def check(self, status):
        czr.check(status, czr.lib.czr_error(self.engine).decode() if self.engine else "")

    @staticmethod
    def window(layout):
        return tuple(slice(s, s + n) for s, n in zip(layout.start[:layout.n_dims],
                                                     layout.shape[:layout.n_dims]))

    def values(self, name, layout, *salt):
        """Of the whole tensor, whatever the mesh; this rank's part of them."""
        random = np.random.default_rng([zlib.crc32(name), *salt])
        return random.standard_normal(layout.whole[:layout.n_dims])[self.window(layout)]

    @staticmethod
    def memory(address, dtype, n):
        kind = np.dtype(ELEMENT[dtype])
        return np.frombuffer((ct.c_char * (n * kind.itemsize)).from_address(address), kind)

    def put(self, address, dtype, layout, values):
        if layout.n:
            flat = np.ascontiguousarray(values, np.float32).ravel()
            if dtype == czr.BF16:
                flat = (flat.view(np.uint32) >> 16).astype(np.uint16)
            self.memory(address, dtype, layout.n)[:] = flat

    def step(self, number):
        dp = czr.lib.czr_world_coordinate(self.world, b"dp")
        for name, layout in self.layouts.items():
            width = np.dtype(ELEMENT[layout.grad_dtype]).itemsize
            for g in range(layout.n_grads):
                values = 0.1 * self.values(name, layout, number, dp * layout.n_grads + g)
                self.put(layout.grad + g * layout.grad_stride * width, layout.grad_dtype,
                         layout, values)
        self.check(czr.lib.czr_step(self.engine, None, None, ct.byref(czr.Result())))

    def params(self):
        """(name, window, values) of what this rank has."""
        return [(name, self.window(layout), self.memory(
                    layout.param, layout.param_dtype, layout.n).copy().reshape(
                        layout.shape[:layout.n_dims]), tuple(layout.whole[:layout.n_dims]))
                for name, layout in self.layouts.items() if layout.n]


def train(address, world, load, save, out):
    """Goes on from `load`, or trains and saves; then steps, whose parameters go to out."""
    trainer, rank = Trainer(address, world), czr.lib.czr_world_rank(world)
    if load:
        trainer.check(czr.lib.czr_load(trainer.engine, load.encode()))
    else:
        for step in range(STEPS):
            trainer.step(step)
        trainer.check(czr.lib.czr_save(trainer.engine, save.encode()))
    for step in range(STEPS, STEPS + MORE):
        trainer.step(step)
    np.save(f"{out}.{rank}.npy", np.array(trainer.params(), object), allow_pickle=True)
    czr.lib.czr_close(trainer.engine)


def load_program(folder):
    library = ct.CDLL(f"{folder}/{program.NAME}.so")
    return library, ct.addressof(ct.c_char.in_dll(library, f"{program.NAME}_program"))


def on_threads(folder, words):
    library, address = load_program(folder)
    failures = []

    def body(world, _):
        try:
            train(address, world, *words)
            return czr.OK
        except Exception as failure:  # none may pass through C
            failures.append(failure)
            return czr.ERR_ENDED
    status = czr.lib.czr_world_threads_run(RANKS["threads"], BODY(body), None)
    if failures:
        raise failures[0]
    czr.check(status)
    del library


def on_mpi(folder, words, mpi):
    leave = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
             "OMPI_MCA_rmaps_base_oversubscribe": "1",
             "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe"}
    subprocess.run(["mpirun", "-n", str(RANKS["mpi"]), sys.executable, "-B", __file__, "--rank",
                    mpi, folder, *words], check=True, env={**os.environ, **leave})


def rank_of_mpi(mpi, folder, *words):
    transport, world = czr.Transport(), ct.c_void_p()
    czr.check(ct.CDLL(mpi).czr_mpi_start(ct.byref(transport)))
    czr.check(czr.lib.czr_world_open(ct.byref(transport), ct.byref(world)))
    _, address = load_program(folder)
    train(address, world, *words)
    czr.lib.czr_world_close(world)


def on_gloo(folder, words):
    def check_all(rank, _):
        library, address = load_program(folder)
        world = World(list(range(RANKS["gloo"])))
        train(address, world.pointer, *words)
        world.close()
        del library
    assert gloo.run(RANKS["gloo"], check_all)


def whole(out, kind):
    """Parameters of all ranks; those of replicas are equal."""
    found = {}
    for rank in range(RANKS[kind]):
        for name, window, values, shape in np.load(f"{out}.{rank}.npy", allow_pickle=True):
            into = found.setdefault(name, (np.zeros(shape, values.dtype),
                                           np.zeros(shape, bool)))
            assert not into[1][window].any() or np.array_equal(into[0][window], values), name
            into[0][window], into[1][window] = values, True
    assert all(is_there.all() for _, is_there in found.values())
    return {name: values for name, (values, _) in found.items()}


def main(options):
    worlds = {"threads": on_threads, "gloo": on_gloo}
    for mpi in (word.removeprefix("--mpi=") for word in options if word.startswith("--mpi=")):
        worlds["mpi"] = lambda folder, words: on_mpi(folder, words, mpi)
    for rules in WITH:
        if options[-1:] and options[-1] in WITH and rules not in options:
            continue
        with tempfile.TemporaryDirectory() as folder:
            at = {kind: pathlib.Path(folder, kind) for kind in worlds}
            for kind in worlds:
                at[kind].mkdir()
                options = ["--strict", "--microbatches=12",
                           *(f"-D{word}" for word in MESHES[kind].split())]
                program._compile(MODEL % RULES[rules], options, "cc", at[kind])
                worlds[kind](str(at[kind]), ["", f"{folder}/saved_{kind}", f"{folder}/{kind}"])
            for saver, loader in itertools.permutations(worlds, 2):
                out = f"{folder}/{saver}_{loader}"
                worlds[loader](str(at[loader]), [f"{folder}/saved_{saver}", "", out])
                went_on, resumed = whole(f"{folder}/{saver}", saver), whole(out, loader)
                assert went_on.keys() == resumed.keys() and len(went_on) == 7
                for name, values in went_on.items():
                    assert np.array_equal(values, resumed[name]), (saver, loader, name)
                print(f"{rules}: saved by {saver}, loaded by {loader}, the bits of each",
                      flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(rank_of_mpi(*sys.argv[2:]) if sys.argv[1:2] == ["--rank"] else main(sys.argv[1:]))
