"""Every setting of a run, defined once: a field, its default, its sentence, and what is to be known about it."""

import dataclasses
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import tomli_w
from tyro.conf import Suppress, arg

from evolvability.config.objective_text import names_in, normalize_objective
from evolvability.config.options import OF_POPULATIONS, OWNERS, build_options, objective_options, place_options
from evolvability.config.tables import flat, from_table, merged
from evolvability.config.validation import validate
from evolvability.core.entries import FROM_PYTHON, population_entry
from evolvability.core.errors import ConfigError, unknown
from evolvability.core.settings import ONE_OR_MORE, POSITIVE, TWO_OR_MORE, ZERO_OR_MORE, Rule, setting
from evolvability.methods.registry import MAML, OBJECTIVES, objective_entry
from evolvability.tasks.registry import ROBOT, is_robot_file, task_entry

UNSET = arg(help_behavior_hint="")
"""Of an option without a default worth a word: help says nothing instead of "default: None"."""
FORMAT = 2
"""The version of the run folder's layout."""
OF_OPTIMIZERS = ("learning_rate", "natural_gradient")
"""Settings of an optimizer that has a name: an object has its own."""
OF_STRATEGIES = (*OF_OPTIMIZERS, "optimizer", "baseline", "l2", "estimator", "action_std", "times")
"""Settings that an objective that trains in a way of its own does not heed."""
STEPS = Rule("steps of an episode, from 1 on", lambda times: all(type(time) is int and time >= 1 for time in times))


@dataclass(frozen=True)
class Config:
    """The configuration of a run."""

    task: Annotated[str, Suppress]
    """The task: a name from `ees list`, or module:name for one of your own."""
    task_options: Annotated[Any, Suppress] = field(default_factory=dict)
    """The task's own options."""

    objective: Annotated[str, arg(metavar="NAME")] = "max_entropy"
    """What to maximize: a name from `ees list`, or a sum as mean_fitness+0.1*max_entropy."""
    objective_options: Annotated[Any, Suppress] = field(default_factory=dict)
    """The objective's own options; of a sum, those of its terms by name."""
    baseline: bool = True
    """Subtract the mean weight: less noise in the gradient, the same direction on average."""
    goal: Annotated[str, UNSET] = ""
    """What counts as fitness instead of the task's own: right, left, an angle in degrees, or point:X,Y."""
    estimator: Literal["parameters", "actions"] = "parameters"
    """What the gradient is credited to: members' parameters, or the actions they draw (a policy gradient)."""
    action_std: float = setting(0.0, ZERO_OR_MORE)
    """Standard deviation of actions around the network's output; 0 for members that act without noise."""
    times: Annotated[tuple[int, ...], UNSET] = setting((), STEPS)
    """Steps of an episode after which behaviors count, with estimator actions or action_std; default: the last."""

    population: Annotated[str, arg(metavar="NAME")] = "normal"
    """The distribution that members are drawn from: a name from `ees list`."""
    population_options: Annotated[Any, Suppress] = field(default_factory=dict)
    """The population's own options."""
    population_size: int = setting(10_000, TWO_OR_MORE)
    """Members per generation."""
    episodes: int = setting(1, ONE_OR_MORE)
    """Episodes per member, each in circumstances of its own, for tasks that vary; behavior and fitness are means."""
    chunk_size: int = setting(0, same_course=True)
    """Members in memory at a time, over all devices, for populations that do not fit; 0 for all of them."""

    optimizer: Literal["adam", "sgd", "rmsprop", "lion", "adabelief"] = "adam"
    """The optax optimizer that moves the center; sgd is plain ascent."""
    learning_rate: float = setting(0.01, POSITIVE)
    """The optimizer's step size."""
    natural_gradient: bool = False
    """Follow the natural gradient, for diagonal_normal alone."""
    l2: float = setting(0.05, ZERO_OR_MORE)
    """Weight decay: this times the center is subtracted from the gradient before the optimizer."""

    generations: int = setting(100, ONE_OR_MORE, same_course=True)
    """How many generations to run."""
    start_from: Annotated[str, arg(metavar="PATH"), UNSET] = ""
    """Where this run starts: a run folder of the same task, each seed from its own, or a file of weights."""
    seed: int = setting(0, ZERO_OR_MORE, same_course=True)
    """The seed of the run, and of the first of several."""
    seeds: int = setting(1, ONE_OR_MORE, same_course=True)
    """How many seeds to run side by side, as one batch."""
    deterministic: bool = setting(False, same_course=True)
    """On a GPU, add up in a fixed order, so that the run repeats bit for bit in any process; slower."""

    record_every: int = setting(1, ONE_OR_MORE, same_course=True)
    """Generations from one recording of all members' behaviors to the next; the last one is always recorded."""
    record_centers: bool = setting(True, same_course=True)
    """Keep the center and the task's memory of every recorded generation, not only of the last."""
    checkpoint_seconds: float = setting(10.0, ZERO_OR_MORE, same_course=True)
    """Seconds between checkpoints: at most this much work is lost when a run is killed."""
    max_invalid: float = setting(0.5, Rule("between 0 and 1", lambda value: 0 <= value <= 1), same_course=True)
    """Stop when more than this share of a generation's members is invalid."""
    worker_batches: int = setting(256, ONE_OR_MORE, same_course=True)
    """Pieces of work that a generation of a simulator on workers is cut into, at most; several for each worker."""

    @property
    def task_title(self) -> str:
        """The task; of Gymnasium, with its environment, and of a robot's file, with its name."""
        file = Path(getattr(self.task_options, "model", "") if self.task == ROBOT else "").stem
        return " ".join(filter(None, (self.task, getattr(self.task_options, "env", ""), file)))

    @property
    def from_python(self) -> list[str]:
        """What was given as objects, so that Python alone can give it again."""
        pieces = ("task", "objective", "population", "optimizer")
        named = {name: str(getattr(self, name)) for name in pieces}
        if (policy := getattr(self.task_options, "policy", "")).startswith(FROM_PYTHON):
            named["task"] = policy  # which the task is made with
        return [name for name, text in named.items() if text.startswith(FROM_PYTHON)]

    @property
    def explores(self) -> bool:
        """Whether members are followed step by step through their episodes, with drawn actions."""
        return self.estimator == "actions" or self.action_std > 0 or bool(self.times)

    @property
    def options(self) -> dict[str, Any]:
        """The options of the population and of the objective by their names; of a sum, as ``TERM.NAME``."""
        table = to_table(self)
        return dict(flat(table["population_options"] | table["objective_options"]))

    @property
    def idle(self) -> set[str]:
        """Settings that change nothing in this run."""
        if self.objective in OBJECTIVES and OBJECTIVES[self.objective].standalone:
            return set(OF_STRATEGIES)
        return set(OF_OPTIMIZERS if self.optimizer.startswith(FROM_PYTHON) else ())

    def __post_init__(self) -> None:
        # The dataclass is frozen, so its fields are put in order past it.
        put = partial(object.__setattr__, self)
        put("objective", normalize_objective(self.objective))
        put("times", tuple(self.times))  # TOML has lists
        if isinstance(self.task_options, dict):
            put("task_options", from_table(self.task_options, task_entry(self.task).options, "task_options."))
        put("objective_options", objective_options(self.objective_options, self.objective))
        kind = population_entry(self.population).options
        put("population_options", build_options(self.population_options, kind, OF_POPULATIONS))
        if self.objective == MAML:  # episodes per outer step, before adaptation and after
            put("population_size", 2 * self.objective_options.tasks * self.objective_options.episodes_per_task)
        validate(self)


SAME_COURSE = {f.name for f in dataclasses.fields(Config) if f.metadata.get("same_course")}
"""Settings in which comparable runs may differ, see `setting`."""

PRESETS: dict[str, tuple[str, dict[str, Any]]] = {
    "released-code": (
        "what the authors' published program did where it differs from the paper's text",
        # Its kernel exp(-d^2 / h^2) with h = 1 is a Gaussian of standard deviation 1 / sqrt(2).
        {"behavior_shaping": "centered_ranks", "bandwidth": 0.5**0.5, "l2": 0.005},
    ),
    # The sizes of these two differ from task to task: they are in the tasks' registry.
    "paper": ("the paper's own sizes", {}),
    "laptop": ("minutes on two CPU cores, with the effect plainly visible", {}),
    "dependable": (
        "mutations that do the same from any start state",
        {"objective": "max_covariance", "episodes": 2},
    ),
    "smoke": ("a run of seconds, to see that everything works", {"population_size": 64, "generations": 10, "seeds": 1}),
}


def layered(
    task: str,
    *,
    objective: str | None = None,
    preset: str | None = None,
    offers: Mapping[str, Any] | None = None,
    values: Mapping[str, Any] | None = None,
) -> Config:
    """A configuration from its layers: defaults, the task's own, the objective's own, a preset, offers, values.

    Args:
        task: the task's name.
        objective: the objective, when it is known before the values are.
        preset: the name of a preset, if any.
        offers: further values as a preset has them: options count as far as the objective and the population have them.
        values: explicit values by field name; options of the objective and of the population by their own names, too.

    Examples:
        >>> layered("interference", objective="max_variance").learning_rate
        0.03
    """
    entry = task_entry(task)
    offers, values = offers or {}, values or {}
    file = {"task_options": {"model": task}} if is_robot_file(task) else {}
    task = ROBOT if file else task
    if preset is not None and preset not in PRESETS:
        raise ConfigError(unknown("preset", preset, PRESETS))
    presets = [PRESETS[preset][1], entry.presets.get(preset, {})] if preset else []
    # Looked up before the layers are merged, since it decides over two of them.
    named = (layer.get("objective") for layer in (values, offers, *reversed(presets), entry.defaults))
    chosen = normalize_objective(objective or next(filter(None, named), Config.objective))
    compares = any(objective_entry(name).compares_episodes for name in names_in(chosen))
    below = merged(
        {"task": task, "episodes": 2 if compares else Config.episodes},
        entry.defaults,
        # By the whole text: a sum has none of its own, whatever its terms have.
        entry.objective_defaults.get(chosen, {}),
        *presets,
        file,
        offers,
    )
    return combined(below, {**values, "objective": chosen})


def changed(config: Config, **changes: Any) -> Config:
    """A configuration with other values; its options go along, as far as the objective and the population have them.

    >>> changed(layered("point", values={"sigma": 0.1}), population="mixture", components=3).options["sigma"]
    0.1
    """
    return combined(to_table(config), changes)


def combined(offers: Mapping[str, Any], values: Mapping[str, Any]) -> Config:
    """A configuration from settings that are offered, see `place_options`, and explicit values, which win."""
    objective = normalize_objective(values.get("objective") or offers.get("objective") or Config.objective)
    population = values.get("population") or offers.get("population") or Config.population
    if not isinstance(population, str):
        raise ConfigError(f"population: a text such as 'normal' is expected, got {population!r}.")
    names = {f.name for f in dataclasses.fields(Config)}.union(OWNERS)
    for key in set(values) - names:
        task = str(values.get("task") or offers.get("task"))
        if key in {f.name for f in dataclasses.fields(task_entry(task).options)}:
            raise ConfigError(f"{key} is an option of task '{task}': give task_options={{'{key}': {values[key]!r}}}.")
        raise ConfigError(unknown("configuration key", key, names, also=": see evolvability.Config"))
    below = place_options(offers, objective, population, offered=True)
    given = place_options(values, objective, population)
    return from_table(merged(below, given) | {"objective": objective}, Config)


def to_table(config: Config) -> dict[str, Any]:
    """A Config as a plain dictionary, with a table inside for the options of each piece."""
    return dataclasses.asdict(config)


def read_toml(path: Path) -> dict[str, Any]:
    """The table in a configuration file, without its format line."""
    try:
        table = tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise ConfigError(f"No configuration file at {path}.") from None
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror or error}.") from None
    except (ValueError, RecursionError) as error:  # the first of bad syntax, bad letters and endless numbers
        raise ConfigError(f"{path} is not valid TOML: {error}.") from None
    found = table.pop("format", FORMAT)
    if found != FORMAT:
        text = f"{path} has format {found}, not format {FORMAT}."
        raise ConfigError(f"{text} Use the version that wrote it: environment.json in the same folder names it.")
    return table


def to_toml(config: Config) -> str:
    """The text of a configuration file that repeats the run."""
    # An empty table is that of a piece without options.
    return tomli_w.dumps({"format": FORMAT} | {key: value for key, value in to_table(config).items() if value != {}})
