"""Input from an enemy: whatever the file is, `canzona check`, `plan` and
`build` answer with an exit status of 1 to 3 and one error, within 5 seconds
and 512 MB, and leave no file behind.

Usage: hostile.py CANZONA one|all [WORD]     (only the cases whose name has WORD)

of `one`, each input is given to one command, in turn; of `all`, to all of them.
"""
import os
import pathlib
import random
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time

MAX_SECONDS = 5 * int(os.environ.get("SLOWDOWN", 1))
MAX_BYTES = 512 << 20
DEPTH = 100_000
LONG = 10_000_000
SEED = 20260101
COMMANDS = ["check", "plan", "build"]

HEAD = "mesh dp = 2, tp = 2\n"
MODEL = "model tiny(w = 64) {\n    params f32 { a : [w/tp, w] }\n}\n"
USE = "use muon(lr) on **\n"
WHOLE = HEAD + MODEL + USE


class Case:
    """A file to give to the compiler, and what may be said about it.  With
    `may_pass` the input may be valid; `errors` is the most there may be."""

    def __init__(self, name, data, beside=(), may_pass=False, errors=1,
                 commands=COMMANDS):
        self.name, self.beside = name, dict(beside)
        self.data = data.encode() if isinstance(data, str) else data
        self.may_pass, self.errors, self.commands = may_pass, errors, commands


# ---- texts ----

def nested():
    """Every bracket, operator and block that nests, 100,000 deep."""
    parts = {
        "parentheses": HEAD + "let x = " + "(" * DEPTH + "1" + ")" * DEPTH,
        "open": HEAD + "let x = " + "(" * DEPTH,
        "brackets": HEAD + "table x = " + "[" * DEPTH + "1" + "]" * DEPTH,
        "calls": HEAD + "let x = " + "min(1, " * DEPTH + "1" + ")" * DEPTH,
        "minus": HEAD + "let x = " + "-" * DEPTH + "1",
        "not": HEAD + "let x = " + "not " * DEPTH + "true",
        "power": HEAD + "let x = " + "2^" * DEPTH + "1",
        "sum": HEAD + "let x = " + "1 + " * DEPTH + "1",
        "or": HEAD + "let x = " + "true or " * DEPTH + "true",
        "transposed": HEAD + "let x = 1" + "'" * DEPTH,
        "braces": HEAD + "{" * DEPTH + "}" * DEPTH,
        "closed": HEAD + "}" * DEPTH,
        "paths": HEAD + "model m(w = 4) { params f32 { "
                 + "a { " * DEPTH + "}" * DEPTH + " } }",
        "if": HEAD + "model m(w = 4) { params f32 { "
              + "if true { " * DEPTH + "}" * DEPTH + " } }",
        "else if": HEAD + "model m(w = 4) { params f32 { if true { } "
                   + "else if true { } " * DEPTH + " } }",
        "for": HEAD + "def f(x) { " + "for a in x { " * DEPTH
               + "}" * DEPTH + " }",
        "choice": WHOLE + "use adamw(lr) as b on " + "{a," * DEPTH
                  + "b" + "}" * DEPTH,
    }
    # What is no statement at all is said first, then that it is too deep.
    return [Case("nested " + name, text,
                 errors=2 if name in ("braces", "choice") else 1)
            for name, text in parts.items()]


def strange_bytes():
    junk = random.Random(SEED).randbytes(65536)
    return [
        Case("empty", b""),
        Case("NUL", b"\0"),
        Case("NUL inside", WHOLE.replace("w = 64", "w = 6\x004")),
        Case("NULs, 4 MB", b"\0" * 4_000_000),
        Case("invalid UTF-8", b"mesh dp = 2 # \xff\xfe\n"),
        Case("surrogate", b"mesh dp = 2 # \xed\xa0\x80\n"),
        Case("overlong", b'import "\xc0\xaf"\n'),
        Case("cut short", WHOLE.encode() + b"# \xe2\x82"),
        Case("random bytes", junk, errors=20),
        Case("escapes", b"mesh dp = \x1b[2J\x1b]0;x\x07 2\n", errors=20),
        Case("backslashes", HEAD + 'import "' + "\\" * 100_000 + '"\n'),
    ]


def long_ones():
    name = "x" * LONG
    return [
        Case("name, 10 MB", HEAD + f"let {name} = 1\n"),
        Case("name, 3 MB", HEAD + f"let {name[:3_000_000]} = y\n" + USE,
             errors=2),
        Case("comment, 10 MB", "#" + name),
        Case("line, 3 MB", HEAD + "let a = " + "1 " * 1_500_000, errors=20),
        Case("lines, 3 MB", HEAD + "let\n" * 750_000, errors=20),
        Case("string, 3 MB", HEAD + f'import "{name[:3_000_000]}"\n'),
        Case("number, 3 MB", HEAD + "let a = " + "9" * 3_000_000),
        Case("path, 3 MB", WHOLE + "use adamw(lr) as b on "
             + "a." * 1_500_000 + "b\n"),
        Case("stars", WHOLE + "use adamw(lr) as b on "
             + "**." * 2000 + "b\n"),
        Case("star parts", HEAD + MODEL.replace("a :", "a" * 200 + " :")
             + "use adamw(lr) on " + "*a" * 100 + "b\n", errors=2),
        Case("many lets", HEAD + "".join(
            f"let a{i} = a{i + 1}\n" for i in range(100_000)) + MODEL + USE,
            may_pass=True),
        Case("lets that are read", HEAD + "".join(
            f"let a{i} = a{i + 1}\n" for i in range(20_000))
            + MODEL.replace("64", "a0") + USE),
        Case("many uses", HEAD + MODEL + "".join(
            f"use adamw(lr) as u{i} on b{i}\n" for i in range(20_000)),
            errors=20),
        Case("many parameters", HEAD + "model m(w = 8) {\nparams f32 {\n"
             + "".join(f"p{i} : [w, w]\n" for i in range(100_000))
             + "}\n}\n" + USE),
        Case("doubled", HEAD + "let a0 = 2\n" + "".join(
            f"let a{i + 1} = a{i} * a{i}\n" for i in range(63))
            + MODEL.replace("64", "a63") + USE, errors=2),
        Case("tables", HEAD + MODEL + "table t0 = [(1, 2, 3)] * 1000\n"
             + "".join(f"table t{i + 1} = t{i} * 1000\n" for i in range(20))
             + "use muon(lr, coefficients = t20) on **\n"),
        Case("conditions", HEAD + MODEL + USE
             + "optimizer o(lr) for [m, n] { x = grad\n" + "".join(
                 f"if m * {i + 3} > n + {i * 7} {{ x = x + grad }}\n"
                 for i in range(2000)) + "param <- param - lr * x }\n",
             may_pass=True),
        Case("rules", HEAD + MODEL + USE + "".join(
            f"optimizer o{i}(lr) for [m, n] {{ if m > n {{ a = grad }} else "
            f"{{ a = 2 * grad }}\n param <- polar(a, jordan) }}\n"
            for i in range(10_000)), may_pass=True),
        Case("polynomials", HEAD + MODEL + USE
             + "table r = [(1, 2)] * 400\n"
             + "optimizer o(lr) for [m, n] { k = m\n x = grad\n"
             + "for (a, b) in r { for (c, d) in r { k = k * n + m } }\n"
             + "if k > 3 { x = grad' } else { state s : f32[k, k] }\n"
             + "param <- param - lr * x }\n", errors=2),
        Case("ladder", HEAD + MODEL + "def f0(x) { return x + x }\n"
             + "".join(f"def f{i + 1}(x) {{ return f{i}(f{i}(x)) }}\n"
                       for i in range(40))
             + "optimizer o(lr) for [m, n] { param <- f40(grad) }\n"
             + "use o(lr) on **\n", errors=2),
    ]


# ---- configurations ----

CONFIG = ('{"model_type": "qwen3", "hidden_size": 64, "intermediate_size": 64,'
          '"num_hidden_layers": 2, "num_attention_heads": 4,'
          '"num_key_value_heads": 4, "head_dim": 16, "vocab_size": 64}')
WITH_CONFIG = HEAD + 'model qwen3 from "c.json"\nuse adamw(lr) on **\n'


def configs():
    def with_value(value):
        return CONFIG.replace('"hidden_size": 64', f'"hidden_size": {value}')

    parts = {
        "empty": "", "list": "[]", "null": "null", "number": "1e999",
        "arrays": "[" * DEPTH + "]" * DEPTH,
        "objects": '{"a":' * DEPTH + "1" + "}" * DEPTH,
        "open arrays": with_value("[" * DEPTH),
        "1e999": with_value("1e999"),
        "-1e999": with_value("-1e999"),
        "digits": with_value("9" * 1_000_000),
        "exponent": with_value("1e" + "9" * 1_000_000),
        "2^63": with_value("9223372036854775808"),
        "twice": with_value('64, "hidden_size": 128'),
        "NUL": with_value('"\\u0000"'),
        "raw NUL": with_value("\0"),
        "surrogate": with_value('"\\ud800"'),
        "string, 10 MB": with_value('"' + "x" * LONG + '"'),
        "string, 20 MB": with_value('"' + "x" * 2 * LONG + '"'),
        "deep value": with_value('{"a": [[[[1]]]]}'),
        "fractional": with_value("64.5"),
        "negative": with_value("-64"),
        "zero": with_value("0"),
        "cut short": CONFIG[:-20],
        "twice over": CONFIG + CONFIG,
    }
    cases = [Case("config " + name, WITH_CONFIG, {"c.json": text})
             for name, text in parts.items()]
    cases.append(Case("config UTF-8", WITH_CONFIG,
                      {"c.json": with_value('"').encode() + b"\xff\"}"}))
    cases.append(Case("config fraction", WITH_CONFIG, {"c.json": with_value(
        "64." + "0" * 1_000_000)}, may_pass=True))
    cases.append(Case("config key, 10 MB", WITH_CONFIG, {"c.json": with_value(
        '64, "' + "x" * LONG + '": 1')}, may_pass=True))
    cases.append(Case("config keys", WITH_CONFIG, {"c.json": with_value(
        ",".join(["64"] + [f'"k{i}": {i}' for i in range(200_000)]))},
        may_pass=True))
    return cases


# ---- what is no file ----

def make_special(folder):
    """Paths that are no regular files."""
    os.mkfifo(folder / "fifo.cz")
    (folder / "folder.cz").mkdir()
    (folder / "loop.cz").symlink_to("loop.cz")
    (folder / "zero.cz").symlink_to("/dev/zero")
    os.mkfifo(folder / "c.json")
    (folder / "import.cz").write_text('import "fifo.cz"\n' + WHOLE)
    (folder / "config.cz").write_text(WITH_CONFIG)
    (folder / "import_zero.cz").write_text('import "zero.cz"\n' + WHOLE)
    (folder / "import_self.cz").write_text('import "import_self.cz"\n' + WHOLE)
    return ["fifo.cz", "folder.cz", "loop.cz", "zero.cz", "/dev/zero",
            "/dev/null", "/dev/tty", "nowhere.cz", "import.cz", "config.cz",
            "import_zero.cz", "import_self.cz", "", "x" * 300,
            "a/" * 5000 + "b"]


# ---- IR ----

DIMS = [f"d{i}" for i in range(2000)]


def edited_ir(ir):
    """IR before planning, whose facts no longer fit each other."""
    parts = {
        "no update": ("update = @[^,]*,", 'update = "",'),
        "update of another name": ("update = @[^,]*,", "update = @nowhere,"),
        "states without types": ("state_dtypes = [^]]*]", "state_dtypes = []"),
        "no type": ("state_dtypes = [^]]*]", 'state_dtypes = ["f31"]'),
        "no states": ("states = [^]]*]", "states = []"),
        "no shape": ("shape = array<i64: 64, 64>", "shape = array<i64>"),
        "long shape": ("shape = array<i64: 64, 64>",
                       "shape = array<i64: 2, 2, 2>"),
        "huge shape": ("shape = array<i64: 64, 64>",
                       "shape = array<i64: 4294967296, 4294967296>"),
        "no ranks": ("sizes = array<i64: 2, 2>", "sizes = array<i64: 0, 2>"),
        "axes without sizes": ("sizes = array<i64: 2, 2>", "sizes = array<i64>"),
        "shard of no axis": ("shard = array<i64: [^>]*>",
                             "shard = array<i64: 7, -1>"),
        "master of no type": ('master_dtype = "f32"', 'master_dtype = "x"'),
    }
    cases = []
    for name, (pattern, new) in parts.items():
        text, n = re.subn(pattern, lambda match, new=new: new, ir, count=1)
        if n != 1:
            sys.exit(f"IR {name}: '{pattern}' is not in the IR")
        cases.append(Case("edited IR, " + name, text, errors=20))
    return cases


def mutated_ir(ir):
    """Printed IR, damaged: cut short, flipped, nested, retyped."""
    rng = random.Random(SEED)
    cases = []
    for i in range(200):
        at = len(ir.rstrip()) * i // 200
        cases.append(Case(f"IR cut at {at}", ir[:at],
                          commands=[COMMANDS[i % 3]], errors=20))
    for i in range(150):
        data = bytearray(ir.encode())
        for _ in range(rng.randint(1, 4)):
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        cases.append(Case(f"IR flip {i}", bytes(data), may_pass=True,
                          commands=[COMMANDS[i % 3]], errors=20))
    return cases + strange_ir(ir)


def strange_ir(ir):
    number = "1 : i64"
    at = ir.index(number)

    def with_attribute(text):
        return ir[:at] + text + ir[at + len(number):]

    parts = {
        "huge array": with_attribute(
            "array<i64: " + ", ".join(["1"] * 2_000_000) + ">"),
        "array of arrays": with_attribute("[" * DEPTH + "]" * DEPTH),
        "dictionaries": with_attribute("{a = " * DEPTH + "1" + "}" * DEPTH),
        "string": with_attribute('"one"'), "float": with_attribute("1.0e999"),
        "big": with_attribute("99999999999999999999999999 : i64"),
        "negative": with_attribute("-9223372036854775808 : i64"),
        "type": with_attribute("f32"),
        "dense": with_attribute('dense<"0x00"> : tensor<1000000000xf32>'),
        "unit": with_attribute("unit"),
        "alias": "!a = !a\n" + ir,
        "aliases that double": "module {\n}\n#a0 = [1, 1]\n" + "".join(
            f"#a{i + 1} = [#a{i}, #a{i}]\n" for i in range(60))
            + with_attribute("#a60"),
        "sum of dimensions": with_attribute("affine_map<(" + ", ".join(DIMS)
            + ") -> (" + " + ".join(DIMS * 40) + ")>"), "NUL": with_attribute("\0"),
        "tensor types": with_attribute("tensor<" * DEPTH + ">" * DEPTH),
        "unclosed strings": ir.replace('"', "", 1),
        "twice": ir + ir, "two modules": ir + "module {\n}\n",
        "parentheses": ir[:at] + "(" * DEPTH,
    }
    return [Case("IR " + name, text, errors=20, may_pass=name == "negative",
                 commands=[COMMANDS[i % 3]])
            for i, (name, text) in enumerate(parts.items())]


# ---- running ----

def limit():
    resource.setrlimit(resource.RLIMIT_CPU, (2 * MAX_SECONDS, 12 * MAX_SECONDS))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def measure(words, folder):
    """Exit status (negative: a signal), stderr, seconds, bytes."""
    start = time.monotonic()
    with tempfile.TemporaryFile() as errors:
        child = subprocess.Popen(words, cwd=folder, stdin=subprocess.DEVNULL,
                                 stdout=subprocess.DEVNULL, stderr=errors,
                                 preexec_fn=limit)
        signal.alarm(60 * MAX_SECONDS)  # it sleeps: else RLIMIT_CPU ends it
        _, status, usage = os.wait4(child.pid, 0)
        signal.alarm(0)
        child.returncode = os.waitstatus_to_exitcode(status)
        errors.seek(0)
        text = errors.read()
    # The processor's seconds: the machine may have other work.
    seconds = min(time.monotonic() - start, usage.ru_utime + usage.ru_stime)
    return child.returncode, text, seconds, usage.ru_maxrss << 10


def complaints(case, status, text, seconds, size):
    n_errors = text.count(b": error: ") + text.startswith(b"error: ") \
        + text.count(b"\nerror: ")
    if status not in ([0] if case.may_pass else []) + [1, 2, 3]:
        yield f"exit status {status}"
    if status != 0 and not 1 <= n_errors <= case.errors:
        yield f"{n_errors} errors: {text[:600]!r}"
    if seconds > MAX_SECONDS:
        yield f"{seconds:.1f} s"
    if size > MAX_BYTES:
        yield f"{size >> 20} MB"
    if len(text) > 100_000:
        yield f"{len(text)} bytes of messages"


def run(canzona, case, path, folder):
    """The complaints about all commands on one input."""
    found = []
    for command in case.commands:
        words = [canzona, command]
        if command == "build":
            words += ["-o", "out"]
        status, *rest = measure(words + [path], folder)
        found += [f"{command}, {case.name}: {c}"
                  for c in complaints(case, status, *rest)]
        left = sorted(p.name for p in (folder / "out").glob("*")) \
            if (folder / "out").exists() else []
        if status != 0 and left:
            found.append(f"{command}, {case.name}: leaves {left}")
        for name in left:
            (folder / "out" / name).unlink()
    return found


def run_case(canzona, case, folder):
    for name, data in {"x.cz": case.data, **case.beside}.items():
        (folder / name).write_bytes(
            data.encode() if isinstance(data, str) else data)
    return run(canzona, case, "x.cz", folder)


def print_ir(canzona, folder, level):
    """IR of a model so small that any place of it is soon reached."""
    (folder / "small.cz").write_text(WHOLE)
    done = subprocess.run([canzona, "plan", f"--ir={level}", "small.cz"],
                          cwd=folder,
                          check=True, capture_output=True)
    return done.stdout.decode()


def main():
    canzona = pathlib.Path(sys.argv[1]).resolve()
    is_one = sys.argv[2] == "one"
    word = sys.argv[3] if len(sys.argv) > 3 else ""
    found, n = [], 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        cases = nested() + strange_bytes() + long_ones() + configs()
        cases += mutated_ir(print_ir(canzona, folder, "scheduled"))
        cases += edited_ir(print_ir(canzona, folder, "source"))
        cases += edited_ir(print_ir(canzona, folder, "assigned"))
        for i, case in enumerate(cases):
            if is_one:
                case.commands = [case.commands[i % len(case.commands)]]
            if word in case.name:
                found += run_case(canzona, case, folder)
                n += 1
        special = folder / "special"
        special.mkdir()
        for path in make_special(special):
            case = Case("file " + path[:40], "")
            if word in case.name:
                found += run(canzona, case, path, special)
                n += 1
    print("\n".join(found[:40]))
    print(f"{n} hostile inputs, {len(found)} complaints")
    return 1 if found or n == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
