"""Evolvability ES: optimize directly for parameters whose mutations behave in very different ways."""

from evolvability.config.schema import Config
from evolvability.core.errors import ConfigError, RunFolderError, TaskError, UserError
from evolvability.core.expectation import Distribution, box, expect, expectation
from evolvability.core.natural_gradient import natural_gradient
from evolvability.core.objectives import max_entropy, max_variance, mean_fitness, sample_weights
from evolvability.core.populations import Population, diagonal_normal, low_rank, mixture, normal
from evolvability.core.stateful_objectives import weighted_sum
from evolvability.core.strategy import Algorithm, Info, State, evolvability_es
from evolvability.core.types import Outcome, Parameters, Sample, make_outcome
from evolvability.runs.folder import Run
from evolvability.runs.picking import PickedMutation
from evolvability.runs.policy import TrainedPolicy, load_policy
from evolvability.studies.adaptation import pick_mutation
from evolvability.studies.offspring import measure
from evolvability.tasks.base import Task
from evolvability.tasks.functions import function_task
from evolvability.tasks.registry import make_task
from evolvability.training.ask_tell import AskTell
from evolvability.training.driver import TrainingResult, evolve, resume

__version__ = "0.1.0"

__all__ = [
    "Algorithm",
    "AskTell",
    "Config",
    "ConfigError",
    "Distribution",
    "Info",
    "Outcome",
    "Parameters",
    "PickedMutation",
    "Population",
    "Run",
    "RunFolderError",
    "Sample",
    "State",
    "Task",
    "TaskError",
    "TrainedPolicy",
    "TrainingResult",
    "UserError",
    "box",
    "diagonal_normal",
    "evolvability_es",
    "evolve",
    "expect",
    "expectation",
    "function_task",
    "load_policy",
    "low_rank",
    "make_outcome",
    "make_task",
    "max_entropy",
    "max_variance",
    "mean_fitness",
    "measure",
    "mixture",
    "natural_gradient",
    "normal",
    "pick_mutation",
    "resume",
    "sample_weights",
    "weighted_sum",
]
