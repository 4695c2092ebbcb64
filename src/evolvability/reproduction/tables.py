"""The paper's tables S1 to S5, its hyperparameters, beside those of runs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from evolvability.config.schema import MAML, Config
from evolvability.runs.folder import Run


@dataclass(frozen=True)
class HyperparameterTable:
    """A table of the paper.

    Attributes:
        title: its number and subject.
        rows: a hyperparameter, the paper's setting, and that of the runs.
    """

    title: str
    rows: list[tuple[str, str, str]]


LOCOMOTION = (
    ("learning rate", "0.01", "learning_rate"),
    ("population standard deviation", "0.02", "sigma"),
    ("population size", "10,000", "population_size"),
    ("L2 regularization coefficient", "0.05", "l2"),
)
MAML_ROWS = (
    ("adaptation learning rate", "0.1", "inner_rate"),
    ("conjugate gradient damping", "1e-05", "damping"),
    ("conjugate gradient iterations", "10", "iterations"),
    ("max number of line search steps", "15", "line_search_steps"),
    ("line search backtrack ratio", "0.8", "line_search_ratio"),
    ("discount factor", "0.99", "discount"),
    ("adaptation batch size", "10", "episodes"),
    ("outer batch size", "40", "tasks"),
)


def _interference(rate: str) -> tuple[tuple[str, str, str], ...]:
    return (
        ("learning rate", rate, "learning_rate"),
        ("population standard deviation", "0.5", "sigma"),
        ("population size", "500", "population_size"),
    )


KERNEL = (("kernel standard deviation", "1", "bandwidth"),)


def _table(
    title: str, tasks: Sequence[str], objective: str, rows: Sequence[tuple[str, str, str]], runs: Sequence[Run]
) -> HyperparameterTable:
    configs = [
        run.config
        for run in runs
        if run.config.task in tasks and run.config.objective == objective and not run.config.start_from
    ]
    return HyperparameterTable(title, [(name, paper, _settings(configs, setting)) for name, paper, setting in rows])


def _settings(configs: Sequence[Config], setting: str) -> str:
    """The settings of some runs, each once."""
    values: list[Any] = [getattr(c.maml if c.objective == MAML else c, setting) for c in configs]
    texts = [f"{value:,}" if isinstance(value, int) else f"{value:g}" for value in values]
    return " and ".join(dict.fromkeys(texts)) or "no runs"


ROBOTS = ("cheetah", "ant")
TABLES: tuple[Callable[[Sequence[Run]], HyperparameterTable], ...] = (
    partial(_table, "Table S1: MaxVar, interference", ["interference"], "max_variance", _interference("0.03")),
    partial(_table, "Table S2: MaxEnt, interference", ["interference"], "max_entropy", _interference("0.1") + KERNEL),
    partial(_table, "Table S3: MaxVar, locomotion", ROBOTS, "max_variance", LOCOMOTION),
    partial(_table, "Table S4: MaxEnt, locomotion", ROBOTS, "max_entropy", LOCOMOTION + KERNEL),
    partial(_table, "Table S5: MAML", ["cheetah"], MAML, MAML_ROWS),
)
"""From runs to a table."""
