#!/usr/bin/python3
"""Checks the nouns of identifiers against docs/GLOSSARY.md.

    words.py               what headers declare, against the glossary
    words.py --list        every word with its standing and an example
    words.py --self-test   plants an unknown noun and a banned one

An identifier is what a header of the product folders declares: a type, a
function, a field, a constant, a parameter, a macro, a row of a .def file.  Its
words are what stands between underscores.  A word with a digit in it (f32,
sm90) is the name of a type or of an instruction, and a single letter is one of
mathematics: neither is looked at.
"""
import collections
import os
import re
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
GLOSSARY = "docs/GLOSSARY.md"
FOLDERS = ("dsl", "frontend", "passes", "codegen", "runtime")
PREFIXES = ("cz", "czr")

KEYWORDS = set("""
    auto break case char const continue default do double else enum extern float
    for goto if inline int long register restrict return short signed sizeof
    static struct switch typedef union unsigned void volatile while bool true
    false NULL __attribute__ format printf defined noreturn aligned
    size_t uint8_t uint16_t uint32_t uint64_t int8_t int16_t int32_t int64_t
    pthread_mutex_t pthread_cond_t pthread_t clock_t FILE timespec argp_option
    """.split())

# ---- the glossary ----------------------------------------------------------


class Glossary:
    """Words that are allowed, compounds that are, and words that are not."""

    def __init__(self, text):
        self.words = set(PREFIXES)
        self.compounds = set()
        self.banned = {}  # words of a term, as a tuple: what to say
        for line in text.split("\n"):
            entry = re.match(r"- ((?:\*\*[^*]+\*\*(?:, )?)+):", line)
            if entry:
                self.allow(re.findall(r"\*\*([^*]+)\*\*", entry.group(1)))
        for block in re.findall(r"```words\n(.*?)```", text, re.S):
            self.allow(block.split())
        self.read_table(text)

    def allow(self, terms):
        for term in terms:
            if "_" in term:
                self.compounds.add(tuple(term.split("_")))
            self.words.update(term.split("_"))

    def read_table(self, text):
        rows = text.partition("| not | say |\n")[2].split("\n")[1:]
        for row in rows:
            if not row.startswith("|"):
                break
            terms, say = [cell.strip() for cell in row.strip("|").split("|")]
            for term in re.findall(r"`([^`]+)`", say):
                if re.fullmatch(r"[a-z]+(_[a-z]+)+", term):
                    self.compounds.add(tuple(term.split("_")))
            for term in re.findall(r"`([^`]+)`", terms):
                self.banned[tuple(term.split("_"))] = say.replace("`", "")

    def knows(self, word):
        return any(stem in self.words for stem in stems(word))

    def find_banned(self, words):
        """The banned terms in the words of one identifier, each once."""
        forms = set(words).union(map(plural_stem, words))
        forms.update(word[:-2] for word in words)  # of a plural in -es
        near = [term for term in self.banned if forms.issuperset(term)]
        if not near:
            return []
        covered = set()
        for compound in self.compounds:
            for at in places(words, compound):
                covered.update(range(at, at + len(compound)))
        found = []
        for term in near:
            spots = [set(range(at, at + len(term)))
                     for at in places(words, term)]
            if any(not spot <= covered for spot in spots):
                found.append(term)
        # what a longer term says need not be said again by a shorter one
        return [term for term in found
                if not any(term != other and places(other, term)
                           for other in found)]


def is_same(word, term):
    """A term also stands for its plural."""
    return term in (word, plural_stem(word)) or word == term + "es"


def plural_stem(word):
    if word.endswith("ies"):
        return word[:-3] + "y"
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def places(words, term):
    return [at for at in range(len(words) - len(term) + 1)
            if all(is_same(words[at + i], term[i]) for i in range(len(term)))]


def stems(word):
    """A word, and what it may be a form of."""
    yield word
    yield plural_stem(word)
    for ending, others in (("es", ("", "is", "ex")), ("ed", ("", "e")),
                           ("ing", ("", "e")), ("ices", ("ix", "ex"))):
        if word.endswith(ending):
            stem = word[:-len(ending)]
            for other in others:
                yield stem + other
            if len(stem) > 2 and stem[-1] == stem[-2]:
                yield stem[:-1]
    if word.endswith("ied"):
        yield word[:-3] + "y"


# ---- what headers declare ---------------------------------------------------

BLANKED = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"'
                     r"|'(?:\\.|[^'\\\n])*'", re.S)
TOKEN = re.compile(r"[A-Za-z_]\w*|\d[\w.]*|##|->|\S")
AFTER_NAME = set(";,)[(=:{}")  # what may follow a name that is declared
NOT_BEFORE = set("(.")


def without_comments(text):
    return BLANKED.sub(lambda m: '""' + "\n" * m.group().count("\n")
                       if m.group()[0] in "\"'"
                       else "\n" * m.group().count("\n") + " ", text)


def split_directives(text):
    """(macros with their lines, the text without directives)."""
    macros, kept, in_macro = [], [], False
    for number, line in enumerate(text.split("\n"), 1):
        define = re.match(r"\s*#\s*define\s+(\w+)", line)
        if define and not define.group(1).endswith("_H"):
            macros.append((number, define.group(1)))
        is_directive = in_macro or re.match(r"\s*#", line)
        in_macro = bool(is_directive and line.endswith("\\"))
        kept.append("" if is_directive else line)
    return macros, "\n".join(kept)


def tokens_of(text):
    return [(match.group(), number)
            for number, line in enumerate(text.split("\n"), 1)
            for match in TOKEN.finditer(line)]


def without_bodies(tokens):
    """Tokens without what functions hold: a brace behind a parenthesis."""
    kept, depth = [], 0
    for token, number in tokens:
        if depth:
            depth += (token == "{") - (token == "}")
        elif token == "{" and kept and kept[-1][0] == ")":
            depth = 1
            kept.append((";", number))
        else:
            kept.append((token, number))
    return kept


def declared(path, text):
    """(line, identifier) of what a header, or a .def file, declares."""
    macros, text = split_directives(without_comments(text))
    if path.endswith(".def"):
        for token, number in tokens_of(text):
            if (re.match(r"[A-Za-z_]", token) and token not in KEYWORDS and
                    not token.startswith(("CZ", "ABI_"))):
                yield number, token
        return
    yield from macros
    tokens = without_bodies(tokens_of(text))
    for i, (token, number) in enumerate(tokens):
        before = tokens[i - 1][0] if i else ";"
        after = tokens[i + 1][0] if i + 1 < len(tokens) else ";"
        if (re.match(r"[A-Za-z_]", token) and token not in KEYWORDS and
                after in AFTER_NAME and before not in NOT_BEFORE and
                before not in ("->", "##")):
            yield number, token


def headers(root):
    for folder in FOLDERS:
        for where, _, names in os.walk(os.path.join(root, folder)):
            for name in names:
                path = os.path.relpath(os.path.join(where, name), root)
                # the language's own words; others' functions
                if name.endswith((".h", ".def")) and name != "tokens.def" and \
                        not name.endswith("_calls.def"):
                    yield path


def words_of(identifier):
    return [word.lower() for word in identifier.split("_") if word]


def nouns_of(identifier):
    return [word for word in dict.fromkeys(words_of(identifier))
            if len(word) > 1 and not any(c.isdigit() for c in word)]


def is_ours(identifier):
    """Names of other people's interfaces are in camel case."""
    return not re.search(r"[a-z][A-Z]", identifier)


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8") as file:
        return file.read()


def scan(root):
    """Each identifier with the first place that declares it."""
    found = {}
    for path in sorted(headers(root)):
        for number, identifier in declared(path, read(root, path)):
            if is_ours(identifier):
                found.setdefault(identifier, (path, number))
    return found


# ---- the check ---------------------------------------------------------------


def check(root):
    glossary = Glossary(read(root, GLOSSARY))
    found = scan(root)
    banned = {term[0] for term in glossary.banned if len(term) == 1}
    for identifier, (path, number) in sorted(found.items(),
                                             key=lambda item: item[1]):
        for word in nouns_of(identifier):
            if not glossary.knows(word) and \
                    not any(is_same(word, term) for term in banned):
                yield f"{path}:{number}: {identifier}: unknown noun '{word}'"
        for term in glossary.find_banned(words_of(identifier)):
            yield (f"{path}:{number}: {identifier}: '{'_'.join(term)}': say "
                   f"{glossary.banned[term]} instead")


def list_words(root):
    glossary = Glossary(read(root, GLOSSARY))
    uses = collections.defaultdict(list)
    for identifier in scan(root):
        for word in nouns_of(identifier):
            uses[word].append(identifier)
    banned = {term[0] for term in glossary.banned if len(term) == 1}
    for word, identifiers in sorted(uses.items(), key=lambda it: -len(it[1])):
        standing = ("banned" if any(is_same(word, term) for term in banned)
                    else "known" if glossary.knows(word) else "unknown")
        print(f"{len(identifiers):5} {standing:8} {word:20} "
              f"{' '.join(identifiers[:4])}")


PLANTED_GLOSSARY = """
- **plan**, **rank**: what there is
- **micro_group**: a group that may be
| not | say |
|---|---|
| `hall` | world |
| `group` | `micro_group` |
```words
make open
```
"""
PLANTED = """
typedef struct cz_plan { int rank; int rank_hall; } cz_plan;
enum { CZ_MICRO_GROUP, CZ_RANK_GROUP };
/* a zebra */ bool cz_plan_open(cz_plan *plan, int zebra);
static inline int cz_plan_make(int rank) { int giraffe = rank; return giraffe; }
"""


def self_test():
    """Plants an unknown noun and banned ones; yields what is not as it should
    be."""
    expected = [
        "passes/p.h:4: zebra: unknown noun 'zebra'",
        "passes/p.h:3: CZ_RANK_GROUP: 'group': say micro_group instead",
        "passes/p.h:2: rank_hall: 'hall': say world instead"]
    with tempfile.TemporaryDirectory() as root:
        for path, text in ((GLOSSARY, PLANTED_GLOSSARY), ("passes/p.h", PLANTED)):
            os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
            with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                file.write(text)
        found = list(check(root))
        yield from (f"self-test: no message: {line}" for line in expected
                    if line not in found)
        yield from (f"self-test: not expected: {line}" for line in found
                    if line not in expected)


def main():
    if "--list" in sys.argv:
        list_words(ROOT)
        return 0
    messages = list(self_test() if "--self-test" in sys.argv else check(ROOT))
    print("\n".join(messages) or "words: clean")
    return bool(messages)


if __name__ == "__main__":
    sys.exit(main())
