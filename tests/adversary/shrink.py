"""Makes a failing text smaller: fewer lines, then smaller numbers, as long as
it fails alike."""
import re

TRIES = 400


class Shrinker:
    """`fails(text)`: whether a text fails as the first one did."""

    def __init__(self, text, fails):
        self.lines, self.fails, self.left = text.split("\n"), fails, TRIES

    def keep(self, lines):
        self.left -= 1
        if self.left < 0 or lines == self.lines or not self.fails("\n".join(lines)):
            return False
        self.lines = lines
        return True

    def drop_lines(self):
        n, found = max(1, len(self.lines) // 2), False
        while n:
            at = 0
            while at < len(self.lines):
                if self.keep(self.lines[:at] + self.lines[at + n:]):
                    found = True
                else:
                    at += n
            n //= 2
        return found

    def shrink_numbers(self):
        found = False
        for i in range(len(self.lines)):
            for at in range(len(re.findall(r"\b\d+\b", self.lines[i]))):
                found |= any(self.keep(self.with_number(i, at, way))
                             for way in (lambda n: 1, lambda n: n // 2,
                                         lambda n: n - 1))
        return found

    def with_number(self, line, at, way):
        """All lines, with one number smaller; 1 stays."""
        match = list(re.finditer(r"\b\d+\b", self.lines[line]))[at]
        number = max(1, way(int(match[0]))) if int(match[0]) else 0
        text = self.lines[line]
        return (self.lines[:line] +
                [text[:match.start()] + str(number) + text[match.end():]] +
                self.lines[line + 1:])


def smaller(text, fails):
    """The smallest found; `text` itself where nothing smaller fails."""
    shrinker = Shrinker(text, fails)
    while shrinker.left > 0 and (shrinker.drop_lines() |
                                 shrinker.shrink_numbers()):
        pass
    return "\n".join(shrinker.lines)
