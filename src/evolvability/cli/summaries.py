"""A run in a few lines, from its folder."""

from typing import Any

import numpy as np
from rich.console import Group
from rich.table import Table
from rich.text import Text

from evolvability.config.schema import MAML, to_table
from evolvability.runs.folder import Run

SHOWN = (
    "objective",
    "variance",
    "entropy",
    "distance",
    "fitness_before",
    "fitness_mean",
    "fitness_max",
    "center_norm",
    "num_invalid",
)
MAML_KNOBS = ("tasks", "episodes", "inner_rate", "discount", "trust_region", "start_std")
KNOBS = ("population", "population_size", "sigma", "mirrored", "optimizer", "learning_rate", "l2", "bandwidth")


def summary_line(run: Run) -> str:
    """What became of a run, in one line."""
    metrics = run.metrics
    if not metrics:
        return f"{run.path}: no generation yet"
    parts = [
        f"{label} {_median(metrics[name][:, 0]):.4g} -> {_median(metrics[name][:, -1]):.4g}"
        for name, label in (("variance", "variance"), ("entropy", "entropy"), ("fitness_mean", "fitness"))
        if np.isfinite(metrics[name][:, -1]).any()
    ]
    seconds = metrics["seconds"][0].sum()
    return f"{run.path}: {', '.join(parts)} in {metrics['generation'].shape[1]} generations, {seconds:.1f} s"


def summary_table(run: Run) -> Group:
    """A run's configuration and its metrics at the start, the middle and the end; several seeds by their medians."""
    config = to_table(run.config)
    metrics = run.metrics
    done = metrics["generation"].shape[1] if metrics else 0
    seeds = f"seed {run.config.seed}" if run.config.seeds == 1 else f"{run.config.seeds} seeds, medians"
    title = (
        f"{run.path}: {run.config.task}, {run.config.objective}, {seeds}, {done}/{run.config.generations} generations"
    )
    knobs, table_of_knobs = (MAML_KNOBS, config[MAML]) if run.config.objective == MAML else (KNOBS, config)
    caption = ", ".join(f"{knob} {table_of_knobs[knob]}" for knob in knobs)
    table = Table()
    table.add_column("generation")
    columns = sorted({0, done // 2, done - 1}) if done else []
    for column in columns:
        table.add_column(str(column), justify="right")
    for name in SHOWN:
        values = [_median(metrics[name][:, column]) for column in columns] if name in metrics else []
        if values and np.isfinite(values).any():
            table.add_row(name.replace("_", " "), *(f"{value:.5g}" for value in values))
    # Beside the table, not its title and caption: those would be wrapped to the table's width.
    return Group(Text(title, style="bold"), *([table] if columns else []), Text(caption, style="dim"))


def _median(values: np.ndarray[Any, Any]) -> float:
    finite = values[np.isfinite(values)]
    return float(np.median(finite)) if finite.size else float("nan")
