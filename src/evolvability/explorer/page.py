"""Pages as one file of HTML each: the explorer's, which a server answers, and the playground's."""

import base64
import hashlib
import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

IMPORT = re.compile(r'^import (?:\{([^}]*)\} from )?"([\w/]+)";\n', re.MULTILINE)
EXPORT = re.compile(r"^export ((?:async )?(?:const|function|class) ([\w$]+))", re.MULTILINE)


@cache
def parts() -> dict[str, str]:
    """The texts that pages are made of, by name; the modules as they are imported, e.g. ``explorer/scene``."""
    found, folder = {}, Path(__file__).with_name("page")
    for part in folder.rglob("*.*"):
        room = "explorer" if part.parent == folder else part.parent.name
        found[f"{room}/{part.stem}" if part.suffix == ".js" else part.name] = part.read_text("utf-8")
    return found


def page() -> str:
    """The explorer's page."""
    texts = parts()
    pieces = {"STYLE": texts["page.css"], "SCRIPT": bundle("explorer/app"), "SHADERS": texts["shaders.glsl"]}
    return _filled(texts["page.html"], pieces)


def playground_html(table: Mapping[str, Any]) -> str:
    """The playground's page, with what it shows: see `playground.make_tab`."""
    texts = parts()
    style, script = texts["playground.css"], bundle("playground/app")
    pieces = {"STYLE": style, "SCRIPT": script, "WORKER": bundle("playground/worker")}
    # The table comes last: what it says is text, whatever it looks like.
    # Without "<" no text of a run can end the script that holds it.
    inside = json.dumps(table).replace("<", "\\u003c")
    pieces |= {"SHADERS": texts["shaders.glsl"], "POLICY": _policy(style, script), "TABLE": inside}
    return _filled(texts["playground.html"], pieces)


def _filled(html: str, pieces: Mapping[str, str]) -> str:
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
