r"""Feasibility: a network whose mutations flip between any policies, and how often (sections 4.2 and S6).

**Theorem.** For all continuous $g, h: [0,1]^n \to \mathbb{R}^m$, all $\varepsilon > 0$ and $0 < \rho < 1$ there are a
$\delta > 0$ and a ReLU network with five hidden layers such that, when every weight and bias moves by at most $\delta$,
the network is within $\varepsilon$ of $g$ on the whole cube if one of its weights, $w$, moves up by more than
$\rho\delta$, and within $\varepsilon$ of $h$ if $w$ moves down by more than that. Hence, if the $P$ movements are
independent with the distribution function $F$, the former has at least the probability

$$\big(F(\delta) - F(\rho\delta)\big)\, \big(F(\delta) - F(-\delta)\big)^{P - 1},$$

and likewise the latter. For $K$ functions there are $B = \lceil \log_2 K \rceil$ such weights, whose ways up and down
spell the number of a function; $F(\delta) - F(\rho\delta)$ is then to the power of $B$, and $B$ weights less are among
the others. `flip_network` is that network and `error_bound` the proof: what $\varepsilon$ a given $\delta$ is enough
for. docs/extensions.md says what the paper's own statement lacks.
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
        boost: the activation of the node whose outgoing weights, zero, are the switches.
        slope: of the steps that tell the switch's sign.
        lift: (num_outputs,) what is added to all policies to make them positive, and taken off at the end.
        gate: what is taken off a policy that is switched off.
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


def switch(network: Network, number: int = 0) -> int:
    """Where in ``steps`` a switch is, one of the weights that decide between the policies."""
    blank = [Dense(np.zeros(layer.weight.shape), np.zeros(layer.bias.shape)) for layer in network]
    # Layer 3 has two ramps where layer 2 has a switch.
    count = network[2].weight.shape[1] - network[2].weight.shape[0]
    blank[1].weight[-1, number - count] = 1
    return int(np.argmax(ravel_pytree(tuple(blank))[0]))


def num_switches(number: int) -> int:
    """How many switches spell the number of one of so many policies.

    Examples:
        >>> [num_switches(number) for number in (2, 3, 4, 5)]
        [1, 2, 2, 3]
    """
    return max(1, (number - 1).bit_length())


def codes(number: int) -> FloatArray:
    """(number, num_switches) which way each switch moves for each of so many policies: 1 is up, 0 down, 0.5 either.

    Examples:
        >>> codes(3).tolist()
        [[1.0, 1.0], [0.0, 0.5], [1.0, 0.0]]
    """
    switches = num_switches(number)
    bits = (np.arange(number)[:, None] >> np.arange(switches)) & 1
    ways: FloatArray = np.where(bits, 0.0, 1.0).astype(np.float64)  # the first policy has them all up
    # What the last switch would make of a policy may be none: then it does not ask for that switch.
    half = 2 ** (switches - 1)
    alone = (np.arange(number) < half) & (np.arange(number) + half >= number)
    ways[alone, -1] = 0.5
    return ways


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


def flip_network(*policies: Network, delta: float, ratio: float) -> Network:
    """The network of the proof: five hidden layers of ReLUs, merging two or more networks of one.

    ===== =============================================================================================
    layer units
    ===== =============================================================================================
    1     those of all policies; a node of constant activation, the boost
    2     all policies, lifted above zero; the switches: an offset, plus a zero weight times the boost
    3     all policies; a ramp up and a ramp down of each switch
    4     all policies; whether each switch is up, and whether it is down
    5     all policies, those that are not asked for gated to zero
    ===== =============================================================================================

    Args:
        policies: of two, the first is what mutations compute that move the switch up, the second what those do that
            move it down; of more, `codes` has the way of every switch.
        delta: how far weights may move.
        ratio: a switch must move by more than this share of ``delta``.
    """
    constants = choose_constants(*policies, delta=delta, ratio=ratio)
    num_inputs, num_outputs = policies[0][0].weight.shape[0], policies[0][1].weight.shape[1]
    ways = codes(len(policies))
    every, count = len(policies) * num_outputs, ways.shape[1]
    eye, offset = np.eye(every), 2 * delta * constants.boost

    features = Dense(
        np.hstack([*(policy[0].weight for policy in policies), np.zeros((num_inputs, 1))]),
        np.hstack([*(policy[0].bias for policy in policies), constants.boost]),
    )
    readouts = np.zeros((features.bias.size, every + count))
    row = 0
    for place, (hidden, readout) in enumerate(policies):
        readouts[row : row + hidden.bias.size, place * num_outputs : (place + 1) * num_outputs] = readout.weight
        row += hidden.bias.size
    lifted = np.hstack([policy[1].bias + constants.lift for policy in policies])
    # Of each switch, a ramp up and a ramp down.
    ramps = np.kron(np.eye(count), np.array([[constants.slope, -constants.slope]]))
    # Up unless the ramp down has risen, and the other way round.
    signs = np.kron(np.eye(count), np.array([[0.0, -1.0], [-1.0, 0.0]]))
    # Up gates policies that want it down, and down the others. The paper's sketch has it the other way round.
    gates = np.empty((2 * count, len(policies)))
    gates[0::2], gates[1::2] = ways.T == 0, ways.T == 1
    return (
        features,
        Dense(readouts, np.hstack([lifted, np.full(count, offset)])),
        Dense(_blocks(eye, ramps), np.hstack([np.zeros(every), 0.5 - offset * ramps.sum(axis=0)])),
        Dense(_blocks(eye, signs), np.hstack([np.zeros(every), np.ones(2 * count)])),
        Dense(np.vstack([eye, -constants.gate * np.repeat(gates, num_outputs, axis=1)]), np.zeros(every)),
        Dense(np.vstack([np.eye(num_outputs)] * len(policies)), -constants.lift),
    )


def error_bound(*policies: Network, delta: float, ratio: float) -> float:
    """How far from the promised policy the merged network can be, on the whole cube, when no weight moves by more."""
    return choose_constants(*policies, delta=delta, ratio=ratio).error


def choose_constants(*policies: Network, delta: float, ratio: float) -> Constants:
    """The construction's constants, and the error they guarantee: every layer's deviation, bounded by the one before.

    A unit whose inputs ``h`` deviate by ``e`` deviates itself by ``sum |w| e`` and, since its own weights and bias
    move too, by ``delta (sum (h + e) + 1)``; a ReLU makes nothing of this larger.
    """
    if not (0 < ratio < 1 and delta > 0):
        raise ValueError(f"flip_network: delta > 0 and 0 < ratio < 1 are expected, got {delta} and {ratio}.")
    if len(policies) < 2 or len({(one[0].weight.shape[0], one[1].bias.shape) for one in policies}) > 1:
        raise ValueError("flip_network: two or more policies with the same inputs and outputs are expected.")
    number, switches = len(policies), num_switches(len(policies))
    num_inputs, num_units = policies[0][0].weight.shape[0], sum(one[0].bias.size for one in policies) + 1
    lows, highs = zip(*map(output_range, policies), strict=True)
    low, high = np.min(lows, axis=0), np.max(highs, axis=0)
    lift = np.maximum(0, -low)
    size = float(np.max(high + lift))  # of a lifted policy
    total = number * float(np.sum(high + lift))  # of all of them
    active = sum(float(np.sum(_largest(one[0]))) for one in policies)
    readout = max(float(np.max(np.sum(np.abs(one[1].weight), axis=0))) for one in policies)

    deviation = delta * (num_inputs + 1)
    stray = active + num_units * deviation + 1  # times delta: what moves a switch beside its own weight
    boost = 2 * stray / ratio  # so that it is at most half of what its own weight does
    slope = 2 / (ratio * delta * boost)
    gate = 2 * size
    policy = readout * deviation + delta * (stray + boost)
    every = number * len(low)
    carried = [delta * (total + every * policy + switches * 3.5 * delta * boost + 1)]  # what layers 3, 4, 5 and 6 add
    carried.append(delta * (total + every * (policy + carried[0]) + switches * (2.5 + 2 / ratio) + 1))
    carried.append(delta * (total + every * (policy + sum(carried)) + switches * 1.5 + 1))
    carried.append(delta * (total / number + len(low) * (policy + sum(carried)) + 1))
    sound = carried[0] + carried[1] <= 0.25 and policy + sum(carried[:3]) <= size / 2
    return Constants(boost, slope, lift, gate, policy + sum(carried) if sound else np.inf)


def largest_delta(*policies: Network, epsilon: float, ratio: float) -> float:
    """How far weights may move for the merged network to stay within ``epsilon``, by bisection."""
    low, high = 1e-12, 1.0
    for _ in range(60):
        middle = np.sqrt(low * high)
        good = error_bound(*policies, delta=middle, ratio=ratio) <= epsilon
        low, high = (middle, high) if good else (low, middle)
    return float(low)


def probability_bound(
    cdf: Callable[[float], float], number: int, *, delta: float, ratio: float, switches: int = 1
) -> float:
    """The least probability of one of the policies, with independent movements of ``number`` weights and biases.

    Examples:
        >>> uniform = lambda x: min(max((x + 1) / 2, 0.0), 1.0)
        >>> probability_bound(uniform, 300, delta=1.0, ratio=0.5)  # nothing moves too far: only the switch decides
        0.25
    """
    decided = (cdf(delta) - cdf(ratio * delta)) ** switches
    return float(decided * (cdf(delta) - cdf(-delta)) ** (number - switches))


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
