"""Stochastic computation graphs, ordinary and nested (section 3 of the paper)."""

from evolvability.theory.graphs import (
    Deterministic,
    Expectation,
    Input,
    NestedGraph,
    Stochastic,
    StochasticGraph,
    nest,
)
from evolvability.theory.normal import Normal

__all__ = [
    "Deterministic",
    "Expectation",
    "Input",
    "NestedGraph",
    "Normal",
    "Stochastic",
    "StochasticGraph",
    "nest",
]
