"""The nodes of stochastic computation graphs, and the rules by which they form one.

Nothing here evaluates a graph: these are names, dependencies and checks. See `evolvability.theory.graphs`.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from typing import Any

from evolvability.core.expectation import Distribution


@dataclass(frozen=True)
class Input:
    """A value given from outside. Every node's ``label`` is how a drawing writes it: mathtext without the dollars."""

    name: str
    label: str = ""

    @property
    def parents(self) -> tuple[str, ...]:
        """None: an input depends on nothing."""
        return ()


@dataclass(frozen=True)
class Deterministic:
    """A function of its parents' values, in their order."""

    name: str
    parents: tuple[str, ...]
    function: Callable[..., Any]
    label: str = ""


@dataclass(frozen=True)
class Stochastic:
    """A random variable: with parents and a distribution in an ordinary graph, a bare leaf in a nested one."""

    name: str
    parents: tuple[str, ...] = ()
    distribution: Callable[..., Distribution] | None = None
    label: str = ""


@dataclass(frozen=True)
class Expectation:
    r"""The expectation $\mathbb{E}_z[f]$ of a nested graph.

    Attributes:
        name: the node's name.
        over: the stochastic node $z$ that is averaged over.
        integrand: the node $f$ that is averaged.
        given: the nodes $\xi_1, \ldots, \xi_m$ that condition $z \sim p(\cdot; \xi_1, \ldots, \xi_m)$.
        distribution: the function from their values to the distribution of $z$.
        label: made of the labels of ``over`` and ``integrand`` unless given.
    """

    name: str
    over: str
    integrand: str
    given: tuple[str, ...]
    distribution: Callable[..., Distribution]
    label: str = ""

    @property
    def parents(self) -> tuple[str, ...]:
        """The integrand, then the conditioning nodes; it depends on its stochastic node through the integrand."""
        return (self.integrand, *self.given)


Node = Input | Deterministic | Stochastic | Expectation
Nodes = Mapping[str, Node]


def by_name(nodes: tuple[Node, ...]) -> dict[str, Node]:
    """Look up nodes by name, once every name is known to be unique and every dependency to exist."""
    counts = Counter(node.name for node in nodes)
    repeated = [name for name, count in counts.items() if count > 1]
    if repeated:
        raise ValueError(f"Node '{repeated[0]}' is there {counts[repeated[0]]} times. Give every node its own name.")
    for node in nodes:
        named = (*node.parents, node.over) if isinstance(node, Expectation) else node.parents
        unknown = [name for name in named if name not in counts]
        if unknown:
            raise ValueError(
                f"Node '{node.name}' depends on the unknown node '{unknown[0]}'. Available: {', '.join(counts)}."
            )
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


def ancestors(nodes: Nodes, name: str) -> frozenset[str]:
    """Every node that ``name`` depends on, directly or not."""
    found: set[str] = set()
    ahead = [name]
    while ahead:
        new = set(nodes[ahead.pop()].parents) - found
        found |= new
        ahead += new
    return frozenset(found)


def outputs(nodes: Nodes) -> tuple[str, ...]:
    """The nodes that nothing depends on; an unused input is none."""
    used = {parent for node in nodes.values() for parent in node.parents}
    return tuple(name for name, node in nodes.items() if name not in used and not isinstance(node, Input))


def expectations(nodes: Nodes) -> dict[str, Expectation]:
    """The expectation node over each stochastic node, inner ones before outer ones."""
    order = sort({name: node.parents for name, node in nodes.items()})
    return {node.over: node for name in order if isinstance(node := nodes[name], Expectation)}


def schedule(nodes: Nodes) -> tuple[str, ...]:
    """The order in which a nested graph is evaluated: a stochastic node comes after what its distribution is given."""
    given = {over: node.given for over, node in expectations(nodes).items()}
    return sort({name: given.get(name, node.parents) for name, node in nodes.items()})


def axes(nodes: Nodes) -> dict[str, tuple[str, ...]]:
    """The stochastic nodes with whose samples each node of a nested graph varies, the outermost first.

    An inner sample varies with an outer one only if its distribution does.
    """
    over = expectations(nodes)
    found: dict[str, set[str]] = {}
    for name in schedule(nodes):
        node = nodes[name]
        before = over[name].given if isinstance(node, Stochastic) else node.parents
        found[name] = {axis for parent in before for axis in found[parent]}
        if isinstance(node, Stochastic):
            found[name].add(name)
        elif isinstance(node, Expectation):
            found[name].discard(node.over)
    # With the outermost first, an expectation always averages over the last axis of its integrand.
    return {name: tuple(axis for axis in reversed(over) if axis in mine) for name, mine in found.items()}


def check_ordinary(nodes: Nodes) -> None:
    """The rules of an ordinary graph: no expectation nodes, and stochastic nodes with distribution and purpose."""
    for name, node in nodes.items():
        if isinstance(node, Expectation):
            raise ValueError(
                f"Expectation node '{name}' stands in an ordinary graph, which is itself the expectation over all its "
                f"stochastic nodes. Leave it out, or build a NestedGraph."
            )
        if isinstance(node, Stochastic) and node.distribution is None:
            raise ValueError(
                f"Stochastic node '{name}' has no distribution. Give it a function of its parents' values."
            )
    _check_outputs(nodes)


def check_nested(nodes: Nodes) -> None:
    """The rules of a nested graph: stochastic nodes are leaves, each with one expectation that it does not leave."""
    sort({name: node.parents for name, node in nodes.items()})
    for name, node in nodes.items():
        if isinstance(node, Stochastic):
            _check_leaf(node)
            _check_pair(nodes, name)
    for name, node in nodes.items():
        if isinstance(node, Expectation):
            _check_expectation(nodes, name, node)
    _check_scopes(nodes)
    _check_outputs(nodes)


def _check_outputs(nodes: Nodes) -> None:
    sort({name: node.parents for name, node in nodes.items()})
    for name in outputs(nodes):
        if isinstance(nodes[name], Stochastic):
            raise ValueError(f"Stochastic node '{name}' has no children. Add a function of it, or leave it out.")
    if not outputs(nodes):
        raise ValueError(
            f"A graph needs an output, got only inputs: {', '.join(nodes) or 'none'}. Add a function of them."
        )


def _check_leaf(node: Stochastic) -> None:
    if node.parents or node.distribution is not None:
        got = f"the parents {', '.join(map(repr, node.parents))}" if node.parents else "a distribution"
        raise ValueError(
            f"Stochastic node '{node.name}' of a nested graph must be a bare leaf, got {got}. "
            f"Give the expectation node over '{node.name}' its parents (as `given`) and its distribution."
        )


def _check_pair(nodes: Nodes, name: str) -> None:
    over = [node.name for node in nodes.values() if isinstance(node, Expectation) and node.over == name]
    if len(over) != 1:
        got = ", ".join(map(repr, over)) or "none"
        raise ValueError(
            f"Stochastic node '{name}' needs exactly one expectation node over it, got {got}. "
            f"Add an Expectation, or one stochastic node for each."
        )


def _check_expectation(nodes: Nodes, name: str, node: Expectation) -> None:
    if not isinstance(nodes[node.over], Stochastic):
        raise ValueError(
            f"Expectation node '{name}' is over '{node.over}', which is no stochastic node. "
            f"Name the random variable that it averages over."
        )
    if node.over not in {node.integrand} | ancestors(nodes, node.integrand):
        raise ValueError(
            f"Expectation node '{name}' is over '{node.over}', but its integrand '{node.integrand}' does not depend on "
            f"it. Use an integrand that does, or the integrand itself."
        )
    for parent in node.given:
        if node.over in {parent} | ancestors(nodes, parent):
            raise ValueError(
                f"Expectation node '{name}' conditions '{node.over}' on '{parent}', which depends on '{node.over}'. "
                f"Condition it on nodes outside of the expectation."
            )


def _check_scopes(nodes: Nodes) -> None:
    varies, over = axes(nodes), expectations(nodes)
    for name in outputs(nodes):
        for z in varies[name]:
            raise ValueError(
                f"Output node '{name}' depends on stochastic node '{z}' outside of '{over[z].name}', the expectation "
                f"over it. Make '{name}' part of that integrand, or give it a stochastic node of its own."
            )
