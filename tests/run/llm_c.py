#!/usr/bin/python3
"""llm.c's trainer with our update in place of its own, on a small GPT-2 of random
weights that reads this project's manual, byte by byte: with AdamW the losses are
those of llm.c alone, and with Muon the loss of validation is lower.

    llm_c.py SOURCE_FOLDER BUILD_FOLDER

The folder of llm.c is CANZONA_LLM_C of the environment; without it: skipped (77).
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import numpy as np

WIDTH, LAYERS, HEADS, POSITIONS, VOCAB = 128, 4, 4, 64, 256
SIZES = [f"-Dgpt2.width={WIDTH}", f"-Dgpt2.layers={LAYERS}",
         f"-Dgpt2.positions={POSITIONS}", f"-Dgpt2.vocab={VOCAB}"]


def write(path, header, *bodies):
    words = np.zeros(256, np.int32)
    words[:len(header)] = header
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        file.write(words.tobytes())
        for body in bodies:
            file.write(body.tobytes() if hasattr(body, "tobytes") else body)


def weights():
    """As GPT-2 begins: normal numbers, norms of 1, biases of 0."""
    random = np.random.default_rng(1)
    wide = LAYERS * WIDTH
    normal = lambda n: random.normal(0, 0.02, n).astype(np.float32)
    ones, zeros = (lambda n: np.ones(n, np.float32)), (lambda n: np.zeros(n, np.float32))
    return [normal(VOCAB * WIDTH), normal(POSITIONS * WIDTH), ones(wide), zeros(wide),
            normal(3 * wide * WIDTH), zeros(3 * wide), normal(wide * WIDTH), zeros(wide),
            ones(wide), zeros(wide), normal(4 * wide * WIDTH), zeros(4 * wide),
            normal(4 * wide * WIDTH), zeros(wide), ones(WIDTH), zeros(WIDTH)]


def prepare(folder, source):
    """What train_gpt2 opens, by the names that it has for it."""
    write(folder / "gpt2_124M.bin",
          [20240326, 3, POSITIONS, VOCAB, LAYERS, HEADS, WIDTH, VOCAB], *weights())
    write(folder / "gpt2_tokenizer.bin", [20240328, 2, VOCAB, 0],
          b"".join(bytes([1, byte or 1]) for byte in range(VOCAB)))
    text = np.frombuffer((source / "dsl/LANGUAGE.md").read_bytes(), np.uint8)
    for part, tokens in (("train", text[8192:]), ("val", text[:8192])):
        write(folder / f"dev/data/tinyshakespeare/tiny_shakespeare_{part}.bin",
              [20240520, 1, len(tokens)], tokens.astype(np.uint16))


def losses(program, folder):
    text = subprocess.run([program], cwd=folder, check=True, capture_output=True,
                          text=True, errors="replace").stdout
    return ([float(loss) for loss in re.findall(r"train loss ([\d.]+)", text)],
            [float(loss) for loss in re.findall(r"val loss ([\d.]+)", text)])


def main():
    source, build = pathlib.Path(sys.argv[1]), sys.argv[2]
    llm_c = os.environ.get("CANZONA_LLM_C")
    if not llm_c:
        print("skipped: CANZONA_LLM_C names no folder of llm.c")
        return 77
    os.environ.pop("CC", None)  # that of other tests does not optimise
    example = source / "examples/llm_c"
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        shutil.copy(f"{llm_c}/train_gpt2.c", folder)
        shutil.copytree(f"{llm_c}/llmc", folder / "llmc")
        prepare(folder, source)
        subprocess.run("cc -O3 -ffast-math -march=native -fopenmp -DOMP -w "
                       "train_gpt2.c -lm -o alone", shell=True, cwd=folder, check=True)
        alone = losses("./alone", folder)
        ours = {}
        for plan in ("adamw", "muon"):
            subprocess.run(["sh", example / "build.sh", folder, example / f"{plan}.cz",
                            *SIZES], env=dict(os.environ, BUILD=build), check=True)
            ours[plan] = losses("./train_gpt2_canzona", folder)
        wrong = subprocess.run(["sh", example / "build.sh", folder, example / "adamw.cz"],
                               env=dict(os.environ, BUILD=build), check=True)
        wrong = subprocess.run(["./train_gpt2_canzona"], cwd=folder, capture_output=True,
                               text=True, errors="replace")
    apart = max(abs(a - b) for a, b in zip(alone[0], ours["adamw"][0]))
    print(f"{len(alone[0])} steps; AdamW's losses differ by {apart:.1e}; validation "
          f"{alone[1][-1]:.3f} by llm.c, {ours['adamw'][1][-1]:.3f} by our AdamW, "
          f"{ours['muon'][1][-1]:.3f} by our Muon")
    print(f"a plan of another size: {wrong.stderr.strip()}")
    return 0 if (len(alone[0]) == len(ours["adamw"][0]) == 41 and apart <= 2e-5 and
                 ours["muon"][1][-1] < alone[1][-1] and wrong.returncode == 1 and
                 "another size" in wrong.stderr) else 1


if __name__ == "__main__":
    sys.exit(main())
