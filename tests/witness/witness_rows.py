"""Whom the witness calls (witness.py), and what PyPI has of them."""
import contextlib
import io
import itertools
import typing
from unittest import mock

# bf16 iterates of two libraries (twice that where rows' own lengths divide them), and
# f32 arithmetic in another order (three times that with a factorisation in it).
NARROW, WIDE = 2e-2, 1e-5
# Ours and a formula that rounds where ours does.
CLOSE = 4e-3
# Eigenvectors of an f32 matrix of full rank.
BASES = 1e-4

SHAPES = {"wide": (24, 60), "tall": (58, 22), "square": (40, 40),
          "prime": (13, 29)}


class Row(typing.NamedTuple):
    name: str               # whose
    use: str                # ours
    hypers: dict            # its run-time values
    source: typing.Callable # (first, grads, name) to the end, in float64
    make: typing.Callable   # theirs, of a list of parameters
    bound: float = NARROW
    why: str = ""           # they differ
    shapes: tuple = ()      # those compared; all
    view: str = ""          # what ours sees of each
    times: float = 1.0      # what gradients are multiplied by


def source_of(update, **hypers):
    """Of an update whose polar factor is found in bf16."""
    import formulas
    return lambda w, grads, _: update(w, grads, formulas.bf16, **hypers)


def source_in_f32(update, **hypers):
    import optimizers
    return lambda w, grads, _: update(w, grads, optimizers.keep, **hypers)


def in_f32(make):
    """Theirs with f32 for bf16, whose rounding would hide all but large errors."""
    import torch

    def made(params):
        optimizer = make(params)
        step = optimizer.step

        def wide():
            with (mock.patch.object(torch, "bfloat16", torch.float32),
                  mock.patch.object(torch.Tensor, "bfloat16", torch.Tensor.float)):
                step()
        optimizer.step = wide
        return optimizer
    return made


def drawing(kind, function, draw):
    """`kind`, an optimizer, whose steps call `draw` in place of torch's `function`,
    and print nothing."""
    import torch

    class Drawing(kind):
        def step(self, closure=None):
            with (mock.patch.object(torch, function, draw),
                  contextlib.redirect_stdout(io.StringIO())):
                return super().step(closure)
    return Drawing


def rows():
    """Of PyPI's packages."""
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

    def jordan(params):
        return keller.SingleDeviceMuon(params, lr=0.02)

    def wide(name, entry, make, times=1.0):
        return Row(f"{name}, in f32", f"{entry}(lr, precision = f32)", {"lr": 0.02},
                   source_in_f32(getattr(source, entry), lr=0.02), in_f32(make),
                   WIDE, times=times)

    return [
        Row("torch.optim.Muon", "muon_torch(lr)", {"lr": 0.02},
            source_of(source.muon_torch, lr=0.02), torch_muon("original")),
        Row("torch.optim.Muon, match_rms_adamw",
            "muon_torch(lr, scale = match_rms_adamw)", {"lr": 0.02},
            source_of(source.muon_torch, lr=0.02, scale=source.adamw_rms),
            torch_muon("match_rms_adamw")),
        wide("torch.optim.Muon", "muon_torch", torch_muon("original")),
        wide("torch.optim.Muon, tiny gradients", "muon_torch",
             torch_muon("original"), 1e-9),
        Row("muon-optimizer (Jordan)", "muon_keller(lr)", {"lr": 0.02},
            source_of(source.muon_keller, lr=0.02), jordan),
        wide("muon-optimizer", "muon_keller", jordan),
        wide("muon-optimizer, tiny gradients", "muon_keller", jordan, 1e-9),
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
    names, n_drawn = list(SHAPES), itertools.count()

    def noise(like):
        step, i = divmod(next(n_drawn), len(names))
        return torch.tensor(drawn.normal(tuple(like.shape), 0, names[i],
                                         step + 1), dtype=like.dtype)
    return drawing(Kron, "randn_like", noise)(params, lr=0.02, weight_decay=0.1)
