"""The strategy: what it finds on tasks whose answer is known."""

import re
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import evolvability
from evolvability import AskTell, TaskError, evolve, function_task, max_variance, mean_fitness, normal
from evolvability.core.keys import Purpose, key_for, noise_key
from evolvability.core.objectives import max_entropy
from evolvability.core.strategy import evolvability_es
from evolvability.tasks.interference import MOST_EVOLVABLE
from evolvability.tasks.options import PointOptions
from evolvability.tasks.point import point
from evolvability.training.generation import in_chunks, start, step, whole


@pytest.mark.parametrize(
    ("objective", "seeds"),
    [
        ("max_variance", 1),
        pytest.param("max_variance", 10, marks=pytest.mark.full),
        pytest.param("max_entropy", 10, marks=pytest.mark.full),
    ],
)
def test_both_variants_find_the_most_evolvable_point(objective: str, seeds: int) -> None:
    """Figure 1: from x = 1 with the paper's hyperparameters, every seed ends within 0.15 of 5 pi / 2."""
    result = evolve("interference", objective=objective, seeds=seeds)
    assert result.metrics["generation"].shape == (seeds, 2000)
    assert np.max(np.abs(result.centers - MOST_EVOLVABLE)) < 0.15


@pytest.mark.full
def test_standard_es_on_behavior_as_fitness_does_not() -> None:
    result = evolve("interference", objective="mean_fitness", seeds=10)
    assert np.min(np.abs(result.centers - MOST_EVOLVABLE)) > 1.0


def distances(objective: str) -> np.ndarray:
    """How far the best of 40 mutations gets in each of 8 directions, after training on the toy world."""
    result = evolve("point", objective=objective, generations=40)
    task, cloud = result.task, jax.tree.map(lambda leaf: leaf[0], result.state.parameters)
    sample = normal(0.05).sample(jax.random.key(5), cloud, 0, jnp.arange(20))
    outcome, _ = task.evaluate(jax.random.key(0), sample, ())
    angles = jnp.arange(8) * jnp.pi / 4
    return np.asarray((outcome.behavior @ jnp.stack([jnp.cos(angles), jnp.sin(angles)])).max(axis=0))


@pytest.mark.full
def test_evolvability_pays_in_the_toy_world() -> None:
    """The best of 40 mutations of an evolvable center goes far in every direction; of a standard-ES center, in one."""
    evolvable, standard = distances("max_entropy"), distances("mean_fitness")
    assert evolvable.min() > 5.0
    assert standard.max() > 5.0
    assert standard.min() < 0.0


@pytest.mark.full
def test_a_mixture_learns_each_of_its_centers() -> None:
    result = evolve("point", population="mixture", components=2, generations=20)
    assert result.centers.shape[:2] == (1, 2)
    assert result.metrics["variance"][0, -1] > 20 * result.metrics["variance"][0, 0]


def test_diagonal_normal_learns_its_scales() -> None:
    """Behavior ignores the second parameter: spreading out is worth it in the first alone."""
    task = function_task(lambda x: x[0], start=jnp.zeros(2))
    result = evolve(
        task,
        objective="max_variance",
        behavior_shaping="none",
        population="diagonal_normal",
        sigma=0.5,
        learning_rate=0.02,
        population_size=500,
        generations=60,
    )
    assert result.state.parameters.log_scale is not None
    scales = np.exp(result.state.parameters.log_scale[0, 0])
    assert scales[0] > 1.0
    assert 0.35 < scales[1] < 0.7


def test_l2_pulls_the_center_to_zero() -> None:
    task = function_task(lambda x: jnp.zeros(()), start=jnp.ones(3))
    result = evolve(task, objective="max_variance", optimizer="sgd", learning_rate=0.1, l2=0.5, generations=10)
    np.testing.assert_allclose(result.centers[0, 0], np.full(3, 0.95**10), rtol=1e-4)


@pytest.mark.full
def test_baseline_changes_noise_not_mirrored_gradients() -> None:
    task = point(PointOptions(num_steps=10))
    states = []
    for baseline in (True, False):
        population = normal(0.05)
        algorithm = evolvability_es(population, max_variance(), optax.sgd(0.1), population_size=64, baseline=baseline)
        state = start(algorithm, task, 1, jax.random.key(0))
        states.append(step(algorithm, whole(algorithm, population, task), state)[0].parameters.center)
    np.testing.assert_allclose(states[0], states[1], atol=1e-5)


def test_one_compilation_serves_all_generations() -> None:
    traces = []

    def behavior(x: jax.Array) -> jax.Array:
        traces.append(1)
        return x

    task = function_task(behavior, start=jnp.ones(2), on_host=False)
    before = len(traces)
    evolve(task, generations=5, population_size=8)
    assert len(traces) == before + 2  # by a look at shapes before training, and by one program for all generations


@pytest.mark.full
def test_memory_grows_with_the_chunk_not_with_the_population() -> None:
    task = point(PointOptions(num_steps=2, hidden=256))

    def bytes_needed(num_chunks: int) -> int:
        population, size = normal(), 64 * num_chunks
        algorithm = evolvability_es(population, max_variance(), optax.sgd(1.0), population_size=size)
        state = jax.eval_shape(partial(start, algorithm, task, 1), jax.random.key(0))
        where = in_chunks(algorithm, population, task, population.draws(size).reshape(num_chunks, -1))
        compiled = jax.jit(partial(step, algorithm, where)).lower(state).compile()
        memory = compiled.memory_analysis()
        assert memory is not None
        return int(memory.temp_size_in_bytes)

    num_params = task.init(jax.random.key(0)).size
    noise_of_more = 4 * num_params * (16 - 2) * 32
    assert bytes_needed(16) - bytes_needed(2) < 0.05 * noise_of_more


def test_seeds_as_a_batch_are_the_seeds_alone() -> None:
    batch = evolve("point", seed=3, seeds=2, generations=5, population_size=32)
    alone = evolve("point", seed=4, generations=5, population_size=32)
    np.testing.assert_allclose(batch.centers[1], alone.centers[0], atol=1e-4)
    np.testing.assert_allclose(batch.metrics["variance"][1], alone.metrics["variance"][0], rtol=1e-3)


def test_ask_and_tell_is_the_same_strategy_as_step() -> None:
    def behavior(x: jax.Array) -> jax.Array:
        return jnp.array([jnp.sin(3 * x[0]), x[1] ** 2])

    task = function_task(behavior, start=jnp.array([0.3, 0.5]))
    algorithm = evolvability_es(normal(0.1), max_entropy(), optax.adam(0.02), population_size=50)
    loop = AskTell(
        jnp.array([0.3, 0.5]),
        population_size=50,
        population=normal(0.1),
        objective=max_entropy(),
        optimizer=optax.adam(0.02),
    )
    state = loop.state
    advance = jax.jit(partial(step, algorithm, whole(algorithm, normal(0.1), task)))
    for _ in range(3):
        state, _, _ = advance(state)
        loop.tell(jax.vmap(behavior)(loop.ask()))
    np.testing.assert_allclose(loop.center, state.parameters.center[0], rtol=1e-5)


def test_ask_and_tell_keeps_the_form_of_parameters() -> None:
    loop = AskTell({"w": jnp.ones((2, 3)), "b": 0.5}, population_size=10, objective=mean_fitness(), seed=1)
    mutations = loop.ask()
    assert mutations["w"].shape == (10, 2, 3)
    info = loop.tell(np.zeros((10, 1)), fitness=mutations["b"])
    assert float(info.fitness_max) > 0.5
    assert float(loop.center["b"]) > 0.5
    assert loop.center["w"].shape == (2, 3)


def test_a_member_is_rebuilt_from_the_run_key_alone() -> None:
    loop = AskTell(jnp.zeros(4), population_size=10, population=normal(0.1))
    rebuilt = normal(0.1).sample(noise_key(loop.state.key), loop.state.parameters, 0, jnp.array([3])).members()[1]
    np.testing.assert_array_equal(rebuilt, loop.ask()[7])


def test_ask_and_tell_takes_the_names_of_objectives() -> None:
    by_name = AskTell(jnp.zeros(4), population_size=10, objective="max-variance")
    by_object = AskTell(jnp.zeros(4), population_size=10, objective=max_variance())
    behavior = np.arange(20.0).reshape(10, 2) ** 2
    by_name.tell(behavior)
    by_object.tell(behavior)
    np.testing.assert_array_equal(by_name.center, by_object.center)
    with pytest.raises(ValueError, match="fitness"):
        AskTell(jnp.zeros(4), population_size=10, objective="mean_fitness").tell(behavior)


def test_tell_refuses_the_wrong_number_of_behaviors() -> None:
    loop = AskTell(jnp.zeros(4), population_size=10)
    with pytest.raises(ValueError, match=r"10 mutations.*\(9, 2\)"):
        loop.tell(np.zeros((9, 2)))


def test_telling_twice_without_asking_is_refused() -> None:
    """Behaviors of the last mutations would meet the noise of the next."""
    loop = AskTell(jnp.zeros(4), population_size=10)
    behavior = loop.ask()[:, :2]
    loop.tell(behavior)
    before = loop.state
    with pytest.raises(TaskError, match="ask"):
        loop.tell(behavior)
    assert loop.state is before
    loop.tell(loop.ask()[:, :2])
    assert loop.generation == 2


def test_mutations_may_be_told_to_a_loop_that_did_not_hand_them_out() -> None:
    """As when another process asked, and this one takes over its state."""
    first, second = (AskTell(jnp.zeros(4), population_size=10) for _ in range(2))
    first.tell(first.ask()[:, :2])
    second.state = first.state
    second.tell(first.ask()[:, :2])
    second.state = first.state
    second.tell(first.ask()[:, :2])
    assert second.generation == 2


def test_random_keys_have_one_purpose_each() -> None:
    """Recorded runs depend on the numbers of training; nothing else may share one of them."""
    training = (Purpose.NOISE, Purpose.EPISODES, Purpose.START, Purpose.SPLIT, Purpose.REPRODUCTION)
    assert [int(purpose) for purpose in training] == [0, 1, 2, 3, 4]
    keys = [tuple(jax.random.key_data(key_for(purpose, jax.random.key(0))).tolist()) for purpose in Purpose]
    assert len(set(keys)) == len(Purpose.__members__)  # __members__ has aliases, too
    by_number = re.compile(r"fold_in\((?:[^()]|\([^()]*\))*, *\d+\)")
    for path in Path(evolvability.__file__).parent.rglob("*.py"):
        assert not by_number.search(path.read_text()), f"{path} has a purpose without a name"
