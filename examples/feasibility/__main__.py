"""One network, two policies: random mutations flip it between them, half and half. Writes feasibility.png.

    python examples/feasibility

The network is the one of the paper's feasibility proof, five hidden layers of ReLUs.
"""

from typing import Any

import flip_network as fe
import jax
import numpy as np
from drawing import data_from_networks, draw_frequencies, draw_outputs, draw_walks

from evolvability.figures.style import letter, new_figure, paper_style

EPSILON, RATIO, SIZE, NUMBER = 0.1, 0.1, 0.2, 60
ON_LINE = (lambda x: np.sin(2 * np.pi * x), lambda x: 0.9 - 1.3 * x)
ON_PLANE = (lambda x: 2 * (x - 0.5) @ np.array([[0.0, 1.0], [-1.0, 0.0]]), lambda x: 1.5 * (0.9 - x))


def merge(policies: Any, num_inputs: int) -> tuple[Any, float, Any, Any]:
    """Two policies as networks, how far weights may move, and so many mutations of their merger and its switch."""
    both = tuple(fe.approximate(policy, num_inputs, num_units=40) for policy in policies)
    delta = fe.largest_delta(*both, epsilon=EPSILON, ratio=RATIO)
    network = fe.flip_network(*both, delta=delta, ratio=RATIO)
    steps = SIZE * delta * np.random.default_rng(0).normal(size=(NUMBER, fe.num_params(network)))
    mutants = jax.vmap(lambda step: fe.moved(network, step))(steps)
    return both, delta, mutants, steps[:, fe.switch(network)] > 0


def main() -> None:
    inputs = np.linspace(0, 1, 101)[:, None]
    both, delta, mutants, up = merge(ON_LINE, 1)
    outputs = np.asarray(jax.vmap(fe.apply, (0, None))(mutants, inputs))[..., 0]
    policies = [np.asarray(fe.apply(policy, inputs))[:, 0] for policy in both]
    data = data_from_networks(both, delta=delta, ratio=RATIO, epsilon=EPSILON)

    _, _, walkers, upward = merge(ON_PLANE, 2)
    path, act = [np.tile([0.5, 0.25], (NUMBER, 1))], jax.jit(jax.vmap(fe.apply))
    for _ in range(80):
        path.append(np.clip(path[-1] + 0.04 * act(walkers, path[-1]), 0, 1))

    with paper_style():
        figure = new_figure(8.4, 2.5)
        axes = figure.subplots(1, 3)
        draw_outputs(axes[0], inputs[:, 0], policies, outputs, up)
        draw_walks(axes[1], np.stack(path, axis=1), upward)
        draw_frequencies(axes[2], data)
        for index, title in enumerate(("60 mutations of a network", "60 of another, walking", "how often they flip")):
            letter(axes[index], index, title)
        figure.savefig("feasibility.png", dpi=200)
    shares = [np.interp(SIZE, data.sizes, share) for share in (data.first, data.second)]
    print(f"mutations of {SIZE * delta:.1g} are g in {shares[0]:.0%} and h in {shares[1]:.0%} of all cases")


if __name__ == "__main__":
    main()
