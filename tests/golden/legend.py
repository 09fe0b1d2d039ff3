#!/usr/bin/python3
"""Every line of a plan's screen is explained by `plan --legend`, and nothing else is.

    legend.py CANZONA SOURCE..."""
import re
import subprocess
import sys

LABEL = re.compile(r"^([a-z][a-z ]{0,10}[a-z]) +\S", re.MULTILINE)


def labels(text):
    return {m[1] for m in LABEL.finditer(text)}


def main(canzona, *sources):
    seen = set()
    for source in sources:
        options = source.split()
        said = subprocess.run([canzona, "plan", "--legend", *options], capture_output=True,
                              text=True, check=True).stdout
        screen, _, legend = said.partition("\n\n")
        program, _, screen = screen.partition("\n")
        shown, explained = labels(screen), labels(legend)
        if shown != explained:
            print(f"{source}: {program}\n  not explained: {shown - explained}\n"
                  f"  explained, not there: {explained - shown}")
            return 1
        seen |= shown
    print(f"{len(seen)} lines explained: {', '.join(sorted(seen))}")
    return 0 if len(seen) >= 15 else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
