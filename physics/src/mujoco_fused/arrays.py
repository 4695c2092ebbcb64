"""Symbolic arrays for code that is written for NumPy's and JAX's: they bring a namespace of their own."""

import operator
from types import SimpleNamespace
from typing import Any

import numpy as np

from mujoco_fused import expressions


class Symbols(np.ndarray[Any, Any]):
    """An array of symbolic scalars."""

    # NumPy's comparisons would ask whether each result is true.
    def __lt__(self, other: Any) -> Any:
        return _each(operator.lt)(self, other)

    def __gt__(self, other: Any) -> Any:
        return _each(operator.gt)(self, other)

    def __le__(self, other: Any) -> Any:
        return _each(operator.le)(self, other)

    def __ge__(self, other: Any) -> Any:
        return _each(operator.ge)(self, other)

    def __array_namespace__(self, api_version: str | None = None) -> Any:
        """Functions of such arrays."""
        return NAMESPACE


def symbols(values: Any) -> Symbols:
    """Symbolic scalars as an array."""
    return np.asarray(values, object).view(Symbols)


def _each(function: Any) -> Any:
    """A function of scalars, applied to arrays element by element."""

    def apply(*arrays: Any) -> Symbols:
        return symbols(np.frompyfunc(function, len(arrays), 1)(*arrays))

    return apply


NAMESPACE = SimpleNamespace(
    **{name: _each(getattr(expressions, name)) for name in ("sin", "cos", "sqrt", "arctan2", "arcsin", "isfinite")},
    clip=_each(expressions.within),
    where=_each(expressions.select),
    abs=_each(abs),
    minimum=_each(lambda one, two: expressions.select(one < two, one, two)),
    maximum=_each(lambda one, two: expressions.select(one < two, two, one)),
    sum=lambda array, axis=None: symbols(np.sum(array, axis)),
    remainder=_each(lambda value, whole: value - expressions.floor(value / whole) * whole),
    zeros_like=lambda array: symbols(np.zeros(np.shape(array))),
    stack=lambda arrays, axis=0: symbols(np.stack([np.asarray(array, object) for array in arrays], axis)),
    concatenate=lambda arrays, axis=0: symbols(np.concatenate(arrays, axis)),
)
"""The functions that robots, observations and their ends are written in."""
