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


def vectors(a):
    """By descending eigenvalues."""
    return np.linalg.svd(a)[0]


def refreshed(a, q):
    """One step of the power method; where the columns of q went."""
    order = np.argsort(-np.einsum("ij,ik,kj->j", q, a, q), kind="stable")
    return np.linalg.qr(a @ q[:, order])[0], order


def sides(keeps, factors, bases):
    """What a rule holds of the sides that are not left alone."""
    names = zip(("l", "r"), ("left", "right"), keeps, factors, bases)
    return {name: value for factor, basis, keep, a, q in names if keep
            for name, value in ((factor, a), (basis, q))}


def soap(w, grads, lr=3e-3, betas=(0.95, 0.95), eps=1e-8, decay=0.01,
         interval=10, max_dim=10000):
    """A side longer than max_dim has the identity, which stays."""
    (b1, b2), (g, *rest) = betas, grads
    keeps = [n <= max_dim for n in w.shape]
    factors = [(1 - b2) * g @ g.T, (1 - b2) * g.T @ g]
    p, q = (vectors(a) if keep else np.eye(len(a))
            for a, keep in zip(factors, keeps))
    m, v = np.zeros_like(w), np.zeros_like(w)
    for t, g in enumerate(rest, 1):
        turned = p.T @ g @ q
        m = ema(m, turned, b1)
        v = ema(v, turned ** 2, b2)
        step = p @ (m / (np.sqrt(v) + eps)) @ q.T
        w = w - lr * (1 - b2 ** t) ** 0.5 / (1 - b1 ** t) * step
        w = w - lr * decay * w
        m = p @ m @ q.T
        factors = [ema(a, x, b2) for a, x in zip(factors, (g @ g.T, g.T @ g))]
        if t % interval == 0:
            if keeps[0]:
                p, order = refreshed(factors[0], p)
                v = v[order]
            if keeps[1]:
                q, order = refreshed(factors[1], q)
                v = v[:, order]
        m = p.T @ m @ q
    return {"w": w, "v": v, **sides(keeps, factors, (p, q))}


def soap_eo(w, grads, lr=3e-4, betas=(0.9, 0.95), factor_beta=0.95, eps=1e-8,
            decay=0.01, max_update_rms=0.0):
    """The second moment keeps its order when bases change theirs."""
    b1, b2 = betas
    l, r = (np.zeros((n, n)) for n in w.shape)
    m, v = np.zeros_like(w), np.zeros_like(w)
    for t, g in enumerate(grads, 1):
        b = 1 - (1 - factor_beta) / (1 - factor_beta ** t)
        l, r = ema(l, g @ g.T, b), ema(r, g.T @ g, b)
        if t == 1:
            p, q = vectors(l), vectors(r)
        else:
            m = p @ m @ q.T
            p, q = (iterated(a, basis) for a, basis in ((l, p), (r, q)))
            m = p.T @ m @ q
        w = w - lr * decay * w
        turned = p.T @ g @ q
        m, v = ema(m, turned, b1), ema(v, turned ** 2, b2)
        step = p @ (m / (1 - b1 ** t) /
                    (np.sqrt(v / (1 - b2 ** t)) + eps)) @ q.T
        if max_update_rms:
            step = step * min(1, max_update_rms /
                              ((step ** 2).mean() ** 0.5 + 1e-7))
        w = w - lr * step
    return {"w": w, "v": v, "l": l, "r": r, "left": p, "right": q}


def iterated(a, q):
    """One step of the power method, in order of what comes of it."""
    q = np.linalg.qr(a @ q)[0]
    return q[:, np.argsort(-np.diag(q.T @ a @ q), kind="stable")]


def kl_shampoo(w, grads, lr=1e-4, betas=(0.9, 0.98), eps=1e-8, decay=0.01,
               interval=10, initial=0.1, limit=4000.0):
    """Eigenvalues are kept, where the source keeps their inverse roots; what it
    clamps of these is a lower bound here."""
    (b1, b2), (g, *rest), (rows, columns) = betas, grads, w.shape
    least = [max(10, min(n, limit)) ** -2.0 for n in w.shape]
    l = (1 - b2) / columns * g @ g.T
    r = (1 - b2) / rows * g.T @ g
    p, q = vectors(l), vectors(r)
    dl, dr = np.full(rows, initial), np.full(columns, initial)
    m = np.zeros_like(w)
    for t, g in enumerate(rest, 1):
        m = ema(m, g, b1)
        root = np.sqrt(np.outer(dl, dr))
        w = w - lr * p @ ((p.T @ m @ q) / (root + eps)) @ q.T
        w = w - lr * decay * w
        l = ema(l, g @ (q / dr) @ q.T @ g.T / columns, b2)
        r = ema(r, g.T @ (p / dl) @ p.T @ g / rows, b2)
        square = (p.T @ g @ q) ** 2
        dl, dr = (np.maximum(ema(dl, (square / dr).mean(1), b2), least[0]),
                  np.maximum(ema(dr, (square.T / dl).mean(1), b2), least[1]))
        if t % interval == 0:
            p, q = np.linalg.qr(l @ p)[0], np.linalg.qr(r @ q)[0]
    return {"w": w, "l": l, "r": r, "left": p, "right": q,
            "left_scale": dl[:, None] ** -0.5, "right_scale": dr[None] ** -0.5}


def at_most(bound, x):
    """Its spectral norm from below: |x y| / |y| of y, what x makes of its
    longest column."""
    x = x / bound
    y = x @ x[:, np.argmax((x * x).sum(0))]
    return bound * np.linalg.norm(x @ y) / np.linalg.norm(y)


def kron_moved(q, a, b, rate):
    """A triangle, or a diagonal with sums of squares in place of products."""
    tiny, size = np.finfo(np.float32).tiny, np.abs(a + b).max()
    if q.ndim == 1:
        return q - rate * (a - b) / max(size, tiny) * q
    bound = at_most(size, a + b) if size > 0 else 0
    return q - np.triu(rate * (a - b) / max(bound, tiny)) @ q


def kron_products(x, is_triangle):
    return x @ x.T if is_triangle else (x * x).sum(1)


def kron_fitted(l, r, u, v, rate):
    """L and R after an update with the gradient u and the noise v."""
    full = lambda q: q if q.ndim == 2 else np.diag(q)
    a = full(l) @ u @ full(r).T
    b = np.linalg.inv(full(l)).T @ v @ np.linalg.inv(full(r))
    return (kron_moved(l, kron_products(a, l.ndim == 2),
                       kron_products(b, l.ndim == 2), rate),
            kron_moved(r, kron_products(a.T, r.ndim == 2),
                       kron_products(b.T, r.ndim == 2), rate))


def psgd_kron(w, grads, normal, uniform, lr=3e-4, momentum=0.9, decay=0.0,
              precond_lr=0.1, min_prob=0.03, prob_decay=0.001, flat_start=500,
              interval=0, max_size=8192):
    """normal(t): like w; uniform(t): one number."""
    l, r = (np.eye(n, dtype=w.dtype) if n <= max_size else np.ones(n, w.dtype)
            for n in w.shape)
    m, waited = np.zeros_like(w), 0
    for t, g in enumerate(grads, 1):
        m = ema(m, g, momentum)
        u, waited = m / (1 - momentum ** t), waited + 1
        prob = min(1, max(min_prob, np.exp(-prob_decay * (t - 1 - flat_start))))
        if (waited >= 1 / prob) if not interval else t % interval == 1 % interval:
            waited, v = 0, normal(t).astype(w.dtype)
            if uniform(t) < 0.01:
                tops = [np.abs(q).max() for q in (l, r)]
                l, r = (q * (np.sqrt(tops[0] * tops[1]) / top)
                        for q, top in zip((l, r), tops))
            u = u + np.sqrt(np.finfo(np.float32).eps) * np.abs(u).mean() * v
            l, r = kron_fitted(l, r, u, v, precond_lr)
        p, q = (x.T @ x if x.ndim == 2 else np.diag(x * x) for x in (l, r))
        d = p @ u @ q
        d = d * min(1, 1.1 / (np.linalg.norm(d) / np.sqrt(d.size) + 1e-12))
        w = w - lr * (d + decay * w)
    return {"w": w, "l": l, "r": r}


# Of the largest element in eigenbases: what is nearer to 0 may have the sign that
# rounding gives it.  `undecided` counts those.
UNDECIDED = 5e-5


def splus(w, grads, lr=0.1, betas=(0.9, 0.999), decay=0.01, average=0.999,
          interval=100, max_dim=10000, nonstandard=0.001):
    b1, b2 = betas
    keeps = [n < max_dim for n in w.shape]
    factors = [np.zeros((n, n)) for n in w.shape]
    bases = [np.eye(n) for n in w.shape]
    length = lr * nonstandard if max(w.shape) > max_dim else 2 * lr / sum(w.shape)
    m, mean, undecided = np.zeros_like(w), np.zeros_like(w), 0
    for t, g in enumerate(grads, 1):
        m = ema(m, g, b1)
        p, q = bases
        turned = p.T @ m @ q
        undecided += np.count_nonzero(
            np.abs(turned) < UNDECIDED * np.abs(turned).max())
        w = w - length * (p @ np.sign(turned) @ q.T)
        mean = ema(mean, w, average)
        w = w * (1 - length * decay)
        factors = [ema(a, x, b2) for a, x in zip(factors, (g @ g.T, g.T @ g))]
        if t == 1 or t % interval == 0:
            bases = [vectors(a) if keep else b
                     for a, b, keep in zip(factors, bases, keeps)]
    return {"w": w, "undecided": undecided, "mean": mean,
            **sides(keeps, factors, bases)}
