"""docs/errors.md: exit statuses and codes, each with a message as a user sees it.

    errors_page.py [CANZONA]            fails when the page is stale
    errors_page.py [CANZONA] --update   writes it anew

Statuses and codes are those of exit.def and diag.def, messages those of the golden
tests.  `canzona explain CODE` has to print the page's section.  CANZONA is
build/dev/canzona unless it is named.
"""
import pathlib
import shlex
import subprocess
import sys
import textwrap

from ir_page import entries, markdown
from page import hold

ROOT = pathlib.Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "golden"
PAGE = ROOT / "docs" / "errors.md"

INTRODUCTION = """\
# Errors

A message says what is wrong, where, and, where that can be known, what would
be right. One mistake is one message; what depends on it is silent.
`canzona explain E0501` prints a section of this page. Its messages are those of golden
tests (`tests/golden/errors`); `tests/golden/errors_page.py --update` writes it.

## Exit statuses

{statuses}

Codes are E01 of text and grammar, E02 of names, E03 of shapes and types, E04 of models
and configurations, E05 of uses and schedules, E06 of IR, E07 of runs, and E09 of limits.
A code's status is {errors} unless its section says another.
"""

# Where a message stands, and the command that prints it; of the others nothing is
# shown: a damaged module, our own mistakes, and what depends on the machine.
SHOWN = {
    "E0101": "errors: check bring_semicolon.cz",
    "E0102": "errors: check string_open.cz",
    "E0103": "errors: check bring_suffix.cz",
    "E0104": "errors: check syntax_keyword.cz",
    "E0105": "parse: check err_utf8.cz",
    "E0106": "errors: check model_star.cz",
    "E0201": "errors: check let_poison.cz",
    "E0202": "errors: check rule_state_twice.cz",
    "E0203": "errors: check bring_names.cz",
    "E0204": "errors: check let_cycle_chain.cz",
    "E0205": "errors: check import_mesh.cz",
    "E0301": "errors: check rule_shape_mismatch.cz",
    "E0302": "errors: check rule_in_def.cz",
    "E0303": "errors: check rule_written_in_if.cz",
    "E0304": "errors: check rule_writes_misspelt.cz",
    "E0305": "errors: check rule_hyper_type.cz",
    "E0306": "errors: check rule_product_mixed.cz",
    "E0307": "errors: check rule_no_write.cz",
    "E0401": "errors: check model_divides.cz",
    "E0402": "errors: check config_syntax.cz",
    "E0403": "errors: check config_key_misspelt.cz",
    "E0404": "errors: check config_key_string.cz",
    "E0405": "errors: check experts_product.cz",
    "E0406": "errors: check 9lives.cz",
    "E0407": "errors: check stage_missing.cz",
    "E0501": "errors: check use_nothing.cz",
    "E0502": "errors: check use_uncovered.cz",
    "E0503": "errors: check never_chosen.cz",
    "E0504": "errors: check pipeline_length.cz",
    "E0505": "errors: check -D form=3 form_option.cz",
    "E0506": "errors: check machine_incomplete.cz",
    "E0507": "errors: check batch_of_kernels.cz",
    "E0901": "errors: check mesh_too_large.cz",
    "E0902": "errors: check not_yet_master.cz",
    "E0903": "errors: check config_absent.cz",
    "E0904": "refused: plan gram_divides_no_group.cz",
}
UNSHOWN = {"E0601", "E0602", "E0701", "E0702", "E0703"}


def rows(path):
    """The entries of a .def file, their adjacent strings joined."""
    text = (ROOT / path).read_text(encoding="utf-8")
    return [e.args for e in entries(text.replace('"\n        "', ""))]


def example(canzona, code):
    """The message as a block, or nothing."""
    if code in UNSHOWN:
        return ""
    folder, command = SHOWN[code].split(": ")
    done = subprocess.run([canzona, *shlex.split(command)], cwd=GOLDEN / folder,
                          text=True, capture_output=True, timeout=60, check=False)
    if f"[{code}]" not in done.stderr:
        sys.exit(f"{command} does not say {code}: {done.stderr}")
    return f"\n```text\n$ canzona {command}\n{done.stderr}```\n"


def section(canzona, statuses, code, name, meaning, advice):
    special = {"UNSUPPORTED": "INFEASIBLE", "INFEASIBLE": "INFEASIBLE",
               "NO_GPU": "NO_GPU"}.get(name)
    status = f" Exit status {statuses[special]}." if special else ""
    words = textwrap.fill(advice + status, 88, break_on_hyphens=False)
    return f"\n## {code}: {meaning}\n\n{words}\n{example(canzona, code)}"


def unexplained(canzona, text):
    """What `explain` says otherwise than the page."""
    for part in text.split("\n## ")[2:]:
        lines = [s for s in part.split("\n") if not s.startswith("```")]
        code = part[:5]
        done = subprocess.run([canzona, "explain", code], text=True,
                              capture_output=True, timeout=60, check=False)
        if done.stdout.rstrip().split("\n") != "\n".join(lines).rstrip().split("\n"):
            yield f"explain {code} is not the page's section: build it again"


def main():
    named = [word for word in sys.argv[1:] if word != "--update"]
    canzona = pathlib.Path(named[0] if named else ROOT / "build/dev/canzona")
    statuses = rows("frontend/cmd/exit.def")
    codes = rows("dsl/base/diag.def")[1:]
    if set(SHOWN) | UNSHOWN != {row[0] for row in codes}:
        sys.exit("SHOWN and UNSHOWN are not all codes")
    number = {name: status for status, name, _ in statuses}
    text = INTRODUCTION.format(
        errors=number["ERRORS"],
        statuses=markdown(("status", "when"), [(s, m) for s, _, m in statuses]))
    text += "".join(section(canzona, number, *row) for row in codes)
    complaints = unexplained(canzona, text) if "--update" not in sys.argv else ()
    hold(PAGE, text, list(complaints))


if __name__ == "__main__":
    main()
