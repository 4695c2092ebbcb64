"""Numbers and settings as a report prints them, in Markdown and HTML alike."""

from collections import Counter
from collections.abc import Sequence

from evolvability.config.schema import MAML
from evolvability.reproduction.claims.claim import VERDICTS, Claim
from evolvability.reproduction.estimates import duration
from evolvability.reproduction.report import Report, Section
from evolvability.runs.folder import Run
from evolvability.studies.comparison import p_text
from evolvability.studies.statistics import SIGNIFICANT

RUN_COLUMNS = ("run", "seeds", "generations", "members", "steps", "sigma", "learning rate", "L2", "behaviors", "time")
SHAPED = {"standardize": "whitened", "centered_ranks": "ranked", "none": "as they are"}
CLAIM_COLUMNS = ("where", "the paper says", "its value", "here", "p", "runs", "verdict")
RUNS_NOTE = (
    "Every run folder has its whole configuration in config.toml. Time is by the clock, also of runs that shared a "
    "device with others; the first table counts such time once."
)
NOTE = (
    "Holds: p below the paper's bound and in its direction; where the paper finds no difference, p above 0.1 in as "
    "many runs as it has; where it gives a share, within 10 points; where it says what a population looks like, more "
    "than half of the runs do. Holds in part: p below 0.05 but not below the paper's bound, also where of so few runs "
    "no p-value could be; no difference, but in fewer runs; within 20 points; some runs do. Not enough runs: there are "
    "none, or too few for any p-value below 0.05. Tests are two-sided Mann-Whitney U tests, for specialization "
    "Wilcoxon's signed ranks, one-sided; P(a is above b) is the probability that a run of a is above one of b."
)


def value_text(claim: Claim) -> str:
    """The statistic's value."""
    if claim.value is None:
        return "no runs"
    if claim.paper.endswith("%"):
        return f"{claim.value:.1f} %"
    return f"{claim.value:,.0f}" if claim.value >= 1000 else f"{claim.value:.3g}"


def medians_text(claim: Claim) -> str:
    """The medians of the groups that are compared, in the statistic's order."""
    return "medians " + " and ".join(f"{median:.3g}" for median in claim.medians) if claim.medians else ""


def p_of(claim: Claim) -> str:
    """Its p-value, in digits enough to tell it from the bounds."""
    if claim.p is None:
        return ""
    return f"{claim.p:.3f}" if claim.p >= SIGNIFICANT / 5 else p_text(claim.p)


def runs_of(claim: Claim) -> str:
    """How many runs each group has."""
    return " and ".join(map(str, claim.num_runs)) or "0"


def run_row(run: Run, name: str) -> tuple[str, ...]:
    """A run's configuration in a row, for `RUN_COLUMNS`."""
    config, rows = run.config, run.rows
    done = len(rows) // config.seeds
    generations = f"{done}" if done == config.generations else f"{done} of {config.generations}"
    steps = getattr(config.task_options, "num_steps", None)
    seconds = sum(row["seconds"] for row in rows) / config.seeds
    rate = "trust region" if config.objective == MAML else f"{config.learning_rate:g}"
    return (
        name,
        str(config.seeds),
        generations,
        f"{config.population_size:,}",
        f"{steps:,}" if steps else "",
        f"{config.sigma:g}",
        rate,
        "" if config.objective == MAML else f"{config.l2:g}",
        SHAPED[config.behavior_shaping] if config.objective.startswith("max_") else "",
        duration(seconds),
    )


def machine_text(machine: dict[str, object]) -> str:
    """What runs were made with, in a line."""
    packages, devices = machine["packages"], machine["devices"]
    assert isinstance(packages, dict)
    assert isinstance(devices, list)
    versions = ", ".join(f"{name} {version}" for name, version in packages.items())
    where = f"{', '.join(devices)}; {machine['platform']}"
    return f"{where}; Python {machine['python']}; {versions}; commit {machine['commit']}"


def overview_row(sections: Sequence[Section]) -> tuple[str, ...]:
    """How many statements of some items got each verdict, and how long these took."""
    found = [claim.verdict for section in sections for claim in section.claims.values()]
    counts = [found.count(verdict) for verdict in VERDICTS]
    seconds: Counter[str] = Counter()
    for section in sections:
        seconds.update(section.seconds)
    took = ", ".join(f"{duration(seconds[kind])} of {kind}" for kind in sorted(seconds, reverse=True))
    return (*(str(count) if count else "" for count in counts), took)


def verdict_line(report: Report) -> str:
    """How many statements got each verdict."""
    total = sum(report.verdicts.values())
    return f"Of {total} statements: " + ", ".join(f"{verdict} {number}" for verdict, number in report.verdicts.items())
