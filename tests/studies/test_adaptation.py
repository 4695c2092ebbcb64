"""Pick a mutation, evolve further, split: on tasks whose answers are known, from whole run folders and slim exports."""

import itertools
import json
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from evolvability import (
    Circumstances,
    Outcome,
    Run,
    RunFolderError,
    Task,
    TaskError,
    evolve,
    function_task,
    load_policy,
)
from evolvability.cli import main
from evolvability.figures import adaptation, components, evolution
from evolvability.figures.registry import draw_figure
from evolvability.runs.export import export
from evolvability.studies.adaptation import Adaptation, adapt, best_of, load_adaptation, pick_mutation, save_adaptation
from evolvability.studies.groups import start_name
from evolvability.studies.sweeps import conduct, plan_further_evolution, plan_split

POINT: dict[str, Any] = {
    "generations": 3,
    "population_size": 16,
    "seeds": 2,
    "task_options": {"num_steps": 5, "hidden": 4},
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Run]:
    """Trained populations, what standard ES makes of them, and species."""
    folder = tmp_path_factory.mktemp("runs")
    for objective in ("max_entropy", "max_variance"):
        evolve("point", objective=objective, output=folder / objective, **POINT)
    parents = [Run(folder / "max_entropy"), Run(folder / "max_variance")]
    conduct(plan_further_evolution(parents, "left", generations=3), folder)
    conduct([plan_split(parents[0], generations=2)], folder)
    return {path.name: Run(path) for path in folder.iterdir()}


def shifted(x: Any) -> Any:
    return x


def noisy_task() -> Task:
    """Behavior is the parameters and a draw of the evaluation's own."""

    def evaluate(key: jax.Array, sample: Any, memory: Any) -> tuple[Outcome, Any]:
        members = sample.members()
        behavior = members + 10 * jax.random.normal(key, members.shape)
        good = jnp.ones(len(members), bool)
        return Outcome(behavior, jnp.zeros(len(members)), good, jnp.ones(len(members), int)), memory

    return Task("noisy", ("x",), lambda key: jnp.zeros(1), evaluate)


# Best of k


def test_best_of_k_is_the_mean_over_all_subsets() -> None:
    generator = np.random.default_rng(0)
    scores, performance = generator.normal(size=7), generator.normal(size=7)
    for k in range(1, 8):
        subsets = itertools.combinations(range(7), k)
        picked = [performance[max(subset, key=lambda member: scores[member])] for subset in subsets]
        assert best_of(scores, performance)[k - 1] == pytest.approx(np.mean(picked))


def test_invalid_mutations_are_never_picked() -> None:
    grown = best_of(np.array([np.nan, 1.0, 2.0]), np.array([99.0, 1.0, 2.0]))
    assert grown.tolist() == pytest.approx([1.5, 5 / 3, 2.0])
    task = function_task(lambda x: jnp.where(x > 0, jnp.nan, x), jnp.zeros(1))
    picked = pick_mutation(task, jnp.zeros(1), "right", sigma=1.0, mutations=20)
    assert -0.5 < picked.performance < 0
    with pytest.raises(TaskError, match="none of the 4"):
        pick_mutation(function_task(lambda x: x * jnp.nan, jnp.zeros(1)), jnp.zeros(1), "left", mutations=4)


def test_the_best_of_40_is_as_far_out_as_extreme_value_theory_says() -> None:
    task = function_task(lambda parameters: parameters["x"], {"x": 5.0})
    best = [pick_mutation(task, {"x": 5.0}, "left", seed=seed, sigma=2.0).performance for seed in range(12)]
    assert np.mean(best) == pytest.approx(2 * 2.16 - 5, abs=0.6)  # the largest of 40 normals: 2.16 on average
    picked = pick_mutation(task, {"x": 5.0}, "left", sigma=2.0)
    assert picked.parameters["x"] == pytest.approx(-picked.performance)
    assert picked.chosen == np.argmax(picked.scores)


def test_any_fitness_can_be_asked_for() -> None:
    task = function_task(shifted, jnp.zeros(2))
    picked = pick_mutation(task, jnp.zeros(2), lambda outcome: -jnp.abs(outcome.behavior[:, 1] - 1), sigma=1.0)
    assert picked.parameters[1] == pytest.approx(1, abs=0.2)
    near = pick_mutation(task, jnp.zeros(2), "point:1,-1", sigma=1.0, mutations=400)
    np.testing.assert_allclose(near.parameters, [1, -1], atol=0.3)


def test_the_report_comes_from_evaluations_the_pick_was_not_made_by() -> None:
    picked = pick_mutation(noisy_task(), jnp.zeros(1), "right", sigma=0.01, repeats=40)
    assert picked.scores[picked.chosen] > 10  # lucky
    assert abs(picked.performance) < 6  # not skilled: 40 draws have a standard error of 1.6
    assert len(np.unique(picked.repeated)) == picked.repeated.size


# Of run folders


def test_adapt_keeps_its_result_in_the_folder_and_works_from_a_slim_export(
    runs: dict[str, Run], tmp_path: Path
) -> None:
    copy = Run(export(runs["max_entropy"], tmp_path / "copy"))
    left, up = adapt(copy, ["left", "90"], mutations=6, repeats=2)
    assert left.scores.shape == (2, 6)
    assert left.repeated.shape == (2, 6, 2)
    loaded = load_adaptation(copy, "left")
    np.testing.assert_allclose(loaded.growth(), left.growth(), rtol=1e-6)
    np.testing.assert_allclose(loaded.performance, left.scores.max(axis=1), rtol=1e-6)  # a deterministic world
    (again,) = adapt(runs["max_entropy"], ["90"], mutations=6, repeats=1)
    np.testing.assert_array_equal(again.scores, up.scores)
    with pytest.raises(RunFolderError, match=r"right.*there are: 90, left.*ees adapt .* --direction right"):
        load_adaptation(copy, "right")


def test_the_fitness_of_a_run_that_was_given_a_goal_is_that_goal(runs: dict[str, Run]) -> None:
    fitness, left = adapt(runs["from-random"], ["fitness", "left"], mutations=6, repeats=1)
    np.testing.assert_array_equal(fitness.scores, left.scores)
    (runs["from-random"].path / "adaptations" / "fitness.json").unlink()
    (runs["from-random"].path / "adaptations" / "left.json").unlink()


@pytest.mark.full
def test_start_states_of_robots_differ_in_the_reported_evaluations(tmp_path: Path) -> None:
    options = {"num_steps": 8, "hidden": 4}
    evolve("cheetah", generations=1, population_size=4, task_options=options, output=tmp_path / "run")
    (found,) = adapt(Run(tmp_path / "run"), ["right"], mutations=3, repeats=3)
    assert found.start_noise == 0.1
    assert len(np.unique(found.repeated[0, 0])) == 3
    (still,) = adapt(Run(tmp_path / "run"), ["right"], mutations=3, repeats=2, circumstances=Circumstances())
    np.testing.assert_allclose(still.repeated[0], np.repeat(still.scores[0][:, None], 2, axis=1), atol=1e-5)


def test_a_mixture_is_mutated_as_one_population(runs: dict[str, Run]) -> None:
    (found,) = adapt(runs["max_entropy-split-2"], ["left"], mutations=8, repeats=1)
    assert found.parameters is not None
    centers = runs["max_entropy-split-2"].centers
    distances = np.linalg.norm(centers - found.parameters[:, None], axis=2).min(axis=1)
    sigma, num_params = runs["max_entropy"].config.population_options.sigma, centers.shape[2]
    np.testing.assert_allclose(distances, sigma * num_params**0.5, rtol=0.35)


def refusal(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2
    return " ".join(capsys.readouterr().err.split())


def test_bad_input_is_answered_with_a_reason(
    runs: dict[str, Run], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    evolve("interference", objective="max_variance", generations=1, population_size=4, output=tmp_path / "other")
    run, other = str(runs["max_entropy"].path), str(tmp_path / "other")
    out = ("--output", str(tmp_path / "out"))
    expected = {
        ("adapt", run, "--direction", "up"): "got 'up'",
        ("adapt", other, "--direction", "90"): "'90' in task 'interference'",
        ("adapt", run, "--mutations", "0"): "mutations: a whole number of 1 or more is expected, got 0",
        ("adapt", run, "--start-noise", "0.1"): "'point' has no option start_noise",
        ("adapt",): "at least one run folder",
        ("evolve-from", run, other): "'interference'",
        ("evolve-from", run, "--direction", "nowhere", *out): "got 'nowhere'",
        ("evolve-from", other, "--direction", "45", *out): "no direction '45'",
        ("evolve-from", run, "--generations", "0"): "generations must be 1 or more, got 0",
        ("split", run, "--components", "1"): "components must be 2 or more",
        ("split", str(runs["max_entropy-split-2"].path)): "2 components already",
        ("split", "nowhere"): "nowhere is not a run folder",
        ("figure", "evolution", run): "standard ES",
        ("figure", "adaptation", str(runs["from-random"].path)): "First: ees adapt ",
    }
    for arguments, message in expected.items():
        assert message in refusal(capsys, *arguments), arguments


# Further evolution and species


def test_further_evolution_starts_where_training_ended_and_climbs_the_goal(runs: dict[str, Run]) -> None:
    seeded, random = runs["from-max_entropy"], runs["from-random"]
    last = runs["max_entropy"].config.generations
    assert seeded.origin is not None
    assert (seeded.origin["generation"], seeded.config.goal, seeded.config.objective) == (last, "left", "mean_fitness")
    assert random.origin is None
    behavior = seeded.behaviors(0)
    np.testing.assert_allclose(behavior["fitness"], -behavior["behavior"][..., 0], rtol=1e-6)
    assert seeded.metrics["fitness_mean"].shape == (2, 3)
    assert [start_name(run) for run in (seeded, random)] == ["seeded by MaxEnt-EES", "random start"]


def test_evolve_from_skips_what_is_done(runs: dict[str, Run], capsys: pytest.CaptureFixture[str]) -> None:
    folder = runs["max_entropy"].path.parent
    parents = [str(folder / "max_entropy"), str(folder / "max_variance")]
    main(["evolve-from", *parents, "--direction", "left", "--generations", "3", "--output", str(folder)])
    text = capsys.readouterr().out
    assert text.count(": done") == 3
    assert "too few runs" in " ".join(text.replace("│", " ").split())


def test_a_split_run_has_species_of_its_own(runs: dict[str, Run]) -> None:
    split = runs["max_entropy-split-2"]
    assert split.centers.shape[1] == 2
    assert set(np.unique(split.behaviors()["component"])) == {0, 1}
    assert split.config.objective == "max_entropy"
    assert split.is_complete


# Figures and commands


@pytest.mark.full
def test_figures_are_drawn_from_the_folders(runs: dict[str, Run], tmp_path: Path) -> None:
    folder = runs["max_entropy"].path.parent
    command = ["adapt", *(str(folder / name) for name in ("max_entropy", "max_variance")), "--direction", "left", "45"]
    main([*command, "-k", "5", "--repeats", "1", "--output", str(tmp_path / "k.png"), "--save", str(tmp_path)])
    assert load_policy(tmp_path / "max_entropy-left-1.safetensors")(np.zeros(4)).shape == (2,)
    further = [runs[name] for name in ("from-random", "from-max_entropy", "from-max_variance")]
    draw_figure("evolution", further, tmp_path / "evolution.png")
    draw_figure("components", [runs["max_entropy"], runs["max_entropy-split-2"]], tmp_path / "components.png")
    assert all((tmp_path / f"{name}.png").stat().st_size > 10_000 for name in ("k", "evolution", "components"))


def test_growth_is_drawn_with_the_range_of_seeds(runs: dict[str, Run]) -> None:
    scores = np.array([[1.0, 2.0], [3.0, 5.0]])
    save_adaptation(runs["max_variance"], Adaptation("right", 0.0, scores, scores[:, :, None]))
    data = adaptation.data_from_runs([runs["max_variance"]])
    assert data.spans == "minimum to maximum"
    band = data.band(data.panels["right"][0])
    assert [band.low.tolist(), band.median.tolist(), band.high.tolist()] == [[1.5, 2.0], [2.75, 3.5], [4.0, 5.0]]


def test_evolution_orders_starts(runs: dict[str, Run]) -> None:
    data = evolution.data_from_runs([runs[name] for name in ("from-random", "from-max_entropy", "from-max_variance")])
    names = [line.name for line in data.panels["fitness"]]
    assert names == ["seeded by MaxVar-EES", "seeded by MaxEnt-EES", "random start"]


def test_components_are_measured_alone_and_together(runs: dict[str, Run]) -> None:
    one, two = components.data_from_runs([runs["max_entropy"], runs["max_entropy-split-2"]]).panels
    assert one.specialization is None
    assert one.each == [one.union]
    assert two.specialization is not None
    assert max(two.each) <= two.union <= sum(two.each)


def test_commands_find_what_others_have_made(
    runs: dict[str, Run], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = runs["max_entropy"].path.parent
    (tmp_path / "study.toml").write_text(
        'task = "point"\ngenerations = 3\npopulation_size = 16\nseeds = 2\n'
        "[task_options]\nnum_steps = 5\nhidden = 4\n"
        '[sweep]\nobjective = ["max_entropy", "max_variance"]\n'
    )
    main(["sweep", str(tmp_path / "study.toml"), "--output", str(folder), "--dry-run"])
    main(["sweep", str(tmp_path / "study.toml"), "--output", str(folder)])
    species = str(folder / "max_entropy-split-2")
    main(["split", str(folder / "max_entropy"), "--generations", "2", "--output", species])
    main(["export", str(folder / "max_entropy"), species, str(tmp_path / "results")])
    text = capsys.readouterr().out
    assert text.count("done ") == 2  # of the dry run
    assert text.count(": done") == 3
    copy = tmp_path / "results" / "max_entropy-split-2"
    assert f"wrote {copy}" in text
    assert json.loads((copy / "origin.json").read_text())["generation"] == 3
