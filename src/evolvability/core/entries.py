"""What can be named: an entry says where it is made, which options it has and how people call it, without importing it.

The command line, its help, `ees list`, figures and the documentation read entries alone, so that none of them has to
load JAX.
"""

import dataclasses
import importlib
from dataclasses import dataclass
from typing import Any, Literal

from evolvability.core.errors import ConfigError, unknown
from evolvability.core.settings import ONE_OR_MORE, POSITIVE, SHARE, TWO_OR_MORE, Options, require, setting

PACKAGE = "evolvability"
"""That the modules of entries belong to where their names begin with a dot."""
FROM_PYTHON = "python:"
"""Begins the recorded name of what was given as an object, which no name leads back to."""
DEFAULT_RANK = 20
"""Of noise of low rank: MaxVar's and MaxEnt's gradients have a bias that falls as 1 / rank; see docs/populations.md."""


def option_names(options: type) -> list[str]:
    """The names of a dataclass's fields."""
    return [f.name for f in dataclasses.fields(options)]


def loaded(text: str) -> Any:
    """What ``module:name`` of an entry leads to."""
    module, _, name = text.partition(":")
    return getattr(importlib.import_module(module, PACKAGE), name)


@dataclass(frozen=True)
class ObjectiveEntry:
    """An objective by name."""

    factory: str
    """``module:name`` of what makes it. It takes the options by their names: one called ``..._shaping`` as the function
    of that name, and ``num_behaviors``, the number of the task's behavior dimensions, if it asks for it."""
    summary: str
    """One line for `ees list`."""
    options: type = Options
    """The frozen dataclass of its options, each field with its sentence."""
    label: str = ""
    """What figures call it; default: its name, in words."""
    color: str = ""
    """Its own color in figures; default: one of those that are left."""
    needs_fitness: bool = False
    """Whether it is about fitness, so that the task must have one."""
    compares_episodes: bool = False
    """Whether it compares the episodes of a member, so that it needs two or more; a run starts with two."""
    standalone: bool = False
    """Whether it trains in a way of its own, so that it cannot be a term of a sum, and optimizers are not heeded."""


@dataclass(frozen=True)
class PopulationEntry:
    """A population by name."""

    factory: str
    """``module:name`` of what makes it. It takes the options by their names (``sigma`` as a schedule, where it decays),
    and ``shapes``, those of the task's parameters, if it asks for them."""
    summary: str
    """One line for `ees list`."""
    options: type
    """The frozen dataclass of its options, each field with its sentence."""
    fixed_sigma: str = ""
    """Of one that does not learn its sigma: why it has no natural gradient of its own."""


@dataclass(frozen=True)
class PopulationOptions(Options):
    """What every population has."""

    sigma: float = setting(0.02, POSITIVE)
    """Standard deviation of the population (of its start, for diagonal_normal)."""
    mirrored: bool = True
    """Draw members in pairs, center + noise and center - noise."""
    noise_dtype: Literal["float32", "bfloat16"] = "float32"
    """The number format that noise is kept in."""


@dataclass(frozen=True)
class FixedSigmaOptions(PopulationOptions):
    """Of populations whose sigma is not learned."""

    sigma_decay: float = setting(1.0, SHARE)
    """Factor on sigma from one generation to the next; 1 keeps it fixed."""
    sigma_min: float = 0.0
    """Where a decaying sigma stops."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self, 0 <= self.sigma_min <= self.sigma, "sigma_min", "between 0 and sigma")


@dataclass(frozen=True)
class LowRankOptions(FixedSigmaOptions):
    """Of low_rank."""

    rank: int = setting(DEFAULT_RANK, ONE_OR_MORE)
    """Rank of the noise of each weight matrix."""


@dataclass(frozen=True)
class MixtureOptions(FixedSigmaOptions):
    """Of a mixture."""

    components: int = setting(2, TWO_OR_MORE)
    """Components of the mixture."""


@dataclass(frozen=True)
class GivenOptions(Options):
    """What a run records of a population that was given as an object."""

    sigma: float = 0.02
    """Its mean standard deviation at the start."""
    mirrored: bool = False
    """Whether its members come in pairs."""
    components: int = 1
    """How many means it has."""


PLAIN_TIMES = "it is the plain gradient times sigma^2"
POPULATIONS: dict[str, PopulationEntry] = {
    "normal": PopulationEntry(
        ".core.populations:normal", "isotropic normal, the paper's: its mean is learned", FixedSigmaOptions, PLAIN_TIMES
    ),
    "low_rank": PopulationEntry(
        ".core.populations:low_rank",
        "normal, with noise of low rank for every weight matrix",
        LowRankOptions,
        PLAIN_TIMES,
    ),
    "diagonal_normal": PopulationEntry(
        ".core.populations:diagonal_normal", "normal with a learned standard deviation per parameter", PopulationOptions
    ),
    "mixture": PopulationEntry(
        ".core.populations:mixture",
        "equal mixture of isotropic normals: species, whose means are learned",
        MixtureOptions,
        "it is the plain gradient times components * sigma^2 while components are apart, and has no closed form "
        "elsewhere",
    ),
}
"""By name, in the order of `ees list`."""


def population_entry(name: str) -> PopulationEntry:
    """The entry of a population, or that of one that was given as an object."""
    if name.startswith(FROM_PYTHON):
        return PopulationEntry("", "given from Python", GivenOptions, PLAIN_TIMES)
    if name not in POPULATIONS:
        raise ConfigError(unknown("population", name, POPULATIONS))
    return POPULATIONS[name]
