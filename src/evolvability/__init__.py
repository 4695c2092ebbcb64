"""Evolvability ES: optimize directly for parameters whose mutations behave in very different ways."""

import ast
import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evolvability.config.schema import Config as Config
    from evolvability.core.errors import ClusterError as ClusterError
    from evolvability.core.errors import ConfigError as ConfigError
    from evolvability.core.errors import RunFolderError as RunFolderError
    from evolvability.core.errors import TaskError as TaskError
    from evolvability.core.errors import UserError as UserError
    from evolvability.core.expectation import Distribution as Distribution
    from evolvability.core.expectation import box as box
    from evolvability.core.expectation import expect as expect
    from evolvability.core.expectation import expectation as expectation
    from evolvability.core.natural_gradient import natural_gradient as natural_gradient
    from evolvability.core.objectives import max_covariance as max_covariance
    from evolvability.core.objectives import max_entropy as max_entropy
    from evolvability.core.objectives import max_information as max_information
    from evolvability.core.objectives import max_variance as max_variance
    from evolvability.core.objectives import mean_fitness as mean_fitness
    from evolvability.core.objectives import sample_weights as sample_weights
    from evolvability.core.populations import Population as Population
    from evolvability.core.populations import diagonal_normal as diagonal_normal
    from evolvability.core.populations import low_rank as low_rank
    from evolvability.core.populations import mixture as mixture
    from evolvability.core.populations import normal as normal
    from evolvability.core.ramp import Ramp as Ramp
    from evolvability.core.shaping import centered_ranks as centered_ranks
    from evolvability.core.shaping import robust as robust
    from evolvability.core.shaping import standardize as standardize
    from evolvability.core.shaping import unshaped as unshaped
    from evolvability.core.stateful_objectives import StatefulObjective as StatefulObjective
    from evolvability.core.stateful_objectives import weighted_sum as weighted_sum
    from evolvability.core.strategy import Algorithm as Algorithm
    from evolvability.core.strategy import Info as Info
    from evolvability.core.strategy import State as State
    from evolvability.core.strategy import evolvability_es as evolvability_es
    from evolvability.core.types import Outcome as Outcome
    from evolvability.core.types import Parameters as Parameters
    from evolvability.core.types import Sample as Sample
    from evolvability.core.types import make_outcome as make_outcome
    from evolvability.runs.folder import Run as Run
    from evolvability.runs.picking import PickedMutation as PickedMutation
    from evolvability.runs.policy import TrainedPolicy as TrainedPolicy
    from evolvability.runs.policy import load_policy as load_policy
    from evolvability.studies.adaptation import pick_mutation as pick_mutation
    from evolvability.studies.offspring import measure as measure
    from evolvability.tasks.base import Task as Task
    from evolvability.tasks.circumstances import Circumstances as Circumstances
    from evolvability.tasks.from_world import task_from_world as task_from_world
    from evolvability.tasks.functions import function_task as function_task
    from evolvability.tasks.gymnasium import gymnasium_task as gymnasium_task
    from evolvability.tasks.options import Ends as Ends
    from evolvability.tasks.options import GymnasiumOptions as GymnasiumOptions
    from evolvability.tasks.options import RobotOptions as RobotOptions
    from evolvability.tasks.policies import Policy as Policy
    from evolvability.tasks.policies import gru as gru
    from evolvability.tasks.policies import mlp as mlp
    from evolvability.tasks.registry import make_task as make_task
    from evolvability.tasks.robots.robot_task import robot_task as robot_task
    from evolvability.tasks.simulators import simulator_task as simulator_task
    from evolvability.tasks.world import Goals as Goals
    from evolvability.tasks.world import Situation as Situation
    from evolvability.tasks.world import World as World
    from evolvability.training.ask_tell import AskTell as AskTell
    from evolvability.training.driver import TrainingResult as TrainingResult
    from evolvability.training.driver import evolve as evolve
    from evolvability.training.driver import resume as resume
    from evolvability.training.following import Generation as Generation
    from evolvability.training.following import StopTraining as StopTraining

__version__ = "0.1.0"


_block = next(node for node in ast.parse(Path(__file__).read_text("utf-8")).body if isinstance(node, ast.If))
_MODULES = {
    one.name: str(node.module) for node in _block.body if isinstance(node, ast.ImportFrom) for one in node.names
}
"""By each public name, its module: the imports above, which type checkers see and Python makes on demand."""
__all__ = sorted(_MODULES)  # noqa: PLE0605 (a list)


def __getattr__(name: str) -> Any:
    # Not at import: `import evolvability` alone loads no JAX.
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found = getattr(importlib.import_module(_MODULES[name]), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
