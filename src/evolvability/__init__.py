"""Evolvability ES: optimize directly for parameters whose mutations behave in very different ways."""

from evolvability.asktell import AskTell
from evolvability.config import Config
from evolvability.errors import ConfigError, RunFolderError, TaskError, UserError
from evolvability.expectation import Distribution, box, expect, expectation
from evolvability.natural import natural_gradient
from evolvability.objectives import max_entropy, max_variance, mean_fitness, sample_weights, weighted_sum
from evolvability.populations import Population, diagonal_normal, low_rank, mixture, normal
from evolvability.runs import Run
from evolvability.strategy import Algorithm, Info, State, evolvability_es
from evolvability.studies.adaptation import pick_mutation
from evolvability.studies.offspring import measure
from evolvability.tasks.base import Task
from evolvability.tasks.functions import function_task
from evolvability.tasks.registry import make_task
from evolvability.training import Result, evolve, resume
from evolvability.types import Cloud, Outcome, Sample, outcome

__version__ = "0.1.0"

__all__ = [
    "Algorithm",
    "AskTell",
    "Cloud",
    "Config",
    "ConfigError",
    "Distribution",
    "Info",
    "Outcome",
    "Population",
    "Result",
    "Run",
    "RunFolderError",
    "Sample",
    "State",
    "Task",
    "TaskError",
    "UserError",
    "box",
    "diagonal_normal",
    "evolvability_es",
    "evolve",
    "expect",
    "expectation",
    "function_task",
    "low_rank",
    "make_task",
    "max_entropy",
    "max_variance",
    "mean_fitness",
    "measure",
    "mixture",
    "natural_gradient",
    "normal",
    "outcome",
    "pick_mutation",
    "resume",
    "sample_weights",
    "weighted_sum",
]
