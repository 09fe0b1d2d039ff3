#!/usr/bin/python3
"""tests/README.md maps promises to tests and targets: every row has tests, every
test has a row, and the target column is what ctest's labels say.

    promises.py BUILD [--update]     (--update writes the target column anew)
"""
import json
import os
import re
import subprocess
import sys

PAGE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
                    "README.md")
ROW = re.compile(r"^\| (?P<promise>.+) \| `(?P<tests>.+)` \| (?P<target>[^|]+) \|$")
# Rows of a target that is no label: what needs a GPU, what fuzzes for hours.
ELSEWHERE = re.compile(r"^`make test-\w+`$")


def labels_of_tests(build):
    """{test: its labels}"""
    shown = json.loads(subprocess.run(
        ["ctest", "--show-only=json-v1"], cwd=build, check=True,
        capture_output=True, text=True).stdout)
    found = {}
    for test in shown["tests"]:
        values = {p["name"]: p["value"] for p in test["properties"]}
        found[test["name"]] = values.get("LABELS", [])
    return found


def target_of(labels):
    for target in ("nightly", "check"):
        if target in labels:
            return target
    return "test"


def read_row(line):
    """The row's regular expression and target; None of other lines."""
    match = ROW.match(line)
    if not match or match["target"].strip() == "target":
        return None
    return match["tests"].replace("\\|", "|"), match["target"].strip()


def check(lines, tests):
    """(messages, lines with the right targets)."""
    messages, fixed, covered = [], [], set()
    for line in lines:
        row = read_row(line)
        fixed.append(line)
        if not row:
            continue
        pattern, target = row
        found = [name for name in tests if re.search(pattern, name)]
        covered.update(found)
        if not found:
            messages.append(f"no test is called {pattern}")
        said = {target_of(tests[name]) for name in found}
        wanted = ", ".join(t for t in ("check", "test", "nightly") if t in said)
        if not ELSEWHERE.match(target) and found and target != wanted:
            messages.append(f"{pattern}: {wanted}, not {target}")
            fixed[-1] = re.sub(r"\| [^|]+ \|$", f"| {wanted} |", line)
    messages += [f"no promise has the test {name}" for name in tests
                 if name not in covered]
    return messages, fixed


def self_test():
    tests = {"a_1": ["check"], "a_2": ["nightly"], "b": [], "c": []}
    lines = ["| promise | `ctest -R` | target |", "| x | `a_[12]` | check |",
             "| y | `b\\|nothing` | test |", "| z | `gone` | test |"]
    messages, fixed = check(lines, tests)
    return (len(messages) == 3 and fixed[1] == "| x | `a_[12]` | check, nightly |"
            and fixed[2:] == lines[2:])


def main():
    if not self_test():
        sys.exit("promises.py does not see what it should")
    build = sys.argv[1]
    with open(PAGE, encoding="utf-8") as file:
        lines = file.read().split("\n")
    messages, fixed = check(lines, labels_of_tests(build))
    if "--update" in sys.argv:
        with open(PAGE, "w", encoding="utf-8") as file:
            file.write("\n".join(fixed))
    n = sum(read_row(line) is not None for line in lines)
    print("\n".join(messages) or f"{n} promises have their tests")
    return bool(messages) or n < 40


if __name__ == "__main__":
    sys.exit(main())
