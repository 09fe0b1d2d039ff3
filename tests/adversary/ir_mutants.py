#!/usr/bin/python3
"""Mutants drawn from the text of printed IR: every number, word, name, type, operand,
operation and line.  What the verifier accepts is compiled and run on both host
devices, and has the bits of the plan that it was; or it is the right plan of another
source, as the interpreter says; or sums in another order.  Anything else is a hole.

    ir_mutants.py CANZONA JUDGE N [SEED] [FOLDER]    FOLDER keeps what is a hole
"""
import collections
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PLANS = ROOT / "tests/fixtures/plans"
MICROBATCHES = "24"
HEAD = """mesh dp = {}, tp = {}
model m() {{
    params {} {{
        a : [24/tp, 16]
        b : [16/tp, 24]
        n : [5]
    }}
}}
"""
MUON = "use muon(lr = 0.01) as m on a, b\nuse adamw(lr = 0.01) as r on **\n"
SOURCES = {
    "dense": HEAD.format(2, 2, "f32") + MUON,
    "narrow": HEAD.format(2, 2, "bf16") + MUON + "schedule { clip norm 1.0, skip nonfinite }\n",
    "subgroups": HEAD.format(1, 4, "f32") + MUON + "schedule { tp gram }\n",
    "strict": HEAD.format(1, 2, "bf16") + MUON + "schedule {\n strict\n tp gram\n}\n",
    "tolerance": HEAD.format(1, 2, "f32") + MUON.replace("0.01)", "0.01, precision = f32)", 1)
                 + "schedule { tolerance 0.05 }\n",
    "sums": HEAD.format(1, 4, "f32") + MUON + "schedule {\n tolerance 0.05\n tp gram\n}\n",
    "lines": """mesh dp = 1, tp = 4
model m() { params f32 { a : [8/tp, 1]
 b : [1, 8/tp]
 c : [4/tp, 1] } }
use muon(lr = 0.01, precision = f32) on **
schedule { tp gram }
""",
    "bases": """mesh dp = 1, tp = 2
model m() { params f32 { a : [12/tp, 8] } }
use soap(lr = 0.01) on **
""",
    "roots": """mesh dp = 2, tp = 1
model m() { params bf16 { a : [8, 6]
 b : [6, 6] } }
use shampoo(lr = 0.01) on **
""",
    "choices": HEAD.format(1, 2, "f32") + "use adafactor(lr = 0.01) on a\n"
               "use scion(lr = 0.01) on b\nuse lion(lr = 0.01) on **\n",
}
FIXTURES = ("turned", "two_sided", "externs_stages", "states_experts", "pipeline_fsdp",
            "parameter_as_matrix", "tiles_fsdp", "moe", "extremes", "positions", "random",
            "fused_moe", "pipeline_chunks")

# Of what these lines say there is nothing to compare with but what they say: they
# are what the source said, or a function of it.
SOURCE_FACT = re.compile(r'^  "canzona\.(program|mesh|policy|machine|timing|reduction|use|'
                         r'rule|event|phase|pattern|stagger|frozen|tie|uneven|storage|stored)"')
SOURCE_FUNCTION = re.compile(r"\.(update|prologue)(\.\d+)?$|\.(update|prologue)\.")
# What says in which order sums are made.
ORDER = re.compile(r"\b(symmetric|blocks) = ")

NUMBER = re.compile(r"(?<![\w.%@])-?\d+(?:\.\d+)?(?:e[-+]\d+)?(?![\w.x])")
WORD = re.compile(r'"(?!canzona|kernel)([\w:]*)"')
SYMBOL = re.compile(r"@[\w.]+")
VALUE = re.compile(r"%\w+(?:#\d+)?")
OPCODE = re.compile(r"\b(?:arith|math)\.\w+")
PREDICATE = re.compile(r"\b(oeq|ogt|oge|olt|ole|une)\b")
ARRAY = re.compile(r"array<(?:i64|f64): ([^>]*)>")


class Drawer:
    def __init__(self, text, rng):
        self.lines, self.rng = text.split("\n"), rng
        self.owner, name = [], None
        for line in self.lines:  # the function that a line is in
            found = re.match(r"  func\.func (?:private )?@([\w.]+)\(", line)
            name = found[1] if found else name
            self.owner.append(name)
            if line.startswith("  }"):
                name = None

    def is_of_source(self, i):
        owner = self.owner[i]
        return bool(SOURCE_FUNCTION.search(owner) if owner else
                    SOURCE_FACT.match(self.lines[i]))

    def token(self, pattern, where=lambda line: True):
        """A line and a match in it, every token of a line alike, lines of tables no
        more often than others."""
        for _ in range(200):
            i = self.rng.randrange(1, len(self.lines) - 1)
            found = list(pattern.finditer(self.lines[i])) if where(self.lines[i]) else []
            if found:
                return i, self.rng.choice(found)
        return None, None

    def put(self, i, match, text, group=0):
        line = self.lines[i]
        return [(i, line[:match.start(group)] + text + line[match.end(group):])]

    def other(self, i, match, pattern, lines):
        """Another token of the same kind in some lines."""
        all_of = sorted({m[0] for k in lines for m in pattern.finditer(self.lines[k])}
                        - {match[0]})
        return self.put(i, match, self.rng.choice(all_of)) if all_of else None

    def number_near(self, text):
        value = float(text)
        if re.fullmatch(r"-?\d+", text):
            near = int(text)
            return str(self.rng.choice([near + 1, near - 1, 0, 1, -1, -near, 2 * near,
                                        near // 2, near + 64, near ^ 1]))
        return f"{self.rng.choice([1.5 * value, 0.0, 1000 * value, -value, value + 1, value * (1 + 1e-5)]):e}"

    # ---- kinds ----

    def number(self):
        i, m = self.token(NUMBER)
        return i is not None and self.put(i, m, self.number_near(m[0]))

    def number_of_kernel(self):
        i, m = self.token(NUMBER, lambda line: "kernel." in line or "arith.constant" in line)
        return i is not None and self.put(i, m, self.number_near(m[0]))

    def number_of_table(self):
        i, m = self.token(NUMBER, lambda line: '"canzona.table"' in line or
                          '"canzona.op"' in line or '"canzona.stage"' in line)
        return i is not None and self.put(i, m, self.number_near(m[0]))

    def word(self):
        i, m = self.token(WORD, lambda line: "canzona." in line)
        return i is not None and self.other(i, m, WORD, range(len(self.lines)))

    def dtype_word(self):
        i, m = self.token(re.compile('"(f32|f64|bf16)"'))
        return i is not None and self.put(i, m, self.rng.choice(["f32", "f64", "bf16"]), 1)

    def symbol(self):
        i, m = self.token(SYMBOL)
        return i is not None and self.other(i, m, SYMBOL, range(len(self.lines)))

    def alike_symbol(self):
        """A body, function or fact of another matrix, otherwise called the same."""
        i, m = self.token(SYMBOL, lambda line: "kernel." in line or "canzona.stage" in line)
        if i is None:
            return None
        tail = m[0].rsplit(".", 2)[1:]
        names = sorted({s for s in SYMBOL.findall("\n".join(self.lines))
                        if s.rsplit(".", 2)[1:] == tail} - {m[0]})
        return self.put(i, m, self.rng.choice(names)) if names else None

    def function_of(self, i):
        return [k for k in range(len(self.lines)) if self.owner[k] == self.owner[i]]

    def operand(self):
        i, m = self.token(VALUE, lambda line: line.startswith("    "))
        return i is not None and self.other(
            i, m, VALUE, [k for k in self.function_of(i) if k < i])

    def operands_swapped(self):
        i, m = self.token(re.compile(r"(%[\w#]+), (%[\w#]+)"),
                          lambda line: line.startswith("    "))
        return i is not None and self.put(i, m, f"{m[2]}, {m[1]}")

    def opcode(self):
        i, m = self.token(OPCODE)
        return i is not None and self.other(i, m, OPCODE, range(len(self.lines)))

    def predicate(self):
        i, m = self.token(PREDICATE)
        return i is not None and self.put(i, m, self.rng.choice(
            ["oeq", "ogt", "oge", "olt", "ole", "une"]))

    def array_elements(self):
        """Two swapped, one dropped, one doubled."""
        i, m = self.token(ARRAY)
        if i is None:
            return None
        items = m[1].split(", ")
        a, b = self.rng.randrange(len(items)), self.rng.randrange(len(items))
        how = self.rng.randrange(3)
        if how == 0:
            items[a], items[b] = items[b], items[a]
        elif how == 1:
            del items[a]
        else:
            items.insert(b, items[a])
        return self.put(i, m, ", ".join(items), 1)

    def lines_swapped(self):
        i = self.rng.randrange(1, len(self.lines) - 2)
        return [(i, self.lines[i + 1]), (i + 1, self.lines[i])]

    def line_dropped(self):
        return [(self.rng.randrange(1, len(self.lines) - 1), None)]

    def line_doubled(self):
        i = self.rng.randrange(1, len(self.lines) - 1)
        return [(i, self.lines[i] + "\n" + self.lines[i])]

    def attribute_dropped(self):
        i, m = self.token(re.compile(r"\b\w+ = (?:array<[^>]*>|[^,}\[]+), "))
        return i is not None and self.put(i, m, "")

    def everywhere(self, i, pattern, by):
        return [(k, pattern.sub(by, self.lines[k])) for k in self.function_of(i)]

    def kernel_functions(self):
        return sorted({i for i, line in enumerate(self.lines)
                       if "kernel.map" in line or "kernel.product" in line})

    def length(self):
        """One length in all of a function: half of it, twice, another one."""
        i = self.rng.choice(self.kernel_functions())
        lengths = sorted({n for line in self.function_of(i) for n in
                          re.findall(r"(?<=[<x])(\d+)x", self.lines[line])})
        if not lengths:
            return None
        n = self.rng.choice(lengths)
        to = str(self.rng.choice([max(1, int(n) // 2), 2 * int(n), int(n) + 1,
                                  int(self.rng.choice(lengths))]))
        first = self.everywhere(i, re.compile(rf"(?<=[<x]){n}(?=x)"), to)
        space = re.compile(rf"(space = array<i64: (?:\d+, )?){n}\b")
        return [(k, space.sub(rf"\g<1>{to}", line)) for k, line in first]

    def type_of_values(self):
        i = self.rng.choice(self.kernel_functions())
        of, to = self.rng.sample(["f32", "bf16", "f64"], 2)
        return self.everywhere(i, re.compile(rf"x{of}>"), f"x{to}>")

    def rounded(self):
        """A value of a body, rounded and widened again behind it."""
        i, m = self.token(re.compile(r"(%\w+) = (?:arith|math)\.\w+ .*: (f32|f64)$"))
        if i is None:
            return None
        to = "bf16" if m[2] == "f32" or self.rng.random() < 0.5 else "f32"
        name = m[1]
        again, narrow = f"%r{name[1:]}", f"%n{name[1:]}"
        rest = [(k, re.sub(rf"{name}(?![\w])", f"{again}", self.lines[k]))
                for k in self.function_of(i) if k > i]
        return [(i, f"{self.lines[i]}\n    {narrow} = arith.truncf {name} : {m[2]} to "
                 f"{to}\n    {again} = arith.extf {narrow} : {to} to {m[2]}")] + rest

    def not_rounded(self):
        """A rounding and widening of a body that go."""
        i, m = self.token(re.compile(r"(%\w+) = arith\.extf (%\w+) : bf16 to f32$"))
        if i is None:
            return None
        for k in self.function_of(i):
            found = re.match(rf"    {m[2]} = arith\.truncf (%\w+) : f32 to bf16$",
                             self.lines[k])
            if found:
                return [(n, re.sub(rf"{m[1]}(?!\w)", found[1], self.lines[n]))
                        for n in self.function_of(i) if n > i] + [(i, None)]
        return None

    def bodies(self):
        """Two functions change their names."""
        names = [m[1] for m in (re.match(r"  func\.func (?:private )?@([\w.]+)\(", line)
                                for line in self.lines) if m]
        a, b = self.rng.sample(names, 2)
        swap = {f"@{a}": f"@{b}", f"@{b}": f"@{a}"}
        return [(i, SYMBOL.sub(lambda m: swap.get(m[0], m[0]), line))
                for i, line in enumerate(self.lines) if "func.func" in line]

    KINDS = (number, number_of_kernel, number_of_kernel, number_of_table, number_of_table,
             word, dtype_word, symbol, alike_symbol, operand, operand, operands_swapped,
             opcode, predicate, array_elements, array_elements, lines_swapped,
             line_dropped, line_doubled, attribute_dropped, length, length,
             type_of_values, rounded, rounded, not_rounded, bodies)

    def draw(self):
        """(kind, text, whether it is of the source, whether of an order)."""
        while True:
            kind = self.rng.choice(self.KINDS)
            edits = [(i, line) for i, line in kind(self) or [] if line != self.lines[i]]
            if edits:
                break
        lines = list(self.lines)
        for i, line in edits:
            lines[i] = line
        is_of_source = any(self.is_of_source(i) for i, _ in edits)
        before = "".join(self.lines[i] for i, _ in edits)
        after = "".join(line or "" for _, line in edits)
        changed = [k for k in ORDER.findall(before) if attributes(before, k) !=
                   attributes(after, k)]
        is_order = len(edits) == 1 and changed and remove(before) == remove(after)
        return (kind.__name__, "\n".join(x for x in lines if x is not None),
                is_of_source, bool(is_order))


def attributes(text, name):
    return re.findall(rf"\b{name} = (array<[^>]*>|[^,}}]+)", text)


def remove(text):
    return re.sub(r"\b(symmetric|blocks) = (array<[^>]*>|[^,}]+)", "", text)


def instrumented():
    library = subprocess.run(["cc", "-print-file-name=libasan.so"], text=True,
                             stdout=subprocess.PIPE, check=True).stdout.strip()
    return {"LD_PRELOAD": library, "CC_LEVEL": "-O1 -fsanitize=address",
            "ASAN_OPTIONS": "detect_leaks=0"}


class Bench:
    def __init__(self, canzona, judge, seed, folder, env):
        self.env = {**os.environ, **env}
        self.canzona, self.judge = canzona, judge
        self.rng = random.Random(seed)
        self.folder = folder
        self.tally = collections.Counter()
        self.kinds = collections.Counter()
        self.holes = []

    def run(self, *arguments, **more):
        return subprocess.run([self.canzona, *map(str, arguments)], text=True,
                              capture_output=True, check=False, **more)

    def plan(self, source):
        done = self.run("plan", "--ir", "-" if "\n" in source else source,
                        input=source)
        assert done.returncode == 0, source + done.stderr
        return done.stdout

    def is_right(self, file):
        """Of another source: the interpreter says so of what was edited."""
        done = self.run("run", "--check=values", "--steps=3",
                        f"--microbatches={MICROBATCHES}", file)
        return done.returncode == 0 or "microbatches" in done.stderr

    def batch(self, name, text, n, work):
        original = work / f"{name}.mlir"
        original.write_text(text)
        drawer, mutants = Drawer(text, self.rng), []
        for k in range(n):
            kind, mutant, *rest = drawer.draw()
            file = work / f"{name}.{k}.mlir"
            file.write_text(mutant)
            mutants.append((kind, file, *rest))
        done = subprocess.run([self.judge, original, MICROBATCHES], text=True,
                              input="".join(f"{m[1]}\n" for m in mutants),
                              stdout=subprocess.PIPE, check=False, env=self.env)
        verdicts = done.stdout.splitlines()
        assert done.returncode == 0 and len(verdicts) == n, (name, done.returncode)
        for (kind, file, is_of_source, is_order), verdict in zip(mutants, verdicts):
            self.take(kind, file, is_of_source, is_order, *verdict.split(" ", 1))
        print(f"{name}: {n} mutants, {len(self.holes)} holes so far", flush=True)

    def take(self, kind, file, is_of_source, is_order, verdict, why):
        # What another source says may fail, by a name.
        if is_of_source and (verdict == "failed" or
                             verdict == "differs" and self.is_right(file)):
            verdict = "another source"
        if is_order and verdict == "differs" and self.is_right(file):
            verdict = "another order"
        self.tally[verdict] += 1
        self.kinds[kind, verdict] += 1
        if verdict in ("differs", "failed", "uncompiled", "crashed"):
            self.holes.append((kind, file.name, verdict, why))
            if self.folder:
                (self.folder / file.name).write_text(file.read_text())
                original = file.with_name(file.name.split(".")[0] + ".mlir")
                (self.folder / original.name).write_text(original.read_text())


def main(canzona, judge, n, seed=1, folder=None, is_asan=False):
    folder = folder and pathlib.Path(folder)
    bench = Bench(canzona, judge, int(seed), folder, instrumented() if is_asan else {})
    plans = [*SOURCES.items(), *((f, PLANS / f"{f}.cz") for f in FIXTURES)]
    with tempfile.TemporaryDirectory() as work:
        each, more = divmod(int(n), len(plans))
        for i, (name, source) in enumerate(plans):
            count = each + (i < more)
            if count:
                bench.batch(name, bench.plan(str(source)), count, pathlib.Path(work))
    print(f"seed {seed}, {n} mutants: " + ", ".join(
        f"{count} {verdict}" for verdict, count in sorted(bench.tally.items())))
    if folder:
        for (kind, verdict), count in sorted(bench.kinds.items()):
            print(f"{kind:20} {verdict:15} {count}")
    for hole in bench.holes:
        print("HOLE", *hole)
    return 1 if bench.holes else 0


if __name__ == "__main__":
    GIVEN = [word for word in sys.argv[1:] if word != "--asan"]
    sys.exit(main(*GIVEN, is_asan=GIVEN != sys.argv[1:]))
