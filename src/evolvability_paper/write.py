"""The report's files: Markdown, the same as one HTML page that loads nothing, and the verdicts as JSON."""

import base64
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

from evolvability.figures.style import RC
from evolvability.runs.files import json_text, write_output
from evolvability_paper.claims.claim import NOT_JUDGED, VERDICTS
from evolvability_paper.markdown import anchor, to_markdown
from evolvability_paper.report import Report

ZOOM = 1.25  # figures are drawn for print; on a screen they are this much larger


def write_report(report: Report, output: Path) -> list[Path]:
    """The report as one HTML page, as Markdown, and its verdicts as JSON."""
    markdown = to_markdown(report, output)
    claims = {name: asdict(claim) for claims in report.claims.values() for name, claim in claims.items()}
    files = {"report.html": to_html(markdown, output), "report.md": markdown, "claims.json": json_text(claims)}
    for name, text in files.items():
        write_output(output / name, text.encode())
    return [output / name for name in files]


def to_html(markdown: str, folder: Path) -> str:
    """Markdown as one page with its images in it, whose paths are relative to a folder; it prints and fits a phone."""
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")  # tags in the text stay text
    tokens = parser.parse(markdown)
    # Tokens come in the order of the page, a tag's opening right before what is in it.
    for before, token in pairwise(tokens):
        if before.type == "heading_open":
            before.attrSet("id", anchor(token.content))
        _color_verdicts(token.children or [])
        for image in (child for child in token.children or [] if child.type == "image"):
            _embed(image, folder)
    page, style = (Path(__file__).with_name(name).read_text() for name in ("report.html", "report.css"))
    return page.format(style=style, body=parser.renderer.render(tokens, parser.options, {}))


def _color_verdicts(inline: list[Token]) -> None:
    """Strong text that is a verdict gets its class, in which spaces are dashes."""
    for strong, word in pairwise(inline):
        if strong.type == "strong_open" and word.content in (*VERDICTS, NOT_JUDGED):
            strong.attrSet("class", word.content.replace(" ", "-"))


def _embed(image: Token, folder: Path) -> None:
    """Put an image's file into the page, as wide as it would be printed, and a little more."""
    content = (folder / str(image.attrs["src"])).read_bytes()
    inches = int.from_bytes(content[16:20]) / RC["savefig.dpi"]  # where a PNG has its width
    image.attrSet("src", f"data:image/png;base64,{base64.b64encode(content).decode()}")
    image.attrSet("style", f"width:{ZOOM * inches:.2f}in")
