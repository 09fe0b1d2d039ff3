#!/usr/bin/python3
"""Words a sentence of our pages; exit status 1 if a file has more than 20.

    prose.py [--list] [FILE...]     by default the five pages of PAGES
    prose.py --self-test

Prose is paragraphs, list items, quotes, cells of tables, and comments of .h
files.  Code blocks, headings, rows of headings, rulers and link definitions are
none.  A block ends a sentence; within one, a full stop, question or exclamation
mark does that has a blank behind it and no small word.  A colon, semicolon or
dash never does, nor the dot of a name, a number or an abbreviation.

Cells and comments behind code are short by nature, so what is left without them
has to keep the limit, too.  --list prints the longest sentences.
"""
import pathlib
import re
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PAGES = ("README.md", "docs/ARCHITECTURE.md", "docs/CONTRIBUTING.md",
         "docs/STATUS.md", "runtime/czr.h")
LIMIT = 20
LONGEST = 10

# Words whose dot ends no sentence, whatever follows.
ABBREVIATIONS = {"e.g.", "i.e.", "cf.", "vs.", "viz.", "approx.", "resp.",
                 "fig.", "sec.", "eq.", "no.", "al.", "incl.", "dept.", "st."}
OPENERS, CLOSERS = "([\"'*_", ")]\"'*_"
SPAN = "\x01"  # stands for the text of a code span: one a word of it


class Block:
    """Consecutive lines of prose: (number, text).  `aside`: a cell, or a
    comment behind code."""

    def __init__(self, lines, aside=False):
        self.lines = lines
        self.aside = aside


class Sentence:
    def __init__(self, line, words, aside):
        self.line, self.words, self.aside = line, words, aside


# ---- Markdown into blocks

FENCE = re.compile(r"^\s*(```+|~~~+)")
RULER = re.compile(r"^\s{0,3}([-*_=])(\s*\1){2,}\s*$")
HEADING = re.compile(r"^\s{0,3}#{1,6}(\s|$)")
ITEM = re.compile(r"^(\s*)([-*+]|\d{1,9}[.)])(\s+)(.*)$")
DEFINITION = re.compile(r"^\s{0,3}\[[^\]]+\]:\s+\S+\s*$")
ROW_RULER = re.compile(r"^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$")


def indent(line):
    text = line.expandtabs(4)
    return len(text) - len(text.lstrip(" "))


def without_html_comments(text):
    return re.sub(r"<!--.*?-->", lambda m: re.sub(r"[^\n]", " ", m.group()),
                  text, flags=re.S)


def cells(row):
    """Of a row of a table; `\\|` and a bar inside a code span are text."""
    row = re.sub(r"(`+).*?\1", lambda m: m.group().replace("|", "\x02"), row)
    row = row.replace("\\|", "\x02").strip()
    parts = row[1 if row.startswith("|") else 0:].split("|")
    if parts and not parts[-1].strip():
        parts.pop()
    return [part.replace("\x02", "|").strip() for part in parts]


class Markdown:
    """Walks lines, keeps the block that is open and the list it is in."""

    def __init__(self, bullets="-*+"):
        self.blocks, self.open = [], []
        self.bullets = bullets
        self.item = 0        # where text of the innermost list item begins
        self.fence = None
        self.blank = True    # the line before was blank, or none was
        self.table = False   # the line before belongs to a table

    def close(self):
        if self.open:
            self.blocks.append(Block(self.open))
        self.open = []

    def in_fence(self, line):
        match = FENCE.match(line)
        if self.fence:
            if match and match.group(1).startswith(self.fence):
                self.fence = None
            return True
        if match:
            self.close()
            self.fence = match.group(1)
        return bool(match)

    def is_code(self, line):
        return not self.open and indent(line) >= self.item + 4

    def row(self, number, line, following):
        """A row of a table, whose first is its headings."""
        bar = "|" in re.sub(r"(`+).*?\1|\\\|", "", line)
        if not self.table and not (bar and following is not None and
                                   "|" in following and ROW_RULER.match(following)):
            return False
        if not bar:
            self.table = False
            return False
        if self.table and not ROW_RULER.match(line):
            for cell in cells(line):
                self.blocks.append(Block([(number, cell)], aside=True))
        if not self.table:
            self.close()
            self.table = True
        return True

    def text(self, number, line):
        item = ITEM.match(line)
        begins = item and (item.group(2) in self.bullets or
                           item.group(2)[:-1].isdigit() and
                           (self.item or not self.open or item.group(2)[:-1] == "1"))
        if begins:
            self.close()
            self.item = len(item.group(1)) + len(item.group(2)) + \
                min(len(item.group(3)), 4)
            line = item.group(4)
        elif self.blank and indent(line) < self.item:
            self.item = 0
        self.open.append((number, re.sub(r"^\s*(>\s?)+", "", line)))

    def line(self, number, line, following):
        if self.in_fence(line):
            pass
        elif not line.strip():
            self.close()
        elif self.row(number, line, following):
            return
        elif self.open and re.match(r"^\s{0,3}(=+|-+)\s*$", line):
            self.open = []  # what stands above it is a heading
        elif RULER.match(line) or HEADING.match(line) or DEFINITION.match(line):
            self.close()
            self.item = 0 if HEADING.match(line) else self.item
        elif not self.is_code(line):
            self.text(number, line)
        self.table = False
        self.blank = not line.strip()


def markdown(text):
    walk, lines = Markdown(), without_html_comments(text).split("\n")
    for number, line in enumerate(lines, 1):
        following = lines[number] if number < len(lines) else None
        walk.line(number, line, following)
    walk.close()
    return walk.blocks


# ---- Comments of C into blocks

TOKEN = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|/\*.*?\*/|'
                   r"//[^\n]*(?:\n[ \t]*//[^\n]*)*", re.S)


def comment_lines(token, number):
    """(number, text) of each line of a comment, without its stars."""
    body = token[2:-2] if token.startswith("/*") else token[2:]
    for offset, line in enumerate(body.split("\n")):
        if offset:
            line = re.sub(r"^\s*(\*(?!\S*\*)|//)", "", line)
        yield number + offset, line.rstrip()


def is_banner(line):
    return re.search(r"[-=*]{4,}", line) is not None


def comment_blocks(lines, aside):
    """Paragraphs and items (`+` and `*` add and multiply); four blanks set code off."""
    walk = Markdown(bullets="-")
    first = min((indent(line) for _, line in lines[1:] if line), default=0)
    for at, (number, line) in enumerate(lines):
        line = line.strip() if at == 0 else line[min(first, indent(line)):]
        walk.line(number, "" if is_banner(line) else line, None)
    walk.close()
    return [Block(block.lines, aside) for block in walk.blocks]


def c_header(text):
    blocks = []
    for match in TOKEN.finditer(text):
        token = match.group()
        if token[0] in "\"'":
            continue
        before = text[text.rfind("\n", 0, match.start()) + 1:match.start()]
        lines = list(comment_lines(token, text.count("\n", 0, match.start()) + 1))
        blocks += comment_blocks(lines, aside=bool(before.strip()))
    return blocks


# ---- Blocks into sentences

def plain(text):
    """Without marks: a code span keeps as many words as it has, and no dots."""
    def span(match):
        return " ".join([SPAN] * max(1, len(match.group(2).split())))

    text = re.sub(r"(`+)(.+?)\1", span, text)
    text = re.sub(r"!?\[([^\]]*)\]\([^)\s]*(?:\s\"[^\"]*\")?\)", r"\1", text)
    return re.sub(r"<(https?://[^>]*)>", r"\1", text)


def is_word(token):
    return any(c.isalnum() or c == SPAN for c in token)


def ends(token, following):
    """Whether a sentence ends behind `token`; `following` is the next one."""
    bare = token.rstrip(CLOSERS)
    if not bare.endswith((".", "?", "!")) or not is_word(bare):
        return False
    word = bare.lstrip(OPENERS)
    if word.lower() in ABBREVIATIONS or re.fullmatch(r"[A-Za-z]\.", word):
        return False
    if following is None:
        return True
    start = following.lstrip(OPENERS)
    if not start or not start[0].islower():
        return True
    # A name may begin a sentence small: czr_step, sm_90a, canzona.
    return bare != "etc." and re.match(r"\w*[_0-9/(]|canzona\b", start) is not None


def tokens(block):
    """(line, token); spans and links may go on in the next line."""
    text = "\n".join(line for _, line in block.lines)
    for (number, _), line in zip(block.lines, plain_keeping_lines(text)):
        for token in line.split():
            yield number, token


def plain_keeping_lines(text):
    def keep(match):
        made = plain(match.group())
        return made + "\n" * (match.group().count("\n") - made.count("\n"))

    joined = re.sub(r"(`+)[^`]+?\1|!?\[[^\]]*\]\([^)]*\)|<https?://[^>]*>", keep, text)
    return joined.split("\n")


def sentences(block):
    words, line = [], None
    found = list(tokens(block))
    for at, (number, token) in enumerate(found):
        line = line or number
        if is_word(token):
            words.append(token)
        following = found[at + 1][1] if at + 1 < len(found) else None
        if following is None or ends(token, following):
            # Numbers and commands alone, as cells have them, are no sentence.
            if any(c.isalpha() for word in words for c in word):
                yield Sentence(line, words, block.aside)
            words, line = [], None


def of_text(text, name):
    blocks = c_header(text) if name.endswith(".h") else markdown(text)
    return [sentence for block in blocks for sentence in sentences(block)]


# ---- Report

def average(found):
    return sum(len(s.words) for s in found) / len(found) if found else 0.0


def check(name, text, say):
    """Prints a line; returns whether the file keeps the limit."""
    found = of_text(text, name)
    running = [s for s in found if not s.aside]
    say(f"{name}  {average(found):.1f} words a sentence, {len(found)} sentences")
    if average(found) <= LIMIT < average(running):
        say(f"{name}: without cells and comments behind code "
            f"{average(running):.1f}, more than {LIMIT}")
    return max(average(found), average(running)) <= LIMIT


def print_longest(name, text):
    longest = sorted(of_text(text, name), key=lambda s: -len(s.words))[:LONGEST]
    for sentence in longest:
        words = " ".join(sentence.words).replace(SPAN, "`.`")
        print(f"    {name}:{sentence.line}: {len(sentence.words)} words: {words}")


def read(name):
    path = pathlib.Path(name)
    if not path.is_file():
        path = ROOT / name
    return path.read_text(encoding="utf-8")


# ---- Self-test: text, name, words of each sentence

PLANTED = [
    ("One two three. Four five.\n", "a.md", [3, 2]),
    ("One two: Three; Four - Five,\n        six.\n", "a.md", [6]),
    ("Read `czr.h. It` and czr.h by hand, e.g. Line 0.5 of it.\n", "a.md", [12]),
    ("See a.md. czr_step runs. Then etc. and so on.\n", "a.md", [2, 2, 5]),
    ("It ends. small letters go on! No. 5 does not.\n", "a.md", [6, 4]),
    ("A [link of four words](x.md). And\nanother line.\n", "a.md", [5, 3]),
    ("Do it (now.) Then \"that.\" Last\n", "a.md", [3, 2, 1]),
    ("# A heading\n\nText here.\n\nHeading\n=======\n\n***\n", "a.md", [2]),
    ("Text:\n\n    code that is none. Of ours.\n\n```\nmore. Code.\n```\nEnd.\n",
     "a.md", [1, 1]),
    ("- one two\n- three\n  four five. Six\n\n  still it\n\n      code\n",
     "a.md", [2, 3, 1, 2]),
    ("A list:\n1. one two\n2. three\n", "a.md", [2, 2, 1]),
    ("| a head | b |\n|---|---|\n| one two. Three | 12 |\n| `a\\|b c` | four |\n\n"
     "Five | six\n", "a.md", [2, 1, 1, 2]),
    ("<!-- not this. Nor -->\n> quoted words\n> go on.\n[x]: y.md\n", "a.md", [4]),
    ("/* One two.\n * Three four\n *\n * - five\n * - six seven */\n"
     "#define A \"/* none. */\"\nint a; /* bytes */\nint b; /* of it. Or that\n"
     "        * one */\n/* ---- 1. Part ---- */\n// eight\n// nine.\n",
     "a.h", [2, 2, 1, 2, 1, 2, 3, 2]),
    ("/* Rows [a, a\n * + n) of it. */\n", "a.h", [6]),
    ("/* Picture:\n *\n *     a -> b. C\n *\n * End. */\n", "a.h", [1, 1]),
]


def self_test():
    """Messages about counts that are not right, and limits that are not kept."""
    for text, name, expected in PLANTED:
        found = [len(sentence.words) for sentence in of_text(text, name)]
        if found != expected:
            yield f"{text!r}: {found}, expected {expected}"

    def silent(_):
        pass
    short, long = "word " * 20 + "\n", "word " * 21 + "\n"
    table = "| a |\n|---|\n" + "| word |\n" * 9 + "\n" + long
    verdicts = [check("a.md", text, silent) for text in (short, long, table)]
    if verdicts != [True, False, False]:
        yield f"limits: {verdicts}"
    with tempfile.TemporaryDirectory() as folder:
        bad = pathlib.Path(folder) / "bad.md"
        bad.write_text(long, encoding="utf-8")
        if run([str(bad)], False, silent) != 1:
            yield "a file with long sentences passes"
        if run([str(bad) + ".none"], False, silent) != 1:
            yield "a missing file passes"


def run(names, with_longest, say):
    good = True
    for name in names:
        try:
            text = read(name)
        except OSError:
            say(f"{name}: no such file")
            good = False
            continue
        good = check(name, text, say) and good
        if with_longest:
            print_longest(name, text)
    return 0 if good else 1


def main():
    if "--self-test" in sys.argv:
        messages = list(self_test())
        print("\n".join(messages) or "prose: counts right")
        return 1 if messages else 0
    names = [word for word in sys.argv[1:] if not word.startswith("--")]
    return run(names or PAGES, "--list" in sys.argv, print)


if __name__ == "__main__":
    sys.exit(main())
