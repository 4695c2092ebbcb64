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
from evolvability.core.types import PyTree
from evolvability.runs.environment import version_of
from evolvability.runs.files import write_output
from evolvability.runs.sealed import Arrays, read_arrays, to_bytes
from evolvability.runs.trees import named_arrays
from evolvability.tasks.actions import Actions
from evolvability.tasks.families import NetworkFamily, family_of
from evolvability.tasks.normalizer import Moments, scaled, scaling
from evolvability.tasks.options import NetworkOptions
from evolvability.tasks.policies import Layered, MakePolicy, named_policy, policy_options
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
    network: NetworkFamily | None
    """What the parameters are; None where they are not a network."""
    memory: PyTree
    """What the task remembers: statistics of observations, where it scales them."""
    actions: Actions | None
    """How outputs become actions; None where parameters are not a network, which does not act."""

    def __repr__(self) -> str:
        return f"TrainedPolicy({self.task}, {len(self.parameters):,} parameters)"

    @property
    def carry(self) -> PyTree:
        """What a network that remembers has in mind at the start of an episode; without leaves for any other."""
        return acting(self)[0].carry

    def __call__(self, observation: Any, carry: PyTree = None) -> Any:
        """The action at an observation, or one per row of (num_rows, num_observations); given a carry, also the next.

        A network that remembers has to be given it: ``action, carry = policy(observation, carry)``, beginning with
        ``policy.carry`` at the start of every episode.
        """
        network, actions = acting(self)
        if carry is None and network.remembers:
            raise ConfigError(
                "This network remembers. Begin an episode with carry = policy.carry, and hand it on at every step: "
                "action, carry = policy(observation, carry)."
            )
        xp = observation.__array_namespace__() if hasattr(observation, "__array_namespace__") else np
        given, number = xp.asarray(observation, dtype=np.float32), network.num_inputs
        if given.shape[-1:] != (number,):
            if given.size != number:
                raise ConfigError(
                    f"An observation of {number} numbers is expected, got one of shape {given.shape}. Make others a "
                    "vector as the task does: gymnasium.spaces.flatten(env.observation_space, observation)."
                )
            given = given.ravel()
        seen = given if self._scaling is None else scaled(given, *self._scaling)
        outputs, after = self._act(seen, network.carry if carry is None else carry)
        return actions(outputs) if carry is None else (actions(outputs), after)

    def save(self, path: str | PathLike[str]) -> None:
        """Write all that is needed to act into one safetensors file; `load_policy` reads it."""
        write_output(Path(path), self.to_file())

    def to_file(self) -> bytes:
        """The content of the file that `save` writes."""
        tree: dict[str, Any] = {"parameters": self.parameters, "memory": self.memory}
        about: dict[str, Any] = {"format": FORMAT, "version": version_of("evolvability-es"), "task": self.task}
        network, actions = acting(self)
        fields = actions._asdict()
        tree["actions"] = {name: fields.pop(name) for name in BOUNDS}
        arrays = named_arrays(jax.tree.map(lambda leaf: np.asarray(leaf)[None], tree))
        # With the arrays' names: a policy whose statistics were lost would act all the same, and otherwise.
        about |= {"network": policy_options(network.make), "num_observations": network.num_inputs}
        about |= {"shapes": network.shapes, "actions": fields, "arrays": sorted(arrays)}
        return to_bytes(arrays, {METADATA: json.dumps(about)})

    def to_onnx(self, path: str | PathLike[str]) -> None:
        """Write the same function as an ONNX graph, from ``observation`` (num_rows, num_observations) to ``action``.

        That of a gru has an input ``carry`` (num_rows, units), and an output ``next_carry``.
        """
        from evolvability.tasks.onnx import onnx_graph  # which needs an extra

        network, actions = acting(self)
        write_output(Path(path), onnx_graph(network, self.parameters, self._scaling, actions))

    @cached_property
    def _act(self) -> Any:
        return acting(self)[0].member(self.parameters)

    @cached_property
    def _scaling(self) -> tuple[HostArray, HostArray] | None:
        # In float32, as networks see observations in training.
        mean, std = scaling(self.memory) if isinstance(self.memory, Moments) else (None, None)
        return None if mean is None else (np.asarray(mean, np.float32), np.asarray(std, np.float32))


def acting(policy: TrainedPolicy) -> tuple[NetworkFamily, Actions]:
    """A policy's network, and what its outputs mean; parameters that are not a network are refused."""
    if policy.network is None or policy.actions is None:
        unsaid = "does not say what its parameters see and how they act (Task.network, Task.actions)"
        raise ConfigError(f"Task '{policy.task}' {unsaid}, so they are not a policy.")
    return policy.network, policy.actions


def load_policy(path: str | PathLike[str], policy: MakePolicy | None = None) -> TrainedPolicy:
    """A policy that `TrainedPolicy.save` or ``ees adapt --save`` wrote; nothing in the file is executed.

    Args:
        path: the file.
        policy: what made the network, where it is one of your own: a file holds arrays, and no code.

    Examples:
        >>> act = load_policy("left.safetensors")                  # doctest: +SKIP
        >>> observation, *_ = env.step(act(observation))            # doctest: +SKIP
    """
    if not Path(path).is_file():
        raise ConfigError(f"{path} cannot be read: it is not a file.")
    arrays, facts = read_arrays(Path(path))
    try:
        about = json.loads(facts[METADATA])
        if policy is None and about["network"]["policy"] not in ("mlp", "gru"):
            name = str(about["network"]["policy"]).partition(":")[2]
            raise UserError(f"The network of {path} is your own, {name}. Give it: load_policy(path, policy={name}).")
        found = _read(about, arrays, policy)
        found(np.zeros(about["num_observations"]), found.carry)  # so that what does not fit together says so now
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        if policy is not None and isinstance(error, ConfigError):  # said of what was given, not of the file
            raise
        raise ConfigError(f"{path} is not a policy. Make one by `ees adapt --save`.") from None
    return found


def _read(about: dict[str, Any], arrays: Arrays, policy: MakePolicy | None) -> TrainedPolicy:
    """A policy from what a file says; anything may be wrong with it."""
    if about["format"] != FORMAT:
        got, version = about["format"], about["version"]
        raise UserError(f"The policy has format {got}, not {FORMAT}. Use version {version}, which wrote it.")
    if about["arrays"] != sorted(arrays):
        raise ValueError(about["arrays"])
    arrays = {name: array[0] for name, array in arrays.items()}
    if not np.isfinite(arrays["parameters"]).all():
        raise ValueError("not finite")
    make = policy or named_policy(NetworkOptions(**about["network"]))
    sizes = about["num_observations"], len(arrays["actions/low"])
    if isinstance(make, Layered) and sum(map(math.prod, make.shapes(*sizes))) != arrays["parameters"].size:
        raise ValueError(sizes)  # before anything as large as it says is made
    network, shapes = family_of(make, *sizes), tuple(map(tuple, about["shapes"]))
    if network.shapes != shapes or network.num_params != arrays["parameters"].size:
        raise ConfigError(f"The network has arrays of the shapes {network.shapes}, but the file {shapes}.")
    memory = Moments(*(arrays[f"memory/{name}"] for name in Moments._fields)) if "memory/mean" in arrays else ()
    fields, bounds = about["actions"], {name: arrays[f"actions/{name}"] for name in BOUNDS}
    actions = Actions(**bounds, shape=tuple(fields["shape"]), dtype=fields["dtype"], first=fields["first"])
    return TrainedPolicy(about["task"], arrays["parameters"], network, memory, actions)
