"""The vocabulary: what a population draws, and what comes back from a simulator."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from evolvability.core.errors import TaskError
from evolvability.core.noise import Noise, rows

PyTree = Any


def named(piece: Any, **settings: Any) -> Any:
    """A population or an objective that knows the settings of a configuration that make it again.

    They are not a field: a copy that was changed, by `dataclasses.replace` say, has none. Nor has a piece with a
    setting of None, for what no configuration can say.
    """
    if None not in settings.values():
        object.__setattr__(piece, "settings", settings)  # past the frozen dataclass
    return piece


class Parameters(NamedTuple):
    """The learned parameters of a population."""

    center: Array
    """(num_components, num_params) the means."""
    log_scale: Array | None = None
    """(num_components, num_params) log standard deviations, where the population learns them."""


class Sample(NamedTuple):
    """A population's members, kept in parts: ``num_members`` full parameter vectors are never needed at once.

    Member ``k`` belongs to draw ``k // num_signs``, which mirrored members share, and has the sign ``k % num_signs``::

        parameters = center[component] + sign * scale * noise
    """

    center: Array
    """(num_components, num_params) the means."""
    scale: Array
    """(num_components, 1) or (num_components, num_params) the standard deviations."""
    noise: Noise
    """(num_draws, num_params) standard normal, or in factors: see `evolvability.core.noise`."""
    component: Array
    """(num_draws,) which component each draw belongs to."""
    sign: Array
    """(num_signs,) `[1]`, or `[1, -1]` for mirrored members."""
    draw: Array
    """(num_draws,) the index of each draw in its generation."""

    @property
    def num_draws(self) -> int:
        """How many noise vectors there are."""
        return self.component.shape[0]

    @property
    def num_members(self) -> int:
        """How many members there are: one per draw and sign."""
        return self.component.shape[0] * self.sign.shape[0]

    def of_draws(self, places: Any) -> "Sample":
        """The members of some of the draws; places: a slice, or an array of indices."""
        noise, component, draw = jax.tree.map(lambda leaf: leaf[places], (self.noise, self.component, self.draw))
        return self._replace(noise=noise, component=component, draw=draw)

    def repeated(self, episodes: int) -> "Sample":
        """Every member so many times, side by side: its sign repeated. So its episodes share its noise."""
        return self._replace(sign=jnp.repeat(self.sign, episodes))

    def members(self) -> Array:
        """(num_members, num_params) every member written out. For small networks, or a few members."""
        write = _in_one_program if isinstance(self.component, Array) else _members  # NumPy's stay NumPy's
        members: Array = write(self.center, self.scale, rows(self.noise), self.component, self.sign)
        return members

    def member_components(self) -> Array:
        """(num_members,) the component of each member."""
        return jnp.repeat(self.component, self.sign.shape[0])

    def member_indices(self) -> Array:
        """(num_members,) of each member in its generation, the same whatever part of the population this is."""
        num_signs = self.sign.shape[0]
        return (num_signs * self.draw[:, None] + jnp.arange(num_signs)).ravel()

    def member_keys(self, key: Array) -> Array:
        """(num_members,) a key for each member."""
        return keys_of(key, self.member_indices())


def _members(center: Array, scale: Array, noise: Array, component: Array, sign: Array) -> Array:
    # (num_draws, num_signs, num_params): the members of a draw become neighbors.
    steps = (scale[component] * noise)[:, None] * sign[:, None]
    return (center[component][:, None] + steps).reshape(len(noise) * len(sign), -1)


_in_one_program = jax.jit(_members, inline=True)


def keys_of(key: Array, indices: Array) -> Array:
    """A key for each index."""
    return jax.vmap(jax.random.fold_in, (None, 0))(key, indices)


def sample_of(parameters: Array, draw: Array | None = None) -> Sample:
    """Any (num_members, num_params) parameters as members: each its own draw, from a center of zero."""
    number, num_params = parameters.shape
    component = jnp.zeros(number, jnp.int32)
    draw = jnp.arange(number) if draw is None else draw
    # 0 + 1 * 1 * parameters: no value is rounded.
    return Sample(jnp.zeros((1, num_params)), jnp.ones((1, 1)), parameters, component, jnp.ones(1), draw)


class Outcome(NamedTuple):
    """The behavior, fitness and validity of every member: all that a simulator returns."""

    behavior: Array
    """(num_members, num_behaviors) what each member did; the mean over its episodes."""
    fitness: Array
    """(num_members,) how well; the mean over its episodes. Zeros where the task has no fitness."""
    valid: Array
    """(num_members,) False for a member of which an episode broke down: it counts for nothing."""
    num_steps: Array
    """(num_members,) simulated steps of each member; the sum over its episodes."""
    episodes: Array | None = None
    """(num_members, num_episodes, num_behaviors) what each member did in each episode; None where it has one."""

    def by_episode(self) -> "Outcome":
        """The same with one row per episode, as if each were a member: for what is measured over episodes."""
        if self.episodes is None:
            return self
        number = self.episodes.shape[1]
        fitness, valid, num_steps = (row.repeat(number) for row in self[1:4])
        return Outcome(self.episodes.reshape(-1, self.episodes.shape[2]), fitness, valid, num_steps // number)


def merge_episodes(outcome: Outcome, number: int) -> Outcome:
    """An outcome with one row per episode, those of a member side by side, as one with a row per member.

    Of NumPy's arrays or JAX's.

    Examples:
        >>> two = merge_episodes(make_outcome(jnp.array([[1.0], [3.0], [5.0], [jnp.nan]])), 2)
        >>> two.behavior[:1].tolist(), two.episodes[0].tolist(), two.valid.tolist()
        ([[2.0]], [[1.0], [3.0]], [True, False])
    """
    if number == 1:
        return outcome
    behavior, fitness, valid, num_steps = (leaf.reshape(-1, number, *leaf.shape[1:]) for leaf in outcome[:4])
    return Outcome(behavior.mean(axis=1), fitness.mean(axis=1), valid.all(axis=1), num_steps.sum(axis=1), behavior)


def described(value: Any) -> str:
    """What somebody's code returned, in words.

    >>> described({"x": 1.0}), described(np.zeros(3)), described(None)
    ("a dict with the keys 'x'", 'an array of shape (3,)', 'None')
    """
    if value is None:
        return "None"
    if hasattr(value, "shape"):
        return f"an array of shape {tuple(value.shape)}"
    if isinstance(value, dict):
        return f"a dict with the keys {', '.join(map(repr, value))}"
    if isinstance(value, int | float):
        return f"the number {value!r}"
    kind = type(value).__name__
    return f"{'an' if kind[0] in 'aeiouAEIOU' else 'a'} {kind}"


LARGEST = 1e15  # behaviors and fitness beyond it do not count as valid: float32 could not hold the sum of their squares


def is_usable(values: Any) -> Any:
    """Where numbers are finite and not beyond all bounds; of either NumPy or JAX."""
    return abs(values) <= LARGEST  # not so for nan


def make_outcome(behavior: Array, fitness: Array | None = None, num_steps: Array | None = None) -> Outcome:
    """An Outcome from behaviors; members whose behavior or fitness is not finite, or beyond `LARGEST`, are invalid.

    Examples:
        >>> make_outcome(jnp.array([[1.0], [jnp.nan]])).valid
        Array([ True, False], dtype=bool)
    """
    if np.ndim(behavior) != 2 or not hasattr(behavior, "__len__"):
        advice = " A number per member becomes a column by behavior[:, None]." if np.ndim(behavior) == 1 else ""
        expected = "behavior must have the shape (num_members, num_behaviors)"
        raise TaskError(f"make_outcome: {expected}, got {described(behavior)}.{advice}")
    behavior = jnp.asarray(behavior, jnp.float32)
    fitness = jnp.zeros(len(behavior)) if fitness is None else jnp.asarray(fitness, jnp.float32)
    num_steps = jnp.ones(len(behavior), jnp.int32) if num_steps is None else num_steps
    valid = jnp.all(is_usable(behavior), axis=1) & is_usable(fitness)
    return Outcome(behavior, fitness, valid, num_steps)
