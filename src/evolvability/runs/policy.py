"""Policies to act with: a network, the statistics its observations are scaled by, and what its outputs mean.

A saved one is a single safetensors file. Its arrays are named as in a checkpoint, with a seed axis of one in front:
``parameters``, ``memory/...``, and ``actions/...``; the rest is JSON in its metadata. Nothing in it is executable.
"""

import json
import math
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any

import jax
import numpy as np

from evolvability.core.errors import ConfigError, UserError
from evolvability.core.noise import Shapes
from evolvability.core.types import PyTree
from evolvability.runs.checkpoints import named_arrays
from evolvability.runs.environment import version_of
from evolvability.runs.files import write_output
from evolvability.runs.sealed import Arrays, read_arrays, to_bytes
from evolvability.tasks.actions import Actions
from evolvability.tasks.normalizer import Moments, scaled, scaling
from evolvability.tasks.policies import network
from evolvability.tasks.replay import HostArray

FORMAT = 1
"""The version of the file's layout."""
METADATA = "policy"
"""The key of the JSON in the file's metadata."""
BOUNDS = ("low", "high", "middle", "half")
"""What of `Actions` are arrays."""


@dataclass(frozen=True, eq=False)  # hashed by identity, as `jax.jit` wants it
class TrainedPolicy:
    """A function from observations to actions, in NumPy, or in JAX where observations are JAX's.

    Examples:
        >>> from evolvability import evolve
        >>> run = evolve("point", generations=1, population_size=16, progress=False)
        >>> run.policy(run.center)(np.zeros(4)).shape
        (2,)
    """

    task: str
    """The name of the task it was trained for."""
    parameters: HostArray
    """(num_params,) the parameters of the network."""
    shapes: Shapes
    """The shapes of its weights and biases, in turn."""
    memory: PyTree
    """What the task remembers: statistics of observations, where it scales them."""
    actions: Actions | None
    """How outputs become actions; None for parameters that are not a network, which do not act."""

    def __repr__(self) -> str:
        return f"TrainedPolicy({self.task}, {len(self.parameters):,} parameters)"

    def __call__(self, observation: Any) -> Any:
        """The action at an observation; or one per row of (num_rows, num_observations)."""
        actions = acting(self)
        xp = observation.__array_namespace__() if hasattr(observation, "__array_namespace__") else np
        given, number = xp.asarray(observation, dtype=np.float32), self.shapes[0][0]
        if given.shape[-1:] != (number,):
            if given.size != number:
                raise ConfigError(
                    f"An observation of {number} numbers is expected, got one of shape {given.shape}. Make others a "
                    "vector as the task does: gymnasium.spaces.flatten(env.observation_space, observation)."
                )
            given = given.ravel()
        return actions(self._network(given if self._scaling is None else scaled(given, *self._scaling)))

    def save(self, path: str | PathLike[str]) -> None:
        """Write all that is needed to act into one safetensors file; `load_policy` reads it."""
        write_output(Path(path), self.to_file())

    def to_file(self) -> bytes:
        """The content of the file that `save` writes."""
        tree: dict[str, Any] = {"parameters": self.parameters, "memory": self.memory}
        about: dict[str, Any] = {"format": FORMAT, "version": version_of("evolvability-es"), "task": self.task}
        fields = acting(self)._asdict()
        tree["actions"] = {name: fields.pop(name) for name in BOUNDS}
        arrays = named_arrays(jax.tree.map(lambda leaf: np.asarray(leaf)[None], tree))
        # With the arrays' names: a policy whose statistics were lost would act all the same, and otherwise.
        about |= {"shapes": self.shapes, "actions": fields, "arrays": sorted(arrays)}
        return to_bytes(arrays, {METADATA: json.dumps(about)})

    def to_onnx(self, path: str | PathLike[str]) -> None:
        """Write the same function as an ONNX graph, from ``observation`` (num_rows, num_observations) to ``action``."""
        from evolvability.runs.onnx import onnx_graph  # which needs an extra

        write_output(Path(path), onnx_graph(self.parameters, self.shapes, self._scaling, acting(self)))

    @cached_property
    def _network(self) -> Any:
        return network((self.shapes[0][0], *(shape[1] for shape in self.shapes[::2])), self.parameters)

    @cached_property
    def _scaling(self) -> tuple[HostArray, HostArray] | None:
        # In float32, as networks see observations in training.
        mean, std = scaling(self.memory) if isinstance(self.memory, Moments) else (None, None)
        return None if mean is None else (np.asarray(mean, np.float32), np.asarray(std, np.float32))


def acting(policy: TrainedPolicy) -> Actions:
    """What a policy's outputs mean; parameters that are not a network are refused."""
    if policy.actions is None:
        unsaid = "does not say what its parameters see and how they act (Task.actions)"
        raise ConfigError(f"Task '{policy.task}' {unsaid}, so they are not a policy.")
    return policy.actions


def load_policy(path: str | PathLike[str]) -> TrainedPolicy:
    """A policy that `TrainedPolicy.save` or ``ees adapt --save`` wrote; nothing in the file is executed.

    Examples:
        >>> act = load_policy("left.safetensors")                  # doctest: +SKIP
        >>> observation, *_ = env.step(act(observation))            # doctest: +SKIP
    """
    if not Path(path).is_file():
        raise ConfigError(f"{path} cannot be read: it is not a file.")
    arrays, facts = read_arrays(Path(path))
    try:
        policy = _read(json.loads(facts[METADATA]), arrays)
        policy(np.zeros(policy.shapes[0][0]))  # so that what does not fit together says so now
    except (KeyError, TypeError, ValueError, IndexError, AttributeError):
        raise ConfigError(f"{path} is not a policy. Make one by `ees adapt --save`.") from None
    return policy


def _read(about: dict[str, Any], arrays: Arrays) -> TrainedPolicy:
    """A policy from what a file says; anything may be wrong with it."""
    if about["format"] != FORMAT:
        got, version = about["format"], about["version"]
        raise UserError(f"The policy has format {got}, not {FORMAT}. Use version {version}, which wrote it.")
    if about["arrays"] != sorted(arrays):
        raise ValueError(about["arrays"])
    arrays = {name: array[0] for name, array in arrays.items()}
    shapes = tuple(map(tuple, about["shapes"]))
    if sum(map(math.prod, shapes)) != arrays["parameters"].size or not np.isfinite(arrays["parameters"]).all():
        raise ValueError(shapes)
    memory = Moments(*(arrays[f"memory/{name}"] for name in Moments._fields)) if "memory/mean" in arrays else ()
    fields, bounds = about["actions"], {name: arrays[f"actions/{name}"] for name in BOUNDS}
    actions = Actions(**bounds, shape=tuple(fields["shape"]), dtype=fields["dtype"], first=fields["first"])
    return TrainedPolicy(about["task"], arrays["parameters"], shapes, memory, actions)
