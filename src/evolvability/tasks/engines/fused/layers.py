"""A hidden layer of all members' networks as one kernel, which reads every draw's noise once and in order.

Noise is most of what a control step reads, so a layer should take as long as its noise takes to come from memory. A
thread makes a few neighboring outputs of one draw, for all of its signs at once, and reads 16 bytes at a time: the
threads beside it read what lies beside. It sums in an order that never changes, so that runs repeat bit for bit.
"""

import functools
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import warp as wp
from jax import Array

from evolvability.core.noise import Factors
from evolvability.tasks.engines.fused.kernel import made
from evolvability.tasks.policies import Layer, Networks, hidden_layer, shared_part

WIDTH = 16  # bytes that a thread reads at a time
ROWS = 4  # of noise that it reads before it multiplies: memory answers late, and several reads wait together
THREADS = 256  # per block
BLOCKS = 5  # per multiprocessor, at least: with fewer, memory idles
TYPES = {"float32": wp.float32, "bfloat16": wp.bfloat16}


def streamed_layer(layer: Layer, networks: Networks, inputs: Array) -> Array:
    """`hidden_layer` by the kernel, where noise is written out in rows of whole 16 bytes."""
    noise: Any = layer.weight_noise
    if isinstance(noise, Factors) or not _fits(noise):
        return hidden_layer(layer, networks, inputs)
    num_draws, num_signs, num_inputs = inputs.shape
    num_outputs = noise.shape[2]
    shared = shared_part(layer, networks, inputs)
    arrays = (inputs, noise, layer.bias_noise.astype(jnp.float32), networks.step, shared)
    (outputs,) = _layer(num_signs, num_inputs, num_outputs, noise.dtype.name)(
        *(array.reshape(num_draws, -1) for array in arrays),
        output_dims=(num_draws, num_signs * num_outputs),
        launch_dims=num_draws * num_outputs * noise.dtype.itemsize // WIDTH,
    )
    return outputs.reshape(num_draws, num_signs, num_outputs)


def _fits(noise: Array) -> bool:
    return noise.dtype.name in TYPES and noise.shape[2] * noise.dtype.itemsize % WIDTH == 0


@functools.cache
def _layer(num_signs: int, num_inputs: int, num_outputs: int, dtype: str) -> Callable[..., Any]:
    def native(inputs: Any, noise: Any, bias: Any, step: Any, shared: Any, outputs: Any, tid: Any) -> None: ...

    def whole(inputs: Any, noise: Any, bias: Any, step: Any, shared: Any, outputs: Any) -> None:
        native(inputs, noise, bias, step, shared, outputs, wp.tid())

    rows = wp.array2d(dtype=wp.float32)
    types = dict.fromkeys(("inputs", "noise", "bias", "step", "shared", "outputs"), rows)
    types["noise"] = wp.array2d(dtype=TYPES[dtype])
    text = _text(num_signs, num_inputs, num_outputs, is_short=dtype == "bfloat16")
    kernel: Callable[..., Any] = wp.jax_kernel(
        made("layer", text, types, native, whole, (THREADS, BLOCKS)), block_dim=THREADS
    )
    return kernel


def _text(num_signs: int, num_inputs: int, num_outputs: int, is_short: bool) -> str:
    each = WIDTH // (2 if is_short else 4)  # outputs per thread
    lanes = num_outputs // each
    # A bfloat16 is the upper half of a float.
    word = "n[r].w[e / 2] << (e % 2 ? 0 : 16) & 0xffff0000u" if is_short else "n[r].w[e]"
    left = num_inputs % ROWS

    def some_rows(number: int) -> str:
        return f"""{{
    Wide n[{number}];
    _Pragma("unroll") for (int r = 0; r < {number}; r++) n[r] = rows[(i + r) * {lanes}];
    _Pragma("unroll") for (int r = 0; r < {number}; r++) {{
      _Pragma("unroll") for (int s = 0; s < {num_signs}; s++) {{
        const float x = given[s * {num_inputs} + i + r];
        _Pragma("unroll") for (int e = 0; e < {each}; e++) sums[s][e] += x * as_float({word}); }} }} }}"""

    return f"""
struct alignas({WIDTH}) Wide {{ unsigned int w[4]; }};
auto as_float = [](unsigned int bits) {{ union {{ unsigned int i; float f; }} both; both.i = bits; return both.f; }};
const size_t draw = tid / {lanes};
const int first = tid % {lanes} * {each};
const Wide* __restrict__ rows = reinterpret_cast<const Wide*>(noise.data) + draw * {num_inputs * lanes} + tid % {lanes};
const float* __restrict__ given = inputs.data + draw * {num_signs * num_inputs};
float sums[{num_signs}][{each}] = {{}};
int i = 0;
for (; i + {ROWS} <= {num_inputs}; i += {ROWS}) {some_rows(ROWS)}
{some_rows(left) if left else ""}
for (int s = 0; s < {num_signs}; s++) for (int e = 0; e < {each}; e++) {{
  const size_t at = (draw * {num_signs} + s) * {num_outputs} + first + e;
  const float noisy = sums[s][e] + bias.data[draw * {num_outputs} + first + e];
  outputs.data[at] = tanhf(shared.data[at] + step.data[draw * {num_signs} + s] * noisy); }}
"""
