r"""Feasibility: a network whose mutations flip between any two policies, and how often (sections 4.2 and S6).

**Theorem.** For all continuous $g, h: [0,1]^n \to \mathbb{R}^m$, all $\varepsilon > 0$ and $0 < \rho < 1$ there are a
$\delta > 0$ and a ReLU network with five hidden layers such that, when every weight and bias moves by at most $\delta$,
the network is within $\varepsilon$ of $g$ on the whole cube if one of its weights, $w$, moves up by more than
$\rho\delta$, and within $\varepsilon$ of $h$ if $w$ moves down by more than that. Hence, if the $P$ movements are
independent with the distribution function $F$, the former has at least the probability

$$\big(F(\delta) - F(\rho\delta)\big)\, \big(F(\delta) - F(-\delta)\big)^{P - 1},$$

and likewise the latter. `flip_network` is that network and `error_bound` the proof: what $\varepsilon$ a given $\delta$
is enough for. docs/extensions.md says what the paper's own statement lacks.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.flatten_util import ravel_pytree
from scipy.stats import norm

FloatArray = np.ndarray[Any, np.dtype[np.float64]]

RIDGE = 1e-6
"""Of the least squares that fit a policy, relative to features of size one: it keeps weights small."""
CELLS = 4096
"""Cells into which the cube is cut to bound a policy, about."""


class Dense(NamedTuple):
    """One layer.

    Attributes:
        weight: (num_inputs, num_outputs).
        bias: (num_outputs,).
    """

    weight: Any
    bias: Any


Network = Sequence[Dense]
"""Layers with ReLUs between them."""


class Constants(NamedTuple):
    """What the construction sets, and what it then guarantees.

    Attributes:
        boost: the activation of the node whose outgoing weight, zero, is the switch.
        slope: of the steps that tell the switch's sign.
        lift: (num_outputs,) what is added to both policies to make them positive, and taken off at the end.
        gate: what is taken off the policy that is switched off.
        error: how far from the policy any mutation within reach may be, at most; infinite where nothing is guaranteed.
    """

    boost: float
    slope: float
    lift: FloatArray
    gate: float
    error: float


def apply(network: Network, inputs: Any) -> Array:
    """(..., num_outputs) of a ReLU network whose output is linear; inputs: (..., num_inputs)."""
    hidden = jnp.asarray(inputs)
    for layer in network[:-1]:
        hidden = jax.nn.relu(hidden @ layer.weight + layer.bias)
    return hidden @ network[-1].weight + network[-1].bias


def num_params(network: Network) -> int:
    """How many weights and biases there are."""
    return sum(layer.weight.size + layer.bias.size for layer in network)


def moved(network: Network, steps: Array) -> Network:
    """The network with ``steps``, (num_params,), added to its weights and biases."""
    flat, unflatten = ravel_pytree(tuple(network))
    return unflatten(flat + steps)


def switch(network: Network) -> int:
    """Where in ``steps`` the switch is, the weight that decides between the policies."""
    blank = [Dense(np.zeros(layer.weight.shape), np.zeros(layer.bias.shape)) for layer in network]
    blank[1].weight[-1, -1] = 1
    return int(np.argmax(ravel_pytree(tuple(blank))[0]))


def approximate(function: Callable[[Any], Any], num_inputs: int, *, num_units: int = 32, seed: int = 0) -> Network:
    """A ReLU network with one hidden layer, fitted to a policy on the unit cube by least squares.

    Args:
        function: from inputs, (number, num_inputs), to outputs, (number, num_outputs).
        num_inputs: the cube's dimension.
        num_units: in the hidden layer, each with a crease at a random place in the cube.
        seed: of those places.

    Examples:
        >>> network = approximate(lambda x: x**2, 1)
        >>> bool(abs(apply(network, [[0.5]])[0, 0] - 0.25) < 0.01)
        True
    """
    generator = np.random.default_rng(seed)
    direction = generator.normal(size=(num_inputs, num_units))
    direction /= np.linalg.norm(direction, axis=0)
    crease = generator.uniform(size=(num_units, num_inputs))
    hidden = Dense(direction, -np.sum(direction.T * crease, axis=1))
    points = generator.uniform(size=(64 * num_units, num_inputs))
    features = np.column_stack([np.maximum(points @ hidden.weight + hidden.bias, 0), np.ones(len(points))])
    gram = features.T @ features / len(points) + RIDGE * np.eye(num_units + 1)
    readout = np.linalg.solve(gram, features.T @ np.asarray(function(points)) / len(points))
    return (hidden, Dense(readout[:-1], readout[-1]))


def flip_network(first: Network, second: Network, *, delta: float, ratio: float) -> Network:
    """The network of the proof: five hidden layers of ReLUs, merging two networks of one.

    ===== ==========================================================================================
    layer units
    ===== ==========================================================================================
    1     those of both policies; a node of constant activation, the boost
    2     both policies, lifted above zero; the switch: an offset, plus a zero weight times the boost
    3     both policies; a ramp up and a ramp down of the switch
    4     both policies; whether the switch is up, and whether it is down
    5     both policies, the one that is not asked for gated to zero
    ===== ==========================================================================================

    Args:
        first: what mutations that move the switch up compute.
        second: what mutations that move it down compute.
        delta: how far weights may move.
        ratio: the switch must move by more than this share of ``delta``.
    """
    constants = choose_constants(first, second, delta, ratio)
    num_inputs, num_outputs = first[0].weight.shape[0], first[1].weight.shape[1]
    units, both = first[0].weight.shape[1], 2 * num_outputs
    rest = second[0].weight.shape[1]
    eye, column = np.eye(both), np.ones((both, 1))
    offset = 2 * delta * constants.boost

    features = Dense(
        np.hstack([first[0].weight, second[0].weight, np.zeros((num_inputs, 1))]),
        np.hstack([first[0].bias, second[0].bias, constants.boost]),
    )
    policies = np.zeros((units + rest + 1, both + 1))
    policies[:units, :num_outputs] = first[1].weight
    policies[units : units + rest, num_outputs:both] = second[1].weight
    lifted = np.hstack([first[1].bias + constants.lift, second[1].bias + constants.lift])
    ramps = np.array([[constants.slope, -constants.slope]])
    signs = np.array([[0.0, -1.0], [-1.0, 0.0]])  # up unless the ramp down has risen, and the other way round
    # Up gates the second policy, down the first. The paper's sketch has it the other way round.
    gates = -constants.gate * np.repeat(np.array([[0.0, 1.0], [1.0, 0.0]]), num_outputs, axis=1)
    return (
        features,
        Dense(policies, np.hstack([lifted, offset])),
        Dense(_blocks(eye, ramps), np.hstack([0 * column[:, 0], 0.5 - offset * ramps[0]])),
        Dense(_blocks(eye, signs), np.hstack([0 * column[:, 0], 1.0, 1.0])),
        Dense(np.vstack([eye, gates]), np.zeros(both)),
        Dense(np.vstack([eye[:num_outputs, :num_outputs]] * 2), -constants.lift),
    )


def error_bound(first: Network, second: Network, *, delta: float, ratio: float) -> float:
    """How far from the promised policy the merged network can be, on the whole cube, when no weight moves by more."""
    return choose_constants(first, second, delta, ratio).error


def choose_constants(first: Network, second: Network, delta: float, ratio: float) -> Constants:
    """The construction's constants, and the error they guarantee: every layer's deviation, bounded by the one before.

    A unit whose inputs ``h`` deviate by ``e`` deviates itself by ``sum |w| e`` and, since its own weights and bias
    move too, by ``delta (sum (h + e) + 1)``; a ReLU makes nothing of this larger.
    """
    if not (0 < ratio < 1 and delta > 0):
        raise ValueError(f"flip_network: delta > 0 and 0 < ratio < 1 are expected, got {delta} and {ratio}.")
    if first[0].weight.shape[0] != second[0].weight.shape[0] or first[1].bias.shape != second[1].bias.shape:
        raise ValueError("flip_network: two policies with the same inputs and outputs are expected.")
    num_inputs, num_units = first[0].weight.shape[0], first[0].bias.size + second[0].bias.size + 1
    lows, highs = zip(output_range(first), output_range(second), strict=True)
    low, high = np.minimum(*lows), np.maximum(*highs)
    lift = np.maximum(0, -low)
    size = float(np.max(high + lift))  # of a lifted policy
    total = 2 * float(np.sum(high + lift))  # of all of them
    active = sum(float(np.sum(_largest(layer))) for layer in (first[0], second[0]))
    readout = max(float(np.max(np.sum(np.abs(layer.weight), axis=0))) for layer in (first[1], second[1]))

    deviation = delta * (num_inputs + 1)
    stray = active + num_units * deviation + 1  # times delta: what moves the switch beside its own weight
    boost = 2 * stray / ratio  # so that it is at most half of what its own weight does
    slope = 2 / (ratio * delta * boost)
    gate = 2 * size
    policy = readout * deviation + delta * (stray + boost)
    carried = [delta * (total + 2 * len(low) * policy + (3.5 * delta * boost) + 1)]  # what layers 3, 4, 5 and 6 add
    carried.append(delta * (total + 2 * len(low) * (policy + carried[0]) + (2.5 + 2 / ratio) + 1))
    carried.append(delta * (total + 2 * len(low) * (policy + sum(carried)) + 1.5 + 1))
    carried.append(delta * (total / 2 + len(low) * (policy + sum(carried)) + 1))
    sound = carried[0] + carried[1] <= 0.25 and policy + sum(carried[:3]) <= size / 2
    return Constants(boost, slope, lift, gate, policy + sum(carried) if sound else np.inf)


def largest_delta(first: Network, second: Network, *, epsilon: float, ratio: float) -> float:
    """How far weights may move for the merged network to stay within ``epsilon``, by bisection."""
    low, high = 1e-12, 1.0
    for _ in range(60):
        middle = np.sqrt(low * high)
        good = error_bound(first, second, delta=middle, ratio=ratio) <= epsilon
        low, high = (middle, high) if good else (low, middle)
    return float(low)


def probability_bound(cdf: Callable[[float], float], number: int, *, delta: float, ratio: float) -> float:
    """The least probability of one of the two policies, with independent movements of ``number`` weights and biases.

    Examples:
        >>> uniform = lambda x: min(max((x + 1) / 2, 0.0), 1.0)
        >>> probability_bound(uniform, 300, delta=1.0, ratio=0.5)  # nothing moves too far: only the switch decides
        0.25
    """
    return float((cdf(delta) - cdf(ratio * delta)) * (cdf(delta) - cdf(-delta)) ** (number - 1))


def normal_frequency(constants: Constants, *, sigma: float, epsilon: float) -> float:
    r"""How often mutations of standard deviation ``sigma`` are within ``epsilon`` of either one of the policies.

    Exact where weights other than the switch, which moves by $\sigma\xi$, are as good as still: with the slope
    $\alpha$, the boost $b$ and the gate $\lambda$, a policy is wholly on where $\alpha b \sigma\xi \ge 1/2$, and short
    of that by a share of $\lambda$. So it is $\Phi\big(-(1/2 - \varepsilon/\lambda) / \alpha b \sigma\big)$.
    """
    return float(norm.cdf(-(0.5 - epsilon / constants.gate) / (constants.slope * constants.boost * sigma)))


def output_range(network: Network) -> tuple[FloatArray, FloatArray]:
    """Bounds of a network with one hidden layer on the unit cube, by interval arithmetic cell by cell."""
    hidden, readout = network
    num_inputs = hidden.weight.shape[0]
    per_side = max(1, int(CELLS ** (1 / num_inputs)))
    corners = np.stack(np.meshgrid(*[np.arange(per_side) / per_side] * num_inputs), axis=-1).reshape(-1, num_inputs)
    low, high = _interval(hidden, corners, corners + 1 / per_side)
    low, high = _interval(readout, np.maximum(low, 0), np.maximum(high, 0))
    return low.min(axis=0), high.max(axis=0)


def _interval(layer: Dense, low: FloatArray, high: FloatArray) -> tuple[FloatArray, FloatArray]:
    positive, negative = np.maximum(layer.weight, 0), np.minimum(layer.weight, 0)
    return low @ positive + high @ negative + layer.bias, high @ positive + low @ negative + layer.bias


def _largest(layer: Dense) -> FloatArray:
    """The largest activation of every hidden unit on the unit cube."""
    return np.maximum(np.sum(np.maximum(layer.weight, 0), axis=0) + layer.bias, 0)


def _blocks(upper: FloatArray, lower: FloatArray) -> FloatArray:
    corner = np.zeros((upper.shape[0], lower.shape[1]))
    return np.block([[upper, corner], [np.zeros((lower.shape[0], upper.shape[1])), lower]])
