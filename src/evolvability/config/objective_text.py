"""Objectives as text: names, and sums of them with weights."""

import math
import re

from evolvability.core.entries import FROM_PYTHON
from evolvability.core.errors import ConfigError
from evolvability.core.ramp import Ramp
from evolvability.methods.registry import OBJECTIVES, objective_entry


def parse_objective(text: str) -> list[tuple[float | Ramp, str]]:
    """The terms of an objective: weights, and names.

    Examples:
        >>> parse_objective("mean_fitness+0.1*max_entropy")
        [(1.0, 'mean_fitness'), (0.1, 'max_entropy')]
        >>> parse_objective("1:0:50*max_entropy")
        [(Ramp(start=1.0, end=0.0, generations=50), 'max_entropy')]
    """
    if text.startswith(FROM_PYTHON):
        raise ConfigError(f"objective: {text} was given from Python as an object. It has no name that leads to it.")
    terms = []
    for term in re.split(r"(?<!\de)\+", text):  # not the plus of 1e+3
        # The weight ends at the last star; whatever stands before it must be one number or schedule.
        factor, star, name = term.rpartition("*")
        weight = _weight(factor) if star else 1.0
        if weight is None:
            raise ConfigError(
                f"objective: '{factor}' in '{text}' is neither a number nor a schedule START:END:GENERATIONS."
            )
        if not name:
            raise ConfigError(f"objective: a term is missing in '{text}'. Write e.g. mean_fitness+0.1*max_entropy.")
        if objective_entry(name).standalone:
            raise ConfigError(f"objective: {name} trains in a way of its own. It cannot be a term of '{text}'.")
        terms.append((weight, name))
    return terms


def names_in(objective: str) -> list[str]:
    """The objectives that a text names, each once, whatever their weights."""
    if objective in OBJECTIVES or objective.startswith(FROM_PYTHON):
        return [objective]
    return list(dict.fromkeys(name for _, name in parse_objective(objective)))


def needs_fitness(objective: str) -> bool:
    """Whether an objective, or a term of a sum, is about fitness.

    Examples:
        >>> needs_fitness("max_entropy"), needs_fitness("max_entropy+0.1*nsr_es")
        (False, True)
    """
    return any(objective_entry(name).needs_fitness for name in names_in(normalize_objective(objective)))


def normalize_objective(objective: str) -> str:
    """An objective without spaces, and with underscores where its names, not its numbers, have dashes."""
    if not isinstance(objective, str):
        raise ConfigError(f"objective: a text such as 'max_entropy' is expected, got {objective!r}.")
    if objective.startswith(FROM_PYTHON):
        return objective
    return re.sub(r"(?<=[a-z])-(?=[a-z])", "_", objective.replace(" ", ""))


def _weight(text: str) -> float | Ramp | None:
    """A number, or START:END:GENERATIONS; None for anything else."""
    try:
        numbers = [float(part) for part in text.split(":")]
    except ValueError:
        return None
    # float() also takes nan and inf.
    if not all(map(math.isfinite, numbers)) or len(numbers) not in (1, 3):
        return None
    if len(numbers) == 1:
        return numbers[0]
    start, end, generations = numbers
    return Ramp(start, end, int(generations)) if generations >= 1 and generations % 1 == 0 else None
