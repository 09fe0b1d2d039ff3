#!/usr/bin/python3
"""--diagnostics=json and =sarif: both fit their schemas, say what the text form
says, and point at the bytes that it underlines.

    diagnostics.py CANZONA
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import urllib.parse

import plan_schema

HERE = pathlib.Path(__file__).resolve().parent
ROOT = pathlib.Path(__file__).resolve().parents[2]
CANZONA = pathlib.Path(sys.argv[1])
LINE = re.compile(r"^(?:(?P<file>[^\s:][^:]*):)?(?:(?P<line>\d+):(?P<column>\d+):)?"
                  r" ?(?P<severity>error|warning|note): (?P<message>.*?)"
                  r"(?: \[(?P<code>E\d{4})\])?$")


def run(*words):
    return subprocess.run([CANZONA, *words], capture_output=True, timeout=60,
                          check=False)


def schema(name):
    text = (HERE / f"{name}.schema.json").read_text(encoding="utf-8")
    return plan_schema.Validator(json.loads(text))


SCHEMAS = {"json": schema("diagnostics"), "sarif": schema("sarif")}


def document(form, data):
    value = plan_schema.parse(data.decode("utf-8"))
    for message in SCHEMAS[form].validate(value):
        sys.exit(f"{form}: {message}")
    return value


def of_text(data):
    """(severity, code, message, file, line, column) of each message."""
    for line in data.decode("utf-8", "replace").splitlines():
        match = LINE.match(line)
        if match and not line.startswith(" ") and "stopped after" not in line:
            number = {k: match[k] and int(match[k]) for k in ("line", "column")}
            yield (match["severity"], match["code"], match["message"],
                   match["file"], number["line"], number["column"])


def source(root, file):
    """The bytes of a file that a message names; the library's are ours."""
    path = root / file
    return (path if path.exists() else ROOT / "dsl" / file).read_bytes()


PLACE = ("file", "line", "column", "end_line", "end_column")


def of_place(place):
    place = place or {}
    return tuple(place.get(key) for key in PLACE)


def of_json(value):
    """The same as of_text, and where each place ends."""
    for d in value["diagnostics"]:
        yield (d["severity"], d["code"], d["message"], *of_place(d["place"]))
        for note in d["notes"]:
            yield ("note", None, note["message"], *of_place(note["place"]))


def sarif_place(location, root):
    """The same, columns in bytes: read off the source itself."""
    physical = location.get("physicalLocation")
    if not physical:
        return (None,) * len(PLACE)
    file = urllib.parse.unquote(physical["artifactLocation"]["uri"])
    if "region" not in physical:
        return file, *(None,) * (len(PLACE) - 1)
    region = physical["region"]
    lines = source(root, file).split(b"\n")

    def place(edge):
        line = region[f"{edge}Line"]
        before = lines[line - 1].decode("utf-8", "surrogateescape")[
            :region[f"{edge}Column"] - 1]
        return line, len(before.encode("utf-8", "surrogateescape")) + 1
    return file, *place("start"), *place("end")


def of_sarif(value, root):
    report = value["runs"][0]
    for r in report["results"]:
        rule = report["tool"]["driver"]["rules"][r["ruleIndex"]]
        if rule["id"] != r["ruleId"]:
            sys.exit(f"sarif: ruleIndex of {r['ruleId']} is {rule['id']}")
        place = sarif_place((r["locations"] or [{}])[0], root)
        yield r["level"], r["ruleId"], r["message"]["text"], *place
        for note in r.get("relatedLocations", []):
            yield ("note", None, note["message"]["text"],
                   *sarif_place(note, root))


def check_offsets(value, root):
    """offset and length are line and column said otherwise."""
    for d in value["diagnostics"]:
        for place in [d["place"], *(n["place"] for n in d["notes"])]:
            if not place or "line" not in place:
                continue
            data = source(root, place["file"])
            for at, prefix in ((place["offset"], ""),
                               (place["offset"] + place["length"], "end_")):
                start = data.rfind(b"\n", 0, at) + 1
                said = place[prefix + "line"], place[prefix + "column"]
                if said != (data.count(b"\n", 0, at) + 1, at - start + 1):
                    sys.exit(f"json: {place} is not where it says")


def visible(messages):
    """The text form shows '?' for what a terminal should not see."""
    return [m for m in messages if not re.search(r"[^ -~]", m[2])]


def check(path):
    """All three forms of one source agree; how many messages there are."""
    text = run("check", path)
    as_json = run("check", "--diagnostics=json", path)
    as_sarif = run("check", "--diagnostics=sarif", path)
    if as_json.stderr or as_sarif.stderr:
        sys.exit(f"{path}: documents are for standard output alone")
    if not text.returncode == as_json.returncode == as_sarif.returncode:
        sys.exit(f"{path}: the exit status depends on the form")
    value = document("json", as_json.stdout)
    said = list(of_text(text.stderr))
    told = list(of_json(value))
    begun = [message[:6] for message in told]
    if visible(said) != visible(begun) or len(said) != len(told):
        sys.exit(f"{path}: text {said}\njson {told}")
    check_offsets(value, path.parent)
    results = list(of_sarif(document("sarif", as_sarif.stdout), path.parent))
    if results != told:
        sys.exit(f"{path}: sarif {results}\njson {told}")
    return len(told)


def check_streams(folder):
    """Where the documents go, and odd names."""
    odd = folder / "a é%[1].cz"
    odd.write_text("let a = \xe9\n", encoding="latin-1")
    if check(odd) == 0:
        sys.exit("bytes that are no UTF-8 go unmentioned")
    done = run("plan", "--diagnostics=json", odd)
    if done.stdout or not document("json", done.stderr)["errors"]:
        sys.exit("plan: diagnostics belong to standard error")
    if run("check", "--diagnostics=xml", odd).returncode != 2:
        sys.exit("an unknown form is accepted")
    lost = document("json", run("check", "--diagnostics=json",
                                folder / "none.cz").stdout)
    if lost["diagnostics"][0]["place"] is not None:
        sys.exit("a file that is not there has places")


def main():
    n = 0
    sources = sorted(HERE.glob("*/*.cz"))
    for path in sources:
        n += check(path)
    with tempfile.TemporaryDirectory() as name:
        check_streams(pathlib.Path(name))
    print(f"diagnostics: {n} messages of {len(sources)} sources, alike in "
          "text, JSON and SARIF")
    return 0 if n else 1


if __name__ == "__main__":
    sys.exit(main())
