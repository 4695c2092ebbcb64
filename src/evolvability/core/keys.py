"""What random keys are for. Every use has a number of its own, so that no two ever draw the same random numbers.

A run's key never changes: what is drawn is addressed by (key, purpose, generation, index), so that any process can
draw it again alone.
"""

from enum import IntEnum, unique
from functools import partial

import jax
from jax import Array

from evolvability.core.errors import ConfigError

KEYS = "threefry2x32"


@unique
class Purpose(IntEnum):
    """The number that is folded into a run's or a seed's key. Recorded runs depend on them: add, never renumber."""

    NOISE = 0  # members' noise, and their components
    EPISODES = 1  # members' episodes: start states, drawn actions
    START = 2  # where a population's components start
    SPLIT = 3  # where components start that a run inherits from a population with another number of them
    REPRODUCTION = 4  # tournaments and successors in evolvability search, see examples
    OFFSPRING = 5  # offspring of a trained center, and their episodes
    FRESH = 6  # mutations that a run never tried, for the explorer
    CENTER = 7  # episodes of a center itself
    ADAPTATION = 8  # mutations to pick from, and the episodes of those that were picked
    RACE = 9  # adapters' episodes


def key_for(purpose: Purpose, key: Array) -> Array:
    """The part of a run's or a seed's key that one use draws from."""
    # Noise is drawn from the two words of such a key, the same on every device.
    if str(kind := jax.random.key_impl(key)) != KEYS:
        raise ConfigError(f"Random keys of JAX's kind {KEYS} are expected, got {kind}. Unset JAX_DEFAULT_PRNG_IMPL.")
    return jax.random.fold_in(key, int(purpose))


def noise_key(key: Array) -> Array:
    """The part of a run's key that the members' noise is addressed by."""
    return key_for(Purpose.NOISE, key)


@partial(jax.jit, inline=True)  # at a prompt, one program instead of five
def episode_key(key: Array, generation: Array | int) -> Array:
    """The key of a generation's episodes, from the run's key."""
    return jax.random.fold_in(key_for(Purpose.EPISODES, key), generation)
