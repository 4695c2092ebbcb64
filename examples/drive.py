"""Train on a Gymnasium environment, pick a mutation, save it, and drive the environment with it in a loop of your own.

    python examples/drive.py

The last half needs the file alone, and no training: copy it wherever the policy is to act.
"""

import gymnasium

from evolvability import evolve, load_policy

NUM_STEPS = 80
OPTIONS = {"env": "CartPole-v1", "behavior": "observation:0", "hidden": 16, "num_steps": NUM_STEPS}


def main() -> None:
    # Behavior is where the cart ends: mutations learn to leave to either side.
    run = evolve("gymnasium", task_options=OPTIONS, generations=12, population_size=64, sigma=0.2, learning_rate=0.1)
    for side in ("left", "right"):
        picked = run.pick(side, mutations=40, repeats=3)
        picked.policy.save(f"{side}.safetensors")
        print(f"the best of 40 mutations at going {side}: {picked.performance:.2f} m")

    for side in ("left", "right"):
        act = load_policy(f"{side}.safetensors")
        print(f"{side}.safetensors brings the cart to {drive(act):+.2f} m")


def drive(act) -> float:  # type: ignore[no-untyped-def]
    """Where the cart is at the end of an episode."""
    env = gymnasium.make("CartPole-v1")
    observation, _ = env.reset(seed=1)
    for _ in range(NUM_STEPS):
        observation, _, terminated, truncated, _ = env.step(act(observation))
        if terminated or truncated:
            break
    env.close()
    return float(observation[0])


if __name__ == "__main__":
    main()
