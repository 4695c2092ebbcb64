"""A member's network as C++, for whole episodes: from ``inputs`` to ``u``, with what it remembers.

Its parameters begin at ``p``: weights and biases in turn.
"""

from typing import NamedTuple

from mujoco_fused import block

from evolvability.tasks.families import NetworkFamily
from evolvability.tasks.policies import Gru, Mlp

ACTIVATIONS = {
    "tanh": "squash({0})",
    "relu": "({0} < R(0) ? R(0) : {0})",  # nan stays nan
    "silu": "{0} * (R(0.5) + R(0.5) * squash(R(0.5) * {0}))",
}
"""Of a variable, the same as in `policies`."""


class NetworkText(NamedTuple):
    """Statements of a network; the same text is the same network."""

    num_params: int
    """The length of a parameter vector."""
    begins: str
    """Before an episode."""
    acts: str
    """At every step."""


def is_compiled(networks: NetworkFamily) -> bool:
    """Whether there is a text for these networks."""
    return isinstance(networks.make, Mlp | Gru)


def network_text(networks: NetworkFamily) -> NetworkText:
    """The text of one of these networks."""
    sizes, make = networks.shapes[::2], networks.make
    offsets = [sum((num_in + 1) * num_out for num_in, num_out in sizes[:k]) for k in range(len(sizes))]
    maps = list(zip(sizes, offsets, strict=True))
    if isinstance(make, Gru):
        return NetworkText(networks.num_params, *_gru(make.units, maps))
    assert isinstance(make, Mlp)
    return NetworkText(networks.num_params, "", _mlp(make.activation, maps))


Maps = list[tuple[tuple[int, ...], int]]  # of each affine map its shape, and where its parameters begin


def _mlp(activation: str, maps: Maps) -> str:
    text, source = "", "inputs"
    for number, (shape, offset) in enumerate(maps):
        is_last = number == len(maps) - 1
        target, num_out = "u" if is_last else f"hidden{number}", shape[1]
        text += "" if is_last else f"R {target}[{num_out}];\n"
        text += _affine(source, target, shape, offset)
        if not is_last:
            after = ACTIVATIONS[activation].format(f"{target}[o]")
            text += f"for (int o = 0; o < {num_out}; o++) {target}[o] = {after};\n"
        source = target
    return block(text)


def _gru(units: int, maps: Maps) -> tuple[str, str]:
    """Statements before an episode, and at every step; see `policies.gru`."""
    gates = f"R seen[{3 * units}], known[{3 * units}];\n"
    gates += _affine("inputs", "seen", *maps[0]) + _affine("carry", "known", *maps[1])
    text = f"""
for (int o = 0; o < {units}; o++) {{
  const R reset = R(0.5) + R(0.5) * squash(R(0.5) * (seen[o] + known[o]));
  const R keep = R(0.5) + R(0.5) * squash(R(0.5) * (seen[{units} + o] + known[{units} + o]));
  const R fresh = squash(seen[{2 * units} + o] + reset * known[{2 * units} + o]);
  carry[o] = fresh + keep * (carry[o] - fresh); }}
"""
    begins = f"R carry[{units}];\nfor (int o = 0; o < {units}; o++) carry[o] = R(0);\n"
    return begins, block(gates + text + _affine("carry", "u", *maps[2]))


def _affine(source: str, target: str, shape: tuple[int, ...], offset: int) -> str:
    """``target = source @ weight + bias``, four rows of weights at a time: each sum is loaded and stored less often."""
    num_in, num_out = shape
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
