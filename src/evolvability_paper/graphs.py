r"""The paper's graphs (figures of sections S2 to S4), by default with Gaussians and simple functions.

Distributions are passed as functions of their parents' values, e.g. ``Normal`` for $z \sim \mathcal{N}(\theta, 1)$.
"""

from collections.abc import Callable, Mapping
from typing import Any

import jax.numpy as jnp
from jax import Array

from evolvability import Distribution
from evolvability.theory import (
    Deterministic,
    Expectation,
    Input,
    NestedGraph,
    Normal,
    Stochastic,
    StochasticGraph,
    nest,
)

Function = Callable[[Any], Any]
Conditional = Callable[..., Distribution]

POSITIONS: Mapping[str, Mapping[str, tuple[float, float]]] = {
    "markov_reward_process": {
        "x0": (0, 0), "x1": (2, 0), "x2": (4, 0), "theta": (0, 2), "f1": (2, 2), "f2": (4, 2),
    },
    "nested_markov_reward_process": {
        "x0": (0, 0), "x1": (4, 0), "x2": (6, 0), "theta": (0, 2), "f1": (4, 2), "f2": (6, 2),
        "E_x1": (2, 4), "sum_x1": (4, 4), "E_x2": (6, 4),
    },
    "natural_es": {"z": (0, 2), "f": (2, 2), "theta": (2, 0), "E_z": (4, 1)},
    "max_variance_graph": {"z": (0, 2), "B": (2, 2), "square": (4, 2), "theta": (4, 0), "E_z": (6, 1)},
    "max_entropy_graph": {
        "z": (0, 3), "B": (1.5, 3), "z'": (0, 0), "B'": (1.5, 0), "phi": (1.5, 1.5), "E_z'": (3.2, 1.5),
        "-log": (4.9, 1.5), "E_z": (7, 1.5), "theta": (4.9, 0),
    },
}  # fmt: skip
"""Where the paper places the nodes of its five graphs, by the name of the function that makes the graph."""

THETA = Input("theta", label=r"\theta")  # the parameters of the population, in every graph


def linear_transition(state: Any, theta: Any) -> Normal:
    r"""The next state $\mathcal{N}(\theta x, 1)$ of the default Markov reward process."""
    return Normal(theta * state)


def identity(z: Any) -> Any:
    """$z$ itself."""
    return z


def square(x: Any) -> Array:
    """The squared norm $|x|^2$."""
    return jnp.sum(jnp.square(x))


def markov_reward_process(
    transition: Conditional = linear_transition, f1: Function = identity, f2: Function = square
) -> StochasticGraph:
    r"""Two steps of a Markov reward process: $\mathbb{E}_{x_1, x_2}[f_1(x_1) + f_2(x_2)]$, inputs $x_0$ and $\theta$.

    By default it is $\theta x_0 + \theta^4 x_0^2 + \theta^2 + 1$.
    """
    return StochasticGraph(
        (
            Input("x0", label="x_0"),
            THETA,
            Stochastic("x1", ("x0", "theta"), transition, label="x_1"),
            Stochastic("x2", ("x1", "theta"), transition, label="x_2"),
            Deterministic("f1", ("x1",), f1, label="f_1"),
            Deterministic("f2", ("x2",), f2, label="f_2"),
        )
    )


def nested_markov_reward_process() -> NestedGraph:
    r"""The same, nested: $\mathbb{E}_{x_1}[f_1(x_1) + \mathbb{E}_{x_2}[f_2(x_2)]]$."""
    return nest(markov_reward_process())


def natural_es(f: Function = lambda z: -square(z), population: Conditional = Normal) -> NestedGraph:
    r"""Natural Evolution Strategies: $\mathbb{E}_z[f(z)]$ for $z$ drawn from the population at $\theta$."""
    return NestedGraph((THETA, Stochastic("z"), Deterministic("f", ("z",), f), _over("z", "f", population)))


def max_variance_graph(
    behavior: Function = identity, population: Conditional = Normal, *, mean: Any = 0.0
) -> NestedGraph:
    r"""MaxVar-EES as the paper draws it: $\mathbb{E}_z[|\mathbf{B}(z) - \mu|^2]$ for a constant $\mu$.

    The paper's $\mathbf{B}$ has the mean zero. With ``mean`` set to $\mathbb{E}_z[\mathbf{B}(z)]$ at the $\theta$ where
    the graph is evaluated, its value and its gradient there are those of the variance, because there
    $\nabla_\mu \mathbb{E}_z[|\mathbf{B} - \mu|^2] = 0$. `variance_graph` estimates the mean itself.
    """
    distance = Deterministic("square", ("B",), lambda b: square(b - mean), label=r"(\cdot)^2")
    return NestedGraph((THETA, *_behaviors(behavior, "z"), distance, _over("z", "square", population)))


def variance_graph(behavior: Function = identity, population: Conditional = Normal) -> NestedGraph:
    r"""Equation 1 with its mean nested: $\mathbb{E}_z[|\mathbf{B}(z) - \mathbb{E}_{z'}[\mathbf{B}(z')]|^2]$."""
    return NestedGraph(
        (
            THETA,
            *_behaviors(behavior, "z", "z'"),
            _over("z'", "B'", population),
            Deterministic("square", ("B", "E_z'"), lambda b, mean: square(b - mean), label=r"(-)^2"),
            _over("z", "square", population),
        )
    )


def max_entropy_graph(
    behavior: Function = identity,
    population: Conditional = Normal,
    kernel: Function = lambda difference: jnp.exp(-square(difference) / 2),
) -> NestedGraph:
    r"""MaxEnt-EES: $\mathbb{E}_z[-\log \mathbb{E}_{z'}[\varphi(\mathbf{B}(z') - \mathbf{B}(z))]]$.

    The population of $z'$ does not depend on $z$, so every $z$ is compared with the same samples of $z'$.
    """
    return NestedGraph(
        (
            THETA,
            *_behaviors(behavior, "z", "z'"),
            Deterministic("phi", ("B", "B'"), lambda b, other: kernel(other - b), label=r"\varphi"),
            _over("z'", "phi", population),
            Deterministic("-log", ("E_z'",), lambda density: -jnp.log(density), label=r"-\log"),
            _over("z", "-log", population),
        )
    )


def _behaviors(behavior: Function, *samples: str) -> list[Stochastic | Deterministic]:
    """Samples, and the behavior of each: B of z, B' of z'."""
    # Bare leaves: the expectations over them have their distributions.
    found: list[Stochastic | Deterministic] = [Stochastic(z) for z in samples]
    return found + [Deterministic(z.replace("z", "B"), (z,), behavior, label=r"\mathbfit{B}") for z in samples]


def _over(z: str, integrand: str, population: Conditional) -> Expectation:
    """The expectation over a sample from the population at theta."""
    # The drawings place it by this name.
    return Expectation(f"E_{z}", over=z, integrand=integrand, given=("theta",), distribution=population)
