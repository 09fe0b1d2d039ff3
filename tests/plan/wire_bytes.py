#!/usr/bin/python3
"""A tolerance that admits bf16 on the wire halves what f32 matrices move, and the
partial sums of those whose products are bf16, and a smaller one changes nothing;
and the error of rounding a value is the one that the manual states.

    wire_bytes.py CANZONA FILE SHARED
"""
import json
import subprocess
import sys

import numpy as np

STATED = 2.0 ** -8


def plan(canzona, source, tolerance):
    text = subprocess.run(
        [canzona, "plan", "--json", "-D", f"schedule.tolerance={tolerance}",
         source], text=True, capture_output=True, check=True).stdout
    data = json.loads(text)
    return (sum(data["metrics"]["sent_bytes"]["transfer"]),
            {t for m in data["matrices"] for way in ("gather", "scatter")
             for t in m["wire"][way]})


def sums(canzona, source, tolerance):
    """Types of what those who share a matrix exchange, and all bytes of it."""
    text = subprocess.run(
        [canzona, "plan", "--json", "-D", f"schedule.tolerance={tolerance}",
         "-D", "mesh.tp=4", "-D", "tp_strategy=gram", source],
        text=True, capture_output=True, check=True).stdout
    data = json.loads(text)
    found = [one for stage in data["stages"] for one in stage["sums"]]
    return (sum(data["metrics"]["sent_bytes"]["group_sum"]),
            {how: {one["dtype"] for one in found if one["how"] == how}
             for how in ("sum", "scatter", "gather")})


def check_sums(canzona, source):
    """Norms are f64 and squares bf16, as ever; sums of squares are as narrow."""
    (wide, before), (narrow, now) = (sums(canzona, source, t)
                                     for t in ("0.049", "0.05"))
    print(f"{wide} bytes of sums, {narrow} of narrow ones")
    return (before == {"sum": {"f64"}, "scatter": {"f32"}, "gather": {"bf16"}} and
            now == {"sum": {"f64"}, "scatter": {"bf16"}, "gather": {"bf16"}} and
            0.74 < narrow / wide < 0.76)


def worst_rounding():
    """Of f32 values with all leading 16 bits to bf16, to nearest even."""
    significands = np.arange(1 << 16, dtype=np.uint32) << 7
    bits = np.uint32(0x3F800000) | (significands & np.uint32(0x7FFFFF))
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) & np.uint32(0xFFFF0000)
    exact = bits.view(np.float32).astype(float)
    return np.max(np.abs(rounded.view(np.float32) - exact) / exact)


def main(canzona, source, shared):
    wide, narrow = (plan(canzona, source, t) for t in ("0.049", "0.05"))
    worst = worst_rounding()
    print(f"{wide} {narrow}, a value is off by {worst:.6f} of it at most")
    if wide[1] != {"f32"} or narrow[1] != {"bf16"} or wide[0] != 2 * narrow[0]:
        return "bytes or types on the wire"
    if not STATED * 0.99 < worst <= STATED:
        return "the stated error of a value is not what rounding does"
    if not check_sums(canzona, shared):
        return "bytes or types of sums"
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
