#!/usr/bin/python3
"""The library's optimizers, defs and tables hold for all shapes.  A compilation
takes this for granted.

    library_rules.py CANZONA FOLDER

Each file of FOLDER is checked by itself, then CALLS, which calls every def, and
RIGHT; and mistakes that are made on purpose in copies are found.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

CANZONA, FOLDER = sys.argv[1], pathlib.Path(sys.argv[2])

# Every def of the library, on matrices of any shape.
CALLS = """optimizer calls(lr, flat = false) for [m, n] {
    state mom : f32[m, n]
    mom <- ema(mom, grad, 0.9)
    x    = polar(lerp(grad, mom, 0.5), jordan)
    y    = polar(grad', take(polar_express, 12), f32)
    g    = grad @ mom'
    z    = (triu(g) + diagonal(diag(g)) - eye(g)) @ tril(grad) / trace(g)
    v    = largest(grad, 1)
    w    = gather(grad, argsort(v)) + top_k(v, 3) * gather(mom, argsort(v, true))
    r    = normal(grad, 3, t) + normal(v, lr) * uniform(grad', 1, 2)'
    (z2, chosen) = polar_of_largest(grad, ceil(m / 4), jordan, polar_norm_first, f32)
    v2   = scatter(gather(grad, largest_rows(v, multiple(ceil(m / 4), 2))), largest_rows(v, multiple(ceil(m / 4), 2)), grad)
    (l, r, s) = kron_fitted(triu(g), sum(grad, 0), grad, 0.1, true, false, 0, t)
    z2   = z2 + kron_level(z2, l) + kron_triangle(g, g @ g', g @ g', lr) @ grad * kron_bound(g @ g')
    z2   = z2 + kron_diagonal(v, v, v, lr) + (l @ s) * r
    (q, order) = next_basis(g @ g', descending_eigenvectors(g @ g'))
    o    = kl_scale(v, v, 0.9, 10) * ordered_iterate(g @ g', q)
    s    = eigen_root(g @ g', -1/4, 1e-3) @ coupled_newton(g @ g', -1/4, 1e-3) @ o
    fast = summed(nesterov_ema(averaged(grad, 0.9), 0.9), lr)
    u    = nesterov_sum(interpolated(fast, 0.9, 0.99), 0.9) |> adapted((0.9, 0.99), 1e-8)
    u    = u |> normalized(0.9, 1e-8) |> scaled(lr) |> clipped(1.0) |> grafted(grad)
    x    = descended(u, x, lr)
    param <- where(chosen, param, v2 - z2) - lr * (x + y' + z + w + ranks(v) + r + spread_rows(v, grad) + gather(q @ s @ grad, order))
}

optimizer steps(lr, flat = false) for [m, n] {
    state mom : f32[m, n]
    mom <- total(mom, grad, 0.5)
    u    = direction(mom, decayed(grad, param, l2, 0.1), 0.9, ema, flat)
    z    = polar_norm_first(u, quintic) + polar_torch(u, cubic5) + polar_dion(u, polar_express_dion)
    z    = z + polar_eo(u, take(jordan, 7)) + polar_aol(u, aol) + newton_schulz(u, cans)
    z    = z + gram_newton_schulz(u, cans, 3, bf16) + polar_gram(u, jordan, bf16, 2) + polar_eigh(u, jordan)
    z    = z + row_normalized(u, jordan) + row_centered(u, jordan)
    z    = z + lmo_spectral(u, m, n) + lmo_sign(u, m, n) + lmo_column(u, m, n) + lmo_row(u, m, n)
    s    = match_rms_adamw(m, n) + shape_scaling(m, n) + spectral(m, n) + unit_rms_norm(m, n)
    w    = decoupled(param, z, lr, 0.1) + independent(param, z, lr, 0.1) + palm(param, z, lr, 0.1)
    w    = w + cautious(param, z, lr, 0.1) + l2(param, z, lr, 0.1)
    param <- w - lr * cosine(100) * s * unscaled(m, n) * z
}
"""

# Right, though a check that looks less closely would say otherwise: what a use
# gives, what shapes decide, and what holds under a condition.
RIGHT = """optimizer open(lr, const k = 3, rows, precision, flag, period, betas, shown = true) for [m, n] {
    state s : f32
    state left : f32
    (b1, b2) = betas
    if k > 2 { q = grad } else { q = 2 * grad }
    if flag and k == 3 { s <- q } else { s <- b1 * q }
    if precision == bf16 { q = precision(q) }
    for (a, b) in rows + [(1, 2)] { q = a * q + b }
    for (a, b) in take(rows, m) { q = a * q + b }
    for (a, b) in [(1, 2)] * m { q = a * q + b }
    for i in 0..m - n { q = rows[i][1] * q }
    q = q * [1, 2][m - 1] * (b1, b2)[min(n, 1)]
    every period { q = 2 * q }
    every m from n { q = 3 * q }
    x = where(flag, q, 2 * q) + where(m > n, q, 2 * q) + where(shown, 1, 2)
    if m == n { w = q @ q } else if m > n { w = q @ q' @ q } else { w = q }
    if not (m >= n) and shown == true { y = grad } else { y = grad * 2 }
    if m * n <= 4096 { left <- grad - y }
    param <- param - lr * (q + x + w + b2 * y) / max(m - 1, 1)
}

optimizer tall(lr) for [m, n] {
    if m > n {
        square = grad' @ grad
        param <- param - lr * (grad @ square)
    }
}
"""

# (file, what stands there, what is wrong in its place, what is said)
MISTAKES = [
    ("muon.cz", "scale(m, n) * o", "scale(m, n) * o'", "[m, n] and [n, m]"),
    ("muon.cz", "direction(mom, g", "direction(mom, g'", "[m, n] and [n, m]"),
    ("muon.cz", "scale = match_rms_adamw", "scale = match_rms_adam", "called 'match_rms_adam'"),
    ("scales.cz", "max(1, m / n)", "max(1, m / k)", "called 'k'"),
    ("scion.cz", "1 / n", "1 / k", "called 'k'"),
    ("decays.cz", "step * w", "steps * w", "called 'steps'"),
    ("muon.cz", "f32[m, n]", "f32[n, m]", "[n, m] and [m, n]"),
    ("polar.cz", "return x", "return z", "nothing here is called 'z'"),
    ("polar.cz", "g = x @ x'", "g = x @ h'", "nothing here is called 'h'"),
    ("sgd.cz", "param <- param - lr * (g + m", "param <- param - lr * (g + o",
     "nothing here is called 'oomentum'"),
    ("adamw.cz", "(b1, b2)", "(b1, b2, b3)", "3 names cannot take apart"),
    ("averages.cz", "(1 - w) * a", "(1 - v) * a", "called 'v'"),
    ("diagonal.cz", "where(i == i', v, 0)", "where(j == i', v, 0)",
     "called 'j'"),
    ("order.cz", "v == v, number, nan", "v == v, number, none", "'none'"),
    ("random.cz", "copysign(c / d, q)", "copysign(c / e, q)", "'e'"),
    ("tables.cz", "(1.875, -1.25, 0.375)", "(1.875, -1.25)", "rows of one"),
]


def check(file):
    done = subprocess.run([CANZONA, "check", file], capture_output=True,
                          text=True, timeout=60, check=False)
    return done.returncode, done.stdout + done.stderr


def complaints(folder):
    files = sorted(FOLDER.glob("*.cz"))
    texts = {f.name: f.read_text(encoding="utf-8") for f in files}
    for name, text in ("calls.cz", CALLS), ("right.cz", RIGHT):
        (folder / name).write_text(text, encoding="utf-8")
        files.append(folder / name)
    for file in files:
        status, said = check(file)
        if status != 0 or not said.startswith("checked for all shapes: "):
            yield f"{file.name}: {status} {said}"
    for name in re.findall(r"^def (\w+)", "\n".join(texts.values()), re.M):
        if not re.search(rf"\b{name}\(", CALLS):
            yield f"CALLS leaves out {name}"
    for name, right, wrong, text in MISTAKES:
        if right not in texts[name]:
            yield f"{name} does not have '{right}'"
        copy = folder / name
        copy.write_text(texts[name].replace(right, wrong), encoding="utf-8")
        status, said = check(copy)
        if status not in (1, 3) or text not in said:
            yield f"{name} with '{wrong}': {status} {said}"


def main():
    with tempfile.TemporaryDirectory() as name:
        found = list(complaints(pathlib.Path(name)))
    print("\n".join(found) or f"library: holds for all shapes, "
          f"{len(MISTAKES)} mistakes found")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
