"""What short noise costs: the moments of each number format, and the bias of the gradient beside its standard error.

    python benchmarks/noise.py --draws 1000000 --output noise.json

Moments are exact: the generator makes a normal number of 23 random bits, and all of them are gone through. The gradient
is that of the library, by the score of the normal, for the behavior of a network with a hidden layer and its square:
the expected behavior, and MaxVar's integrand. Formats round the same numbers, so that their difference tells far more
than their standard errors. A mean difference has a length even without any bias; what is unbiased for the bias' square
is the mean product of the differences of two batches, over all pairs of them. Where that is negative, no bias is seen;
the bound is two standard errors above it, over batches left out one by one.
"""

import argparse
import json
import math
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from evolvability.core.noise import rounded, rows
from evolvability.core.normals import LOWEST
from evolvability.core.populations import normal
from evolvability.core.types import Parameters, Sample
from evolvability.tasks.families import NetworkFamily, family_of
from evolvability.tasks.policies import mlp

FORMATS = ("float32", "bfloat16", "int8")
NUM_OBSERVATIONS, NUM_STEPS = 26, 4
SIGMA = 0.02


def main() -> None:
    options = _arguments()
    print("format    mean       variance   skewness   kurtosis   largest")
    found: dict[str, Any] = {"moments": {name: moments(name) for name in FORMATS}}
    for name, row in found["moments"].items():
        print(
            f"{name:9} {row['mean']:+.2e}  {row['variance']:.7f}  {row['skewness']:+.2e}  {row['kurtosis']:.6f}  ",
            end="",
        )
        print(f"{row['largest']:.3f}")
    family = family_of(mlp((options.hidden,)), NUM_OBSERVATIONS, 1)
    print(f"\nthe gradient, {family.num_params:,} parameters, {options.draws:,} mirrored draws")
    print("of               format    bias / standard error, in %")
    found["gradient"] = gradients(options, family)
    for row in found["gradient"]:
        print(f"{row['of']:16} {row['format']:9} {row['percent']:.2f}, at most {row['at_most']:.2f}")
    if options.output:
        about = {"jax": jax.__version__, "device": jax.devices()[0].device_kind}
        options.output.write_text(
            json.dumps(about | {"options": vars(options) | {"output": None}} | found, indent=1) + "\n"
        )


def moments(name: str) -> dict[str, float]:
    """Of all numbers that the generator can make, in a format."""
    fractions = jnp.arange(2**23, dtype=jnp.float32) / 2**23
    normals = np.float32(np.sqrt(2)) * jax.lax.erf_inv(jnp.maximum(LOWEST, fractions * (1 - LOWEST) + LOWEST))
    numbers = np.asarray(rows(rounded(normals, jnp.dtype(name)))).astype(np.float64)
    mean, variance = numbers.mean(), numbers.var()
    centered = (numbers - mean) / math.sqrt(variance)
    shape = {"skewness": (centered**3).mean(), "kurtosis": (centered**4).mean()}
    return {"mean": mean, "variance": variance, **shape, "largest": np.abs(numbers).max()}


def gradients(options: argparse.Namespace, family: NetworkFamily) -> list[dict[str, Any]]:
    """The bias of each short format, beside the standard error of so many draws in float32."""
    num_batches = options.draws // options.batch
    center = family.init(jax.random.key(0))
    # A start's last layer is small: behaviors would be all but linear in it.
    parameters = Parameters(center[None].at[:, -options.hidden - 1 :].multiply(100))
    batch = jax.jit(partial(_batch, family, parameters, options.batch))
    # (num_formats, 2, num_batches, num_params)
    batches = np.stack([np.asarray(batch(number), np.float64) for number in range(num_batches)], axis=2)
    rows_found = []
    for column, what in enumerate(("mean behavior", "variance")):
        exact = batches[0, column]
        error = exact.var(axis=0, ddof=1).sum() / num_batches  # the squared length of the standard error
        for name, own in zip(FORMATS[1:], batches[1:, column], strict=True):
            square, spread = _squared_mean(own - exact)
            shares = [math.sqrt(max(value, 0) / error) for value in (square, square + 2 * spread)]
            rows_found.append({"of": what, "format": name, "percent": 100 * shares[0], "at_most": 100 * shares[1]})
    return rows_found


def _batch(family: NetworkFamily, parameters: Parameters, size: int, number: Array) -> Array:
    """(num_formats, 2, num_params) the gradients of the mean and of the variance of the behavior, from some draws."""
    population = normal(SIGMA)
    drawn = population.sample(jax.random.key(1), parameters, number, jnp.arange(size))
    at_center = _behavior(family, _unmutated(drawn))
    found = []
    for name in FORMATS:  # as a population of this format draws them
        sample = drawn._replace(noise=rounded(rows(drawn.noise), jnp.dtype(name)))
        behavior = _behavior(family, sample) - at_center
        found.append([population.gradient(sample, weights).center[0] for weights in (behavior, behavior**2)])
    return jnp.array(found)


def _behavior(family: NetworkFamily, sample: Sample) -> Array:
    """(num_members,) the mean of what a network does at a few observations, which are the same for all."""
    observations = jax.random.normal(jax.random.key(2), (NUM_STEPS, NUM_OBSERVATIONS))
    # In float32, as compiled episodes compute; at all observations at once, as episodes that share a member's noise.
    networks = family.build(sample._replace(noise=rows(sample.noise).astype(jnp.float32)).repeated(NUM_STEPS))
    outputs, _ = family.act(networks, jnp.tile(observations, (sample.num_members, 1)), ())
    return outputs.reshape(sample.num_members, NUM_STEPS).mean(axis=1)


def _unmutated(sample: Sample) -> Sample:
    one = sample.of_draws(slice(0, 1))
    return one._replace(noise=jnp.zeros_like(rows(one.noise)), sign=sample.sign[:1])


def _squared_mean(batches: Any) -> tuple[float, float]:
    """An unbiased estimate of the squared length of the mean, and its standard error by the jackknife."""
    products = batches @ batches.T
    number, own = len(products), np.diag(products)
    total, around = products.sum() - own.sum(), products.sum(axis=1) - own
    without = (total - 2 * around) / ((number - 1) * (number - 2))
    spread = math.sqrt((number - 1) * ((without - without.mean()) ** 2).mean())
    return total / (number * (number - 1)), spread


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=1_000_000)
    parser.add_argument("--batch", type=int, default=4000, help="draws at a time")
    parser.add_argument("--hidden", type=int, default=128)
    parser.add_argument("--output", type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    main()
