#!/usr/bin/python3
"""Both forms of polynomial iterations, executed, beside the same polynomials in
NumPy's float64: relative errors on three spectra.

    oracle_form.py CANZONA LIBCZR.A

Of bf16 iterates the Gram form may be no further off than the standard one, or
`form auto` could not take it; of f32 ones, three times as far.  With square
matrices in bf16, or f32 ones that are never made anew, it is further off.
"""
import numpy as np

import embed
import optimizers as formula
from training import TOOLS, Measured, main, train

SEED = 7
TABLES = ("polar_express_dao", "quintic", "jordan")
SHAPES = {"wide": (96, 480), "tall": (384, 64)}
PRECISIONS = {"bf16": 1.0, "f32": 3.0}
SOURCE = """mesh dp = 1, tp = 1
model m() {{
    params f32 {{
        {{bf16, f32}} {{
            wide : [96, 480]
            tall : [384, 64]
        }}
    }}
}}
optimizer factor(precision, table) for [m, n] {{
    param <- f32(polar(grad, table, precision))
}}
use factor(precision = bf16, table = {table}) as narrow on bf16.**
use factor(precision = f32, table = {table})  as exact  on f32.**
schedule {{ form {form} }}
"""


def spectra(m, n):
    """Gradients by what their singular values are."""
    random = np.random.default_rng(SEED)
    s = min(m, n)
    left, right = (np.linalg.qr(random.standard_normal((k, s)))[0] for k in (m, n))
    return {"Gaussian": random.standard_normal((m, n)),
            "1e-5 to 1": (left * np.logspace(-5, 0, s)) @ right.T,
            "rank 10": random.standard_normal((m, 10)) @
                       random.standard_normal((10, n))}


def error(program, name, gradient, table):
    """Of what one update makes of zeros."""
    gradients = {f"{p}.{s}": np.zeros(SHAPES[s]) for p in PRECISIONS
                 for s in SHAPES}
    start = {n: np.float32(g) for n, g in gradients.items()}
    gradients[name] = np.float32(gradient)
    got = train(program, start, [{n: [np.float32(g)] for n, g in
                                  gradients.items()}], {}).params[name]
    want = formula.polar(gradients[name].astype(float), table, formula.keep)
    return np.linalg.norm(got - want) / np.linalg.norm(want)


class Form(Measured):
    def test_errors(self):
        for table in TABLES:
            programs = [embed.Program(*TOOLS, form, SOURCE.format(
                table=table, form=form)) for form in ("standard", "gram")]
            for shape, (m, n) in SHAPES.items():
                for spectrum, gradient in spectra(m, n).items():
                    for precision, factor in PRECISIONS.items():
                        standard, gram = (
                            error(p, f"{precision}.{shape}", gradient,
                                  formula.TABLES[table]) for p in programs)
                        self.note(f"{table}, {precision}, {shape}, {spectrum}: "
                                  "gram, standard", (1, 1), gram,
                                  factor * standard)


if __name__ == "__main__":
    main(f"errors of iterations in two forms: seed {SEED}")
