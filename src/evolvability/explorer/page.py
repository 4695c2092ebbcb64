"""The explorer's page: one file of HTML, with its style and its modules inside, and for a paper the answers too."""

import base64
import json
from collections.abc import Mapping
from importlib.resources import files


def page(answers: Mapping[str, bytes] | None = None) -> str:
    """The page as HTML; with answers by question it needs no server. See `Explorer.answer`."""
    parts = {part.name: part.read_text() for part in (files("evolvability.explorer") / "page").iterdir()}
    scripts = {name.removesuffix(".js"): text for name, text in parts.items() if name.endswith(".js")}
    # Inside the page: browsers load no modules from files, and an exported page has no server.
    modules = {f"explorer/{name}": f"data:text/javascript;base64,{_base64(text)}" for name, text in scripts.items()}
    html = parts["page.html"].replace("/*STYLE*/", parts["page.css"]).replace("/*SHADERS*/", parts["shaders.glsl"])
    html = html.replace("/*MODULES*/", json.dumps({"imports": modules}))
    if answers is not None:
        table = {question: _base64(content) for question, content in answers.items()}
        # Without "<" no text of a run can end the script that holds it.
        html = html.replace("/*ANSWERS*/null", json.dumps(table).replace("<", "\\u003c"))
    return html


def _base64(content: str | bytes) -> str:
    """It has no character that could end a script."""
    return base64.b64encode(content.encode() if isinstance(content, str) else content).decode()
