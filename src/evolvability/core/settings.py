"""Fields of a dataclass of settings: a default, a rule for its values, and the sentence under it."""

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any, Literal, NamedTuple, get_args, get_origin

from evolvability.core.errors import ConfigError, unknown


class Rule(NamedTuple):
    """What a value must be."""

    expected: str
    """In words, after "must be"."""
    holds: Callable[[Any], bool]
    """As a test of the value."""


POSITIVE = Rule("positive", lambda value: value > 0)
ZERO_OR_MORE = Rule("0 or more", lambda value: value >= 0)
ONE_OR_MORE = Rule("1 or more", lambda value: value >= 1)
TWO_OR_MORE = Rule("2 or more", lambda value: value >= 2)
SHARE = Rule("above 0 and at most 1", lambda value: 0 < value <= 1)
LARGEST_INTEGER = 2**31 - 1
"""That JAX and compiled programs count to."""


def setting(default: Any, rule: Rule | None = None, *, same_course: bool = False) -> Any:
    """A field of a dataclass of settings.

    Args:
        default: its value where no other is given.
        rule: what a value must be, where it does not depend on other settings.
        same_course: whether it only says how much of a run there is or is kept, not what happens in it. Runs that
            differ in such settings alone belong to one group.
    """
    return field(default=default, metadata={"rule": rule, "same_course": same_course})


def require(settings: Any, holds: bool, key: str, expected: str) -> None:
    """Refuse a setting unless something holds."""
    if not holds:
        raise ConfigError(f"{key} must be {expected}, got {getattr(settings, key)}.")


def check_rules(settings: Any) -> None:
    """Refuse settings of which one breaks its field's rule, or cannot be counted with."""
    for f in dataclasses.fields(settings):
        value, rule = getattr(settings, f.name), f.metadata.get("rule")
        require(settings, not isinstance(value, float) or math.isfinite(value), f.name, "a finite number")
        parts = value if isinstance(value, tuple | list) else (value,)
        # From Python, a number of steps may come as any kind of number.
        counted: list[Any] = [part for part in parts if isinstance(part, Real if type(f.default) is int else Integral)]
        require(settings, all(abs(part) <= LARGEST_INTEGER for part in counted), f.name, f"at most {LARGEST_INTEGER:,}")
        if rule is not None:
            require(settings, rule.holds(value), f.name, rule.expected)


def check_types(settings: Any) -> None:
    """Refuse a text where a number is expected, and a choice that does not exist."""
    for f in dataclasses.fields(settings):
        value, choices = getattr(settings, f.name), get_args(f.type) if get_origin(f.type) is Literal else ()
        require(settings, f.type not in (int, float) or hasattr(value, "__float__"), f.name, "a number")
        if choices and value not in choices:
            raise ConfigError(unknown(f.name, str(value), choices))


@dataclass(frozen=True)
class Options:
    """Options of a task, an objective or a population; without fields, those of one that has none."""

    def __post_init__(self) -> None:
        check_types(self)
        check_rules(self)
