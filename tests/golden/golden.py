"""Golden tests: for every x.cz of a folder, a command's output must be the
file beside it.  The extension of that file picks the command.

    golden.py FOLDER --check 'ast:0:parse_tool {}' --check 'err:1:parse_tool {}'

A line "# -D NAME=VALUE" of a source adds NAME=VALUE to its commands.  Of the two
lines that a message underlines a piece of a source with, the golden file has the
piece alone, behind the message; docs/errors.md shows them as they are.

Each check is EXTENSION:STATUS:COMMAND; {} is the source file.  With --update
the files are written instead; a source that has none gets the one of the
first check whose command ends with its status.
"""

import argparse
import difflib
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile


DEFINE = re.compile(r"^# -D (.+)$", re.MULTILINE)
EXCERPT = re.compile(r"\n *\d+ \| (.*)\n {6}\| ([ \t]*)(\^~*)$", re.MULTILINE)


def underlined(match):
    shown, before, marked = match.groups()
    return f" | {shown[len(before):][:len(marked)]}".rstrip()


class Check:
    def __init__(self, text):
        self.extension, status, command = text.split(":", 2)
        self.status = int(status)
        self.command = shlex.split(command)

    def run(self, source):
        words = [w.replace("{}", str(source)) for w in self.command]
        words += DEFINE.findall(source.read_text("utf-8", "replace"))
        done = subprocess.run(words, stdout=subprocess.PIPE, timeout=60)
        output = done.stdout.decode("utf-8", "replace")
        return done.returncode, EXCERPT.sub(underlined, output)

    def golden(self, source):
        return source.with_name(source.stem + "." + self.extension)


def compare(check, source):
    """The complaints about one source under one check; none when it holds."""
    status, output = check.run(source)
    golden = check.golden(source)
    complaints = []
    if status != check.status:
        complaints.append(
            f"{source.name}: status {status}, expected {check.status}")
    expected = golden.read_text(encoding="utf-8")
    if output != expected:
        complaints += difflib.unified_diff(
            expected.splitlines(), output.splitlines(),
            golden.name, "output", lineterm="")
    return complaints


def update(checks, source):
    """Write the golden files of one source."""
    present = [c for c in checks if c.golden(source).exists()]
    for check in present or checks:
        status, output = check.run(source)
        if status == check.status:
            check.golden(source).write_text(output, encoding="utf-8")
            if not present:
                break


def test_folder(folder, checks):
    """Run all checks; the number that ran, and all complaints."""
    complaints, n_ran = [], 0
    for source in sorted(folder.glob("*.cz")):
        present = [c for c in checks if c.golden(source).exists()]
        if not present:
            complaints.append(f"{source.name}: no golden file beside it")
        for check in present:
            complaints += compare(check, source)
            n_ran += 1
    return n_ran, complaints


def self_test():
    """A wrong golden file, a wrong status and a missing file must be seen."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        cases = [("right", "text\n", "cat {}", 0), ("other", "x\n", "cat {}", 1),
                 ("status", "", "false {}", 1), ("bare", None, "cat {}", 1)]
        for stem, golden, command, n_wrong in cases:
            for old in folder.iterdir():
                old.unlink()
            (folder / f"{stem}.cz").write_text("text\n")
            if golden is not None:
                (folder / f"{stem}.out").write_text(golden)
            _, complaints = test_folder(folder, [Check(f"out:0:{command}")])
            if bool(complaints) != bool(n_wrong):
                sys.exit(f"self-test: case {stem} went unseen")
    print("golden.py sees wrong text, wrong status and missing files")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", nargs="?", type=pathlib.Path)
    parser.add_argument("--check", action="append", type=Check, default=[])
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--self-test", action="store_true")
    args = parser.parse_args()
    if args.self_test:
        return self_test()
    if args.update:
        for source in sorted(args.folder.glob("*.cz")):
            update(args.check, source)
    n_ran, complaints = test_folder(args.folder, args.check)
    for line in complaints:
        print(line)
    print(f"{args.folder.name}: {n_ran} golden files, "
          f"{'different' if complaints else 'as expected'}")
    if complaints or n_ran == 0:
        sys.exit(1)


if __name__ == "__main__":
    main()
