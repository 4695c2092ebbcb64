"""The cheetah by this library."""

import sys

from evolvability import evolve

hidden, members, steps, generations = map(int, sys.argv[1:])
task = {"num_steps": steps, "hidden": hidden, "body": "gymnasium"}
settings = {"population_size": members, "generations": generations, "task_options": task}
evolve("cheetah", objective="mean_fitness", on_generation=lambda *_: print("generation", flush=True), **settings)
