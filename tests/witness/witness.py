#!/usr/bin/python3
"""A second witness: the library's optimizers beside those of others, as PyPI has
them, on the same gradients.

    [WITNESS_CHECKOUTS=CLONES] witness.py CANZONA LIBCZR.A FOLDER

Installs them to a virtual environment in FOLDER, which may be thrown away, and
lists for each how far ours is from theirs after 20 updates, and either from the
source's formula in float64 (optimizers.py).  Where the two disagree that says
which follows the source; ours has to, and why they differ has to be known.  Status
77 without PyPI.

Distributed Shampoo and dion are not there: clone facebookresearch/optimizers and
microsoft/dion from GitHub to CLONES/optimizers and CLONES/dion.  What is missing
there is skipped, and named."""
import pathlib
import subprocess
import sys
import venv

from witness_rows import CLOSE, SHAPES

PACKAGES = ["numpy", "torch", "pytorch-optimizer", "muon-optimizer",
            "kron-torch"]
SKIPPED = 77
INSTALL_S = 2400
STEPS = 20
SEED = 70


# ---- the virtual environment ----

def install(folder):
    """Its Python, or None without PyPI."""
    python = folder / "bin" / "python"
    done = folder / "installed"
    if done.exists() and done.read_text() == repr(PACKAGES):
        return python
    venv.create(folder, with_pip=True)
    try:
        subprocess.run(
            [python, "-m", "pip", "install", "--quiet", "--no-compile",
             "--disable-pip-version-check", *PACKAGES], timeout=INSTALL_S,
            check=True)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
        return None
    done.write_text(repr(PACKAGES))
    return python


def start(canzona, library, folder):
    python = install(pathlib.Path(folder).resolve())
    if not python:
        print("skipped: PyPI is out of reach")
        return SKIPPED
    return subprocess.run([python, "-B", __file__, canzona, library],
                          check=False).returncode


# ---- one comparison ----

def ours(tools, row, first, grads):
    import embed
    from training import train
    params = "\n".join(f"{name} : [{m}, {n}]" for name, (m, n) in SHAPES.items())
    text = (f"model m {{\nparams f32 {{\n{params}\n}}\n}}\n"
            f"use {row.use} as own on ** {row.view}\n")
    program = embed.Program(*tools, "witness", text, 1, 1)
    return train(program, first, [{n: [g] for n, g in step.items()}
                                  for step in grads],
                 {f"OWN_{k.upper()}": v for k, v in row.hypers.items()}).params


def theirs(make, first, grads):
    import torch
    params = {n: torch.nn.Parameter(torch.tensor(w)) for n, w in first.items()}
    optimizer = make(list(params.values()))
    for step in grads:
        for name, grad in step.items():
            params[name].grad = torch.tensor(grad)
        optimizer.step()
    return {name: p.detach().numpy() for name, p in params.items()}


def draw():
    import numpy as np
    random = np.random.default_rng(SEED)
    normal = lambda shape: random.standard_normal(shape).astype(np.float32)
    first = {name: np.float32(0.02) * normal(s) for name, s in SHAPES.items()}
    return first, [{name: normal(s) for name, s in SHAPES.items()}
                   for _ in range(STEPS)]


def apart(a, b, first):
    """The worst over the tensors, of how far b moved."""
    import numpy as np
    return max(np.linalg.norm(a[n].astype(float) - b[n]) /
               np.linalg.norm(b[n] - first[n]) for n in first)


def verdict(distances, row):
    """What is said, and whether that is as it ought to be."""
    pair, own, other = distances
    if own > min(row.bound, CLOSE):
        return "ours is not the source's", False
    if other > row.bound:
        return f"ours follows the source: {row.why or 'why?'}", bool(row.why)
    return "agree", pair <= 2 * row.bound and not row.why


def compare_row(tools, row, first, grads):
    """Prints its line; whether that is as it ought to be."""
    grads = [{n: g.dtype.type(row.times) * g for n, g in step.items()}
             for step in grads]
    own = ours(tools, row, first, grads)
    other = theirs(row.make, first, grads)
    exact = {n: row.source(first[n].astype(float),
                           [g[n].astype(float) for g in grads], n)
             for n in row.shapes or first}
    distances = [apart(a, b, {n: first[n] for n in exact})
                 for a, b in ((own, other), (own, exact), (other, exact))]
    said, is_well = verdict(distances, row)
    print(f"{row.name:40} {distances[0]:11.1e} {distances[1]:11.1e} "
          f"{distances[2]:13.1e} {said}", flush=True)
    return is_well


def compare(tools):
    import torch
    import witness_checkouts
    import witness_rows
    torch.compiler.set_stance("force_eager")
    first, grads = draw()
    n_wrong = 0
    print(f"{'':40} ours-theirs ours-source theirs-source")
    for heading, rows in [
            ("PyPI's packages", witness_rows.rows()),
            *witness_checkouts.groups()]:
        print(heading)
        n_wrong += sum(not compare_row(tools, row, first, grads) for row in rows)
    return 1 if n_wrong else 0


if __name__ == "__main__":
    sys.exit(start(*sys.argv[1:]) if len(sys.argv) == 4 else
             compare(sys.argv[1:]))
