"""Stochastic computation graphs, ordinary and nested (section 3 of the paper)."""

from evolvability.theory.graph_nodes import Deterministic, Expectation, Input, Stochastic
from evolvability.theory.graphs import NestedGraph, StochasticGraph, nest
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
