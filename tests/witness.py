#!/usr/bin/python3
"""A second witness: the library's optimizers beside those of others, as PyPI has
them, on the same gradients.

    witness.py CANZONA LIBCZR.A FOLDER

Installs them to a virtual environment in FOLDER, which may be thrown away, and
lists for each how far ours is from theirs after 20 updates, and either from the
source's formula in float64 (optimizers.py).  Where the two disagree that says
which follows the source; ours has to, and why they differ has to be known.  Status 77 without PyPI."""
import contextlib
import io
import itertools
import pathlib
import subprocess
import sys
import typing
import venv
from unittest import mock

PACKAGES = ["numpy", "torch", "pytorch-optimizer", "muon-optimizer",
            "kron-torch"]
# The sources of shampoo and of dion are in no package there.
ELSEWHERE = "Distributed Shampoo", "dion"
SKIPPED = 77
INSTALL_S = 2400
STEPS = 20
SEED = 70
# bf16 iterates of two libraries (twice that where rows' own lengths divide them),
# and f32 arithmetic in another order.
NARROW, WIDE = 2e-2, 1e-5
# Eigenvectors of an f32 matrix of full rank.
BASES = 1e-4


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


# ---- who is compared ----

class Row(typing.NamedTuple):
    name: str               # whose
    use: str                # ours
    hypers: dict            # its run-time values
    source: typing.Callable # (first, grads, name) to the end, in float64
    make: typing.Callable   # theirs, of a list of parameters
    bound: float = NARROW
    why: str = ""           # they differ
    shapes: tuple = ()      # those compared; all


def rows():
    import muon as keller
    import pytorch_optimizer as po
    import torch

    import formulas
    import optimizers as source
    import oracle_drawn
    import preconditioners

    def matrices(make, **hypers):
        return lambda params: make([{"params": params, "use_muon": True,
                                     **hypers}])

    def torch_muon(scale):
        return lambda params: torch.optim.Muon(
            params, lr=0.02, weight_decay=0.1, adjust_lr_fn=scale)

    def source_of(update, cast=formulas.bf16, **hypers):
        return lambda w, grads, _: update(w, grads, cast, **hypers)

    return [
        Row("torch.optim.Muon", "muon_torch(lr)", {"lr": 0.02},
            source_of(source.muon_torch, lr=0.02), torch_muon("original")),
        Row("torch.optim.Muon, match_rms_adamw",
            "muon_torch(lr, scale = match_rms_adamw)", {"lr": 0.02},
            source_of(source.muon_torch, lr=0.02, scale=source.adamw_rms),
            torch_muon("match_rms_adamw")),
        Row("muon-optimizer (Jordan)", "muon_keller(lr)", {"lr": 0.02},
            source_of(source.muon_keller, lr=0.02),
            lambda params: keller.SingleDeviceMuon(params, lr=0.02)),
        Row("pytorch-optimizer Muon", "muon_keller(lr)", {"lr": 0.02},
            source_of(source.muon_keller, lr=0.02), matrices(po.Muon, lr=0.02)),
        Row("pytorch-optimizer AdaMuon", "adamuon(lr)", {"lr": 0.02},
            source_of(source.adamuon, lr=0.02),
            matrices(po.AdaMuon, lr=0.02, weight_decay=0.01,
                     betas=(0.95, 0.999)), why="theirs leaves out Nesterov"),
        Row("pytorch-optimizer SCION", "scion(lr, momentum)",
            {"lr": 0.02, "momentum": 0.1},
            source_of(source.scion, lr=0.02, momentum=0.1),
            lambda params: po.SCION(params, lr=0.02, momentum=0.1,
                                    constraint=True, norm_type=2)),
        Row("pytorch-optimizer Lion", "lion(lr, decay = 0.1)", {"lr": 2e-3},
            source_of(source.lion, lr=2e-3, decay=0.1),
            lambda params: po.Lion(params, lr=2e-3, betas=(0.9, 0.99),
                                   weight_decay=0.1), WIDE),
        Row("pytorch-optimizer NorMuon",
            "normuon(lr, decay = 0, coefficients = jordan, scale = shape_scaling,"
            " nesterov = true)", {"lr": 0.02},
            source_of(source.normuon, lr=0.02, decay=0, table=source.JORDAN,
                      scale=source.keller, nesterov=True),
            matrices(po.NorMuon, lr=0.02), 2 * NARROW),
        Row("torch.optim.Adafactor", "adafactor(lr, decay = 0.1)", {"lr": 0.5},
            source_of(source.adafactor, lr=0.5, decay=0.1),
            lambda params: torch.optim.Adafactor(params, lr=0.5,
                                                 weight_decay=0.1), WIDE),
        Row("kron-torch", "psgd_kron(lr, decay = 0.1)", {"lr": 0.02},
            lambda w, grads, name: oracle_drawn.psgd_kron(
                w, grads, name, lr=0.02, decay=0.1),
            kron_with_our_noise, WIDE),
        Row("pytorch-optimizer SOAP", "soap(lr)", {"lr": 3e-3},
            lambda w, grads, _: preconditioners.soap(w, grads)["w"],
            lambda params: po.SOAP(params, lr=3e-3), BASES,
            shapes=("square",)),
        Row("torch.optim.AdamW", "adamw(lr)", {"lr": 0.02},
            lambda w, grads, _: formulas.adamw(w, grads, 0.02, 0.9, 0.999, 1e-8,
                                            0.01),
            lambda params: torch.optim.AdamW(params, lr=0.02), WIDE),
        Row("torch.optim.SGD", "sgd(lr, nesterov = true)", {"lr": 0.02},
            lambda w, grads, _: formulas.sgd(w, grads, 0.02, 0.9, 0.0, True),
            lambda params: torch.optim.SGD(params, lr=0.02, momentum=0.9,
                                           nesterov=True), WIDE),
    ]


def kron_with_our_noise(params):
    """kron-torch, which draws what psgd_kron does in place of its own."""
    import drawn
    import torch
    from kron_torch import Kron
    torch.compiler.set_stance("force_eager")
    names, n_drawn = list(SHAPES), itertools.count()

    def noise(like):
        step, i = divmod(next(n_drawn), len(names))
        return torch.tensor(drawn.normal(tuple(like.shape), 0, names[i],
                                         step + 1), dtype=like.dtype)

    class Kron_(Kron):
        def step(self, closure=None):
            with (mock.patch.object(torch, "randn_like", noise),
                  contextlib.redirect_stdout(io.StringIO())):  # it prints
                return super().step(closure)
    return Kron_(params, lr=0.02, weight_decay=0.1)


SHAPES = {"wide": (24, 60), "tall": (58, 22), "square": (40, 40),
          "prime": (13, 29)}


# ---- one comparison ----

def ours(tools, use, hypers, first, grads):
    import embed
    from training import train
    params = "\n".join(f"{name} : [{m}, {n}]" for name, (m, n) in SHAPES.items())
    text = f"model m {{\nparams f32 {{\n{params}\n}}\n}}\nuse {use} as own on **\n"
    program = embed.Program(*tools, "witness", text, 1, 1)
    return train(program, first, [{n: [g] for n, g in step.items()}
                                  for step in grads],
                 {f"OWN_{k.upper()}": v for k, v in hypers.items()}).params


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
    if own > row.bound:
        return "ours is not the source's", False
    if other > row.bound:
        return f"ours follows the source: {row.why or 'why?'}", bool(row.why)
    return "agree", pair <= 2 * row.bound and not row.why


def compare(tools):
    first, grads = draw()
    n_wrong = 0
    print(f"{'':36} ours-theirs ours-source theirs-source")
    for row in rows():
        own = ours(tools, row.use, row.hypers, first, grads)
        other = theirs(row.make, first, grads)
        exact = {n: row.source(first[n].astype(float),
                               [g[n].astype(float) for g in grads], n)
                 for n in row.shapes or first}
        distances = [apart(a, b, {n: first[n] for n in exact})
                     for a, b in ((own, other), (own, exact), (other, exact))]
        said, is_well = verdict(distances, row)
        n_wrong += not is_well
        print(f"{row.name:36} {distances[0]:11.1e} {distances[1]:11.1e} "
              f"{distances[2]:13.1e} {said}", flush=True)
    for name in ELSEWHERE:
        print(f"{name:36} skipped: not on PyPI")
    return 1 if n_wrong else 0


if __name__ == "__main__":
    sys.exit(start(*sys.argv[1:]) if len(sys.argv) == 4 else
             compare(sys.argv[1:]))
