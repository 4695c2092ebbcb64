r"""The networks of a whole sample: what members do at every step, with what each of them remembers.

Of policies made of affine maps (`policies.Layered`) no member's network is ever written out. With parameters
$M_c \pm \sigma E_i$ a map is $x M_c \pm \sigma\, x E_i$: a product that all members of a component share, and one small
product per draw that its mirrored members share; with noise of low rank two thin ones, see `evolvability.core.noise`.
Any other policy is applied to every member's own parameters, by `jax.vmap`.
"""

import math
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.flatten_util import ravel_pytree

from evolvability.core.errors import ConfigError
from evolvability.core.noise import Noise, Shapes, blocks, times
from evolvability.core.types import PyTree, Sample
from evolvability.tasks.own_code import explain_errors
from evolvability.tasks.policies import Layered, MakePolicy, Policy

TILE = 16  # rows and columns that BLAS kernels take at a time, or a multiple of it


class Networks(NamedTuple):
    """The networks of a whole sample: of each affine map the weights, then the biases."""

    centers: tuple[Any, ...]
    """(num_components, num_inputs, num_outputs) weights and (num_components, num_outputs) biases of the centers."""
    noise: tuple[Any, ...]
    """(num_draws, ...) of each the noise, in its own number format, or in factors."""
    component: Array
    """(num_draws,) which center each draw belongs to."""
    step: Array
    """(num_draws, num_signs) the factor on noise: a standard deviation and a sign."""


class NetworkFamily(NamedTuple):
    """All networks that a policy's parameters can be, in a task; of JAX's arrays, or of NumPy's."""

    make: MakePolicy
    """What makes the policy."""
    num_inputs: int
    """Numbers that a network sees per step."""
    num_outputs: int
    """Numbers that a network says per step."""
    shapes: Shapes
    """The shapes of the arrays that a parameter vector is made of."""
    carry: PyTree
    """What one network remembers at the start of an episode; without leaves for nothing."""
    init: Callable[[Array], Array]
    """`(key) -> (num_params,)`, a starting network."""
    build: Callable[[Sample], PyTree]
    """`(sample) -> networks`, once per generation."""
    act: Callable[[PyTree, Array, PyTree], tuple[Array, PyTree]]
    """`(networks, observations, carry) -> (outputs, carry)`, all with one row per member, once per time step."""
    member: Callable[[Any], Callable[[Any, PyTree], tuple[Any, PyTree]]]
    """`(parameters) -> ((observations, carry) -> (outputs, carry))`, one network written out, differentiable in its
    parameters; observations: (..., num_inputs)."""
    unflatten: Callable[[Array], PyTree]
    """`(num_params,) -> parameters` as the policy's author wrote them; those of built-in policies stay flat."""

    @property
    def num_params(self) -> int:
        """The length of a parameter vector."""
        return sum(map(math.prod, self.shapes))

    @property
    def remembers(self) -> bool:
        """Whether a network carries anything from step to step."""
        return bool(jax.tree.leaves(self.carry))

    def start(self, number: int, xp: Any = jnp) -> PyTree:
        """What so many members remember at the start of their episodes."""
        return jax.tree.map(lambda leaf: xp.broadcast_to(leaf, (number, *leaf.shape)), self.carry)

    def apply(self, parameters: Any, observations: Any, carry: PyTree = ()) -> tuple[Any, PyTree]:
        """What one network written out does."""
        return self.member(parameters)(observations, carry)


def family_of(make: MakePolicy, num_inputs: int, num_outputs: int) -> NetworkFamily:
    """The networks of a policy in a task with so many observations and actions."""
    if isinstance(make, Layered):
        return _layered(make, num_inputs, num_outputs)
    return _by_vmap(make, num_inputs, num_outputs)


@lru_cache(64)  # what is compiled of one serves all tasks that have such networks
def _layered(make: Layered, num_inputs: int, num_outputs: int) -> NetworkFamily:
    shapes, policy = make.shapes(num_inputs, num_outputs), make(num_inputs, num_outputs)

    def build(sample: Sample) -> Networks:
        noise, step = noise_and_step(sample)
        return Networks(blocks(sample.center, shapes), blocks(noise, shapes), sample.component, step)

    def act(networks: Networks, observations: Array, carry: PyTree) -> tuple[Array, PyTree]:
        # (num_draws, num_signs, ...): the members of a draw are neighbors.
        by_draw = jax.tree.map(lambda leaf: leaf.reshape(*networks.step.shape, -1), (observations, carry))
        done = make.forward(partial(_affine, networks), *by_draw)
        return jax.tree.map(lambda leaf: leaf.reshape(len(observations), -1), done)

    def member(parameters: Any) -> Any:
        return partial(policy.apply, [part[0] for part in blocks(parameters[None], shapes)])

    start, same = _flat(policy), lambda parameters: parameters
    return NetworkFamily(make, num_inputs, num_outputs, shapes, policy.carry, start, build, act, member, same)


def _by_vmap(make: MakePolicy, num_inputs: int, num_outputs: int) -> NetworkFamily:
    policy, like = checked(make, num_inputs, num_outputs)
    leaves, tree = jax.tree.flatten(like)
    shapes = tuple(leaf.shape for leaf in leaves)

    def unflatten(parameters: Any) -> PyTree:
        parts: Any = blocks(parameters[None], shapes)
        return jax.tree.unflatten(tree, [part[0].astype(leaf.dtype) for part, leaf in zip(parts, leaves, strict=True)])

    def in_rows(parameters: PyTree, observations: Array, carry: PyTree) -> tuple[Array, PyTree]:
        """One network at (..., num_inputs) observations; what it remembers may have the same axes in front."""
        if observations.ndim == 1:
            return policy.apply(parameters, observations, carry)
        axes = jax.tree.map(lambda leaf, own: 0 if leaf.ndim > own.ndim else None, carry, policy.carry)
        return jax.vmap(partial(in_rows, parameters), (0, axes))(observations, carry)

    def of_members(parameters: Array, observations: Array, carry: PyTree) -> tuple[Array, PyTree]:
        return jax.vmap(lambda own, *given: policy.apply(unflatten(own), *given))(parameters, observations, carry)

    act, one = _as_given(jax.jit(of_members)), _as_given(jax.jit(in_rows))
    return NetworkFamily(
        make,
        num_inputs,
        num_outputs,
        shapes,
        policy.carry,
        _flat(policy),
        lambda sample: sample.members(),
        act,
        lambda parameters: partial(one, unflatten(parameters)),
        unflatten,
    )


def _as_given(function: Any) -> Any:
    """A compiled function of parameters, observations and carry; in NumPy's arrays where observations are."""

    def act(parameters: PyTree, observations: Any, carry: PyTree) -> tuple[Any, PyTree]:
        done = function(parameters, observations, carry)
        return jax.tree.map(np.asarray, done) if isinstance(observations, np.ndarray) else done

    return act


def _flat(policy: Policy) -> Callable[[Array], Array]:
    @partial(jax.jit, inline=True)  # outside of jit, one program
    def init(key: Array) -> Array:
        return ravel_pytree(policy.init(key))[0].astype(jnp.float32)

    return init


def checked(make: MakePolicy, num_inputs: int, num_outputs: int) -> tuple[Policy, PyTree]:
    """A user's policy, tried in the abstract, with the shapes of its parameters; what does not fit is named."""
    expected = "a function (num_observations, num_actions) -> Policy is expected, such as mlp((64, 64)) or gru(64)"
    if not callable(make):
        raise ConfigError(f"policy: {expected}, got {type(make).__name__}.")
    with explain_errors("The policy raised", ConfigError, f" (called with {num_inputs}, {num_outputs})"):
        policy = make(num_inputs, num_outputs)
    if not isinstance(policy, Policy):
        raise ConfigError(f"policy: {expected}, but the function returned {type(policy).__name__}.")
    policy = policy._replace(carry=jax.tree.map(lambda leaf: np.asarray(jnp.asarray(leaf)), policy.carry))
    with explain_errors("The policy's init raised", ConfigError):
        like = jax.eval_shape(policy.init, jax.random.key(0))
    for path, leaf in jax.tree_util.tree_leaves_with_path(like):
        if not jnp.issubdtype(leaf.dtype, jnp.floating):
            what = f"got {leaf.dtype} {jax.tree_util.keystr(path)}".strip()
            raise ConfigError(f"policy: all that init returns must be floats, {what}. Keep the rest in apply.")
    with explain_errors("The policy's apply raised", ConfigError, f" (called with {num_inputs} observations)"):
        done = jax.eval_shape(policy.apply, like, jax.ShapeDtypeStruct((num_inputs,), jnp.float32), policy.carry)
    if not isinstance(done, tuple) or len(done) != 2:
        raise ConfigError(f"policy: apply must return the pair (action, carry), got {_described(done)}.")
    action, carry = done
    if (given := getattr(action, "shape", type(action).__name__)) != (num_outputs,):
        raise ConfigError(f"policy: an action of shape ({num_outputs},) is expected of apply, got {given}.")
    before, after = _described(policy.carry), _described(carry)
    if before != after:
        raise ConfigError(f"policy: apply must return a carry like that of the start, {before}, got {after}.")
    return policy, like


def _described(tree: PyTree) -> str:
    return str(jax.tree.map(lambda leaf: f"{leaf.dtype}{list(leaf.shape)}", tree)).replace("'", "")


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


def _affine(networks: Networks, number: int, inputs: Array) -> Array:
    """One map of all members; inputs: (num_draws, num_signs, num_inputs)."""
    (weight, bias), (weight_noise, bias_noise) = (
        parts[2 * number : 2 * number + 2] for parts in (networks.centers, networks.noise)
    )
    num_draws, num_signs, num_inputs = inputs.shape
    shared = _shared_product(inputs.reshape(-1, num_inputs), weight)
    shared += bias[:, None]  # in place here and below: NumPy's arrays are large
    outputs = times(inputs, weight_noise)
    outputs += bias_noise[:, None]
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
