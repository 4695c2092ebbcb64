"""Actions of all members on a GPU by one kernel: every member's noise is read from memory once per control step.

A block of threads holds the activations of a few draws in shared memory and goes through all layers with them. Compiled
for a CPU, where a block has one thread, the same text is slow, and tests run it.
"""

import functools
import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import warp as wp
from jax import Array
from mujoco_fused import FLOAT, epilogue, jax_function, make_kernel, prelude

from evolvability.core.noise import Shapes
from evolvability.core.types import PyTree, Sample
from evolvability.tasks.engines.network_text import ACTIVATIONS
from evolvability.tasks.families import NetworkFamily, noise_and_step
from evolvability.tasks.policies import Mlp

THREADS = 128
"""Per block."""
UNITS = 2
"""Neighbors that a thread has."""
DRAWS = 2
"""Per block: they share what is read of the center."""
PARTS = 4
"""Of a sum in the last layer, whose few outputs would leave most threads without work."""
MEMORY = 40_000
"""Bytes of shared memory that a block may ask for on every GPU, less what Warp takes."""


class Format(NamedTuple):
    """How noise of one type is read."""

    type: Any
    """Warp's."""
    number: str
    """One of its numbers in C++."""
    reads: str
    """C++ to read one number, and those of neighboring units."""


_WIDE = """
auto one = [](const N* at) { return *at; };
auto read = [](const N* at) { return *(const Units*)at; };
"""
_LONG = """
auto lengthened = [](unsigned bits) { union { unsigned i; R f; } x; x.i = bits; return x.f; };
auto one = [&](const N* at) { return lengthened((unsigned)*at << 16); };
auto read = [&](const N* at) { const unsigned bits = ONCE(*(const unsigned*)at);
  return Units{{lengthened(bits << 16), lengthened(bits & 0xffff0000u)}}; };
"""
FORMATS = {"float32": Format(wp.float32, "R", _WIDE), "bfloat16": Format(wp.bfloat16, "unsigned short", _LONG)}
"""By the noise's type."""


def actor(networks: NetworkFamily, sample: Sample) -> Callable[[Array, PyTree], tuple[Array, PyTree]]:
    """A sample's networks, `NetworkFamily.act` with one row per member: those of an mlp by a kernel on a GPU."""
    if jax.default_backend() == "gpu" and fits(networks, sample):
        act = grouped_actor(networks, sample)
        return lambda observations, carry: (act(observations), carry)
    return partial(networks.act, networks.build(sample))


def fits(networks: NetworkFamily, sample: Sample) -> bool:
    """Whether the kernel can do it: noise in rows, even numbers of what is read in pairs, layers not too wide."""
    if not (isinstance(sample.noise, Array) and sample.noise.dtype.name in FORMATS and isinstance(networks.make, Mlp)):
        return False
    shapes = networks.shapes
    sizes = [math.prod(shape) for shape in shapes]
    even = all(size % UNITS == 0 for size in [*sizes[1:-1], sum(sizes)])
    # A mirrored pair at least: by one sign at a time its noise would be read twice.
    return even and _most_signs(shapes) >= min(2, len(sample.sign))


def _most_signs(shapes: Shapes) -> int:
    """Members per draw, episodes counted, that a block has room for."""
    return MEMORY // (2 * 4 * _width(shapes) * DRAWS)


def grouped_actor(networks: NetworkFamily, sample: Sample) -> Callable[[Array], Array]:
    """By the kernel, as many signs of a draw at a time as it has room for: noise is read once per group of them."""
    most, number = _most_signs(networks.shapes), len(sample.sign)
    if number <= most:
        return kernel_actor(networks, sample)
    size = math.ceil(number / math.ceil(number / most))
    groups = [slice(first, first + size) for first in range(0, number, size)]
    actors = [kernel_actor(networks, sample._replace(sign=sample.sign[group])) for group in groups]

    def act(observations: Array) -> Array:
        by_sign = observations.reshape(sample.num_draws, number, -1)
        parts = [
            own(by_sign[:, group].reshape(-1, by_sign.shape[2])).reshape(sample.num_draws, -1, networks.num_outputs)
            for own, group in zip(actors, groups, strict=True)
        ]
        return jnp.concatenate(parts, axis=1).reshape(sample.num_members, -1)

    return act


def kernel_actor(networks: NetworkFamily, sample: Sample) -> Callable[[Array], Array]:
    """The same by the kernel, wherever it is."""
    noise: Any
    noise, step = noise_and_step(sample)
    step = jnp.broadcast_to(step, (sample.num_draws, len(sample.sign)))
    assert isinstance(networks.make, Mlp)
    activation = ACTIVATIONS[networks.make.activation]
    call = _call(networks.shapes, activation, step.shape[1], len(sample.center), noise.dtype.name)
    threads = THREADS if jax.default_backend() == "gpu" else 1
    launch = math.ceil(sample.num_draws / DRAWS) * threads
    dims = {"actions": (sample.num_members, networks.num_outputs)}

    def act(observations: Array) -> Array:
        arrays = (observations, sample.center, noise, sample.component.astype(jnp.int32), step)
        return call(*arrays, output_dims=dims, launch_dims=launch)[0]

    return act


@functools.cache
def _call(shapes: Shapes, activation: str, num_signs: int, num_components: int, dtype: str) -> Callable[..., Any]:
    own, rows = FORMATS[dtype], wp.array2d(dtype=wp.float32)
    types = dict.fromkeys(("observations", "center", "noise", "component", "step", "actions"), rows)
    types |= {"noise": wp.array2d(dtype=own.type), "component": wp.array(dtype=wp.int32)}
    text = prelude(FLOAT) + _text(shapes, activation, num_signs, num_components, own) + epilogue()
    kernel = make_kernel(f"act_{dtype}", text, types, threads=THREADS)
    return jax_function(kernel, 1, THREADS)


def _text(shapes: Shapes, activation: str, num_signs: int, num_components: int, noise: Format) -> str:
    """The program of a thread. Activations are sorted by unit, then by member."""
    width, members, layers = _width(shapes), DRAWS * num_signs, list(zip(shapes[::2], shapes[1::2], strict=True))
    num_inputs, num_params = shapes[0][0], sum(map(math.prod, shapes))
    text = f"""
#ifdef __CUDA_ARCH__
#define EACH(i, n) for (int i = threadIdx.x; i < (n); i += {THREADS})
#define TOGETHER __syncthreads()
#define SHARED __shared__ __align__(16)
#define ONCE(x) __ldcs(&(x))
const int block = tid / {THREADS};
#else
#define EACH(i, n) for (int i = 0; i < (n); i++)
#define TOGETHER
#define SHARED
#define ONCE(x) (x)
const int block = tid;
#endif
struct alignas(8) Units {{ R x[{UNITS}]; }};
typedef {noise.number} N;
SHARED R layer0[{width * members}], layer1[{width * members}];
// Seeds side by side: each has its own centers, and as many draws as the others.
const int num_seeds = center.shape[0] / {num_components}, num_draws = noise.shape[0] / num_seeds;
const int seed = block / ((num_draws + {DRAWS - 1}) / {DRAWS});
const int first = block % ((num_draws + {DRAWS - 1}) / {DRAWS}) * {DRAWS};
int draw[{DRAWS}]; const R* p[{DRAWS}]; const N* e[{DRAWS}];
{_each("g", DRAWS)} {{  // what is beyond the last draw does the last once more
  draw[g] = seed * num_draws + (first + g < num_draws ? first + g : num_draws - 1);
  p[g] = center.data + (size_t)(seed * {num_components} + component.data[draw[g]]) * {num_params};
  e[g] = (const N*)noise.data + (size_t)draw[g] * {num_params};
}}
{noise.reads}
R size[{members}];
{_each("m", members)} size[m] = step.data[(size_t)draw[m / {num_signs}] * {num_signs} + m % {num_signs}];
EACH(i, {num_inputs * members}) {{
  const int m = i % {members}, member = draw[m / {num_signs}] * {num_signs} + m % {num_signs};
  layer0[i] = observations.data[(size_t)member * {num_inputs} + i / {members}]; }}
TOGETHER;
"""
    offset = 0
    for number, (shape, _) in enumerate(layers):
        names = f"layer{number % 2}", f"layer{1 - number % 2}"
        if number < len(layers) - 1:
            text += _hidden(shape, offset, activation, num_signs, num_components == 1, *names)
        else:
            text += _last(shape, offset, num_signs, *names)
        offset += (shape[0] + 1) * shape[1]
    return text + "".join(f"#undef {name}\n" for name in ("EACH", "TOGETHER", "SHARED", "ONCE"))


def _width(shapes: Shapes) -> int:
    """The most numbers of a member that are held at a time."""
    return max(shapes[0][0], PARTS * shapes[-1][0], *(bias[0] for bias in shapes[1::2]))


def _each(name: str, number: int) -> str:
    """The head of a loop that is written out."""
    return f'_Pragma("unroll") for (int {name} = 0; {name} < {number}; {name}++)'


def _hidden(
    shape: tuple[int, ...], offset: int, activation: str, num_signs: int, shared: bool, source: str, target: str
) -> str:
    """A thread has neighboring units of all draws. ``shared``: whether all draws have the same center."""
    (num_in, num_out), members = shape, DRAWS * num_signs
    bias, each_unit = offset + num_in * num_out, _each("j", UNITS)
    centers, read = (1, "const Units w = *(const Units*)center_at[0];") if shared else (DRAWS, "")
    return f"""
EACH(u, {num_out // UNITS}) {{
  R c[{members}][{UNITS}]; {_each("m", members)} {each_unit} c[m][j] = R(0);
  R n[{members}][{UNITS}]; {_each("m", members)} {each_unit} n[m][j] = R(0);
  // Pointers that move, rather than an index: fewer instructions per number.
  const R* center_at[{centers}]; const N* at[{DRAWS}];
  {_each("g", centers)} center_at[g] = p[g] + {offset} + {UNITS} * u;
  {_each("g", DRAWS)} at[g] = e[g] + {offset} + {UNITS} * u;
  _Pragma("unroll 8") for (int k = 0; k < {num_in}; k++) {{
    {read}
    {_each("g", DRAWS)} {{
      {"" if shared else "const Units w = *(const Units*)center_at[g];"}
      const Units own = read(at[g]);
      {_each("s", num_signs)} {{ const int m = g * {num_signs} + s; const R h = {source}[k * {members} + m];
        {each_unit} {{ c[m][j] += h * w.x[j]; n[m][j] += h * own.x[j]; }} }}
      at[g] += {num_out}; }}
    {_each("g", centers)} center_at[g] += {num_out}; }}
  {_each("m", members)} {{ const int g = m / {num_signs};
    const Units b = *(const Units*)(p[g] + {bias} + {UNITS} * u), own = read(e[g] + {bias} + {UNITS} * u);
    {each_unit} {{ const R x = c[m][j] + b.x[j] + size[m] * (n[m][j] + own.x[j]);
      {target}[({UNITS} * u + j) * {members} + m] = {activation.format("x")}; }} }} }}
TOGETHER;
"""


def _last(shape: tuple[int, ...], offset: int, num_signs: int, source: str, target: str) -> str:
    """A thread has a part of one draw's sums, and then the whole of one."""
    (num_in, num_out), members = shape, DRAWS * num_signs
    bias = offset + num_in * num_out
    return f"""
EACH(i, {DRAWS * PARTS * num_out}) {{
  const int o = i % {num_out}, part = i / {num_out} % {PARTS}, g = i / {num_out * PARTS};
  R c[{num_signs}], n[{num_signs}];
  {_each("s", num_signs)} c[s] = n[s] = R(0);
  _Pragma("unroll 8") for (int k = part; k < {num_in}; k += {PARTS}) {{
    const R w = p[g][{offset} + k * {num_out} + o], own = one(e[g] + {offset} + k * {num_out} + o);
    {_each("s", num_signs)} {{ const R h = {source}[k * {members} + g * {num_signs} + s];
      c[s] += h * w; n[s] += h * own; }} }}
  {_each("s", num_signs)} {{ const int m = g * {num_signs} + s;
    {target}[(part * {num_out} + o) * {members} + m] = c[s] + step.data[(size_t)draw[g] * {num_signs} + s] * n[s]; }} }}
TOGETHER;
EACH(i, {num_out * members}) {{
  const int o = i % {num_out}, m = i / {num_out}, g = m / {num_signs}, s = m % {num_signs};
  R sum = p[g][{bias} + o] + step.data[(size_t)draw[g] * {num_signs} + s] * one(e[g] + {bias} + o);
  {_each("part", PARTS)} sum += {target}[(part * {num_out} + o) * {members} + m];
  actions.data[((size_t)draw[g] * {num_signs} + s) * {num_out} + o] = sum; }}
"""
