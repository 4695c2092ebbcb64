"""The arms of the study and its sizes: what is trained, on which seeds, and in which circumstances it is judged."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from evolvability import Config
from evolvability.config.schema import layered
from evolvability.config.tables import merged
from evolvability.methods.registry import MAML
from evolvability.studies.sweeps import Planned, batches

START_NOISE = 0.1  # rad
TWO_DEVIATIONS = 2 / 12**0.5  # of centered ranks, whose standard deviation is that of a uniform distribution
TURNING = "1:0:60*max_variance+0:1:60*max_covariance"
FIRST_SEED = 200

CONDITIONS: dict[str, dict[str, float]] = {
    "starts": {},
    "friction": {"friction": 0.3},
    "mass": {"mass": 0.2},
    "pushes": {"push": 1.0},
}
"""What differs between the episodes in which a center is judged, all of them from start poses that differ."""
FAILED = "failed motor"
"""The condition in which one motor does nothing, each in turn, while mutations are picked and after."""


@dataclass(frozen=True)
class Arm:
    """One way to train a robot; all have as many episodes per generation."""

    task: str
    """The robot."""
    name: str
    """What it is called in rows and reports."""
    objective: str
    """The objective."""
    episodes: int = 1
    """Episodes per member."""
    start_noise: float = START_NOISE
    """By how much start poses differ in training, in radians."""
    seeds: int = 12
    """How many seeds it has, from the first of the study."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Its further settings."""

    @property
    def file_name(self) -> str:
        """Its name in those of files."""
        return self.name.replace(", ", "-").replace(" ", "-")


WITHOUT_FALLS = {"task_options": {"early_termination": False}}
RANKED_KERNEL = {"bandwidth": TWO_DEVIATIONS}
ARMS = (
    Arm("cheetah", "MaxVar, one start", "max_variance", start_noise=0.0),
    Arm("cheetah", "MaxVar", "max_variance"),
    Arm("cheetah", "MaxVar of means", "max_variance", episodes=2),
    Arm("cheetah", "MaxCov", "max_covariance", episodes=2),
    Arm("cheetah", "MaxInfo", "max_information", episodes=2, settings=RANKED_KERNEL),
    Arm("cheetah", "MaxVar to MaxCov", TURNING, episodes=2),
    Arm("ant", "MaxVar", "max_variance", settings=WITHOUT_FALLS),
    Arm("ant", "MaxEnt", "max_entropy", settings=WITHOUT_FALLS | {"bandwidth": 0.5**0.5}),
    Arm("ant", "MaxCov", "max_covariance", episodes=2, settings=WITHOUT_FALLS),
    Arm("ant", "MaxInfo", "max_information", episodes=2, settings=WITHOUT_FALLS | RANKED_KERNEL),
    Arm("ant", "MaxVar to MaxCov", TURNING, episodes=2, settings=WITHOUT_FALLS),
    Arm("ant", "MaxCov, falls end it", "max_covariance", episodes=2, seeds=6),
    Arm("cheetah", "MAML", MAML, seeds=6),
)
"""In the order of the plan, MAML last: it takes as long as all others."""


@dataclass(frozen=True)
class Scale:
    """How large the study is."""

    generations: int
    """Of all arms but MAML."""
    episodes: int
    """Per generation, in every arm."""
    first_seed: int
    """The first seed of every arm."""
    seeds: int
    """Of each arm, at most."""
    per_run: int
    """Seeds that are trained side by side."""
    mutations: int
    """Fresh mutations by which a center is judged: a multiple of `picked_from`."""
    picked_from: int
    """Mutations that one is picked from, in one episode each; a quarter of them has four."""
    task_options: Mapping[str, Any]
    """Of every robot."""
    maml: Mapping[str, Any]
    """Settings of MAML."""


SCALES = {
    # 1,250 outer steps of 40 tasks with 10 episodes before and 10 after adaptation: a million, as the others have.
    "full": Scale(100, 10_000, FIRST_SEED, 12, 4, 400, 40, {"num_steps": 1000}, {"generations": 1250}),
    "smoke": Scale(
        2,
        8,
        0,
        2,
        2,
        16,
        8,
        {"num_steps": 3, "hidden": 4, "solver_iterations": 1, "solver_line_search_iterations": 1},
        {"generations": 1, "tasks": 2, "episodes_per_task": 2, "iterations": 1, "line_search_steps": 1},
    ),
}


def config_of(arm: Arm, scale: Scale) -> Config:
    """The configuration of an arm, with all of its seeds."""
    robot = {"body": "paper", "start_noise": arm.start_noise, **scale.task_options}
    sizes: dict[str, Any] = {"seed": scale.first_seed, "seeds": min(arm.seeds, scale.seeds), "task_options": robot}
    # Of every run its first and last state are kept, and nothing between.
    generations = scale.maml["generations"] if arm.objective == MAML else scale.generations
    sizes |= {"generations": generations, "record_every": generations, "record_centers": False}
    if arm.objective == MAML:
        return layered(arm.task, objective=MAML, values=merged(sizes, scale.maml))
    sizes |= {"population_size": scale.episodes // arm.episodes, "episodes": arm.episodes, "noise_dtype": "bfloat16"}
    ranked = {"behavior_shaping": "centered_ranks", "l2": 0.005}
    # As a preset has them: options count as far as the objective, or a term of it, has them.
    return layered(arm.task, objective=arm.objective, offers=merged(sizes, ranked, arm.settings))


def runs_of(arm: Arm, scale: Scale, output: Path) -> Iterator[Planned]:
    """An arm's run folders, some seeds in each."""
    for run in batches(f"{arm.task}/{arm.file_name}", config_of(arm, scale), scale.per_run):
        yield replace(run, folder=output / "runs", slim=True)
