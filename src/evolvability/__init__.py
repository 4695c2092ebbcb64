"""Evolvability ES: optimize directly for parameters whose mutations behave in very different ways."""

import ast
import functools
import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evolvability.config.schema import Config
    from evolvability.core.errors import ClusterError, ConfigError, RunFolderError, TaskError, UserError
    from evolvability.core.expectation import Distribution, box, expect, expectation
    from evolvability.core.natural_gradient import natural_gradient
    from evolvability.core.objectives import (
        max_covariance,
        max_entropy,
        max_information,
        max_variance,
        mean_fitness,
        sample_weights,
    )
    from evolvability.core.populations import Population, diagonal_normal, low_rank, mixture, normal
    from evolvability.core.ramp import Ramp
    from evolvability.core.shaping import centered_ranks, robust, standardize, unshaped
    from evolvability.core.stateful_objectives import StatefulObjective, weighted_sum
    from evolvability.core.strategy import Algorithm, Info, State, evolvability_es
    from evolvability.core.types import Outcome, Parameters, Sample, make_outcome
    from evolvability.runs.folder import Run
    from evolvability.runs.picking import PickedMutation
    from evolvability.runs.policy import TrainedPolicy, load_policy
    from evolvability.studies.adaptation import pick_mutation
    from evolvability.studies.offspring import measure
    from evolvability.tasks.base import Task
    from evolvability.tasks.circumstances import Circumstances
    from evolvability.tasks.from_world import task_from_world
    from evolvability.tasks.functions import function_task
    from evolvability.tasks.gymnasium import gymnasium_task
    from evolvability.tasks.options import Ends, GymnasiumOptions, RobotOptions
    from evolvability.tasks.policies import Policy, gru, mlp
    from evolvability.tasks.registry import make_task
    from evolvability.tasks.robots.robot_task import robot_task
    from evolvability.tasks.simulators import simulator_task
    from evolvability.tasks.world import Goals, Situation, World
    from evolvability.training.ask_tell import AskTell
    from evolvability.training.driver import TrainingResult, evolve, resume
    from evolvability.training.following import Generation, StopTraining

__version__ = "0.1.0"


@functools.cache
def _modules() -> dict[str, str]:
    """By each public name, its module: the imports above, which type checkers see and Python makes on demand."""
    block = next(node for node in ast.parse(Path(__file__).read_text("utf-8")).body if isinstance(node, ast.If))
    imports = [node for node in block.body if isinstance(node, ast.ImportFrom)]
    return {one.name: str(node.module) for node in imports for one in node.names}


def __getattr__(name: str) -> Any:
    # Not at import: `import evolvability` alone loads no JAX.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found = getattr(importlib.import_module(_modules()[name]), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


__all__ = [
    "Algorithm",
    "AskTell",
    "Circumstances",
    "ClusterError",
    "Config",
    "ConfigError",
    "Distribution",
    "Ends",
    "Generation",
    "Goals",
    "GymnasiumOptions",
    "Info",
    "Outcome",
    "Parameters",
    "PickedMutation",
    "Policy",
    "Population",
    "Ramp",
    "RobotOptions",
    "Run",
    "RunFolderError",
    "Sample",
    "Situation",
    "State",
    "StatefulObjective",
    "StopTraining",
    "Task",
    "TaskError",
    "TrainedPolicy",
    "TrainingResult",
    "UserError",
    "World",
    "box",
    "centered_ranks",
    "diagonal_normal",
    "evolvability_es",
    "evolve",
    "expect",
    "expectation",
    "function_task",
    "gru",
    "gymnasium_task",
    "load_policy",
    "low_rank",
    "make_outcome",
    "make_task",
    "max_covariance",
    "max_entropy",
    "max_information",
    "max_variance",
    "mean_fitness",
    "measure",
    "mixture",
    "mlp",
    "natural_gradient",
    "normal",
    "pick_mutation",
    "resume",
    "robot_task",
    "robust",
    "sample_weights",
    "simulator_task",
    "standardize",
    "task_from_world",
    "unshaped",
    "weighted_sum",
]
