"""MAML on the navigation toy: it learns, and its run folder is one like any other."""

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

from evolvability import Run, make_task
from evolvability.config.schema import Config, changed, layered, to_toml
from evolvability.core.errors import ConfigError, RunFolderError
from evolvability.core.types import sample_of
from evolvability.figures.registry import draw_figure
from evolvability.methods.meta_gradient import adapt
from evolvability.methods.rollouts import Actor, roll_out
from evolvability.runs.picking import evaluator
from evolvability.studies.adapters import ADAPTERS, AdaptationContext, adapter_named, goal_vector
from evolvability.studies.comparison import quantity
from evolvability.studies.measures import valid_behaviors, whole_populations
from evolvability.studies.offspring import kept_offspring, kept_sigmas, offspring_of_run
from evolvability.studies.races import load_race, race, starts_of
from evolvability.studies.sweeps import plan
from evolvability.tasks.base import world_of
from evolvability.training.driver import resume, train
from evolvability.training.evolution import Evolution
from tests.conftest import shared_evolution

SEEDS, TASKS, GENERATIONS = 2, 10, 2
LONGER: dict[str, Any] = {"seeds": 5, "generations": 15}
TASK = make_task("navigation")
WORLD = world_of(TASK)
GOAL = "point:0.4,0.3"


def config(**values: Any) -> Config:
    values = {"objective": "maml", "generations": GENERATIONS, "seeds": SEEDS, **values}
    return layered("navigation", values={"objective_options": {"tasks": TASKS}, **values})


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    path = tmp_path_factory.mktemp("runs") / "maml"
    train(shared_evolution(config()), path)
    return Run(path)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """For as long as it takes to learn."""
    path = tmp_path_factory.mktemp("runs") / "trained"
    train(Evolution(config(**LONGER)), path)
    return Run(path)


@jax.jit
def before_and_after(key: Array, actor: Actor) -> tuple[Array, Array]:
    """Mean returns over 20 goals, before and after one adaptation step on each."""
    key_goals, key_before, key_after = jax.random.split(key, 3)
    goals = WORLD.goals.draw(key_goals, 20)
    same = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (20, *leaf.shape)), actor)
    batch, before, _ = roll_out(WORLD, key_before, same, goals, (), 10, 0.99)
    adapted = jax.vmap(lambda own: adapt(WORLD.networks, actor, own, rate=0.1, discount=0.99))(batch)
    after = roll_out(WORLD, key_after, adapted, goals, (), 10, 0.99)[1]
    return jnp.mean(before.fitness), jnp.mean(after.fitness)


@pytest.mark.full
def test_one_step_from_the_trained_start_improves_and_beats_that_from_a_random_start(trained: Run) -> None:
    for index in range(LONGER["seeds"]):
        start = starts_of(trained, trained.parents())[index]
        assert start.log_std is not None
        key = jax.random.key(100 + index)
        before, after = before_and_after(key, Actor(start.center, start.log_std))
        random = TASK.init(jax.random.key(1000 + index))
        _, after_random = before_and_after(key, Actor(random, jnp.zeros(2)))
        assert after > before + 1
        assert after > after_random + 1


@pytest.mark.full
@pytest.mark.parametrize("which", ["run", "trained"])
def test_every_outer_step_stays_within_the_trust_region(which: str, request: pytest.FixtureRequest) -> None:
    run: Run = request.getfixturevalue(which)
    found = run.metrics["divergence"]
    assert found.shape == (run.config.seeds, run.config.generations)
    assert (found <= 0.01).all()
    assert (found > 0.001).mean() > 0.9  # and is not an idle one


def test_episodes_are_counted_and_behaviors_are_where_adapted_policies_end(run: Run) -> None:
    assert run.metrics["evaluations"][0, 0] == run.config.population_size == 2 * TASKS * 10
    kept = run.behaviors()
    assert kept["behavior"].shape == (SEEDS, TASKS * 10, 2)
    np.testing.assert_allclose(kept["fitness"].mean(axis=1), run.metrics["fitness_mean"][:, -1], rtol=1e-5)


@pytest.mark.full
def test_resumed_run_is_the_same_bit_for_bit(run: Run, tmp_path: Path) -> None:
    train(Evolution(config(generations=1)), tmp_path / "part")
    resume(tmp_path / "part", generations=GENERATIONS)
    again = Run(tmp_path / "part")
    for name, values in again.metrics.items():
        if name != "seconds":
            np.testing.assert_array_equal(values, run.metrics[name], err_msg=name)


def test_configuration_survives_its_file(run: Run) -> None:
    assert run.config == config()
    assert "trust_region = 0.01" in to_toml(run.config)
    assert "trust_region" not in to_toml(changed(run.config, objective="max_entropy"))


def test_sweeps_reach_the_options_of_maml() -> None:
    planned = plan(
        {"task": "navigation", "objective": "maml", "sweep": {"objective_options": {"inner_rate": [0.1, 0.2]}}}
    )
    assert [(one.name, one.config.objective_options.inner_rate) for one in planned] == [
        ("inner_rate-0.1", 0.1),
        ("inner_rate-0.2", 0.2),
    ]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            {"objective_options": {"inner_rat": 0.1}},
            r"Unknown configuration key 'objective_options.inner_rat'. Did you mean 'objective_options.inner_rate'",
        ),
        ({"objective_options": {"trust_region": 0.0}}, "trust_region must be positive, got 0.0"),
        ({"objective_options": {"discount": 1.5}}, "discount must be above 0 and at most 1, got 1.5"),
        ({"population": "mixture"}, "population must be normal for MAML"),
        ({"goal": "left"}, "goal must be empty for MAML"),
    ],
)
def test_bad_options_are_refused(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        config(**values)


def test_tasks_that_cannot_be_stepped_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"'interference'.* step on the device; point, maze, navigation"):
        Evolution(layered("interference", objective="maml"))


def test_world_and_population_see_the_same_task(run: Run) -> None:
    """A policy without noise ends in the world where it ends as a member."""
    start = starts_of(run, run.parents())[0]
    actor = Actor(start.center[None], jnp.full((1, 2), -30.0))
    ended = jax.jit(lambda actor: roll_out(WORLD, jax.random.key(0), actor, jnp.zeros((1, 2)), (), 1, 0.99)[1])(actor)
    outcome, _ = evaluator(TASK)(jax.random.key(0), sample_of(start.center[None]), ())
    np.testing.assert_allclose(ended.behavior[0], outcome.behavior, atol=1e-4)


def test_a_run_that_records_fewer_members_than_its_population_has_them_all(run: Run) -> None:
    recorded = valid_behaviors(run, 0)[0]
    assert len(recorded) < run.config.population_size
    assert run.histograms()
    np.testing.assert_array_equal(whole_populations(run)[0], recorded)


@pytest.fixture(scope="module")
def raced(trained: Run) -> Run:
    race(trained, [GOAL], tuple(ADAPTERS), episodes=10, repeats=2)
    return trained


@pytest.mark.parametrize("adapter", ADAPTERS)
@pytest.mark.full
def test_adapters_count_their_episodes_and_get_nearer(raced: Run, adapter: str) -> None:
    found = load_race(raced, GOAL, adapter)
    assert found.episodes[0] == 0
    assert found.episodes[-1] == 10
    assert (np.diff(found.episodes) > 0).all()
    assert np.mean(found.performance[:, -1] - found.performance[:, 0]) > 0.02


@pytest.mark.full
def test_gradient_steps_are_worth_less_with_drawn_actions_and_others_draw_none(raced: Run) -> None:
    found = load_race(raced, GOAL, "gradient")
    mean, drawn = (found.reached(actions, "fixed") for actions in ("mean", "drawn"))
    assert drawn.shape == mean.shape == found.reached("drawn", "varied").shape
    assert drawn[:, -1].mean() < mean[:, -1].mean()
    assert load_race(raced, GOAL, "mutations").drawn is None


@pytest.mark.full
def test_adapters_evaluate_no_more_than_they_say(run: Run) -> None:
    start, evaluate = starts_of(run, run.parents())[0], evaluator(TASK)
    spent: list[int] = []

    def counting(key: Array, sample: Any, memory: Any) -> Any:
        spent.append(sample.num_members)
        return evaluate(key, sample, memory)

    course = adapter_named("mutations", AdaptationContext(TASK, counting, 0.05, 25))(jax.random.key(0), start, GOAL)
    assert sum(spent) == course.episodes[-1] <= 25
    np.testing.assert_array_equal(course.parameters[0], start.center)


@pytest.mark.full
def test_races_and_offspring_are_quantities_of_groups(raced: Run) -> None:
    from evolvability.studies.groups import group_runs

    group = group_runs([raced])[0]
    assert group.name == "MAML"
    own = load_race(raced, GOAL, "gradient").performance[:, -1]
    np.testing.assert_allclose([*quantity(group, f"raced:{GOAL}").values()], own)
    other = load_race(raced, GOAL, "mutations").performance[:, -1]
    np.testing.assert_allclose([*quantity(group, f"raced:{GOAL}:mutations").values()], other)
    offspring_of_run(raced, number=50, save=True)
    offspring_of_run(raced, number=50, sigma=0.0125, save=True)
    assert kept_sigmas(raced) == [0.05, 0.0125]
    distance = [float(np.linalg.norm(cloud, axis=1).mean()) for cloud in kept_offspring(raced)]
    np.testing.assert_allclose([*quantity(group, "offspring:distance").values()], distance, rtol=1e-5)
    wide, narrow = (np.mean([*quantity(group, f"offspring:variance:{sigma}").values()]) for sigma in (0.05, 0.0125))
    assert wide > 3 * narrow
    with pytest.raises(RunFolderError, match=r"0\.1\..*there are: 0.0125, 0.05.*ees measure .* --sigma 0.1"):
        kept_offspring(raced, 0.1)


@pytest.mark.parametrize("name", ["curves", "race", "offspring"])
@pytest.mark.full
def test_figures_are_drawn(name: str, raced: Run, tmp_path: Path) -> None:
    offspring_of_run(raced, number=20, save=True)
    assert draw_figure(name, [raced], tmp_path / "figure.png").stat().st_size > 10_000


@pytest.mark.parametrize("goal", ["left", "45"])
def test_goals_of_another_kind_are_refused(goal: str) -> None:
    with pytest.raises(ConfigError, match=f"a goal of the form point:X,Y, got '{goal}'"):
        goal_vector(goal, WORLD)
