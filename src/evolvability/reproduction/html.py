"""The report as one HTML page: nothing is loaded from anywhere, it prints, and it fits a phone."""

import base64
from collections.abc import Iterable, Sequence
from html import escape
from importlib import resources

from evolvability.config.schema import to_toml
from evolvability.figures.style import RC
from evolvability.reproduction.claims.claim import VERDICTS, Claim
from evolvability.reproduction.formatting import (
    CLAIM_COLUMNS,
    NOTE,
    RUN_COLUMNS,
    RUNS_NOTE,
    machine_text,
    medians_text,
    overview_row,
    p_of,
    run_row,
    runs_of,
    value_text,
    verdict_line,
)
from evolvability.reproduction.report import Drawn, Report, Section

MARKS = {"holds": "yes", "holds in part": "part", "does not hold": "no", "not enough runs": "open"}
"""The style of each verdict."""
ZOOM = 1.25
"""Figures are drawn for print; on a screen they are this much larger."""
WIDE = 5.5
"""Inches; a phone would show wider ones too small to read, and has them scrolled."""


def to_html(report: Report) -> str:
    """The whole report."""
    style = resources.files("evolvability.reproduction").joinpath("report.css").read_text()
    body = [
        "<h1>Evolvability ES, reproduced</h1>",
        f"<p class=lead>{escape(report.scale)}. {escape(verdict_line(report))}.</p>",
        _bar(report.verdicts),
        _table(
            ("item", *VERDICTS, "time"),
            [*map(_overview, report.sections), ("all", *overview_row(report.sections))],
            "overview",
        ),
        f"<details open><summary>What the verdicts mean</summary><p>{escape(NOTE)}</p></details>",
        *map(_section, report.sections),
        _tables(report),
        _configuration(report),
    ]
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>Evolvability ES, reproduced</title>\n<style>\n{style}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(body)
        + "\n</main>\n</body>\n</html>\n"
    )


def _bar(counts: dict[str, int]) -> str:
    parts = [
        f'<span class="{MARKS[verdict]}" style="flex:{number}" title="{verdict}: {number}">{number}</span>'
        for verdict, number in counts.items()
        if number
    ]
    return f'<div class="bar" role="img" aria-label="verdicts">{"".join(parts)}</div>'


def _overview(section: Section) -> tuple[str, ...]:
    link = f'<a href="#{section.item.name}">{escape(section.item.title)}</a>'
    return (link, *overview_row([section]))


def _section(section: Section) -> str:
    claims = [_claim(*named) for named in section.claims.items()]
    warnings = "".join(f"<p class=warning>Not done: {escape(warning)}</p>" for warning in section.warnings)
    figures = "\n".join(map(_figure, section.figures))
    table = _table(CLAIM_COLUMNS, claims, "claims") if claims else ""
    title = escape(section.item.title)
    head = f'<section id="{section.item.name}">\n<h2>{title}</h2>'
    return f'{head}\n{warnings}<div class="figures">{figures}</div>\n{table}\n</section>'


def _figure(figure: Drawn) -> str:
    caption = f"<figcaption><b>{escape(figure.title)}</b> {escape(figure.caption)}"
    if figure.path is None:
        return f'<figure class="missing">{caption} <i>Not drawn: {escape(figure.reason)}</i></figcaption></figure>'
    content = figure.path.read_bytes()
    inches = int.from_bytes(content[16:20]) / RC["savefig.dpi"]  # where a PNG has its width
    data = base64.b64encode(content).decode()
    alt = escape(f"{figure.title}. {figure.caption}", quote=True)
    image = f'<div class="scroll"><img alt="{alt}" src="data:image/png;base64,{data}"></div>'
    kind = ' class="wide"' if inches > WIDE else ""
    return f'<figure{kind} style="flex-basis:{ZOOM * inches:.2f}in">{image}{caption}</figcaption></figure>'


def _claim(name: str, claim: Claim) -> tuple[str, ...]:
    reason = f"<small>{escape(claim.reason)}</small>" if claim.reason else ""
    verdict = f'<b class="{MARKS[claim.verdict]}">{claim.verdict}</b>{reason}'
    notes = "".join(f"<small>{escape(note)}</small>" for note in (claim.statistic, medians_text(claim)) if note)
    here = f"<b>{value_text(claim)}</b>{notes}"
    says = f'{escape(claim.statement)}<small id="{name}">{name}</small>'
    return escape(claim.section), says, escape(claim.paper), here, p_of(claim), runs_of(claim), verdict


def _tables(report: Report) -> str:
    parts = []
    for table in report.tables:
        rows = [tuple(map(escape, row)) for row in table.rows]
        parts.append(
            f"<div><h3>{escape(table.title)}</h3>{_table(('hyperparameter', 'paper', 'here'), rows, 'small')}</div>"
        )
    return f'<section><h2>Hyperparameters</h2><div class="tables">{"".join(parts)}</div></section>'


def _configuration(report: Report) -> str:
    names = [f"{run.path.parent.name}/{run.path.name}" for run in report.runs]
    rows = [tuple(map(escape, run_row(run, name))) for run, name in zip(report.runs, names, strict=True)]
    machines = "".join(f"<li>{escape(machine_text(machine))}</li>" for machine in report.machines)
    whole = "".join(
        f"<details><summary>{escape(name)}</summary><pre>{escape(to_toml(run.config))}</pre></details>"
        for name, run in zip(names, report.runs, strict=True)
    )
    return (
        f"<section><h2>Configuration and machine</h2>{_table(RUN_COLUMNS, rows, 'runs')}"
        f"<p>{escape(RUNS_NOTE)}</p><ul>{machines}</ul>"
        f'<div class="configs">{whole}</div></section>'
    )


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]], kind: str) -> str:
    """A table of cells that are HTML already; on a phone each row is a card, whose cells say what they are."""
    head = "".join(f"<th>{column}</th>" for column in columns)
    lines = [
        "<tr>" + "".join(f'<td data-label="{c}">{cell}</td>' for c, cell in zip(columns, row, strict=True)) + "</tr>"
        for row in rows
    ]
    return f'<table class="{kind}"><thead><tr>{head}</tr></thead><tbody>{"".join(lines)}</tbody></table>'
