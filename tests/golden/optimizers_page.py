"""dsl/OPTIMIZERS.md: its tables, made from the library's files.

    optimizers_page.py            fails when the page is stale
    optimizers_page.py --update   writes the tables anew

A file that the tables cannot read is an error, so that no entry is left out.
"""
import pathlib
import re
import sys

import numpy as np

from page import hold

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIBRARY = ROOT / "dsl" / "std" / "opt"
PAGE = ROOT / "dsl" / "OPTIMIZERS.md"
HEADER = re.compile(r"^optimizer (\w+)\((.*?)\) for (any|\[m, n\]) \{(.*?)^\}",
                    re.M | re.S)
# Up to a colon or a full stop outside of brackets.
CLAUSE = re.compile(r"(?:\([^)]*\)|[^(:.]|[:.](?! |$))*")
# How a body keeps its momentum.
KEPT = {"ema": "average", "": "average", "total": "sum"}


def texts():
    return {f.name: f.read_text(encoding="utf-8")
            for f in sorted(LIBRARY.glob("*.cz"))}


def formals(text):
    """The header's arguments with their defaults; None: none."""
    out, depth, start = {}, 0, 0
    for i, c in enumerate(text + ","):
        depth += {"(": 1, ")": -1}.get(c, 0)
        if c == "," and depth == 0:
            name, _, value = text[start:i].partition("=")
            out[name.replace("const", "").strip()] = value.strip() or None
            start = i + 1
    return out


def parts(text):
    """The names of what a body calls."""
    return set(re.findall(r"\b([a-z]\w*)\(", text))


def momentum(body, given):
    """What the state of the gradients is, and whether the step looks ahead."""
    write = re.search(r"^ *(?:mom +<-|m +<-|turned +=) (\w*)(\(?)", body, re.M)
    if not write:
        return "none"
    name, call = write.groups()
    kept = KEPT.get(given.get(name, name), "other") if call else "sum"
    ahead = "lerp(grad, mom" in body or given.get("nesterov") == "true"
    return kept + (", ahead" if ahead else "")


def one_of(names, body, given, option):
    """The option's default, or which of `names` a body calls."""
    found = sorted(parts(body) & set(names))
    return given.get(option) or (found[-1] if found else "-")


def decay(body, given):
    """How weights decay: a function's name, or what the body writes."""
    if "shrink" in given:
        return given["shrink"]
    if re.search(r" \* \(1 - (?:lr|size) \* decay\)|\* \(p \+ decay \* param\)|"
                 r"lr \* decay \* param", body):
        return "decoupled"
    if "grad + decay * param" in body:
        return "l2"
    return "1 - lr" if "param * (1 - lr)" in body else "none"


def defined(text):
    return re.findall(r"^def (\w+)\(", text, re.M)


def sources(files):
    """Rows of (entry, the first clause of its comment)."""
    for text in files.values():
        for match in HEADER.finditer(text):
            before = re.search(r"((?:^#.*\n)+)\Z", text[:match.start()], re.M)
            if not before:
                sys.exit(f"no comment says where {match[1]} is from")
            words = " ".join(re.sub(r"^# ?", "", before[1], flags=re.M).split())
            yield f"`{match[1]}`", CLAUSE.match(words)[0].rstrip(":. ")


def entries(files):
    """Rows of the table of optimizers."""
    scales = defined(files["scales.cz"])
    factors = [n for n in defined(files["polar.cz"]) if n.startswith("polar")]
    for text in files.values():
        for name, header, _, body in HEADER.findall(text):
            given = formals(header)
            number = lambda key: given.get(key) or "-"
            yield (f"`{name}`", momentum(body, given),
                   given.get("lmo") or one_of(factors, body, given, "factor"),
                   number("coefficients"),
                   one_of(scales, body, given, "scale"), decay(body, given),
                   number("eps"), number("lr"),
                   given.get("momentum") or number("betas"), number("decay"))


ENTRY_HEAD = ("entry", "momentum", "factor", "coefficients", "scale", "decay",
              "eps", "lr", "momentum's or betas", "decay's")


def rows_of(value):
    """A table's rows, evaluated: its text is Python but for the power."""
    return eval(value.replace("^", "**"), {"__builtins__": {}})  # our own files


def tables(files):
    """Rows of the table of coefficients: what singular values become."""
    text = re.sub(r"#.*", "", files["tables.cz"])
    for name, value, then in re.findall(
            r"^table (\w+) = (.*?)(?:then (\w+))?\s*(?=^table|\Z)", text,
            re.M | re.S):
        rows = rows_of(value)
        ends = []
        for least in (0.1, 0.01, 0.001):
            s = np.linspace(least, 1, 20001)
            for a, b, c in rows:
                s = a * s + b * s ** 3 + c * s ** 5
            ends.append(f"{s.min():.3f} to {s.max():.3f}")
        yield f"`{name}`", str(len(rows)), then or "ends", *ends


TABLE_HEAD = ("table", "rows", "then", "0.1 to 1", "0.01 to 1", "0.001 to 1")


def markdown(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def page(old):
    """The page with its tables made anew."""
    files = texts()
    n_headers = sum(len(re.findall(r"^optimizer ", t, re.M))
                    for t in files.values())
    found = list(entries(files))
    if len(found) != n_headers:
        sys.exit(f"{len(found)} of {n_headers} optimizers can be read")
    for mark, text in (("sources", markdown(("entry", "from"), sources(files))),
                       ("entries", markdown(ENTRY_HEAD, found)),
                       ("tables", markdown(TABLE_HEAD, tables(files)))):
        place = re.compile(rf"(<!-- {mark} -->\n).*?(<!-- end -->)", re.S)
        if not place.search(old):
            sys.exit(f"the page has no place for {mark}")
        old = place.sub(lambda m: m[1] + text + "\n" + m[2], old)
    return old


if __name__ == "__main__":
    hold(PAGE, page(PAGE.read_text(encoding="utf-8")))
