#!/usr/bin/env python3
"""Runs train.py with either's optimizers, and draws their losses side by side.

    python examples/torch/curves.py > examples/torch/curves.svg"""
import os
import pathlib
import re
import subprocess
import sys

TRAIN = pathlib.Path(__file__).resolve().with_name("train.py")
# Panels: runs as layout, ranks, and their name.
PANELS = {"torch": ("torch.optim: Muon and AdamW", [("plain", 1, "one process"),
                                                    ("ddp", 2, "DDP, 2")]),
          "canzona": ("Canzona: one plan", [("plain", 1, "one process"), ("ddp", 2, "DDP, 2"),
                                            ("fsdp_tp", 4, "FSDP2 x TP, 2 x 2")])}
STROKES = ["#1b6ca8", "#d1495b", "#3a7d44"]
WIDTH, HEIGHT, LEFT, TOP, GAP = 320, 220, 48, 34, 40


def losses(optimizer, layout, ranks):
    """(step, loss), as the trainer prints them."""
    starter = [sys.executable]
    if ranks > 1:
        starter += ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={ranks}"]
    done = subprocess.run([*starter, TRAIN, f"--layout={layout}", f"--optimizer={optimizer}"],
                          check=True, stdout=subprocess.PIPE, text=True,
                          env={**os.environ, "OMP_NUM_THREADS": "1"})
    return [(int(step), float(loss))
            for step, loss in re.findall(r"step +(\d+) +loss ([0-9.]+)", done.stdout)]


def text(x, y, words, **more):
    options = "".join(f' {key.replace("_", "-")}="{value}"' for key, value in more.items())
    return f'<text x="{x:g}" y="{y:g}"{options}>{words}</text>'


def draw(panels):
    """`panels` maps titles to lists of (name, curve)."""
    curves = [curve for runs in panels.values() for _, curve in runs]
    last = max(step for curve in curves for step, _ in curve)
    high, low = 6, 2
    lines = []
    for i, (title, runs) in enumerate(panels.items()):
        x0 = LEFT + i * (WIDTH + GAP)
        x = lambda step: x0 + WIDTH * step / last
        y = lambda loss: TOP + HEIGHT * (high - loss) / (high - low)
        lines.append(text(x0, TOP - 12, title, font_weight="bold"))
        for loss in range(low, high + 1):
            lines.append(f'<line x1="{x0}" y1="{y(loss):g}" x2="{x0 + WIDTH}" '
                         f'y2="{y(loss):g}" stroke="#ddd"/>')
            lines.append(text(x0 - 8, y(loss) + 4, loss, text_anchor="end"))
        for step in range(0, last + 1, 50):
            lines.append(text(x(step), TOP + HEIGHT + 18, step, text_anchor="middle"))
        for k, (name, curve) in enumerate(runs):
            points = " ".join(f"{x(step):.1f},{y(loss):.1f}" for step, loss in curve)
            # The first ones are wider, so that equal curves are seen.
            lines.append(f'<polyline points="{points}" fill="none" stroke="{STROKES[k]}" '
                         f'stroke-width="{5 - 2 * k}"/>')
            lines.append(text(x0 + WIDTH - 8, TOP + 18 + 18 * k, f"{name}: {curve[-1][1]:.3f}",
                              text_anchor="end", fill=STROKES[k]))
    size = LEFT + len(panels) * (WIDTH + GAP), TOP + HEIGHT + 44
    lines.append(text(LEFT, size[1] - 6, f"loss over steps; behind names, that of step {last}"))
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size[0]} {size[1]}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{size[0]}" height="{size[1]}" fill="white"/>', *lines, "</svg>"])


if __name__ == "__main__":
    print(draw({title: [(name, losses(optimizer, layout, ranks)) for layout, ranks, name in runs]
                for optimizer, (title, runs) in PANELS.items()}))
