"""dsl/IR.md: its tables, made from the files that the compiler expands.

    ir_page.py              fails when the page is stale
    ir_page.py --update     writes the tables anew
    ir_page.py --self-test  damages that must be seen

A table stands between `<!-- table: NAME -->` and `<!-- end -->`.  Its texts are the
comments of the .def files.  A file that the tables cannot read is an error, so that
no entry is left out.
"""
import pathlib
import re
import sys

from page import hold

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "dsl" / "IR.md"
VOCAB = ROOT / "dsl" / "vocab"
ABI = ROOT / "runtime" / "abi.def"
PIPELINE = ROOT / "passes" / "pipeline.c"
ACCESS = VOCAB / "access.h"
DIALECT = ROOT / "dsl" / "ir" / "dialect.c"
SCHEMA = ROOT / "dsl" / "ir" / "schema.c"
TOKEN = re.compile(r"""
    (?P<blank>[ \t]+) | (?P<line>\n) | (?P<directive>\#(?:\\\n|[^\n])*)
  | (?P<comment>/\*.*?\*/)
  | (?P<macro>(?:CZ|ABI)_[A-Z_]+)\((?P<args>(?:"[^"\n]*"|[^"()]|\([^()]*\))*)\)
""", re.S | re.X)
WRITERS = ("written by the front end",
           "written by a command whose target is a GPU", "written by the passes")
COMMA = re.compile(r',(?=(?:[^"]*"[^"]*")*[^"]*$)')
# How an attribute of each type is written.  A reference says to what.
TYPES = {"CZ_SYM": "symbol", "CZ_REF": "@", "CZ_STRING": "string",
         "CZ_STRINGS": "[string]", "CZ_INT": "i64", "CZ_INTS": "array<i64>",
         "CZ_REAL": "f64", "CZ_REALS": "array<f64>",
         "CZ_CHOICE": "string", "CZ_CHOICES": "[string]"}


def words(comment):
    """A comment's text on one line."""
    lines = comment[2:-2].split("\n")
    return " ".join(" ".join(re.sub(r"^\s*\* ?", "", s) for s in lines).split())


class Entry:
    """One CZ_...(...) of a .def file, with the comment in front and the one
    behind it on its line."""

    def __init__(self, macro, args, before):
        self.macro = macro
        self.args = [a.strip().strip('"') for a in COMMA.split(args)]
        self.before, self.behind = before, ""


def entries(text):
    """The entries of a .def file, and its comments "---- ... ----" as strings."""
    found, before, last, at = [], "", None, 0
    while at < len(text):
        token = TOKEN.match(text, at)
        if not token:
            sys.exit(f"this cannot be read: {text[at:at + 60]!r}")
        at = token.end()
        if token["line"]:
            last = None
        elif token["comment"] and last:
            last.behind = words(token["comment"])
        elif token["comment"]:
            before = words(token["comment"])
            if before.startswith("----"):
                found.append(before.strip("- "))
        elif token["macro"]:
            last = Entry(token["macro"], token["args"], before)
            before = ""
            found.append(last)
    return found


def cell(text):
    return text.replace("|", "\\|")


def code(text):
    return f"`{text}`" if text else ""


def markdown(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(map(cell, line)) + " |" for line in lines)


# ---- one function a table: the text of its file to head and rows ----

def facts(text, writer):
    """Facts with their fields, of one section of the file."""
    found = entries(text)
    names = {e.args[0] for e in found
             if not isinstance(e, str) and e.macro == "CZ_FACT"}
    rows, is_ours = [], False
    for entry in found:
        if isinstance(entry, str):
            if entry not in WRITERS:
                sys.exit(f"no table has facts {entry}")
            is_ours = entry == writer
        elif is_ours and entry.macro == "CZ_FACT":
            rows.append((f"**`{entry.args[0]}`**", "", entry.behind))
        elif is_ours and entry.macro != "CZ_END":
            name, kind = entry.args[1], TYPES[entry.macro]
            if kind == "@":
                kind += name if name in names else "func.func"
            rows.append((code(name), code(kind), entry.behind))
    return ("fact, field", "type", "what"), rows


def opcodes(text):
    return ("operation", "operands", "what"), [
        (code(e.args[1]), e.args[2], e.behind) for e in entries(text)]


def shared(text, macro):
    """Entries of one kind of runtime/abi.def."""
    found = [e for e in entries(text)
             if not isinstance(e, str) and e.macro == f"ABI_{macro}"]
    return found or sys.exit(f"abi.def has no {macro}")


def steps(text):
    return ("kind", "what"), [
        (code(e.args[1]), e.args[4]) for e in shared(text, "OP")]


def table_rows(text):
    """The columns of each table, in the order of the IR."""
    kinds = [e.args[1] for e in shared(text, "ENTRY")]
    columns = sorted(shared(text, "COLUMN"),
                     key=lambda e: (kinds.index(e.args[0]), int(e.args[3])))
    return ("table", "column", "what"), [
        (code(e.args[0]), code(e.args[1]), e.behind) for e in columns]


def slots(text):
    return ("slot", "what"), [
        (code(e.args[1]), e.behind) for e in shared(text, "SLOT")]


def factorisations(text):
    """One row each, with the shapes of its results."""
    rows = []
    for entry in entries(text):
        if entry.macro == "CZ_FACTOR_RESULT":
            _, rank, *size = entry.args
            rows[-1][2].append(f"[{', '.join(size[:int(rank)])}]")
            continue
        _, name, operands, _, parameters, square, *costs = entry.args
        takes = "[n, n]" if square == "true" else "[m, n]"
        takes += ", [n, k]" if operands == "2" else ""
        work, flops, part, launches = costs
        rows.append((code(name), code(takes), [], parameters, code(work),
                     code(flops), part if part == "1" else f"1/{part}",
                     code(launches), entry.before))
    return ("name", "operands", "results", "parameters", "workspace, bytes",
            "operations", "part of the f32 rate", "kernels", "what"), [
        (*row[:2], code(", ".join(row[2])), *row[3:]) for row in rows]


def dtypes(text):
    return ("name", "bytes", "C", "runtime"), [
        (code(e.args[1]), e.args[2], code(e.args[3]), code(f"CZR_{e.args[0]}"))
        for e in shared(text, "DTYPE")]


def constants(text):
    """Machine constants; a source gives times in seconds, a fact in `unit`s."""
    return ("constant", "unit", "may be 0", "what"), [
        (code(e.args[0]), "" if e.args[1] == "1" else e.args[1],
         "" if e.args[3] == "1" else "yes", e.args[4]) for e in entries(text)]


def tensor_operations(text):
    """The operations of the IRDL text in dialect.c, each with the comment in
    front of it."""
    start = text.index("tensor_ops[]")
    irdl = text[start:text.index(";\n\n", start)]
    pieces = re.findall(r"(?:(/\*(?:(?!\*/).)*\*/)\s*)?"
                        r"\"irdl\.operation @(\w+) \{(.*?)^\s*\"\}", irdl,
                        re.M | re.S)
    if len(pieces) != irdl.count("irdl.operation"):
        sys.exit("an operation of dialect.c cannot be read")
    rows = []
    for comment, name, body in pieces:
        operands = re.search(r"irdl\.operands\((.*?)\)", body)
        names = re.findall(r"(\w+): (optional )?", operands[1]) if operands else []
        rows.append((
            code(f"canzona.{name}"),
            ", ".join(code(n) + (" (optional)" if o else "") for n, o in names),
            ", ".join(code(n) for n in re.findall(r'\\"(\w+)\\" =', body)),
            words(comment) if comment else ""))
    return ("operation", "operands", "attributes", "what"), rows


def members(text, enum):
    """(name, comment) of each of a C enum but the one that counts them."""
    body = re.search(rf"typedef enum cz_{enum} \{{(.*?)\}} cz_{enum};", text, re.S)
    found = re.findall(r"\bCZ_(\w+),?\s*(?:(/\*.*?\*/)\s*)?", body[1], re.S)
    return [(name, words(comment) if comment else "")
            for name, comment in found if not name.startswith("N_")]


def accesses(text):
    """How a step reaches operands and results, by number."""
    return ("number", "name", "what"), [
        (str(i), code(name.removeprefix("ACCESS_")), what)
        for i, (name, what) in enumerate(members(text, "access"))]


def choices(text, of, head):
    """The words of a vocabulary, of all but that of stages where it is None."""
    own = {e.args[1] for e in entries(text)
           if not isinstance(e, str) and e.macro == "CZ_WORDS"}
    wanted = {of} if of else own - {"WHERE"}
    rows, seen = [], None
    for entry in entries(text):
        if isinstance(entry, str) or entry.macro != "CZ_WORD":
            continue
        if entry.args[0] in wanted:
            name, _, word, what = entry.args
            is_first, seen = name != seen, name
            lead = [] if of else [code(name.lower()) if is_first else ""]
            rows.append((*lead, code(word), what))
    return head, rows


def passes(text):
    """The pipeline."""
    rows = re.findall(r'\{"(.*?)",\s*"(.*?)",\s*"(.*?)",\s*cz_\w+_pass\}', text)
    if len(rows) != text.count("_pass}"):
        sys.exit("a pass of pipeline.c cannot be read")
    return ("pass", "needs", "provides"), [(code(r[0]), *r[1:]) for r in rows]


TABLES = {
    "facts of the front end": (VOCAB / "facts.def",
                               lambda t: facts(t, WRITERS[0])),
    "facts of a GPU": (VOCAB / "facts.def", lambda t: facts(t, WRITERS[1])),
    "facts of the passes": (VOCAB / "facts.def",
                            lambda t: facts(t, WRITERS[2])),
    "opcodes": (VOCAB / "opcode.def", opcodes),
    "steps": (ABI, steps),
    "rows": (ABI, table_rows),
    "factorisations": (VOCAB / "factor.def", factorisations),
    "dtypes": (ABI, dtypes),
    "constants": (VOCAB / "machine.def", constants),
    "tensor operations": (DIALECT, tensor_operations),
    "accesses": (ACCESS, accesses),
    "slots": (ABI, slots),
    "stages": (VOCAB / "words.def",
               lambda t: choices(t, "WHERE", ("where", "what"))),
    "choices": (VOCAB / "words.def",
                lambda t: choices(t, None, ("of", "word", "what"))),
    "passes": (PIPELINE, passes),
}


def page(old):
    """The page with its tables made anew."""
    marks = re.findall(r"<!-- table: (.*?) -->", old)
    if sorted(marks) != sorted(TABLES):
        sys.exit(f"tables {sorted(TABLES)}, and marks for {sorted(marks)}")
    if old.count("<!-- end -->") != len(marks):
        sys.exit("a table has no end, or two")
    for name, (file, make) in TABLES.items():
        place = re.compile(rf"(<!-- table: {name} -->\n).*?(<!-- end -->)", re.S)
        text = markdown(*make(file.read_text(encoding="utf-8")))
        old = place.sub(lambda m: m[1] + text + "\n" + m[2], old)
    return old


def unexplained(text):
    """Attributes of kernel form that the page does not name."""
    given = re.findall(r'\{"kernel\.\w+", "(\w+)",',
                       SCHEMA.read_text(encoding="utf-8"))
    section = text.split("### Kernel form\n")[1].split("\n## ")[0]
    explained = set(re.findall(r"`(\w+)`", section))
    return sorted(set(given) - explained)


def is_refused(act, *args):
    """Whether reading ends the program."""
    try:
        act(*args)
    except SystemExit:
        return True
    return False


def self_test(old):
    """What goes unseen, or is read wrong."""
    text = ("/* head */\n#define CZ_A(x) \\\n    x\n"
            f"/* ---- {WRITERS[0]} ---- */\n"
            "CZ_FACT(f) /* two\n             * lines | here */\n"
            "CZ_REF(f, f)\n/* not of g */\nCZ_REF(f, g)\nCZ_END(f)\n"
            f"/* ---- {WRITERS[2]} ---- */\nCZ_FACT(h)\nCZ_END(h)\n")
    rows = [("**`f`**", "", "two lines | here"), ("`f`", "`@f`", ""),
            ("`g`", "`@func.func`", "")]
    if facts(text, WRITERS[0])[1] != rows:
        yield "facts are read wrong"
    if not is_refused(facts, text.replace("passes", "verifier"), WRITERS[0]):
        yield "a section without a table"
    if markdown(("a",), [("b | c",)]) != "| a |\n| --- |\n| b \\| c |":
        yield "a cell with a bar is two"
    if not is_refused(entries, "CZ_INT(a, b\n"):
        yield "half an entry is read"
    if not is_refused(entries, "CZ_INT(a, b) junk\n"):
        yield "junk is read"
    for mark in ("<!-- table: steps -->", "<!-- end -->"):
        if not is_refused(page, old.replace(mark, "", 1)):
            yield f"a lost {mark}"
    if page(damaged := old.replace("| --- |", "| -- |", 1)) == damaged:
        yield "a stale table"
    if "narrow" not in unexplained(old.replace("`narrow`", "narrow")):
        yield "an attribute without a word"


def main():
    old = PAGE.read_text(encoding="utf-8")
    if "--self-test" in sys.argv[1:]:
        found = [f"self-test: {what}" for what in self_test(old)]
        print("\n".join(found) or "ir_page.py sees what is wrong")
        sys.exit(1 if found else 0)
    text = page(old)
    hold(PAGE, text,
         [f"dsl/IR.md: no word of the attribute '{name}' of kernel form"
          for name in unexplained(text)])


if __name__ == "__main__":
    main()
