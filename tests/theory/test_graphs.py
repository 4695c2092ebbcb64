import doctest
from collections.abc import Mapping
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.patches import Circle, Ellipse, Polygon, Rectangle
from matplotlib.transforms import Bbox

from evolvability.figures.graphs import Positions, figure
from evolvability.theory import Deterministic, Expectation, Input, NestedGraph, Stochastic, StochasticGraph, nest
from evolvability.theory.graph_nodes import Node
from evolvability.theory.graphs import Graph
from evolvability.theory.normal import Normal
from evolvability_paper import graphs as paper_graphs
from evolvability_paper.graphs import POSITIONS

# Compiled without optimization: here compiling takes far longer than running.
jit = partial(jax.jit, compiler_options={"xla_backend_optimization_level": 0})
KEYS = jax.random.split(jax.random.key(0), 400)
X0, THETA = 0.7, 0.8
MRP_INPUTS = {"x0": X0, "theta": THETA}
MRP_VALUE = THETA * X0 + THETA**4 * X0**2 + THETA**2 + 1
MRP_GRADIENT = {"x0": THETA + 2 * THETA**4 * X0, "theta": X0 + 4 * THETA**3 * X0**2 + 2 * THETA}
MRP_SECOND = 12 * THETA**2 * X0**2 + 2  # in theta


def estimates(graph: Graph[Any], inputs: Mapping[str, float], num_samples: Any) -> Any:
    """The surrogate's value and gradient, for every one of KEYS."""

    def estimate(key: Array) -> Any:
        return jax.value_and_grad(lambda values: graph.surrogate(values, key, num_samples))(dict(inputs))

    return jit(jax.vmap(estimate))(KEYS)


def assert_mean(estimated: Array, truth: float, *, precision: float) -> None:
    """The mean over keys is within four standard errors of the truth, and these are below ``precision``."""
    four_errors = 4 * float(jnp.std(estimated)) / np.sqrt(estimated.size)
    assert four_errors < precision, "too few samples to tell"
    assert abs(float(jnp.mean(estimated)) - truth) < four_errors


def diamond() -> StochasticGraph:
    """theta -> a -> h -> b, the outputs a * b and b^2 of both, and one that depends on no sample."""
    return StochasticGraph(
        (
            Input("theta"),
            Stochastic("a", ("theta",), Normal),
            Deterministic("h", ("a", "theta"), jnp.multiply),
            Stochastic("b", ("h",), Normal),
            Deterministic("product", ("a", "b"), jnp.multiply),
            Deterministic("square", ("b",), jnp.square),
            Deterministic("plain", ("theta",), lambda theta: 3 * theta),
        )
    )


MRPS: dict[str, tuple[Graph[Any], Any]] = {
    "ordinary": (paper_graphs.markov_reward_process(), 200),
    "nested": (paper_graphs.nested_markov_reward_process(), {"x1": 100, "x2": 4}),
}


@pytest.mark.parametrize("form", MRPS)
def test_markov_reward_process_has_its_analytic_value_gradient_and_second_derivative(form: str) -> None:
    graph, num_samples = MRPS[form]

    def estimate(key: Array) -> Any:
        def surrogate(values: dict[str, float]) -> Any:
            return graph.surrogate(values, key, num_samples)

        def slope(theta: float) -> Any:
            return jax.grad(surrogate)({"x0": X0, "theta": theta})["theta"]

        return *jax.value_and_grad(surrogate)(MRP_INPUTS), jax.grad(slope)(THETA)

    value, gradient, second = jit(jax.vmap(estimate))(KEYS)
    assert_mean(value, MRP_VALUE, precision=0.1)
    assert_mean(gradient["x0"], MRP_GRADIENT["x0"], precision=0.25)
    assert_mean(gradient["theta"], MRP_GRADIENT["theta"], precision=0.25)
    assert_mean(second, MRP_SECOND, precision=1.5)


def test_converted_markov_reward_process_is_the_papers_nested_one() -> None:
    """As the paper draws it, node by node."""
    transition = paper_graphs.linear_transition
    papers = NestedGraph(
        (
            Input("x0", label="x_0"),
            Input("theta", label=r"\theta"),
            Stochastic("x1", label="x_1"),
            Stochastic("x2", label="x_2"),
            Deterministic("f1", ("x1",), paper_graphs.identity, label="f_1"),
            Deterministic("f2", ("x2",), paper_graphs.square, label="f_2"),
            Expectation("E_x2", over="x2", integrand="f2", given=("x1", "theta"), distribution=transition),
            Deterministic("sum_x1", ("f1", "E_x2"), jnp.add, label="+"),
            Expectation("E_x1", over="x1", integrand="sum_x1", given=("x0", "theta"), distribution=transition),
        )
    )
    converted = paper_graphs.nested_markov_reward_process()
    addition = converted["sum_x1"], papers["sum_x1"]
    assert [node.parents for node in addition] == [("f1", "E_x2")] * 2
    assert set(converted.nodes) - set(addition) == set(papers.nodes) - set(addition)  # functions and all


@pytest.mark.parametrize("graph", [diamond(), nest(diamond())], ids=["ordinary", "converted"])
def test_conversion_preserves_value_and_gradient_of_a_diamond(graph: Graph[Any]) -> None:
    value, gradient = estimates(
        graph, {"theta": THETA}, 100 if isinstance(graph, StochasticGraph) else {"a": 50, "b": 4}
    )
    assert_mean(value, THETA**4 + THETA**3 + THETA**2 + 4 * THETA + 1, precision=0.2)
    assert_mean(gradient["theta"], 4 * THETA**3 + 3 * THETA**2 + 2 * THETA + 4, precision=0.7)


def test_conversion_keeps_outputs_apart_that_share_no_sample() -> None:
    assert nest(diamond()).outputs == ("plain", "E_a")


def test_conversion_avoids_names_that_are_taken() -> None:
    taken = StochasticGraph((Input("E_z"), Stochastic("z", ("E_z",), Normal), Deterministic("f", ("z",), jnp.square)))
    assert nest(taken).outputs == ("E_z'",)


def test_a_draw_is_credited_with_downstream_outputs_alone() -> None:
    graph = StochasticGraph(
        (
            Input("theta"),
            Input("omega"),
            Input("factor"),
            Stochastic("x1", ("theta",), Normal),
            Stochastic("x2", ("x1", "omega"), Normal),
            Deterministic("f1", ("x1", "factor"), jnp.multiply),
            Deterministic("f2", ("x2",), jnp.square),
        )
    )
    inputs = {"theta": THETA, "omega": 1.0}
    factors = jnp.array([0.0, 1.0, 1e4])
    slopes = jit(jax.vmap(lambda factor: graph.gradient({**inputs, "factor": factor}, KEYS[0], 50)))(factors)
    assert len(set(slopes["omega"].tolist())) == 1  # omega moves x2 alone, so f1 has no part in its slope
    assert len(set(slopes["theta"].tolist())) == 3


def test_natural_es_climbs_its_fitness_in_every_dimension() -> None:
    graph, theta = paper_graphs.natural_es(), jnp.array([0.5, -1.0])
    slopes = jit(jax.vmap(lambda key: graph.gradient({"theta": theta}, key, 200)["theta"]))(KEYS)
    for i in range(2):
        assert_mean(slopes[:, i], -2 * float(theta[i]), precision=0.1)


def mean_of_square(theta: float) -> float:
    return theta**2 + 1


@pytest.mark.parametrize(
    ("behavior", "mean", "variance", "slope"),
    [(paper_graphs.identity, THETA, 1.0, 0.0), (jnp.square, mean_of_square(THETA), 4 * THETA**2 + 2, 8 * THETA)],
    ids=["z", "z^2"],
)
def test_max_variance_has_the_variance_and_its_gradient(
    behavior: Any, mean: float, variance: float, slope: float
) -> None:
    value, gradient = estimates(paper_graphs.max_variance_graph(behavior, mean=mean), {"theta": THETA}, 2000)
    assert_mean(value, variance, precision=0.1)
    assert_mean(gradient["theta"], slope, precision=0.5)


def test_nested_variance_has_the_gradient_of_the_variance_and_the_known_finite_sample_bias() -> None:
    num_samples = 50
    _, gradient = estimates(paper_graphs.variance_graph(jnp.square), {"theta": THETA}, num_samples)
    squared_mean = 4 * THETA * (THETA**2 + 1)  # derivative of E[z^2]^2
    second_moment = 4 * THETA**3 + 12 * THETA  # derivative of E[z^4]
    # A pair of equal samples in the squared mean has the likelihood ratio squared, so counts its score twice.
    bias = (2 * second_moment - squared_mean) / num_samples
    assert_mean(gradient["theta"], 8 * THETA + bias, precision=1.5)


def test_max_entropy_has_the_entropy_of_a_smoothed_gaussian_and_its_gradient() -> None:
    scale, width = 0.9, 1 + 0.9**2
    graph = paper_graphs.max_entropy_graph(population=partial(Normal, 0.0))  # theta is the standard deviation
    # The bias, of the order of one over the samples of z', is a tenth of the precision.
    value, gradient = estimates(graph, {"theta": scale}, {"z": 100, "z'": 400})
    assert_mean(value, np.log(width) / 2 + scale**2 / (2 * width), precision=0.025)
    assert_mean(gradient["theta"], scale / width + scale / width**2, precision=0.1)


def test_max_entropy_is_indifferent_to_shifts() -> None:
    _, gradient = estimates(paper_graphs.max_entropy_graph(), {"theta": THETA}, 100)
    assert_mean(gradient["theta"], 0.0, precision=0.1)


def test_inner_samples_are_shared_unless_their_distribution_varies() -> None:
    entropy, process = paper_graphs.max_entropy_graph().axes, paper_graphs.nested_markov_reward_process().axes
    assert (entropy["B'"], entropy["phi"], entropy["E_z'"]) == (("z'",), ("z", "z'"), ("z",))
    assert (process["f2"], process["E_x2"], process["E_x1"]) == (("x1", "x2"), ("x1",), ())


def test_jit_and_vmap_change_nothing() -> None:
    graph, thetas = paper_graphs.natural_es(), jnp.array([0.2, 0.8])
    eager = [graph.gradient({"theta": theta}, KEYS[0], 5)["theta"] for theta in thetas]
    mapped = jit(jax.vmap(lambda theta: graph.gradient({"theta": theta}, KEYS[0], 5)["theta"]))(thetas)
    np.testing.assert_allclose(mapped, eager, rtol=1e-4)


def test_value_is_the_surrogates_value_without_a_derivative() -> None:
    graph = paper_graphs.natural_es()

    @jit
    def both(theta: float) -> Any:
        value_and_slope = jax.value_and_grad(lambda theta: graph.value({"theta": theta}, KEYS[0], 10))(theta)
        return value_and_slope, (graph.surrogate({"theta": theta}, KEYS[0], 10), 0)

    assert both(THETA)[0] == both(THETA)[1]


def test_values_may_be_pytrees() -> None:
    graph = paper_graphs.natural_es(lambda z: {"first": z[0], "all": z})
    value = jax.eval_shape(lambda theta: graph.value({"theta": theta}, KEYS[0], 10), jnp.zeros(3))
    assert jax.tree.map(jnp.shape, value) == {"first": (), "all": (3,)}


def expectation(name: str = "E", over: str = "z", integrand: str = "f", given: tuple[str, ...] = ("theta",)) -> Node:
    return Expectation(name, over, integrand, given, Normal)


def function(name: str, *parents: str) -> Node:
    return Deterministic(name, parents, lambda *values: sum(values))


def stochastic(name: str, *parents: str) -> Node:
    return Stochastic(name, parents, Normal)


INPUT, LEAF, F = Input("theta"), Stochastic("z"), function("f", "z")


@pytest.mark.parametrize(
    ("kind", "nodes", "message"),
    [
        (StochasticGraph, (INPUT, function("f", "theta"), INPUT), "Node 'theta' is there 2 times"),
        (
            StochasticGraph,
            (INPUT, function("f", "thetta")),
            "'f' depends on the unknown node 'thetta'. Available: theta, f",
        ),
        (NestedGraph, (INPUT, LEAF, F, expectation(over="y")), "'E' depends on the unknown node 'y'"),
        (StochasticGraph, (function("f", "g"), function("g", "f")), "'f' -> 'g' -> 'f' form a cycle|'g' -> 'f' -> 'g'"),
        (NestedGraph, (LEAF, function("f", "z", "E"), expectation(given=())), "'E' -> 'f' -> 'E'|'f' -> 'E' -> 'f'"),
        (StochasticGraph, (INPUT, stochastic("z", "theta"), F, expectation()), "Expectation node 'E' .* NestedGraph"),
        (StochasticGraph, (LEAF, F), "'z' has no distribution"),
        (StochasticGraph, (INPUT, stochastic("z", "theta")), "'z' has no children"),
        (StochasticGraph, (INPUT,), "needs an output, got only inputs: theta"),
        (NestedGraph, (INPUT, stochastic("z", "theta"), F, expectation()), "'z' .* bare leaf, got the parents 'theta'"),
        (NestedGraph, (INPUT, stochastic("z"), F, expectation()), "'z' .* bare leaf, got a distribution"),
        (NestedGraph, (INPUT, LEAF, F), "'z' needs exactly one expectation node over it, got none. Add"),
        (NestedGraph, (INPUT, LEAF, F, expectation("E1"), expectation("E2")), "'z' .* exactly one .* got 'E1', 'E2'"),
        (
            NestedGraph,
            (INPUT, function("f", "theta"), expectation(over="f")),
            "'E' is over 'f', which is not a stochastic",
        ),
        (NestedGraph, (INPUT, LEAF, expectation(integrand="theta")), "'E' .* integrand 'theta' does not depend on it"),
        (NestedGraph, (LEAF, F, expectation(given=("f",))), "'E' conditions 'z' on 'f', .* 'z'. Condition"),
        (
            NestedGraph,
            (INPUT, LEAF, F, expectation(), function("g", "z", "E")),
            "Output node 'g' .* 'z' outside of 'E'.* Make 'g' part of",
        ),
    ],
)
def test_a_broken_rule_is_reported_with_the_nodes_name(kind: Any, nodes: tuple[Node, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        kind(nodes)


def test_distributions_that_condition_each_other_are_reported() -> None:
    pair = (
        Stochastic("y"),
        LEAF,
        expectation("E_y", "y", "y", given=("z",)),
        expectation("E_z", "z", "z", given=("y",)),
    )
    with pytest.raises(ValueError, match=r"('y' -> 'z' -> 'y'|'z' -> 'y' -> 'z') form a cycle"):
        NestedGraph(pair)


@pytest.mark.parametrize(
    ("inputs", "num_samples", "wrt", "message"),
    [
        ({}, 2, ["theta"], "inputs: 'theta' is missing"),
        ({"theta": 1.0, "omega": 1.0}, 2, ["theta"], "inputs: unknown name 'omega'. Available: theta"),
        ({"theta": 1.0}, {"y": 2}, None, "num_samples: unknown name 'y'. Available: z"),
        ({"theta": 1.0}, 2, ["omega"], "wrt: unknown name 'omega'. Available: theta"),
    ],
)
def test_a_wrong_argument_is_reported_with_its_name(inputs: Any, num_samples: Any, wrt: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        paper_graphs.natural_es().gradient(inputs, KEYS[0], num_samples, wrt)


def drawn(graph: Graph[Any], places: Positions) -> Axes:
    return figure(graph, places).axes[0]


def outlines(ax: Axes, graph: Graph[Any]) -> dict[str, Bbox]:
    return {str(p.get_gid()): p.get_window_extent() for p in ax.patches if p.get_gid() in graph.by_name}


@pytest.mark.parametrize("name", POSITIONS)
def test_a_drawing_has_every_node_and_edge_and_no_overlap(name: str) -> None:
    graph = getattr(paper_graphs, name)()
    ax = drawn(graph, POSITIONS[name])
    kinds = {kind: sum(isinstance(n, kind) for n in graph.nodes) for kind in (Deterministic, Stochastic, Expectation)}
    assert sum(isinstance(p, Rectangle) for p in ax.patches) == kinds[Deterministic]
    assert sum(isinstance(p, Circle) for p in ax.patches) == kinds[Stochastic]
    assert sum(type(p) is Ellipse for p in ax.patches) == 2 * kinds[Expectation]
    edges = sum(len(n.parents) for n in graph.nodes)
    assert sum(isinstance(p, Polygon) for p in ax.patches) == len(ax.lines) == edges
    boxes = outlines(ax, graph)
    assert set(boxes) == set(graph.by_name)
    assert not [pair for pair in combinations(boxes, 2) if boxes[pair[0]].overlaps(boxes[pair[1]])]


def test_arrows_end_on_borders() -> None:
    ax = drawn(paper_graphs.natural_es(), POSITIONS["natural_es"])
    tips = [p.get_xy()[0] for p in ax.patches if isinstance(p, Polygon)]
    assert any(np.allclose(tip, (2 - 0.46, 2)) for tip in tips)  # from z at (0, 2) into the square of f at (2, 2)


def test_drawing_leaves_pyplot_alone() -> None:
    before = plt.get_fignums()
    drawn(paper_graphs.natural_es(), POSITIONS["natural_es"])
    assert plt.get_fignums() == before


def test_names_that_mathtext_cannot_parse_are_drawn() -> None:
    graph = StochasticGraph((Input("my_long_input"), function("a_b_c", "my_long_input")))
    assert len(outlines(drawn(graph, {"my_long_input": (0, 0), "a_b_c": (4, 0)}), graph)) == 2


def test_a_node_without_position_is_reported() -> None:
    with pytest.raises(ValueError, match="node 'f' has none"):
        figure(paper_graphs.natural_es(), {"theta": (0, 0), "z": (1, 1), "E_z": (2, 2)})


def test_the_page_tells_the_truth() -> None:
    page = Path(__file__).parents[2] / "docs" / "mathematics.md"
    failed, attempted = doctest.testfile(str(page), module_relative=False)
    assert attempted > 10
    assert failed == 0
