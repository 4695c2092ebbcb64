"""Repeatability: against closed forms, and what commands and picks make of several episodes."""

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from evolvability import ConfigError, Run, evolve, function_task, measure, pick_mutation
from evolvability.cli import main
from evolvability.core import objectives
from evolvability.core.types import make_outcome, merge_episodes
from evolvability.studies.comparison import compare_runs
from evolvability.studies.repeatability import recorded_episodes, repeatability

START = jnp.zeros(1)
lucky = function_task(lambda x, key: x + 0.5 * jax.random.normal(key), start=START, takes_key=True)
"""Mutations of sigma 1 have V_B = 1 and V_W = 0.25: a repeatability of 0.8."""


@pytest.mark.parametrize("between", [0.0, 1.0, 3.0])
def test_shares_are_covered_by_their_intervals(between: float) -> None:
    generator, truth, hits = np.random.default_rng(3), between**2 / (between**2 + 1), 0
    for _ in range(200):
        episodes = between * generator.normal(size=(60, 1, 1)) + generator.normal(size=(60, 3, 1))
        found = repeatability(episodes)
        hits += found.low <= truth <= found.high
    assert hits > 0.88 * 200  # of 95 %, by a bootstrap of 60


def test_it_is_what_a_run_records() -> None:
    rows = np.random.default_rng(0).normal(size=(40, 3, 2)) + 2 * np.random.default_rng(1).normal(size=(40, 1, 2))
    recorded = objectives.repeatability(merge_episodes(make_outcome(jnp.asarray(rows.reshape(-1, 2))), 3))
    assert repeatability(rows).share == pytest.approx(float(recorded), rel=1e-4)


def test_two_episodes_are_needed() -> None:
    assert np.isnan(repeatability(np.zeros((5, 1, 2))).share)


def test_a_center_is_measured_by_several_episodes() -> None:
    assert measure(lucky, START, sigma=1.0, number=100).repeatability is None
    found = measure(lucky, START, sigma=1.0, number=2000, episodes=3)
    assert found.repeatability == pytest.approx(0.8, abs=0.03)


def test_ten_mutations_in_four_episodes_are_a_better_pick_than_forty_in_one_where_luck_is_large() -> None:
    noisy = function_task(lambda x, key: x + 3 * jax.random.normal(key), start=START, takes_key=True)

    def mean_pick(**numbers: Any) -> float:
        picks = [pick_mutation(noisy, START, "right", sigma=1.0, repeats=1, seed=k, **numbers) for k in range(30)]
        return float(np.mean([float(picked.parameters[0]) for picked in picks]))

    once, often = mean_pick(mutations=40), mean_pick(mutations=40, episodes=9)
    # By the breeder's equation the response is repeatability times selection differential: 0.1 and 0.5 of 2.2.
    assert once == pytest.approx(2.16 * 0.1**0.5, abs=0.35)
    assert often == pytest.approx(2.16 * 0.5**0.5, abs=0.35)


def test_picks_of_a_run_take_episodes_and_refuse_them_where_nothing_varies() -> None:
    run = evolve(lucky, objective="max_covariance", generations=2, population_size=8, progress=False)
    picked = run.pick("right", mutations=5, episodes=4, repeats=2)
    assert picked.scores.shape == (5,)
    fixed = evolve("point", objective="max_variance", generations=1, population_size=8, progress=False)
    with pytest.raises(ConfigError, match="does not vary"):
        fixed.pick("right", mutations=5, episodes=4)


def test_show_and_compare_tell_the_repeatability_of_runs_that_have_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shared: dict[str, Any] = {"objective": "max_variance", "generations": 1, "sigma": 1.0, "progress": False}
    evolve(lucky, population_size=400, episodes=2, output=tmp_path / "two", **shared)
    evolve(lucky, population_size=4, output=tmp_path / "one", **shared)
    two, one = Run(tmp_path / "two"), Run(tmp_path / "one")
    episodes = recorded_episodes(two, 0)
    assert episodes is not None
    assert recorded_episodes(one, 0) is None
    found = repeatability(episodes)
    main(["show", str(tmp_path / "two")])
    shown = [[part.strip() for part in line.split("│")[1:-1]] for line in capsys.readouterr().out.splitlines()]
    assert ["its 95 % interval", f"{found.low:.2f} to {found.high:.2f}"] in shown
    main(["show", str(tmp_path / "one")])
    assert "repeatability" not in capsys.readouterr().out
    compared = compare_runs([two], "repeatability").values["MaxVar-EES"]
    assert compared == [pytest.approx(found.share, rel=1e-4)]
    with pytest.raises(ConfigError, match=r"no value of 'repeatability'. It takes two or more episodes"):
        compare_runs([one], "repeatability")
    with pytest.raises(ConfigError, match="Unknown measure of offspring 'repeatability'"):
        compare_runs([two], "offspring:repeatability")
