"""EvoTorch's PGPE on Gymnasium's half cheetah, an actor of Ray per core."""

import sys

from evotorch.algorithms import PGPE
from evotorch.neuroevolution import GymNE

hidden, members, steps, generations = map(int, sys.argv[1:])
sizes = (f"obs_length, {hidden}", f"{hidden}, {hidden}", f"{hidden}, act_length")
network = " >> ".join(f"Linear({size}, bias=False) >> Tanh()" for size in sizes)
problem = GymNE("HalfCheetah-v5", network, episode_length=steps, num_actors="max")
searcher = PGPE(problem, popsize=members, center_learning_rate=0.01, stdev_learning_rate=0.0, stdev_init=0.02)
for _ in range(generations):
    searcher.step()
    print("generation", flush=True)
