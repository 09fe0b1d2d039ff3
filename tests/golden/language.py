#!/usr/bin/python3
"""Every ```cz block of the manual is compiled; one that begins with the comment
"not supported yet" has to be answered with that and nothing else.

    language.py MANUAL CANZONA

Fragments are completed: with a model where they have none, with a use of each
optimizer that they define, and with a use of whatever they leave over.
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

BLOCK = re.compile(r"^```cz\n(.*?)^```$", re.S | re.M)
MARK = "# not supported yet"
ERROR = re.compile(r"error: .*\[(E\d+)\]$", re.M)
NOT_SUPPORTED_YET = "E0902"
CONFIGS = pathlib.Path(__file__).resolve().parents[2] / "examples/configs"
MODEL = 'model qwen3 from "configs/qwen3-0.6b.json"\n'
# For sections whose paths name other parameters.
MODELS = {"Use": """
model fused(heads = 4) {
    params f32 {
        h.linear_qkv.weight : [heads*48, 64] blocks heads { q = 32, kv = 16 }
        h.up_proj.weight    : [256, 64]
        h.norm.weight       : [64]
        embed.weight        : [100, 64]
    }
}
"""}


def blocks(text):
    """(line, section, text) of each example."""
    for match in BLOCK.finditer(text):
        before = text[:match.start()]
        section = re.findall(r"^## (.*)$", before, re.M)[-1:]
        yield before.count("\n") + 2, *(section or [""]), match.group(1)


def completed(example, section):
    """The example with what else makes a program."""
    parts = [example]
    if not re.search(r"^model ", example, re.M):
        parts.append(MODELS.get(section, MODEL))
    for name in re.findall(r"^optimizer (\w+)", example, re.M):
        parts.append(f"use {name}(lr) as {name} on ** where ndim == 2\n")
    if not re.search(r"^use .* on \*\*$", example, re.M):
        parts.append("use adamw(lr) as others on **\n")
    return "".join(parts)


def check(canzona, file, is_supported):
    """Why the answer is wrong, or nothing."""
    done = subprocess.run([canzona, "check", file], capture_output=True,
                          text=True, timeout=60, check=False)
    said = done.stdout + done.stderr
    if is_supported:
        return "" if done.returncode == 0 else f"is not accepted\n{said}"
    if done.returncode == 0:
        return "is supported: its first line is no longer true"
    right = done.returncode == 3 and set(ERROR.findall(said)) == {
        NOT_SUPPORTED_YET}
    return "" if right else f"is wrong, not only unsupported\n{said}"


def main():
    manual, canzona = map(pathlib.Path, sys.argv[1:])
    examples = list(blocks(manual.read_text(encoding="utf-8")))
    n_wrong = n_marked = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        shutil.copytree(CONFIGS, folder / "configs")
        (folder / "rules").mkdir()
        (folder / "rules" / "mine.cz").write_text("let mine = 1\n")
        for line, section, example in examples:
            file = folder / f"line{line}.cz"
            file.write_text(completed(example, section), encoding="utf-8")
            is_supported = not example.startswith(MARK)
            n_marked += not is_supported
            why = check(canzona, file, is_supported)
            if why:
                n_wrong += 1
                print(f"{manual.name}:{line}: the example {why}")
    print(f"{manual.name}: {len(examples)} examples, {n_marked} not supported "
          f"yet, {n_wrong} wrong")
    return 1 if n_wrong or not examples else 0


if __name__ == "__main__":
    sys.exit(main())
