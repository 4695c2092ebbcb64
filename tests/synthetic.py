"""Run folders made up for tests, where the answer is known."""

from pathlib import Path
from typing import Any

import numpy as np

from evolvability import Run
from evolvability.config.schema import Config, layered, to_table
from evolvability.runs.writer import RunWriter

Array = np.ndarray[Any, Any]


def config(task: str = "point", **values: Any) -> Config:
    return layered(task, values={"population_size": 4, "generations": 2, **values})


def made_up(
    path: Path,
    config: Config,
    behavior: Array | None = None,
    *,
    component: Array | None = None,
    origin: Config | None = None,
    **metrics: Array,
) -> Run:
    """A run folder.

    Args:
        path: where.
        config: its configuration.
        behavior: (num_seeds, num_members, num_behaviors) of its last generation.
        component: (num_seeds, num_members).
        origin: the configuration of the run it started from.
        **metrics: (num_seeds, num_generations) each.
    """
    path.mkdir(parents=True)
    writer = RunWriter(path)
    writer.create(config, None if origin is None else {"run": "elsewhere", "config": to_table(origin)})
    for generation in range(len(next(iter(metrics.values()))[0]) if metrics else 0):
        rows = []
        for k in range(config.seeds):
            own = {name: float(values[k, generation]) for name, values in metrics.items()}
            rows.append({"generation": generation, "seed": config.seed + k, **own})
        writer.append("metrics.jsonl", rows)
    if behavior is not None:
        shape = behavior.shape[:2]
        arrays = {
            "behavior": behavior.astype(np.float32),
            "fitness": np.zeros(shape, np.float32),
            "valid": np.ones(shape, bool),
            "component": np.zeros(shape, np.uint16) if component is None else component.astype(np.uint16),
        }
        writer.record("behaviors", config.generations - 1, arrays)
    return Run(path)
