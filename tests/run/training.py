"""What the tests of executed updates share: a trainer that drives generated C
(embed.py) on dp x tp ranks, Gaussian data, and a table of what was measured,
which is printed at the end."""
import sys
import unittest

import numpy as np

import embed
from formulas import bf16

TOOLS = []
TABLE = []
MESHES = [(1, 1), (3, 1), (2, 2)]

# Sharded by rows, by columns and not at all; odd sizes leave ZeRO slices that
# end inside rows.
SHAPES = """
            square : [64/tp, 64]
            tall   : [96/tp, 32]
            wide   : [32, 96/tp]
            odd    : [33, 17]
            line   : [1, 16/tp]
            turned : [24, 40/tp] stored transposed"""


def encode(values, dtype):
    values = np.asarray(values, np.float32)
    if dtype == embed.BF16:
        return (bf16(values).view(np.uint32) >> 16).astype(np.uint16)
    return values


def decode(stored):
    if stored.dtype == np.uint16:
        return (stored.astype(np.uint32) << 16).view(np.float32)
    return stored.copy()


class Outcome:
    """Of a training: results by step, whole parameters and whole states."""

    def __init__(self, ranks):
        self.results = ranks[0][0]
        self.params, self.states = {}, {}
        for results, layouts, params, states in ranks:
            assert repr(results) == repr(self.results), "ranks disagree"
            for name, shard in params.items():
                self.put(self.params, name, layouts[name], 0, shard.ravel())
            for state, name, first, values in states:
                if values.ndim == 2:
                    whole = self.states.setdefault((name, state), values)
                    assert np.array_equal(whole, values), f"{state} differs"
                else:
                    self.put(self.states, (name, state), layouts[name], first,
                             values)
        for key, whole in [*self.params.items(), *self.states.items()]:
            assert not np.isnan(whole).any(), f"{key} has holes"

    @staticmethod
    def put(wholes, key, layout, first, values):
        """Places a shard's elements; replicas have to be bit-equal."""
        shape = tuple(layout.globe[:layout.n_dims])
        whole = wholes.setdefault(key, np.full(shape, np.nan, np.float32))
        numbers = np.arange(whole.size).reshape(shape)[layout.window()]
        places = numbers.ravel()[first:first + values.size]
        flat = whole.reshape(-1)
        before = flat[places]
        assert np.all(np.isnan(before) | (before == values)), f"{key} differs"
        flat[places] = values


def train(program, start, grads, hypers, options=None, externs=None):
    """grads[step][name][dp rank] are whole; each rank takes its shard.
    externs[step][name, extern] are given alike on all ranks."""
    def body(rank):
        results = []
        for name, layout in rank.layouts.items():
            rank.params[name][...] = encode(start[name][layout.window()],
                                            layout.param_dtype)
        rank.seal()
        for number, step in enumerate(grads):
            for (name, extern), values in (externs[number].items()
                                           if externs else ()):
                assert rank.give(name, extern, values) == "CZR_OK"
            for name, layout in rank.layouts.items():
                rank.grads[name][...] = encode(
                    step[name][rank.dp][layout.window()], layout.grad_dtype)
            result = rank.step(hypers)
            results.append((result.grad_norm, result.skipped, result.step))
        return (results, {**rank.units, **rank.layouts},
                {name: decode(a) for name, a in rank.params.items()},
                list(rank.states()))
    return Outcome(program.run(body, options))


def attempted(rank, hypers):
    """Of an update that may fail: the status, what is said of it, whether it was
    skipped and t, and the bits of parameters and states, as f32."""
    status, said, result = rank.attempt(hypers)
    arrays = [decode(array) for array in rank.params.values()] + [
        values for *_, values in rank.states()]
    return (status, said, (result.skipped, result.step),
            [array.tobytes() for array in arrays])


def shapes_of(program):
    """Whole shapes by name, as czr_layout tells them."""
    return program.run(lambda rank: {
        name: tuple(layout.globe[:layout.n_dims])
        for name, layout in rank.layouts.items()})[0]


def gaussian(shapes, seed, n_steps, dp, scale=1.0, spread=0.02):
    """(start, grads, mean gradients in float64) of a training."""
    random = np.random.default_rng(seed)
    draw = lambda shape: random.standard_normal(shape).astype(np.float32)
    start = {name: np.float32(spread) * draw(s) for name, s in shapes.items()}
    grads = [{name: [np.float32(scale) * draw(s) for _ in range(dp)]
              for name, s in shapes.items()} for _ in range(n_steps)]
    means = {name: [np.mean([g.astype(float) for g in step[name]], axis=0)
                    for step in grads] for name in shapes}
    return start, grads, means


def moved(param, start):
    return np.asarray(param, float) - np.asarray(start, float)


class Measured(unittest.TestCase):
    def note(self, what, mesh, found, bound, compare="<="):
        TABLE.append((what, "x".join(map(str, mesh)), found, compare, bound))
        check = {"<=": self.assertLessEqual, ">=": self.assertGreaterEqual}
        check[compare](found, bound, what)


def build(name, text):
    """The program `text` for each mesh."""
    return {mesh: embed.Program(*TOOLS, name, text, *mesh) for mesh in MESHES}


def main(heading, more=lambda: None):
    """NAME.py CANZONA LIBCZR.A: the tests, then the table and `more()`."""
    TOOLS[:] = [sys.argv.pop(1), sys.argv.pop(1)]
    program = unittest.main(module="__main__", exit=False)
    print(f"\n{heading}; worst over the tensors of a group")
    for what, mesh, found, compare, bound in TABLE:
        print(f"{what:50} {mesh:4} {found:9.2e} {compare} {bound:g}")
    more()
    sys.exit(not program.result.wasSuccessful())
