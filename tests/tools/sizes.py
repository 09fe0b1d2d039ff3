#!/usr/bin/python3
"""No file over 800 lines, no function over 80: each a question otherwise."""
import sys

import tree

FILE_LINES = 800
FUNCTION_LINES = 80
ENDINGS = (".c", ".h", ".re", ".y", ".cu", ".py")


def functions(text):
    """(first line, lines) of each body; clang-format puts its braces alone."""
    start = None
    for number, line in enumerate(text.split("\n"), 1):
        if line == "{":
            start = number
        elif line == "}" and start is not None:
            yield start, number - start + 1
            start = None


def check(text, path):
    lines = text.count("\n")
    if lines > FILE_LINES:
        yield f"{path}: {lines} lines, more than {FILE_LINES}"
    for start, length in functions(text):
        if length > FUNCTION_LINES:
            yield f"{path}:{start}: {length} lines, more than {FUNCTION_LINES}"


def self_test():
    """One text too long and one function too long must both be seen."""
    long_file = "int x;\n" * (FILE_LINES + 1)
    long_function = "int f(void)\n{\n" + "    g();\n" * FUNCTION_LINES + "}\n"
    return len(list(check(long_file, ""))) == 1 == len(list(check(long_function, "")))


def main():
    if not self_test():
        print("sizes.py does not see what it should")
        return 1
    messages = [message for path in tree.sources(tree.ROOT, ENDINGS)
                for message in check(tree.read(tree.ROOT, path), path)]
    print("\n".join(messages) or "sizes: clean")
    return 1 if messages else 0


if __name__ == "__main__":
    sys.exit(main())
