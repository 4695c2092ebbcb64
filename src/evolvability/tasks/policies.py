r"""Policies: what a network is, for tasks whose members are networks. Two are built in, `mlp` and `gru`.

Sizes come from the task, so a task is given a function that makes a `Policy` of them. The built-in ones are made of
affine maps alone, which is what lets engines compile them (`families`, `engines`) and graphs hold them (`onnx`).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from evolvability.core.entries import FROM_PYTHON
from evolvability.core.errors import ConfigError, unknown
from evolvability.core.noise import Shapes
from evolvability.core.types import PyTree
from evolvability.tasks.options import NetworkOptions
from evolvability.tasks.own_code import imported


class Policy(NamedTuple):
    """A network: how it starts, and what it does at an observation."""

    init: Callable[[Array], PyTree]
    """`(key) -> parameters`, any pytree of arrays of floats."""
    apply: Callable[[PyTree, Array, PyTree], tuple[Array, PyTree]]
    """`(parameters, observation, carry) -> (action, carry)` of one member; observation: (num_observations,), action:
    (num_actions,)."""
    carry: PyTree = ()
    """What it remembers from step to step, as it is at the start of an episode; `()` for nothing."""


MakePolicy = Callable[[int, int], Policy]
"""`(num_observations, num_actions) -> Policy`."""
Affine = Callable[[int, Any], Any]
"""`(number, inputs) -> outputs` of one of a network's affine maps."""


def sigmoid(x: Any) -> Any:
    """The logistic function, by a tanh: it does not overflow, and is what engines compile."""
    return 0.5 + 0.5 * x.__array_namespace__().tanh(0.5 * x)


ACTIVATIONS: dict[str, Callable[[Any], Any]] = {
    "tanh": lambda x: x.__array_namespace__().tanh(x),
    "relu": lambda x: x.__array_namespace__().maximum(x, 0),
    "silu": lambda x: x * sigmoid(x),
}
"""Of NumPy's arrays or JAX's. Engines have the same as C++, see `engines.network_text`."""


class Layered(ABC):
    """Makes a policy of affine maps, of NumPy's arrays or JAX's; parameters are weights and biases in turn.

    It starts with zero biases and incoming weights of unit norm, of norm 0.01 at the output.
    """

    start: PyTree = ()
    """What it remembers at the start of an episode."""

    @abstractmethod
    def sizes(self, num_observations: int, num_actions: int) -> list[tuple[int, int]]:
        """The numbers of inputs and outputs of every map."""

    @abstractmethod
    def forward(self, affine: Affine, inputs: Any, carry: Any) -> tuple[Any, Any]:
        """Outputs and the new carry; any leading axes."""

    def shapes(self, num_observations: int, num_actions: int) -> Shapes:
        """Of weights and biases in turn."""
        return tuple(shape for size in self.sizes(num_observations, num_actions) for shape in (size, size[1:]))

    def __call__(self, num_observations: int, num_actions: int) -> Policy:
        """The policy of a task."""
        sizes = self.sizes(num_observations, num_actions)

        def init(key: Array) -> list[Array]:
            parts = []
            for layer, (key_layer, shape) in enumerate(zip(jax.random.split(key, len(sizes)), sizes, strict=True)):
                weight = jax.random.normal(key_layer, shape)
                # A new network hardly acts, so that mutations decide what it does.
                norm = 0.01 if layer == len(sizes) - 1 else 1.0
                parts += [norm * weight / jnp.linalg.norm(weight, axis=0), jnp.zeros(shape[1])]
            return parts

        def apply(parameters: Any, observation: Any, carry: Any) -> tuple[Any, Any]:
            # Parameters may be NumPy's and observations JAX's, or the other way round.
            return self.forward(lambda k, x: x @ parameters[2 * k] + parameters[2 * k + 1], observation, carry)

        return Policy(init, apply, self.start)


@dataclass(frozen=True)
class Mlp(Layered):
    """Makes hidden layers with an activation, and a linear output."""

    hidden: tuple[int, ...]
    """Units of each hidden layer."""
    activation: str
    """One of `ACTIVATIONS`."""

    def sizes(self, num_observations: int, num_actions: int) -> list[tuple[int, int]]:
        """The numbers of inputs and outputs of every map."""
        return list(zip((num_observations, *self.hidden), (*self.hidden, num_actions), strict=True))

    def forward(self, affine: Affine, inputs: Any, carry: Any) -> tuple[Any, Any]:
        """Layer by layer."""
        for layer in range(len(self.hidden)):
            inputs = ACTIVATIONS[self.activation](affine(layer, inputs))
        return affine(len(self.hidden), inputs), carry


@dataclass(frozen=True)
class Gru(Layered):
    """Makes a layer of gated recurrent units, and a linear output."""

    units: int
    """How many units; each remembers one number."""

    @property
    def start(self) -> Any:
        """Zeros."""
        return np.zeros(self.units, np.float32)

    def sizes(self, num_observations: int, num_actions: int) -> list[tuple[int, int]]:
        """Of what is seen, and of what is remembered, each to all gates; then of the output."""
        return [(num_observations, 3 * self.units), (self.units, 3 * self.units), (self.units, num_actions)]

    def forward(self, affine: Affine, inputs: Any, carry: Any) -> tuple[Any, Any]:
        """The equations of `gru`."""
        seen, known, units = affine(0, inputs), affine(1, carry), self.units
        reset = sigmoid(seen[..., :units] + known[..., :units])
        update = sigmoid(seen[..., units : 2 * units] + known[..., units : 2 * units])
        new = ACTIVATIONS["tanh"](seen[..., 2 * units :] + reset * known[..., 2 * units :])
        carry = new + update * (carry - new)
        return affine(2, carry), carry


def mlp(hidden: Sequence[int] = (64, 64), activation: str = "tanh") -> Mlp:
    """A multilayer perceptron with a linear output.

    Args:
        hidden: units of each hidden layer; none for a linear policy.
        activation: tanh, relu or silu.

    Examples:
        >>> policy = mlp((256, 256))(26, 6)
        >>> sum(leaf.size for leaf in policy.init(jax.random.key(0)))
        74246
    """
    if isinstance(hidden, int) or not all(isinstance(units, int) and units > 0 for units in hidden):
        raise ConfigError(f"hidden: positive numbers are expected, one per layer, as (64, 64), got {hidden!r}.")
    if activation not in ACTIVATIONS:
        raise ConfigError(unknown("activation", activation, ACTIVATIONS))
    return Mlp(tuple(hidden), activation)


def gru(units: int = 64) -> Gru:
    r"""A layer of gated recurrent units with a linear output, which remembers its state $h$ from step to step.

    $$r, z = \sigma(W_{rz} x + U_{rz} h + b_{rz}), \quad n = \tanh(W_n x + b_n + r (U_n h + c_n)), \quad
    h' = (1 - z)\, n + z\, h.$$

    Reference: Cho et al., *Learning phrase representations using RNN encoder-decoder* (2014).

    Examples:
        >>> gru(8)(3, 2).carry.shape
        (8,)
    """
    if not isinstance(units, int) or units < 1:
        raise ConfigError(f"units: a positive number is expected, got {units!r}.")
    return Gru(units)


def named_policy(options: NetworkOptions) -> MakePolicy:
    """The policy that a task's options name."""
    if options.policy == "mlp":
        return mlp(options.layers, options.activation)
    if options.policy == "gru":
        return gru(options.layers[0])
    if options.policy.startswith(FROM_PYTHON):
        raise ConfigError(
            "This run's policy was given from Python as an object, so it has no name to find it by. Give its task "
            "again: task = make_task(NAME, OPTIONS, policy=...), and evolvability.resume(path, task) or "
            "Run(path, task=task)."
        )
    make: MakePolicy = imported(options.policy, "a function (num_observations, num_actions) -> Policy")
    return make


def policy_options(policy: MakePolicy | str) -> dict[str, Any]:
    """The options of a task that name a policy; ``python:NAME`` for one that no name leads to.

    Examples:
        >>> policy_options(gru(64)), policy_options("mine:network")
        ({'policy': 'gru', 'hidden': 64}, {'policy': 'mine:network'})
    """
    if isinstance(policy, str):
        return {"policy": policy}
    if isinstance(policy, Mlp):
        return {"policy": "mlp", "hidden": policy.hidden, "activation": policy.activation}
    if isinstance(policy, Gru):
        return {"policy": "gru", "hidden": policy.units}
    return {"policy": FROM_PYTHON + getattr(policy, "__name__", type(policy).__name__).strip("<>")}
