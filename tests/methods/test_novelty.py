"""Novelty search: its archive, its weights, its adaptive weight, and runs that carry a history."""

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.spatial.distance import cdist

from evolvability import AskTell, ConfigError, Run, evolve, function_task, resume
from evolvability.core.objectives import max_entropy, mean_fitness
from evolvability.core.ramp import Ramp
from evolvability.core.shaping import centered_ranks
from evolvability.core.stateful_objectives import StatefulObjective, center_outcome, lifted, weighted_sum
from evolvability.core.types import Outcome
from evolvability.methods import novelty as novelty_search
from evolvability.methods.novelty import Adapted, empty_archive, novelty, ns_es, nsr_es, nsra_es
from evolvability.runs.trees import named_arrays
from evolvability.tasks.simulators import simulator_task
from tests.conftest import clustered_outcome, compiled_outcome, compiled_weights

SETTINGS: dict[str, Any] = {"population_size": 32, "task_options": {"num_steps": 5, "hidden": 4}, "archive_size": 4}


add = jax.jit(novelty_search.add)


def center(behavior: Any, fitness: float = 0.0) -> Outcome:
    return compiled_outcome(np.atleast_2d(np.asarray(behavior, np.float32)), np.array([fitness], np.float32))


@pytest.mark.parametrize(("size", "num_neighbors"), [(50, 10), (3, 10), (50, 1)])
def test_novelty_is_the_mean_distance_to_the_nearest_in_the_archive(size: int, num_neighbors: int) -> None:
    generator = np.random.default_rng(0)
    known, behavior = generator.normal(size=(size, 2)), generator.normal(size=(20, 2))
    archive = add(empty_archive(64, 2), known, np.ones(size, bool))
    nearest = np.sort(cdist(behavior, known), axis=1)[:, :num_neighbors]
    np.testing.assert_allclose(novelty(jnp.asarray(behavior), archive, num_neighbors), nearest.mean(axis=1), rtol=1e-5)


def test_an_empty_archive_finds_nothing_novel() -> None:
    np.testing.assert_array_equal(novelty(jnp.ones((3, 2)), empty_archive(5, 2)), 0)


def test_a_full_archive_keeps_the_newest() -> None:
    archive = empty_archive(3, 1)
    for value in range(1, 6):  # two at a time, of which the second is invalid
        archive = add(archive, np.array([[value], [np.nan]]), np.array([True, False]))
    assert sorted(np.asarray(archive.behavior)[:, 0].tolist()) == [3, 4, 5]
    assert int(archive.added) == 5


def test_the_centers_behavior_is_the_mean_of_its_valid_members() -> None:
    result = clustered_outcome(6)._replace(valid=jnp.array([True, True, False, True, True, False]))
    found = jax.jit(center_outcome, static_argnums=2)(result, np.array([0, 1, 0, 1, 1, 2]), 3)
    mean = np.asarray(result.behavior)[[1, 3, 4]].mean(axis=0)
    np.testing.assert_allclose(np.asarray(found.behavior)[1], mean, rtol=1e-5)
    np.testing.assert_allclose(np.asarray(found.fitness)[0], np.asarray(result.fitness)[0])
    assert found.valid.tolist() == [True, True, False]


def test_weights_are_the_ranks_of_novelty_against_what_was_remembered() -> None:
    result, stateful = clustered_outcome(), ns_es(2, neighbors=1)
    history = stateful.remember(stateful.init(), center([6.0, 6.0]))
    weights, _ = compiled_weights(stateful.at(history, jnp.array(0)), result)
    distances = np.linalg.norm(np.asarray(result.behavior) - 6.0, axis=1)
    np.testing.assert_allclose(weights, jax.jit(centered_ranks)(distances.astype(np.float32), result.valid), atol=1e-6)


def test_reward_and_novelty_weigh_alike_in_nsr() -> None:
    result, stateful, search = clustered_outcome(), nsr_es(2), ns_es(2)
    seen = center([1.0, 2.0])
    weights, _ = compiled_weights(stateful.at(stateful.remember(stateful.init(), seen), jnp.array(0)), result)
    novel, _ = compiled_weights(search.at(search.remember(search.init(), seen), jnp.array(0)), result)
    fit, _ = compiled_weights(mean_fitness(), result)
    np.testing.assert_allclose(weights, (novel + fit) / 2, atol=1e-6)


def test_nsra_turns_to_novelty_when_fitness_stalls_and_back_when_it_rises() -> None:
    """Against the paper's algorithm 3, written out as a loop."""
    patience, change, weight, best, waited = 3, 0.25, 1.0, -np.inf, 0
    stateful = nsra_es(1, patience=patience, change=change)
    history: Adapted = stateful.init()
    remember = jax.jit(stateful.remember)
    weights = [weight]
    for fitness in np.random.default_rng(1).normal(0.3, size=80).cumsum():
        if fitness > best:
            best, waited, weight = fitness, 0, min(1.0, weight + change)
        else:
            waited += 1
        if waited >= patience:
            waited, weight = 0, max(0.0, weight - change)
        history = remember(history, center([0.0], float(fitness)))
        assert float(history.weight) == weight
        weights.append(weight)
    assert {-change, change} <= set(np.diff(weights))  # it went both ways


@pytest.mark.full
def test_weights_follow_their_schedule() -> None:
    result = clustered_outcome()
    stateful = weighted_sum((1.0, mean_fitness()), (Ramp(1.0, 0.0, 10), max_entropy()))
    fit, diverse = (compiled_weights(objective, result)[0] for objective in (mean_fitness(), max_entropy()))
    for generation, weight in ((0, 1.0), (4, 0.6), (30, 0.0)):
        weights, _ = compiled_weights(stateful.at(stateful.init(), jnp.array(generation)), result)
        np.testing.assert_allclose(weights, fit + weight * diverse, rtol=1e-4, atol=1e-5)


def test_an_ordinary_objective_has_no_history() -> None:
    objective = max_entropy()
    stateful = lifted(objective)
    assert jax.tree.leaves(stateful.init()) == []
    assert stateful.at((), jnp.array(7)) is objective
    assert lifted(stateful) is stateful


@pytest.mark.full
def test_a_run_with_a_history_resumes_bit_by_bit(tmp_path: Path) -> None:
    settings: dict[str, Any] = {"objective": "nsra_es+1:0:4*max_variance", "seeds": 2, **SETTINGS}
    settings["objective_options"] = {"nsra_es": {"patience": 2, "archive_size": settings.pop("archive_size")}}
    whole = evolve("point", generations=6, output=tmp_path / "whole", **settings)
    evolve("point", generations=3, output=tmp_path / "parts", **settings)
    resume(tmp_path / "parts", generations=6)
    again = evolve("point", generations=6, **settings)
    arrays = named_arrays(whole.state)
    assert arrays["history/0/archive/behavior"].shape == (2, 4, 2)
    assert arrays["history/0/archive/added"].tolist() == [6, 6]
    resumed = Run(tmp_path / "parts").checkpoint()
    for name, array in arrays.items():
        assert resumed[name].tobytes() == array.tobytes(), name
        assert named_arrays(again.state)[name].tobytes() == array.tobytes(), name


@pytest.mark.full
def test_chunks_and_components_and_hosts_remember_alike() -> None:
    settings: dict[str, Any] = {"objective": "ns_es", "generations": 2, "archive_size": 8}
    of_two: dict[str, Any] = {**SETTINGS, **settings, "population": "mixture", "components": 2}
    whole, chunked = (evolve("point", **{**of_two, "chunk_size": size}).state.history for size in (0, 8))
    assert whole.added.tolist() == [4]  # two components, two generations
    np.testing.assert_allclose(whole.behavior, chunked.behavior, atol=1e-6)

    def behavior(x: Any) -> Any:
        return [float(np.sin(3 * x[0])), float(x[1] ** 2)]

    class Simulator:
        def __call__(self, parameters: Any, seed: int) -> Any:
            return behavior(parameters)

    start = np.array([0.3, 0.5])
    tasks = (
        function_task(lambda x: jnp.array([jnp.sin(3 * x[0]), x[1] ** 2]), start),
        function_task(behavior, start, on_host=True),
        simulator_task(Simulator, start),
    )
    device, host, workers = (evolve(task, population_size=16, sigma=0.1, **settings) for task in tasks)
    for other in (host, workers):
        np.testing.assert_allclose(device.state.history.behavior, other.state.history.behavior, atol=1e-5)
        np.testing.assert_allclose(device.centers, other.centers, atol=1e-5)


def test_ask_and_tell_takes_an_objective_with_an_archive_but_not_its_name() -> None:
    loop = AskTell(jnp.zeros(3), population_size=8, objective=ns_es(num_behaviors=2))
    loop.tell(np.arange(16.0).reshape(8, 2))
    np.testing.assert_allclose(loop.state.history.behavior[0], [7.0, 8.0])
    with pytest.raises(ConfigError, match=r"does not tell how many dimensions.*ns_es\(num_behaviors=2\)"):
        AskTell(jnp.zeros(3), objective="0.5*ns-es")


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"objective": "1:0*max_entropy"}, "'1:0' in .*START:END:GENERATIONS"),
        ({"objective": "1:0:0.5*max_entropy"}, "'1:0:0.5' in .*START:END:GENERATIONS"),
        ({"objective": "ns_es", "neighbors": 0}, "neighbors must be 1 or more, got 0"),
        ({"objective": "nsra_es", "patience": 0}, "patience must be 1 or more, got 0"),
        ({"objective": "ns_es", "archive_size": 0}, "archive_size must be 1 or more, got 0"),
    ],
)
def test_bad_settings_are_named(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        evolve("point", **settings)


def test_fitness_is_asked_for_where_it_is_climbed() -> None:
    task = function_task(lambda x: x, jnp.ones(2))
    with pytest.raises(ConfigError, match=r"max_entropy\+nsr_es"):
        evolve(task, objective="max_entropy+nsr_es")


def test_statefuls_of_ones_own_are_objectives() -> None:
    """The mean distance from where the center was before."""

    def at(history: jax.Array, generation: jax.Array) -> Any:
        return lambda result, log_prob: mean_fitness()(
            result._replace(fitness=jnp.linalg.norm(result.behavior - history, axis=1)), log_prob
        )

    away = StatefulObjective(lambda: jnp.zeros(2), lambda history, centers: centers.behavior[0], at)
    loop = AskTell(jnp.zeros(2), population_size=8, objective=away)
    for _ in range(2):
        behavior = loop.ask()
        loop.tell(behavior)
    np.testing.assert_allclose(loop.state.history, behavior.mean(axis=0), rtol=1e-5)


def test_a_sum_may_have_terms_with_a_history() -> None:
    """It keeps their archive, and its weights are the sum of theirs."""
    objective = weighted_sum((1.0, mean_fitness()), (0.5, ns_es(2)))
    loop = AskTell(jnp.zeros(2), population_size=20, objective=objective)
    loop.tell(loop.ask(), fitness=np.arange(20.0))
    archive = loop.state.history[1]
    assert int(archive.added) == 1
    result = clustered_outcome()
    both, _ = compiled_weights(objective.at(loop.state.history, jnp.array(1)), result)
    novel, _ = compiled_weights(ns_es(2).at(archive, jnp.array(1)), result)
    np.testing.assert_allclose(both, compiled_weights(mean_fitness(), result)[0] + 0.5 * novel, rtol=1e-4, atol=1e-5)
