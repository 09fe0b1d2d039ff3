#!/usr/bin/python3
"""`canzona fmt`: every source of ours is as it leaves it; texts that differ
from one only in blanks and meaningless line breaks come out as that one; trees
and comments stay.

    fmt.py CANZONA PARSE_TOOL VARIANTS
"""
import pathlib
import re
import subprocess
import sys
import tempfile

import mangle
import tree

N_PARSED = 5  # of the variants; fmt itself compares the trees of all
ROOT = pathlib.Path(tree.ROOT)
CANONICAL = ("examples", "dsl/std", "tests/golden/parse")
# Their layout is what they test.
AS_THEY_ARE = {"crlf.cz", "newlines.cz"}
COMMENT = re.compile(r'"(?:[^"\\\n]|\\.)*"|(#[^\n]*)')

CANZONA, PARSE_TOOL = sys.argv[1:3]
N_VARIANTS = int(sys.argv[3])


def run(*words, text=None):
    return subprocess.run(words, input=text, capture_output=True, timeout=120,
                          check=False)


def fail(what):
    sys.exit(f"fmt: {what}")


def demand(holds, what):
    if not holds:
        fail(what)


def formatted(path):
    done = run(CANZONA, "fmt", path)
    demand(done.returncode == 0,
           f"{path} is refused: {done.stderr.decode(errors='replace')}")
    return done.stdout


def tree_of(path, name):
    """The printed tree, but for the file's name."""
    done = run(PARSE_TOOL, path)
    demand(done.returncode == 0, f"{path} no longer parses ({name})")
    return done.stdout.split(b"\n", 1)[1:]


def comments(text):
    return sorted(c.rstrip() for c in COMMENT.findall(text) if c)


def sources():
    return [ROOT / p for p in tree.sources(tree.ROOT, (".cz",))]


def canonical_sources():
    return [p for p in sources()
            if str(p.relative_to(ROOT)).startswith(CANONICAL)
            and not p.name.startswith("err_") and p.name not in AS_THEY_ARE]


def test_fixed_points():
    files = canonical_sources()
    demand(files, "no sources found")
    done = run(CANZONA, "fmt", "--check", *files)
    demand(done.returncode == 0 and not done.stdout, done.stdout.decode())
    return len(files)


def test_any(folder):
    """Whatever parses keeps its tree, its tokens and its comments, and is done
    after one round."""
    paths = [p for p in sources() if run(PARSE_TOOL, p).returncode == 0]
    copies = [folder / str(i) / path.name for i, path in enumerate(paths)]
    for path, once in zip(paths, copies):
        once.parent.mkdir()
        once.write_bytes(path.read_bytes())
    done = run(CANZONA, "fmt", "-i", *copies)
    demand(done.returncode == 0, done.stderr.decode(errors="replace"))
    done = run(CANZONA, "fmt", "--check", *copies)
    demand(done.returncode == 0 and not done.stdout,
           f"not idempotent: {done.stdout.decode()}")
    demand(formatted(paths[0]) == copies[0].read_bytes(), "what is printed")
    for path, once in zip(paths, copies):
        demand(tree_of(path, path) == tree_of(once, path), f"{path}: tree")
        old, new = path.read_text(), once.read_text()
        demand(comments(old) == comments(new), f"{path}: comments")
        demand(re.sub(r"[\s,]", "", old) == re.sub(r"[\s,]", "", new),
               f"{path}: tokens")
    return len(paths)


def test_variants(folder):
    """All variants of a source are rewritten in place, at once."""
    n = 0
    for path in canonical_sources():
        text = path.read_text()
        files = [folder / f"{path.stem}.{seed}.cz" for seed in range(N_VARIANTS)]
        for seed, file in enumerate(files):
            mangled = mangle.mangle(text, f"{path.name} {seed}")
            file.write_bytes(mangled.encode())
            n += mangled != text
        for file in files[:N_PARSED]:
            demand(tree_of(file, path) == tree_of(path, path),
                   f"{file.name} is mangled beyond its meaning")
        saved = {file: file.read_text() for file in files}
        done = run(CANZONA, "fmt", "-i", *files)
        demand(done.returncode == 0, done.stderr.decode(errors="replace"))
        for file in files:
            if file.read_text() != text:
                print(saved[file])
                fail(f"{path.name}, variant {file.suffixes[0][1:]} above, "
                     f"becomes\n{file.read_text()}")
    demand(n > N_VARIANTS, "the mangler changes nothing")
    return n


def test_command(folder):
    """Exit statuses, what is written where, and what is left alone."""
    good, other, bad = (folder / name for name in ("a.cz", "b.cz", "c.cz"))
    good.write_text("let a = 1\n")
    other.write_text("let  a=1\n\n\n# end\n")
    bad.write_text("let a = = 1\n")
    done = run(CANZONA, "fmt", "--check", good, other)
    demand(done.returncode == 1 and done.stdout.decode() ==
           f"{other} differs from its canonical layout\n", "--check")
    demand(other.read_text().startswith("let  a"), "--check writes")
    done = run(CANZONA, "fmt", "-i", bad, other)
    demand(done.returncode == 1 and b"E0104" in done.stderr, "an error is told")
    demand(bad.read_text() == "let a = = 1\n", "a text with errors is changed")
    demand(other.read_text() == "let a = 1\n\n# end\n", "others are formatted")
    secret, link = folder / "secret.cz", folder / "link.cz"
    secret.write_text("let  a=1\n")
    secret.chmod(0o600)
    link.symlink_to(secret)
    demand(run(CANZONA, "fmt", "-i", link).returncode == 0, "a link")
    demand(link.is_symlink() and secret.read_text() == "let a = 1\n" and
           secret.stat().st_mode & 0o777 == 0o600, "a link or a mode is lost")
    demand(run(CANZONA, "fmt", "-", text=b"let a=2").stdout == b"let a = 2\n",
           "standard input")
    demand(run(CANZONA, "fmt", "-i", "-", text=b"").returncode == 2, "-i -")
    demand(run(CANZONA, "fmt", "-", text=b"").stdout == b"", "an empty text")
    demand(run(CANZONA, "fmt", folder / "none.cz").returncode == 1, "no file")


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        test_command(folder)
        n_any = test_any(folder)
        n_fixed = test_fixed_points()
        n_variants = test_variants(folder)
    print(f"fmt: {n_fixed} sources as they should be, {n_any} keep tree and "
          f"comments, {n_variants} variants come out alike")


if __name__ == "__main__":
    main()
