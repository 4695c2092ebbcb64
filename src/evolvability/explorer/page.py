"""The explorer's page: one file of HTML, with its style and its modules inside, and for a paper the answers too."""

import base64
import json
from collections.abc import Mapping
from importlib.resources import files

MODULES = (
    *("answers", "vectors", "robots", "drawing", "colors", "scene", "charts"),
    *("state", "generations", "playing", "actors", "clicks", "saving", "hands", "app"),
)
ANSWERS_MARK = "/*ANSWERS*/null"


def page(answers: Mapping[str, bytes] | None = None) -> str:
    """The page as HTML.

    Args:
        answers: by question; with them the page needs no server. See `Explorer.answer`.
    """
    folder = files("evolvability.explorer") / "page"
    text = {name: (folder / name).read_text() for name in ("page.html", "page.css")}
    modules = {f"explorer/{name}": _module((folder / f"{name}.js").read_text()) for name in MODULES}
    html = text["page.html"].replace("/*STYLE*/", text["page.css"])
    html = html.replace("/*MODULES*/", json.dumps({"imports": modules}))
    if answers is not None:
        # Base64 has no character that could end the script.
        table = {question: base64.b64encode(content).decode() for question, content in answers.items()}
        html = html.replace(ANSWERS_MARK, json.dumps(table).replace("<", "\\u003c"))
    return html


def _module(source: str) -> str:
    return "data:text/javascript;base64," + base64.b64encode(source.encode()).decode()
