"""Names harm nothing: a program whose names are all others of equal length
gives the same C but for NAME.h's identifiers, the string table and hashes, and
it compiles and runs.  A source is held to its identifiers; printed IR may hold
any string.

Usage: rename.py CANZONA
"""
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
STRICT_C = ["-std=c17", "-Wall", "-Wextra", "-Werror", "-O1"]

# <name> is the place of a name.
PROGRAM = """mesh dp = 2, tp = 2
let <width> = 8
table <rows> = [(3.0, -4.0, 2.0)]

def <squares>(<input>, <list>) wide {
    <local> = bf16(<input> / (norm(<input>) + 1e-7))
    for (<one>, <two>, <three>) in <list> {
        <gram> = <local> @ <local>'
        <local> = <one> * <local> + (<two> * <gram> + <three> * <gram> @ <gram>) @ <local>
    }
    return <local>
}

optimizer <matrix>(<rate>, <decay> = 0.9, <table> = <rows>) for [<m>, <n>] {
    state <mean> : f32[<m>, <n>] = 0
    <mean> <- ema(<mean>, grad, <decay>)
    <step> = <squares>(<mean>, <table>)
    param <- param - <rate> * sqrt(max(<m>, <n>)) * <step>
}

optimizer <vector>(<rate>, <past> = 0.5) for any {
    state <first>, <second> : f32
    <first> <- ema(<first>, grad, <past>)
    <second> <- ema(<second>, grad * grad, <past>)
    param <- param - <rate> * <first> / (sqrt(<second>) + 1e-8)
}

model <model>(<dim> = <width>, <layers> = 2) {
    let <half> = <dim> / 2
    params f32 {
        <stack>[<index> < <layers>] {
            {<query>, <key>}.<weight> : [<dim>/tp, <half>]
        }
        <bias>                        : [<dim>]
        <still>                       : [<half>] frozen
        tie <other> = <bias>
    }
}

model <model>(<layers> = 2)
use <matrix>(<rate> = 0.5) as <group> on <stack>.**
use <vector>(<rate> = 0.25) as <rest> on **
schedule { clip norm 1.0, skip nonfinite }
"""

# Words that mean something in C, in czr.h or to a shell, one for each name.
HOSTILE = """
sizeof static typedef volatile restrict main printf system exit malloc abort
NULL errno stdin INT_MAX inline extern_ struct union goto break int64_t
czr_program czr_open size_t double memcpy rand f_ i_ a_0 stage_0 in_0 patterns
__FILE__ __LINE__ defined include_ pragma_ asm_ register_ unsigned _Bool_
_Noreturn alignas_
""".split()


def names():
    found = list(dict.fromkeys(re.findall(r"<(\w+)>", PROGRAM)))
    return [name for name in found]


def letters(number, length):
    """A word of letters; words of greater numbers come later in the alphabet."""
    word = ""
    for _ in range(length):
        number, digit = divmod(number, 26)
        word = chr(ord("a") + digit) + word
    return word


def spellings():
    """Three tables of names: plain ones, the same in the opposite order of the
    alphabet, and hostile ones.  Lengths are equal."""
    places = names()
    if len(HOSTILE) < len(places):
        sys.exit(f"{len(places)} names, {len(HOSTILE)} hostile words")
    plain, opposite, hostile = {}, {}, {}
    for i, place in enumerate(places):
        word = HOSTILE[i]
        # "q" in front: no keyword of the language, whatever follows.
        plain[place] = "q" + letters(i, len(word) - 1)
        opposite[place] = "q" + letters(25 ** (len(word) - 1) - 1 - i,
                                        len(word) - 1)
        hostile[place] = word
    return {"qzprog": plain, "qaprog": opposite, "return": hostile}


def spell(table):
    return re.sub(r"<(\w+)>", lambda match: table[match.group(1)], PROGRAM)


def run(words, folder, status=0):
    done = subprocess.run([str(w) for w in words], cwd=folder, check=False,
                          capture_output=True)
    if done.returncode != status:
        sys.exit(f"{' '.join(map(str, words))}: exit {done.returncode}\n"
                 f"{done.stdout.decode(errors='replace')[-2000:]}"
                 f"{done.stderr.decode(errors='replace')[-2000:]}")
    return done.stdout


def check(holds, sentence):
    print(("ok    " if holds else "FAILED ") + sentence)
    return holds


def without_names(data, stem):
    """Bytes of strings, of the header's identifiers and of the program's name
    become dots, each by each."""
    def dots(match):
        return b"." * len(match.group())

    data = re.sub(rb'"(?:[^"\\\n]|\\.)*"', dots, data)
    upper = stem.upper().encode()
    data = re.sub(rb"\b" + upper + rb"_\w+", dots, data)
    data = re.sub(rb"\bstage_\w+", dots, data)
    return re.sub(rb"\b" + stem.encode() + rb"_program\b", dots, data)


def compile_c(stem, folder):
    for compiler in ("gcc", "clang"):
        run([compiler, *STRICT_C, "-I", ROOT / "runtime", "-c", f"{stem}.c",
             "-o", f"{stem}.o"], folder)


def renamed_sources(canzona, work):
    """One program, three spellings."""
    ok, bare, whole = True, [], []
    for stem, table in spellings().items():
        source = work / f"{stem}.cz"
        source.write_text(spell(table))
        run([canzona, "build", "-o", stem, source.name], work)
        files = [(work / stem / f"{stem}{end}").read_bytes()
                 for end in (".c", ".h")]
        whole.append(files)
        bare.append([without_names(data, stem) for data in files])
        compile_c(stem, work / stem)
        run([canzona, "run", "--check", source.name], work)
    for i, what in ((1, "opposite"), (2, "hostile")):
        ok &= check(bare[0] == bare[i] and whole[0] != whole[i],
                    f"{len(names())} names, {what}: nothing else changes")
    return ok


# ---- strings of printed IR ----

STRINGS = ['x*/;system("id");/*', "%s%n%p%%", 'a"b\\c', "line\nbreak\r\n",
           "??/??'??<", "\u00e4\u20ac\U0001f600", "\\", '"', "*/", "//", "/*",
           "\x01\x7f\t\v", '", 0), ("', "\\x41\\101", "$(id)`id`", "'"]


def ir_string(text):
    """As MLIR prints it."""
    return "".join(c if 32 <= b < 127 and c not in '"\\' else f"\\{b:02X}"
                   for b in text.encode("utf-8") for c in [chr(b)])


PRINTER = """
#include "plain.h"
#include <stdio.h>

int main(void)
{
    for (int i = 0; i < plain_program.n_patterns; i++)
        printf("%s%c", plain_program.patterns[i].name, 0);
    return 0;
}
"""


def plain_name(i, text):
    return "q" + letters(i, len(text.encode()) + 3)


def program_of_strings():
    """A parameter for each string, with a plain name of 4 bytes more."""
    params = "\n".join(f"        {plain_name(i, text)} : [8]"
                       for i, text in enumerate(STRINGS))
    return ("mesh dp = 2\nmodel tiny() {\n    params f32 {\n" + params
            + "\n    }\n}\nuse adamw(lr = 0.5) as thegroup on **\n")


def renamed_ir(canzona, work):
    """Names that no source can spell, in IR."""
    folder = work / "ir"
    folder.mkdir()
    (folder / "plain.cz").write_text(program_of_strings())
    ir = run([canzona, "plan", "--ir", "plain.cz"], folder).decode()
    hostile, expected = ir, []
    for i, text in enumerate(STRINGS):
        name = plain_name(i, text)
        new = f"{i:04d}{text}"
        expected.append(new.encode())
        hostile = hostile.replace(f'name = "{name}"',
                                  f'name = "{ir_string(new)}"')
    group = ir_string('*/#"%n\\?')
    hostile = hostile.replace('"thegroup"', f'"{group}"')
    hostile = re.sub(r"@thegroup(?![\w.])", lambda m: f'@"{group}"', hostile)
    built = []
    for kind, text in (("plain", ir), ("hostile", hostile)):
        (folder / f"{kind}.mlir").write_text(text)
        run([canzona, "build", "-o", kind, f"{kind}.mlir"], folder)
        compile_c("plain", folder / kind)
        built.append([(folder / kind / f"plain{end}").read_bytes()
                      for end in (".c", ".h")])
    (folder / "hostile" / "main.c").write_text(PRINTER)
    run(["gcc", *STRICT_C, "-I", ROOT / "runtime", "main.c", "plain.c", "-o",
         "main", "-lm"], folder / "hostile")
    printed = run(["./main"], folder / "hostile").split(b"\0")[:-1]
    run([canzona, "run", "--check", "hostile.mlir"], folder)
    tables = [re.sub(rb'"(?:[^"\\\n]|\\.)*"', b'""', c) for c, _ in built]
    return (check(tables[0] == tables[1],
                  f"{len(STRINGS)} strings in IR: nothing else changes")
            & check(built[0][0] != built[1][0] and printed == expected,
                    "C gives each of them back, byte for byte"))


def unique(canzona, work):
    """Names that differ for us, and not in NAME.h, where letters are capital
    and group and value are joined by '_'."""
    (work / "same.cz").write_text(
        "mesh dp = 2\nmodel tiny() {\n    params f32 { {p, q, r, s} : [8] }\n}\n"
        "optimizer o(b_c = 0.1, c = 0.1, lr = 0.1, LR = 0.2, hypers = 0.5) "
        "for any {\n    param <- param - b_c * c * lr * LR * hypers * grad\n}\n"
        "use o() as a on p\nuse o() as a_b on q\nuse o() as n on r\n"
        "use o() as A on s\n")
    run([canzona, "build", "-o", "same", "same.cz"], work)
    compile_c("same", work / "same")
    words = re.findall(rb"SAME_\w+(?=,|\n\})",
                       (work / "same" / "same.h").read_bytes())
    return check(len(words) == 21 == len(set(words)),
                 f"{len(set(words))} enumerators of {len(words)} differ")


def refused(canzona, work):
    """What names files and symbols in IR is a name of C, and not the
    runtime's."""
    (work / "small.cz").write_text(
        "mesh dp = 2\nmodel t() {\n    params f32 { p : [8] }\n}\n"
        "use adamw(lr) on **\n")
    ir = run([canzona, "plan", "--ir", "small.cz"], work).decode()
    bad = ["../small", "", "a b", "9", "czr", "x*/", "a" * 65, "\u00e4"]
    for name in bad:
        (work / "bad.mlir").write_text(
            ir.replace('name = "small"', f'name = "{ir_string(name)}"'))
        run([canzona, "build", "-o", "bad", "bad.mlir"], work, status=1)
    (work / "bad.mlir").write_text(re.sub(
        'compiler = "[^"]*"', 'compiler = "*/ int evil; /*"', ir))
    run([canzona, "build", "-o", "bad", "bad.mlir"], work, status=1)
    return check(not (work / "bad").exists(),
                 f"{len(bad) + 1} programs are refused for their names")


def main():
    canzona = pathlib.Path(sys.argv[1]).resolve()
    ok = True
    with tempfile.TemporaryDirectory() as name:
        work = pathlib.Path(name)
        for part in (renamed_sources, renamed_ir, unique, refused):
            ok &= part(canzona, work)
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
