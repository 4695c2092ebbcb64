"""EvoTorch's PGPE on Gymnasium's half cheetah, one actor per core."""

import sys

from evotorch.algorithms import PGPE
from evotorch.neuroevolution import GymNE

hidden, members, steps, generations = map(int, sys.argv[1:])
network = (
    f"Linear(obs_length, {hidden}) >> Tanh() >> Linear({hidden}, {hidden}) >> Tanh() >> Linear({hidden}, act_length)"
)
problem = GymNE("HalfCheetah-v5", network, num_actors="max", episode_length=steps)
searcher = PGPE(problem, popsize=members, center_learning_rate=0.01, stdev_learning_rate=0.1, stdev_init=0.02)
for _ in range(generations):
    searcher.step()
    print("generation", flush=True)
