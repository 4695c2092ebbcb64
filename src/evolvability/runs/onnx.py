"""A policy as an ONNX graph, for whatever runs those: no Python is needed to act."""

import itertools
from typing import Any

import numpy as np

from evolvability.core.errors import missing_extra
from evolvability.core.noise import Shapes, blocks
from evolvability.tasks.actions import Actions
from evolvability.tasks.normalizer import LIMIT
from evolvability.tasks.replay import HostArray

OPSET = 17


def onnx_graph(
    parameters: HostArray, shapes: Shapes, scaling: tuple[HostArray, HostArray] | None, actions: Actions
) -> bytes:
    """The file of a graph from ``observation`` (num_rows, num_observations) to ``action``, one row each."""
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

    now = "observation"
    if scaling is not None:
        mean, std = map(constant, scaling)
        now = add("Clip", add("Div", add("Sub", now, mean), std), constant(-LIMIT), constant(LIMIT))
    leaves: Any = [leaf[0] for leaf in blocks(parameters[None], shapes)]  # type: ignore[arg-type]
    for layer, (weight, bias) in enumerate(zip(leaves[::2], leaves[1::2], strict=True)):
        now = add("Gemm", now if not layer else add("Tanh", now), constant(weight), constant(bias))
    if actions.first is not None:
        place = add("ArgMax", now, axis=-1, keepdims=0)
        now = add("Add", place, constant(actions.first, np.int64))
    else:
        low, high, middle, half = map(constant, actions[:4])
        now = add("Add", add("Mul", add("Min", add("Max", now, low), high), half), middle)
        now = add("Reshape", now, constant([-1, *actions.shape], np.int64))
    nodes.append(helper.make_node("Identity", [now], ["action"]))
    kind = TensorProto.INT64 if actions.first is not None else TensorProto.FLOAT
    given = helper.make_tensor_value_info("observation", TensorProto.FLOAT, ["rows", shapes[0][0]])
    taken = helper.make_tensor_value_info("action", kind, ["rows", *actions.shape])
    graph = helper.make_graph(nodes, "policy", [given], [taken], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)
    checker.check_model(model)
    return bytes(model.SerializeToString())
