#!/usr/bin/python3
"""Outside dsl/syntax and the parser, children of syntax nodes are read by name.

dsl/syntax/ast_kinds.def alone says which child stands where: nobody else may
touch the arrays, or ask for a child by a number.
"""
import re
import sys

import tree

ENDINGS = (".c", ".h", ".re", ".y")
FREE = re.compile(r"(dsl|frontend|tests/unit/dsl)/syntax/|tests/unit/frontend/names/eval")
ARRAYS = re.compile(r"(->|\.)(n_)?children\b")
NUMBERS = re.compile(r"\bcz_child\([^;]*?, *\d+\)")
WORDS = re.compile(r"\b\w*(?<![a-z])kids?(?![a-z])\w*")


def check(text, path):
    for number, line in enumerate(tree.without_comments(text).split("\n"), 1):
        if WORDS.search(line):
            yield f"{path}:{number}: say child, not kid"
        if not FREE.match(path) and ARRAYS.search(line):
            yield f"{path}:{number}: children are read by accessors"
        if not FREE.match(path) and NUMBERS.search(line):
            yield f"{path}:{number}: a child has a name in ast_kinds.def"


PLANTED = {
    "frontend/rule/a.c": ("x = node->children[0];\n", 1),
    "frontend/rule/b.c": ("i < node.n_children;\n", 1),
    "frontend/rule/c.c": ("x = cz_child(node, 1);\ny = cz_child(node, i);\n", 1),
    "frontend/rule/d.c": ("/* node->children */ x = cz_item(paths, 0);\n", 0),
    "frontend/syntax/e.c": ("x = node->children[0];\n", 0),
    "frontend/syntax/f.c": ("x = n_kids; skids = 1;\n", 1),
}


def self_test():
    return all(len(list(check(text, path))) == expected
               for path, (text, expected) in PLANTED.items())


def main():
    if not self_test():
        print("children.py does not see what it should")
        return 1
    messages = [message for path in tree.sources(tree.ROOT, ENDINGS)
                for message in check(tree.read(tree.ROOT, path), path)]
    print("\n".join(messages) or "children: clean")
    return 1 if messages else 0


if __name__ == "__main__":
    sys.exit(main())
