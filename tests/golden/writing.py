#!/usr/bin/python3
"""docs/WRITING.md, carried out: each ```cz or ```python block is a file, named by its
first line, sources in their canonical layout, and each ```text block what a command
answers.  The package safetensors need not be there: what little the page takes of it
is here.

    writing.py CANZONA [--update]

Times are not compared; errors, which arithmetic in another order changes, may
differ by a factor of two.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs/WRITING.md"
BLOCK = re.compile(r"^```(cz|python|text)\n(.*?)^```$", re.S | re.M)
SAFETENSORS = """
import json, struct
import numpy as np
def save_file(tensors, path):
    header, data = {}, b""
    for name, values in tensors.items():
        header[name] = {"dtype": "F32", "shape": values.shape,
                        "data_offsets": [len(data), len(data) + values.nbytes]}
        data += values.tobytes()
    text = json.dumps(header).encode()
    open(path, "wb").write(struct.pack("<Q", len(text)) + text + data)
def load_file(path):
    data = open(path, "rb").read()
    start = 8 + struct.unpack("<Q", data[:8])[0]
    return {name: np.frombuffer(data[start:], "f4", (at[1] - at[0]) // 4, at[0])
                    .reshape(t["shape"])
            for name, t in json.loads(data[8:start]).items() if name != "__metadata__"
            for at in [t["data_offsets"]]}
"""
TIME = re.compile(r"[\d.]+ s per step")
ERROR = re.compile(r"\d\.\d+e-\d+(?= of the update)")


def run(canzona, folder, command):
    words = command.split()
    program = {"canzona": canzona, "python3": sys.executable}[words[0]]
    path = f"{canzona.parent}:{os.environ['PATH']}"
    done = subprocess.run([program, *words[1:]], cwd=folder, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          timeout=120, check=False,
                          env={**os.environ, "NO_COLOR": "1", "PATH": path})
    return done.stdout


def same(old, new):
    """Whether two answers agree."""
    plain = [ERROR.sub("E", TIME.sub("T", text)) for text in (old, new)]
    pairs = zip(ERROR.findall(old), ERROR.findall(new))
    return plain[0] == plain[1] and all(
        0.5 <= float(a) / float(b) <= 2 for a, b in pairs)


def save(canzona, folder, text):
    """Why a file is not as it should be, or nothing."""
    name = re.match(r"# (\w+\.(cz|py))\n", text)
    if not name:
        return "a block has no name"
    (folder / name[1]).write_text(text, encoding="utf-8")
    return name[2] == "cz" and run(canzona, folder, f"canzona fmt --check {name[1]}")


def carry_out(canzona, text):
    """The page with its answers, and what is wrong with it."""
    wrong, n_commands = [], 0
    with tempfile.TemporaryDirectory() as name:
        package = pathlib.Path(name, "safetensors")
        package.mkdir()
        (package / "numpy.py").write_text(SAFETENSORS, encoding="utf-8")
        def block(match):
            nonlocal n_commands
            kind, body = match.groups()
            if kind != "text":
                why = save(canzona, pathlib.Path(name), body)
                wrong.extend([why] if why else [])
                return match[0]
            command, _, old = body.partition("\n")
            new = run(canzona, name, command[2:])
            n_commands += 1
            if same(old, new):
                return match[0]
            wrong.append(f"{command}\n{new}")
            return f"```text\n{command}\n{new}```"
        text = BLOCK.sub(block, text)
    if n_commands < 3:
        wrong.append(f"{n_commands} commands are too few")
    return text, wrong


def main():
    canzona = pathlib.Path(sys.argv[1]).resolve()
    text, wrong = carry_out(canzona, PAGE.read_text(encoding="utf-8"))
    if "--update" in sys.argv[2:]:
        PAGE.write_text(text, encoding="utf-8")
        return
    print("\n".join(wrong) or "docs/WRITING.md is what the commands answer")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
