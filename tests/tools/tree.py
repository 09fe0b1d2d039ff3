# The source tree as the tree-wide checks see it: which files are ours.
# Walks the folders rather than asking git, so that an export passes too.
import os
import re

FOLDERS = ("dsl", "frontend", "passes", "codegen", "runtime", "examples",
           "tests", "bench")
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def sources(root, endings, folders=FOLDERS):
    """Paths relative to `root`, sorted, of the files with these endings."""
    found = []
    for folder in folders:
        for where, _, names in os.walk(os.path.join(root, folder)):
            for name in names:
                if name.endswith(endings):
                    found.append(os.path.relpath(os.path.join(where, name), root))
    return sorted(found)


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8") as file:
        return file.read()


def without_comments(text):
    """C text with comments and the insides of strings blanked, lines kept."""
    token = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', re.S)

    def blank(match):
        kept = re.sub(r"[^\n]", " ", match.group())
        return '"' + kept[1:-1] + '"' if match.group()[0] == '"' else kept

    return token.sub(blank, text)
