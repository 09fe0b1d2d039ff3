"""Update rules in NumPy and float64, written from the papers and from torch,
not from our code: what the oracles compare with.  Each takes a parameter and
its gradients, one per step, and returns the parameter at the end."""
import numpy as np

# Jordan's quintic, five times.
JORDAN = [(3.4445, -4.7750, 2.0315)] * 5

# Amsel et al. 2025: the first eight rows, all but the last of x / 1.01.
POLAR_EXPRESS = [(a / 1.01, b / 1.01 ** 3, c / 1.01 ** 5) for a, b, c in [
    (8.28721201814563, -23.595886519098837, 17.300387312530933),
    (4.107059111542203, -2.9478499167379106, 0.5448431082926601),
    (3.9486908534822946, -2.908902115962949, 0.5518191394370137),
    (3.3184196573706015, -2.488488024314874, 0.51004894012372),
    (2.300652019954817, -1.6689039845747493, 0.4188073119525673),
    (1.891301407787398, -1.2679958271945868, 0.37680408948524835),
    (1.8750014808534479, -1.2500016453999487, 0.3750001645474248)]]
POLAR_EXPRESS += [(1.875, -1.25, 0.375)]


def bf16(x):
    """Round f32 values to bf16, nearest even; still f32 arrays."""
    x = np.asarray(x, np.float32)
    bits = x.view(np.uint32).astype(np.uint64)
    bits = (bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000
    return bits.astype(np.uint32).view(np.float32).reshape(x.shape)


def newton_schulz(u, table, cast=lambda x: x):
    if u.shape[0] > u.shape[1]:
        return newton_schulz(u.T, table, cast).T
    x = cast(u)
    x = cast(x / (np.linalg.norm(x) + 1e-7))
    for a, b, c in table:
        g = cast(x @ x.T)
        x = cast(a * x + cast(b * g + c * (g @ g)) @ x)
    return x


def through_polynomials(s, table):
    """What Newton-Schulz makes of the singular values alone."""
    for a, b, c in table:
        s = a * s + b * s ** 3 + c * s ** 5
    return s


def polar_factor(u):
    """U V' of u = U S V', exactly."""
    left, _, right = np.linalg.svd(u, full_matrices=False)
    return left @ right


def muon(param, grads, lr, momentum, decay, polar, clip=1.0):
    mom = np.zeros_like(param)
    for grad in grads:
        grad = clip * grad
        mom = momentum * mom + (1 - momentum) * grad
        step = polar((1 - momentum) * grad + momentum * mom)
        param = (param * (1 - lr * decay)
                 - lr * 0.2 * np.sqrt(max(param.shape)) * step)
    return param


def seeded_muon(param, grads, lr, momentum, polar):
    """The momentum starts as the first gradient; no decay."""
    mom = None
    for grad in grads:
        mom = grad if mom is None else momentum * mom + (1 - momentum) * grad
        step = polar((1 - momentum) * grad + momentum * mom)
        param = param - lr * 0.2 * np.sqrt(max(param.shape)) * step
    return param


def lazy_muon(param, grads, lr, momentum, polar, period):
    """A new direction at steps 1, 1 + period, ... alone."""
    mom = np.zeros_like(param)
    for done, grad in enumerate(grads):
        mom = momentum * mom + (1 - momentum) * grad
        if done % period == 0:
            direction = polar(mom)
        param = param - lr * 0.2 * np.sqrt(max(param.shape)) * direction
    return param


def staggered_muon(param, grads, lr, momentum, polar, period, turn):
    """A new direction at step 1 and then whenever it is the matrix's turn."""
    mom = np.zeros_like(param)
    for done, grad in enumerate(grads):
        mom = momentum * mom + (1 - momentum) * grad
        if done == 0 or (done + turn) % period == 0:
            direction = polar(mom)
        param = param - lr * 0.2 * np.sqrt(max(param.shape)) * direction
    return param


def lookahead(param, grads, lr, momentum, share, period):
    """Zhang et al. 2019 over momentum that starts as the first gradient."""
    slow, mom = param, grads[0]
    for done, grad in enumerate(grads):
        if done:
            mom = momentum * mom + (1 - momentum) * grad
        param = param - lr * mom
        if (done + 1) % period == 0:
            slow = param = slow + share * (param - slow)
    return param


def adamw(param, grads, lr, b1, b2, eps, decay):
    m, v = np.zeros_like(param), np.zeros_like(param)
    for t, grad in enumerate(grads, 1):
        param = param * (1 - lr * decay)
        m = b1 * m + (1 - b1) * grad
        v = b2 * v + (1 - b2) * grad ** 2
        param = param - lr * (m / (1 - b1 ** t)) / (
            np.sqrt(v / (1 - b2 ** t)) + eps)
    return param


def sgd(param, grads, lr, momentum, decay, nesterov):
    velocity = None
    for grad in grads:
        grad = grad + decay * param
        velocity = (grad.copy() if velocity is None
                    else momentum * velocity + grad)
        param = param - lr * (grad + momentum * velocity if nesterov
                              else velocity)
    return param


def distance(a, b):
    return np.linalg.norm(a - b) / np.linalg.norm(b)
