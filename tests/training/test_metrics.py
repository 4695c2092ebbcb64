"""What a run says of its generations."""

import warnings
from typing import Any

import jax.numpy as jnp
import pytest
from jax import Array

from evolvability import evolve, function_task
from evolvability.config.schema import layered
from evolvability.training.metrics import metric_rows


def blows_up(params: Array) -> Array:
    """Two in a thousand go a million times as far."""
    return params * jnp.where(params > 2.9 * 0.1, 1e6, 1.0)


def test_a_member_that_blows_up_is_named_once_per_run() -> None:
    task = function_task(blows_up, jnp.zeros(1))
    settings: dict[str, Any] = {
        "population_size": 400,
        "generations": 4,
        "sigma": 0.1,
        "learning_rate": 1e-6,
        "seed": 3,
    }
    with pytest.warns(UserWarning, match="behavior_shaping=.robust.") as caught:
        shares = evolve(task, objective="max_variance", **settings).metrics["outlier"]
    assert (shares > 1 / 3).sum() > 1
    assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        evolve(task, objective="max_variance", behavior_shaping="robust", **settings)


@pytest.mark.parametrize("episodes", [1, 4])
def test_evaluations_count_episodes(episodes: int) -> None:
    settings = {"population_size": 10, "episodes": episodes}
    rows = metric_rows(layered("navigation", values=settings), True, 2, {}, None, 0.0)
    assert rows[0]["evaluations"] == 3 * 10 * episodes
