r"""Policies evaluated on a structured sample: no member's network is ever written out.

With parameters $M_c \pm \sigma E_i$ a layer is $x M_c \pm \sigma\, x E_i$: a product that all members of a component
share, and one small product per draw that its mirrored members share; with noise of low rank two thin ones, see
`evolvability.core.noise`. `Policy.build` and `Policy.act` take JAX's arrays or NumPy's.
"""

import itertools
import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from evolvability.core.noise import Block, Noise, Shapes, blocks, times
from evolvability.core.types import Sample

TILE = 16  # rows and columns that BLAS kernels take at a time, or a multiple of it


class Layer(NamedTuple):
    """One layer of every member's network, in parts."""

    weight: Array
    """(num_components, num_inputs, num_outputs) the weights of the centers."""
    bias: Array
    """(num_components, num_outputs) the biases of the centers."""
    weight_noise: Block
    """(num_draws, num_inputs, num_outputs) the noise of the weights, in its own number format, or in factors."""
    bias_noise: Array
    """(num_draws, num_outputs) the noise of the biases."""


class Networks(NamedTuple):
    """The networks of a whole sample."""

    layers: tuple[Layer, ...]
    """The layers, from inputs to outputs."""
    component: Array
    """(num_draws,) which center each draw belongs to."""
    step: Array
    """(num_draws, num_signs) the factor on noise: a standard deviation and a sign."""


class Policy(NamedTuple):
    """A network family."""

    num_params: int
    """The length of a parameter vector."""
    init: Callable[[Array], Array]
    """`(key) -> (num_params,)`, a starting network."""
    build: Callable[[Sample], Networks]
    """`(sample) -> Networks`, once per generation."""
    act: Callable[[Networks, Array], Array]
    """`(networks, observations) -> actions`, with one row per member, once per time step."""
    apply: Callable[[Array, Array], Array]
    """`(parameters, observations) -> actions` of one network written out, differentiable in its parameters;
    observations: (..., num_inputs)."""
    shapes: Shapes
    """The shapes of the arrays that a parameter vector is made of: weights and biases in turn."""


def mlp(sizes: Sequence[int]) -> Policy:
    """Tanh network with a linear output, e.g. ``mlp((26, 256, 256, 6))``.

    It starts with zero biases and incoming weights of unit norm, of norm 0.01 at the output.

    Examples:
        >>> mlp((26, 256, 256, 6)).num_params, mlp((28, 256, 256, 8)).num_params
        (74246, 75272)
    """
    shapes = _shapes(sizes)
    num_layers = len(shapes) // 2

    @partial(jax.jit, inline=True)  # outside of jit, one program
    def init(key: Array) -> Array:
        parts = []
        for layer, (key_layer, shape) in enumerate(zip(jax.random.split(key, num_layers), shapes[::2], strict=True)):
            weight = jax.random.normal(key_layer, shape)
            # A new network hardly acts, so that mutations decide what it does.
            norm = 0.01 if layer == num_layers - 1 else 1.0
            parts += [(norm * weight / jnp.linalg.norm(weight, axis=0)).ravel(), jnp.zeros(shape[1])]
        return jnp.concatenate(parts)

    def build(sample: Sample) -> Networks:
        noise, step = noise_and_step(sample)
        centers, noises = blocks(sample.center, shapes), blocks(noise, shapes)
        # Weights and biases alternate in `shapes`.
        parts: Any = zip(centers[::2], centers[1::2], noises[::2], noises[1::2], strict=True)
        return Networks(tuple(itertools.starmap(Layer, parts)), sample.component, step)

    def act(networks: Networks, observations: Array) -> Array:
        xp = observations.__array_namespace__()
        # (num_draws, num_signs, num_inputs): the members of a draw are neighbors.
        hidden = observations.reshape(*networks.step.shape, -1)
        for layer in networks.layers[:-1]:
            hidden = xp.tanh(_apply(layer, networks, hidden))
        return _apply(networks.layers[-1], networks, hidden).reshape(len(observations), -1)

    def apply(parameters: Array, observations: Array) -> Array:
        return network(sizes, parameters)(observations)

    return Policy(sum(map(math.prod, shapes)), init, build, act, apply, shapes)


def network(sizes: Sequence[int], parameters: Any) -> Callable[[Any], Any]:
    """One member's `mlp` written out: a function from observations, (..., num_inputs), to outputs.

    Examples:
        >>> network((2, 3, 1), np.zeros(13, np.float32))(np.ones(2, np.float32))
        array([0.], dtype=float32)
    """
    parts = [part[0] for part in blocks(parameters[None], _shapes(sizes))]  # weights and biases in turn
    *hidden_layers, (last_weight, last_bias) = zip(parts[::2], parts[1::2], strict=True)

    def act(hidden: Any) -> Any:
        for weight, bias in hidden_layers:
            hidden = hidden @ weight + bias
            # Of the product: parameters may be NumPy's and observations JAX's, or the other way round.
            hidden = hidden.__array_namespace__().tanh(hidden)
        return hidden @ last_weight + last_bias

    return act


def _shapes(sizes: Sequence[int]) -> Shapes:
    """Of weights and biases in turn."""
    return tuple(shape for num_in, num_out in itertools.pairwise(sizes) for shape in ((num_in, num_out), (num_out,)))


def noise_and_step(sample: Sample) -> tuple[Noise, Array]:
    """The noise as it is multiplied with inputs, and the factor (num_draws, num_signs) on the product.

    Noise is read at every time step of an episode, which is most of a policy's cost. So where a component has a single
    standard deviation, that is multiplied afterwards, and noise stays as small as it is kept.
    """
    scale = sample.scale[sample.component]
    # (num_draws, 1), or (num_draws, num_params) where each parameter has a standard deviation of its own.
    if scale.shape[1] == 1:
        return sample.noise, scale * sample.sign
    ones = sample.sign.__array_namespace__().ones_like(scale[:, :1])
    noise: Any = sample.noise  # in rows: noise of low rank has one standard deviation
    return (scale * noise).astype(noise.dtype), ones * sample.sign


def _apply(layer: Layer, networks: Networks, inputs: Array) -> Array:
    """One layer of all members; inputs: (num_draws, num_signs, num_inputs)."""
    num_draws, num_signs, num_inputs = inputs.shape
    shared = _shared_product(inputs.reshape(-1, num_inputs), layer.weight)
    shared += layer.bias[:, None]  # in place here and below: NumPy's arrays are large
    outputs = times(inputs, layer.weight_noise)
    outputs += layer.bias_noise[:, None]
    outputs *= networks.step[..., None]
    outputs += _choose(shared.reshape(-1, num_draws, num_signs, shared.shape[-1]), networks.component)
    return outputs


def _shared_product(inputs: Any, weight: Any) -> Any:
    """(num_components, num_members, num_outputs) the product of all inputs with the centers' weights.

    NumPy's, in whole tiles: BLAS sums in another order at a matrix's edge, and a member must act the same, to the last
    bit, whoever is evaluated beside it. Only then can it be watched again: a robot's path is chaotic.
    """
    # With several components every input meets every center, and `_choose` takes its own.
    if not isinstance(inputs, np.ndarray):
        return inputs @ weight
    num_rows, num_columns = len(inputs), weight.shape[-1]
    rows, columns = -num_rows % TILE, -num_columns % TILE
    inputs = np.pad(inputs, ((0, rows), (0, 0))) if rows else inputs
    weight = np.pad(weight, ((0, 0), (0, 0), (0, columns))) if columns else weight
    return (inputs @ weight)[:, :num_rows, :num_columns]


def _choose(shared: Array, component: Array) -> Array:
    """Of (num_components, num_draws, ...), each draw's own component."""
    if shared.shape[0] == 1:
        return shared[0]
    return shared.__array_namespace__().take_along_axis(shared, component[None, :, None, None], axis=0)[0]
