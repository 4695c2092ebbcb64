"""A simple evolution strategy on EnvPool's environments, networks by NumPy."""

import sys

import envpool
import numpy as np

hidden, members, steps, generations = map(int, sys.argv[1:])
sizes = [(17, hidden), (hidden, hidden), (hidden, 6)]
rng = np.random.default_rng(0)
env = envpool.make("HalfCheetah-v4", env_type="gymnasium", num_envs=members, seed=0)
center = np.zeros(sum(a * b for a, b in sizes), np.float32)
for _ in range(generations):
    noise = rng.standard_normal((members // 2, len(center)), np.float32)
    noise = np.concatenate([noise, -noise])
    parameters, weights, first = center + 0.02 * noise, [], 0
    for num_in, num_out in sizes:
        weights.append(parameters[:, first : first + num_in * num_out].reshape(members, num_in, num_out))
        first += num_in * num_out
    seen, _ = env.reset()
    fitness = np.zeros(members)
    for _ in range(steps):
        hidden_now = seen.astype(np.float32)[:, None]
        for weight in weights:
            hidden_now = np.tanh(hidden_now @ weight)
        seen, reward, _, _, _ = env.step(hidden_now[:, 0].astype(np.float64))
        fitness += reward
    ranks = fitness.argsort().argsort() / (members - 1) - 0.5
    center += 0.01 * ranks.astype(np.float32) @ noise / (members * 0.02)
    print("generation", flush=True)
