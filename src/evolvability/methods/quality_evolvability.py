r"""Quality Evolvability ES: members that are good, or add to the diversity of their siblings, or both.

Members are ranked by non-dominated sorting of two values: fitness, and what each contributes to evolvability, which is
its weight $w_k = n\, \partial J / \partial \log p(z_k)$ in an evolvability objective $J$. ES climbs these ranks.

Reference: Katona, Franks and Walker, *Quality Evolvability ES: Evolving individuals with a distribution of well
performing and diverse offspring* (2021).
"""

import jax
import jax.numpy as jnp
from jax import Array

from evolvability.core.expectation import expect
from evolvability.core.objectives import Objective, max_entropy, sample_weights
from evolvability.core.shaping import centered_ranks
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

    nobody = (jnp.full(len(first), jnp.inf), jnp.zeros((), jnp.int32))
    _, fronts = jax.lax.scan(place, nobody, (down, twin))
    return jnp.zeros(len(first), jnp.int32).at[order].set(fronts)


def qe_es(diversity: Objective | None = None) -> Objective:
    r"""Quality Evolvability ES, non-dominated ranks of fitness and diversity.

    $J = -\mathbb{E}_z[\mathrm{front}(f(z), w(z))]$, with fronts turned into centered ranks; members of one front share
    theirs.

    Args:
        diversity: the evolvability objective whose weights are the members' contributions; `max_entropy` unless given.
    """
    diversity = max_entropy() if diversity is None else diversity

    def objective(outcome: Outcome, log_prob: Array) -> Array:
        contribution, _ = sample_weights(diversity, outcome)
        # Invalid members are below all others, so that they dominate nobody.
        values = (jnp.where(outcome.valid, value, -jnp.inf) for value in (outcome.fitness, contribution))
        fronts = nondominated_fronts(*values).astype(jnp.float32)
        return expect(centered_ranks(-fronts, outcome.valid), log_prob, where=outcome.valid)

    return objective
