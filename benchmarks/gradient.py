"""What one update costs beside the evaluations: weights and gradient, against one autograd pass a member.

    python benchmarks/gradient.py [--members 10000] [--params 74246]

Three ways to the same gradient, side by side in one run, noise in memory:

- weights from one autograd pass over n log-probabilities, then one product with the noise (this library);
- one autograd pass a member through its log-density, in a compiled loop;
- the same, called member by member, as a framework without a compiler would.

Then the share of MaxEnt's weights in an update, for 1,000, 10,000 and 100,000 members, with one and two behavior
dimensions; and how much longer weights take with an outlier, or heavy tails. Writes a JSON with `--output`.
"""

import argparse
import json
import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from evolvability.core.objectives import max_entropy, sample_weights
from evolvability.core.populations import normal
from evolvability.core.shaping import unshaped
from evolvability.core.types import Outcome, Parameters, Sample, make_outcome

SIGMA = 0.02
POPULATION = normal(SIGMA)


def seconds(function: Callable[..., Any], *arguments: Any, repeats: int = 5) -> float:
    """The median time of a call, after one that compiles."""
    jax.block_until_ready(function(*arguments))
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        jax.block_until_ready(function(*arguments))
        times.append(time.perf_counter() - began)
    return sorted(times)[repeats // 2]


def log_prob(center: Array, member: Array) -> Array:
    return -jnp.sum((member - center) ** 2) / (2 * SIGMA**2)


@jax.jit
def update(sample: Sample, result: Outcome) -> Array:
    weights, _ = sample_weights(max_entropy(), result)
    return POPULATION.gradient(sample, weights).center[0]


@jax.jit
def weigh(result: Outcome) -> Array:
    return sample_weights(max_entropy(), result)[0]


@jax.jit
def weigh_raw(result: Outcome) -> Array:
    return sample_weights(max_entropy(behavior_shaping=unshaped), result)[0]


@jax.jit
def one_pass(center: Array, noise: Array, sign: Array, weight: Array, total: Array) -> Array:
    return total + weight * jax.grad(log_prob)(center, center + sign * SIGMA * noise)


@jax.jit
def pass_a_member(sample: Sample, weights: Array) -> Array:
    center, signs = sample.center[0], sample.sign

    def add(total: Array, draw: tuple[Array, Array]) -> tuple[Array, None]:
        noise, pair = draw
        for k in range(len(signs)):
            total = total + pair[k] * jax.grad(log_prob)(center, center + signs[k] * SIGMA * noise)
        return total, None

    total, _ = jax.lax.scan(add, jnp.zeros_like(center), (sample.noise, weights.reshape(sample.num_draws, -1)))
    return total / sample.num_members


def call_a_member(sample: Sample, weights: Array, num_members: int) -> Array:
    center, total = sample.center[0], jnp.zeros(sample.center.shape[1])
    for k in range(num_members):
        total = one_pass(center, sample.noise[k // 2], sample.sign[k % 2], weights[k], total)
    return total


def compare(num_members: int, num_params: int) -> dict[str, Any]:
    cloud = Parameters(jnp.zeros((1, num_params)))
    sample = jax.jit(lambda: POPULATION.sample(jax.random.key(0), cloud, 0, POPULATION.draws(num_members)))()
    result = make_outcome(jax.random.normal(jax.random.key(1), (num_members, 1)))
    weights = weigh(result)
    error = jnp.linalg.norm(update(sample, result) - pass_a_member(sample, weights))
    some = min(num_members, 500)
    row = {
        "members": num_members,
        "params": num_params,
        "this library": seconds(update, sample, result),
        "autograd pass a member, compiled loop": seconds(pass_a_member, sample, weights, repeats=3),
        "autograd pass a member, one call each": seconds(call_a_member, sample, weights, some, repeats=3)
        * num_members
        / some,
        "relative difference": float(error / jnp.linalg.norm(update(sample, result))),
    }
    for way in ("compiled loop", "one call each"):
        row[f"ratio, {way}"] = row[f"autograd pass a member, {way}"] / row["this library"]
    return row


def share_of_entropy(num_members: int, num_params: int, num_behaviors: int, block: int) -> dict[str, Any]:
    """Weights against gradient; a population larger than a block of noise is summed block by block."""
    result = make_outcome(jax.random.normal(jax.random.key(1), (num_members, num_behaviors)))
    block = min(block, num_members)
    cloud = Parameters(jnp.zeros((1, num_params)))
    sample = jax.jit(lambda: POPULATION.sample(jax.random.key(0), cloud, 0, POPULATION.draws(block)))()
    gradient = jax.jit(lambda weights: POPULATION.gradient(sample, weights).center)
    weights_s = seconds(weigh, result)
    gradient_s = seconds(gradient, jnp.ones(block)) * num_members / block
    share = weights_s / (weights_s + gradient_s)
    return {
        "members": num_members,
        "behaviors": num_behaviors,
        "weights": weights_s,
        "gradient": gradient_s,
        "share": share,
    }


def with_outliers(num_members: int, num_behaviors: int) -> dict[str, Any]:
    """Weights of a clean cloud in units of the kernel, and of clouds with members far off, relative to it."""
    clean = jax.random.normal(jax.random.key(1), (num_members, num_behaviors))
    clouds = {
        "one at 200": clean.at[0].set(200.0),
        "one at 1e6": clean.at[0].set(1e6),
        "Student's t(3)": jax.random.t(jax.random.key(2), 3.0, clean.shape),
    }
    clean_s = seconds(weigh_raw, make_outcome(clean))
    ratios = {name: seconds(weigh_raw, make_outcome(cloud)) / clean_s for name, cloud in clouds.items()}
    return {"members": num_members, "behaviors": num_behaviors, "clean": clean_s, **ratios}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--members", type=int, default=10_000)
    parser.add_argument("--params", type=int, default=74_246)
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    device = f"{jax.devices()[0].device_kind}, {platform.processor() or platform.machine()}, JAX {jax.__version__}"
    comparison = compare(arguments.members, arguments.params)
    print(device)
    for name, value in comparison.items():
        print(f"  {name:42s} {value:,.4g}")
    sizes = [size for size in (1000, 10_000, 100_000) if size <= 10 * arguments.members]
    shares = [share_of_entropy(n, arguments.params, d, arguments.members) for d in (1, 2) for n in sizes]
    print(f"\n  {'members':>9s} {'behaviors':>9s} {'weights s':>10s} {'gradient s':>10s} {'share':>7s}")
    for row in shares:
        print("  {members:9,d} {behaviors:9d} {weights:10.4f} {gradient:10.4f} {share:7.1%}".format(**row))
    outliers = [with_outliers(max(sizes), d) for d in (1, 2)]
    for row in outliers:
        print("  " + ", ".join(f"{name} {value:,.4g}" for name, value in row.items()))
    if arguments.output:
        results = {"device": device, "comparison": comparison, "shares": shares, "outliers": outliers}
        arguments.output.write_text(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
