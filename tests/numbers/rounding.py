"""Where bf16 Newton-Schulz may end, element by element, whatever the order in
which products are added up: intervals in float64 around the formula of
dsl/std/opt/polar.cz, rounded where the manual says (LANGUAGE.md, rounding).

A product of k terms in f32 is off by at most k units of rounding times the
product of the absolute values, in any order, fused or not (Higham 2002, 3.1);
bf16 factors have exact f32 products.  Rounding to bf16 is monotone, so the
ends of an interval round to the ends of the next one.  Most intervals are one
number: there an executed update has no choice."""
from typing import NamedTuple

import numpy as np

from formulas import bf16

UNIT = 2.0 ** -24  # half a unit in the last place of f32
TINY = 2.0 ** -120  # bf16 instructions may flush what is below 2^-126


class Interval(NamedTuple):
    low: np.ndarray
    high: np.ndarray

    @property
    def T(self):
        return Interval(self.low.T, self.high.T)

    def middle(self):
        return (self.low + self.high) / 2

    def radius(self):
        return (self.high - self.low) / 2

    def size(self):
        return np.maximum(np.abs(self.low), np.abs(self.high))

    def wider(self, by):
        return Interval(self.low - by, self.high + by)


def around(middle, radius):
    return Interval(middle - radius, middle + radius)


def rounded(x):
    """To bf16."""
    return Interval(*(np.asarray(bf16(end), float) for end in x))


def scaled(a, x):
    """a * x without the rounding, which `plus` has."""
    a = float(np.float32(a))
    return Interval(np.minimum(a * x.low, a * x.high),
                    np.maximum(a * x.low, a * x.high))


def plus(x, y):
    """x + y in f32, each operand multiplied by a scalar before or not."""
    return Interval(x.low + y.low, x.high + y.high).wider(
        3 * UNIT * (x.size() + y.size()))


def product(x, y):
    """x @ y of bf16, accumulated in f32 in any order."""
    spread = (np.abs(x.middle()) @ y.radius() + x.radius() @ y.size()
              + x.low.shape[1] * (UNIT * x.size() @ y.size() + TINY))
    return around(x.middle() @ y.middle(), spread)


def normalised(x):
    """x / (norm(x) + 1e-7) of bf16 x: sums in float64, the rest rounded to f32."""
    least = np.maximum(np.abs(x.middle()) - x.radius(), 0)
    norms = [np.float32(np.linalg.norm(end) * (1 + by)) + np.float32(1e-7)
             for end, by in ((least, -1e-12), (x.size(), 1e-12))]
    ends = [np.float32(end) / norm for end in x for norm in norms]
    return Interval(np.min(ends, 0), np.max(ends, 0))


def newton_schulz(u, spread, table):
    """Bounds of the polar factor of any matrix within `spread` of u."""
    if u.shape[0] > u.shape[1]:
        return newton_schulz(u.T, spread.T, table).T
    x = rounded(normalised(rounded(around(u, spread))))
    for a, b, c in table:
        g = rounded(product(x, x.T))
        inner = rounded(plus(scaled(b, g), scaled(c, product(g, g))))
        x = rounded(plus(scaled(a, x), product(inner, x)))
    return x


def outside(x, bounds):
    """The share of elements that no order of additions explains."""
    return np.mean((x < bounds.low) | (x > bounds.high))


def decided(bounds):
    """The share of elements that have one possible value."""
    return np.mean(bounds.low == bounds.high)


# ---- wrong roundings, to see that the bounds notice them ----

def wide(x):
    return np.asarray(x, np.float32)


def truncated(x):
    return (wide(x).view(np.uint32) & 0xFFFF0000).view(np.float32)


def in_halves(x, y):
    """A product whose partial sums are kept in bf16."""
    half = x.shape[1] // 2
    return bf16(x[:, :half] @ y[:half]) + bf16(x[:, half:] @ y[half:])


# What stands at a place of polar.cz, and what stands there by mistake.
RIGHT = {"input": bf16, "first": bf16, "gram": bf16, "square": wide, "inner": bf16,
         "times": wide, "last": bf16, "product": np.matmul}
FAULTS = {"normalised before it is rounded": ("input", wide),
          "iterate kept in f32 at first": ("first", wide),
          "g kept in f32": ("gram", wide),
          "g truncated": ("gram", truncated),
          "g @ g rounded before the sum": ("square", bf16),
          "inner sum kept in f32": ("inner", wide),
          "last product rounded before the sum": ("times", bf16),
          "iterate kept in f32": ("last", wide),
          "iterate truncated": ("last", truncated),
          "partial sums in bf16": ("product", in_halves)}


def planted(u, table, *faults):
    """Newton-Schulz in bf16 with some of FAULTS, by name; the result is
    rounded all the same."""
    if u.shape[0] > u.shape[1]:
        return planted(u.T, table, *faults).T
    do = {**RIGHT, **dict(FAULTS[name] for name in faults)}
    matmul = do["product"]
    x = do["input"](u)
    x = do["first"](x / (np.linalg.norm(x) + 1e-7))
    for row in table:
        a, b, c = np.float32(row)
        g = do["gram"](matmul(x, x.T))
        inner = do["inner"](b * g + c * do["square"](matmul(g, g)))
        x = do["last"](a * x + do["times"](matmul(inner, x)))
    return bf16(x)
