"""Pages as one file of HTML: the explorer's, for a paper with the answers inside, and the playground's."""

import base64
import hashlib
import json
import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

IMPORT = re.compile(r'^import (?:\{([^}]*)\} from )?"([\w/]+)";\n', re.MULTILINE)
EXPORT = re.compile(r"^export ((?:async )?(?:const|function|class) ([\w$]+))", re.MULTILINE)

FILE_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline' data:; style-src 'unsafe-inline'; img-src data: blob:; "
    "base-uri 'none'; form-action 'none'"
)
"""Of an explorer in a file: it brings everything along, and asks nobody for anything."""


@cache
def parts() -> dict[str, str]:
    """The texts that pages are made of, by name; the modules as they are imported, e.g. ``explorer/scene``."""
    found = {}
    folder = files("evolvability.explorer") / "page"
    for prefix, place in (("explorer", folder), ("playground", folder / "playground")):
        for part in place.iterdir():
            if part.is_file():
                is_module = part.name.endswith(".js")
                found[f"{prefix}/{part.name.removesuffix('.js')}" if is_module else part.name] = part.read_text()
    return found


def page(answers: Mapping[str, bytes] | None = None) -> str:
    """The explorer's page; with answers by question it needs no server. See `Explorer.answer`."""
    texts = parts()
    # Inside the page: browsers load no modules from files, and an exported page has no server.
    modules = {
        name: f"data:text/javascript;base64,{_base64(text)}" for name, text in texts.items() if name[:9] == "explorer/"
    }
    html = texts["page.html"].replace("/*STYLE*/", texts["page.css"]).replace("/*SHADERS*/", texts["shaders.glsl"])
    html = html.replace("/*MODULES*/", json.dumps({"imports": modules}))
    if answers is not None:
        # A server sends its policy along; a file has its own.
        html = html.replace("<head>", f'<head>\n<meta http-equiv="Content-Security-Policy" content="{FILE_POLICY}">', 1)
        html = html.replace("/*ANSWERS*/null", _json({name: _base64(content) for name, content in answers.items()}))
    return html


def playground_html(table: Mapping[str, Any]) -> str:
    """The playground's page, with what it shows: see `playground.make_tab`."""
    texts = parts()
    style, script = texts["playground.css"], bundle("playground/app")
    pieces = {"STYLE": style, "SCRIPT": script, "WORKER": bundle("playground/worker")}
    # The table comes last: what it says is text, whatever it looks like.
    pieces |= {"SHADERS": texts["shaders.glsl"], "POLICY": _policy(style, script), "TABLE": _json(table)}
    html = texts["playground.html"]
    for name, text in pieces.items():
        html = html.replace(f"/*{name}*/", text)
    return html


def bundle(*entries: str) -> str:
    """Modules and all that they import as one script: each is a function that returns what it exports."""
    made: dict[str, str] = {}

    def add(name: str) -> None:
        text = parts()[name]
        for _, other in IMPORT.findall(text):
            if other not in made:
                add(other)
        exported = ", ".join(word for _, word in EXPORT.findall(text))
        body = IMPORT.sub(lambda found: f"const {{{found[1]}}} = modules['{found[2]}'];\n" if found[1] else "", text)
        body = EXPORT.sub(r"\1", body)
        made[name] = f"modules['{name}'] = (() => {{\n{body}\nreturn {{ {exported} }};\n}})();\n"

    for entry in entries:
        if entry not in made:
            add(entry)
    return "const modules = {};\n" + "".join(made.values())


def _policy(style: str, script: str) -> str:
    """What the playground may do: run its own script, its workers and their programs, and load nothing."""
    own = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (script, style)]
    return (
        f"default-src 'none'; script-src 'sha256-{own[0]}' 'wasm-unsafe-eval'; style-src 'sha256-{own[1]}'; "
        "worker-src blob:; img-src data: blob:; base-uri 'none'; form-action 'none'"
    )


def _json(table: Any) -> str:
    """Without "<" no text of a run can end the script that holds it."""
    return json.dumps(table).replace("<", "\\u003c")


def _base64(content: str | bytes) -> str:
    """It has no character that could end a script."""
    return base64.b64encode(content.encode() if isinstance(content, str) else content).decode()
