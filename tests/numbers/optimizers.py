"""The library's optimizers in NumPy, written from their sources' text and not
from ours: (w, grads, cast, **hypers) to the parameter at the end.  They compute
in the type of w and grads, float64 or float32; `cast` is what the polar factor's
iterate is rounded by.  Defaults are the sources'."""
import math

import numpy as np

from formulas import JORDAN

# ---- coefficients, as published ----

QUINTIC = [(4.0848, -6.8946, 2.9270), (3.9505, -6.3029, 2.6377),
           (3.7418, -5.5913, 2.3037), (2.8769, -3.1427, 1.2046),
           (2.8366, -3.0525, 1.2012)]
EXPRESS = [(8.28721201814563, -23.595886519098837, 17.300387312530933),
           (4.107059111542203, -2.9478499167379106, 0.5448431082926601),
           (3.9486908534822946, -2.908902115962949, 0.5518191394370137),
           (3.3184196573706015, -2.488488024314874, 0.51004894012372),
           (2.300652019954817, -1.6689039845747493, 0.4188073119525673),
           (1.891301407787398, -1.2679958271945868, 0.37680408948524835),
           (1.8750014808534479, -1.2500016453999487, 0.3750001645474248)]
LIMIT = (1.875, -1.25, 0.375)
EXPRESS_DION = [(8.156554524902461, -22.48329292557795, 15.878769915207462),
                (4.042929935166739, -2.808917465908714, 0.5000178451051316),
                (3.8916678022926607, -2.772484153217685, 0.5060648178503393),
                (3.285753657755655, -2.3681294933425376, 0.46449024233003106),
                (2.3465413258596377, -1.7097828382687081, 0.42323551169305323)]
QWEN = [(8.3865, -24.3696, 17.7251), (4.1414, -3.0173, .5524),
        (3.9226, -2.8672, .5357), (3.2540, -2.3922, .4827),
        (2.2512, -1.5963, .3960), (1.8700, -1.2279, .3582),
        (1.8564, -1.2132, .3568), LIMIT]
AOL = [(4.0098, -7.0585, 2.4635), (3.4585, -5.5479, 2.5959),
       (2.7573, -3.2939, 1.4254), (2.7215, -3.0494, 1.3169)]
AOL_DION = [(4.6051, -9.6552, 5.6769), (4.7505, -6.0861, 2.1790),
            (2.7763, -2.3190, .5523), (2.4231, -2.2861, .8193)]
CANS = [(8.4703, -25.1081, 18.6293), (4.1828, -3.1087, .5806),
        (3.9619, -2.9541, .5630), (3.2866, -2.4647, .5074),
        (2.2737, -1.6447, .4162)]
CUBIC = [(3.3656576, -3.3420992, 0), (2.5744352, -1.4957376, 0),
         (2.5368962, -1.4312570, 0), (2.4418906, -1.2764040, 0),
         (2.2230472, -.9630650, 0)]
DEEPSEEK = [(3.4445, -4.7750, 2.0315)] * 8 + [(2, -1.5, .5)] * 2


def safe(rows, by):
    """Rows of polynomials in x / by."""
    return [(a / by, b / by ** 3, c / by ** 5) for a, b, c in rows]


def rounded_rows(rows, digits):
    return [tuple(round(x, digits) for x in row) for row in rows]


TABLES = {"jordan": JORDAN, "quintic": QUINTIC,
          "polar_express": safe(EXPRESS, 1.01) + [LIMIT],
          "polar_express_raw": EXPRESS + [LIMIT],
          "polar_express_dao": safe(EXPRESS[:5], 1.05),
          "polar_express_eo": [*rounded_rows(safe(EXPRESS, 1.01), 4), LIMIT],
          "polar_express_dion": EXPRESS_DION, "qwen_express": QWEN,
          "deepseekv4": DEEPSEEK, "aol": AOL, "aol_dion": AOL_DION,
          "cans": CANS, "cubic5": CUBIC}


# ---- polar factors ----

def keep(x):
    return x


def iterate(x, table, cast):
    """Newton-Schulz on the side with fewer rows."""
    if x.shape[0] > x.shape[1]:
        return iterate(x.T, table, cast).T
    for a, b, c in table:
        g = cast(x @ x.T)
        x = cast(a * x + cast(b * g + c * (g @ g)) @ x)
    return x


def frobenius(x):
    """In float64 whatever the type of x: LANGUAGE.md, reductions."""
    return x.dtype.type(np.linalg.norm(x.astype(float)))


def polar(u, table, cast):
    x = cast(u)
    return iterate(cast(x / (frobenius(x) + 1e-7)), table, cast)


def polar_norm_first(u, table, cast):
    return iterate(cast(u / (frobenius(u) + 1e-7)), table, cast)


def polar_torch(u, table, cast):
    x = cast(u)
    return iterate(cast(x / max(frobenius(x), 1e-7)), table, cast)


def polar_dion(u, table, cast):
    x = cast(u)
    return iterate(cast(x / (frobenius(x) * 1.02 + 1e-8)), table, cast)


def polar_eigh(u, *_):
    """By singular values, which NumPy finds in float64 whatever the type; those
    that rounding makes of 0 are 0."""
    left, s, right = np.linalg.svd(u / (frobenius(u) or 1), full_matrices=False)
    kept = s > min(u.shape) ** 0.5 * 2.0 ** -23
    return left * kept.astype(u.dtype) @ right


def polar_eo(u, table, cast):
    return iterate(cast(u / max(frobenius(u), 1e-15)), table, cast)


def polar_aol(u, table, cast):
    if u.shape[0] > u.shape[1]:
        return polar_aol(u.T, table, cast).T
    x = cast(u / (frobenius(u) + 1e-7))
    rows = np.abs(cast(x @ x.T)).sum(1, keepdims=True)
    return iterate(cast(x / np.sqrt(np.maximum(rows, 1e-7))), table, cast)


def polar_gram(u, table, cast, restart=2):
    """Dao's gram-newton-schulz: Q x with Q from the Gram matrix alone."""
    if u.shape[0] > u.shape[1]:
        return polar_gram(u.T, table, cast, restart).T
    x = cast(u / (frobenius(u) + 1e-7))
    one = np.eye(len(x), dtype=u.dtype)
    gram, q = x @ x.T, one
    for i, (a, b, c) in enumerate(table):
        if i == restart and i:
            x = cast(q @ x)
            gram, q = x @ x.T, one
        z = a * one + b * gram + c * gram @ gram
        q, gram = q @ z, z @ gram @ z
    return q @ x


# ---- momentum, scale, decay ----

def average(m, g, b):
    return b * m + (1 - b) * g


def accumulate(m, g, b):
    return b * m + g


def momenta(grads, b, form, nesterov):
    """What each step sees of its gradients so far."""
    m = np.zeros_like(grads[0])
    for g in grads:
        m = form(m, g, b)
        yield form(m, g, b) if nesterov else m


def keller(w):
    return max(1, w.shape[0] / w.shape[1]) ** 0.5


def adamw_rms(w):
    return 0.2 * max(w.shape) ** 0.5


def largest(w):
    return max(w.shape) ** 0.5


def ratio(w):
    return (w.shape[0] / w.shape[1]) ** 0.5


DECAYS = {"decoupled": lambda w, step, lr, decay: w * (1 - lr * decay),
          "independent": lambda w, step, lr, decay: w * (1 - decay),
          "palm": lambda w, step, lr, decay: w * (1 - lr ** 2 * decay),
          "cautious": lambda w, step, lr, decay: w - lr * decay * np.where(
              np.sign(step) * np.sign(w) >= 0, w, 0),
          "l2": lambda w, step, lr, decay: w}


def muon(w, grads, cast, lr, momentum=0.95, decay=0.1, form=average,
         nesterov=True, table=JORDAN, factor=polar, scale=adamw_rms,
         shrink="decoupled"):
    m = np.zeros_like(w)
    for g in grads:
        if shrink == "l2":
            g = g + decay * w
        m = form(m, g, momentum)
        o = factor(form(m, g, momentum) if nesterov else m, table, cast)
        w = DECAYS[shrink](w, o, lr, decay) - lr * scale(w) * o
    return w


def muon_keller(w, grads, cast, lr=0.02, momentum=0.95, decay=0.0):
    return muon(w, grads, cast, lr, momentum, decay, scale=keller)


def muon_torch(w, grads, cast, lr=1e-3, decay=0.1, scale=keller):
    return muon(w, grads, cast, lr, decay=decay, factor=polar_torch,
                scale=scale)


def muon_moonlight(w, grads, cast, lr=1e-3, decay=0.1):
    return muon(w, grads, cast, lr, decay=decay, form=accumulate)


def muon_dion(w, grads, cast, lr=0.01, decay=0.01, scale=ratio,
              shrink="decoupled"):
    return muon(w, grads, cast, lr, decay=decay, form=accumulate,
                nesterov=False, table=EXPRESS_DION, factor=polar_dion,
                scale=scale, shrink=shrink)


def muon_eo(w, grads, cast, lr=3e-4, decay=0.01, scale=largest,
            shrink="decoupled", factor=polar_eo):
    return muon(w, grads, cast, lr, decay=decay, nesterov=False,
                table=QUINTIC, factor=factor, scale=scale, shrink=shrink)


# ---- after the polar factor ----

def adamuon(w, grads, cast, lr=0.02, beta2=0.999, eps=1e-8, decay=0.01):
    v = np.zeros_like(w)
    for t, u in enumerate(momenta(grads, 0.95, average, True), 1):
        o = polar(u, JORDAN, cast)
        v = beta2 * v + (1 - beta2) * o * o
        d = o / (np.sqrt(v / (1 - beta2 ** t)) + eps)
        d = d * (min(w.shape) ** 0.5 / (frobenius(d) + eps))
        w = w * (1 - lr * decay) - lr * 0.2 * max(w.shape) ** 0.5 * d
    return w


def adamuon_paper(w, grads, cast, lr=1e-3, momentum=0.95, eps=1e-8,
                  decay=0.1):
    v = np.zeros_like(w)
    for m in momenta(grads, momentum, accumulate, False):
        o = polar(np.sign(m), JORDAN, cast)
        v = momentum * v + (1 - momentum) * o * o
        d = o / (np.sqrt(v) + eps)
        length = 0.2 * np.sqrt(w.size) / (frobenius(d) + eps)
        w = w - lr * (length * d + decay * w)
    return w


def adamuon_eo(w, grads, cast, lr=3e-4, beta2=0.95, eps=1e-8, decay=0.01):
    v = np.zeros_like(w)
    for m in momenta(grads, 0.95, average, False):
        w = w - lr * decay * w
        o = polar_eo(m, QUINTIC, cast)
        v = beta2 * v + (1 - beta2) * o * o
        w = w - lr * largest(w) * o / (np.sqrt(v) + eps)
    return w


def rms(x):
    return frobenius(x) / x.size ** 0.5


def adafactor(w, grads, cast, lr=0.01, decay=0.0):
    rows, columns, eps = 0, 0, np.finfo(np.float32).eps
    for t, g in enumerate(grads, 1):
        new = t ** -0.8
        length = max(1e-3, rms(w)) * min(lr, t ** -0.5)
        rows = rows + new * ((g * g).mean(1, keepdims=True) - rows)
        columns = columns + new * ((g * g).mean(0, keepdims=True) - columns)
        v = rows @ columns / max(rows.mean(), eps)
        u = g / np.sqrt(np.maximum(v, eps ** 2))
        w = w * (1 - lr * decay) - length / max(1, rms(u)) * u
    return w


def normuon(w, grads, cast, lr=0.01, beta2=0.95, eps=1e-8, decay=0.01,
            table=EXPRESS_DION, scale=ratio, nesterov=False):
    v = 0
    for m in momenta(grads, 0.95, accumulate, nesterov):
        o = polar_dion(m, table, cast)
        v = beta2 * v + (1 - beta2) * (o * o).mean(1, keepdims=True)
        d = o / (np.sqrt(v) + eps)
        d = d * (frobenius(o) / max(frobenius(d), eps))
        w = w * (1 - lr * decay) - lr * scale(w) * d
    return w


def wide_of(x):
    """A view of x with rows <= columns."""
    return x if len(x) <= x.shape[1] else x.T


def largest_rows(x, fraction):
    """The rows with the largest sums of magnitudes."""
    sums = np.abs(x).sum(1, dtype=float)
    return np.argsort(-sums)[:max(1, math.ceil(fraction * len(x)))]


def dion2(w, grads, cast, lr=0.01, ef_decay=0.95, decay=0.01, fraction=0.25):
    m, length = np.zeros_like(w), lr * ratio(w)
    for g in grads:
        m, w = m + g, w * (1 - lr * decay)
        x, y = wide_of(m), wide_of(w)
        rows = largest_rows(x, fraction)
        y[rows] -= length * polar_dion(x[rows], EXPRESS_DION, cast)
        x[rows] *= ef_decay
    return w


def dion3(w, grads, cast, lr=0.01, momentum=0.95, beta2=0.95, eps=1e-8,
          decay=0.01, fraction=0.25):
    m, v, length = np.zeros_like(w), np.zeros_like(w[:, :1]), lr * ratio(w)
    for g in grads:
        m, w = m + g, w * (1 - lr * decay)
        rows = largest_rows(m, fraction)
        o = polar_dion(m[rows], EXPRESS_DION, cast)
        m[rows] *= momentum
        v[rows] = beta2 * v[rows] + (1 - beta2) * (o * o).mean(1, keepdims=True)
        d = o / (np.sqrt(v[rows]) + eps)
        w[rows] -= length * (frobenius(o) / max(frobenius(d), eps)) * d
    return w


def orthonormal(x):
    """Its columns by Gram and Schmidt, twice."""
    q = x.copy()
    for i in range(q.shape[1]):
        for _ in range(2):
            q[:, i] -= q[:, :i] @ (q[:, :i].T @ q[:, i])
        q[:, i] /= np.linalg.norm(q[:, i]) or 1
    return q


def dion(w, grads, draw, lr=0.01, momentum=0.95, decay=0.01, eps=1e-8,
         rank_fraction=1.0, multiple_of=1):
    """`draw`: the first Q, of its shape."""
    rank = multiple_of * math.ceil(rank_fraction * min(w.shape) / multiple_of)
    q = draw((min(w.shape), min(rank, *w.shape))).astype(w.dtype)
    m, length = np.zeros_like(w), lr * ratio(w)
    for g in grads:
        m, w = m + g, w * (1 - lr * decay)
        tall, x = (m.T, w.T) if len(w) < w.shape[1] else (m, w)
        p = orthonormal(tall @ q)
        r = tall.T @ p
        if not m.any():
            p, r = np.zeros_like(p), q
        tall -= (1 - momentum) * p @ r.T
        q = r / (lengths(r, 0) + eps)
        x -= length * p @ q.T
    return w


def namo(w, grads, cast, lr=3e-4, beta2=0.95, eps=1e-8, decay=0.01):
    v = 0
    for g, m in zip(grads, momenta(grads, 0.95, average, False)):
        v = beta2 * v + (1 - beta2) * frobenius(g) ** 2
        length = largest(w) * frobenius(m) / (np.sqrt(v) + eps)
        w = w - lr * decay * w
        w = w - lr * length * polar_eo(m, QUINTIC, cast)
    return w


def polargrad(w, grads, cast, lr=3e-4, decay=0.01, factor=polar_eo):
    for m in momenta(grads, 0.95, average, False):
        w = w - lr * decay * w
        o = factor(m, QUINTIC, cast)
        w = w - lr * w.dtype.type(np.sum(o.astype(float) * m)) * o
    return w


def mop(w, grads, cast, lr=3e-4, decay=0.01):
    for m in momenta(grads, 0.95, average, False):
        nuclear = np.linalg.svd(m, compute_uv=False).sum()
        w = w - lr * decay * w
        w = w - lr * nuclear * polar_eigh(m)
    return w


def muon_hyperball(w, grads, cast, lr=3e-4, decay=0.0, eps=1e-8):
    for m in momenta(grads, 0.95, average, False):
        radius = frobenius(w)
        w = w - lr * decay * w
        o = polar_eo(m, QUINTIC, cast)
        w = w - lr * radius * o / max(frobenius(o), eps)
        w = w * (radius / max(frobenius(w), eps))
    return w


def spel(w, grads, cast, lr=3e-4, decay=0.1):
    for m in momenta(grads, 0.95, average, False):
        w = w - lr * decay * w - lr * polar_eo(m, QUINTIC, cast)
        w = polar_eo(w, QUINTIC, cast)
    return w


def muonclip(w, grads, cast, logits, lr=1e-3, decay=0.1, threshold=100.0,
             power=0.5, tail=0, tail_power=1.0):
    """logits[step] has the largest of each head."""
    m = np.zeros_like(w)
    for g, largest_logits in zip(grads, logits):
        m = accumulate(m, g, 0.95)
        o = adamw_rms(w) * polar(m, JORDAN, cast)
        w = w - lr * (o + decay * w)
        heads = w.reshape(len(largest_logits), -1, w.shape[1])
        for head, logit in zip(heads, largest_logits):
            if logit > threshold:
                split = len(head) - tail
                head[:split] *= (threshold / logit) ** power
                head[split:] *= (threshold / logit) ** tail_power
    return w


# ---- without a polar factor, and Scion ----

def lengths(x, axis):
    """Norms along an axis, in float64 as frobenius."""
    return np.linalg.norm(x.astype(float), axis=axis,
                          keepdims=True).astype(x.dtype)


def rmnp(w, grads, cast, lr=0.01, decay=0.01, eps=1e-8):
    for m in momenta(grads, 0.95, accumulate, False):
        w = w * (1 - lr * decay) - lr * m / (lengths(m, 1) + eps)
    return w


def muown(w, grads, cast, lr=3e-4, momentum=0.95, decay=0.0, betas=(0.9, 0.95),
          eps=1e-8):
    """Weight normalisation: w = length * v / |v| by rows."""
    length, v, first, second = lengths(w, 1), w, 0, 0
    m = np.zeros_like(w)
    for t, g in enumerate(grads, 1):
        size = lengths(v, 1)
        along = (g * v).sum(1, keepdims=True) / size
        m = average(m, length / size * (g - v / size * along), momentum)
        v = v - lr * largest(w) * polar_eo(m, QUINTIC, cast)
        first = average(first, along, betas[0])
        second = average(second, along * along, betas[1])
        corrected = np.sqrt(second / (1 - betas[1] ** t)) + eps
        length = length - lr * first / (1 - betas[0] ** t) / corrected
        length = length - lr * decay * length
        w = length * v / lengths(v, 1)
    return w


def row_normalized(u, table, cast):
    return u / np.maximum(lengths(u, 1), 1e-8)


def row_centered(u, table, cast):
    x = row_normalized(u - u.mean(0, keepdims=True), table, cast)
    return x - x.mean(0, keepdims=True)


LMOS = {"lmo_spectral": lambda g, cast: ratio(g) * polar(g, JORDAN, cast),
        "lmo_sign": lambda g, cast: np.sign(g) / g.shape[1],
        "lmo_column": lambda g, cast: g / (
            lengths(g, 0) / g.shape[0] ** 0.5 + 1e-8),
        "lmo_row": lambda g, cast: g / (
            lengths(g, 1) * g.shape[1] ** 0.5 + 1e-8)}


def scion(w, grads, cast, lr=1e-3, momentum=1.0, radius=1.0,
          lmo="lmo_spectral", constrained=True):
    m = np.zeros_like(w)
    for g in grads:
        m = (1 - momentum) * m + momentum * g
        w = (w * (1 - lr) if constrained else w) - lr * radius * LMOS[lmo](
            m, cast)
    return w


def scion_eo(w, grads, cast, lr=3e-4):
    return muon(w, grads, cast, lr, decay=1, nesterov=False, table=QUINTIC,
                factor=polar_eo, scale=ratio)


def lion(w, grads, cast, lr=1e-4, betas=(0.9, 0.99), decay=0.0):
    m = np.zeros_like(w)
    for g in grads:
        w = w * (1 - lr * decay) - lr * np.sign(average(m, g, betas[0]))
        m = average(m, g, betas[1])
    return w


def signum(w, grads, cast, lr=1e-4, decay=0.0):
    for m in momenta(grads, 0.9, average, False):
        w = w * (1 - lr * decay) - lr * np.sign(m)
    return w
