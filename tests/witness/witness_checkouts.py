"""Whom the witness calls that are on no package index: checkouts of their
repositories, FOLDER/optimizers and FOLDER/dion (witness.py)."""
import logging
import os
import pathlib
import re
import subprocess
import sys

from witness_rows import (NARROW, SHAPES, WIDE, Row, drawing, in_f32, source_in_f32,
                          source_of)

# ---- Distributed Shampoo ----

# What it calls our hyperparameters.
THEIR_NAMES = {"betas": "betas", "eps": "epsilon", "decay": "weight_decay",
               "interval": "precondition_frequency",
               "start": "start_preconditioning_step"}
# Above all sides of SHAPES, and below all products of two.
WHOLE = 64


def in_blocks(most, hypers):
    """The formula, of each block of at most `most` rows and columns."""
    import preconditioners

    def end(w, grads, _):
        w = w.copy()
        for i in range(0, len(w), most):
            for j in range(0, w.shape[1], most):
                at = slice(i, i + most), slice(j, j + most)
                w[at] = preconditioners.shampoo(w[at], [g[at] for g in grads],
                                                **hypers)["w"]
        return w
    return end


def silence(shampoo):
    """It warns of a start that is not given."""
    logging.getLogger(shampoo.distributed_shampoo.__name__).setLevel(logging.ERROR)


def shampoo_rows():
    import distributed_shampoo as fb

    def row(what, arguments, config=None, most=WHOLE, **hypers):
        theirs = {THEIR_NAMES[k]: v for k, v in hypers.items() if k in THEIR_NAMES}
        if hypers.get("graft"):
            theirs["grafting_config"] = fb.AdamPreconditionerConfig()
        if config:
            theirs["preconditioner_config"] = fb.RootInvShampooPreconditionerConfig(
                **config)
        return Row(f"Distributed Shampoo{what}", f"shampoo(lr, {arguments})",
                   {"lr": 0.02}, in_blocks(most, {"lr": 0.02, **hypers}),
                   lambda params: fb.DistributedShampoo(
                       params, lr=0.02, max_preconditioner_dim=most, **theirs),
                   3 * WIDE, view=f"view tiles {most}" if most < WHOLE else "")

    silence(fb)
    newton = {"amortized_computation_config": fb.CoupledNewtonConfig()}
    return [
        row("", "start = 5", start=5),
        row(", averages", "betas = (0.8, 0.95), eps = 1e-3, interval = 3, "
            "decay = 0.1", betas=(0.8, 0.95), eps=1e-3, interval=3, decay=0.1),
        row(", Adam's length", "interval = 3, start = 7, graft = true", interval=3,
            start=7, graft=True),
        row(", root 1/2", "start = 5, exponent = -1/2, graft = true",
            {"inverse_exponent_override": {2: 0.5}}, start=5, exponent=-0.5,
            graft=True),
        row(", coupled Newton", "eps = 1e-3, start = 5, inverse = coupled_newton",
            newton, eps=1e-3, start=5),
        row(", blocks of 16", "eps = 0.1, interval = 2, graft = true", most=16,
            eps=0.1, interval=2, graft=True),
        row(" of 13 x 29", "eps = 0.1", most=1024, eps=0.1)._replace(
            shapes=("prime",), why="theirs takes 1024 elements or fewer for a vector"),
    ]


# ---- dion ----


def with_our_start(kind):
    """A Dion whose first Q is ours."""
    import drawn
    import torch
    names = {n: name for name, shape in SHAPES.items() for n in shape}

    def normal(shape, device=None, dtype=None):
        return torch.tensor(drawn.normal(tuple(shape), 0, names[shape[0]]),
                            dtype=dtype, device=device)
    return drawing(kind, "randn", normal)


def dion_rows():
    import dion

    import optimizers as source
    import oracle_drawn

    def low_rank(kind, what, part=1.0, of=1, shapes=(), **theirs):
        """Of rank `part` of the shorter side, up to a multiple of `of`."""
        return Row(f"dion {what}", f"dion(lr, decay = 0.1, rank_fraction = {part}, "
                   f"multiple_of = {of})", {"lr": 0.02},
                   lambda w, grads, name: oracle_drawn.dion(
                       w, grads, name, lr=0.02, decay=0.1, rank_fraction=part,
                       multiple_of=of),
                   lambda params: with_our_start(kind)(
                       params, lr=0.02, weight_decay=0.1, **theirs),
                   3 * WIDE, shapes=shapes)

    def polar(kind, what, entry, arguments="", theirs=(), times=1.0, **hypers):
        """In f32."""
        return Row(f"dion {what}, in f32", f"{entry}(lr, precision = f32{arguments})",
                   {"lr": 0.02},
                   source_in_f32(getattr(source, entry), lr=0.02, **hypers),
                   in_f32(lambda params: kind(params, lr=0.02, **dict(theirs))),
                   WIDE, times=times)

    def rounded(kind, what, entry):
        """As it is: theirs rounds what is in a polynomial too, which three NARROW
        have room for; how sharp the comparison is depends on the row in f32."""
        return Row(f"dion {what}", f"{entry}(lr)", {"lr": 0.02},
                   source_of(getattr(source, entry), lr=0.02),
                   lambda params: kind(params, lr=0.02), 3 * NARROW)

    third = {"rank_fraction": 0.34, "rank_multiple_of": 2}
    return [
        low_rank(dion.Dion, "Dion"),
        low_rank(dion.Dion, "Dion of a third", 0.34, 2, **third),
        low_rank(dion.DionReference, "DionReference, qr", qr_method="qr"),
        low_rank(dion.DionReference, "DionReference of a third", 0.34, 2, **third),
        low_rank(dion.DionSimple, "DionSimple", shapes=("tall", "square"),
                 rank=64),
        rounded(dion.Muon, "Muon", "muon_dion"),
        polar(dion.Muon, "Muon", "muon_dion"),
        polar(dion.Muon, "Muon, tiny gradients", "muon_dion", times=1e-9),
        polar(dion.Muon, "Muon, cautious, rms_norm", "muon_dion",
              ", decay = 0.1, scale = match_rms_adamw, shrink = cautious",
              {"adjust_lr": "rms_norm", "cautious_wd": True, "weight_decay": 0.1},
              decay=0.1, scale=source.adamw_rms, shrink="cautious"),
        polar(dion.MuonReference, "MuonReference, rms_norm", "muon_moonlight",
              theirs={"adjust_lr": "rms_norm"}),
        rounded(dion.NorMuon, "NorMuon", "normuon"),
        polar(dion.NorMuon, "NorMuon", "normuon"),
        polar(dion.NorMuon, "NorMuon, Nesterov", "normuon", ", nesterov = true",
              {"nesterov": True}, nesterov=True),
        rounded(dion.Dion2, "Dion2", "dion2"),
        polar(dion.Dion2, "Dion2", "dion2"),
        polar(dion.Dion2, "Dion2 of half", "dion2",
              ", fraction = 0.5, ef_decay = 0.8",
              {"fraction": 0.5, "ef_decay": 0.8}, fraction=0.5, ef_decay=0.8),
        rounded(dion.Dion3, "Dion3", "dion3"),
        polar(dion.Dion3, "Dion3", "dion3"),
    ]


# ---- the checkouts ----

CHECKOUTS = {"facebookresearch/optimizers": shampoo_rows,
             "microsoft/dion": dion_rows}


def version_of(folder):
    """What a checkout says of itself: its version, and its commit or the newest
    entry of its list of changes."""
    said = []
    for name in ("pyproject.toml", "setup.py"):
        if (folder / name).exists():
            said += re.findall(r'^version = "(.*?)"', (folder / name).read_text(),
                               re.MULTILINE)
    if (folder / ".git").exists():
        said.append(subprocess.run(
            ["git", f"--git-dir={folder / '.git'}", "rev-parse", "--short=12",
             "HEAD"], check=True, stdout=subprocess.PIPE, text=True
        ).stdout.strip())
    else:
        changes = (folder / "CHANGELOG.md").read_text()
        said.append("no commit, changes to " +
                    re.findall(r"^## \[?([^]\n]+)", changes, re.MULTILINE)[0])
    return ", ".join(said)


def enter(repository):
    """The heading of a repository whose modules can be imported now, and whether
    $WITNESS_CHECKOUTS has it."""
    folder = os.environ.get("WITNESS_CHECKOUTS", "")
    checkout = pathlib.Path(folder, repository.split("/")[1])
    if not folder or not checkout.is_dir():
        return f"skipped: no checkout of {repository} in $WITNESS_CHECKOUTS", False
    sys.path.append(str(checkout.resolve()))
    return f"{repository} ({version_of(checkout)})", True


def groups():
    """(heading, rows) of each repository; no rows of one that is not there."""
    for repository, rows in CHECKOUTS.items():
        heading, is_there = enter(repository)
        yield heading, rows() if is_there else []
