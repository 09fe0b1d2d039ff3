"""dsl/LANGUAGE.md: its tables of functions, made of dsl/vocab/function.def.

    functions_page.py            fails when the page is stale
    functions_page.py --update   writes the tables anew

Neighbours of one meaning share a row.
"""
import itertools
import pathlib
import re
import sys

from ir_page import code, entries, markdown
from page import hold

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "dsl" / "LANGUAGE.md"
TABLE = ROOT / "dsl" / "vocab" / "function.def"


def tables(found):
    """Markdown by the name of its part of the file."""
    out, part = {}, None
    for entry in found:
        if isinstance(entry, str):
            part = out.setdefault(entry, [])
        else:
            part.append(entry.args[5:7])
    for name, rows in out.items():
        shared = [(", ".join(code(call) for call, _ in group), gives)
                  for gives, group in itertools.groupby(rows, lambda r: r[1])]
        yield name, markdown(("call", "gives"), shared)


def main():
    text = PAGE.read_text(encoding="utf-8")
    for name, table in tables(entries(TABLE.read_text(encoding="utf-8"))):
        place = re.compile(rf"(<!-- table: {name} -->\n).*?(<!-- end -->)", re.S)
        if not place.search(text):
            sys.exit(f"the page has no place for {name}")
        text = place.sub(lambda m: m[1] + table + "\n" + m[2], text)
    hold(PAGE, text)


if __name__ == "__main__":
    main()
