import numpy as np
import pytest
from models import evaluate
from mujoco_fused.arrays import symbols
from mujoco_fused.expressions import Tape, arctan2, select, sin


def test_constants_are_folded_and_nothing_is_computed_twice() -> None:
    tape = Tape()
    x, y = tape.inputs("x", 2)
    assert x * 0 == 0
    assert 0 / x == 0
    assert (x + 0).name == (x * 1).name == (x - 0).name == x.name
    assert x - x == 0
    assert (x + y).name == (y + x).name
    assert (x * y + x * y).name == (x * y + y * x).name
    assert sin(0.5) == np.sin(0.5)
    assert len(tape.steps) == 3  # x + y, x * y and its double
    assert select(x < y, 2.0, 2.0) == 2


def test_a_rotation_in_a_plane_costs_planar_arithmetic() -> None:
    tape = Tape()
    (x,) = tape.inputs("x", 1)
    flat = np.array([[x, 0.0, sin(x)], [0.0, 1.0, 0.0], [-sin(x), 0.0, x]], object)
    product = flat @ flat
    assert product[1].tolist() == [0.0, 1.0, 0.0]
    assert product[0, 1] == product[2, 1] == 0


def test_only_what_is_needed_is_written() -> None:
    tape = Tape()
    x, y = tape.inputs("x", 2)
    unused, used = x * y, select(x < y, x + 2.0, y)
    text = tape.code([("out", used)])
    assert unused.name not in text
    assert text.splitlines()[-1] == f"out = {used.name};"
    assert "const bool" in text


def test_numbers_take_the_place_of_symbols() -> None:
    tape = Tape()
    x, y = tape.inputs("x", 2)
    given = np.random.default_rng(0).normal(size=(5, 2))
    value = select(x < y, arctan2(x, y) / 3, abs(y) - 1 / x)
    a, b = given.T
    expected = np.where(a < b, np.arctan2(a, b) / 3, np.abs(b) - 1 / a)
    np.testing.assert_allclose(evaluate(tape, {"x": given}, value), expected)


def test_a_symbol_is_neither_true_nor_false() -> None:
    tape = Tape()
    (x,) = tape.inputs("x", 1)
    with pytest.raises(TypeError, match="select"):
        bool(x > 0)


def test_symbols_are_arrays_for_code_that_is_written_for_arrays() -> None:
    tape = Tape()
    array = symbols(tape.inputs("x", 3))
    xp = array.__array_namespace__()
    turned = xp.remainder(array[..., 0] + np.pi, 2 * np.pi) - np.pi
    clipped = xp.clip(xp.stack([turned, array[..., 1]], axis=-1), -1.0, 1.0)
    given = np.random.default_rng(0).normal(0, 5, size=(7, 3))
    expected = np.stack([np.remainder(given[:, 0] + np.pi, 2 * np.pi) - np.pi, given[:, 1]], axis=-1).clip(-1, 1)
    np.testing.assert_allclose(evaluate(tape, {"x": given}, clipped), expected)
    smaller = np.asarray(array[..., 0] < array[..., 1]).item()
    np.testing.assert_array_equal(evaluate(tape, {"x": given}, smaller), given[:, 0] < given[:, 1])
