"""Every setting of a run, defined once: a field, its default, its sentence, and what is to be known about it."""

import dataclasses
import math
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

import tomli_w
from tyro.conf import Suppress, arg

# The `as` marks a name that others import from here.
from evolvability.config.objective_text import ES_MAML as ES_MAML
from evolvability.config.objective_text import EVOLVABILITY_SEARCH, STANDALONE_OBJECTIVES, names_in, normalize_objective
from evolvability.config.objective_text import MAML as MAML
from evolvability.core.errors import ConfigError, unknown
from evolvability.core.populations import DEFAULT_RANK
from evolvability.methods.maml import MamlOptions
from evolvability.methods.novelty import ARCHIVE_SIZE, NUM_NEIGHBORS, PATIENCE
from evolvability.methods.registry import KEEP_ARCHIVE, OBJECTIVES
from evolvability.tasks.goals import check_goal
from evolvability.tasks.registry import FROM_PYTHON, task_entry

UNSET = arg(help_behavior_hint="")
"""Of an option without a default worth a word: help says nothing instead of "default: None"."""
FORMAT = 1
"""The version of the run folder's layout."""

OBJECTIVE_DEFAULTS: dict[str, dict[str, Any]] = {
    EVOLVABILITY_SEARCH: {"population": "mixture", "components": 16, "mirrored": False},
    "max_covariance": {"episodes": 2},
    "max_information": {"episodes": 2},
}
"""Values that an objective starts from, whatever the task."""

ShapingName = Literal["standardize", "robust", "centered_ranks", "none"]

QE_BY_ENTROPY = "qe_es by entropy"
"""Its diversity is max_entropy, with all of its settings; by variance, it is that of raw behaviors."""
FIXED_SIGMA = (
    "it is the plain gradient times sigma^2",
    "it is the plain gradient times components * sigma^2 while components are apart, and has no closed form elsewhere",
)
"""Why populations of a fixed sigma have no natural gradient of their own: of one component, and of several."""
COMPARE_EPISODES = {"max_covariance", "max_information"}
"""Objectives that compare the episodes of a member, so that it needs two or more."""
EVOLVABILITY = {"max_entropy", "max_variance", *COMPARE_EPISODES}
"""Objectives that see how members differ, and nothing else."""
BY_GRADIENT = (*OBJECTIVES, ES_MAML)
"""Objectives that an optimizer climbs."""


class Rule(NamedTuple):
    """What a value must be: in words, and as a test."""

    expected: str
    holds: Callable[[Any], bool]


POSITIVE = Rule("positive", lambda value: value > 0)
ZERO_OR_MORE = Rule("0 or more", lambda value: value >= 0)
ONE_OR_MORE = Rule("1 or more", lambda value: value >= 1)
STEPS = Rule("steps of an episode, from 1 on", lambda times: all(type(time) is int and time >= 1 for time in times))


def setting(
    default: Any, rule: Rule | None = None, *, heeded_by: tuple[str, ...] = (), same_course: bool = False
) -> Any:
    """A field of `Config`.

    Args:
        default: its value unless another is given.
        rule: what a value must be, where it does not depend on other settings.
        heeded_by: the objectives whose runs it changes; empty for all of them.
        same_course: whether it only says how much of a run there is or is kept, not what happens in it. Runs that
            differ in such settings alone belong to one group.
    """
    return field(default=default, metadata={"rule": rule, "heeded_by": heeded_by, "same_course": same_course})


@dataclass(frozen=True)
class Config:
    """The configuration of a run."""

    task: Annotated[str, Suppress]
    """The task: a name from `ees list`, or module:name for one of your own."""
    task_options: Annotated[Any, Suppress] = field(default_factory=dict)
    """The task's own options."""

    objective: Annotated[str, arg(metavar="NAME")] = "max_entropy"
    """What to maximize: a name from `ees list`, a sum as mean_fitness+0.1*max_entropy, evolvability_search, es_maml."""
    maml: Annotated[Any, Suppress] = field(default_factory=MamlOptions, metadata={"heeded_by": (MAML, ES_MAML)})
    """Options of MAML, where the objective is maml (see `ees maml`); es_maml uses its episodes_per_task."""
    bandwidth: float = setting(1.0, POSITIVE, heeded_by=("max_entropy", "max_information", QE_BY_ENTROPY))
    """Standard deviation of the Gaussian kernel in max_entropy and max_information."""
    leave_one_out: bool = setting(False, heeded_by=("max_entropy", QE_BY_ENTROPY))
    """Leave a member's own kernel out of its density in max_entropy."""
    behavior_shaping: ShapingName = setting("standardize", heeded_by=(*EVOLVABILITY, QE_BY_ENTROPY))  # noqa: RUF009
    """What is done to behaviors before the objective; robust: standardize, after limiting the most extreme 1 %."""
    fitness_shaping: ShapingName = setting("centered_ranks", heeded_by=("mean_fitness", *KEEP_ARCHIVE, ES_MAML))  # noqa: RUF009
    """What is done to fitness, and to novelty, before the objective."""
    diversity: Literal["variance", "entropy"] = setting("variance", heeded_by=("qe_es",))
    """Diversity in qe_es, ranked together with fitness: variance, as in its paper; or entropy, without crowding."""
    neighbors: int = setting(NUM_NEIGHBORS, ONE_OR_MORE, heeded_by=KEEP_ARCHIVE)
    """Nearest behaviors in the archive whose mean distance is novelty, in ns_es, nsr_es and nsra_es."""
    archive_size: int = setting(ARCHIVE_SIZE, ONE_OR_MORE, heeded_by=KEEP_ARCHIVE)
    """Behaviors in the archive of ns_es, nsr_es and nsra_es, one per generation and component; the newest are kept."""
    patience: int = setting(PATIENCE, ONE_OR_MORE, heeded_by=("nsra_es",))
    """Generations without progress until nsra_es turns from fitness to novelty by a twentieth."""
    threshold: float = setting(1.0, POSITIVE, heeded_by=(EVOLVABILITY_SEARCH,))
    """Offspring whose behaviors are nearer to each other than this do the same, in evolvability_search."""
    baseline: bool = setting(True, heeded_by=BY_GRADIENT)
    """Subtract the mean weight: less noise in the gradient, the same direction on average."""
    goal: Annotated[str, UNSET] = ""
    """What counts as fitness instead of the task's own: right, left, an angle in degrees, or point:X,Y."""
    estimator: Literal["parameters", "actions"] = setting("parameters", heeded_by=tuple(OBJECTIVES))
    """What the gradient is credited to: members' parameters, or the actions they draw (a policy gradient)."""
    action_std: float = setting(0.0, ZERO_OR_MORE, heeded_by=tuple(OBJECTIVES))
    """Standard deviation of actions around the network's output; 0 for members that act without noise."""
    times: Annotated[tuple[int, ...], UNSET] = setting((), STEPS, heeded_by=tuple(OBJECTIVES))
    """Steps of an episode after which behaviors count, with estimator actions or action_std; default: the last."""

    population: Literal["normal", "low_rank", "diagonal_normal", "mixture"] = "normal"
    """The distribution that members are drawn from."""
    population_size: int = setting(10_000, Rule("2 or more", lambda value: value >= 2))
    """Members per generation."""
    episodes: int = setting(1, ONE_OR_MORE)
    """Episodes per member, each in circumstances of its own, for tasks that vary; behavior and fitness are means."""
    components: int = 2
    """Components of a mixture population; parents, in evolvability_search."""
    rank: int = setting(DEFAULT_RANK, ONE_OR_MORE)
    """Rank of the noise of each weight matrix, for a low_rank population."""
    sigma: float = setting(0.02, POSITIVE)
    """Standard deviation of the population (of its start, for diagonal_normal)."""
    sigma_decay: float = setting(1.0, Rule("above 0 and at most 1", lambda value: 0 < value <= 1))
    """Factor on sigma from one generation to the next; 1 keeps it fixed."""
    sigma_min: float = 0.0
    """Where a decaying sigma stops."""
    mirrored: bool = True
    """Draw members in pairs, center + noise and center - noise."""
    noise_dtype: Literal["float32", "bfloat16"] = "float32"
    """The number format that noise is kept in."""
    chunk_size: int = setting(0, same_course=True)
    """Members in memory at a time, over all devices, for populations that do not fit; 0 for all of them."""

    optimizer: Literal["adam", "sgd", "rmsprop", "lion", "adabelief"] = setting("adam", heeded_by=BY_GRADIENT)
    """The optax optimizer that moves the center; sgd is plain ascent."""
    learning_rate: float = setting(0.01, POSITIVE, heeded_by=BY_GRADIENT)
    """The optimizer's step size."""
    natural_gradient: bool = setting(False, heeded_by=BY_GRADIENT)
    """Follow the natural gradient, for diagonal_normal alone."""
    l2: float = setting(0.05, ZERO_OR_MORE, heeded_by=BY_GRADIENT)
    """Weight decay: this times the center is subtracted from the gradient before the optimizer."""

    generations: int = setting(100, ONE_OR_MORE, same_course=True)
    """How many generations to run."""
    start_from: Annotated[str, arg(metavar="RUN"), UNSET] = ""
    """A run folder of the same task, whose trained population is where this run starts; each seed from its own."""
    seed: int = setting(0, Rule("between 0 and 2^31", lambda value: 0 <= value < 2**31), same_course=True)
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
        """The task; of Gymnasium, with its environment."""
        return " ".join(filter(None, (self.task, getattr(self.task_options, "env", ""))))

    @property
    def from_python(self) -> list[str]:
        """What was given as objects, so that Python alone can give it again."""
        pieces = ("task", "objective", "population", "optimizer")
        return [name for name in pieces if str(getattr(self, name)).startswith(FROM_PYTHON)]

    @property
    def explores(self) -> bool:
        """Whether members are followed step by step through their episodes, with drawn actions."""
        return self.estimator == "actions" or self.action_std > 0 or bool(self.times)

    def __post_init__(self) -> None:
        # The dataclass is frozen, so its fields are put in order past it.
        object.__setattr__(self, "objective", normalize_objective(self.objective))
        object.__setattr__(self, "times", tuple(self.times))  # TOML has lists
        if isinstance(self.task_options, dict):
            entry = task_entry(self.task)
            object.__setattr__(self, "task_options", from_table(self.task_options, entry.options, "task_options."))
        if isinstance(self.maml, dict):
            object.__setattr__(self, "maml", from_table(self.maml, MamlOptions, "maml."))
        if self.objective == MAML:  # episodes per outer step, before adaptation and after
            object.__setattr__(self, "population_size", 2 * self.maml.tasks * self.maml.episodes_per_task)
        _validate(self)


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
    "smoke": ("a run of seconds, to see that everything works", {"population_size": 64, "generations": 10, "seeds": 1}),
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
    values = values or {}
    # Looked up before the layers are merged, since it decides over two of them.
    asked = objective or values.get("objective") or entry.defaults.get("objective") or Config.objective
    chosen = normalize_objective(asked)
    if preset is not None and preset not in PRESETS:
        raise ConfigError(unknown("preset", preset, PRESETS))
    settings = merged(
        entry.defaults,
        # By the whole text: a sum has none of its own, whatever its terms have.
        OBJECTIVE_DEFAULTS.get(chosen, {}),
        entry.objective_defaults.get(chosen, {}),
        *([PRESETS[preset][1], entry.presets.get(preset, {})] if preset else []),
        values,
    )
    # The objective may have come as an argument, and so be in none of the layers.
    config: Config = from_table({"task": task} | settings | {"objective": chosen})
    return config


def merged(*layers: Mapping[str, Any]) -> dict[str, Any]:
    """Settings in layers, of which later ones win; a table of options completes that of the layers below.

    >>> merged({"sigma": 1.0, "maml": {"tasks": 2}}, {"maml": {"discount": 0.9}})
    {'sigma': 1.0, 'maml': {'tasks': 2, 'discount': 0.9}}
    """
    found: dict[str, Any] = {}
    for name, value in (item for layer in layers for item in layer.items()):
        below = found.get(name)
        found[name] = below | value if isinstance(below, dict) and isinstance(value, dict) else value
    return found


def from_table(table: dict[str, Any], cls: Any = Config, prefix: str = "") -> Any:
    """A Config, or another dataclass, from a plain dictionary.

    An unknown key or a value of the wrong type is refused; ``prefix`` says where the key stands in the file.
    """
    # Bare types: what Annotated adds is for the command line.
    hints = get_type_hints(cls)
    for key in table:
        if key not in hints:
            raise ConfigError(unknown("configuration key", prefix + key, [prefix + name for name in hints]))
    for needed in dataclasses.fields(cls):
        if needed.name not in table and needed.default is needed.default_factory is dataclasses.MISSING:
            raise ConfigError(f"the configuration lacks {prefix}{needed.name}.")
    return cls(**{key: _checked(prefix + key, value, hints[key]) for key, value in table.items()})


def to_table(config: Config) -> dict[str, Any]:
    """A Config as a plain dictionary, the task's options as one inside."""
    return dataclasses.asdict(config)


def flat(table: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Settings and their values; those of a table inside as ``TABLE.NAME``."""
    for key, value in table.items():
        if isinstance(value, dict):
            yield from flat(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value


def read_toml(path: Path) -> dict[str, Any]:
    """The table in a configuration file, without its format line."""
    try:
        table = tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise ConfigError(f"No configuration file at {path}.") from None
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror or error}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ConfigError(f"{path} is not valid TOML: {error}.") from None
    of_a_run = "format" in table
    found = table.pop("format", FORMAT)
    if found != FORMAT:
        text = f"{path} has format {found}, not format {FORMAT}."
        raise ConfigError(f"{text} Use the version that wrote it: environment.json in the same folder names it.")
    robot = table.get("task_options", {})
    if of_a_run and isinstance(robot, dict) and robot.get("engine"):
        _as_it_was(robot)
    return table


def _as_it_was(robot: dict[str, Any]) -> None:
    """The options of a robot, from a run of an earlier version, in today's words."""
    robot.setdefault("body", "gymnasium")  # the only one there was, until runs named theirs
    # Until there was one engine for all devices, options named another one.
    robot.pop("mjx_implementation", None)
    if robot["engine"] == "mjx":
        robot["engine"] = "auto"


def to_toml(config: Config) -> str:
    """The text of a configuration file that repeats the run."""
    table = to_table(config)
    if config.objective not in (MAML, ES_MAML):
        del table[MAML]
    # An empty table is that of a task without options.
    return tomli_w.dumps({"format": FORMAT} | {key: value for key, value in table.items() if value != {}})


def idle_settings(objective: str, diversity: str = "variance") -> set[str]:
    """The settings that change nothing in runs with an objective, since only others heed them."""
    names = names_in(objective)
    names |= {f"{name} by {diversity}" for name in names}
    heeded_by = {f.name: f.metadata.get("heeded_by") for f in dataclasses.fields(Config)}
    if objective.startswith(FROM_PYTHON):  # it heeds what all objectives do: what is done with any objective's weights
        return {name for name, objectives in heeded_by.items() if objectives and not {*OBJECTIVES} <= {*objectives}}
    return {name for name, objectives in heeded_by.items() if objectives and names.isdisjoint(objectives)}


def _checked(key: str, value: Any, hint: Any) -> Any:
    """A value of the annotated type, or an error that names the key."""
    if get_origin(hint) is Literal:
        # A run may have been given it as an object, see `config.pieces`.
        is_object = key in ("population", "optimizer") and str(value).startswith(FROM_PYTHON)
        if value not in get_args(hint) and not is_object:
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


def _validate(config: Config) -> None:
    """Each value by itself, by its field's rule; then what settings ask of each other."""

    def require(holds: bool, key: str, expected: str) -> None:
        if not holds:
            raise ConfigError(f"{key} must be {expected}, got {getattr(config, key)}.")

    for f in dataclasses.fields(config):
        value, rule = getattr(config, f.name), f.metadata.get("rule")
        require(not isinstance(value, float) or math.isfinite(value), f.name, "a finite number")
        if rule is not None:
            require(rule.holds(value), f.name, rule.expected)
    require(0 <= config.sigma_min <= config.sigma, "sigma_min", "between 0 and sigma")
    even = config.population_size % 2 == 0 or not config.mirrored
    require(even, "population_size", "even, since mirrored members come in pairs (or use --no-mirrored)")
    # Two mirrored behaviors are equally far from their mean: both weigh the same, and nothing but rounding is left.
    pulls = config.population_size > 2 or not config.mirrored or not names_in(config.objective) <= EVOLVABILITY
    require(pulls, "population_size", "4 or more for mirrored members: the two of one pair would not move the center")
    compared = sorted(names_in(config.objective) & COMPARE_EPISODES)
    several = f"2 or more for {' and '.join(compared)}, which compare episodes of the same member"
    require(config.episodes > 1 or not compared, "episodes", several)
    # Chunks of one size: a compiled loop has one shape.
    chunk = config.chunk_size or config.population_size
    require(
        chunk > 0 and config.population_size % chunk == 0 and (chunk % 2 == 0 or not config.mirrored),
        "chunk_size",
        f"0, or a divisor of the population's {config.population_size} members that keeps mirrored pairs together",
    )
    require(config.population != "mixture" or config.components >= 2, "components", "2 or more for a mixture")
    learns_sigma = config.population == "diagonal_normal"
    require(not learns_sigma or config.sigma_decay == 1, "sigma_decay", "1 for diagonal_normal, which learns its sigma")
    natural = f"off for {config.population}, where {FIXED_SIGMA[config.population == 'mixture']} (set learning_rate)"
    require(learns_sigma or not config.natural_gradient, "natural_gradient", natural)
    if config.objective in (MAML, ES_MAML):
        require(config.population == "normal", "population", "normal for MAML, which trains one center")
        require(not config.goal, "goal", "empty for MAML, which draws its goals")
        require(config.chunk_size == 0, "chunk_size", "0 for MAML, whose episodes are not a population's")
        require(config.episodes == 1, "episodes", "1 for MAML, which has a number of its own (episodes_per_task)")
    elif config.objective == EVOLVABILITY_SEARCH:
        require(config.population == "mixture", "population", "mixture for evolvability_search, a component per parent")
        families = config.components * (2 if config.mirrored else 1)
        multiple = f"a multiple of {families}, so that all {config.components} parents have equally many offspring"
        require(config.population_size % families == 0, "population_size", multiple)
    else:
        names_in(config.objective)
    if config.explores:
        by_strategy = config.objective not in STANDALONE_OBJECTIVES
        require(by_strategy, "objective", "one that a strategy climbs where actions are drawn (estimator, action_std)")
        require(config.chunk_size == 0, "chunk_size", "0 where actions are drawn: whole episodes are kept")
        require(config.episodes == 1, "episodes", "1 where actions are drawn (estimator, action_std)")
    if config.estimator == "actions":
        require(config.action_std > 0, "action_std", "positive for estimator actions: only drawn actions have a score")
        learns_scales = config.population == "diagonal_normal"
        require(not learns_scales, "population", "another for estimator actions, which learns centers alone")
    if config.goal:
        check_goal(config.goal)
