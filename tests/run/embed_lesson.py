#!/usr/bin/python3
"""The commands in the head of examples/embed/lesson.c, as a newcomer types
them; the lesson ends with 0 when its loss fell a thousandfold.

    embed_lesson.py BUILD_FOLDER
"""
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
LESSON = ROOT / "examples/embed/lesson.c"


def commands(text):
    """Lines of the head that begin with $, with what they continue in."""
    head = text[:text.index("*/")].replace("\n * ", "\n")
    return re.findall(r"^ +\$ ((?:.*\\\n)*.*)$", head, re.M)


def main():
    found = commands(LESSON.read_text())
    with tempfile.TemporaryDirectory() as folder:
        for command in found:
            command = command.replace("/tmp", folder)
            command = command.replace("build/dev", sys.argv[1])
            print(f"$ {command}", flush=True)
            subprocess.run(command, shell=True, check=True, cwd=ROOT)
    return 0 if len(found) == 3 else 1


if __name__ == "__main__":
    sys.exit(main())
