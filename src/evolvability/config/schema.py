"""Every knob of a run, defined once: a field, its default and its sentence."""

import dataclasses
import json
import math
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_type_hints

from tyro.conf import Suppress, arg

from evolvability.core.errors import ConfigError, unknown
from evolvability.core.stateful_objectives import Ramp
from evolvability.methods.maml import MamlOptions
from evolvability.methods.novelty import ARCHIVE_SIZE, NUM_NEIGHBORS, PATIENCE
from evolvability.tasks.goals import check_goal
from evolvability.tasks.registry import task_entry

FORMAT = 1
"""The version of the run folder's layout."""

MAML, ES_MAML = "maml", "es_maml"
"""Objectives of runs that meta-learn: what is reached after adaptation, by a gradient step or by hill climbing."""

EVOLVABILITY_SEARCH = "evolvability_search"
"""The objective of a genetic algorithm: how many distinct offspring a parent has. A parent is a mixture's component."""

STANDALONE_OBJECTIVES = (MAML, ES_MAML, EVOLVABILITY_SEARCH)
"""Objectives that bring a way to train of their own, and can be no term of a sum."""

OBJECTIVE_DEFAULTS: dict[str, dict[str, Any]] = {
    EVOLVABILITY_SEARCH: {"population": "mixture", "components": 16, "mirrored": False}
}
"""Values that an objective starts from, whatever the task."""

ShapingName = Literal["standardize", "centered_ranks", "none"]


@dataclass(frozen=True)
class Config:
    """The configuration of a run."""

    task: Annotated[str, Suppress]
    """The task: a name from `ees list`, or module:name for one of your own."""
    task_options: Annotated[Any, arg(name="task")] = field(default_factory=dict)
    """The task's own options."""

    objective: Annotated[str, arg(metavar="NAME")] = "max_entropy"
    """What to maximize: a name from `ees list`, a sum as mean_fitness+0.1*max_entropy, evolvability_search, es_maml."""
    maml: Annotated[Any, Suppress] = field(default_factory=MamlOptions)
    """Options of MAML, where the objective is maml (see `ees maml`); es_maml uses its episodes."""
    bandwidth: float = 1.0
    """Standard deviation of the Gaussian kernel in max_entropy."""
    leave_one_out: bool = False
    """Leave a member's own kernel out of its density in max_entropy."""
    behavior_shaping: ShapingName = "standardize"
    """What is done to behaviors before the objective."""
    fitness_shaping: ShapingName = "centered_ranks"
    """What is done to fitness, and to novelty, before the objective."""
    neighbors: int = NUM_NEIGHBORS
    """Nearest behaviors in the archive whose mean distance is novelty, in ns_es, nsr_es and nsra_es."""
    archive_size: int = ARCHIVE_SIZE
    """Behaviors in the archive of ns_es, nsr_es and nsra_es, one a generation and component; the newest are kept."""
    patience: int = PATIENCE
    """Generations without progress until nsra_es turns from fitness to novelty by a twentieth."""
    threshold: float = 1.0
    """Offspring whose behaviors are nearer to each other than this do the same, in evolvability_search."""
    baseline: bool = True
    """Subtract the mean weight: less noise in the gradient, the same direction on average."""
    goal: str = ""
    """What counts as fitness instead of the task's own: right, left, an angle in degrees, or point:X,Y."""

    population: Literal["normal", "low_rank", "diagonal_normal", "mixture"] = "normal"
    """The distribution that members are drawn from."""
    population_size: int = 10_000
    """Members a generation."""
    components: int = 2
    """Components of a mixture population; parents, in evolvability_search."""
    rank: int = 1
    """Rank of the noise of each weight matrix, for a low_rank population."""
    sigma: float = 0.02
    """Standard deviation of the population (of its start, for diagonal_normal)."""
    sigma_decay: float = 1.0
    """Factor on sigma from one generation to the next; 1 keeps it fixed."""
    sigma_min: float = 0.0
    """Where a decaying sigma stops."""
    mirrored: bool = True
    """Draw members in pairs, center + noise and center - noise."""
    noise_dtype: Literal["float32", "bfloat16"] = "float32"
    """The number format that noise is kept in."""
    chunk_size: int = 0
    """Members in memory at a time, over all devices, for populations that do not fit; 0 for all of them."""

    optimizer: Literal["adam", "sgd", "rmsprop", "lion", "adabelief"] = "adam"
    """The optax optimizer that moves the center; sgd is plain ascent."""
    learning_rate: float = 0.01
    """The optimizer's step size."""
    natural_gradient: bool = False
    """Follow the natural gradient, for diagonal_normal alone."""
    l2: float = 0.05
    """Pull of the center towards zero, added to the gradient before the optimizer."""

    generations: int = 100
    """How many generations to run."""
    start_from: Annotated[str, arg(metavar="RUN")] = ""
    """A run folder of the same task, whose trained population is where this run starts; each seed from its own."""
    seed: int = 0
    """The seed of the run, and of the first of several."""
    seeds: int = 1
    """How many seeds to run side by side, as one batch."""

    record_every: int = 1
    """Keep the whole population's behaviors every so many generations (the last one is always kept)."""
    record_centers: bool = True
    """Keep the center and the task's memory beside recorded behaviors, so that each member can be rebuilt."""
    checkpoint_seconds: float = 10.0
    """Seconds between checkpoints: at most this much work is lost when a run is killed."""
    max_invalid: float = 0.5
    """Stop when more than this share of a generation's members is invalid."""
    units: int = 256
    """Pieces of work that a generation of a simulator on workers is cut into, at most; several for each worker."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "objective", spelled(self.objective))
        if isinstance(self.task_options, dict):
            entry = task_entry(self.task)
            object.__setattr__(self, "task_options", _from_table(entry.options, self.task_options, "task_options."))
        if isinstance(self.maml, dict):
            object.__setattr__(self, "maml", _from_table(MamlOptions, self.maml, "maml."))
        if self.objective == MAML:  # episodes an outer step, before adaptation and after
            object.__setattr__(self, "population_size", 2 * self.maml.tasks * self.maml.episodes)
        _validate(self)


PRESETS: dict[str, tuple[str, dict[str, Any]]] = {
    "released-code": (
        "what the authors' published program did where it differs from the paper's text",
        # Its kernel exp(-d^2 / h^2) with h = 1 is a Gaussian of standard deviation 1 / sqrt(2).
        {"behavior_shaping": "centered_ranks", "bandwidth": 0.5**0.5, "l2": 0.005},
    ),
    "paper": (
        "the paper's own sizes",
        {},
    ),
    "laptop": (
        "minutes on two CPU cores, with the effect plainly visible",
        {},
    ),
    "smoke": (
        "a run of seconds, to see that everything works",
        {"population_size": 64, "generations": 10, "seeds": 1},
    ),
}


def layered(
    task: str, *, objective: str | None = None, preset: str | None = None, values: dict[str, Any] | None = None
) -> Config:
    """A configuration from its layers: defaults, the task's own, the objective's own, a preset, explicit values.

    Args:
        task: the task's name.
        objective: the objective, when it is known before the values are.
        preset: the name of a preset, if any.
        values: explicit values by field name.

    Examples:
        >>> layered("interference", objective="max_variance").learning_rate
        0.03
    """
    entry = task_entry(task)
    values = dict(values or {})
    _refuse_unknown(values, {f.name for f in dataclasses.fields(Config)}, "")
    chosen = objective or values.get("objective") or entry.defaults.get("objective") or Config.objective
    chosen = spelled(chosen)
    for_task = entry.presets.get(preset or "", {})
    for_objective = [OBJECTIVE_DEFAULTS.get(chosen, {}), entry.objective_defaults.get(chosen, {})]
    layers = [entry.defaults, *for_objective, _preset(preset), for_task, values]
    merged: dict[str, Any] = {"task": task, "objective": chosen}
    for layer in layers:
        merged |= _with_options(merged, layer)
    if objective is not None:
        merged["objective"] = chosen
    return from_table(merged)


def from_table(table: dict[str, Any]) -> Config:
    """A Config from a plain dictionary; an unknown key or a value of the wrong type is refused."""
    config: Config = _from_table(Config, table, "")
    return config


def to_table(config: Config) -> dict[str, Any]:
    """A Config as a plain dictionary, the task's options as one inside."""
    return dataclasses.asdict(config)


def read_toml(path: Path) -> dict[str, Any]:
    """The table in a configuration file, without its format line."""
    try:
        table = tomllib.loads(path.read_text())
    except FileNotFoundError:
        raise ConfigError(f"No configuration file at {path}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not valid TOML: {error}.") from None
    found = table.pop("format", FORMAT)
    if found != FORMAT:
        raise ConfigError(
            f"{path} has format {found}, and this version of evolvability reads format {FORMAT}. "
            "Use the version that wrote it (environment.json beside it names it)."
        )
    return table


def to_toml(config: Config) -> str:
    """The text of a configuration file that repeats the run."""
    table = to_table(config)
    tables = {name: table.pop(name) for name in ("task_options", MAML)}
    if config.objective not in (MAML, ES_MAML):
        del tables[MAML]
    # JSON's spelling of strings, numbers, booleans and lists is TOML's too.
    lines = [f"format = {FORMAT}", *(f"{key} = {json.dumps(value)}" for key, value in table.items())]
    for name, options in tables.items():
        if options:
            lines += ["", f"[{name}]", *(f"{key} = {json.dumps(value)}" for key, value in options.items())]
    return "\n".join(lines) + "\n"


def parse_objective(text: str) -> list[tuple[float | Ramp, str]]:
    """The terms of an objective: weights, and names.

    Examples:
        >>> parse_objective("mean_fitness+0.1*max_entropy")
        [(1.0, 'mean_fitness'), (0.1, 'max_entropy')]
        >>> parse_objective("1:0:50*max_entropy")
        [(Ramp(start=1.0, end=0.0, generations=50), 'max_entropy')]
    """
    from evolvability.methods.registry import OBJECTIVES

    terms = []
    for term in re.split(r"(?<!\de)\+", text):  # not the plus of 1e+3
        factor, star, name = term.rpartition("*")
        weight = _weight(factor) if star else 1.0
        if weight is None:
            raise ConfigError(
                f"objective: '{factor}' in '{text}' is neither a number nor a schedule START:END:GENERATIONS, "
                "finite, and over a whole number of generations. "
                "Write e.g. mean_fitness+0.1*max_entropy or mean_fitness+1:0:50*max_entropy."
            )
        if not name:
            raise ConfigError(f"objective: a term is missing in '{text}'. Write e.g. mean_fitness+0.1*max_entropy.")
        if name in STANDALONE_OBJECTIVES:
            raise ConfigError(f"objective: {name} is a method of its own, and no term of a sum such as '{text}'.")
        if name not in OBJECTIVES:
            raise ConfigError(unknown("objective", name, [*OBJECTIVES, *STANDALONE_OBJECTIVES]))
        terms.append((weight, name))
    return terms


def _weight(text: str) -> float | Ramp | None:
    """A number, or START:END:GENERATIONS; None for anything else."""
    try:
        numbers = [float(part) for part in text.split(":")]
    except ValueError:
        return None
    if not all(map(math.isfinite, numbers)) or len(numbers) not in (1, 3):
        return None
    if len(numbers) == 1:
        return numbers[0]
    start, end, generations = numbers
    return Ramp(start, end, int(generations)) if generations >= 1 and generations % 1 == 0 else None


def spelled(objective: str) -> str:
    """An objective without spaces, and with underscores where its names, not its numbers, have dashes."""
    if not isinstance(objective, str):
        raise ConfigError(f"objective: a text such as 'max_entropy' is expected, got {objective!r}.")
    return re.sub(r"(?<=[a-z])-(?=[a-z])", "_", objective.replace(" ", ""))


def _preset(name: str | None) -> dict[str, Any]:
    if name is None:
        return {}
    if name not in PRESETS:
        raise ConfigError(unknown("preset", name, PRESETS))
    return PRESETS[name][1]


def _with_options(below: Mapping[str, Any], layer: Mapping[str, Any]) -> dict[str, Any]:
    """A layer whose tables of options are completed by those of the layers below."""
    completed = dict(layer)
    for name in ("task_options", MAML):
        options, own = below.get(name), layer.get(name)
        if isinstance(options, dict) and isinstance(own, dict):
            completed[name] = options | own
    return completed


def _from_table(cls: Any, table: dict[str, Any], prefix: str) -> Any:
    hints = get_type_hints(cls)
    _refuse_unknown(table, set(hints), prefix)
    return cls(**{key: _checked(prefix + key, value, hints[key]) for key, value in table.items()})


def _refuse_unknown(table: dict[str, Any], known: set[str], prefix: str) -> None:
    for key in table:
        if key not in known:
            raise ConfigError(unknown("configuration key", prefix + key, sorted(prefix + name for name in known)))


def _checked(key: str, value: Any, hint: Any) -> Any:
    """A value of the annotated type, or an error that names the key."""
    choices = get_args(hint) if hasattr(hint, "__origin__") and hint.__origin__ is Literal else ()
    if choices:
        if value not in choices:
            raise ConfigError(unknown(key, str(value), choices))
        return value
    if hint is Any:
        return value
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if isinstance(hint, type) and (not isinstance(value, hint) or (isinstance(value, bool) and hint is not bool)):
        raise ConfigError(f"{key}: a value of type {hint.__name__} is expected, got {value!r}.")
    return value


def _validate(config: Config) -> None:
    def require(holds: bool, key: str, expected: str) -> None:
        if not holds:
            raise ConfigError(f"{key} must be {expected}, got {getattr(config, key)}.")

    for f in dataclasses.fields(config):
        value = getattr(config, f.name)
        require(not isinstance(value, float) or math.isfinite(value), f.name, "a finite number")
    require(config.sigma > 0, "sigma", "positive")
    require(0 < config.sigma_decay <= 1, "sigma_decay", "above 0 and at most 1")
    require(0 <= config.sigma_min <= config.sigma, "sigma_min", "between 0 and sigma")
    require(config.bandwidth > 0, "bandwidth", "positive")
    require(config.neighbors >= 1, "neighbors", "1 or more")
    require(config.archive_size >= 1, "archive_size", "1 or more")
    require(config.patience >= 1, "patience", "1 or more")
    require(config.threshold > 0, "threshold", "positive")
    require(config.learning_rate > 0, "learning_rate", "positive")
    require(config.l2 >= 0, "l2", "0 or more")
    require(config.population_size >= 2, "population_size", "2 or more")
    even = config.population_size % 2 == 0 or not config.mirrored
    require(even, "population_size", "even, since mirrored members come in pairs (or use --no-mirrored)")
    chunk = config.chunk_size or config.population_size
    require(
        chunk > 0 and config.population_size % chunk == 0 and (chunk % 2 == 0 or not config.mirrored),
        "chunk_size",
        f"0, or a divisor of the population's {config.population_size} members that keeps mirrored pairs together",
    )
    require(config.rank >= 1, "rank", "1 or more")
    require(config.population != "mixture" or config.components >= 2, "components", "2 or more for a mixture")
    require(
        config.population != "diagonal_normal" or config.sigma_decay == 1,
        "sigma_decay",
        "1 for diagonal_normal, which learns its standard deviations",
    )
    require(
        config.population == "diagonal_normal" or not config.natural_gradient,
        "natural_gradient",
        f"off for {config.population}: only diagonal_normal has one that is more than the plain gradient, rescaled",
    )
    require(config.generations >= 1, "generations", "1 or more")
    require(0 <= config.seed < 2**31, "seed", "between 0 and 2^31")
    require(config.seeds >= 1, "seeds", "1 or more")
    require(config.record_every >= 1, "record_every", "1 or more")
    require(config.checkpoint_seconds >= 0, "checkpoint_seconds", "0 or more")
    require(0 <= config.max_invalid <= 1, "max_invalid", "between 0 and 1")
    require(config.units >= 1, "units", "1 or more")
    if config.objective in (MAML, ES_MAML):
        require(config.population == "normal", "population", "normal for MAML, which trains one center")
        require(not config.goal, "goal", "empty for MAML, which draws its goals")
        require(config.chunk_size == 0, "chunk_size", "0 for MAML, whose episodes are not a population's")
    elif config.objective == EVOLVABILITY_SEARCH:
        require(config.population == "mixture", "population", "mixture for evolvability_search, one component a parent")
        families = config.components * (2 if config.mirrored else 1)
        multiple = f"a multiple of {families}, so that all {config.components} parents have equally many offspring"
        require(config.population_size % families == 0, "population_size", multiple)
    else:
        parse_objective(config.objective)
    if config.goal:
        check_goal(config.goal)
