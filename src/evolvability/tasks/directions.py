"""Directions and goals as text."""

import math

from evolvability.core.errors import ConfigError

FITNESS = "fitness"
POINT = "point:"
FORMS = "right, left, an angle in degrees, point:X,Y or fitness"


def heading(direction: str) -> tuple[float, float]:
    """The unit vector of a direction.

    >>> heading("left"), heading("90")
    ((-1.0, 0.0), (0.0, 1.0))
    """
    try:
        radians = math.radians(float({"right": "0", "left": "180"}.get(direction, direction)))
    except ValueError:
        raise ConfigError(f"direction must be right, left or an angle in degrees, got '{direction}'.") from None
    # Rounded: the sine of 180 degrees is a little more than zero.
    # Adding 0.0 turns -0.0 into 0.0.
    return round(math.cos(radians), 12) + 0.0, round(math.sin(radians), 12) + 0.0


def check_planar(direction: str, name: str) -> None:
    """Refuse a direction in which a robot that moves in a plane cannot run."""
    if heading(direction)[1] != 0:
        raise ConfigError(f"direction: the {name} runs right (0 degrees) or left (180), got {direction}.")


def check_goal(text: str) -> None:
    """Refuse a text that is not a goal in any task."""
    if text == FITNESS:
        return
    try:
        numbers = coordinates(text) if text.startswith(POINT) else heading(text)
    except (ConfigError, ValueError):
        numbers = (math.nan,)  # refused below, with one message for all that is wrong
    if not all(map(math.isfinite, numbers)):
        raise ConfigError(f"A goal is {FORMS}, got '{text}'.")


def coordinates(text: str) -> tuple[float, ...]:
    """The numbers of ``point:X,Y``."""
    return tuple(float(part) for part in text.removeprefix(POINT).split(","))
