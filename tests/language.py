#!/usr/bin/python3
"""Every ```cz block of the manual is accepted by a tool.

    language.py MANUAL 'TOOL {}'
"""
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

BLOCK = re.compile(r"^```cz\n(.*?)^```$", re.S | re.M)


def blocks(text):
    """The examples of a manual, each with the line it begins in."""
    return [(text.count("\n", 0, m.start(1)) + 1, m.group(1))
            for m in BLOCK.finditer(text)]


def main():
    manual, tool = pathlib.Path(sys.argv[1]), shlex.split(sys.argv[2])
    examples = blocks(manual.read_text(encoding="utf-8"))
    n_wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for line, example in examples:
            file = pathlib.Path(folder) / f"line{line}.cz"
            file.write_text(example, encoding="utf-8")
            words = [w.replace("{}", str(file)) for w in tool]
            done = subprocess.run(words, capture_output=True, text=True,
                                  timeout=60, check=False)
            if done.returncode != 0:
                n_wrong += 1
                print(f"{manual.name}:{line}: the example is not accepted\n"
                      f"{done.stdout}{done.stderr}")
    print(f"{manual.name}: {len(examples)} examples, {n_wrong} not accepted")
    return 1 if n_wrong or not examples else 0


if __name__ == "__main__":
    sys.exit(main())
