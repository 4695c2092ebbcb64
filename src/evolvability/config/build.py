"""From a configuration to the pieces it names."""

import inspect
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import optax

from evolvability.config.objective_text import names_in, normalize_objective, parse_objective
from evolvability.config.options import is_sum, no_object
from evolvability.config.pieces import Pieces, check_objective
from evolvability.config.schema import Config
from evolvability.core.entries import FROM_PYTHON, loaded, population_entry
from evolvability.core.errors import ConfigError
from evolvability.core.natural_gradient import natural_gradient
from evolvability.core.noise import Shapes
from evolvability.core.objectives import Objective
from evolvability.core.populations import Population
from evolvability.core.settings import Options
from evolvability.core.shaping import SHAPINGS
from evolvability.core.stateful_objectives import StatefulObjective, weighted_sum
from evolvability.core.strategy import Algorithm, evolvability_es
from evolvability.methods.registry import objective_entry


def build_population(config: Config, shapes: Shapes) -> Population:
    """The population a configuration asks for; shapes: of the task's parameters, see `Task.shapes`."""
    if config.population.startswith(FROM_PYTHON):
        raise no_object("population", config.population)
    options = asdict(config.population_options)
    decay, lowest = options.pop("sigma_decay", 1.0), options.pop("sigma_min", 0.0)
    if decay < 1:
        # One factor per generation, down to sigma_min where there is one.
        options["sigma"] = optax.exponential_decay(options["sigma"], 1, decay, end_value=lowest or None)
    try:
        population: Population = _made(population_entry(config.population).factory, options, shapes=shapes)
        return population
    except ValueError as error:
        raise ConfigError(str(error)) from None


def build_objective(config: Config, num_behaviors: int) -> Objective | StatefulObjective:
    """The objective a configuration asks for, of a task with so many behavior dimensions."""
    options = config.objective_options
    return _sum(config.objective, options if is_sum(config.objective) else {None: options}, num_behaviors)


def objective_named(text: str) -> Objective | StatefulObjective:
    """An objective or a sum of them by name, with the papers' settings.

    Examples:
        >>> objective = objective_named("mean_fitness + 0.1*max_entropy")
    """
    text = normalize_objective(text)
    for name in names_in(text):
        if (entry := objective_entry(name)).standalone:
            raise ConfigError(f"'{name}' trains in a way of its own: evolve(task, objective='{name}').")
        if "num_behaviors" in inspect.signature(loaded(entry.factory)).parameters:
            given = f"evolvability{entry.factory.replace(':', '.')}(num_behaviors=2)"
            raise ConfigError(f"'{name}' does not tell how many dimensions behaviors have. Give {given}.")
    return _sum(text, {name: objective_entry(name).options() for name in names_in(text)})


def _sum(text: str, options: Mapping[Any, Options], num_behaviors: int = 0) -> Objective | StatefulObjective:
    """A sum's terms; options: by term, or by None those of an objective that is alone."""
    parts = {}
    for name in names_in(text):
        own = asdict(options.get(name) or options[None])
        shaped = {key: SHAPINGS[value] if key.endswith("_shaping") else value for key, value in own.items()}
        parts[name] = _made(objective_entry(name).factory, shaped, num_behaviors=num_behaviors)
    if text in parts:
        return parts[text]
    return weighted_sum(*((weight, parts[name]) for weight, name in parse_objective(text)))


def _made(factory: str, options: Mapping[str, Any], **known: Any) -> Any:
    """What a factory makes of its options, and of what it asks for beside them."""
    make = loaded(factory)
    asked = inspect.signature(make).parameters
    return make(**options, **{name: value for name, value in known.items() if name in asked})


def build_algorithm(
    config: Config,
    population: Population,
    num_behaviors: int,
    pieces: Pieces = Pieces(),  # noqa: B008 (a tuple)
) -> Algorithm:
    """The strategy a configuration asks for, for a task with so many behavior dimensions, of some pieces given."""
    if pieces.objective is not None:
        check_objective(pieces.objective, num_behaviors)
    optimizer = pieces.optimizer or getattr(optax, config.optimizer)(config.learning_rate)
    if config.natural_gradient:
        # First in the chain: the optimizer's moments are those of the natural gradient.
        optimizer = optax.chain(natural_gradient(), optimizer)
    return evolvability_es(
        population,
        pieces.objective or build_objective(config, num_behaviors),
        optimizer,
        population_size=config.population_size,
        l2=config.l2,
        baseline=config.baseline,
    )
