"""What the study's rows say: medians per arm, the registered tests with their corrections, and whether aims are met."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.dependability.arms import CONDITIONS, FAILED
from evolvability import RunFolderError
from evolvability.runs.files import write_output
from evolvability.studies.comparison import p_text
from evolvability.studies.groups import of_common_seeds
from evolvability.studies.statistics import corrected, mann_whitney, median_interval, paired

Row = dict[str, Any]
Statistic = Callable[[Row], float]


def mean_of(field: str) -> Statistic:
    """The mean over directions of one of a row's tables."""
    return lambda row: float(np.mean(list(row[field].values())))


STATISTICS: dict[str, Statistic] = {
    "repeatability": lambda row: float(row["repeatability"]),
    "best of 40": mean_of("best_of_all"),
    "best of 10 x 4": mean_of("best_of_few"),
    "distance": lambda row: float(row["distance"]),
    "both ways": lambda row: float(row["both_ways"]),
    "directions": lambda row: float(row["directions"]),
    "MAML, 10 episodes": mean_of("adapted"),
}
"""Of a center and a condition; of failed motors, means over motors."""
AIMS = {"repeatability": 0.8, "best of 40": 42.0}
"""Medians of the cheetah's arms; of the best of 40 over seeds and directions."""
DEPENDABLE = ("MaxCov", "MaxInfo", "MaxVar to MaxCov")
BASELINE = "MaxVar"


class Compared(NamedTuple):
    """A registered test: whether an arm differs from another by a statistic, in a condition."""

    first: str
    """The arm."""
    second: str
    """What it is compared with."""
    statistic: str
    """By name, for both, or one for each, joined by a slash."""
    condition: str = "starts"
    """By name."""


def _against(arms: Iterable[str], statistics: Iterable[str], conditions: Iterable[str]) -> list[Compared]:
    return [Compared(arm, BASELINE, one, where) for where in conditions for one in statistics for arm in arms]


FAMILIES: dict[str, tuple[str, list[Compared]]] = {
    "cheetah, against MaxVar": (
        "cheetah",
        _against(("MaxVar of means", *DEPENDABLE), ("repeatability", "best of 40"), ("starts",)),
    ),
    "ant, against MaxVar": ("ant", _against(("MaxEnt", *DEPENDABLE), ("repeatability", "best of 40"), ("starts",))),
    "cheetah, against MAML": (
        "cheetah",
        [
            Compared(arm, "MAML", f"{own}/MAML, 10 episodes")
            for own in ("best of 40", "best of 10 x 4")
            for arm in DEPENDABLE
        ],
    ),
    **{
        f"{task}, changed circumstances": (
            task,
            _against(DEPENDABLE, ("best of 40",), [*(one for one in CONDITIONS if one != "starts"), FAILED]),
        )
        for task in ("cheetah", "ant")
    },
}
"""Tests that are corrected together, by robot."""


def report(output: Path) -> str:
    """The whole report, which is also written to the study's folder."""
    paths = sorted((output / "rows").glob("*.jsonl"))
    if not paths:
        raise RunFolderError(f"There are no rows in {output / 'rows'}. Leave out --report to make them.")
    rows = [json.loads(line) for path in paths for line in path.read_text().splitlines()]
    parts = ["# Dependable mutations", *_tables(rows), "## Tests", *_tests(rows), "## Aims", *_aims(rows)]
    text = "\n\n".join(parts) + "\n"
    write_output(output / "report.md", text.encode())
    return text


def by_seed(rows: Sequence[Row], task: str, arm: str, condition: str, statistic: str) -> dict[int, float]:
    """A statistic of every center of an arm; of failed motors the mean over motors."""
    found: dict[int, list[float]] = {}
    for row in rows:
        if (row["task"], row["arm"], row["condition"]) == (task, arm, condition):
            found.setdefault(row["seed"], []).append(STATISTICS[statistic](row))
    return {seed: float(np.mean(own)) for seed, own in sorted(found.items())}


def _tables(rows: Sequence[Row]) -> Iterable[str]:
    names = [name for name in STATISTICS if not name.startswith("MAML")]
    for task in ("cheetah", "ant"):
        arms = list(dict.fromkeys(row["arm"] for row in rows if row["task"] == task))
        for condition in (*CONDITIONS, FAILED):
            own = {arm: [by_seed(rows, task, arm, condition, name) for name in names] for arm in arms}
            cells = [(arm, str(len(found[0])), *map(_spread, found)) for arm, found in own.items()]
            yield f"## {task}: {condition}"
            yield _table(("arm", "seeds", *names), cells)
        if adapted := by_seed(rows, task, "MAML", "starts", "MAML, 10 episodes") if "MAML" in arms else {}:
            yield f"MAML after 10 episodes of adaptation, {task}: {_spread(adapted)} m."


def _spread(values: Mapping[int, float]) -> str:
    """A median with its interval."""
    found = median_interval(list(values.values()))
    return f"{found.median:.3g} ({found.low:.3g} to {found.high:.3g})" if values else ""


def _tests(rows: Sequence[Row]) -> Iterable[str]:
    for family, (task, tests) in FAMILIES.items():
        pairs = [_values(rows, task, test) for test in tests]
        p_values = [paired(*of_common_seeds(*pair)).wilcoxon for pair in pairs]
        cells = []
        for test, pair, p, own in zip(tests, pairs, corrected(p_values, "holm"), p_values, strict=True):
            beside = mann_whitney(*(list(values.values()) for values in pair))
            medians = " and ".join(_spread(values) for values in pair)
            sizes = str(len(of_common_seeds(*pair)[0]))
            what = f"{task}, {test.first} against {test.second}: {test.statistic}, {test.condition}"
            effect = f"{beside.effect:.2g}" if all(pair) else ""
            cells.append((what, sizes, medians, *(_p(one) for one in (own, p, beside.p)), effect))
        yield f"### {family}"
        columns = ("test", "pairs", "medians", "p by pairs", "corrected", "Mann-Whitney", "P(first is above second)")
        yield _table(columns, cells)


def _values(rows: Sequence[Row], task: str, test: Compared) -> tuple[dict[int, float], dict[int, float]]:
    first, _, second = test.statistic.partition("/")
    arms = ((test.first, first), (test.second, second or first))
    one, other = (by_seed(rows, task, arm, test.condition, statistic) for arm, statistic in arms)
    return one, other


def _aims(rows: Sequence[Row]) -> Iterable[str]:
    cells = []
    for arm in DEPENDABLE:
        own = [row for row in rows if (row["task"], row["arm"], row["condition"]) == ("cheetah", arm, "starts")]
        repeats = [row["repeatability"] for row in own]
        reached = [value for row in own for value in row["best_of_all"].values()]
        values = dict(zip(AIMS, (repeats, reached), strict=True))
        cells += [
            (arm, name, f"{aim:g}", f"{np.median(values[name]):.4g}", "yes" if np.median(values[name]) >= aim else "no")
            for name, aim in AIMS.items()
            if values[name]
        ]
    yield _table(("cheetah", "statistic", "aim", "median", "met"), cells)


def _p(p: float | None) -> str:
    return "" if p is None else p_text(p)


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
