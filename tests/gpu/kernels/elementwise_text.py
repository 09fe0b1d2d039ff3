"""What generated C and CUDA say about their loops, and the C and C++ texts that
call a loop and its kernels with the same arguments (elementwise_test.hpp)."""
import re

LOOP = re.compile(r"^static void loop_(\d+)\((.*?)\)\n\{\n(.*?)^}$", re.S | re.M)
KERNEL = re.compile(r'((?:^// y\d+: [^\n]*\n)*)'
                    r"(?:^struct loop_\d+_entry \{\n([^}]*)\};\n[^\n]*\n\n)?"
                    r'^extern "C" __global__ void '
                    r"__launch_bounds__\(THREADS, BLOCKS\) loop_(\d+)(_columns)?"
                    r"\((.*?)\)\n\{\n(.*?)^}$", re.S | re.M)
FINISH = re.compile(r"// y(\d+): (\w+) of partial\d+(?:, (\d+) of them)?\.")
CONVERSIONS = """unsigned short c_to_bf16(float x) { return czr_f32_to_bf16(x); }
float c_to_f32(unsigned short x) { return czr_bf16_to_f32(x); }
unsigned short c_to_f16(float x) { return czr_f32_to_f16(x); }
float c_from_f16(unsigned short x) { return czr_f16_to_f32(x); }
unsigned c_wild(float x) { return czr_nonfinite_f32(x); }
"""
TYPES = {"float": "f", "czr_bf16": "b", "czr_f16": "h", "double": "d", "czr_status": "s"}


class Argument:
    """A parameter of a loop of C behind its extents."""

    def __init__(self, text):
        words = text.replace("*", " * ").replace("restrict", " ").split()
        self.name, self.is_array = words[-1], "*" in words
        self.c_type = next(w for w in words if w in TYPES)
        self.type = TYPES[self.c_type]


class Kernel:
    """One of the kernels that a loop has."""

    def __init__(self, match):
        finish, entry, self.loop, columns, parameters, self.body = match.groups()
        self.name = f"loop_{self.loop}{columns or ''}"
        self.parameters = [p.split()[-1].split("*")[-1].replace("__restrict__", "")
                           for p in parameters.split(",")]
        self.types = [p.replace("__restrict__", " ") for p in
                      parameters.split(",")]
        # members of an entry: type, name
        self.entry = [line.strip(" ;").rsplit("*", 1)
                      for line in (entry or "").splitlines()]
        # result, kernel that ends it, parts
        self.finish = [(int(y), verb, int(parts or 1))
                       for y, verb, parts in FINISH.findall(finish)]

    def n_partials(self, parts):
        """How many partial sums of one result, and of one part, as text."""
        if self.name.endswith("_columns"):
            return "strips_of(rows) * columns", "strips_of(rows)"
        if "team_of" in self.body:
            if f"length = columns / {parts};" in self.body:
                return f"{parts} * rows", "rows"
            return "rows", f"rows / {parts}"
        chunks = f"chunks_of(rows * columns / {parts})"
        return f"{parts} * {chunks}", chunks


class Loop:
    def __init__(self, match):
        self.number, parameters, _ = match.groups()
        texts = [t.strip() for t in parameters.split(",")]
        self.extents = [t.split()[-1] for t in texts if t.startswith("size_t")]
        self.is_flat = self.extents == ["n"]
        self.order = texts  # in C an accumulator comes first
        self.arguments = [Argument(t) for t in texts
                          if not t.startswith("size_t")]
        self.kernels = []

    def text(self):
        """What tells loops apart, of several programs."""
        return re.sub(r"\b(body|loop)_\d+", r"\1", "".join(
            str(k.types) + str(k.entry) + k.body for k in self.kernels))

    def sums(self):
        """Results that are added up or the largest."""
        return {int(y) for k in self.kernels
                for y in re.findall(r"\bsum(\d+)\b", k.body)}

    def parts(self):
        """Parts of rows, and of columns."""
        body = "".join(k.body for k in self.kernels)
        found = re.findall(r"(?:n|columns) / (\d+)\b", body)
        most = max((p for k in self.kernels for *_, p in k.finish),
                   default=int(found[0]) if found else 1)
        by_columns = "columns / " in body
        return (1, most) if by_columns else (most, 1)


def loops(c, cuda):
    """The loops of a program that have kernels."""
    found = {m.group(1): Loop(m) for m in LOOP.finditer(c)}
    for match in KERNEL.finditer(cuda):
        found[match.group(3)].kernels.append(Kernel(match))
    return [loop for loop in found.values() if loop.kernels]


def call_c(loop):
    """A C function that takes the arguments by address."""
    given = {a.name: (f"p[{i}]" if a.is_array else f"*(const {a.c_type} *)p[{i}]")
             for i, a in enumerate(loop.arguments)}
    given |= {"n": "rows * columns", "rows": "rows", "columns": "columns"}
    words = [given[re.split(r"[\s*]", t)[-1]] for t in loop.order]
    return (f"void c_loop_{loop.number}(unsigned long long rows, unsigned long "
            f"long columns, void *const *p)\n{{\n    (void)rows, (void)columns;\n"
            f"    loop_{loop.number}({', '.join(words)});\n}}\n")


def call_kernel(loop, kernel):
    """Lines that launch it, and what ends its sums."""
    given = {a.name: i for i, a in enumerate(loop.arguments)}
    words, lines = [], []
    for which, (y, verb, parts) in enumerate(kernel.finish):
        n, _ = kernel.n_partials(parts)
        lines.append(f"double *const partial{y} = partial({which}, {n});")
    for name, text in zip(kernel.parameters, kernel.types):
        kind = text.rsplit(None, 1)[0].strip()
        if name == "entries" and kernel.finish:
            n, _ = kernel.n_partials(kernel.finish[0][2])
            members = " ".join(
                f"e.{m} = counts ? {m} : spare({n});" if m.startswith("partial")
                else f"e.{m} = static_cast<{t}*>(p[{given[m]}]);"
                for t, m in kernel.entry)
            writes = any("const" not in t and not m.startswith("partial")
                         for t, m in kernel.entry)
            lines.append(f"loop_{loop.number}_entries entries; "
                         f"repeat(entries, {str(writes).lower()}, {n}, rows * columns, "
                         f"[&](auto &e, bool counts) {{ {members} }});")
            words.append(name)
        elif name == "entries":
            members = " ".join(
                f"e.{m} = static_cast<{t}*>(p[{given[m]}])"
                f"{' + start' if f'({m} + at' in kernel.body else ''};"
                for t, m in kernel.entry)
            width = re.search(r"(\d+) \* thread_in_entry", kernel.body).group(1)
            lines.append(f"loop_{loop.number}_entries entries; split(entries, {width}, "
                         f"rows * columns, [&](auto &e, u64 start) {{ (void)start; "
                         f"{members} }});")
            words.append(name)
        elif name in ("rows", "columns"):
            words.append(name)
        elif name == "n":
            words.append("rows * columns")
        elif name.startswith("partial"):
            words.append(name)
        elif name == "skip":
            words.append("nullptr")
        elif name == "failure":
            words.append("1")
        elif name.startswith("at"):
            words.append(f"static_cast<const float *>(p[{given['x' + name[2:]]}])")
        elif "*" in text:
            words.append(f"static_cast<{text[:text.index('*') + 1].strip()}>"
                         f"(p[{given[name]}])")
        else:
            words.append(f"*static_cast<const {kind} *>(p[{given[name]}])")
    lines.append(f"run([&] {{ {kernel.name}({', '.join(words)}); }});")
    for y, verb, parts in kernel.finish:
        _, length = kernel.n_partials(parts)
        result = f"static_cast<double *>(p[{given[f'y{y}']}])"
        if "strips" in verb:
            lines.append(f"run([&] {{ {verb}(partial{y}, {length}, columns, {result}, "
                         "nullptr); });")
        else:
            lines.append(f"end(partial{y}, {length}, {result}); "
                         f"run([&] {{ {verb}(ends, n_ends, {parts}, nullptr); }});")
    return "".join(f"        {line}\n" for line in lines)


def call_cuda(loop):
    bodies = "".join(f"    {{\n{call_kernel(loop, k)}    }}\n"
                     for k in loop.kernels)
    return (f'extern "C" void c_loop_{loop.number}(u64, u64, void *const *);\n'
            f"static void cuda_loop_{loop.number}(u64 rows, u64 columns, "
            f"void *const *p)\n{{\n{bodies}}}\n")


def row(loop):
    """Its arguments, and its entry of the table of cases."""
    sums = loop.sums()
    arguments = ", ".join(
        f"{{'{a.type}', {int(a.is_array)}, "
        f"{int(a.name[0] == 'y' and int(a.name[1:]) in sums)}}}"
        for a in loop.arguments)
    rows, columns = loop.parts()
    name = f"loop_{loop.number}"
    return (f"static const argument arguments_{loop.number}[] = {{{arguments}}};\n",
            f'    {{"{name}", {int(loop.is_flat)}, {rows}, {columns}, '
            f"{len(loop.arguments)}, arguments_{loop.number}, c_{name}, "
            f"cuda_{name}}},\n")


def sources(name, found, test="test_loops", more=""):
    """The C text and the C++ text that test these loops of a program."""
    c = (f'#include "{name}.c"\n{CONVERSIONS}' + "".join(map(call_c, found)))
    rows = [row(loop) for loop in found]
    cpp = (f'#include "elementwise_parts_test.hpp"\n#include "{name}.cu"\n'
           + "".join(map(call_cuda, found)) + "".join(r[0] for r in rows)
           + "const loop_case cases[] = {\n" + "".join(r[1] for r in rows)
           + f"}};\nconst int n_cases = {len(found)};\n{more}"
           f"int main(int argc, char **argv) {{ return {test}(argc, argv); }}\n")
    return c, cpp
