"""Texts that differ from a canonical one in blanks and in line breaks that mean
nothing; comments stay where they are.  Knows the canonical form: a brace with a
blank behind it opens a block, one without belongs to a path."""
import random
import re

CHOICE = r"\{(?! )[^{}\n]*\}"
TOKEN = re.compile(
    r"(?P<comment>#[^\n]*)"
    r'|(?P<string>"(?:[^"\\\n]|\\.)*")'
    r"|(?P<newline>\n)"
    r"|(?P<blank>[ \t]+)"
    r"|(?P<operator><-|\|>|<=|>=|==|!=|[=+@,:<>^/])"
    rf"|(?P<atom>(?:[\w.*'-]|{CHOICE})+)"
    r"|(?P<open>[(\[])|(?P<close>[)\]]'*)|(?P<brace>[{}])")
GOES_ON = {"<-", "|>", "<=", ">=", "==", "!=", "=", "+", "@", ",", "/", "<", ">", "-",
           "*", "and", "or", "not"}
MAY_TOUCH = {",", "=", "+", "@", "<-", "|>"}


def tokens(text):
    """(kind, text) of all of it."""
    at = 0
    while at < len(text):
        match = TOKEN.match(text, at)
        if not match:
            raise ValueError(f"mangle.py does not know {text[at:at + 20]!r}")
        yield match.lastgroup, match.group()
        at = match.end()


class Mangler:
    def __init__(self, text, seed):
        self.random = random.Random(seed)
        self.tokens = list(tokens(text))
        self.newline = self.random.choice(["\n", "\n", "\r\n"])
        self.out = []
        self.depth = 0  # of ( and [
        self.in_use = False

    def pick(self, *choices):
        return self.random.choice(choices)

    def blanks(self):
        return self.pick(" ", " ", "  ", "\t", " \t ", "      ")

    def lines(self):
        return self.newline * self.pick(1, 1, 2, 4) + self.pick("", " ", "\t")

    def is_operator(self, text):
        """May a line end behind it?  In a use, * and - are of paths."""
        return text in GOES_ON and not (self.in_use and text != ",")

    def gap(self, before, after, room):
        """What stands between two tokens of one line that had blanks, or
        (`room` false) had none, between them."""
        kind, text = before
        if after[0] == "comment":
            return self.pick("", " ", "\t", "   ")
        if self.depth > 0 or (self.is_operator(text) and kind != "string"):
            if self.random.random() < 0.15 and (room or kind != "atom"):
                return self.lines()
        touches = {text, after[1]} & MAY_TOUCH
        if room and not (touches and self.random.random() < 0.3):
            return self.blanks()
        return self.pick("", "", self.blanks()) if touches or not room else " "

    def newline_gap(self, before, after, n, in_brackets):
        """What stands for n line ends."""
        more = self.newline * self.pick(0, 0, 1, 3)
        ends = before[0] == "comment"
        indent = self.pick("", " ", "\t", "        ")
        if after is None:
            return "" if self.random.random() < 0.5 else self.newline + more
        goes_on = in_brackets or self.is_operator(before[1])
        if goes_on or before[1] == "{" or after[1] == "}":
            if not ends and after[0] != "comment" and self.pick(True, False):
                return self.blanks()
            return self.newline + more + indent
        trailing = self.pick("", "", " ", "\t") if not ends else ""
        blank = self.newline + more if n > 1 else ""
        return trailing + self.newline + blank + indent

    def follow(self, token):
        kind, text = token
        self.depth += (kind == "open") - (kind == "close")
        if kind == "newline" or text in "{}":
            self.in_use = False
        elif kind == "atom" and text == "use":
            self.in_use = True

    def run(self):
        """The mangled text."""
        i, before = 0, None
        while i < len(self.tokens):
            n_lines, room = 0, False
            while i < len(self.tokens) and self.tokens[i][0] in ("blank",
                                                                 "newline"):
                n_lines += self.tokens[i][0] == "newline"
                room = True
                i += 1
            after = self.tokens[i] if i < len(self.tokens) else None
            if before is None:
                self.out.append(self.newline * self.pick(0, 0, 2))
            elif n_lines or after is None:
                self.out.append(
                    self.newline_gap(before, after, n_lines, self.depth > 0))
                if self.depth == 0 and not self.is_operator(before[1]):
                    self.in_use = False
            elif (room or "atom" not in (before[0], after[0]) or
                  {before[0], after[0]} & {"open"} or after[0] == "close" or
                  {before[1], after[1]} & {","}):
                self.out.append(self.block_gap(before, after, room))
            if after is None:
                break
            self.out.append(after[1])
            self.follow(after)
            before = after
            i += 1
        return "".join(self.out)

    def block_gap(self, before, after, room):
        if after[0] != "comment" and self.random.random() < 0.3 and (
                before[1] == "{" or after[1] == "}"):
            return self.lines()
        return self.gap(before, after, room)


def mangle(text, seed):
    return Mangler(text, seed).run()
