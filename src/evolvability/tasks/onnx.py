"""A policy as an ONNX graph, for whatever runs those: no Python is needed to act."""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from evolvability.core.errors import ConfigError, missing_extra
from evolvability.core.noise import blocks
from evolvability.tasks.actions import Actions
from evolvability.tasks.families import NetworkFamily
from evolvability.tasks.normalizer import LIMIT
from evolvability.tasks.policies import Gru, Mlp
from evolvability.tasks.replay import HostArray

OPSET = 17


def onnx_graph(
    network: NetworkFamily, parameters: HostArray, scaling: tuple[HostArray, HostArray] | None, actions: Actions
) -> bytes:
    """The file of a graph from ``observation`` (num_rows, num_observations) to ``action``, one row each."""
    make = network.make
    if not isinstance(make, Mlp | Gru):
        raise ConfigError("An ONNX graph is written of mlp and gru, and this network is your own. Use policy.save.")
    try:
        from onnx import TensorProto, checker, helper, numpy_helper
    except ModuleNotFoundError as error:
        raise missing_extra("An ONNX graph", error.name, "onnx") from None
    nodes: list[Any] = []
    constants: list[Any] = []
    names = (f"value{number}" for number in itertools.count())

    def constant(value: Any, dtype: Any = np.float32) -> str:
        constants.append(numpy_helper.from_array(np.asarray(value, dtype), next(names)))
        return str(constants[-1].name)

    def add(operator: str, *inputs: str, **attributes: Any) -> str:
        nodes.append(helper.make_node(operator, inputs, [next(names)], **attributes))
        return str(nodes[-1].output[0])

    def affine(layer: int, inputs: str) -> str:
        return add("Gemm", inputs, constant(leaves[2 * layer]), constant(leaves[2 * layer + 1]))

    now, leaves = "observation", [leaf[0] for leaf in blocks(parameters[None], network.shapes)]  # type: ignore[arg-type]
    if scaling is not None:
        mean, std = map(constant, scaling)
        now = add("Clip", add("Div", add("Sub", now, mean), std), constant(-LIMIT), constant(LIMIT))
    states: list[str] = []
    if isinstance(make, Gru):
        now = _gru(make.units, add, affine, constant, now)
        nodes.append(helper.make_node("Identity", [now], ["next_carry"]))
        states = ["carry", "next_carry"]
        now = affine(2, now)
    else:
        for layer in range(len(make.hidden)):
            now = _activated(make.activation, add, affine(layer, now))
        now = affine(len(make.hidden), now)
    if actions.first is not None:
        place = add("ArgMax", now, axis=-1, keepdims=0)
        now = add("Add", place, constant(actions.first, np.int64))
    else:
        low, high, middle, half = map(constant, actions[:4])
        now = add("Add", add("Mul", add("Min", add("Max", now, low), high), half), middle)
        now = add("Reshape", now, constant([-1, *actions.shape], np.int64))
    nodes.append(helper.make_node("Identity", [now], ["action"]))
    kind = TensorProto.INT64 if actions.first is not None else TensorProto.FLOAT
    given = helper.make_tensor_value_info("observation", TensorProto.FLOAT, ["rows", network.num_inputs])
    taken = helper.make_tensor_value_info("action", kind, ["rows", *actions.shape])
    more = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["rows", *network.carry.shape]) for name in states]
    graph = helper.make_graph(nodes, "policy", [given, *more[:1]], [taken, *more[1:]], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)
    checker.check_model(model)
    return bytes(model.SerializeToString())


Add = Callable[..., str]  # adds an operator to a graph, and says what its output is called


def _activated(activation: str, add: Add, value: str) -> str:
    """The same as in `tasks.policies`."""
    return add("Mul", value, add("Sigmoid", value)) if activation == "silu" else add(activation.capitalize(), value)


def _gru(units: int, add: Add, affine: Callable[[int, str], str], constant: Add, seen: str) -> str:
    """What is remembered after a step; see `tasks.policies.gru`."""
    parts = [
        [
            add("Slice", gates, *(constant([place], np.int64) for place in (k * units, (k + 1) * units, 1)))
            for k in range(3)
        ]
        for gates in (affine(0, seen), affine(1, "carry"))
    ]
    reset, update = (add("Sigmoid", add("Add", parts[0][k], parts[1][k])) for k in (0, 1))
    new = add("Tanh", add("Add", parts[0][2], add("Mul", reset, parts[1][2])))
    return add("Add", new, add("Mul", update, add("Sub", "carry", new)))
