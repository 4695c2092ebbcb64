"""One network, several policies: its mutations spell the number of one of them, switch by switch.

    python examples/feasibility/several.py 5

The policies are cosines that begin at different angles. Says how often mutations are within 0.1 of each.
"""

import argparse
from typing import Any

import flip_network as fe
import jax
import numpy as np

EPSILON, RATIO, SIZE, MUTATIONS = 0.1, 0.1, 0.2, 2000


def shares(number: int) -> list[float]:
    """How often mutations of one network are each of so many policies."""

    def policy(place: int) -> Any:
        return fe.approximate(lambda x: np.cos(2 * x + 2 * np.pi * place / number), 1, num_units=12, seed=place)

    policies = [policy(place) for place in range(number)]
    delta = fe.largest_delta(*policies, epsilon=EPSILON, ratio=RATIO)
    network = fe.flip_network(*policies, delta=delta, ratio=RATIO)
    steps = SIZE * delta * np.random.default_rng(0).normal(size=(MUTATIONS, fe.num_params(network)))
    grid = np.linspace(0, 1, 21)[:, None]
    outputs = jax.jit(jax.vmap(lambda step: fe.apply(fe.moved(network, step), grid)))(steps)
    return [float(np.mean(np.abs(outputs - fe.apply(one, grid)).max(axis=(1, 2)) <= EPSILON)) for one in policies]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("policies", type=int, help="how many, 2 or more")
    found = shares(parser.parse_args().policies)
    names = ", ".join(f"number {place} in {share:.0%}" for place, share in enumerate(found, start=1))
    print(f"mutations of one network are {names} and none of them in {1 - sum(found):.0%} of all cases")


if __name__ == "__main__":
    main()
