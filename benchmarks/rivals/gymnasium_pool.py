"""A simple evolution strategy on Gymnasium's half cheetah, a pool of processes."""

import sys
from multiprocessing import Pool, cpu_count

import gymnasium
import numpy as np

hidden, members, steps, generations = map(int, sys.argv[1:])
sizes = [(17, hidden), (hidden, hidden), (hidden, 6)]
rng = np.random.default_rng(0)


def act(parameters, seen):
    first = 0
    for num_in, num_out in sizes:
        weight = parameters[first : first + num_in * num_out].reshape(num_in, num_out)
        first += num_in * num_out
        seen = np.tanh(seen @ weight)
    return seen


def episode(parameters):
    env, total = gymnasium.make("HalfCheetah-v5"), 0.0
    seen, _ = env.reset(seed=0)
    for _ in range(steps):
        seen, reward, _, _, _ = env.step(act(parameters, seen.astype(np.float32)))
        total += reward
    return total


if __name__ == "__main__":
    center = np.zeros(sum(a * b for a, b in sizes), np.float32)
    with Pool(cpu_count()) as pool:
        for _ in range(generations):
            noise = rng.standard_normal((members // 2, len(center)), np.float32)
            noise = np.concatenate([noise, -noise])
            fitness = np.array(pool.map(episode, center + 0.02 * noise))
            ranks = fitness.argsort().argsort() / (members - 1) - 0.5
            center += 0.01 * ranks.astype(np.float32) @ noise / (members * 0.02)
            print("generation", flush=True)
