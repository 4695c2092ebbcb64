"""The nodes of stochastic computation graphs, and the rules by which they form one.

Nothing here evaluates a graph: these are names, dependencies and checks. See `evolvability.theory.graphs`.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from typing import Any, ClassVar

from evolvability.core.expectation import Distribution


@dataclass(frozen=True)
class Input:
    """A value given from outside. Every node's ``label`` is how a drawing writes it: mathtext without the dollars."""

    name: str
    """The node's name."""
    label: str = ""
    """The text that a drawing shows: mathtext without the dollars; default: the name."""
    parents: ClassVar[tuple[str, ...]] = ()
    """Always empty: an input has no parents."""


@dataclass(frozen=True)
class Deterministic:
    """A function of its parents' values, in their order."""

    name: str
    """The node's name."""
    parents: tuple[str, ...]
    """The names of the nodes that the function takes, in its order."""
    function: Callable[..., Any]
    """The function of the parents' values."""
    label: str = ""
    """The text that a drawing shows; default: the name."""


@dataclass(frozen=True)
class Stochastic:
    """A random variable: with parents and a distribution in an ordinary graph, a bare leaf in a nested one."""

    name: str
    """The node's name."""
    parents: tuple[str, ...] = ()
    """The names of the nodes that the distribution takes, in its order."""
    distribution: Callable[..., Distribution] | None = None
    """From the parents' values to a distribution; None in a nested graph, where an expectation has it."""
    label: str = ""
    """The text that a drawing shows; default: the name."""


@dataclass(frozen=True)
class Expectation:
    r"""The expectation $\mathbb{E}_z[f]$ of a nested graph; by default its label is made of those of $z$ and $f$."""

    name: str
    """The node's name."""
    over: str
    """The name of the stochastic node $z$ that is averaged over."""
    integrand: str
    """The name of the node $f$ that is averaged."""
    given: tuple[str, ...]
    """The names of the nodes that the distribution of $z$ depends on."""
    distribution: Callable[..., Distribution]
    """From the values of those nodes to the distribution of $z$."""
    label: str = ""
    """The text that a drawing shows; default: made of the labels of $z$ and $f$."""

    @property
    def parents(self) -> tuple[str, ...]:
        """The integrand, then the conditioning nodes; it depends on its stochastic node through the integrand."""
        return (self.integrand, *self.given)


Node = Input | Deterministic | Stochastic | Expectation
Nodes = Mapping[str, Node]


def by_name(nodes: tuple[Node, ...]) -> dict[str, Node]:
    """Look up nodes by name, once every name is known to be unique and every dependency to exist."""
    counts = Counter(node.name for node in nodes)
    for node in nodes:
        if counts[node.name] > 1:
            raise ValueError(f"Node '{node.name}' is there {counts[node.name]} times. Give every node its own name.")
        # What an expectation is over is not a parent of it, but must exist too.
        for name in (*node.parents, *([node.over] if isinstance(node, Expectation) else [])):
            if name not in counts:
                available = ", ".join(counts)
                raise ValueError(f"Node '{node.name}' depends on the unknown node '{name}'. Available: {available}.")
    return {node.name: node for node in nodes}


def sort(dependencies: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """Every name after those that it depends on.

    Examples:
        >>> sort({"f": ("z",), "z": ("theta",), "theta": ()})
        ('theta', 'z', 'f')
    """
    try:
        return tuple(TopologicalSorter(dependencies).static_order())
    except CycleError as error:
        cycle = " -> ".join(f"'{name}'" for name in error.args[1])
        raise ValueError(f"The nodes {cycle} form a cycle. Remove one of these dependencies.") from None


def parents_first(nodes: Nodes) -> tuple[str, ...]:
    """Every node's name, parents before children."""
    return sort({name: node.parents for name, node in nodes.items()})


def upstream(nodes: Nodes, name: str) -> set[str]:
    """The node itself and every node that it depends on, directly or not."""
    # It comes to an end: a graph refuses cycles before anything else is asked.
    return {name}.union(*(upstream(nodes, parent) for parent in nodes[name].parents))


def outputs(nodes: Nodes) -> tuple[str, ...]:
    """The nodes that nothing depends on; an unused input is none."""
    used = {parent for node in nodes.values() for parent in node.parents}
    return tuple(name for name, node in nodes.items() if name not in used and not isinstance(node, Input))


# Each of the following yields what is wrong with a graph, in the words of an error.


def broken_in_ordinary(nodes: Nodes) -> Iterator[str]:
    """An ordinary graph has no expectation nodes, and stochastic nodes with distribution and purpose."""
    for name, node in nodes.items():
        if isinstance(node, Expectation):
            yield f"Expectation node '{name}' stands in an ordinary graph. Leave it out, or build a NestedGraph."
        if isinstance(node, Stochastic) and node.distribution is None:
            yield f"Stochastic node '{name}' has no distribution. Give it a function of its parents."


def broken_in_nested(nodes: Nodes) -> Iterator[str]:
    """A nested graph's stochastic nodes are leaves, each with the one expectation that is over it."""
    for name, node in nodes.items():
        if isinstance(node, Expectation):
            yield from _broken_expectation(nodes, node)
        if not isinstance(node, Stochastic):
            continue
        if node.parents or node.distribution is not None:
            got = f"the parents {', '.join(map(repr, node.parents))}" if node.parents else "a distribution"
            yield f"Stochastic node '{name}' must be a bare leaf, got {got}. The expectation over it has these."
        # A draw has its distribution from the expectation over it, and two could disagree.
        over = [repr(other.name) for other in nodes.values() if isinstance(other, Expectation) and other.over == name]
        if len(over) != 1:
            needed = f"exactly one expectation node over it, got {', '.join(over) or 'none'}"
            yield f"Stochastic node '{name}' needs {needed}. Add an Expectation, or a stochastic node for each."


def broken_outputs(nodes: Nodes) -> Iterator[str]:
    """Any graph has an output, which is a function."""
    names = outputs(nodes)
    if not names:
        yield f"A graph needs an output, got only inputs: {', '.join(nodes) or 'none'}. Add a function."
    for name in names:
        if isinstance(nodes[name], Stochastic):
            yield f"Stochastic node '{name}' has no children. Add a function of it, or leave it out."


def _broken_expectation(nodes: Nodes, node: Expectation) -> Iterator[str]:
    z, subject = node.over, f"Expectation node '{node.name}'"
    if not isinstance(nodes[z], Stochastic):
        yield f"{subject} is over '{z}', which is not a stochastic node. Name the random variable it averages."
    # What does not vary with z has no mean over it: most likely another node was meant.
    if z not in upstream(nodes, node.integrand):
        yield f"{subject} is over '{z}', but its integrand '{node.integrand}' does not depend on it."
    # A draw that conditioned itself would have no first value.
    for parent in node.given:
        if z in upstream(nodes, parent):
            yield f"{subject} conditions '{z}' on '{parent}', which depends on '{z}'. Condition it on others."
