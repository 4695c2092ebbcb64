"""How long a generation will take, from a few of its members: said before somebody waits for the first."""

import time

import jax

from evolvability.core.keys import episode_key
from evolvability.core.strategy import Algorithm
from evolvability.runs.files import command_line
from evolvability.runs.picking import evaluator
from evolvability.tasks.registry import task_entry
from evolvability.training.evolution import Evolution
from evolvability.training.progress import duration

PROBED = 64
"""Members that are tried."""
MANY = 32 * PROBED
"""Members per generation from which on it is worth the wait."""
PATIENCE = 3600.0
"""Seconds from which on a smaller preset is suggested."""


def seconds_per_generation(evolution: Evolution) -> float | None:
    """An estimate by some members, evaluated twice since the first time compiles; None where it would tell nothing.

    On an accelerator few members take as long as many, and workers tell by themselves how far they are.
    """
    config, algorithm = evolution.config, evolution.algorithm
    members = config.population_size * config.seeds
    on_host = evolution.task.on_host
    # Functions of the user's own are not called more often than they have to be.
    is_own = on_host and ":" in config.task
    elsewhere = evolution.evaluator is not None or is_own or (jax.default_backend() != "cpu" and not on_host)
    if members < MANY or elsewhere or config.explores or not isinstance(algorithm, Algorithm):
        return None
    state = jax.tree.map(lambda leaf: leaf[0], evolution.start())
    sample = algorithm.ask(state, evolution.population.draws(PROBED))
    evaluate = evaluator(evolution.task)
    for _ in range(2):
        began = time.perf_counter()
        jax.block_until_ready(evaluate(episode_key(state.key, state.generation), sample, state.memory))
        seconds = time.perf_counter() - began
    return seconds * members / PROBED


def in_all(task: str, seconds: float) -> str:
    """What to say of a run that takes so many seconds; of a long one, which preset takes minutes."""
    text = f"about {duration(seconds)} in all, besides compiling, as {PROBED} members tell"
    if seconds < PATIENCE or "laptop" not in task_entry(task).presets:
        return text
    return f"{text}. Minutes on a CPU are enough to see the effect: {command_line('train', task, '--preset', 'laptop')}"
