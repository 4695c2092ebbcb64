"""One ask and one tell of a strategy beside evosax's Open_ES: the same parameters, in one process, in turns.

Both draw fresh noise for mirrored pairs, rank fitness and take a step of Adam. What members do costs nothing here:
their fitness is given. Ours hands a sample to what evaluates it as center and noise; evosax writes its members out.

    pip install evosax
    python benchmarks/peers.py --output results/benchmarks/peers-cpu.json
"""

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import evosax.algorithms
import jax
import jax.numpy as jnp
import optax

from evolvability import mean_fitness, normal
from evolvability.core.strategy import State, evolvability_es
from evolvability.core.types import Outcome

SIGMA, RATE = 0.02, 0.01

Round = Callable[[], Any]  # one ask and one tell


def main() -> None:
    options = _arguments()
    rows = []
    for num_members in options.members:
        contenders = {
            "evosax": evosax_round(num_members, options.parameters),
            "float32": our_round(num_members, options.parameters, jnp.float32),
            "bfloat16": our_round(num_members, options.parameters, jnp.bfloat16),
        }
        seconds = in_turns(contenders, options.rounds)
        row = {"members": num_members, "seconds": seconds}
        row["ratios"] = {name: seconds[name] / seconds["evosax"] for name in ("float32", "bfloat16")}
        rows.append(row)
        print(json.dumps(row), flush=True)
    if options.output:
        report = {"device": jax.devices()[0].device_kind, "parameters": options.parameters, "rows": rows}
        options.output.write_text(json.dumps(report, indent=1) + "\n")


def evosax_round(num_members: int, num_params: int) -> Round:
    """Of Open_ES, as its own documentation calls it."""
    strategy = evosax.algorithms.Open_ES(
        num_members, jnp.zeros(num_params), optimizer=optax.adam(RATE), std_schedule=optax.constant_schedule(SIGMA)
    )
    key, fitness = jax.random.key(0), jnp.arange(num_members, dtype=jnp.float32)
    kept = [strategy.init(key, jnp.zeros(num_params), strategy.default_params)]

    def once() -> Any:
        members, state = strategy.ask(key, kept[0], strategy.default_params)
        kept[0], _ = strategy.tell(key, members, fitness, state, strategy.default_params)
        return kept[0].mean

    return once


def our_round(num_members: int, num_params: int, noise_dtype: Any) -> Round:
    """Of the strategy that standard ES and Evolvability ES share."""
    population = normal(SIGMA, noise_dtype=noise_dtype)
    algorithm = evolvability_es(population, mean_fitness(), optax.adam(RATE), population_size=num_members)
    fitness = jnp.arange(num_members, dtype=jnp.float32)
    outcome = Outcome(fitness[:, None], fitness, jnp.ones(num_members, bool), jnp.ones(num_members, jnp.int32))
    ask = jax.jit(algorithm.ask)
    kept = [jax.jit(algorithm.init)(jax.random.key(0), jnp.zeros((1, num_params)))]

    @jax.jit
    def tell(state: State, sample: Any, outcome: Outcome) -> State:
        return algorithm.ascend(state, population.gradient(sample, algorithm.weigh(state, outcome)[0]))

    def once() -> Any:
        kept[0] = tell(kept[0], ask(kept[0]), outcome)
        return kept[0].parameters.center

    return once


def in_turns(contenders: dict[str, Round], num_rounds: int) -> dict[str, float]:
    """The median seconds of each, after a round that compiles; taken in turns, so that all meet the same load."""
    for once in contenders.values():
        jax.block_until_ready(once())
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(num_rounds):
        for name, once in contenders.items():
            began = time.perf_counter()
            jax.block_until_ready(once())
            times[name].append(time.perf_counter() - began)
    return {name: sorted(values)[len(values) // 2] for name, values in times.items()}


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--members", type=int, nargs="+", default=[1000])
    parser.add_argument("--parameters", type=int, default=74_246, help="per member; the paper's cheetah has 74,246")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--output", type=Path, default=None, help="write all numbers as JSON")
    return parser.parse_args()


if __name__ == "__main__":
    main()
