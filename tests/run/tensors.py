#!/usr/bin/python3
"""`canzona run --in --out` beside NumPy: parameters and gradients of files that are
written here by hand, one step of AdamW and Muon, and files that are wrong.

    tensors.py CANZONA
"""
import json
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "numbers"))
from formulas import JORDAN, adamw, bf16, distance, muon, newton_schulz  # noqa: E402

SOURCE = """mesh dp = 2, tp = 2
model my {
    params %s {
        layers[i < 2].w : [24/tp, 16]
        bias            : [7]
        experts.w       : [2, 12, 8/tp]
    }
}
use muon(lr = 0.02, precision = f32) as matrices on layers.**
use adamw(lr = 1e-3)                 as rest     on **
schedule { grads f32 partial over dp }
"""
SHAPES = {"layers.0.w": (24, 16), "layers.1.w": (24, 16), "bias": (7,),
          "experts.w": (2, 12, 8)}
MICROBATCHES = 12


def save(path, tensors):
    """float32 arrays; of bf16 the upper halves, as uint16."""
    header, data = {"__metadata__": {"by": "hand"}}, b""
    for name, values in tensors.items():
        kind = {np.dtype("f4"): "F32", np.dtype("u2"): "BF16",
                np.dtype("i4"): "I32"}[values.dtype]
        header[name] = {"dtype": kind, "shape": values.shape,
                        "data_offsets": [len(data), len(data) + values.nbytes]}
        data += values.tobytes()
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def load(path):
    data = path.read_bytes()
    start = 8 + struct.unpack("<Q", data[:8])[0]
    found, end = {}, 0
    header = json.loads(data[8:start])
    assert "canzona" in header.pop("__metadata__")["generator"]
    for name, at in header.items():
        first, last = at["data_offsets"]
        assert first == end and start % 8 == 0, name
        end = last
        values = np.frombuffer(data[start + first:start + last],
                               "f4" if at["dtype"] == "F32" else "u2")
        found[name] = values.reshape(at["shape"])
    assert len(data) == start + end
    return found


def narrow(values):
    return (bf16(values).view(np.uint32) >> 16).astype(np.uint16)


def wide(values):
    return values if values.dtype == np.float32 else (
        values.astype(np.uint32) << 16).view(np.float32)


def expected(name, param, grad):
    """The parameter behind one step, in float64, and its first state."""
    param, grad = param.astype(float), grad.astype(float)
    if name.startswith("layers"):
        return muon(param, [grad], 0.02, 0.95, 0.1,
                    lambda u: newton_schulz(u, JORDAN)), 0.05 * grad
    return adamw(param, [grad], 1e-3, 0.9, 0.999, 1e-8, 0.01), 0.1 * grad


def run(canzona, folder, *options):
    return subprocess.run([canzona, "run", *options, folder / "my.cz"], text=True,
                          capture_output=True, timeout=60, check=False)


def check_step(canzona, folder, dtype, each, *options):
    """One step from gradients of one microbatch, or of each."""
    random = np.random.default_rng(27)
    (folder / "my.cz").write_text(SOURCE % dtype)
    given = {}
    for name, shape in SHAPES.items():
        values = random.normal(0, 0.02, shape).astype("f4")
        given[name] = values if dtype == "f32" else narrow(values)
        shape = (MICROBATCHES, *shape) if each else shape
        given[f"{name}#grad"] = random.normal(size=shape).astype("f4")
    save(folder / "in.safetensors", given)
    out = folder / "out.safetensors"
    done = run(canzona, folder, f"--in={folder}/in.safetensors", f"--out={out}",
               *options)
    assert done.returncode == 0, done.stdout + done.stderr
    found, worst = load(out), 0
    states = {name: "#mom" if name.startswith("layers") else "#m" for name in SHAPES}
    assert set(found) == {*SHAPES, *(n + s for n, s in states.items()), "bias#v",
                          "experts.w#v"}, sorted(found)
    for name in SHAPES:
        grad = given[f"{name}#grad"].astype(float)
        start = wide(given[name])
        want, state = expected(name, start, grad.mean(0) if each else grad)
        error = distance(wide(found[name]) - start.astype(float), want - start)
        assert error < (2e-6 if dtype == "f32" else 0.2), (name, error)
        assert distance(found[name + states[name]], state) < 1e-6, name
        worst = max(worst, error)
    print(f"{dtype}, {MICROBATCHES if each else 1} microbatches, "
          f"{' '.join(options) or 'no options'}: {worst:.1e} of the update")
    return given, done


def check_same(canzona, folder):
    """A checksum stands for the results: equal where bits are, and otherwise not."""
    sums = [re.findall(r"checksum (\w{16})", run(canzona, folder, *options).stdout)
            for options in ([], ["-Dmesh.dp=2"], ["--seed=1"])]
    assert all(map(len, sums)) and sums[0] == sums[1] != sums[2], sums


def check_wrong(canzona, folder, given):
    """Each is one error that says which tensor, and no file is there behind it."""
    bias = given["bias"]
    cases = [
        ({"bias": None}, r"tensor 'bias' is missing \[E0403\]"),
        ({"bias#grad": None}, r"tensor 'bias#grad' is missing \[E0403\]"),
        ({"bias": bias[:6]}, r"'bias' is f32\[6\]; the plan has f32\[7\] \[E0301\]"),
        ({"bias": narrow(bias)}, r"'bias' is bf16\[7\]; the plan has f32\[7\] \[E0305\]"),
        ({"bias": bias.astype("i4")}, r"'bias' has type I32.*\[E0305\]"),
        ({"bias#grad": np.zeros((5, 7), "f4")},
         r"'bias#grad' is f32\[5, 7\]; the plan has f32\[7\] or f32\[12, 7\] \[E0301\]"),
        ({"bia": bias}, r"'bia' is nothing that this plan takes \[E0201\]\n"
                        r".*did you mean 'bias'\?"),
    ]
    path, out = folder / "wrong.safetensors", folder / "none.safetensors"
    for change, error in cases:
        changed = {**given, **change}
        save(path, {k: v for k, v in changed.items() if v is not None})
        check_refused(run(canzona, folder, f"--in={path}", f"--out={out}"), error, out)
    save(path, given)
    whole = path.read_bytes()
    for bytes_, error in [
            (b"PK\3\4 nothing of ours", "no safetensors file.*E0402"),
            (b"", "no safetensors file.*E0402"),
            (whole[:7], "no safetensors file.*E0402"),
            (whole[:100], "ends within its header.*E0402"),
            (whole[:-1], r"'experts.w#grad' has no \"data_offsets\" within.*E0402"),
            (whole[:8] + b"[" * 100 + whole[108:], "not JSON.*E0402"),
            (whole.replace(b'"F32"', b'"F99"', 1), "has type F99.*E0305"),
            (whole.replace(b"[24, 16]", b"[24, -6]", 1), "no \"shape\".*E0404"),
            (whole.replace(b"[24, 16]", b"[24, 17]", 1), "another size.*E0301")]:
        path.write_bytes(bytes_)
        check_refused(run(canzona, folder, f"--in={path}", f"--out={out}"), error, out)
    missing = run(canzona, folder, f"--in={folder}/nowhere", f"--out={out}")
    check_refused(missing, r"nowhere .*E0903", out)
    out.write_bytes(b"somebody's")
    done = run(canzona, folder, f"--out={out}")
    assert done.returncode == 1 and "none.safetensors is there" in done.stderr
    assert not done.stdout, "it is refused before the steps"
    assert out.read_bytes() == b"somebody's"
    assert run(canzona, folder, "--force", f"--out={out}").returncode == 0
    save(path, given)
    before = path.read_bytes()
    done = run(canzona, folder, "--force", f"--in={path}", f"--out={path}")
    assert done.returncode == 1 and "is an input" in done.stderr
    assert path.read_bytes() == before
    print(len(cases) + 12, "wrong files, each one error that names it")


def check_refused(done, error, out):
    assert done.returncode == 1 and re.search(error, done.stderr), (error, done)
    assert done.stderr.count("error:") == 1 and not out.exists(), done.stderr
    assert not list(out.parent.glob(".canzona*"))


def main():
    canzona = str(pathlib.Path(sys.argv[1]).resolve())
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for dtype in ("bf16", "f32"):
            for each in (False, True):
                for option in ([], ["--check"]):
                    given, done = check_step(canzona, folder, dtype, each, *option)
                    (folder / "out.safetensors").unlink()
                assert "float64   2 of 2 rules" in done.stdout, done.stdout
        check_same(canzona, folder)
        check_wrong(canzona, folder, given)


if __name__ == "__main__":
    main()
