"""From a configuration to the pieces it names."""

from collections.abc import Mapping
from typing import Any

import jax.numpy as jnp
import optax

from evolvability.config.objective_text import (
    ES_MAML,
    EVOLVABILITY_SEARCH,
    names_in,
    normalize_objective,
    parse_objective,
)
from evolvability.config.pieces import Pieces, check_objective, no_object
from evolvability.config.schema import Config
from evolvability.core.errors import ConfigError
from evolvability.core.natural_gradient import natural_gradient
from evolvability.core.noise import Shapes
from evolvability.core.objectives import (
    Objective,
    max_covariance,
    max_entropy,
    max_information,
    max_variance,
    mean_fitness,
)
from evolvability.core.populations import Population, diagonal_normal, low_rank, mixture, normal
from evolvability.core.shaping import SHAPINGS
from evolvability.core.stateful_objectives import StatefulObjective, weighted_sum
from evolvability.core.strategy import Algorithm, evolvability_es
from evolvability.methods.evolvability_search import evolvability_search, in_turn
from evolvability.methods.novelty import ns_es, nsr_es, nsra_es
from evolvability.methods.quality_evolvability import qe_es
from evolvability.methods.registry import KEEP_ARCHIVE, OBJECTIVES
from evolvability.tasks.registry import FROM_PYTHON


def build_population(config: Config, shapes: Shapes) -> Population:
    """The population a configuration asks for; shapes: of the task's parameters, see `Task.shapes`."""
    if config.population.startswith(FROM_PYTHON):
        raise no_object("population", config.population)
    sigma: Any = config.sigma
    if config.sigma_decay < 1:
        # One factor per generation, down to sigma_min where there is one.
        sigma = optax.exponential_decay(config.sigma, 1, config.sigma_decay, end_value=config.sigma_min or None)
    shared: dict[str, Any] = {"mirrored": config.mirrored, "noise_dtype": jnp.dtype(config.noise_dtype)}
    if config.population == "diagonal_normal":
        # Without a schedule: it learns its sigma.
        return diagonal_normal(config.sigma, **shared)
    if config.population == "mixture":
        species = mixture(config.components, sigma, **shared)
        # Draws take turns, so that all parents have equally many offspring; otherwise components are drawn.
        return in_turn(species) if config.objective == EVOLVABILITY_SEARCH else species
    if config.population == "low_rank":
        try:
            return low_rank(shapes, config.rank, sigma, **shared)
        except ValueError as error:
            raise ConfigError(str(error)) from None
    return normal(sigma, **shared)


def build_objective(config: Config, num_behaviors: int) -> Objective | StatefulObjective:
    """The objective a configuration asks for, of a task with so many behavior dimensions."""
    behavior_shaping, fitness_shaping = SHAPINGS[config.behavior_shaping], SHAPINGS[config.fitness_shaping]
    entropy = max_entropy(config.bandwidth, behavior_shaping, leave_one_out=config.leave_one_out)
    search: dict[str, Any] = {
        "num_behaviors": num_behaviors,
        "num_neighbors": config.neighbors,
        "archive_size": config.archive_size,
        "shaping": fitness_shaping,
    }
    if config.objective == ES_MAML:  # the task's fitness is that after adaptation
        return mean_fitness(fitness_shaping)
    # All of them, whichever is asked for: making one costs nothing, as archives come with `init`.
    parts: dict[str, Objective | StatefulObjective] = {
        "max_entropy": entropy,
        "max_variance": max_variance(behavior_shaping),
        "max_covariance": max_covariance(behavior_shaping),
        "max_information": max_information(config.bandwidth, behavior_shaping),
        "mean_fitness": mean_fitness(fitness_shaping),
        "ns_es": ns_es(**search),
        "nsr_es": nsr_es(**search),
        "nsra_es": nsra_es(patience=config.patience, **search),
        "qe_es": qe_es() if config.diversity == "variance" else qe_es(entropy, crowding=False),
    }
    return _sum(config.objective, parts)


def objective_named(text: str) -> Objective | StatefulObjective:
    """An objective or a sum of them by name, with the papers' settings.

    Examples:
        >>> objective = objective_named("mean_fitness + 0.1*max_entropy")
    """
    text = normalize_objective(text)
    for name in names_in(text).intersection(KEEP_ARCHIVE):
        given = f"evolvability.methods.novelty.{name}(num_behaviors=2)"
        raise ConfigError(f"'{name}' does not tell how many dimensions behaviors have. Give {given}.")
    return _sum(text, {name: OBJECTIVES[name]() for name in names_in(text)})


def _sum(text: str, parts: Mapping[str, Objective | StatefulObjective]) -> Objective | StatefulObjective:
    terms = [(weight, parts[name]) for weight, name in parse_objective(text)]
    # A single term of weight 1 stays itself, the same objective as without a sum.
    return terms[0][1] if len(terms) == 1 and terms[0][0] == 1 else weighted_sum(*terms)


def build_algorithm(
    config: Config,
    population: Population,
    num_behaviors: int,
    pieces: Pieces = Pieces(),  # noqa: B008 (a tuple)
) -> Algorithm:
    """The strategy a configuration asks for, for a task with so many behavior dimensions, of some pieces given."""
    if config.objective == EVOLVABILITY_SEARCH:
        return evolvability_search(population, population_size=config.population_size, threshold=config.threshold)
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
