"""What the report says, as data: figures, verdicts, tables, machines and times, all of it from run folders."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from evolvability.config.schema import Config
from evolvability.core.errors import RunFolderError, UserError
from evolvability.figures.registry import save_figure
from evolvability.reproduction.claims.claim import VERDICTS, Claim
from evolvability.reproduction.execution import spent, times
from evolvability.reproduction.items import ALL_CLAIMS, ITEMS, Item
from evolvability.reproduction.pictures import PICTURES
from evolvability.reproduction.scales import Scale, are_of
from evolvability.reproduction.tables import TABLES, HyperparameterTable
from evolvability.runs.files import slug, write_output
from evolvability.runs.folder import Run


@dataclass(frozen=True)
class Drawn:
    """A figure that was drawn, or why it was not.

    Attributes:
        number: in the paper, or a name.
        caption: what it shows.
        path: its file; None where runs are missing.
        reason: which.
    """

    number: str
    caption: str
    path: Path | None
    reason: str = ""

    @property
    def title(self) -> str:
        """What it is called."""
        return f"Figure {self.number}" if self.number[-1].isdigit() else self.number[0].upper() + self.number[1:]


@dataclass(frozen=True)
class Section:
    """One item of the paper, reproduced.

    Attributes:
        item: the item.
        figures: in the paper's order.
        claims: by name.
        seconds: how long its runs and studies took, by kind of device.
        warnings: what a reader must know about its runs.
    """

    item: Item
    figures: list[Drawn]
    claims: dict[str, Claim]
    seconds: dict[str, float]
    warnings: list[str]


@dataclass(frozen=True)
class Report:
    """All that the report says.

    Attributes:
        scale: a line about the size of the runs.
        sections: one an item.
        runs: the run folders it is about.
        machines: what they were made with, each once.
        tables: the paper's hyperparameters, and those of the runs.
    """

    scale: str
    sections: list[Section]
    runs: list[Run]
    machines: list[dict[str, Any]]
    tables: list[HyperparameterTable]

    @property
    def verdicts(self) -> dict[str, int]:
        """How many statements got each verdict."""
        counts = Counter(claim.verdict for section in self.sections for claim in section.claims.values())
        return {verdict: counts[verdict] for verdict in VERDICTS}


def runs_below(folder: Path) -> list[Run]:
    """Every run folder at any depth below a folder."""
    return [Run(path.parent) for path in sorted(folder.rglob("config.toml"))]


def of_scale(runs: Sequence[Run], scale: Scale) -> list[Run]:
    """All of some runs; but where some that differ in size or settings alone are of a scale, only those."""
    fitting = {run.path for run in runs if are_of([run.config], scale)}
    decided = {_what(run.config) for run in runs if run.path in fitting}
    return [run for run in runs if run.path in fitting or _what(run.config) not in decided]


def make_report(items: Sequence[Item], output: Path, summary: str, scale: Scale | None = None) -> Report:
    """Draw the figures, ask for the verdicts, and gather the rest.

    Args:
        items: what the report is about; it is about whatever else was worked on in the output folder too.
        output: the folder that has the runs, and gets ``figures/``.
        summary: a line about the size of the runs.
        scale: the size and settings of runs to prefer, where there are others too.
    """
    if not output.is_dir():
        raise RunFolderError(f"There is no folder {output} to report on. Leave out --stage report to make the runs.")
    worked_on = {row["item"] for row in times(output)} | {item.name for item in items}
    items = [item for item in ITEMS.values() if item.name in worked_on]
    runs = [run for run in runs_below(output) if run.rows]
    if scale is not None:
        runs = of_scale(runs, scale)
    seconds = _seconds(items, runs, output)
    sections = [
        Section(
            item,
            [_drawn(number, runs, output) for number in item.figures],
            {name: ALL_CLAIMS[name](runs) for name in item.claim_names},
            seconds.get(item.name, {}),
            _warnings(item, runs),
        )
        for item in items
    ]
    machines = list({json.dumps(run.environment, sort_keys=True): run.environment for run in runs}.values())
    return Report(summary, sections, runs, machines, [table(runs) for table in TABLES])


def write_report(report: Report, output: Path) -> list[Path]:
    """The report as one HTML page, as Markdown, and its verdicts as JSON."""
    from evolvability.reproduction.html import to_html
    from evolvability.reproduction.markdown import to_markdown

    claims = {name: asdict(claim) for section in report.sections for name, claim in section.claims.items()}
    files = {
        "report.html": to_html(report),
        "report.md": to_markdown(report, output),
        "claims.json": json.dumps(claims, indent=2) + "\n",
    }
    for name, text in files.items():
        write_output(output / name, text.encode())
    return [output / name for name in files]


def _drawn(number: str, runs: Sequence[Run], output: Path) -> Drawn:
    picture = PICTURES[number]
    path = output / "figures" / f"{slug(f'figure {number}' if number[-1].isdigit() else number)}.png"
    try:
        save_figure(lambda: picture.draw(runs), path)
    except UserError as error:  # runs are missing, or what is made of them
        return Drawn(number, picture.caption, None, str(error))
    return Drawn(number, picture.caption, path)


def _seconds(items: Sequence[Item], runs: Sequence[Run], output: Path) -> dict[str, dict[str, float]]:
    """By item and kind of device: as they were kept; of run folders from elsewhere, what their generations took."""
    return spent(
        times(output)
        or [
            {
                "item": item.name,
                "seconds": sum(row["seconds"] for row in run.rows) / run.config.seeds,
                "devices": run.environment["devices"],
            }
            for run in runs
            for item in [item for item in items if _is_of(run, item)][:1]
        ]
    )


def _is_of(run: Run, item: Item) -> bool:
    """Whether a run is one that an item needs."""
    own = _what(run.config)
    return any((one.task, one.objective, bool(one.start), one.is_mixture) == own for one in item.trainings)


def _what(config: Config) -> tuple[str, str, bool, bool]:
    """Which training of the paper a run is one of."""
    return config.task, config.objective, bool(config.start_from), config.population == "mixture"


def _warnings(item: Item, runs: Sequence[Run]) -> list[str]:
    """Runs of an item that are not done."""
    own = [(run, len(run.rows) // run.config.seeds) for run in runs if _is_of(run, item)]
    return [
        f"{run.path.parent.name}/{run.path.name} has {done} of {run.config.generations} generations."
        for run, done in own
        if done < run.config.generations
    ]
