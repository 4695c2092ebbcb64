"""From a configuration to the pieces it names."""

from typing import Any

import jax.numpy as jnp
import optax

from evolvability.config import ES_MAML, Config, parse_objective, spelled
from evolvability.errors import ConfigError
from evolvability.natural import natural_gradient
from evolvability.noise import Shapes
from evolvability.objectives import OBJECTIVES, Objective, max_entropy, max_variance, mean_fitness, weighted_sum
from evolvability.populations import Population, diagonal_normal, low_rank, mixture, normal
from evolvability.shaping import SHAPINGS
from evolvability.strategy import Algorithm, evolvability_es


def build_population(config: Config, shapes: Shapes) -> Population:
    """The population a configuration asks for; shapes: of the task's parameters, see `Task.shapes`."""
    sigma: Any = config.sigma
    if config.sigma_decay < 1:
        sigma = optax.exponential_decay(config.sigma, 1, config.sigma_decay, end_value=config.sigma_min or None)
    shared: dict[str, Any] = {"mirrored": config.mirrored, "noise_dtype": jnp.dtype(config.noise_dtype)}
    if config.population == "diagonal_normal":
        return diagonal_normal(config.sigma, **shared)
    if config.population == "mixture":
        return mixture(config.components, sigma, **shared)
    if config.population == "low_rank":
        try:
            return low_rank(shapes, config.rank, sigma, **shared)
        except ValueError as error:
            raise ConfigError(str(error)) from None
    return normal(sigma, **shared)


def build_objective(config: Config) -> Objective:
    """The objective a configuration asks for."""
    behavior_shaping, fitness_shaping = SHAPINGS[config.behavior_shaping], SHAPINGS[config.fitness_shaping]
    parts: dict[str, Objective] = {
        "max_entropy": max_entropy(config.bandwidth, behavior_shaping, leave_one_out=config.leave_one_out),
        "max_variance": max_variance(behavior_shaping),
        "mean_fitness": mean_fitness(fitness_shaping),
    }
    if config.objective == ES_MAML:  # the task's fitness is that after adaptation
        return parts["mean_fitness"]
    return _sum(config.objective, parts)


def objective_named(text: str) -> Objective:
    """An objective or a sum of them by name, with the paper's settings.

    Examples:
        >>> objective = objective_named("mean_fitness + 0.1*max_entropy")
    """
    parts: dict[str, Objective] = {name: factory() for name, factory in OBJECTIVES.items()}
    return _sum(spelled(text), parts)


def _sum(text: str, parts: dict[str, Objective]) -> Objective:
    terms = [(weight, parts[name]) for weight, name in parse_objective(text)]
    return terms[0][1] if len(terms) == 1 and terms[0][0] == 1 else weighted_sum(*terms)


def build_algorithm(config: Config, population: Population) -> Algorithm:
    """The strategy a configuration asks for."""
    optimizer = getattr(optax, config.optimizer)(config.learning_rate)
    if config.natural_gradient:
        optimizer = optax.chain(natural_gradient(), optimizer)
    return evolvability_es(
        population,
        build_objective(config),
        optimizer,
        population_size=config.population_size,
        l2=config.l2,
        baseline=config.baseline,
    )
