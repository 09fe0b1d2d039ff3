#!/usr/bin/python3
"""Files for editors: what VS Code, Vim and Emacs are told is the language's, and each
names files that there are.  Emacs itself looks at one, where it is.

The grammar has a test of its own, textmate.py, whose keywords are the scanner's.
"""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from textmate import GRAMMAR, ROOT, keywords

EDITOR = ROOT / "dsl/editor"
TYPES = {"f64", "f32", "bf16", "f16"}  # textmate.py compares them with abi.def

# Prints what a user sees: the face of each word, and where a comment begins.
LOOK = """
(find-file (car command-line-args-left))
(font-lock-ensure)
(princ (format "%s\\n" major-mode))
(goto-char (point-min))
(while (re-search-forward "[a-z0-9]+\\\\|#" nil t)
  (princ (format "%s %s\\n" (match-string 0)
                 (get-text-property (match-beginning 0) 'face))))
"""


def version():
    return re.search(r"^project\(canzona VERSION ([0-9.]+)",
                     (ROOT / "CMakeLists.txt").read_text(), re.M)[1]


def check_vscode():
    package = json.loads((EDITOR / "package.json").read_text(encoding="utf-8"))
    language, = package["contributes"]["languages"]
    grammar, = package["contributes"]["grammars"]
    for name in (package["main"], language["configuration"], grammar["path"]):
        if not (EDITOR / name).is_file():
            yield f"package.json: there is no {name}"
    if package["version"] != version():
        yield f"package.json: version {package['version']}, not {version()}"
    if (language["id"], language["extensions"]) != ("canzona", [".cz"]):
        yield f"package.json: language {language}"
    if (grammar["language"], grammar["scopeName"]) != ("canzona", GRAMMAR["scopeName"]):
        yield f"package.json: grammar {grammar}"
    setting, = package["contributes"]["configuration"]["properties"]
    client = (EDITOR / package["main"]).read_text(encoding="utf-8")
    section, key = setting.split(".")
    for text in (f'getConfiguration("{section}").get("{key}")', '"lsp"',
                 f'language: "{language["id"]}"'):
        if text not in client:
            yield f"{package['main']} has no {text}"
    if "vscode-languageclient" not in package["dependencies"]:
        yield "package.json: the client's library is missing"
    configuration = json.loads(
        (EDITOR / language["configuration"]).read_text(encoding="utf-8"))
    if configuration["comments"] != {"lineComment": "#"}:
        yield f"comments: {configuration['comments']}"


def check_words(name, expression, known):
    """`known` is what the language has, besides types."""
    text = (EDITOR / name).read_text(encoding="utf-8")
    found = [word for words in re.findall(expression, text) for word in
             re.findall(r"[a-z0-9]+", words)]
    if len(set(found)) != len(found):
        yield f"{name}: a word stands there twice"
    if set(found) != known | TYPES:
        yield f"{name}: keywords differ: {sorted(set(found) ^ (known | TYPES))}"


def check_emacs(emacs):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        shutil.copy(EDITOR / "canzona-mode.el", folder)
        (folder / "my.cz").write_text("use muon(lr) on ** # for x'\\nmesh tp = true\\n"
                                      .replace("\\n", "\n"))
        (folder / "look.el").write_text(LOOK)
        done = subprocess.run([emacs, "-Q", "--batch", "--eval",
                               "(setq byte-compile-error-on-warn t)", "-f",
                               "batch-byte-compile", "canzona-mode.el"], cwd=folder,
                              capture_output=True, text=True, timeout=60, check=False)
        if done.returncode != 0:
            yield f"canzona-mode.el: {done.stderr}"
            return
        done = subprocess.run([emacs, "-Q", "--batch", "-L", ".", "-l", "canzona-mode",
                               "-l", "look.el", "my.cz"], cwd=folder, timeout=60,
                              capture_output=True, text=True, check=False)
        mode, *lines = done.stdout.splitlines()
        faces = dict(line.split(" ", 1) for line in lines)
        wanted = {"use": "font-lock-keyword-face", "muon": "nil",
                  "on": "font-lock-builtin-face", "#": "font-lock-comment-delimiter-face",
                  "for": "font-lock-comment-face", "mesh": "font-lock-keyword-face",
                  "true": "font-lock-constant-face"}
        seen = {word: faces.get(word) for word in wanted}
        if mode != "canzona-mode" or seen != wanted:
            yield f"Emacs shows {mode}, {seen}: {done.stderr}"


def main():
    known, _ = keywords()
    found = [*check_vscode(),
             *check_words("canzona.vim", r"(?m)^syntax keyword canzona\w+ (.*)$", known),
             *check_words("canzona-mode.el", r"(?s)\n  '\((.*?)\)", known)]
    emacs = shutil.which("emacs")
    found += check_emacs(emacs) if emacs else []
    print("\n".join(found) or f"{len(known)} keywords, as editors have them"
          + (", and as Emacs shows them" if emacs else "; there is no Emacs"))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
