"""A member's network as C++, for whole episodes: from ``inputs`` to ``u``, with what it remembers.

Its parameters begin at ``p``, in the order of `arranged`.
"""

import itertools
import math
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from mujoco_fused import FLOAT, Precision, block

from evolvability.tasks.families import NetworkFamily
from evolvability.tasks.policies import Gru, Mlp
from evolvability.tasks.replay import HostArray

ACTIVATIONS = {
    "tanh": "squash({0})",
    "relu": "({0} < R(0) ? R(0) : {0})",  # nan stays nan
    "silu": "{0} * (R(0.5) + R(0.5) * squash(R(0.5) * {0}))",
}
"""Of a variable, the same as in `policies`."""


TILE = 32
"""Outputs at a time: twice their sums fit into the registers of NEON, AVX2 and AVX-512."""
LANES, GROUP = 8, 4
"""Inputs and outputs at a time where there are fewer outputs than a tile has."""
LINE = 16
"""Numbers in a line of the processor's cache."""


class NetworkText(NamedTuple):
    """Statements of a network; the same text is the same network."""

    length: int
    """Of a member's row of parameters, as `arranged`."""
    begins: str
    """Before an episode."""
    acts: str
    """At every step."""


def is_compiled(networks: NetworkFamily) -> bool:
    """Whether there is a text for these networks."""
    return isinstance(networks.make, Mlp | Gru)


def network_text(networks: NetworkFamily, precision: Precision) -> NetworkText:
    """The text of one of these networks."""
    make, offsets, shapes = networks.make, _offsets(networks, precision), networks.shapes[::2]
    affine = _tiled if precision is FLOAT else _plain
    maps: list[Map] = [
        partial(affine, num_in, num_out, offset) for (num_in, num_out), offset in zip(shapes, offsets, strict=False)
    ]
    if isinstance(make, Gru):
        return NetworkText(offsets[-1], *_gru(make.units, maps))
    assert isinstance(make, Mlp)
    # Several at a time: one alone waits for its own last result.
    each = '_Pragma("clang loop interleave_count(4)") ' if precision is FLOAT else ""
    return NetworkText(offsets[-1], "", _mlp(make.activation, [size for _, size in shapes], maps, each))


def arranged(networks: NetworkFamily, members: HostArray, precision: Precision) -> HostArray:
    """(num_members, length) parameters in the order that the text reads them; members: (num_members, num_params).

    In float32 that is tile by tile: all weights of `TILE` outputs in a row, those of an input side by side. Of outputs
    that do not fill a tile, each has its weights in a row. Rows and layers begin where a line of the cache does.
    """
    if precision is not FLOAT:
        return np.ascontiguousarray(members, precision.dtype)
    number, first, (*offsets, length) = len(members), 0, _offsets(networks, precision)
    room = np.zeros(number * length + LINE, np.float32)
    rows = room[-room.ctypes.data // room.itemsize % LINE :][: number * length].reshape(number, length)
    for (num_in, num_out), offset in zip(networks.shapes[::2], offsets, strict=True):
        size, tiled = num_in * num_out, num_out // TILE * TILE
        weights, place = members[:, first : first + size].reshape(number, num_in, num_out), num_in * tiled
        own = rows[:, offset : offset + size + num_out]
        tiles = own[:, :place].reshape(number, -1, num_in, TILE)
        tiles[:] = weights[:, :, :tiled].reshape(number, num_in, -1, TILE).swapaxes(1, 2)
        own[:, place:size].reshape(number, -1, num_in)[:] = weights[:, :, tiled:].swapaxes(1, 2)
        own[:, size:] = members[:, first + size : first + size + num_out]
        first += size + num_out
    return rows


def _offsets(networks: NetworkFamily, precision: Precision) -> list[int]:
    """Where the parameters of each affine map begin, and the last ones end."""
    line = LINE if precision is FLOAT else 1
    sizes = [(num_in + 1) * num_out for num_in, num_out in networks.shapes[::2]]
    return [0, *itertools.accumulate(math.ceil(size / line) * line for size in sizes)]


Map = Callable[[str, str], str]  # an affine map from one array to another


def _mlp(activation: str, widths: list[int], maps: list[Map], each: str) -> str:
    text, source = "", "inputs"
    for number, (num_out, affine) in enumerate(zip(widths, maps, strict=True)):
        is_last = number == len(maps) - 1
        target = "u" if is_last else f"hidden{number}"
        text += "" if is_last else f"R {target}[{num_out}];\n"
        text += affine(source, target)
        if not is_last:
            after = ACTIVATIONS[activation].format(f"{target}[o]")
            text += f"{each}for (int o = 0; o < {num_out}; o++) {target}[o] = {after};\n"
        source = target
    return block(text)


def _gru(units: int, maps: list[Map]) -> tuple[str, str]:
    """Statements before an episode, and at every step; see `policies.gru`."""
    gates = f"R seen[{3 * units}], known[{3 * units}];\n" + maps[0]("inputs", "seen") + maps[1]("carry", "known")
    text = f"""
for (int o = 0; o < {units}; o++) {{
  const R reset = R(0.5) + R(0.5) * squash(R(0.5) * (seen[o] + known[o]));
  const R keep = R(0.5) + R(0.5) * squash(R(0.5) * (seen[{units} + o] + known[{units} + o]));
  const R fresh = squash(seen[{2 * units} + o] + reset * known[{2 * units} + o]);
  carry[o] = fresh + keep * (carry[o] - fresh); }}
"""
    begins = f"R carry[{units}];\nfor (int o = 0; o < {units}; o++) carry[o] = R(0);\n"
    return begins, block(gates + text + maps[2]("carry", "u"))


def _plain(num_in: int, num_out: int, offset: int, source: str, target: str) -> str:
    """``target = source @ weight + bias``, four rows of weights at a time: each sum is loaded and stored less often."""
    unrolled, weights = num_in // 4 * 4, f"p + {offset}"
    rows = " ".join(f"const R* __restrict__ r{k} = {weights} + (i + {k}) * {num_out};" for k in range(4))
    rows += " ".join(f"const R x{k} = {source}[i + {k}];" for k in range(4))
    terms = " + ".join(f"x{k} * r{k}[o]" for k in range(4))
    return f"""
for (int o = 0; o < {num_out}; o++) {target}[o] = p[{offset + num_in * num_out} + o];
for (int i = 0; i < {unrolled}; i += 4) {{ {rows}
  for (int o = 0; o < {num_out}; o++) {target}[o] += {terms}; }}
for (int i = {unrolled}; i < {num_in}; i++)
  for (int o = 0; o < {num_out}; o++) {target}[o] += {source}[i] * p[{offset} + i * {num_out} + o];
"""


def _tiled(num_in: int, num_out: int, offset: int, source: str, target: str) -> str:
    """The same of `arranged` parameters: the sums of a tile stay in registers while its weights come in a row."""
    num_tiles, bias = num_out // TILE, offset + num_in * num_out
    text = "".join(
        f"typedef R {name} __attribute__((vector_size({size} * sizeof(R)), aligned(sizeof(R))));\n"
        for name, size in (("Tile", TILE), ("Lanes", LANES))
    )
    if num_tiles:
        # Two sums per output, of every other input each: an addition need not wait for the last one.
        text += f"""
for (int t = 0; t < {num_tiles}; t++) {{
  const R* r = p + {offset} + t * {num_in * TILE};
  Tile a = *(const Tile*)(p + {bias} + t * {TILE}), b = {{}};
  for (int i = 0; i < {num_in - num_in % 2}; i += 2, r += {2 * TILE}) {{
    a += {source}[i] * *(const Tile*)r;
    b += {source}[i + 1] * *(const Tile*)(r + {TILE}); }}
  {f"a += {source}[{num_in - 1}] * *(const Tile*)r;" if num_in % 2 else ""}
  *(Tile*)({target} + t * {TILE}) = a + b; }}
"""
    for first in range(num_tiles * TILE, num_out, GROUP):
        outputs = range(first, min(first + GROUP, num_out))
        text += _dots(num_in, offset + first * num_in, source, [(f"{target}[{o}]", f"p[{bias + o}]") for o in outputs])
    return block(text)


def _dots(num_in: int, offset: int, source: str, outputs: list[tuple[str, str]]) -> str:
    """A few outputs at a time, each a product of two rows; outputs: where each goes, and its bias."""
    whole, places = num_in // LANES * LANES, range(len(outputs))
    return block(f"""
const R* const r = p + {offset};
Lanes {", ".join(f"s{k} = {{}}" for k in places)};
for (int i = 0; i < {whole}; i += {LANES}) {{
  const Lanes x = *(const Lanes*)({source} + i);
  {" ".join(f"s{k} += x * *(const Lanes*)(r + {k * num_in} + i);" for k in places)} }}
R {", ".join(f"y{k} = {outputs[k][1]} + {_added(f's{k}')}" for k in places)};
for (int i = {whole}; i < {num_in}; i++) {{
  {" ".join(f"y{k} += {source}[i] * r[{k * num_in} + i];" for k in places)} }}
{" ".join(f"{outputs[k][0]} = y{k};" for k in places)}
""")


def _added(name: str) -> str:
    """The sum of a vector's lanes."""
    terms = [f"{name}[{lane}]" for lane in range(LANES)]
    while len(terms) > 1:
        terms = [f"({one} + {other})" for one, other in zip(terms[::2], terms[1::2], strict=True)]
    return terms[0]
