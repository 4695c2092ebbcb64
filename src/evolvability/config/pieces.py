"""Pieces of a run that are given from Python as objects, where a configuration has names.

Such a piece is recorded by the settings that make it again, where it has them, as ``max_variance()`` and
``normal(0.1)`` do. All others are recorded as ``python:NAME``: those are in no folder, and whoever goes on with the run
gives them again.
"""

from collections.abc import Callable
from os import PathLike
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

from evolvability.config.options import no_object
from evolvability.config.schema import OF_OPTIMIZERS, Config
from evolvability.core.entries import FROM_PYTHON, loaded
from evolvability.core.errors import ConfigError
from evolvability.core.objectives import Objective
from evolvability.core.populations import Population
from evolvability.core.stateful_objectives import StatefulObjective, lifted
from evolvability.core.types import make_outcome, merge_episodes
from evolvability.methods.registry import OBJECTIVES
from evolvability.tasks.own_code import explain_errors

KINDS: dict[str, tuple[str, Any]] = {
    "objective": ("an objective such as max_variance()", (Callable, StatefulObjective)),
    "population": ("a Population such as normal(0.1)", Population),
    "optimizer": ("an optax optimizer such as optax.adam(0.01)", optax.GradientTransformation),
}
"""What each piece may be: in words, and by its type."""


class Pieces(NamedTuple):
    """Those that were given as objects; None for those that the configuration names."""

    objective: Objective | StatefulObjective | None = None
    """What is maximized."""
    population: Population | None = None
    """What members are drawn from."""
    optimizer: optax.GradientTransformation | None = None
    """What moves the center."""


def split_pieces(settings: dict[str, Any]) -> tuple[dict[str, Any], Pieces]:
    """Settings as a configuration records them, and the objects among them."""
    given = {name: settings[name] for name in Pieces._fields if not isinstance(settings.get(name, ""), str)}
    records = {name: _record(name, piece) for name, piece in given.items()}
    for name, record in records.items():
        # Options that no record has are refused where they are placed.
        own = OF_OPTIMIZERS if name == "optimizer" else record.keys() - {name}
        for setting in settings.keys() & own:
            raise ConfigError(f"{setting} is a matter of the {name}, which is an object here. Give it to that.")
    values = settings | {key: value for record in records.values() for key, value in record.items()}
    return values, Pieces(**{name: piece for name, piece in given.items() if values[name].startswith(FROM_PYTHON)})


def split_start(settings: dict[str, Any]) -> tuple[dict[str, Any], Any]:
    """Settings as a configuration records them, and the arrays to start from, where those are given as such."""
    start = settings.get("start_from", "")
    if isinstance(start, str | PathLike):
        return (settings | {"start_from": str(start)} if start else settings), None
    return settings | {"start_from": FROM_PYTHON + type(start).__name__}, start


def check_pieces(config: Config, pieces: Pieces) -> None:
    """Refuse pieces that are missing, and those that are not what the configuration says."""
    for name, piece in pieces._asdict().items():
        recorded = getattr(config, name)
        if piece is None and recorded.startswith(FROM_PYTHON):
            raise no_object(name, recorded)
        known = vars(config) | config.options
        for key, value in (_record(name, piece) if piece is not None else {}).items():
            if (kept := known.get(key)) != value:
                raise ConfigError(f"{name}: the run has {key} {kept}, and the given object {value}.")


def check_objective(objective: Objective | StatefulObjective, num_behaviors: int) -> None:
    """Try an objective in the abstract, so that what cannot work says so before the first generation."""
    # With two episodes per member, for objectives that compare them.
    stateful, probe = lifted(objective), merge_episodes(make_outcome(jnp.zeros((8, num_behaviors))), 2)
    with explain_errors("The objective raised", ConfigError):
        now = stateful.at(stateful.init(), jnp.zeros((), int))
        traced = jax.make_jaxpr(now)(probe, jnp.zeros(4))
    shapes = [value.shape for value in traced.out_avals]
    if shapes != [()]:
        got = ", ".join(map(str, shapes))
        raise ConfigError(f"objective: one number is expected, got shape {got}. expect(values, log_prob) makes one.")
    needed = {id(value) for value in traced.jaxpr.outvars}
    for step in reversed(traced.jaxpr.eqns):
        if not needed.isdisjoint(map(id, step.outvars)):
            needed.update(map(id, step.invars))
    if id(traced.jaxpr.invars[-1]) not in needed:
        raise ConfigError("objective: it leaves log_prob out. Take means by expect(values, log_prob), not by jnp.mean.")


def _record(name: str, piece: Any) -> dict[str, Any]:
    """What a configuration keeps of a piece."""
    expected, kinds = KINDS[name]
    # A factory that was not called, such as max_variance, is a function, too.
    if not isinstance(piece, kinds) or piece in [loaded(entry.factory) for entry in OBJECTIVES.values()]:
        raise ConfigError(f"{name}: a name or {expected} is expected, got {piece!r}.")
    if settings := getattr(piece, "settings", None):  # those that make it again: it need not be given twice
        return dict(settings)
    record: dict[str, Any] = {name: FROM_PYTHON + _name(piece)}
    if isinstance(piece, Population):
        parameters = piece.init(jax.random.key(0), jnp.zeros((piece.num_components, 1)))
        record |= {"sigma": float(str(jnp.mean(piece.scale(parameters, 0)))), "mirrored": piece.num_signs == 2}
        record |= {"components": piece.num_components} if piece.num_components > 1 else {}
    return record


def _name(piece: Any) -> str:
    """A function's own name, or that of the factory it comes from; of an optimizer, its package's.

    >>> from evolvability.core.objectives import max_variance
    >>> _name(max_variance()), _name(optax.adam(0.01))
    ('max_variance', 'optax')
    """
    if isinstance(piece, optax.GradientTransformation):  # all of optax's are chains
        return str(piece.init.__module__.partition(".")[0])
    if isinstance(piece, Population) and piece.name:
        return piece.name
    function = getattr(piece, "log_prob", getattr(piece, "at", piece))
    *above, name = getattr(function, "__qualname__", type(piece).__name__).replace(".<locals>", "").split(".")
    return str(above[-1] if above and name in ("objective", "log_prob", "at") else name).strip("<>_")
