#!/usr/bin/python3
"""Optimizers with Kronecker factors, executed as generated C, beside NumPy in
float64 (preconditioners.py): 20 updates, on one rank and on 2x2.

    oracle_basis.py CANZONA LIBCZR.A

Gradients have singular values from 1 to 2 in new bases at each update, and what a
rule takes roots or eigenvectors of has full rank by then: square matrices, one side
of others, or both sides after some updates.  SPlus's gradients have a matrix in
common that keeps eigenvalues apart, as means of many without one do not: its
eigenvectors decide signs.  They are drawn until rounding decides none: which signs
it does depends on the processor.  Their moves turn by two bases of f32, whose errors
are roundings over gaps of eigenvalues; one wrong sign is a hundred times that.  soap_eo's first step is in bases in which the gradient is
diagonal: eps is far above what rounding leaves beside the diagonal, or that would be
divided by itself.  States are compared as well.  What is cut to tiles is updated tile
by tile, fused storage after its pieces were joined.
"""
import functools

import numpy as np

import embed
import preconditioners as formula
from training import TOOLS, Measured, main, shapes_of, train

SEED, STEPS = 61, 20
SQUARES = """
            square : [24/tp, 24]
            turned : [20, 20/tp] stored transposed
            prime  : [13, 13]
            one    : [1, 1]"""
OTHERS = """
            wide   : [24/tp, 40]
            tall   : [38, 22/tp]
            odd    : [13, 29]"""
LINE = """
            line   : [1, 34/tp]"""
FUSED = """
            fused  : [36/tp, 20] blocks 3 { q = 8, k = 4 }"""
# Repetitions, and rows of each piece in one.
PIECES = {"fused": (3, {"q": 8, "k": 4})}
# Rows and columns of the tiles of a group.
TILES = {"tiled": 8, "tiled_grafted": 16}


def row(text, update, shapes, **values):
    """(its use, its formula, shapes, hyperparameters)."""
    return text, update, shapes, values


ROWS = {
    "plain": row("shampoo(betas = (0.9, 1.0))", formula.shampoo, SQUARES,
                 lr=0.02, decay=0.1),
    "averaged": row("shampoo(betas = (0.8, 0.95), interval = 3)",
                    formula.shampoo, SQUARES, lr=0.02, betas=(0.8, 0.95),
                    interval=3),
    "late": row("shampoo(interval = 2, start = 6, eps = 0.1)",
                formula.shampoo, SQUARES + OTHERS + LINE, lr=0.02, interval=2,
                start=6, eps=0.1),
    "from_seven": row("shampoo(interval = 3, start = 7, eps = 0.1, "
                      "inverse = coupled_newton)", formula.shampoo,
                      SQUARES + OTHERS, lr=0.02, interval=3, start=7, eps=0.1),
    "newton": row("shampoo(betas = (0.8, 0.95), inverse = coupled_newton)",
                  formula.shampoo, SQUARES, lr=0.02, betas=(0.8, 0.95)),
    "grafted": row("shampoo(interval = 4, graft = true, exponent = -1/2)",
                   formula.shampoo, SQUARES + OTHERS, lr=0.02, interval=4,
                   graft=True, exponent=-0.5),
    "tiled": row("shampoo(interval = 2, eps = 0.1)", formula.shampoo,
                 SQUARES + OTHERS + LINE + FUSED, lr=0.02, interval=2, eps=0.1),
    "tiled_grafted": row("shampoo(interval = 4, start = 6, graft = true, "
                         "eps = 0.1)", formula.shampoo,
                         SQUARES + OTHERS + FUSED, lr=0.02, interval=4,
                         start=6, graft=True, eps=0.1),
    "soap": row("soap(interval = 3)", formula.soap, SQUARES, lr=0.02,
                decay=0.1, interval=3),
    "soap_left": row("soap(interval = 4, max_dim = 24)", formula.soap, OTHERS,
                     lr=0.02, interval=4, max_dim=24),
    "soap_adam": row("soap(max_dim = 8)", formula.soap, OTHERS, lr=0.02,
                     max_dim=8),
    "soap_eo": row("soap_eo(max_update_rms = 0.5)", formula.soap_eo, SQUARES,
                   lr=0.02, decay=0.1, eps=0.1, max_update_rms=0.5),
    "kl": row("kl_shampoo(interval = 4)", formula.kl_shampoo, SQUARES, lr=0.02,
              decay=0.1, interval=4),
    "splus": row("splus(interval = 5)", formula.splus, SQUARES, interval=5,
                 decay=0.1),
    "splus_left": row("splus(interval = 4, max_dim = 25)", formula.splus,
                      OTHERS, lr=10.0, interval=4, max_dim=25),
}
# Bases: their columns' signs mean nothing.
BASES = ("left", "right")


def program():
    params = "\n".join(f"        {name} {{{shapes}\n        }}"
                       for name, (_, _, shapes, _) in ROWS.items())
    view = {name: f" view tiles {size}" for name, size in TILES.items()}
    uses = "\n".join(f"use {text} as {name} on {name}.**{view.get(name, '')}"
                     for name, (text, *_) in ROWS.items())
    return (f"mesh dp = 1, tp = 1\nmodel basis {{\n    params f32 {{\n{params}\n"
            f"    }}\n}}\n{uses}\n")


def matrix(random, shape):
    """Singular values from 1 to 2."""
    draw = lambda n: np.linalg.qr(random.standard_normal((n, min(shape))))[0]
    values = 1 + np.arange(min(shape)) / min(shape)
    return (draw(shape[0]) * values) @ draw(shape[1]).T


def draws(name):
    """Numbers of the name's own, whatever rows there are besides."""
    return np.random.default_rng([SEED, *name.encode()])


def gradients(random, name, shape):
    common = matrix(random, shape) * name.startswith("splus")
    return [np.float32(common + matrix(random, shape)) for _ in range(STEPS)]


@functools.cache
def decided(name, shape):
    """First values, and gradients; of SPlus such that no sign is rounding's."""
    group, stem = name.split(".")
    start = np.float32(0.1 * draws("W " + name).standard_normal(shape))
    random = draws(name)
    turn = np.transpose if stem == "turned" else np.asarray
    while True:
        drawn = gradients(random, name, shape)
        _, update, _, values = ROWS[group]
        if update is not formula.splus or not update(
                turn(start.astype(float)), [turn(g.astype(float)) for g in drawn],
                **values)["undecided"]:
            return start, drawn


def pieces(stem, n_rows):
    """(name, rows) of what a view joins; one without a name of other storage."""
    if stem not in PIECES:
        return [("", np.arange(n_rows))]
    repeats, sizes = PIECES[stem]
    of, rows = sum(sizes.values()), np.arange(n_rows).reshape(repeats, -1)
    assert rows.shape[1] == of
    ends = np.cumsum(list(sizes.values()))
    return [(name, rows[:, end - size:end].ravel())
            for (name, size), end in zip(sizes.items(), ends)]


def parts(group, stem, shape):
    """(what follows the name, place) of each matrix of a tensor."""
    for piece, rows in pieces(stem, shape[0]):
        size = TILES.get(group, max(shape))
        cut = [[axis[i:i + size] for i in range(0, len(axis), size)]
               for axis in (rows, np.arange(shape[1]))]
        for r, own in enumerate(cut[0]):
            for c, columns in enumerate(cut[1]):
                tile = f"{r},{c}" if len(cut[0]) * len(cut[1]) > 1 else ""
                name = ".".join(filter(None, (piece, tile)))
                yield f"[{name}]" if name else "", np.ix_(own, columns)


@functools.cache
def formulas(name, shape):
    """The first and the last values of a tensor, turned as the optimizer sees it,
    and of each matrix what follows its name, and its states."""
    group, stem = name.split(".")
    _, update, _, values = ROWS[group]
    turn = np.transpose if stem == "turned" else np.asarray
    start, grads = decided(name, shape)
    first, grads = turn(start.astype(float)), [turn(g.astype(float)) for g in grads]
    want, states = np.full_like(first, np.nan), []
    for suffix, at in parts(group, stem, first.shape):
        end = update(first[at], [g[at] for g in grads], **values)
        want[at] = end.pop("w")
        end.pop("undecided", None)
        states += [(suffix, end)]
    return first, want, states


def apart(got, want, of):
    return np.linalg.norm(got.astype(float) - want) / np.linalg.norm(of)


def in_order(q):
    """Q diag(1, 2, ...) Q': Q but for signs, and orthogonal if it is right."""
    return (q * np.arange(1, 1 + len(q))) @ q.T


def state_error(state, got, want):
    if state in BASES:
        got = got.astype(float)
        return max(np.linalg.norm(got.T @ got - np.eye(len(got)), 2),
                   apart(in_order(got), in_order(want), in_order(want)))
    return apart(got, want, want)


class Basis(Measured):
    def check(self, dp, tp):
        built = embed.Program(*TOOLS, "basis", program(), dp, tp)
        shapes = shapes_of(built)
        drawn = {name: decided(name, shape) for name, shape in shapes.items()}
        start = {name: first for name, (first, _) in drawn.items()}
        grads = [{name: [of[i]] * dp for name, (_, of) in drawn.items()}
                 for i in range(STEPS)]
        hypers = {f"{group}_{name}".upper(): value
                  for group, (*_, values) in ROWS.items()
                  for name, value in values.items()}
        outcome = train(built, start, grads, {
            name: hypers[name] for name in built.hypers if name in hypers})
        for group in ROWS:
            names = [n for n in start if n.startswith(group + ".")]
            errors = [self.error(name, shapes[name], outcome) for name in names]
            self.assertEqual(len(names), ROWS[group][2].count(":"))
            self.note(f"{group}, parameters", (dp, tp),
                      max(moves for moves, _ in errors),
                      5e-5 if group.startswith("splus") else 1e-5)
            self.note(f"{group}, states", (dp, tp),
                      max(states for _, states in errors), 1e-5)

    def error(self, name, shape, outcome):
        """Of the parameter's move and of the worst state; matrices lie as
        stored, vectors as the rule sees them."""
        turn = np.transpose if name.endswith(".turned") else np.asarray
        lies = lambda x: x if 1 in x.shape else turn(x)
        first, want, states = formulas(name, shape)
        return (apart(turn(outcome.params[name]), want, want - first),
                max(state_error(state, lies(outcome.states[name + suffix, state]), value)
                    for suffix, end in states for state, value in end.items()))

    def test_one_rank(self):
        self.check(1, 1)

    def test_four_ranks(self):
        self.check(2, 2)


if __name__ == "__main__":
    main(f"Kronecker factors: seed {SEED}, {STEPS} steps")
