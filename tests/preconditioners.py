"""The library's optimizers with Kronecker factors in NumPy, written from their
sources' text and not from ours: (w, grads, **hypers) to what the rule holds at
the end, in the type of w and grads.  Roots and eigenvectors are those of
singular values.  Defaults are the sources'."""
import numpy as np


def ema(s, x, b):
    return b * s + (1 - b) * x


def power(a, p, eps):
    """(a + eps I)^p of a symmetric matrix without negative eigenvalues."""
    u, s, _ = np.linalg.svd(a)
    return (u * (s + eps) ** p) @ u.T


def shampoo(w, grads, lr=0.01, betas=(0.9, 1.0), eps=1e-12, decay=0.0,
            interval=1, start=None, exponent=-0.25, graft=False,
            graft_beta2=0.999, graft_eps=1e-10):
    b1, b2 = betas
    start = start or interval
    l, r = np.zeros((len(w),) * 2), np.zeros((w.shape[1],) * 2)
    a, b = np.eye(len(w)), np.eye(w.shape[1])
    mom, v = np.zeros_like(w), np.zeros_like(w)
    for t, g in enumerate(grads, 1):
        gain = 1 if b2 == 1 else 1 - b2
        l, r = b2 * l + gain * g @ g.T, b2 * r + gain * g.T @ g
        if t == start or (t > start and t % interval == 0):
            whole = 1 if b2 == 1 else 1 - b2 ** t
            a = power(l / whole, exponent, eps)
            b = power(r / whole, exponent, eps)
        mom, v = ema(mom, g, b1), ema(v, g * g, graft_beta2)
        u = mom / (1 - b1 ** t)
        p = a @ u @ b
        if graft:
            d = u / (np.sqrt(v / (1 - graft_beta2 ** t)) + graft_eps)
            p = d if t < start else p * (np.linalg.norm(d) /
                                         (np.linalg.norm(p) + 1e-16))
        w = w - lr * (p + decay * w)
    return {"w": w, "l": l, "r": r, "a": a, "b": b}
