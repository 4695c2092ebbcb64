"""The report as Markdown. `write` makes the HTML page of it, so that both say the same."""

import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from evolvability import Run
from evolvability.methods.registry import MAML
from evolvability.runs.files import markdown_text
from evolvability.studies.comparison import p_text
from evolvability.studies.statistics import SIGNIFICANT
from evolvability.training.progress import duration
from evolvability_paper import why
from evolvability_paper.claims.claim import KINDS, NOT_JUDGED, Claim
from evolvability_paper.claims.sentences import Sentence
from evolvability_paper.items import Item
from evolvability_paper.pictures import PICTURES
from evolvability_paper.plan import times
from evolvability_paper.report import TABLES, Report, figure_title, hyperparameters, unfinished

SENTENCE_COLUMNS = ("the paper says", "where", "kind", "statements that hold", "verdict")
CLAIM_COLUMNS = ("where", "the paper says", "its value", "here", "p", "p by pairs", "runs", "verdict")
RUN_COLUMNS = ("run", "seeds", "generations", "members", "steps", "sigma", "learning rate", "L2", "behaviors", "time")
MACHINE_COLUMNS = ("devices", "platform", "Python", "packages", "commit")
SHAPED = {"standardize": "standardized", "centered_ranks": "ranked", "none": "as they are"}
NOTE = (
    "Holds: p below the paper's bound and in its direction; where the paper finds no difference, p above 0.1 in as "
    "many runs as it has; where it gives a share, within 10 points; where it says what a population looks like, more "
    "than half of the runs do. Holds in part: p below 0.05 but not below the paper's bound, also where so few runs "
    "cannot have such a p-value; no difference, but in fewer runs, or one by pairs; within 20 points; some runs do. "
    "Refuted: the opposite is significant, groups differ where the paper finds no difference, a share is farther off, "
    "no run does. Not shown: no significant difference in as many runs as the paper has. Not enough runs: there are "
    "none, too few for any p-value below 0.05, fewer than the paper's that do not show its difference, or so few that "
    "the interval of a share has the paper's and others far from it. Kind: what holds may be a finding, that no "
    "difference is found, or true by construction. A sentence that is several statements is judged once: it holds "
    "where all do, in part where some do, and is refuted where one is and none holds. Where one of several tests would "
    "be enough for a verdict, whichever way it speaks, p-values are corrected for the number of tests first, by Holm's "
    "method; where all agree with the paper they are not. Tests are two-sided Mann-Whitney U tests, as in the paper, "
    "and decide unless it says otherwise; P(a is above b) is the probability that a run of a is above one of b. By "
    "pairs: seeds begin with the same network and noise in all methods, so Wilcoxon's signed ranks and the sign test "
    "stand beside, two-sided. What decides and is not the paper's is called ours. Time is by the clock: work done side "
    "by side counts in full."
)
UNJUDGED = "These runs are too small to say anything about the paper: values are shown, and nothing is judged."


def to_markdown(report: Report, output: Path) -> str:
    """The whole report; figures are linked relative to the output folder."""
    parts = [
        "# Evolvability ES, reproduced",
        f"{markdown_text(report.summary)}. {verdict_line(report)}.",
        sentence_table(report),
        UNJUDGED if NOT_JUDGED in report.verdicts else NOTE,
    ]
    for item in report.items:
        took = _took(item, output)
        parts += [f"## {item.title}", *([f"It took {took}."] if took else [])]
        parts += [f"**Not done:** {markdown_text(warning)}" for warning in unfinished(item, report.runs)]
        parts += [_figure(number, report.figures[number], output) for number in item.figures]
        if found := report.findings.get(item.name):
            parts += [_table(why.COLUMNS, found), why.NOTE]
        if claims := report.claims[item.name]:
            parts.append(claim_table(claims))
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
    """How many sentences got each verdict."""
    total = sum(report.verdicts.values())
    holding = Counter(sentence.kind for sentence in report.sentences.values() if sentence.verdict == "holds")
    kinds = f" ({', '.join(f'{kind} {holding[kind]}' for kind in KINDS)})" if holding else ""
    counts = [f"{verdict} {number}{kinds if verdict == 'holds' else ''}" for verdict, number in report.verdicts.items()]
    return f"Of {total} sentences of the paper: {', '.join(counts)}"


def sentence_table(report: Report) -> str:
    """The paper's sentences with their verdicts."""
    return _table(SENTENCE_COLUMNS, [_sentence(*named) for named in report.sentences.items()])


def claim_table(claims: Mapping[str, Claim]) -> str:
    """Statements with their values and verdicts."""
    return _table(CLAIM_COLUMNS, [_claim(*named) for named in claims.items()])


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _sentence(name: str, sentence: Sentence) -> tuple[str, ...]:
    """A row for `SENTENCE_COLUMNS`."""
    where = "; ".join(dict.fromkeys(claim.section for claim in sentence.claims.values()))
    says = next(iter(sentence.claims.values())).sentence
    return f"{markdown_text(says)} `{name}`", where, sentence.kind, sentence.count, f"**{sentence.verdict}**"


def _took(item: Item, output: Path) -> str:
    """How long an item took by kind of device."""
    seconds: Counter[str] = Counter()
    for row in times(output):
        if row["item"] == item.name:
            seconds[row["devices"][0].partition(":")[0].upper()] += row["seconds"]
    return ", ".join(f"{duration(seconds[kind])} on {kind}" for kind in sorted(seconds, reverse=True))


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
    here = _noted(_value(claim), claim.statistic, medians, claim.beside)
    runs = " and ".join(map(str, claim.num_runs)) or "0"
    says = f"{markdown_text(claim.statement)} `{name}`"
    pairs = ""
    if claim.pairs is not None and claim.pairs.wilcoxon is not None:
        pairs = f"{_p(claim.pairs.wilcoxon)}; sign {_p(claim.pairs.sign)}"
    ours = f"ours: {claim.ours}" if claim.ours else ""
    verdict = _noted(claim.verdict, claim.reason, ours)
    return claim.section, says, markdown_text(claim.paper), here, _p(claim.p), pairs, runs, verdict


def _p(p: float | None) -> str:
    """Three digits tell a p-value from the bounds 0.05 and 0.1; smaller ones have two that count."""
    return "" if p is None else f"{p:.3f}" if p >= SIGNIFICANT / 5 else p_text(p)


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
        f"{config.population_options.sigma:g}",
        "trust region" if is_maml else f"{config.learning_rate:g}",
        "" if is_maml else f"{config.l2:g}",
        SHAPED.get(config.options.get("behavior_shaping", ""), ""),
        # Every seed's row has the time of the whole generation.
        duration(sum(row.get("seconds") or 0 for row in rows) / config.seeds),
    )


def _machine(machine: dict[str, Any]) -> tuple[str, ...]:
    """What runs were made with, for `MACHINE_COLUMNS`."""
    packages = ", ".join(f"{name} {version}" for name, version in machine["packages"].items())
    parts = (", ".join(machine["devices"]), machine["platform"], machine["python"], packages, machine["commit"])
    return tuple(markdown_text(str(part)) for part in parts)
