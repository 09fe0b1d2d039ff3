"""Pages that tests make: with --update they are written, else they have to be
what the sources say."""
import difflib
import sys


def stale(page, text):
    """The lines of a diff: what the page has wrong."""
    old = page.read_text(encoding="utf-8") if page.exists() else ""
    return list(difflib.unified_diff(old.splitlines(), text.splitlines(),
                                     page.name, "sources", lineterm=""))


def hold(page, text, complaints=()):
    """Ends the program; `complaints` are wrong besides."""
    if "--update" in sys.argv[1:]:
        page.write_text(text, encoding="utf-8")
        sys.exit(0)
    found = [*stale(page, text), *complaints]
    print("\n".join(found) or f"{page.name} is what its sources say")
    sys.exit(1 if found else 0)
