"""The network of the feasibility proof: its guarantee, its frequency, and what the printed statement lacks."""

import doctest
import re
import runpy
import sys
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from examples.feasibility import flip_network as module
from examples.feasibility.flip_network import (
    Network,
    apply,
    approximate,
    choose_constants,
    codes,
    error_bound,
    flip_network,
    largest_delta,
    moved,
    normal_frequency,
    num_params,
    num_switches,
    output_range,
    probability_bound,
    switch,
)

EPSILON, RATIO = 0.1, 0.1
Values = np.ndarray[Any, Any]


def swirl(x: Any) -> Any:
    """A policy with two inputs and two outputs."""
    x = np.asarray(x)
    return np.stack([0.5 - x[:, 1], x[:, 0] - 0.5 + 0.3 * np.sin(3 * x[:, 1])], axis=1)


def corner(x: Any) -> Any:
    """Another one, all over 0.4 apart from it in some output."""
    return 0.8 - 0.5 * np.asarray(x)[:, ::-1]


FIRST, SECOND = (approximate(function, 2, num_units=12) for function in (swirl, corner))
DELTA = largest_delta(FIRST, SECOND, epsilon=EPSILON, ratio=RATIO)
MERGED = flip_network(FIRST, SECOND, delta=DELTA, ratio=RATIO)
GRID = np.stack(np.meshgrid(*[np.linspace(0, 1, 9)] * 2), axis=-1).reshape(-1, 2)


@jax.jit
def worst_distances(steps: jax.Array) -> tuple[jax.Array, jax.Array]:
    """The largest distance on the grid of each mutation from the first policy, and from the second."""
    outputs = jax.vmap(lambda step: apply(moved(MERGED, step), GRID))(steps)
    first, second = (jnp.abs(outputs - apply(policy, GRID)).max(axis=(1, 2)) for policy in (FIRST, SECOND))
    return first, second


def flips(steps: Values) -> Values:
    """The shares of mutations that are the first policy, and the second."""
    chunks = [worst_distances(chunk) for chunk in jnp.asarray(steps, jnp.float32).reshape(-1, 500, steps.shape[1])]
    return np.array([np.mean([np.asarray(part) <= EPSILON for part in side]) for side in zip(*chunks, strict=True)])


def test_merged_network_has_five_hidden_layers() -> None:
    shapes = [layer.weight.shape for layer in MERGED]
    assert [rows for rows, _ in shapes[1:]] == [columns for _, columns in shapes[:-1]] == [25, 5, 6, 6, 4]
    assert shapes[0][0] == 2
    assert shapes[-1][1] == 2
    flat = np.concatenate([part.ravel() for layer in MERGED for part in layer])
    assert flat[switch(MERGED)] == 0


def test_any_mutation_within_reach_is_the_policy_its_switch_asks_for() -> None:
    """Every weight at the worst it may be, up or down; the switch as little as it must, or as far as it may."""
    generator = np.random.default_rng(0)
    steps = DELTA * generator.choice([-1.0, 1.0], size=(500, num_params(MERGED)))
    for amount in (1.0001 * RATIO, 0.5, 1.0):
        for side, sign in enumerate((1, -1)):
            steps[:, switch(MERGED)] = sign * amount * DELTA
            distances = np.asarray(worst_distances(jnp.asarray(steps))[side])
            assert distances.max() <= EPSILON
            assert distances.max() > EPSILON / 20  # the guarantee is not idle
            assert np.min(worst_distances(jnp.asarray(steps))[1 - side]) > EPSILON


def test_random_mutations_flip_with_the_predicted_frequency() -> None:
    constants = choose_constants(FIRST, SECOND, delta=DELTA, ratio=RATIO)
    for size in (0.05, 0.2):
        sigma = size * DELTA
        number = 10_000
        shares = flips(sigma * np.random.default_rng(1).normal(size=(number, num_params(MERGED))))
        predicted = normal_frequency(constants, sigma=sigma, epsilon=EPSILON)
        error = np.sqrt(predicted * (1 - predicted) / number)
        np.testing.assert_allclose(shares, predicted, atol=4 * error)
        normal = stats.norm(scale=sigma).cdf
        assert np.all(shares > probability_bound(normal, num_params(MERGED), delta=DELTA, ratio=RATIO))


def test_a_small_enough_mutation_size_flips_half_the_time_each_way() -> None:
    """With delta of five standard deviations and a ratio of 1 %, the bound itself is near one half."""
    number = num_params(MERGED)
    assert probability_bound(stats.norm(scale=1 / 5).cdf, number, delta=1.0, ratio=0.01) > 0.47


def test_probability_of_one_weight_alone_is_no_bound() -> None:
    """As printed, F(delta) - F(ratio delta): one weight in ten moves far, and next to nothing is left of it."""
    generator = np.random.default_rng(2)
    shape = (1000, num_params(MERGED))
    near = 0.2 * DELTA * generator.normal(size=shape)
    steps = np.where(generator.random(shape) < 0.1, generator.choice([-1.0, 1.0], size=shape), near)
    printed = 0.9 * (stats.norm.cdf(5) - stats.norm.cdf(5 * RATIO))
    assert printed > 0.27
    assert flips(steps).max() < 0.05


@pytest.mark.parametrize("number", [3, 4, 5])
def test_any_mutation_within_reach_of_several_policies_is_the_one_its_switches_spell(number: int) -> None:
    """As of two: every weight at the worst it may be, switches as little as they must or as far as they may."""

    def wave(place: int) -> Network:
        return approximate(lambda x: np.cos(2 * x + 1.3 * place), 1, num_units=8, seed=place)

    policies = [wave(place) for place in range(number)]
    delta = largest_delta(*policies, epsilon=EPSILON, ratio=RATIO)
    merged, grid = flip_network(*policies, delta=delta, ratio=RATIO), np.linspace(0, 1, 21)[:, None]
    outputs = jax.jit(jax.vmap(lambda step: apply(moved(merged, step), grid)))
    wanted = [np.asarray(apply(policy, grid)) for policy in policies]
    places = [switch(merged, bit) for bit in range(num_switches(number))]
    assert len(set(places)) == len(places) == {3: 2, 4: 2, 5: 3}[number]
    steps = delta * np.random.default_rng(0).choice([-1.0, 1.0], size=(200, num_params(merged)))
    for amount in (1.0001 * RATIO, 1.0):
        for own, ways in enumerate(codes(number)):
            steps[:, places] = amount * delta * (2 * ways - 1)
            found = np.asarray(outputs(jnp.asarray(steps)))
            distances = [np.abs(found - one).max(axis=(1, 2)) for one in wanted]
            assert distances[own].max() <= EPSILON
            assert min(one.min() for k, one in enumerate(distances) if k != own) > EPSILON


def test_the_command_says_how_often_mutations_are_each_of_several_policies(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    script = Path(module.__file__).with_name("several.py")
    monkeypatch.syspath_prepend(str(script.parent))
    monkeypatch.setattr(sys, "argv", [str(script), "3"])
    runpy.run_path(str(script), run_name="__main__")
    found = [float(share) / 100 for share in re.findall(r"(\d+)%", capsys.readouterr().out)]
    once = normal_frequency(choose_constants(FIRST, SECOND, delta=DELTA, ratio=RATIO), sigma=0.2 * DELTA, epsilon=0)
    # The second policy asks for one switch, the others for both.
    np.testing.assert_allclose(found[:3], [once**2, once, once**2], atol=0.05)


def test_error_bound_falls_with_delta() -> None:
    errors = [error_bound(FIRST, SECOND, delta=DELTA / scale, ratio=RATIO) for scale in (1, 10, 100)]
    np.testing.assert_allclose(np.divide(errors[:2], errors[1:]), 10, rtol=0.1)
    assert error_bound(FIRST, SECOND, delta=0.1, ratio=RATIO) == np.inf  # nothing is promised
    assert errors[0] == pytest.approx(EPSILON, rel=1e-6)


def test_range_holds_every_output() -> None:
    points = np.random.default_rng(3).uniform(size=(5000, 2))
    for policy in (FIRST, SECOND):
        low, high = output_range(policy)
        outputs = np.asarray(apply(policy, points))
        assert np.all(low <= outputs.min(axis=0))
        assert np.all(high >= outputs.max(axis=0))
        assert np.all(high - low < 1.3 * np.ptp(outputs, axis=0))


def test_policies_are_approximated() -> None:
    points = np.random.default_rng(4).uniform(size=(1000, 2))
    errors = [
        float(np.abs(apply(approximate(swirl, 2, num_units=units), points) - swirl(points)).max()) for units in (12, 96)
    ]
    assert errors[1] < 0.02
    assert errors[1] < errors[0]


def test_unlike_policies_and_bad_numbers_are_refused() -> None:
    line: Network = approximate(lambda x: x, 1, num_units=4)
    with pytest.raises(ValueError, match="two or more policies with the same inputs"):
        flip_network(FIRST, line, delta=1e-3, ratio=0.1)
    with pytest.raises(ValueError, match="0 < ratio < 1"):
        choose_constants(FIRST, SECOND, delta=1e-3, ratio=1.0)


def test_the_examples_in_its_docstrings_hold() -> None:
    failed, attempted = doctest.testmod(module)
    assert attempted >= 4
    assert failed == 0
