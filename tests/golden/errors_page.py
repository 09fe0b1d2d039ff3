"""docs/errors.md: ten errors as a user sees them, from sources of the golden tests.

    errors_page.py [CANZONA]   fails when the page is stale
    errors_page.py --update    writes it anew

CANZONA is build/dev/canzona unless it is named.
"""
import pathlib
import subprocess
import sys

from page import hold

ROOT = pathlib.Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "golden" / "errors"
PAGE = ROOT / "docs" / "errors.md"
MIN_SITUATIONS = 60

INTRODUCTION = """\
# Errors, as they look

A message says what is wrong, where, and, where that can be known, what would
be right. One mistake is one message; what depends on it is silent. These are
ten of the {n} situations that the golden tests hold (`tests/golden/errors`);
`tests/golden/errors_page.py --update` writes this page from them.
"""

SHOWN = [
    ("A name that nothing defines", "let_poison"),
    ("Shapes that do not fit", "rule_shape_mismatch"),
    ("A product whose factors do not chain", "rule_in_def"),
    ("A state that is written twice on one path", "rule_written_in_if"),
    ("A dimension that an axis does not divide", "model_divides"),
    ("A path that no parameter matches", "use_nothing"),
    ("Parameters that no rule covers", "use_uncovered"),
    ("A configuration with a value of the wrong kind", "config_key_string"),
    ("A configuration whose key is misspelt", "config_key_misspelt"),
    ("A definition that needs itself", "let_cycle_chain"),
]


def section(canzona, title, stem):
    done = subprocess.run([canzona, "check", f"{stem}.cz"], cwd=GOLDEN, text=True,
                          capture_output=True, timeout=60, check=False)
    return (f"\n## {title}\n\n```text\n$ canzona check {stem}.cz\n"
            f"{done.stderr}```\n")


def main():
    named = [word for word in sys.argv[1:] if word != "--update"]
    canzona = pathlib.Path(named[0] if named else ROOT / "build/dev/canzona")
    n = len(list(GOLDEN.glob("*.err"))) + len(list(GOLDEN.glob("*.unsupported")))
    if n < MIN_SITUATIONS:
        sys.exit(f"{n} situations, of at least {MIN_SITUATIONS}")
    hold(PAGE, INTRODUCTION.format(n=n) +
         "".join(section(canzona, *s) for s in SHOWN))


if __name__ == "__main__":
    main()
