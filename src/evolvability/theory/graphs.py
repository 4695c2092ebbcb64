r"""Stochastic computation graphs, ordinary and nested, as objects (sections S2 and S3 of the paper).

A graph is an immutable collection of named nodes. An ordinary one represents the expected sum of its outputs,

$$\mathcal{G}(x_1, \ldots, x_l) = \mathbb{E}_{z_1, \ldots, z_m}\Big[\sum_i f_i\Big],$$

and a nested one, which holds its expectations as nodes, the sum of its outputs. Both have a surrogate: an estimate from
samples whose value estimates the graph's and whose derivatives, of every order, estimate the graph's derivatives.

References: Schulman et al., *Gradient estimation using stochastic computation graphs* (2015); Gajewski et al.,
*Evolvability ES* (2019), S2 and S3.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain
from typing import Any, Generic, TypeVar

import jax
import jax.numpy as jnp
from jax import Array

from evolvability.core.expectation import Distribution, expect
from evolvability.theory import graph_nodes
from evolvability.theory.graph_nodes import Deterministic, Expectation, Input, Node, Stochastic

Samples = TypeVar("Samples")


@dataclass(frozen=True)
class Graph(ABC, Generic[Samples]):
    """What both formalisms share: named nodes without a cycle, and as outputs those that have no children."""

    nodes: tuple[Node, ...]
    """All nodes, in any order."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "nodes", tuple(self.nodes))  # a list could change after the check
        graph_nodes.parents_first(self.by_name)  # refuses a cycle
        for text in chain(self._broken_rules(), graph_nodes.broken_outputs(self.by_name)):
            raise ValueError(text)

    def __getitem__(self, name: str) -> Node:
        return self.by_name[name]

    @cached_property
    def by_name(self) -> dict[str, Node]:  # cached despite `frozen`: the cache is written past __setattr__
        """The nodes by their names."""
        return graph_nodes.by_name(self.nodes)

    @cached_property
    def outputs(self) -> tuple[str, ...]:
        """The nodes that nothing depends on; an unused input is none."""
        return graph_nodes.outputs(self.by_name)

    @abstractmethod
    def _broken_rules(self) -> Iterator[str]:
        """What breaks a rule of this kind of graph, in the words of an error."""

    @abstractmethod
    def surrogate(self, inputs: Mapping[str, Any], key: Array, num_samples: Samples) -> Any:
        """Estimate the graph's value, differentiable in ``inputs`` to any order."""

    def value(self, inputs: Mapping[str, Any], key: Array, num_samples: Samples) -> Any:
        """Estimate the graph's value, as a constant."""
        return jax.lax.stop_gradient(self.surrogate(inputs, key, num_samples))

    def gradient(
        self, inputs: Mapping[str, Any], key: Array, num_samples: Samples, wrt: Iterable[str] | None = None
    ) -> dict[str, Any]:
        """Estimate the derivative of a graph whose value is a scalar, by name, in all inputs or in those of ``wrt``."""
        _check_names("inputs", inputs, known=self._inputs, needed=self._inputs)
        # All inputs are checked before this line, since `chosen` looks them up before `surrogate` would check.
        names = tuple(inputs) if wrt is None else tuple(wrt)
        _check_names("wrt", names, known=self._inputs, needed=())
        chosen = {name: inputs[name] for name in names}
        slopes: dict[str, Any] = jax.grad(lambda part: self.surrogate({**inputs, **part}, key, num_samples))(chosen)
        return slopes

    @cached_property
    def _inputs(self) -> tuple[str, ...]:
        return tuple(node.name for node in self.nodes if isinstance(node, Input))


@dataclass(frozen=True)
class StochasticGraph(Graph[int]):
    """An ordinary stochastic computation graph: the expected sum of its outputs over all its stochastic nodes.

    Examples:
        >>> from evolvability.theory import Normal
        >>> graph = StochasticGraph((
        ...     Input("theta"),
        ...     Stochastic("z", ("theta",), Normal),
        ...     Deterministic("f", ("z",), jnp.square),
        ... ))
        >>> slope = graph.gradient({"theta": 1.0}, jax.random.key(0), 100_000)["theta"]
        >>> abs(float(slope) - 2) < 0.1  # E[z^2] = theta^2 + 1
        True
    """

    def _broken_rules(self) -> Iterator[str]:
        return graph_nodes.broken_in_ordinary(self.by_name)

    def surrogate(self, inputs: Mapping[str, Any], key: Array, num_samples: int) -> Any:
        r"""The mean over joint samples of $\sum_i f_i\,\mathcal{L}(\text{the draws that } f_i \text{ depends on})$.

        Its gradient is the score-function estimate in which every draw is credited with its downstream outputs alone.
        """
        _check_names("inputs", inputs, known=self._inputs, needed=self._inputs)
        keys = jax.random.split(key, num_samples)
        outputs = jax.vmap(lambda key_joint: self._sample_outputs(inputs, key_joint))(keys)
        return _sum(*(_mean(values, log_prob) for values, log_prob in outputs))

    def _sample_outputs(self, inputs: Mapping[str, Any], key: Array) -> list[tuple[Any, Array]]:
        """For one joint sample, every output with the log-density of the draws that it depends on."""
        values, log_prob = dict(inputs), {}
        # One key per draw, in the order of evaluation.
        keys = iter(jax.random.split(key, sum(isinstance(node, Stochastic) for node in self.nodes)))
        for name in graph_nodes.parents_first(self.by_name):
            node = self[name]
            arguments = (values[parent] for parent in node.parents)
            if isinstance(node, Deterministic):
                values[name] = node.function(*arguments)
            elif isinstance(node, Stochastic) and node.distribution is not None:
                values[name], log_prob[name] = _sample(node.distribution, next(keys), *arguments)
        # A draw is credited with what is downstream of it alone: other outputs would add nothing but noise.
        upstream = {f: graph_nodes.upstream(self.by_name, f) for f in self.outputs}
        credit = {f: [log_prob[z] for z in log_prob if z in upstream[f]] for f in self.outputs}
        return [(values[f], sum(credit[f], start=jnp.zeros(()))) for f in self.outputs]


@dataclass(frozen=True)
class NestedGraph(Graph[int | Mapping[str, int]]):
    """A nested stochastic computation graph: the sum of its outputs, with expectations as nodes.

    Examples:
        >>> from evolvability.theory import Normal
        >>> graph = NestedGraph((
        ...     Input("theta"),
        ...     Stochastic("z"),
        ...     Expectation("mean", over="z", integrand="z", given=("theta",), distribution=Normal),
        ...     Deterministic("f", ("mean",), jnp.square),
        ... ))
        >>> slope = graph.gradient({"theta": 3.0}, jax.random.key(0), 100_000)["theta"]
        >>> abs(float(slope) - 6) < 0.2  # E[z]^2 = theta^2
        True
    """

    def _broken_rules(self) -> Iterator[str]:
        yield from graph_nodes.broken_in_nested(self.by_name)
        # Looked at last: axes are known only of a graph that keeps the rules above.
        for output in self.outputs:
            for z in self.axes[output]:
                place = f"'{z}' outside of '{self.expectations[z].name}', the expectation over it"
                yield f"Output node '{output}' depends on {place}. Make '{output}' part of that integrand."

    @cached_property
    def expectations(self) -> dict[str, Expectation]:
        """The expectation node over each stochastic node, inner ones before outer ones."""
        order = graph_nodes.parents_first(self.by_name)
        return {node.over: node for name in order if isinstance(node := self[name], Expectation)}

    @cached_property
    def axes(self) -> dict[str, tuple[str, ...]]:
        """The stochastic nodes with whose samples each node varies: in a surrogate, the leading axes of its array.

        An inner sample varies with an outer one only if its distribution does. Else all the outer samples share the
        inner ones, and what depends on these alone is evaluated once for all.
        """
        found: dict[str, set[str]] = {}
        for name, before in self._needs.items():
            node = self[name]
            # What a node is computed from comes earlier in `_needs`, so its axes are known.
            found[name] = {axis for parent in before for axis in found[parent]}
            if isinstance(node, Stochastic):
                found[name].add(name)
            elif isinstance(node, Expectation):
                found[name].discard(node.over)
        # With the outermost first, an expectation always averages over the last axis of its integrand.
        return {name: tuple(axis for axis in reversed(self.expectations) if axis in found[name]) for name in found}

    @cached_property
    def _needs(self) -> dict[str, tuple[str, ...]]:
        """What each node is computed from, in the order of evaluation: a draw needs what conditions it."""
        given = {over: node.given for over, node in self.expectations.items()}
        needs = {name: given.get(name, node.parents) for name, node in self.by_name.items()}
        return {name: needs[name] for name in graph_nodes.sort(needs)}

    def surrogate(self, inputs: Mapping[str, Any], key: Array, num_samples: int | Mapping[str, int]) -> Any:
        r"""The graph with every expectation replaced by the sample mean $\frac1N \sum_i f(z_i)\,\mathcal{L}(z_i)$.

        Of the samples that each expectation is over there is one number, or one for each stochastic node by name.
        A nonlinear function of an expectation biases it by the order of one over their number, as it does any function
        of a sample mean.
        """
        _check_names("inputs", inputs, known=self._inputs, needed=self._inputs)
        if not isinstance(num_samples, Mapping):
            num_samples = dict.fromkeys(self.expectations, num_samples)
        _check_names("num_samples", num_samples, known=self.expectations, needed=self.expectations)
        sizes = {name: num_samples[name] for name in self.expectations}  # in one order: it decides who gets which key
        keys = dict(zip(sizes, jax.random.split(key, len(sizes)), strict=True))
        values, log_prob = dict(inputs), {}
        for name, needs in self._needs.items():
            node, arguments = self[name], [values[need] for need in needs]
            if isinstance(node, Deterministic):
                values[name] = self._map(node.function, needs)(*arguments)
            elif isinstance(node, Stochastic):
                keys_draw = jax.random.split(keys[name], tuple(sizes[axis] for axis in self.axes[name]))
                draw = self._map(partial(_sample, self.expectations[name].distribution), (name, *needs))
                values[name], log_prob[name] = draw(keys_draw, *arguments)
            elif isinstance(node, Expectation):
                # Not mapped over its own sample: that axis is what the mean is taken over.
                mean = self._map(_mean, (node.integrand, node.over), but=node.over)
                values[name] = mean(values[node.integrand], log_prob[node.over])
        return _sum(*(values[name] for name in self.outputs))

    def _map(self, function: Callable[..., Any], names: tuple[str, ...], but: str = "") -> Callable[..., Any]:
        """Make a function of single values one of whole arrays: those of ``names``, over all their axes ``but`` one."""
        present = {axis for name in names for axis in self.axes[name]} - {but}
        for axis in self.expectations:  # inner ones first, so that the outermost axis leads
            if axis in present:
                function = jax.vmap(function, in_axes=tuple(0 if axis in self.axes[name] else None for name in names))
        return function


def nest(graph: StochasticGraph) -> NestedGraph:
    """The nested graph with the same value and derivatives, as the paper nests its Markov reward process.

    From the last stochastic node to the first, the sum of the terms that depend on it becomes the integrand of an
    expectation over it, which takes their place.

    Examples:
        >>> from evolvability.theory import Normal
        >>> graph = StochasticGraph((
        ...     Input("theta"),
        ...     Stochastic("z", ("theta",), Normal),
        ...     Deterministic("f", ("z",), jnp.square),
        ... ))
        >>> nest(graph).outputs
        ('E_z',)
    """
    nodes = dict(graph.by_name)
    terms = list(graph.outputs)
    # Inner expectations first: whatever conditions a draw must still be there, as a draw further out.
    for z in [graph[name] for name in reversed(graph_nodes.parents_first(nodes))]:
        if not isinstance(z, Stochastic) or z.distribution is None:
            continue
        nodes[z.name] = Stochastic(z.name, label=z.label)
        inside = [term for term in terms if z.name in graph_nodes.upstream(nodes, term)]
        integrand = inside[0]
        if len(inside) > 1:
            integrand = _unused(f"sum_{z.name}", nodes)
            nodes[integrand] = Deterministic(integrand, tuple(inside), _sum, label="+")
        mean = _unused(f"E_{z.name}", nodes)
        nodes[mean] = Expectation(mean, z.name, integrand, z.parents, z.distribution)
        # The expectation stands for the terms inside it; further out it is a term like any other.
        terms = [*(term for term in terms if term not in inside), mean]
    return NestedGraph(tuple(nodes.values()))


def _unused(name: str, names: Iterable[str]) -> str:
    return _unused(name + "'", names) if name in names else name


def _sample(conditional: Callable[..., Distribution], key: Array, *given: Any) -> tuple[Any, Array]:
    """One draw and its log-density."""
    distribution = conditional(*given)
    # A sample is a constant: its distribution moves through log_prob alone.
    draw = jax.lax.stop_gradient(distribution.sample(key))
    return draw, jnp.sum(distribution.log_prob(draw))


def _mean(values: Any, log_prob: Array) -> Any:
    # Values may be any tree of arrays, e.g. a fitness and a behavior together.
    return jax.tree.map(lambda leaf: expect(leaf, log_prob), values)


def _sum(*terms: Any) -> Any:
    return jax.tree.map(lambda *leaves: sum(leaves), *terms)


def _check_names(what: str, names: Iterable[str], *, known: Iterable[str], needed: Iterable[str]) -> None:
    for name in names:
        if name not in known:
            raise ValueError(f"{what}: unknown name '{name}'. Available: {', '.join(known)}.")
    for name in needed:
        if name not in names:
            raise ValueError(f"{what}: '{name}' is missing. Needed: {', '.join(needed)}.")
