#!/usr/bin/python3
"""clang-format has nothing to change in any .c or .h of ours."""
import subprocess
import sys

import tree


def main():
    files = tree.sources(tree.ROOT, (".c", ".h"))
    if not files:
        print("format.py found no sources")
        return 1
    command = ["clang-format", "--dry-run", "--Werror", *files]
    return subprocess.run(command, cwd=tree.ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
