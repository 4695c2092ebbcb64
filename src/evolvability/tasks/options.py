"""The options of every task: dataclasses, each field with its sentence. None of them needs JAX."""

from dataclasses import asdict, dataclass, field, fields, make_dataclass
from typing import Annotated, Any, Literal

from tyro.conf import Suppress, arg
from tyro.constructors import PrimitiveConstructorSpec

from evolvability.core.errors import ConfigError, unknown
from evolvability.core.settings import LARGEST_INTEGER, ONE_OR_MORE, POSITIVE, ZERO_OR_MORE, Options, Rule, setting
from evolvability.tasks.circumstances import Circumstances
from evolvability.tasks.directions import heading

Scope = Literal["member", "generation", "run"]
NAMED_BEHAVIORS = ("observation", "info", "body")
"""What comes before the colon in a behavior that is not a function of the user's."""
PROBABILITY = Rule("between 0 and 1", lambda value: 0 <= value <= 1)


def parse_hidden(text: str) -> int | tuple[int, ...]:
    """Units of hidden layers from a text.

    >>> parse_hidden("64"), parse_hidden("64,32"), parse_hidden("64,")
    (64, (64, 32), (64,))
    """
    try:
        units = tuple(map(int, text.removesuffix(",").split(",")))
    except ValueError:
        raise ConfigError(f"hidden: a number, or one per layer as 64,64, is expected, got '{text}'.") from None
    return units if "," in text else units[0]


def show_hidden(units: int | tuple[int, ...]) -> list[str]:
    """The text that `parse_hidden` reads."""
    return [str(units) if isinstance(units, int) else ",".join(map(str, units)) + "," * (len(units) == 1)]


Hidden = Annotated[
    int | tuple[int, ...],
    PrimitiveConstructorSpec(
        nargs=1,
        metavar="N,N",
        instance_from_str=lambda words: parse_hidden(words[0]),
        is_instance=lambda value: isinstance(value, int | tuple),
        str_from_instance=show_hidden,
    ),
]


@dataclass(frozen=True, kw_only=True)
class NetworkOptions(Options):
    """The network of a task's members."""

    policy: Annotated[str, arg(metavar="NAME")] = "mlp"
    """The network: mlp, gru (which remembers), or your own module:name."""
    hidden: Hidden = 64
    """Units in each of two hidden layers, or of every layer, as 64,32; of a gru, its units."""
    activation: Literal["tanh", "relu", "silu"] = "tanh"
    """What comes after each hidden layer of an mlp."""

    @property
    def layers(self) -> tuple[int, ...]:
        """Units of each hidden layer."""
        return (self.hidden, self.hidden) if isinstance(self.hidden, int) else self.hidden

    def __post_init__(self) -> None:
        super().__post_init__()
        given: Any = self.hidden
        units = parse_hidden(given) if isinstance(given, str) else given
        layers = tuple(units) if isinstance(units, list | tuple) else (units, units)
        if not all(type(number) is int and 1 <= number <= LARGEST_INTEGER for number in layers):
            raise ConfigError(f"hidden must be 1 or more, or one such number per layer as 64,64, got {self.hidden}.")
        # One way to write it: runs are compared by their settings. Past the frozen dataclass.
        object.__setattr__(self, "hidden", layers[0] if len(layers) == 2 and layers[0] == layers[1] else layers)
        if self.policy not in ("mlp", "gru") and ":" not in self.policy:
            raise ConfigError(unknown("policy", self.policy, ("mlp", "gru"), also=", or module:name for your own"))
        if self.policy == "gru" and len(set(layers)) != 1:
            raise ConfigError(f"hidden must be one number for a gru, which has one layer, got {self.hidden}.")
        if self.policy != "mlp" and self.activation != "tanh":
            raise ConfigError(f"activation is for an mlp. Leave it out for the policy {self.policy}.")


@dataclass(frozen=True)
class InterferenceOptions(Options):
    """Options of the interference task."""

    start: float = 1.0
    """Where the center starts."""


@dataclass(frozen=True)
class PointOptions(NetworkOptions):
    """Options of the toy world."""

    num_steps: int = setting(100, ONE_OR_MORE)
    """Time steps per episode, 0.1 s each."""
    hidden: Hidden = 16
    """Units in each of two hidden layers, or of every layer, as 64,32; of a gru, its units."""


@dataclass(frozen=True)
class MazeOptions(NetworkOptions):
    """Options of the maze."""

    num_steps: int = setting(40, ONE_OR_MORE)
    """Time steps per episode, 0.25 s each."""
    hidden: Hidden = 8
    """Units in each of two hidden layers, or of every layer, as 64,32; of a gru, its units."""


@dataclass(frozen=True)
class NavigationOptions(NetworkOptions):
    """Options of the navigation problem."""

    num_steps: int = setting(20, ONE_OR_MORE)
    """Time steps per episode."""
    hidden: Hidden = 32
    """Units in each of two hidden layers, or of every layer, as 64,32; of a gru, its units."""


@dataclass(frozen=True)
class EpisodeOptions(Circumstances, NetworkOptions):
    """Options of every robot."""

    num_steps: int = setting(1000, ONE_OR_MORE)
    """Control steps per episode."""
    engine: Literal["auto", "fused", "mujoco"] = "auto"
    """What steps the physics: fused (MuJoCo's, compiled for this robot) or mujoco (its own library, on CPU cores);
    auto picks fused where warp-lang is installed and the model can be compiled."""
    direction: str = "right"
    """Where fitness points: right (+x), left (-x), or an angle from +x in degrees."""
    early_termination: bool = False
    """End an episode when the robot falls; its behavior is where that happened."""
    observation_share: float = setting(0.01, PROBABILITY)
    """Probability that a member's observations enter the running statistics that observations are scaled by."""
    hidden: Hidden = 256
    """Units in each of two hidden layers, or of every layer, as 64,32; of a gru, its units."""
    threads: int = setting(0, ZERO_OR_MORE)
    """CPU threads that step robots; 0 for the GPU, or all cores where there is none."""

    def __post_init__(self) -> None:
        super().__post_init__()
        heading(self.direction)


@dataclass(frozen=True)
class LocomotionOptions(EpisodeOptions):
    """Options of the paper's locomotion tasks."""

    num_steps: int = setting(1000, ONE_OR_MORE)
    """Control steps per episode, 0.0165 s each."""
    body: Literal["paper", "gymnasium"] = "paper"
    """The robot's masses, joints and motors: PyBullet's, which the paper used, or those of Gymnasium's assets."""
    solver_iterations: int = setting(8, ONE_OR_MORE)
    """Iterations of the physics' constraint solver, at most."""
    solver_line_search_iterations: int = setting(8, ONE_OR_MORE)
    """Line-search iterations in each of them, at most."""


@dataclass(frozen=True)
class AntOptions(LocomotionOptions):
    """Options of the ant."""

    early_termination: bool = True
    """End an episode when the torso sinks below 0.26 m (or, of the body gymnasium, rises above 1 m)."""


@dataclass(frozen=True)
class RobotOptions(EpisodeOptions):
    """Options of a robot of your own."""

    model: Annotated[str, arg(metavar="FILE")] = ""
    """An MJCF, such as my.xml, or the name of one of Gymnasium's models, such as swimmer."""
    root: str = "auto"
    """The body that walks; auto for the first that is free, or slides in two directions without a motor."""
    control_step: float = setting(0.02, POSITIVE)
    """Seconds per control step, rounded to whole time steps of the model."""
    num_steps: int = setting(500, ONE_OR_MORE)
    """Control steps per episode."""
    observation: str = "auto"
    """What it sees: parts with commas, of root, joints, contacts, sensors, the name of a sensor, site:NAME.xyz; auto
    for the first three."""
    behavior: str = "auto"
    """What counts: root.xy, body:NAME.xyz, site:NAME.xyz or sensor:NAME; auto for the root's way along the ground, or
    where the end of the longest chain of bodies is."""
    average: bool = False
    """Whether behavior is the mean over the episode, and not what it is at its end."""
    start: str = "home"
    """The keyframe it starts in; home is the model's own pose where there is no keyframe of that name."""
    early_termination: bool = True
    """End an episode when the root leaves its heights, or a body touches that must not."""
    min_height: float = 0.0
    """The root's height below which an episode ends; 0 for none."""
    max_height: float = 0.0
    """The root's height above which an episode ends; 0 for none."""
    must_not_touch: Annotated[tuple[str, ...], arg(metavar="BODY", help_behavior_hint="")] = ()
    """Bodies that end an episode when they touch the floor."""
    action_scale: float = setting(1.0, POSITIVE)
    """By an output of 1 a control moves by this times half of its range, from its middle or from the first pose."""
    observation_share: float = setting(0.05, PROBABILITY)
    """Probability that a member's observations enter the running statistics that observations are scaled by."""
    hidden: Hidden = 64
    """Units in each of two hidden layers, or of every layer, as 64,32; of a gru, its units."""
    simplify: bool = False
    """Change what of the model cannot be compiled, so that it is; what is changed is listed."""
    digest: Annotated[str, Suppress] = ""
    """The SHA-256 of the robot's archive, which a run folder holds; empty before it was read."""

    def __post_init__(self) -> None:
        super().__post_init__()
        # TOML has lists. The dataclass is frozen, so it is put in order past it.
        object.__setattr__(self, "must_not_touch", tuple(self.must_not_touch))


def robot_options(name: str, **defaults: Any) -> Any:
    """The options of a robot that comes with the package: those of any, with defaults of its own.

    >>> robot_options("HopperOptions", model="hopper", min_height=0.7)().min_height
    0.7
    """
    own: Any = [
        (one.name, one.type, field(default=defaults[one.name], metadata=one.metadata))
        for one in fields(RobotOptions)
        if one.name in defaults
    ]
    return make_dataclass(name, own, bases=(RobotOptions,), frozen=True, namespace={"__doc__": RobotOptions.__doc__})


@dataclass(frozen=True)
class Ends:
    """What ends an episode of a robot before its time.

    Examples:
        >>> Ends(height=(0.2, 1.0), touch=("trunk",)).height
        (0.2, 1.0)
    """

    height: tuple[float, float] = (0.0, 0.0)
    """The heights that the root must stay between, in meters; 0 for none."""
    touch: tuple[str, ...] = ()
    """Bodies that must not touch the floor."""

    def __post_init__(self) -> None:
        if not isinstance(self.height, tuple | list) or len(self.height) != 2:
            raise ConfigError(
                f"Ends: height must be a pair, the lowest and the highest (0 for none), got {self.height}."
            )
        touch: Any = self.touch
        if isinstance(touch, str):
            raise ConfigError(f"Ends: touch must be a tuple of bodies' names, got '{touch}'. Write ('{touch}',).")


@dataclass(frozen=True)
class GymnasiumOptions(NetworkOptions):
    """Options of Gymnasium environments."""

    env: Annotated[str, arg(metavar="ID", help_behavior_hint="(required)")] = ""
    """The environment's id, such as BipedalWalker-v3; module:id imports the module first."""
    env_arguments: str = "{}"
    """Arguments for gymnasium.make, as a JSON object."""
    behavior: str = "observation"
    """observation, observation:0,2 (entries of the last), info:KEY,KEY, body:NAME.xy, or your own module:function."""
    fitness: str = "reward"
    """reward (the sum over the episode), or your own module:function."""
    num_steps: int = setting(0, ZERO_OR_MORE)
    """Steps after which an episode ends; 0 leaves it to the environment."""
    seeds_differ_by: Scope = "member"
    """Whether every member gets its own start, or all of a generation the same, or all of the run."""
    observation_share: float = setting(0.1, PROBABILITY)
    """Probability that an episode's observations enter the running statistics that observations are scaled by."""
    hidden: Hidden = 64
    """Units in each of two hidden layers, or of every layer, as 64,32; of a gru, its units."""
    rebuild: Literal["auto", "always", "never"] = "auto"
    """Build the environment anew for every member, needed where its reset does not forget; auto knows which do not."""


@dataclass(frozen=True)
class BulletOptions(NetworkOptions):
    """Options of the PyBullet tasks."""

    num_steps: int = setting(1000, ONE_OR_MORE)
    """Control steps per episode, 0.0165 s each."""
    direction: str = "right"
    """Where fitness points: right (+x), left (-x), or an angle from +x in degrees."""
    seeds_differ_by: Scope = "member"
    """Whether every member gets its own start, or all of a generation the same, or all of the run."""
    observation_share: float = setting(0.01, PROBABILITY)
    """Probability that a member's observations enter the running statistics that observations are scaled by."""
    hidden: Hidden = 256
    """Units in each of two hidden layers, or of every layer, as 64,32; of a gru, its units."""

    def __post_init__(self) -> None:
        super().__post_init__()
        heading(self.direction)

    def gymnasium(self) -> GymnasiumOptions:
        """The same as options of a Gymnasium environment."""
        return GymnasiumOptions(**{name: value for name, value in asdict(self).items() if name != "direction"})
