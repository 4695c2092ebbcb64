"""The entropy of behaviors, against closed forms."""

import math
from typing import Any

import numpy as np
import pytest

from evolvability.core import entropy as module
from evolvability.core.entropy import entropy

Array = np.ndarray[Any, Any]
GAUSS = 0.5 * math.log(2 * math.pi * math.e)


def normal(number: int, num_behaviors: int) -> Array:
    return np.random.default_rng(0).normal(size=(number, num_behaviors))


@pytest.mark.parametrize("scale", [1e-20, 0.01, 300.0, 1e20])
@pytest.mark.parametrize("num_behaviors", [1, 2, 3])
def test_a_gaussian_has_the_closed_form(scale: float, num_behaviors: int) -> None:
    stretch = scale * np.arange(1, num_behaviors + 1)
    truth = num_behaviors * GAUSS + np.log(stretch).sum()
    assert entropy(normal(8000, num_behaviors) * stretch) == pytest.approx(truth, abs=0.05)


def test_two_bands_are_as_spread_as_one_and_a_choice() -> None:
    bands = normal(2000, 1) + np.where(np.arange(2000) % 2, 100.0, -100.0)[:, None]
    assert entropy(bands) == pytest.approx(GAUSS + math.log(2), abs=0.1)


@pytest.mark.parametrize(("number", "error"), [(2000, 0.25), (10_000, 0.12)])
def test_a_ring_has_the_logarithm_of_its_area(number: int, error: float) -> None:
    """Its edges are sharp, and a neighborhood that reaches over them is taken for a thinner one: 0.23 at 2,000."""
    generator = np.random.default_rng(0)
    angle, radius = generator.uniform(0, 2 * np.pi, number), generator.uniform(9.9, 10.1, number)
    ring = radius[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    assert entropy(ring) == pytest.approx(math.log(2 * np.pi * 10 * 0.2), abs=error)


def test_turning_a_correlated_cloud_changes_nothing() -> None:
    cloud = normal(2000, 2) * [1.0, 30.0]
    turn = np.array([[1.0, 1.0], [-1.0, 1.0]]) / math.sqrt(2)
    assert entropy(cloud @ turn) == pytest.approx(entropy(cloud), abs=1e-6)
    assert entropy(cloud) == pytest.approx(2 * GAUSS + math.log(30), abs=0.1)


@pytest.mark.parametrize("far", [0.0, 1e4])
def test_where_there_is_no_density_it_is_minus_infinity(far: float) -> None:
    cloud = normal(500, 2) + far
    line = np.stack([cloud[:, 0], 0.3 * cloud[:, 0]], axis=1)
    heap = np.where(np.arange(500)[:, None] < 10, 0.5, cloud)
    for behavior in (np.full((50, 1), 3.0), line, heap, cloud[:1], cloud[:2]):
        assert entropy(behavior.astype(np.float32)) == -math.inf
    assert math.isfinite(entropy(cloud))
    assert math.isnan(entropy(cloud[:0]))


def test_of_very_many_members_some_are_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """In turn from two components: a stride would see one of them alone."""
    many = normal(40_000, 1) + np.where(np.arange(40_000) % 2, 100.0, -100.0)[:, None]
    some = entropy(many)
    assert some == entropy(many) == pytest.approx(GAUSS + math.log(2), abs=0.05)
    monkeypatch.setattr(module, "MOST_MEMBERS", len(many))
    assert entropy(many) != some
