r"""Evolvability search against Evolvability ES: how evolvable their centers are after so many evaluations.

    python examples/evolvability_search.py

Evolvability search is a genetic algorithm that selects for evolvability as it counts it. Each parent has the same
number of offspring, and its fitness is how many of them behave distinctly. The best parent lives on as it is; the
others are succeeded by mutations of the winners of tournaments. A parent's evolvability is judged by its own offspring
alone, so that every generation evaluates (parents x offspring) members and learns one number per parent: what
Evolvability ES replaces by one weight per member. It is written here of the library's parts, as a strategy of one's
own.

Reference: Mengistu, Lehman and Clune, *Evolvability search: directly selecting for evolvability in order to study and
produce it* (2016).

Trains both on the toy world and on the interference pattern, then draws 500 fresh mutations of the centers that each
run had on its way and counts how many of them behave distinctly. Writes evolvability_search.png and summary.json.

A parent's fitness is a count, and at most the number of its offspring: 16 of them tell parents apart worse than 64 do.
"""

import argparse
import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from evolvability import (
    Algorithm,
    Outcome,
    Parameters,
    Population,
    Run,
    Sample,
    State,
    Task,
    make_task,
    mixture,
    normal,
)
from evolvability.cli import main as ees
from evolvability.core.keys import Purpose, key_for
from evolvability.core.strategy import describe, sampler
from evolvability.core.types import PyTree
from evolvability.figures.registry import save_figure
from evolvability.figures.style import PAGE_WIDTH, letter, new_figure
from evolvability.runs.folder import spread_out
from evolvability.studies.measures import num_distinct
from evolvability.training.generation import start, step, whole

PARENTS = 16
SEARCH = "evolvability_search"
COMPARED: dict[str, tuple[str, int]] = {
    "evolvability search": (SEARCH, 1),
    "the same, four times the offspring": (SEARCH, 4),
    "MaxEnt-EES": ("max_entropy", 1),
    "MaxVar-EES": ("max_variance", 1),
}
"""An objective, and how many times the members of a generation that its task starts from."""
TASKS: dict[str, dict[str, Any]] = {
    "point": {"sigma": 0.05, "threshold": 1.0, "members": 256, "evaluations": 102_400},
    "interference": {"sigma": 0.5, "threshold": 0.5, "members": 512, "evaluations": 409_600},
}
NUM_FRESH, NUM_POINTS = 500, 25
COLORS = ("#56B4E9", "#0072B2", "#D55E00", "#009E73")


TOURNAMENT = 3  # parents drawn at random, of whom the most evolvable has a successor


def in_turn(population: Population) -> Population:
    """The same population, whose draws belong to one component after the other, so that all have equally many.

    It has no gradient: parents are not moved but succeeded.
    """

    def components(key: Array, generation: Array | int, draws: Array) -> Array:
        del key, generation
        return draws % population.num_components

    def sample(key: Array, parameters: Parameters, generation: Array | int, draws: Array) -> Sample:
        drawn = population.sample(key, parameters, generation, draws)
        # Noise does not depend on the component, so another can be put in its place.
        return drawn._replace(component=components(key, generation, draws))

    def gradient(sample: Sample, weights: Array) -> Parameters:
        del weights
        return Parameters(jnp.zeros_like(sample.center))

    return replace(population, components=components, sample=sample, gradient=gradient)


def count_distinct(behavior: Array, valid: Array, threshold: float) -> Array:
    """How many behaviors are distinct: one after the other, those at least a threshold from all counted before.

    behavior: (num_offspring, num_behaviors); valid: (num_offspring,) those that count at all.

    Examples:
        >>> int(count_distinct(jnp.array([[0.0], [0.4], [1.0], [1.3], [2.0]]), jnp.ones(5, bool), 0.5))
        3
    """
    squares = jnp.sum((behavior[:, None] - behavior) ** 2, axis=-1)

    def count(kept: Array, index: Array) -> tuple[Array, None]:
        # It is not kept yet itself, so its distance of zero to itself does not matter.
        is_new = valid[index] & ~jnp.any(kept & (squares[index] < threshold**2))
        return kept.at[index].set(is_new), None

    kept, _ = jax.lax.scan(count, jnp.zeros(len(behavior), bool), jnp.arange(len(behavior)))
    return jnp.sum(kept)


def evolvability_search(population: Population, *, population_size: int, threshold: float) -> Algorithm:
    """Evolvability search, with the parts of any strategy: parents are the population's components.

    What it remembers is how many distinct offspring each parent had, and to ascend is to reproduce; the weights of its
    members are zero, since no gradient is climbed. After a generation, the first parent is the best of the last.

    The population has one component per parent, which gets offspring `in_turn`; its size is that of all offspring.
    Those that differ by less than the threshold do the same, in units of behavior.
    """
    num_parents, num_signs = population.num_components, population.num_signs
    if population_size % (num_parents * num_signs):
        raise ValueError(f"population_size must be a multiple of {num_parents * num_signs}, got {population_size}.")
    draws = population.draws(population_size)

    def init(key: Array, centers: Array, memory: PyTree = ()) -> State:
        parameters = population.init(key_for(Purpose.START, key), centers)
        counts = jnp.zeros(num_parents, jnp.int32)
        return State(key, jnp.zeros((), jnp.int32), parameters, (), memory, counts)

    def remember(state: State, outcome: Outcome) -> State:
        def families(values: Array) -> Array:
            """(num_parents, num_offspring, ...): draws take turns, and mirrored offspring are neighbors."""
            by_turn = values.reshape(-1, num_parents, num_signs, *values.shape[1:])
            return jnp.swapaxes(by_turn, 0, 1).reshape(num_parents, -1, *values.shape[1:])

        count = jax.vmap(partial(count_distinct, threshold=threshold))
        return state._replace(history=count(families(outcome.behavior), families(outcome.valid)))

    def weigh(state: State, outcome: Outcome) -> tuple[Array, Array]:
        return jnp.zeros(len(outcome.valid)), jnp.max(state.history).astype(jnp.float32)

    def ascend(state: State, gradient: Parameters) -> State:
        del gradient
        key = jax.random.fold_in(key_for(Purpose.REPRODUCTION, state.key), state.generation)
        key_entrants, key_noise = jax.random.split(key)
        entrants = jax.random.randint(key_entrants, (num_parents, TOURNAMENT), 0, num_parents)
        winners = jnp.take_along_axis(entrants, jnp.argmax(state.history[entrants], axis=1)[:, None], axis=1)[:, 0]
        # Successors are drawn as offspring are: the mutations that are counted are those that are inherited.
        # Draws take turns, so draw i is a mutation of winner i.
        chosen = state.parameters._replace(center=state.parameters.center[winners])
        drawn = population.sample(key_noise, chosen, state.generation, jnp.arange(num_parents))
        best = state.parameters.center[jnp.argmax(state.history)]
        # One successor per draw: of mirrored ones, the first.
        centers = drawn.members()[::num_signs].at[0].set(best)
        return state._replace(generation=state.generation + 1, parameters=chosen._replace(center=centers))

    return Algorithm(init, sampler(population, draws), remember, weigh, ascend, partial(describe, population))


def search(
    task: Task, *, sigma: float, threshold: float, members: int, seeds: int, parents: int = PARENTS
) -> Iterator[State]:
    """The State before every generation of evolvability search, with a seed axis in front; without end."""
    population = in_turn(mixture(parents, sigma, mirrored=False))
    algorithm = evolvability_search(population, population_size=members, threshold=threshold)
    where = whole(algorithm, population, task)
    advance = jax.jit(jax.vmap(lambda state: step(algorithm, where, state)[0]))
    state = jax.jit(jax.vmap(partial(start, algorithm, task, parents)))(jax.vmap(jax.random.key)(jnp.arange(seeds)))
    while True:
        yield state
        state = advance(state)


def course(task: Task, settings: dict[str, Any], centers: Iterable[Any]) -> Any:
    """(num_seeds, num_points) distinct fresh offspring of centers, each (num_seeds, num_components, num_params).

    Of evolvability search, the first is its best parent.
    """
    mutations = normal(settings["sigma"], mirrored=False)

    @jax.jit
    def behaviors(center: Any) -> Any:
        fresh = mutations.sample(jax.random.key(7), Parameters(center[:1]), 0, jnp.arange(NUM_FRESH))
        return task.evaluate(jax.random.key(8), fresh, task.memory)[0].behavior

    threshold = settings["threshold"]
    return np.array([[num_distinct(np.asarray(behaviors(own)), threshold) for own in every] for every in centers]).T


def evaluations_to(levels: Any, evaluations: Any, distinct: Any) -> Any:
    """(num_seeds, num_levels) when each seed first had so many distinct offspring; infinite where it never had."""
    reached = distinct[:, None, :] >= levels[:, None]
    return np.where(reached.any(axis=2), evaluations[reached.argmax(axis=2)], np.inf)


def main() -> None:
    """Run what is missing, measure, draw, and say how many evaluations each needs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=Path("runs/evolvability-search"), help="folder for all of it")
    parser.add_argument("--seeds", type=int, default=5, help="seeds of each method")
    parser.add_argument("--shorter", type=int, default=1, help="so many times fewer generations")
    arguments = parser.parse_args()
    found: dict[str, dict[str, tuple[Any, Any]]] = {}
    for name_of_task, settings in TASKS.items():
        task = make_task(name_of_task)
        for name, (objective, times) in COMPARED.items():
            members = times * settings["members"]
            number = max(2, settings["evaluations"] // members // arguments.shorter)
            looked_at = sorted({*spread_out(range(number), NUM_POINTS), *range(min(number, 16))})
            if objective == SEARCH:
                given = {"sigma": settings["sigma"], "threshold": settings["threshold"], "members": members}
                states = zip(range(number), search(task, seeds=arguments.seeds, **given), strict=False)
                centers = [np.asarray(state.parameters.center) for place, state in states if place in looked_at]
            else:
                path = arguments.output / f"{name_of_task}-{objective}-{times}"
                if not (path / "config.toml").exists():
                    options = ["--population-size", str(members), "--generations", str(number), "--record-every", "1"]
                    options += ["--sigma", str(settings["sigma"])]
                    seeds = ["--seeds", str(arguments.seeds), "--output", str(path), "--quiet"]
                    ees(["train", name_of_task, "--objective", objective, *options, *seeds])
                centers = [Run(path).drawn_around(place)["parameters/center"] for place in looked_at]
            found.setdefault(name_of_task, {})[name] = members * np.array(looked_at), course(task, settings, centers)

    summary: dict[str, Any] = {}
    for name_of_task, courses in found.items():
        highest = max(float(np.median(distinct, axis=0).max()) for _, distinct in courses.values())
        levels = np.unique(np.round(highest * np.array([0.25, 0.5, 0.75, 0.9])))
        print(f"{name_of_task}: evaluations to so many distinct of {NUM_FRESH} offspring, median over seeds")
        print(f"  {'':36s}" + "".join(f"{level:12,.0f}" for level in levels))
        summary[name_of_task] = {"levels": levels.tolist(), "evaluations": {}}
        for name, own in courses.items():
            needed = np.median(evaluations_to(levels, *own), axis=0)
            summary[name_of_task]["evaluations"][name] = [None if np.isinf(value) else float(value) for value in needed]
            print(f"  {name:36s}" + "".join(f"{value:12,.0f}" for value in needed))
    (arguments.output / "summary.json").write_text(json.dumps(summary, indent=2) + "\n")
    print(f"The picture: {save_figure(lambda: draw(found), arguments.output / 'evolvability_search.png')}")


def draw(found: dict[str, dict[str, tuple[Any, Any]]]) -> Any:
    """Evolvability over evaluations, and beside it the evaluations that a level needs: one row per task."""
    drawing = new_figure(PAGE_WIDTH, 2.3 * len(found) + 0.5)
    axes = drawing.subplots(len(found), 2, squeeze=False)
    for row, (task, courses) in enumerate(found.items()):
        left, right = axes[row]
        for (name, (evaluations, distinct)), color in zip(courses.items(), COLORS, strict=True):
            low, middle, high = np.quantile(distinct, (0, 0.5, 1), axis=0)
            left.plot(evaluations, middle, label=name, color=color)
            left.fill_between(evaluations, low, high, color=color, alpha=0.15, linewidth=0)
            levels = np.arange(1, distinct.max() + 1)
            needed = np.median(evaluations_to(levels, evaluations, distinct), axis=0)
            right.plot(levels[np.isfinite(needed)], needed[np.isfinite(needed)], color=color, drawstyle="steps-post")
        smallest = TASKS[task]["members"]
        left.set(xlabel="evaluations", ylabel=f"distinct of {NUM_FRESH} offspring", xscale="log", ylim=(0, None))
        left.set_xlim(smallest, None)
        right.set(xlabel="distinct offspring, at least", ylabel="evaluations needed", yscale="log", xlim=(0, None))
        right.set_ylim(smallest, None)
        for index, ax, text in ((2 * row, left, "the center's or best parent's"), (2 * row + 1, right, "median seed")):
            ax.grid(visible=True)
            letter(ax, index, f"{task}: {text}")
    drawing.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return drawing


if __name__ == "__main__":
    main()
