#!/usr/bin/python3
"""Optimizers of the library that draw random numbers, executed, beside NumPy: as
oracle_library.py, whose tests and gradients these are, in f32.

    oracle_drawn.py dion|kron CANZONA LIBCZR.A

Rows and columns cannot change places here, since what is drawn depends on them:
float32 tries again with gradients that differ in their last bit.
"""
import functools
import sys

import numpy as np

import drawn
import oracle_library
import optimizers
import preconditioners
from oracle_library import row
from training import main


def dion(w, grads, name, **hypers):
    draw = lambda shape: drawn.normal(shape, 0, name)
    return optimizers.dion(w, grads, draw, **hypers)


def psgd_kron(w, grads, name, **hypers):
    normal = lambda t: drawn.normal(w.shape, 0, name, t)
    uniform = lambda t: drawn.uniform((1, 1), (0, t, 1),
                                      drawn.name_parts(name))[0, 0]
    return preconditioners.psgd_kron(w, grads, normal, uniform, **hypers)["w"]


def dions():
    third = functools.partial(dion, rank_fraction=0.34, multiple_of=2)
    return {"whole": row("dion()", dion, lr=0.02, decay=0.1),
            "third": row("dion(rank_fraction = 0.34, multiple_of = 2)", third,
                         lr=0.02)}


def krons():
    """Squares of gradients' squares: powers of ten up to 15."""
    def kron(arguments, fixed, **hypers):
        return row(f"psgd_kron({arguments})",
                   functools.partial(psgd_kron, **fixed), 15, lr=0.02, **hypers)
    return {
        "kron": kron("", {}, decay=0.1),
        "lines": kron("max_size = 30", {"max_size": 30}),
        "annealed": kron("flat_start = 0", {"flat_start": 0}, prob_decay=0.2,
                         min_prob=0.3, momentum=0.5),
        "turns": kron("interval = 4", {"interval": 4}, precond_lr=0.3)}


oracle_library.FAMILIES.update(dion=(dions, optimizers.keep),
                               kron=(krons, optimizers.keep))


class Drawn(oracle_library.Library):
    def formulas(self, name, data):
        turned = name.endswith(".turned")
        turn = np.transpose if turned else np.asarray
        start, means = turn(data[0][name]), [turn(g) for g in data[2][name]]
        update = self.rows[name.split(".")[0]][1]

        def end(dtype, grads):
            with np.errstate(all="ignore"):
                return turn(update(start.astype(dtype),
                                   [g.astype(dtype) for g in grads], name)
                            .astype(float))

        def nearly(random):
            return end(np.float32, [g * (1 + 2.0 ** -24 * random.uniform(
                -1, 1, g.shape)) for g in means])
        return end(float, means), nearly


if __name__ == "__main__":
    Drawn.family = sys.argv.pop(1)
    main(f"{Drawn.family}: seed {oracle_library.SEED}, {oracle_library.STEPS} steps")
