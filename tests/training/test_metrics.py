"""What a run says of its generations."""

import warnings
from pathlib import Path
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


def test_evaluations_count_episodes_as_the_page_says() -> None:
    """Of es_maml those that adapt a member count too: the page has the factor."""
    page = (Path(__file__).parents[2] / "docs" / "run-folder.md").read_text()
    row = next(line for line in page.splitlines() if line.startswith("| `evaluations`"))
    assert r"with `es_maml` the last is $\mathrm{episodes\_per\_task} + 1$" in row
    for objective, episodes in (("max_entropy", 1), ("es_maml", 1 + 7)):
        offers = {"population_size": 10, "episodes_per_task": 7}
        rows = metric_rows(layered("navigation", objective=objective, offers=offers), True, 2, {}, None, 0.0)
        assert rows[0]["evaluations"] == 3 * 10 * episodes
