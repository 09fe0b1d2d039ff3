#!/usr/bin/python3
"""The editor grammar: it knows every keyword of the scanner and every type, its
expressions compile, and it sees on lines of ours what a reader sees.

Tokens are found as TextMate finds them: at each place the earliest match wins,
then the first rule; `begin` opens a context that its `end` closes.
"""
import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
GRAMMAR = json.loads(
    (ROOT / "dsl/editor/canzona.tmLanguage.json").read_text(encoding="utf-8"))
REPOSITORY = GRAMMAR["repository"]

# Line, then what stands in it and the scope it must have.
EXPECTED = [
    ("use muon(lr, momentum = 0.95) as matrices on h.**.{q, k} where ndim == 2",
     {"use": "keyword.declaration", "muon": "entity.name.function",
      "momentum": "variable.other", "0.95": "constant.numeric",
      "as": "keyword.other", "matrices": "entity.name.tag",
      "on": "keyword.other", "h.**.{q, k}": "variable.parameter.path",
      "where": "keyword.other", "==": "keyword.operator.comparison"}),
    ("use muon(lr = rates[i]) as deep on h[i < 12].**, wte where i > 3",
     {"rates": "variable.other", "deep": "entity.name.tag",
      "h": "variable.parameter.path", ".**": "variable.parameter.path",
      "wte": "variable.parameter.path", "12": "constant.numeric",
      "where": "keyword.other"}),
    ("use adamw(lr) as rest on **  # all others",
     {"**": "variable.parameter.path", "rest": "entity.name.tag",
      "# all others": "comment.line.number-sign"}),
    ("    self_attn.{k_proj, v_proj}.weight           : [kv/tp, hidden_size]",
     {"self_attn.{k_proj, v_proj}.weight": "variable.parameter.path",
      "/": "keyword.operator.arithmetic", "hidden_size": "variable.other"}),
    ("    if not tied { lm_head.weight : bf16[vocab_size/tp, d] frozen }",
     {"if": "keyword.control", "not": "keyword.operator.logical",
      "lm_head.weight": "variable.parameter.path", "bf16": "storage.type",
      "frozen": "keyword.other"}),
    ("    stem : [c, 3, k, k] view matrix",
     {"stem": "variable.parameter.path", "view": "keyword.other"}),
    ("    norm.weight : [d]", {"norm.weight": "variable.parameter.path"}),
    ("    model.layers[i < layers] {",
     {"model.layers": "variable.parameter.path",
      "<": "keyword.operator.comparison"}),
    ("    experts[e < n].{gate, up}.weight : [f, d] stored transposed",
     {"experts": "variable.parameter.path",
      ".{gate, up}.weight": "variable.parameter.path",
      "transposed": "keyword.other"}),
    ("    tie lm_head.weight = model.embed.weight",
     {"tie": "keyword.declaration", "=": "keyword.operator.assignment",
      "model.embed.weight": "variable.parameter.path"}),
    ("    model.embed.weight : [v/tp, d] stage first, last - 1",
     {"model.embed.weight": "variable.parameter.path", "stage": "keyword.other",
      "first": "keyword.control", "last": "keyword.other"}),
    ("    mtp.layers[i < n] stage last {",
     {"mtp.layers": "variable.parameter.path", "stage": "keyword.other"}),
    ("    mtp.head stage last {",
     {"mtp.head": "variable.parameter.path", "stage": "keyword.other"}),
    ("    tie lm_head.weight = model.embed.weight stage last",
     {"model.embed.weight": "variable.parameter.path", "stage": "keyword.other"}),
    ("    pipeline (9, 11) chunks 2, pipeline even",
     {"pipeline": "keyword.other", "chunks": "keyword.other",
      "even": "keyword.other", "11": "constant.numeric"}),
    ("    param <- param - lr * polar(norm(u), x')",
     {"param": "variable.language", "<-": "keyword.operator.assignment",
      "polar": "entity.name.function", "norm": "entity.name.function",
      "'": "keyword.operator.transpose"}),
    ("    param <- grad |> averaged(0.9) |> descended(param, lr)",
     {"|>": "keyword.operator.pipe", "averaged": "entity.name.function",
      "descended": "entity.name.function", "0.9": "constant.numeric"}),
    ("    state = first + t", {"state": "variable.other", "t": "variable.language"}),
    ("    state m, v : f32 = 0",
     {"state": "keyword.declaration", "m, v": "variable.other",
      "f32": "storage.type", "0": "constant.numeric"}),
    ("    first {  # once", {"first": "keyword.control"}),
    ("    clip norm 1.0, skip nonfinite, bucket 256KiB",
     {"norm": "keyword.other", "1.0": "constant.numeric",
      "256KiB": "constant.numeric", "nonfinite": "keyword.other"}),
    ("    for i in 0..n { x = rates[i] }",
     {"for": "keyword.control", "0": "constant.numeric",
      "..": "keyword.operator.range", "n": "variable.other",
      "rates": "variable.other"}),
    ('model qwen3 from "a \\" b"  # "c"',
     {"model": "keyword.declaration", "qwen3": "entity.name.function",
      "from": "keyword.control", '\\"': "constant.character.escape",
      '# "c"': "comment.line.number-sign"}),
    ("table jordan = [(1, -2e-3)] * 5 then cycle",
     {"table": "keyword.declaration", "jordan": "entity.name.constant",
      "2e-3": "constant.numeric", "cycle": "keyword.other"}),
]


def patterns(rules):
    """The rules that match, includes and groups taken apart."""
    for rule in rules:
        if "include" in rule:
            yield from patterns([REPOSITORY[rule["include"][1:]]])
        elif "match" in rule or "begin" in rule:
            yield rule
        else:
            yield from patterns(rule["patterns"])


def expressions(value):
    """Every regular expression of the grammar."""
    if isinstance(value, dict):
        for key, item in value.items():
            if key in ("match", "begin", "end"):
                yield item
            else:
                yield from expressions(item)
    elif isinstance(value, list):
        for item in value:
            yield from expressions(item)


def put(tokens, match, rule, key):
    """The parts of one match, with their scopes."""
    captures = rule.get(key, {})
    if "name" in rule and key != "beginCaptures":
        tokens.append((match.group(), rule["name"]))
    for number, capture in captures.items():
        tokens.append((match.group(int(number)), capture["name"]))


def earliest(rules, line, at):
    found = [(m.start(), i, m, rule) for i, rule in enumerate(rules)
             for m in [re.compile(rule.get("match") or rule["begin"])
                       .search(line, at)] if m]
    return min(found, key=lambda f: f[:2])[2:] if found else (None, None)


def tokenize(line, rules=None, at=0, end=None):
    """(tokens, where it stopped).  `end` closes the context."""
    rules = list(patterns(GRAMMAR["patterns"])) if rules is None else rules
    tokens = []
    while at <= len(line):
        match, rule = earliest(rules, line, at)
        stop = re.compile(end).search(line, at) if end else None
        if stop and (not match or stop.start() <= match.start()):
            return tokens, stop.end()
        if not match:
            break
        at = match.end()
        if "match" in rule:
            put(tokens, match, rule, "captures")
            at += match.end() == match.start()
            continue
        put(tokens, match, rule, "beginCaptures")
        start = match.start()
        inner, at = tokenize(line, list(patterns(rule["patterns"])), at,
                             rule["end"])
        tokens += inner
        if "name" in rule:
            tokens.append((line[start:at], rule["name"]))
    return tokens, len(line)


def keywords():
    """What the scanner reserves, and what the grammar takes for names too."""
    scanner = set(re.findall(r'^CZ_(?:KEYWORD|RESERVED)\([A-Z]+, "(\w+)"\)',
                             (ROOT / "frontend/syntax/tokens.def").read_text(), re.M))
    fallback = re.search(r"%fallback ID ([A-Z\s]+)\.",
                         (ROOT / "frontend/syntax/gram.y").read_text())
    return scanner, {word.lower() for word in fallback[1].split()}


def demand(holds, what):
    if not holds:
        sys.exit(f"textmate: {what}")


def check_words():
    scanner, contextual = keywords()
    demand(contextual and contextual < scanner, "keywords are not to be found")
    known = set()
    for rule in patterns([REPOSITORY["keyword"]]):
        known |= set(re.match(r"\\b\(\?:([a-z|]+)\)", rule["match"])[1].split("|"))
    demand(known == scanner, f"keywords differ: {sorted(known ^ scanner)}")
    types = set(re.findall(r'^ABI_DTYPE\(\w+, (\w+)',
                           (ROOT / "runtime/abi.def").read_text(), re.M))
    listed = re.search(r"\(\?:([\w|]+)\)", REPOSITORY["type"]["match"])[1]
    demand(types and types == set(listed.split("|")), f"types are {types}")
    for word in sorted(contextual - {"on", "tie"}):
        scopes = [s for text, s in tokenize(f"    x {word} y")[0] if text == word]
        demand(any(s.startswith("keyword") for s in scopes), f"{word}: {scopes}")


def check_lines():
    for line, expected in EXPECTED:
        tokens = tokenize(line)[0]
        for text, scope in expected.items():
            demand((text, scope + ".canzona") in tokens,
                   f"{line}\n{text} is no {scope} but {tokens}")


def check_sources():
    """Nothing of our sources is a mistake, and every comment is one."""
    n = 0
    for folder in ("examples", "dsl/std"):
        for path in sorted((ROOT / folder).rglob("*.cz")):
            for line in path.read_text(encoding="utf-8").splitlines():
                tokens = tokenize(line)[0]
                demand(not any("invalid" in s for _, s in tokens), line)
                comments = [t for t, s in tokens if s.startswith("comment")]
                demand(comments == re.findall(r"#.*$", line), line)
                n += 1
    return n


def main():
    for expression in expressions(GRAMMAR):
        re.compile(expression)
    demand(GRAMMAR["scopeName"] == "source.canzona", "scope")
    demand(GRAMMAR["fileTypes"] == ["cz"], "file types")
    check_words()
    check_lines()
    n = check_sources()
    print(f"textmate: keywords and types complete, {len(EXPECTED)} lines as "
          f"expected, {n} lines read")


if __name__ == "__main__":
    main()
