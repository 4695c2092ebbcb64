"""How large the paper's experiments are run: sizes by task and kind of run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from evolvability import Config
from evolvability.config.schema import PRESETS, layered
from evolvability.config.tables import merged
from evolvability.methods.registry import MAML
from evolvability.tasks.registry import ANT_LAPTOP, CHEETAH_LAPTOP
from evolvability_paper.items import Kind, Training

STUDIES: dict[str, dict[str, int]] = {
    "adapt": {"mutations": 40, "repeats": 10},
    "race": {"episodes": 40, "repeats": 10},
    "offspring": {"number": 1000},
}
"""The paper's numbers: of mutations to pick from, of further evaluations, of offspring."""


@dataclass(frozen=True)
class Scale:
    """Sizes of runs and studies."""

    summary: str
    """One line about its size and time."""
    seeds: Mapping[str, int]
    """How many seeds each training has, by kind of run; ``""`` is for kinds that are not named."""
    batch: Mapping[str, int]
    """How many seeds of a training run side by side, at most; by kind or task, likewise."""
    tasks: Mapping[str, Mapping[str, Any]]
    """Settings by task; those of a single training by its name, TASK/NAME."""
    kinds: Mapping[Kind, Mapping[str, Any]]
    """Further settings by kind of run, over those of the task."""
    studies: Mapping[str, Mapping[str, int]] = field(default_factory=lambda: STUDIES)
    """Arguments of studies, by kind."""
    quick_compilation: bool = False
    """Whether programs are so small that optimizing them takes longer than running them."""
    judged: bool = True
    """Whether its runs are large enough to say anything about the paper."""
    preset: str | None = None
    """Settings below all of these, by name; none for MAML, which has no such settings."""
    slim: bool = False
    """Whether finished runs keep only what figures, claims and further runs need of them."""

    def config(self, training: Training) -> Config:
        """The configuration of a training with all of its seeds; where it starts from is not set yet."""
        own = self.tasks[training.task], self.tasks.get(training.name, {}), self.kinds.get(training.kind, {})
        settings = merged(*own, training.settings)
        settings["seeds"] = self.seeds.get(training.kind, self.seeds[""])
        if training.task != "interference":
            settings["record_centers"] = False  # the last is kept; others are 300 kB per seed that no claim needs
        preset = None if training.kind == MAML else self.preset
        return layered(training.task, objective=training.objective, preset=preset, offers=settings)

    def batch_of(self, training: Training) -> int:
        """How many of a training's seeds run side by side."""
        return next(self.batch[name] for name in (training.kind, training.task, "") if name in self.batch)


def are_of(configs: Sequence[Config], scale: Scale) -> bool:
    """Whether the populations of some runs have the sizes and settings of a scale, as far as it has such runs."""
    # MAML has neither a population nor presets.
    known = [config for config in configs if config.task in scale.tasks and config.objective != MAML]
    return all(_telling(own) == _telling(scale.config(Training(own.task, own.objective))) for own in known)


def _telling(config: Config) -> list[Any]:
    """What tells scales and presets apart, numbers as somebody might type them."""
    known = vars(config) | config.options
    values = [known.get(name) for name in ("population_size", *PRESETS["released-code"][1])]
    values.append(getattr(config.task_options, "body", ""))
    return [round(value, 4) if isinstance(value, float) else value for value in values]


FURTHER = {"goal": "right", "generations": 21}  # generation 20, the last, is the population after 20 updates
SPECIES = {"population": "mixture", "components": 2}
PAPER_SEEDS = {"": 12, "species": 6, "split": 6}
FULL_KINDS: dict[Kind, dict[str, Any]] = {
    "species": SPECIES,
    "further": FURTHER,
    "split": {**SPECIES, "generations": 20},
    "maml": {"generations": 250},
    "few": {"population_size": 1000},
    "first leg": {"population_size": 1000, "generations": 20},
    "second leg": {"population_size": 1000, "generations": 80},
}
TINY = {
    "num_steps": 2,
    "hidden": 8,
    "observation_share": 0.5,
    "solver_iterations": 1,
    "solver_line_search_iterations": 1,
}


def _robots(**settings: Any) -> dict[str, dict[str, Any]]:
    """The same settings for both robots, and the defaults for the interference pattern."""
    return {"interference": {}, "cheetah": settings, "ant": settings}


def _full(population_size: int) -> dict[str, dict[str, Any]]:
    """The paper's sizes, but for its population. Of behaviors the first and the last: all others have histograms."""
    sizes = {"population_size": population_size, "generations": 100, "record_every": 100}
    return _robots(**sizes, noise_dtype="bfloat16", task_options={"num_steps": 1000})


SCALES: dict[str, Scale] = {
    "smoke": Scale(
        "under two minutes on two CPU cores, and worth nothing but that every step is taken",
        seeds={"": 5},
        batch={"": 5},
        tasks=_robots(population_size=8, generations=2, task_options=TINY)
        | {
            "interference": {"population_size": 50, "generations": 30, "record_every": 10},
            "ant/mean_fitness": {"generations": 21},  # as long as the further evolution that it is compared with
        },
        kinds={
            "species": {**SPECIES, "generations": 2},
            "further": FURTHER,
            "split": {**SPECIES, "generations": 2},
            "maml": {
                "generations": 1,
                "tasks": 2,
                "episodes_per_task": 2,
                "iterations": 1,
                "line_search_steps": 1,
            },
        },
        studies={
            "adapt": {"mutations": 4, "repeats": 2},
            "race": {"episodes": 4, "repeats": 1},
            "offspring": {"number": 20},
        },
        quick_compilation=True,
        judged=False,
    ),
    "laptop": Scale(
        "about three hours on two CPU cores",
        seeds={"": 4},
        batch={"": 4},
        tasks={"interference": {}, "cheetah": CHEETAH_LAPTOP, "ant": ANT_LAPTOP},  # those of the preset of that name
        kinds={**FULL_KINDS, "maml": {"generations": 30, "tasks": 8, "episodes_per_task": 5}},
        studies={**STUDIES, "offspring": {"number": 200}},
    ),
    "gpu": Scale(
        "about an hour on one large GPU, the paper's seeds, a tenth of its population",
        seeds=PAPER_SEEDS,
        batch={"": 12},
        tasks=_full(1000),
        kinds={**FULL_KINDS, "maml": {"generations": 100}},
    ),
    "paper": Scale(
        "the paper's own sizes, some hours on one large GPU",
        seeds=PAPER_SEEDS,
        # Two populations of 10,000 fill a GPU, and so one may stop after any two seeds of everything.
        batch={"": 2, "interference": 12, "few": 12, "first leg": 12, "second leg": 12},
        tasks=_full(10_000),
        kinds=FULL_KINDS,
        slim=True,
    ),
}
"""By name."""
