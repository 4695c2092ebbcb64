"""Settings as plain tables: layers of them, and dataclasses from them."""

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from evolvability.core.entries import FROM_PYTHON
from evolvability.core.errors import ConfigError, unknown

Settings = TypeVar("Settings")


def merged(*layers: Mapping[str, Any]) -> dict[str, Any]:
    """Settings in layers, of which later ones win; a table of options completes that of the layers below.

    >>> merged({"l2": 1.0, "task_options": {"hidden": 2}}, {"task_options": {"num_steps": 3}})
    {'l2': 1.0, 'task_options': {'hidden': 2, 'num_steps': 3}}
    """
    found: dict[str, Any] = {}
    for name, value in (item for layer in layers for item in layer.items()):
        below = found.get(name)
        found[name] = merged(below, value) if isinstance(below, dict) and isinstance(value, dict) else value
    return found


def flat(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Settings and their values; those of a table inside as ``TABLE.NAME``."""
    for key, value in table.items():
        if isinstance(value, dict):
            yield from flat(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value


def from_table(table: Mapping[str, Any], cls: type[Settings], prefix: str = "") -> Settings:
    """A dataclass of settings from a plain dictionary.

    An unknown key or a value of the wrong type is refused; ``prefix`` says where the key stands in the file.
    """
    # Bare types: what Annotated adds is for the command line.
    hints = get_type_hints(cls)
    for key in table:
        if key not in hints:
            raise ConfigError(unknown("configuration key", prefix + key, [prefix + name for name in hints]))
    for needed in dataclasses.fields(cls):  # type: ignore[arg-type]
        if needed.name not in table and needed.default is needed.default_factory is dataclasses.MISSING:
            raise ConfigError(f"the configuration lacks {prefix}{needed.name}.")
    return cls(**{key: _checked(prefix + key, value, hints[key]) for key, value in table.items()})


def _checked(key: str, value: Any, hint: Any) -> Any:
    """A value of the annotated type, or an error that names the key."""
    if get_origin(hint) is Literal:
        # A run may have been given it as an object, see `config.pieces`.
        if value not in get_args(hint) and not (key == "optimizer" and str(value).startswith(FROM_PYTHON)):
            raise ConfigError(unknown(key, str(value), get_args(hint)))
        return value
    if hint is Any:  # a table of options, checked by its own dataclass
        return value
    if hint is float and type(value) is int:  # not isinstance: a bool is an int, too
        return float(value)
    # A tuple's hint is not a type: its entries are left to the field's rule. A bool must not pass for an int.
    if isinstance(hint, type) and (not isinstance(value, hint) or (isinstance(value, bool) and hint is not bool)):
        raise ConfigError(f"{key}: a value of type {hint.__name__} is expected, got {value!r}.")
    return value
