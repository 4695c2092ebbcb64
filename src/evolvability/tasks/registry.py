"""The tasks a command line can name."""

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evolvability.core.entries import FROM_PYTHON, loaded
from evolvability.core.errors import ConfigError, unknown
from evolvability.core.settings import Options
from evolvability.tasks import options as task_options
from evolvability.tasks.options import NAMED_BEHAVIORS, GymnasiumOptions, NetworkOptions

if TYPE_CHECKING:
    from evolvability.tasks.base import Task
    from evolvability.tasks.policies import MakePolicy


@dataclass(frozen=True)
class TaskEntry:
    """A task by name."""

    summary: str
    """One line for `ees list`."""
    make: "str | Callable[[Any], Task]"
    """The factory, from options to a Task; its ``module:name``, so that listing tasks loads none of them."""
    options: type = Options
    """The dataclass of the task's own options."""
    defaults: Mapping[str, Any] = field(default_factory=dict)
    """Configuration values this task starts from."""
    objective_defaults: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Further values, by objective."""
    presets: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """What a preset of `config.schema.PRESETS` means for this task, by the preset's name."""


# Of 16 members the usual hundredth would mostly be nobody.
SMOKE = {"population_size": 16, "generations": 3, "task_options": {"num_steps": 20, "observation_share": 0.25}}
# With bfloat16, half the memory of float32, and half of what every control step reads.
PAPER = {"population_size": 10_000, "generations": 100, "noise_dtype": "bfloat16"}
LOCOMOTION_PRESETS: dict[str, dict[str, Any]] = {"paper": PAPER | {"task_options": {"num_steps": 1000}}, "smoke": SMOKE}
# A laptop's few members and short episodes teach the light bodies sooner.
CHEETAH_LAPTOP: dict[str, Any] = {
    "population_size": 400,
    "generations": 32,
    "task_options": {"body": "gymnasium", "num_steps": 400, "observation_share": 0.05},
}
# Two episodes of each member, so fewer of them; of 120 generations the last 40 added little distance.
CHEETAH_DEPENDABLE: dict[str, Any] = {
    "population_size": 256,
    "generations": 80,
    "behavior_shaping": "centered_ranks",
    "l2": 0.005,
    "task_options": {"body": "gymnasium", "num_steps": 300, "observation_share": 0.05, "start_noise": 0.1},
}
# At the paper's size, for a GPU. By MaxCov alone the heavy ant often learns to fall over dependably, or to stand: what
# MaxVar makes of the first generations can be made dependable.
ANT_DEPENDABLE: dict[str, Any] = {
    "objective": "1:0:60*max_variance+0:1:60*max_covariance",
    "population_size": 5000,
    "generations": 150,
    "behavior_shaping": "centered_ranks",
    "l2": 0.005,
    "noise_dtype": "bfloat16",
    "task_options": {"start_noise": 0.1, "early_termination": False},
}
# Short episodes teach an ant to fall: only in long ones do those who stay up get ahead. So few members teach
# a small network sooner than one of the paper's size. A wider kernel counts the ring's inside as less of a gap to fill.
ANT_LAPTOP: dict[str, Any] = {
    "population_size": 512,
    "generations": 170,
    "bandwidth": 2.0,
    "sigma": 0.05,
    "learning_rate": 0.03,
    "l2": 0.01,
    "task_options": {"body": "gymnasium", "num_steps": 1000, "observation_share": 0.05, "hidden": 64},
}

ROBOT = "robot"
"""The task of robots that are files."""
ROBOT_DEFAULTS: dict[str, Any] = {"population_size": 256, "l2": 0.005}
ROBOT_PRESETS: dict[str, dict[str, Any]] = {
    "paper": PAPER | {"l2": 0.05, "task_options": {"hidden": 256, "observation_share": 0.01}},
    "laptop": {"population_size": 256, "generations": 60, "sigma": 0.05, "learning_rate": 0.03, "l2": 0.01},
    "smoke": SMOKE,
}


def _robot(summary: str, model: str, **defaults: Any) -> TaskEntry:
    """A robot that comes with the package, and the options in which it differs from any other."""
    options = task_options.robot_options(f"{model.capitalize()}Options", model=model, **defaults)
    return TaskEntry(summary, ".tasks.robots.robot_task:robot", options, ROBOT_DEFAULTS, presets=ROBOT_PRESETS)


NO_L2 = {"l2": 0.0}  # L2 is for networks: where a task has none by default, a preset does not bring it in

TASKS: dict[str, TaskEntry] = {
    "interference": TaskEntry(
        "the paper's interference pattern: one parameter, one behavior",
        ".tasks.interference:interference",
        task_options.InterferenceOptions,
        {
            "population_size": 500,
            "sigma": 0.5,
            "mirrored": False,
            "optimizer": "sgd",
            "learning_rate": 0.1,
            "l2": 0.0,
            "generations": 2000,
            "record_every": 20,
        },
        {
            "max_variance": {"learning_rate": 0.03},
        },
        presets={"released-code": NO_L2},
    ),
    "point": TaskEntry(
        "a toy world: a point steered over a plane by a small network",
        ".tasks.point:point",
        task_options.PointOptions,
        {"population_size": 256, "sigma": 0.05, "learning_rate": 0.03, "l2": 0.005},
    ),
    "maze": TaskEntry(
        "a deceptive toy world: the straight way to the goal leads into a trap",
        ".tasks.maze:maze",
        task_options.MazeOptions,
        {"population_size": 128, "sigma": 0.4, "learning_rate": 0.1, "l2": 0.02, "generations": 400},
    ),
    "navigation": TaskEntry(
        "the toy of meta-learning: a point that is to find a goal it cannot see",
        ".tasks.navigation:navigation",
        task_options.NavigationOptions,
        {"population_size": 256, "sigma": 0.05, "learning_rate": 0.03, "l2": 0.005},
        {"maml": {"generations": 50, "tasks": 20}},
    ),
    "cheetah": TaskEntry(
        "the paper's planar robot: 6 torques, behavior is its final x",
        ".tasks.robots.locomotion:cheetah",
        task_options.LocomotionOptions,
        presets=LOCOMOTION_PRESETS | {"laptop": CHEETAH_LAPTOP, "dependable": CHEETAH_DEPENDABLE},
    ),
    "ant": TaskEntry(
        "the paper's four-legged robot: 8 torques, behavior is its final (x, y)",
        ".tasks.robots.locomotion:ant",
        task_options.AntOptions,
        presets=LOCOMOTION_PRESETS | {"laptop": ANT_LAPTOP, "dependable": ANT_DEPENDABLE},
    ),
    ROBOT: TaskEntry(
        "a robot of your own: ees train my.xml",
        ".tasks.robots.robot_task:robot",
        task_options.RobotOptions,
        ROBOT_DEFAULTS,
        presets=ROBOT_PRESETS,
    ),
    # Heights as Gymnasium's environments have them; control steps are longer, for episodes of fewer.
    "hopper": _robot(
        "Gymnasium's planar leg: 3 torques, behavior is its final x", "hopper", control_step=0.016, min_height=0.7
    ),
    "walker2d": _robot(
        "Gymnasium's planar pair of legs: 6 torques, behavior is its final x",
        "walker2d",
        control_step=0.016,
        min_height=0.8,
        max_height=2.0,
    ),
    "humanoid": _robot(
        "Gymnasium's humanoid: 17 torques, behavior is its final (x, y)",
        "humanoid",
        control_step=0.015,
        min_height=1.0,
        max_height=2.0,
    ),
    "quadruped": _robot(
        "a robot dog of a Go1's size: 12 joints hold positions, behavior is its final (x, y)",
        "quadruped",
        min_height=0.15,
        action_scale=0.4,
    ),
    "arm": _robot(
        "an arm on a table: 6 joints hold positions, behavior is where its hand ends",
        "arm",
        behavior="site:hand.xyz",
        num_steps=100,
    ),
    "gymnasium": TaskEntry(
        "any Gymnasium environment: --env ID",
        ".tasks.gymnasium:gymnasium_named",
        GymnasiumOptions,
        {"population_size": 256, "l2": 0.005},
        presets={"smoke": {"population_size": 16, "generations": 3, "task_options": {"num_steps": 20}}},
    ),
    "cheetah-bullet": TaskEntry(
        "the paper's own simulator, PyBullet: the planar robot",
        ".tasks.bullet:cheetah_bullet",
        task_options.BulletOptions,
        presets=LOCOMOTION_PRESETS,
    ),
    "ant-bullet": TaskEntry(
        "the paper's own simulator, PyBullet: the four-legged robot",
        ".tasks.bullet:ant_bullet",
        task_options.BulletOptions,
        presets=LOCOMOTION_PRESETS,
    ),
}


def is_robot_file(name: str) -> bool:
    """Whether a task's name is that of a robot's file.

    >>> is_robot_file("robots/my.xml"), is_robot_file("ant")
    (True, False)
    """
    return Path(name).suffix.lower() in (".xml", ".mjcf", ".urdf")


def task_entry(name: str) -> TaskEntry:
    """The entry of a registered task, or one for ``module:name``: a Task, or a function that returns one."""
    if is_robot_file(name):
        return TASKS[ROBOT]
    own = partial(TaskEntry, defaults={**NO_L2, "population_size": 256}, presets={"released-code": NO_L2})
    if name.startswith(FROM_PYTHON):
        return own(f"given from Python: {name.removeprefix(FROM_PYTHON)}", _not_by_name)
    if ":" in name:
        return own(f"your own: {name}", lambda options: _own_task(name))
    if name not in TASKS:
        raise ConfigError(
            unknown("task", name, TASKS, also=", a robot's file such as my.xml, or module:name for one of your own")
        )
    return TASKS[name]


def make_task(name: str, options: Any = None, *, policy: "MakePolicy | str | None" = None) -> "Task":
    """A task by name.

    Args:
        name: of a registered task, or ``module:name`` of your own.
        options: its options dataclass, a dictionary for it, or None for the defaults.
        policy: its members' network, such as ``gru(64)`` or ``"module:name"``, in place of the options that name one.

    Examples:
        >>> make_task("point").behavior
        ('x', 'y')
    """
    entry = task_entry(name)
    if is_robot_file(name):
        name, options = ROBOT, {"model": name} | (options or {})
    if options is None or isinstance(options, dict):
        known = [option.name for option in dataclasses.fields(entry.options)]
        for option in set(options or {}) - set(known):
            raise ConfigError(unknown(f"option of task '{name}'", option, known))
        options = entry.options(**(options or {}))
    if not dataclasses.is_dataclass(options):
        raise ConfigError(f"Options of task '{name}' must be a {entry.options.__name__}, got {options!r}.")
    make: Any = loaded(entry.make) if isinstance(entry.make, str) else entry.make
    if policy is None:
        return make(options)
    named = policy_in(name, policy)
    options = dataclasses.replace(options, **named)  # type: ignore[type-var]
    return make(options, policy) if named["policy"].startswith(FROM_PYTHON) else make(options)


def policy_in(name: str, policy: "MakePolicy | str") -> dict[str, Any]:
    """The options of a task that name a policy; refused where members are not networks."""
    from evolvability.tasks.policies import policy_options

    if not issubclass(task_entry(name).options, NetworkOptions):
        raise ConfigError(f"Task '{name}' takes no policy: its members are not networks, or it brings its own.")
    return policy_options(policy)


def own_code(name: str, options: Any) -> str:
    """What a task's name or options would import that is not of this package; empty if nothing.

    Examples:
        >>> own_code("gymnasium", GymnasiumOptions(env="CartPole-v1", behavior="measures:middle"))
        'measures:middle'
        >>> own_code("ant", None)
        ''
    """
    if ":" in name:
        return "" if name.startswith(FROM_PYTHON) else name
    policy = getattr(options, "policy", "")
    foreign = [policy] if ":" in policy and not policy.startswith(FROM_PYTHON) else []
    if not isinstance(options, GymnasiumOptions):
        return ", ".join(foreign)
    # Gymnasium imports what stands before the colon of an id.
    foreign += [options.env] if ":" in options.env else []
    foreign += [] if options.behavior.partition(":")[0] in NAMED_BEHAVIORS else [options.behavior]
    foreign += [] if options.fitness == "reward" else [options.fitness]
    return ", ".join(foreign)


def _not_by_name(options: Any) -> "Task":
    raise ConfigError(
        "This run's task was given from Python as an object, so it has no name to find it by. "
        "Give it again from Python: evolvability.resume(path, task) or Run(path, task=task)."
    )


def _own_task(name: str) -> "Task":
    from evolvability.tasks.base import Task
    from evolvability.tasks.own_code import imported

    expected = "where name is a Task or a function without arguments that returns one"
    task = imported(name, expected, lambda found: found if isinstance(found, Task) else found())
    if not isinstance(task, Task):
        raise ConfigError(f"'{name}' must be a Task or return one, got {type(task).__name__}.")
    return task
