"""Ask and tell: the simulator, the loop and the stopping rule are yours; here, a wheeled robot in plain NumPy.

    python examples/ask_and_tell.py

The robot's two motors follow sums of sines. Its behavior is where it stands after ten seconds.
"""

from typing import Any

import numpy as np
import optax

from evolvability import AskTell, normal

TIME_STEP = 0.1
NUM_STEPS = 100
WHEEL_BASE = 0.5


def drive(motors: Any) -> Any:
    """Final positions, (num_robots, 2), of robots with ``motors`` of shape (num_robots, 2 wheels, 4 coefficients)."""
    position, heading = np.zeros((len(motors), 2)), np.zeros(len(motors))
    for step in range(NUM_STEPS):
        time = step * TIME_STEP
        left, right = np.tanh(np.asarray(motors) @ [1, np.sin(time), np.sin(2 * time), np.sin(3 * time)]).T
        heading += TIME_STEP * (right - left) / WHEEL_BASE
        position += TIME_STEP * ((left + right) / 2 * [np.cos(heading), np.sin(heading)]).T
    return position


def main() -> None:
    loop = AskTell(
        np.full((2, 4), 0.1),
        population_size=200,
        population=normal(sigma=0.1),
        optimizer=optax.adam(0.03),
    )
    while loop.generation < 60:
        info = loop.tell(behavior=drive(loop.ask()))
        if loop.generation % 10 == 0 or loop.generation == 1:
            spread = float(info.variance) ** 0.5
            print(f"generation {loop.generation}: spread {spread:.2f} m, mean distance {float(info.distance):.2f} m")

    final = drive(loop.ask())
    print(f"mutations of the center reach x from {final[:, 0].min():.1f} to {final[:, 0].max():.1f} m, ", end="")
    print(f"y from {final[:, 1].min():.1f} to {final[:, 1].max():.1f} m")


if __name__ == "__main__":
    main()
