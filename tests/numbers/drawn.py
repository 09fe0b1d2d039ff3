"""Random numbers of rules once more, in NumPy and float64, from the text of
LANGUAGE.md and IR.md: what a rule draws is a function of the keys, of the
parameter's name, and of an element's row and column."""
import functools
import statistics

import numpy as np

from oracle_rules import hashed


def name_parts(name):
    """The first 24 bits of the name's 64-bit FNV-1a hash, and the next."""
    hash_ = 0xcbf29ce484222325
    for byte in name.encode():
        hash_ = (hash_ ^ byte) * 0x100000001b3 % 2 ** 64
    return hash_ >> 40, hash_ >> 16 & 0xffffff


def uniform(shape, keys, name):
    """Of keys that are rounded to f32, and a name's two parts: in (0, 1)."""
    h = np.float64(np.float32(keys[0]))
    for key in (*keys[1:], *name):
        h = hashed(h, np.float64(np.float32(key)))
    h = hashed(h, np.arange(shape[0], dtype=np.float64))
    h = hashed(h[:, None] + np.zeros(shape),
               np.zeros(shape) + np.arange(shape[1]))
    return (np.floor(h / 2 ** 30) + 0.5) / 2 ** 23


@functools.lru_cache(maxsize=None)
def normal(shape, key, name, at=0):
    """normal(x, key, at) of a parameter's x, in float64."""
    inverse = np.vectorize(statistics.NormalDist().inv_cdf)
    return inverse(uniform(shape, (key, at), name_parts(name)))
