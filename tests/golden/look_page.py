"""A page as a reader without scripts or network sees it: closed tags, nothing
from outside, links that lead to a place of it, and the text of its parts."""
import html.parser
import xml.etree.ElementTree

FORBIDDEN = {"script", "iframe", "object", "embed", "link", "img", "base",
             "form"}
REFERENCES = {"src", "href", "srcset", "action", "data", "poster", "xlink:href"}

LETTER = 6  # units of a picture


class Reader(html.parser.HTMLParser):
    """Collects what is wrong; HTML's own rules about what may stay open."""

    def __init__(self):
        super().__init__()
        self.open, self.wrong, self.links, self.ids = [], [], set(), []

    def see(self, tag, attributes):
        if tag in FORBIDDEN:
            self.wrong.append(f"there is a <{tag}>")
        for name, value in attributes:
            if (tag, name, value[:1]) == ("a", "href", "#"):
                self.links.add(value[1:])
            elif name == "id":
                self.ids.append(value)
            elif name in REFERENCES or name.startswith("on"):
                self.wrong.append(f"<{tag}> has {name}={value}")

    def handle_starttag(self, tag, attributes):
        self.see(tag, attributes)
        self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.see(tag, attributes)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append(f"</{tag}> closes nothing")


def complaints(text):
    reader = Reader()
    reader.feed(text)
    reader.close()
    yield from reader.wrong
    for link in sorted(reader.links - set(reader.ids)):
        yield f"#{link} leads nowhere"
    if len(set(reader.ids)) != len(reader.ids):
        yield "two places have one id"
    if reader.open:
        yield f"left open: {reader.open}"
    if not text.startswith("<!DOCTYPE html>\n"):
        yield "no doctype"
    for word in ("http:", "https:", "url(", "@import", "javascript:"):
        if word in text:
            yield f"{word} refers outside"


class Page:
    """The elements of a page that is well-formed."""

    def __init__(self, text):
        self.root = xml.etree.ElementTree.fromstring(text.partition("\n")[2])

    def texts(self, path):
        return ["".join(e.itertext()).strip() for e in self.root.iterfind(path)]

    def lines(self, name):
        """Of a source that the page has: its lines, and the id of each."""
        for section in self.root.iter("section"):
            title = None
            for element in section:
                title = element.text if element.tag == "h3" else title
                if element.tag == "ol" and title == name:
                    return [("".join(i.itertext()), i.get("id")) for i in element]
        raise KeyError(name)

    def links(self, first):
        """Where the rows of a table lead, or None."""
        return [None if (a := row.find("td/a")) is None else a.get("href")[1:]
                for row in self.table(first).iterfind("tbody/tr")]

    def rows(self, first):
        """Cells of the table whose first heading is `first`."""
        return [["".join(e.itertext()) for e in row.iter("td")]
                for row in self.table(first).iterfind("tbody/tr")]

    def table(self, first):
        for table in self.root.iter("table"):
            heads = ["".join(e.itertext()) for e in table.iter("th")]
            if heads[0] == first:
                return table
        raise KeyError(first)

    def bars(self, title):
        """Rectangles of the picture of that title."""
        for picture in self.root.iter("svg"):
            if picture.findtext("title") == title:
                return [rect for rect in picture.iter("rect")
                        if rect.get("class") != "lane"]
        raise KeyError(title)

    def cut_off(self):
        """Labels that reach beyond their picture, a letter being LETTER wide."""
        before = {"end": 1, "middle": 0.5, "on": 0.5}
        for picture in self.root.iter("svg"):
            width = float(picture.get("viewBox").split()[2])
            for text in picture.iter("text"):
                length = LETTER * len("".join(text.itertext()))
                left = float(text.get("x")) - length * before.get(text.get("class"), 0)
                if left < 0 or left + length > width:
                    yield "".join(text.itertext())
