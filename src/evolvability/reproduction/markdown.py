"""The report as Markdown. `write` makes the HTML page of it, so that both say the same."""

import os
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from evolvability.config.schema import MAML
from evolvability.reproduction.claims.claim import NOT_JUDGED, Claim
from evolvability.reproduction.items import Item
from evolvability.reproduction.pictures import PICTURES
from evolvability.reproduction.plan import duration, times
from evolvability.reproduction.report import TABLES, Report, figure_title, hyperparameters, unfinished
from evolvability.runs.files import markdown_text
from evolvability.runs.folder import Run
from evolvability.studies.comparison import p_text
from evolvability.studies.statistics import SIGNIFICANT

CLAIM_COLUMNS = ("where", "the paper says", "its value", "here", "p", "runs", "verdict")
RUN_COLUMNS = ("run", "seeds", "generations", "members", "steps", "sigma", "learning rate", "L2", "behaviors", "time")
MACHINE_COLUMNS = ("devices", "platform", "Python", "packages", "commit")
SHAPED = {"standardize": "whitened", "centered_ranks": "ranked", "none": "as they are"}
NOTE = (
    "Holds: p below the paper's bound and in its direction; where the paper finds no difference, p above 0.1 in as "
    "many runs as it has; where it gives a share, within 10 points; where it says what a population looks like, more "
    "than half of the runs do. Holds in part: p below 0.05 but not below the paper's bound, also where so few runs "
    "cannot have such a p-value; no difference, but in fewer runs; within 20 points; some runs do. Not enough runs: "
    "there are none, or too few for any p-value below 0.05. Tests are two-sided Mann-Whitney U tests, for "
    "specialization Wilcoxon's signed ranks, one-sided; P(a is above b) is the probability that a run of a is above "
    "one of b. Time is by the clock: pieces of work that ran side by side count in full."
)
UNJUDGED = "These runs are too small to say anything about the paper: values are shown, and nothing is judged."


def to_markdown(report: Report, output: Path) -> str:
    """The whole report; figures are linked relative to the output folder."""
    rows = [(f"[{item.title}](#{anchor(item.title)})", *_counts(report, [item], output)) for item in report.items]
    parts = [
        "# Evolvability ES, reproduced",
        f"{markdown_text(report.summary)}. {verdict_line(report)}.",
        _table(("item", *report.verdicts, "time"), [*rows, ("all", *_counts(report, report.items, output))]),
        UNJUDGED if NOT_JUDGED in report.verdicts else NOTE,
    ]
    for item in report.items:
        parts.append(f"## {item.title}")
        parts += [f"**Not done:** {markdown_text(warning)}" for warning in unfinished(item, report.runs)]
        parts += [_figure(number, report.figures[number], output) for number in item.figures]
        if claims := report.claims[item.name]:
            parts.append(_table(CLAIM_COLUMNS, [_claim(*named) for named in claims.items()]))
    parts.append("## Hyperparameters")
    for title in TABLES:
        table = _table(("hyperparameter", "paper", "here"), hyperparameters(title, report.runs))
        parts += [f"### {title}", table]
    machines = dict.fromkeys(_machine(run.environment) for run in report.runs)
    parts += [
        "## Configuration and machine",
        _table(RUN_COLUMNS, [_run(run, os.path.relpath(run.path, output)) for run in report.runs]),
        "Every run folder has its whole configuration in `config.toml`.",
        _table(MACHINE_COLUMNS, machines),
    ]
    return "\n\n".join(parts) + "\n"


def anchor(title: str) -> str:
    """What GitHub makes of a heading, for links to it.

    >>> anchor("2-D locomotion (section 5.2)")
    '2-d-locomotion-section-52'
    """
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def verdict_line(report: Report) -> str:
    """How many statements got each verdict."""
    total = sum(report.verdicts.values())
    return f"Of {total} statements: " + ", ".join(f"{verdict} {number}" for verdict, number in report.verdicts.items())


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _counts(report: Report, items: Sequence[Item], output: Path) -> tuple[str, ...]:
    """How many statements of some items got each verdict, and how long these took by kind of device."""
    names = [item.name for item in items]
    found = [claim.verdict for name in names for claim in report.claims[name].values()]
    seconds: Counter[str] = Counter()
    for row in times(output):
        if row["item"] in names:
            seconds[row["devices"][0].partition(":")[0].upper()] += row["seconds"]
    took = ", ".join(f"{duration(seconds[kind])} on {kind}" for kind in sorted(seconds, reverse=True))
    # Blank instead of 0: the eye finds what is there.
    return (*(str(found.count(verdict) or "") for verdict in report.verdicts), took)


def _figure(number: str, drawn: Path | str, output: Path) -> str:
    title = figure_title(number)
    title = title[0].upper() + title[1:]
    caption = f"**{title}** {markdown_text(PICTURES[number].caption)}"
    if isinstance(drawn, str):
        return f"{caption} *Not drawn: {markdown_text(drawn)}*"
    return f"![{title}]({os.path.relpath(drawn, output)})\n\n{caption}"


def _claim(name: str, claim: Claim) -> tuple[str, ...]:
    """A row for `CLAIM_COLUMNS`; what explains a value or a verdict is in italics."""
    medians = "medians " + " and ".join(f"{median:.3g}" for median in claim.medians) if claim.medians else ""
    here = _noted(_value(claim), claim.statistic, medians)
    # Three digits tell a p-value from the bounds 0.05 and 0.1; smaller ones have two that count.
    p = "" if claim.p is None else f"{claim.p:.3f}" if claim.p >= SIGNIFICANT / 5 else p_text(claim.p)
    runs = " and ".join(map(str, claim.num_runs)) or "0"
    says = f"{markdown_text(claim.statement)} `{name}`"
    return claim.section, says, markdown_text(claim.paper), here, p, runs, _noted(claim.verdict, claim.reason)


def _noted(word: str, *notes: str) -> str:
    return " ".join([f"**{word}**", *(f"*{markdown_text(note)}*" for note in notes if note)])


def _value(claim: Claim) -> str:
    if claim.value is None:
        return "no runs"
    if claim.paper.endswith("%"):
        return f"{claim.value:.1f} %"
    return f"{claim.value:,.0f}" if claim.value >= 1000 else f"{claim.value:.3g}"


def _run(run: Run, name: str) -> tuple[str, ...]:
    """A run's configuration in a row, for `RUN_COLUMNS`."""
    config, rows = run.config, run.rows
    done = len(rows) // config.seeds
    steps = getattr(config.task_options, "num_steps", None)
    is_maml = config.objective == MAML
    return (
        markdown_text(name),
        str(config.seeds),
        f"{done}" if done == config.generations else f"{done} of {config.generations}",
        f"{config.population_size:,}",
        f"{steps:,}" if steps else "",
        f"{config.sigma:g}",
        "trust region" if is_maml else f"{config.learning_rate:g}",
        "" if is_maml else f"{config.l2:g}",
        SHAPED[config.behavior_shaping] if config.objective.startswith("max_") else "",
        # Every seed's row has the time of the whole generation.
        duration(sum(row["seconds"] or 0 for row in rows) / config.seeds),
    )


def _machine(machine: dict[str, Any]) -> tuple[str, ...]:
    """What runs were made with, for `MACHINE_COLUMNS`."""
    packages = ", ".join(f"{name} {version}" for name, version in machine["packages"].items())
    parts = (", ".join(machine["devices"]), machine["platform"], machine["python"], packages, str(machine["commit"]))
    return tuple(map(markdown_text, parts))
