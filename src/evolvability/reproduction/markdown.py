"""The report as Markdown."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

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


def to_markdown(report: Report, output: Path) -> str:
    """The whole report; figures are linked relative to the output folder."""
    parts = [
        "# Evolvability ES, reproduced",
        f"{report.scale}. {verdict_line(report)}.",
        _table(
            ("item", *VERDICTS, "time"), [*map(_overview, report.sections), ("all", *overview_row(report.sections))]
        ),
        NOTE,
    ]
    for section in report.sections:
        parts.append(f"## {section.item.title}")
        parts += [f"**Not done:** {warning}" for warning in section.warnings]
        parts += [_figure(figure, output) for figure in section.figures]
        if section.claims:
            parts.append(_table(CLAIM_COLUMNS, [_claim(*named) for named in section.claims.items()]))
    parts.append("## Hyperparameters")
    for table in report.tables:
        parts += [f"**{table.title}**", _table(("hyperparameter", "paper", "here"), table.rows)]
    parts += [
        "## Configuration and machine",
        _table(RUN_COLUMNS, [run_row(run, os.path.relpath(run.path, output)) for run in report.runs]),
        RUNS_NOTE,
        *(f"- {machine_text(machine)}" for machine in report.machines),
    ]
    return "\n\n".join(parts) + "\n"


def _overview(section: Section) -> tuple[str, ...]:
    return (section.item.title, *overview_row([section]))


def _figure(figure: Drawn, output: Path) -> str:
    if figure.path is None:
        return f"**{figure.title}** {figure.caption} *Not drawn: {figure.reason}*"
    return f"![{figure.title}]({os.path.relpath(figure.path, output)})\n\n**{figure.title}** {figure.caption}"


def _claim(name: str, claim: Claim) -> tuple[str, ...]:
    verdict = f"**{claim.verdict}**" + (f": {claim.reason}" if claim.reason else "")
    here = "; ".join(filter(None, (f"{value_text(claim)} ({claim.statistic})", medians_text(claim))))
    return claim.section, f"{claim.statement} `{name}`", claim.paper, here, p_of(claim), runs_of(claim), verdict


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(
        "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in line) + " |" for line in lines
    )
