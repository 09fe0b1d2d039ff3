#!/usr/bin/python3
"""What a source may make canzona read: files under its own folder, wherever
links and dots lead, and what --allow-path names.  No message has a line of
another.

    inputs.py CANZONA
"""
import pathlib
import subprocess
import sys
import tempfile

CANZONA = pathlib.Path(sys.argv[1]).resolve()
ROOT = pathlib.Path(__file__).resolve().parents[2]
CONFIG = (ROOT / "examples/configs/qwen3-0.6b.json").read_text()
RULES = "optimizer sgd(lr) for any { param <- param - lr * grad }\n"
SECRET = "root:x:0:0:secret"


def importing(path):
    return (f'import "{path}"\nmesh dp = 1\n'
            "model m(w = 8) { params f32 { a : [w, w] } }\nuse sgd(lr) on **\n")


def configured(path):
    return f'mesh dp = 1\nmodel qwen3 from "{path}"\nuse adamw(lr) on **\n'


def put_files(top):
    """model has the source; beside it lie files that are not its own."""
    for folder in "model/lib", "other/deep", "model2":
        (top / folder).mkdir(parents=True)
    for folder in "model/lib", "other", "model2":
        (top / folder / "rules.cz").write_text(RULES)
        (top / folder / "config.json").write_text(CONFIG)
        (top / folder / "secret").write_text(SECRET)
    (top / "other/deep/more.cz").write_text('import "../rules.cz"\n')
    (top / "model/link.cz").symlink_to(top / "other/rules.cz")
    (top / "model/secret.cz").symlink_to(top / "other/secret")
    (top / "model/link.json").symlink_to("../other/config.json")
    (top / "model/there").symlink_to("../other")
    (top / "model/again").symlink_to("there")
    (top / "model/inside.cz").symlink_to("lib/rules.cz")
    (top / "model/round").symlink_to("../model/lib")
    (top / "model/inside.json").symlink_to(top / "model/lib/config.json")
    (top / "name").symlink_to("model")


def cases(top):
    """(source, options, whether it may be read)"""
    other = top / "other"
    outside = [importing(p) for p in (
        "link.cz", "secret.cz", "there/rules.cz", "again/rules.cz",
        "there/secret", "../other/rules.cz", "../other/secret", "../model2/rules.cz",
        f"{other}/rules.cz", "/etc/passwd", "lib/../../other/secret",
        f"{top}/model/../other/secret")] + [configured(p) for p in (
            "link.json", "secret.cz", "there/config.json", "there/secret",
            "../other/config.json", f"{other}/config.json", "/etc/passwd",
            f"{other}/secret", "lib/../../other/secret", "there/../other/secret")]
    inside = [importing(p) for p in ("lib/rules.cz", "inside.cz", "round/rules.cz",
                                     "there/../lib/rules.cz")]
    inside += [configured(p) for p in ("lib/config.json", "inside.json",
                                       "lib/../round/config.json")]
    for source in outside:
        yield source, [], False
        yield source, [f"--allow-path={top}/oth"], False
        yield source, ["--allow-path=../model2", "--allow-path=none"], \
            "model2" in source
    for source in inside:
        yield source, [], True
    for source in (importing("link.cz"), importing("../other/rules.cz"),
                   importing("../other/deep/more.cz"),
                   importing(f"{other}/deep/more.cz"),
                   configured("link.json"), configured("../other/config.json"),
                   configured(f"{other}/config.json")):
        yield source, [f"--allow-path={other}"], True
        yield source, ["--allow-path=none", "--allow-path=../other/"], True
    yield importing("link.cz"), ["--allow-path=../other/rules.cz"], True
    yield configured("link.json"), ["--allow-path=../other/rules.cz"], False


def check(folder, source, options, expected):
    """Named by a path, through a link to its folder, and as standard input."""
    (folder / "x.cz").write_text(source)
    for name, text in (("x.cz", None), ("../name/x.cz", None), ("-", source)):
        done = subprocess.run([CANZONA, "check", *options, name], cwd=folder,
                              text=True, capture_output=True, timeout=60,
                              check=False, input=text or "")
        where = f"{source.splitlines()[0 if 'import' in source else 1]} {options} {name}"
        if (done.returncode == 0) != expected:
            yield f"{where}: status {done.returncode}, {done.stderr}"
        if not expected and (SECRET in done.stderr or "root:" in done.stderr or
                             "optimizer" in done.stderr or "allow-path" not in done.stderr):
            yield f"{where}: {done.stderr}"


def main():
    n, found = 0, []
    with tempfile.TemporaryDirectory() as name:
        top = pathlib.Path(name).resolve()
        put_files(top)
        for source, options, expected in cases(top):
            found += check(top / "model", source, options, expected)
            n += 1
        made = subprocess.run(
            [CANZONA, "import", "-o", "model/made.cz", "other/config.json"],
            cwd=top, text=True, capture_output=True, check=False)
        if made.returncode or "--allow-path" not in (top / "model/made.cz").read_text():
            found.append(f"import: {made.stderr}")
        piped = subprocess.run([CANZONA, "import", "-"], input=CONFIG, text=True,
                               capture_output=True, check=False)
        if "cannot be standard input" not in piped.stderr:
            found.append(f"import -: {piped.stderr}")
    print("\n".join(found) or f"inputs: {n} sources")
    return 1 if found or n == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
