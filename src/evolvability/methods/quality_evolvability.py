r"""Quality Evolvability ES: members that are good, or add to the diversity of their siblings, or both.

Members are ranked by non-dominated sorting of two values: fitness, and what each contributes to evolvability, which is
its weight $w_k = n\, \partial J / \partial \log p(z_k)$ in an evolvability objective $J$; those of one front by the
room that they have in it. ES climbs these ranks.

Reference: Katona, Franks and Walker, *Quality Evolvability ES: Evolving individuals with a distribution of well
performing and diverse offspring* (2021).
"""

import jax
import jax.numpy as jnp
from jax import Array

from evolvability.core.expectation import expect
from evolvability.core.objectives import Objective, max_variance, sample_weights
from evolvability.core.shaping import centered_ranks, unshaped
from evolvability.core.types import Outcome


def nondominated_fronts(first: Array, second: Array) -> Array:
    r"""(num_members,) the front of each member under two values to be maximized, from 0 for those nobody dominates.

    One member dominates another if it is at least as good in both values and better in one. The front of a member is
    the longest chain of members that dominate each other and it. In two dimensions a sweep finds it: by falling first
    value, a member's front is the number of fronts whose highest second value is not below its own. These fall from
    front to front, so that a binary search tells: $O(n \log n)$.

    Examples:
        >>> nondominated_fronts(jnp.array([3.0, 1.0, 2.0, 1.0]), jnp.array([1.0, 3.0, 0.0, 3.0]))
        Array([0, 0, 1, 0], dtype=int32)
    """
    order = jnp.lexsort((-second, -first))
    across, down = first[order], -second[order]  # negated: a binary search wants rising values
    twin = jnp.zeros(len(first), bool).at[1:].set((across[1:] == across[:-1]) & (down[1:] == down[:-1]))

    def place(carry: tuple[Array, Array], member: tuple[Array, Array]) -> tuple[tuple[Array, Array], Array]:
        tops, before = carry
        value, is_twin = member
        above = jnp.searchsorted(tops, value, side="right").astype(jnp.int32)
        front = jnp.where(is_twin, before, above)  # twins do not dominate each other
        return (tops.at[front].set(value), front), front

    # Fronts without members are at infinity, so that the row stays sorted.
    nobody = (jnp.full(len(first), jnp.inf), jnp.zeros((), jnp.int32))
    _, fronts = jax.lax.scan(place, nobody, (down, twin))
    return jnp.zeros(len(first), jnp.int32).at[order].set(fronts)


def crowding_distances(fronts: Array, *values: Array) -> Array:
    """(num_members,) how far apart a member's two neighbors in its front are, in shares of the front's extent.

    Summed over the values, as in NSGA-II (Deb et al., 2002); infinite for those at either end of a front.

    Examples:
        >>> crowding_distances(jnp.zeros(4, int), jnp.array([0.0, 1.0, 3.0, 4.0]), jnp.array([4.0, 3.0, 1.0, 0.0]))
        Array([inf, 1.5, 1.5, inf], dtype=float32)
    """
    total = jnp.zeros(len(fronts))
    for value in values:
        order = jnp.lexsort((value, fronts))
        own, front = value[order], fronts[order]
        goes_on = front[1:] == front[:-1]
        above = jnp.append(jnp.where(goes_on, own[1:], jnp.inf), jnp.inf)
        below = jnp.append(-jnp.inf, jnp.where(goes_on, own[:-1], -jnp.inf))
        lowest, highest = (
            of_front(value, fronts, len(fronts))[front] for of_front in (jax.ops.segment_min, jax.ops.segment_max)
        )
        # A front without extent has no distances either: 0 / 1, not 0 / 0.
        extent = jnp.where(highest > lowest, highest - lowest, 1)
        total = total.at[order].add((above - below) / extent)
    return total


def qe_es() -> Objective:
    r"""Quality Evolvability ES, non-dominated ranks of fitness and diversity.

    $J = \mathbb{E}_z[r(z)]$, with $r$ the centered rank by fronts, the first highest; in a front those come first that
    have more room around them. A member's diversity is its squared distance from the mean of raw behaviors.
    """
    diversity = max_variance(unshaped)

    def objective(outcome: Outcome, log_prob: Array) -> Array:
        # By its own derivative: contributions are constants to the derivative of this objective.
        contribution, _ = sample_weights(diversity, outcome)
        # Invalid members are below all others, so that they dominate nobody, and in fronts of their own.
        values = [jnp.where(outcome.valid, value, -jnp.inf) for value in (outcome.fitness, contribution)]
        fronts = nondominated_fronts(*values)
        room = crowding_distances(fronts, outcome.fitness, contribution)
        return expect(centered_ranks(-_places(fronts, -room), outcome.valid), log_prob, where=outcome.valid)

    return objective


def _places(first: Array, second: Array) -> Array:
    """Each pair's place among all different pairs, by the first value, then the second; as floats, to be ranked."""
    order = jnp.lexsort((second, first))
    pairs = jnp.stack([first, second])[:, order]
    is_new = jnp.any(pairs[:, 1:] != pairs[:, :-1], axis=0)
    return jnp.zeros(len(first)).at[order[1:]].set(jnp.cumsum(is_new).astype(jnp.float32))
