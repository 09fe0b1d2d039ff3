"""docs/errors.md: ten errors as a user sees them, from the golden tests.

    errors_page.py            fails when the page is stale
    errors_page.py --update   writes it anew
"""
import difflib
import pathlib
import sys

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


def section(title, stem):
    message = (GOLDEN / f"{stem}.err").read_text(encoding="utf-8").rstrip()
    return (f"\n## {title}\n\n```text\n$ canzona check {stem}.cz\n"
            f"{message}\n```\n")


def page():
    n = len(list(GOLDEN.glob("*.err"))) + len(list(GOLDEN.glob("*.unsupported")))
    if n < MIN_SITUATIONS:
        sys.exit(f"{n} situations, of at least {MIN_SITUATIONS}")
    return INTRODUCTION.format(n=n) + "".join(section(*s) for s in SHOWN)


def main():
    text = page()
    if "--update" in sys.argv[1:]:
        PAGE.write_text(text, encoding="utf-8")
        return
    old = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    stale = list(difflib.unified_diff(old.splitlines(), text.splitlines(),
                                      "docs/errors.md", "golden", lineterm=""))
    print("\n".join(stale) or "docs/errors.md is what the tests say")
    sys.exit(1 if stale else 0)


if __name__ == "__main__":
    main()
