"""What the report is about: figures, verdicts and the paper's tables, all of it from run folders."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from evolvability import Config, Run, RunFolderError, UserError
from evolvability.figures.registry import save_figure
from evolvability.methods.registry import MAML
from evolvability.runs.files import slug
from evolvability.runs.trust import check_files
from evolvability.studies.groups import run_identity
from evolvability_paper import why
from evolvability_paper.claims import CLAIMS
from evolvability_paper.claims.claim import NOT_JUDGED, VERDICTS, Claim, Verdict
from evolvability_paper.claims.sentences import Sentence, judged_together, sentences
from evolvability_paper.items import ITEMS, Item
from evolvability_paper.pictures import PICTURES
from evolvability_paper.plan import FILES, times
from evolvability_paper.scales import Scale, are_of

FLAT = 0.05  # a curve that grows by less over its last quarter


@dataclass(frozen=True)
class Report:
    """What the report is about. Its tables and times follow from the run folders."""

    summary: str
    """A line about the size of the runs."""
    items: list[Item]
    """The items that are reported."""
    runs: list[Run]
    """All runs found."""
    figures: dict[str, Path | str]
    """By number or name, a picture's file, or the reason why there is none."""
    claims: dict[str, dict[str, Claim]]
    """The claims by item, then by name."""
    findings: dict[str, list[tuple[str, ...]]] = field(default_factory=dict)
    """Tables of items that are not in the paper."""

    @property
    def sentences(self) -> dict[str, Sentence]:
        """The paper's sentences, by name; most are several statements."""
        return sentences({name: claim for claims in self.claims.values() for name, claim in claims.items()})

    @property
    def verdicts(self) -> dict[Verdict, int]:
        """How many sentences got each verdict."""
        found = [sentence.verdict for sentence in self.sentences.values()]
        return {verdict: found.count(verdict) for verdict in ((NOT_JUDGED,) if NOT_JUDGED in found else VERDICTS)}


def make_report(items: Sequence[Item], output: Path, summary: str, scale: Scale | None = None) -> Report:
    """Draw the figures and ask for the verdicts of some items, and of whatever else was worked on in the output folder.

    The folder has the runs, at any depth, and gets ``figures/``; where there are others too, runs of the scale count.
    """
    if not output.is_dir():
        raise RunFolderError(f"There is no folder {output} to report on. Leave out --stage report to make the runs.")
    check_files(output, FILES)
    # A second command for one item must not drop the others from the report.
    named = {row["item"] for row in times(output)} | {item.name for item in items}
    items = [item for item in ITEMS.values() if item.name in named]
    # Sorted: folders come in any order, and the report should not change with it.
    runs = [run for path in sorted(output.rglob("config.toml")) if (run := _readable(path.parent)) is not None]
    findings = {item.name: why.rows(item, runs) for item in items if not item.in_paper}
    runs = [run for run in runs if why.training_name(run) not in why.NAMES]
    if scale is not None:
        runs = of_scale(runs, scale)
    done = finished(runs)
    figures = {number: _drawn(number, done, output) for item in items for number in item.figures}
    judged = judged_together({name: claim(done) for name, claim in CLAIMS.items() if claim.item in named})
    claims = {
        item.name: {name: claim for name, claim in judged.items() if CLAIMS[name].item == item.name} for item in items
    }
    if scale is not None and not scale.judged and are_of([run.config for run in runs], scale):
        claims = {item: {name: _unjudged(claim) for name, claim in own.items()} for item, own in claims.items()}
    return Report(summary, items, runs, figures, claims, findings)


def _readable(path: Path) -> Run | None:
    """A run of which all can be read that a report tells; None of one without rows, and of others, which is said."""
    try:
        run = Run(path)
        _ = run.environment, run.origin, run.metrics
    except RunFolderError as error:
        warnings.warn(f"{path} is left out: {error}", stacklevel=3)
        return None
    return run if run.rows else None


def _unjudged(claim: Claim) -> Claim:
    """Its value without a verdict; where there is no value, why stays said."""
    return replace(claim, verdict=NOT_JUDGED, reason="" if claim.value is not None else claim.reason)


def finished(runs: Sequence[Run]) -> list[Run]:
    """All of some runs; but where some that differ in their seeds alone are done, only those."""
    # One under way may have recorded its first population alone, which would count as its last.
    done = {run.path: run.generations_done >= run.config.generations for run in runs}
    kinds = {run_identity(run) for run in runs if done[run.path]}
    return [run for run in runs if done[run.path] or run_identity(run) not in kinds]


def of_scale(runs: Sequence[Run], scale: Scale) -> list[Run]:
    """All of some runs; but where some that differ in size or settings alone are of a scale, only those."""
    # Groups are made of runs of one configuration, the longest wins: without this it could be another scale's.
    fitting = {run.path for run in runs if are_of([run.config], scale)}
    decided = {_what(run.config) for run in runs if run.path in fitting}
    return [run for run in runs if run.path in fitting or _what(run.config) not in decided]


def unfinished(item: Item, runs: Sequence[Run]) -> list[str]:
    """A line about each of an item's runs that is not done."""
    mixtures = ("species", "split")
    trainings = {(one.task, one.objective, bool(one.start), one.kind in mixtures) for one in item.trainings}
    found = []
    for run in (run for run in runs if _what(run.config) in trainings):
        if (done := run.generations_done) < run.config.generations:
            name = f"{run.path.parent.name}/{run.path.name}"
            found.append(f"{name} has {done} of {run.config.generations} generations.")
        elif run.config.objective == MAML and (growth := _growth(run)) > FLAT:
            # The paper does not say for how long MAML was trained: until its curve is flat is a fair reading.
            found.append(
                f"{run.path.name} still grows, by {100 * growth:.0f} % over the last quarter of its outer steps."
            )
    return found


def _growth(run: Run) -> float:
    """By what share returns after adaptation grew, from the third quarter of the outer steps to the last; all seeds."""
    returns = np.nanmean(run.metrics["fitness_mean"], axis=0)
    if len(returns) < 2:
        return 0.0
    quarter = max(1, len(returns) // 4)
    before, last = returns[-2 * quarter : -quarter].mean(), returns[-quarter:].mean()
    return float((last - before) / abs(before)) if before else 0.0


def _what(config: Config) -> tuple[str, str, bool, bool]:
    """Which training of the paper a run is one of."""
    return config.task, config.objective, bool(config.start_from), config.population == "mixture"


def _drawn(number: str, runs: Sequence[Run], output: Path) -> Path | str:
    path = output / "figures" / f"{slug(figure_title(number))}.png"
    try:
        return save_figure(lambda: PICTURES[number].draw(runs), path)
    except UserError as error:  # runs are missing, or what is made of them
        return str(error)


def figure_title(number: str) -> str:
    """What a figure is called, by its number or name."""
    return f"figure {number}" if number[-1].isdigit() else number


# The paper's tables S1 to S5

LABELS = {
    "learning_rate": "learning rate",
    "sigma": "population standard deviation",
    "population_size": "population size",
    "l2": "L2 regularization coefficient",
    "bandwidth": "kernel standard deviation",
    "inner_rate": "adaptation learning rate",
    "damping": "conjugate gradient damping",
    "iterations": "conjugate gradient iterations",
    "line_search_steps": "max number of line search steps",
    "line_search_ratio": "line search backtrack ratio",
    "discount": "discount factor",
    "episodes_per_task": "adaptation batch size",
    "tasks": "outer batch size",
}
"""What the paper calls our settings."""
INTERFERENCE = {"sigma": "0.5", "population_size": "500"}
LOCOMOTION = {"learning_rate": "0.01", "sigma": "0.02", "population_size": "10,000", "l2": "0.05"}
TRUST_REGION = {"damping": "1e-05", "iterations": "10", "line_search_steps": "15", "line_search_ratio": "0.8"}
KERNEL = {"bandwidth": "1"}

Table = tuple[tuple[str, ...], str, dict[str, str]]  # tasks, an objective, and the paper's settings of it
TABLES: dict[str, Table] = {
    "Table S1: MaxVar, interference": (("interference",), "max_variance", {"learning_rate": "0.03"} | INTERFERENCE),
    "Table S2: MaxEnt, interference": (
        ("interference",),
        "max_entropy",
        {"learning_rate": "0.1"} | INTERFERENCE | KERNEL,
    ),
    "Table S3: MaxVar, locomotion": (("cheetah", "ant"), "max_variance", LOCOMOTION),
    "Table S4: MaxEnt, locomotion": (("cheetah", "ant"), "max_entropy", LOCOMOTION | KERNEL),
    "Table S5: MAML": (
        ("cheetah",),
        MAML,
        {"inner_rate": "0.1"} | TRUST_REGION | {"discount": "0.99", "episodes_per_task": "10", "tasks": "40"},
    ),
}


def hyperparameters(title: str, runs: Sequence[Run]) -> list[tuple[str, str, str]]:
    """The rows of one of `TABLES`: a hyperparameter, the paper's setting, and that of runs from scratch."""
    tasks, objective, settings = TABLES[title]
    configs = [run.config for run in runs if run.config.task in tasks and run.config.objective == objective]
    scratch = [vars(config) | config.options for config in configs if not config.start_from]
    rows = []
    for setting, paper in settings.items():
        values = [one[setting] for one in scratch]
        here = dict.fromkeys(f"{value:,}" if isinstance(value, int) else f"{value:g}" for value in values)
        rows.append((LABELS[setting], paper, " and ".join(here) or "no runs"))
    return rows
