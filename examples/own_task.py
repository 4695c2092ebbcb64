"""A task of your own: a cannon whose mutations land in many places. Writes cannon.png.

    python examples/own_task.py

Two parameters, the barrel's angle and its powder, decide where the ball lands. The most evolvable cannon points
straight up: the smallest mutation of its angle sends the ball to the other side.
"""

from typing import Any

import jax.numpy as jnp
import matplotlib as mpl
import numpy as np

from evolvability import evolve, function_task

mpl.use("Agg")
from matplotlib import pyplot as plt

GRAVITY = 9.81
SIGMA = 0.1
START = {"angle": 1.0, "powder": 1.0}


def landing_point(cannon: Any) -> Any:
    """Where the ball lands, in meters; a shot below the horizon goes nowhere."""
    speed = 20 * jnp.tanh(cannon["powder"])
    distance = speed**2 * jnp.sin(2 * cannon["angle"]) / GRAVITY
    return jnp.where(jnp.sin(cannon["angle"]) > 0, distance, 0.0)


task = function_task(landing_point, START, name="cannon", behavior_names=["landing point"])


def draw_shots(ax: Any, center: Any, title: str, num_shots: int = 60) -> None:
    """The flights of some mutations of a cannon."""
    noise = np.random.default_rng(0).normal(scale=SIGMA, size=(num_shots, 2))
    for angle, powder in np.array([center["angle"], center["powder"]]) + noise:
        speed = 20 * np.tanh(powder)
        time = np.linspace(0, 2 * speed * max(np.sin(angle), 0) / GRAVITY, 50)
        height = speed * np.sin(angle) * time - GRAVITY * time**2 / 2
        ax.plot(speed * np.cos(angle) * time, height, color="tab:orange", alpha=0.4, linewidth=0.8)
    ax.set(title=title, xlabel="distance (m)", xlim=(-30, 30), ylim=(0, 22))


def main() -> None:
    result = evolve(task, generations=60, population_size=200, sigma=SIGMA, learning_rate=0.03)
    figure, (before, after) = plt.subplots(1, 2, figsize=(8, 3), sharey=True, layout="constrained")
    draw_shots(before, START, "60 mutations of the start")
    draw_shots(after, result.center, "60 mutations of the evolved center")
    before.set_ylabel("height (m)")
    figure.savefig("cannon.png", dpi=150)
    first, *_, last = np.sqrt(result.metrics["variance"][0])
    print(f"angle {START['angle']:.2f} -> {result.center['angle']:.2f} rad, spread {first:.1f} -> {last:.1f} m")
    print("wrote cannon.png")


if __name__ == "__main__":
    main()
