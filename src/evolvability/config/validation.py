"""What settings of a run ask of each other."""

from typing import Any

from evolvability.config.objective_text import names_in
from evolvability.core.entries import population_entry
from evolvability.core.errors import given
from evolvability.core.settings import check_rules, require
from evolvability.methods.registry import MAML, BehaviorOptions, objective_entry
from evolvability.tasks.directions import check_goal


def validate(config: Any) -> None:
    """Of a `Config`, each value by itself, by its field's rule; then what settings ask of each other."""
    check_rules(config)

    def must(holds: bool, key: str, expected: str) -> None:
        require(config, holds, key, expected)

    mirrored, population = config.population_options.mirrored, population_entry(config.population)
    terms = {name: objective_entry(name) for name in names_in(config.objective)}
    even = config.population_size % 2 == 0 or not mirrored
    must(even, "population_size", f"even, since mirrored members come in pairs (or give {given(mirrored=False)})")
    # Two mirrored behaviors are equally far from their mean: both weigh the same, and nothing but rounding is left.
    of_spread = [issubclass(term.options, BehaviorOptions) and not term.needs_fitness for term in terms.values()]
    pulls = config.population_size > 2 or not mirrored or not all(of_spread)
    must(pulls, "population_size", "4 or more for mirrored members: the two of one pair would not move the center")
    compared = [name for name, term in terms.items() if term.compares_episodes]
    several = f"2 or more for {' and '.join(compared)}, which compare episodes of the same member"
    must(config.episodes > 1 or not compared, "episodes", several)
    # Chunks of one size: a compiled loop has one shape.
    chunk = config.chunk_size or config.population_size
    must(
        chunk > 0 and config.population_size % chunk == 0 and (chunk % 2 == 0 or not mirrored),
        "chunk_size",
        f"0, or a divisor of the population's {config.population_size} members that keeps mirrored pairs together",
    )
    natural = f"off for {config.population}, where {population.fixed_sigma} (set learning_rate)"
    must(not population.fixed_sigma or not config.natural_gradient, "natural_gradient", natural)
    if config.objective == MAML:
        must(config.population == "normal", "population", "normal for MAML, which trains one center")
        must(not config.goal, "goal", "empty for MAML, which draws its goals")
        must(config.chunk_size == 0, "chunk_size", "0 for MAML, whose episodes are not a population's")
        must(config.episodes == 1, "episodes", "1 for MAML, which has a number of its own (episodes_per_task)")
    if config.explores:
        by_strategy = not any(term.standalone for term in terms.values())
        must(by_strategy, "objective", "one that a strategy climbs where actions are drawn (estimator, action_std)")
        must(config.chunk_size == 0, "chunk_size", "0 where actions are drawn: whole episodes are kept")
        must(config.episodes == 1, "episodes", "1 where actions are drawn (estimator, action_std)")
    if config.estimator == "actions":
        must(config.action_std > 0, "action_std", "positive for estimator actions: only drawn actions have a score")
        must(bool(population.fixed_sigma), "population", "another for estimator actions, which learns centers alone")
    if config.goal:
        check_goal(config.goal)
