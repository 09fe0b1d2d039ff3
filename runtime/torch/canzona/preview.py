"""A plan to look at: nothing is compiled, and no other rank is asked."""
import html
import pathlib
import tempfile

from . import layout, program


class Plan:
    """`source` is the text that was planned, str() the screen about its plan, and a
    notebook shows the page."""

    def __init__(self, source, strict):
        self.source = source
        options = ["--strict"] if strict else []
        with tempfile.TemporaryDirectory() as folder:
            file, page = pathlib.Path(folder, f"{program.NAME}.cz"), pathlib.Path(folder, "page")
            file.write_text(source, encoding="utf-8")
            self._screen, words = program.canzona("plan", *options, f"--html={page}",
                                                  file.name, folder=folder)
            program.warn(words)
            self._page = page.read_text(encoding="utf-8")

    def __str__(self):
        return self._screen

    def _repr_html_(self):
        return (f'<iframe srcdoc="{html.escape(self._page)}" width="100%" height="700">'
                "</iframe>")


def plan(params, rules="", *, mesh=None, reduces=False, schedule="", strict=False):
    """What Optimizer would do with these arguments.  `mesh` may also be a dict, such as
    {"dp": 8}: ranks that need not be there, over which plain tensors are replicas."""
    named, rules = layout.read(params, rules)
    return Plan(layout.source(named, layout.Mesh(named, mesh), rules, reduces, schedule),
                strict)
