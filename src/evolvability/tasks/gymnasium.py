"""Any Gymnasium environment as a task: a network drives it, and a named function says what its behavior was."""

import importlib
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np

from evolvability.core.errors import ConfigError, TaskError, UserError
from evolvability.tasks.base import Task
from evolvability.tasks.normalizer import LIMIT, Moments, no_moments, scaling
from evolvability.tasks.policies import mlp, network
from evolvability.tasks.reels import Reel, reel_of
from evolvability.tasks.replay import Stage
from evolvability.tasks.simulators import Address, HostArray, Scope, Simulator, Trial, host_task

INSTALL = "pip install 'evolvability-es[gymnasium]'"
REMEMBERS = ("BipedalWalker",)
"""Environments whose reset does not forget: what went before decides over the last bits of what comes after."""
NAMED_BEHAVIORS = ("observation", "info", "body")
"""What comes before the colon in a behavior that is no function of the user's."""
PURPOSE_REMEMBER = 1 << 16
"""Of the seed that decides whether a member's observations are remembered; episodes count from 0."""


@dataclass
class Episode:
    """An episode that has ended, for functions that say what its behavior or fitness was.

    Attributes:
        env: the environment, as the episode left it.
        observations: all of them, the first from reset.
        info: the last step's.
        rewards: one a step.
        terminated: whether the environment's own end was reached.
        truncated: whether time ran out.
    """

    env: Any
    observations: list[HostArray]
    info: dict[str, Any]
    rewards: list[float] = field(default_factory=list)
    terminated: bool = False
    truncated: bool = False


class Measure(Protocol):
    """From an episode to its behavior, or its fitness."""

    def __call__(self, episode: Episode) -> Any:
        """A number or a vector."""


@dataclass(frozen=True)
class GymnasiumOptions:
    """Options of Gymnasium environments."""

    env: str = ""
    """The environment's id, such as BipedalWalker-v3; module:id imports the module first."""
    env_arguments: str = "{}"
    """Arguments for gymnasium.make, as a JSON object."""
    behavior: str = "observation"
    """observation, observation:0,2 (entries of the last), info:KEY,KEY, body:NAME.xy, or your own module:function."""
    fitness: str = "reward"
    """reward (the sum over the episode), or your own module:function."""
    num_episodes: int = 1
    """Episodes a member; behavior and fitness are their means."""
    num_steps: int = 0
    """Steps after which an episode ends; 0 leaves it to the environment."""
    seeds_differ_by: Scope = "member"
    """Whether every member gets its own start, or all of a generation the same, or all of the run."""
    observation_share: float = 0.1
    """Probability that a member's observations enter the running statistics that observations are scaled by."""
    hidden: int = 64
    """Units in each of the network's two hidden layers."""
    rebuild: Literal["auto", "always", "never"] = "auto"
    """Build the environment anew for every member, needed where its reset does not forget; auto knows which do not."""

    def __post_init__(self) -> None:
        for name, low in (("num_episodes", 1), ("num_steps", 0), ("hidden", 1)):
            if getattr(self, name) < low:
                raise ConfigError(f"{name} must be {low} or more, got {getattr(self, name)}.")
        if not 0 <= self.observation_share <= 1:
            raise ConfigError(f"observation_share must be between 0 and 1, got {self.observation_share}.")


def gymnasium_named(options: GymnasiumOptions) -> Task:
    """The task of an environment's id, as the command line asks for it."""
    if not options.env:
        raise ConfigError("Task 'gymnasium': which environment? Give its id, e.g. --env BipedalWalker-v3.")
    return gymnasium_task(Made(options.env, _arguments(options.env_arguments)), options)


def gymnasium_task(
    make: Callable[[], Any],
    options: GymnasiumOptions = GymnasiumOptions(),  # noqa: B008 (frozen)
    *,
    behavior: Measure | None = None,
    fitness: Measure | None = None,
    name: str = "gymnasium",
    behavior_names: tuple[str, ...] = (),
) -> Task:
    """A task from any function that makes a Gymnasium environment.

    Args:
        make: makes the environment; called once a worker.
        options: everything else; its ``env`` is not used.
        behavior: from an `Episode` to its behavior, in place of the option.
        fitness: from an `Episode` to its fitness, in place of the option.
        name: the task's name.
        behavior_names: a name for each behavior dimension.
    """
    behavior = behavior or named_behavior(options.behavior)
    fitness = fitness or (total_reward if options.fitness == "reward" else own_function(options.fitness))
    factory = _Factory(make, options, behavior, fitness)
    # One step is taken here, so that what cannot work says so now, and not on a worker.
    probe = factory.probe()
    names = behavior_names or getattr(behavior, "names", ())
    if len(names) != probe.num_behaviors:
        names = tuple(f"behavior {j}" for j in range(probe.num_behaviors))
    policy = mlp(probe.sizes)
    return host_task(
        name,
        tuple(names),
        policy.init,
        replace(factory, sizes=probe.sizes),
        memory=no_moments(probe.sizes[0]),
        engine=f"{probe.env} (Gymnasium)",
        stage=None if probe.reel is None else _stage(replace(factory, sizes=probe.sizes), probe.reel),
        shapes=policy.shapes,
    )


def _stage(factory: "_Factory", reel: Reel) -> Stage:
    return Stage(None, reel.time_step, simulator=replace(factory, make=reel.make, reel=reel))


def total_reward(episode: Episode) -> float:
    """The sum of rewards until the environment ended the episode or time ran out."""
    return float(np.sum(episode.rewards))


def named_behavior(text: str) -> Measure:
    """A behavior by its name on the command line.

    >>> named_behavior("info:x_position,y_position").names
    ('x_position', 'y_position')
    """
    kind, _, rest = text.partition(":")
    if kind == "observation":
        return FinalObservation(_integers(rest) if rest else None)
    if kind == "info" and rest:
        return FinalInfo(tuple(rest.split(",")))
    if kind == "body" and rest:
        body, _, axes = rest.rpartition(".")
        body, axes = (body, axes) if body and set(axes) <= set("xyz") else (rest, "xy")
        return BodyPosition(body, axes)
    if rest and kind:
        return own_function(text)
    raise ConfigError(
        f"behavior: observation, observation:0,2, info:KEY, body:NAME.xy or module:function is expected, got '{text}'."
    )


@dataclass(frozen=True)
class FinalObservation:
    """Entries of the last observation; all of them unless given."""

    entries: tuple[int, ...] | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """For the axes of figures."""
        return tuple(f"observation {j}" for j in self.entries or ())

    def __call__(self, episode: Episode) -> HostArray:
        """The entries."""
        last = np.ravel(episode.observations[-1])
        if self.entries is None:
            return last
        if max(self.entries) >= len(last):
            raise TaskError(
                f"behavior: there is no entry {max(self.entries)} in an observation of {len(last)} entries."
            )
        return last[list(self.entries)]


@dataclass(frozen=True)
class FinalInfo:
    """Entries of the last step's info."""

    names: tuple[str, ...]

    def __call__(self, episode: Episode) -> HostArray:
        """The entries, one after another."""
        for name in self.names:
            if name not in episode.info:
                raise TaskError(
                    f"behavior: the environment's info has no '{name}'. It has: {', '.join(episode.info) or 'nothing'}."
                )
        return np.concatenate([np.ravel(episode.info[name]) for name in self.names])


@dataclass(frozen=True)
class BodyPosition:
    """Where a body of MuJoCo, Box2D or PyBullet is in the end."""

    body: str
    axes: str = "xy"

    @property
    def names(self) -> tuple[str, ...]:
        """For the axes of figures."""
        return tuple(self.axes)

    def __call__(self, episode: Episode) -> HostArray:
        """Some of its coordinates."""
        position = self._position(episode.env.unwrapped)
        return np.array([position["xyz".index(axis)] for axis in self.axes])

    def _position(self, env: Any) -> Any:
        if hasattr(env, "model") and hasattr(env, "data"):  # MuJoCo
            names = [env.model.body(k).name for k in range(env.model.nbody)]
            if self.body in names:
                return env.data.body(self.body).xpos
        elif hasattr(env, "robot") and hasattr(env.robot, "parts"):  # PyBullet
            names = list(env.robot.parts)
            if self.body in names:
                return env.robot.parts[self.body].pose().xyz()
        else:  # Box2D: its bodies are attributes of the environment
            names = [name for name, value in vars(env).items() if type(value).__name__ == "b2Body"]
            if self.body in names:
                position = getattr(env, self.body).position
                return (position.x, position.y, 0.0)
        there_are = ", ".join(filter(None, names)) or "none"
        raise TaskError(f"behavior: there is no body '{self.body}'. There are: {there_are}.")


def own_function(text: str) -> Measure:
    """The user's ``module:function``; the module may lie in the working directory."""
    module, _, name = text.partition(":")
    folder = str(Path.cwd())
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        function: Measure = getattr(importlib.import_module(module.removesuffix(".py")), name)
    except UserError:
        raise
    except Exception as error:
        raise ConfigError(
            f"'{text}' could not be imported: {type(error).__name__}: {error}. "
            "Expected module:function, a function of an Episode."
        ) from error
    return function


@dataclass(frozen=True)
class Made:
    """Makes an environment by its id."""

    env: str
    arguments: dict[str, Any]

    def drawing(self, render_mode: str) -> "Made":
        """Makes the same environment, to draw itself."""
        return replace(self, arguments={**self.arguments, "render_mode": render_mode})

    def __call__(self) -> Any:
        """The environment, without the checks meant for its authors."""
        try:
            import gymnasium
        except ModuleNotFoundError as error:
            raise ConfigError(f"Gymnasium is not installed. Install it with: {INSTALL}") from error
        try:
            return gymnasium.make(self.env, disable_env_checker=True, **self.arguments)
        except Exception as error:
            raise ConfigError(
                f"Environment '{self.env}' could not be made: {type(error).__name__}: {str(error).strip()}"
            ) from error


@dataclass(frozen=True)
class _Probe:
    env: str
    sizes: tuple[int, ...]
    num_behaviors: int
    reel: Reel | None


@dataclass(frozen=True)
class _Factory:
    """Builds what drives one environment. A class, not a closure: it travels to workers."""

    make: Callable[[], Any]
    options: GymnasiumOptions
    behavior: Measure
    fitness: Measure
    sizes: tuple[int, ...] = ()
    reel: Reel | None = None

    def __call__(self) -> Simulator:
        return _Driver(self)

    def build(self) -> Any:
        """An environment that was reset once: the first reset of some differs from all that follow."""
        env = self.make()
        env.reset(seed=0)
        return env

    def probe(self) -> _Probe:
        env = self.build()
        observation, info = env.reset(seed=0)
        num_outputs, act = _actions(env.action_space)
        last, reward, terminated, truncated, info = env.step(act(np.zeros(num_outputs, np.float32)))
        episode = Episode(env, [observation, last], info, [float(reward)], terminated, truncated)
        behavior = np.atleast_1d(np.asarray(self._measured("behavior", episode), np.float64))
        fitness = np.asarray(self._measured("fitness", episode), np.float64)
        if behavior.ndim != 1 or not behavior.size:
            raise TaskError(f"The behavior must be a number or a vector, got an array of shape {behavior.shape}.")
        if fitness.ndim:
            raise TaskError(f"The fitness must be a single number, got an array of shape {fitness.shape}.")
        num_inputs = len(_observer(env.observation_space)(observation))
        sizes = (num_inputs, self.options.hidden, self.options.hidden, num_outputs)
        reel = reel_of(self.make, env, self.options.num_steps, self.options.num_episodes)
        return _Probe(type(env.unwrapped).__name__, sizes, len(behavior), reel)

    def _measured(self, what: Literal["behavior", "fitness"], episode: Episode) -> Any:
        try:
            return getattr(self, what)(episode)
        except UserError:
            raise
        except Exception as error:
            raise TaskError(f"The {what} function raised: {type(error).__name__}: {error}") from error


class _Driver:
    """Drives one environment with one member's network after another."""

    def __init__(self, factory: _Factory) -> None:
        self.factory, self.options = factory, factory.options
        self.env = factory.build()
        spec_id = getattr(getattr(self.env, "spec", None), "id", None) or ""
        self.rebuild = self.options.rebuild == "always" or (
            self.options.rebuild == "auto" and spec_id.startswith(REMEMBERS)
        )
        self.is_used = False
        self.observe = _observer(self.env.observation_space)
        _, self.act = _actions(self.env.action_space)

    def __call__(self, parameters: HostArray, address: Address, memory: Moments) -> Trial:
        if self.rebuild and self.is_used:
            self.env.close()
            self.env = self.factory.build()
        self.is_used = True
        policy = network(self.factory.sizes, parameters)
        mean, std = (np.asarray(part, np.float32) for part in scaling(memory))
        remember = np.random.default_rng(address.seed(PURPOSE_REMEMBER)).random() < self.options.observation_share
        inputs: list[HostArray] | None = [] if remember else None
        behaviors, fitnesses, num_steps = [], [], 0
        pictures: list[bytes] = []
        for number in range(self.options.num_episodes):
            seed = address.seed(number, self.options.seeds_differ_by)
            episode = self._episode(seed, policy, mean, std, inputs, pictures)
            behaviors.append(np.atleast_1d(np.asarray(self.factory.behavior(episode), np.float64)))
            fitnesses.append(float(self.factory.fitness(episode)))
            num_steps += len(episode.rewards)
        seen = _moments(np.asarray(inputs, np.float64)) if inputs else None
        return Trial(np.mean(behaviors, axis=0), float(np.mean(fitnesses)), num_steps, seen, tuple(pictures))

    def close(self) -> None:
        """Give up the environment, and what it draws with."""
        self.env.close()

    def _episode(
        self,
        seed: int,
        policy: Any,
        mean: HostArray,
        std: HostArray,
        inputs: list[HostArray] | None,
        pictures: list[bytes],
    ) -> Episode:
        env, observe, act, reel = self.env, self.observe, self.act, self.factory.reel
        observation, info = env.reset(seed=seed)
        observations, rewards = [observation], []
        limit = self.options.num_steps or sys.maxsize
        terminated = truncated = False
        if reel is not None:
            pictures += reel.picture(env, 0, False)
        while not (terminated or truncated):
            given = observe(observation)
            if inputs is not None:
                inputs.append(given)
            # Not np.clip, which takes as long as all the rest of the line.
            scaled = np.minimum(np.maximum((given - mean) / std, -LIMIT), LIMIT)
            observation, reward, terminated, truncated, info = env.step(act(policy(scaled)))
            observations.append(observation)
            rewards.append(float(reward))
            truncated = truncated or len(rewards) >= limit
            if reel is not None:
                pictures += reel.picture(env, len(rewards), terminated or truncated)
        return Episode(env, observations, info, rewards, bool(terminated), bool(truncated))


def _actions(space: Any) -> tuple[int, Callable[[HostArray], Any]]:
    """How many outputs a network needs, and how they become an action."""
    import gymnasium

    if isinstance(space, gymnasium.spaces.Discrete):
        first = int(space.start)
        return int(space.n), lambda outputs: first + int(outputs.argmax())
    if isinstance(space, gymnasium.spaces.Box):
        size, shape, dtype = int(np.prod(space.shape)), space.shape, space.dtype
        if space.is_bounded():  # an output of -1 to 1 spans the range
            low, high = (np.ravel(bound).astype(np.float64) for bound in (space.low, space.high))
            middle, half = (low + high) / 2, (high - low) / 2
            if dtype == np.float32 and len(shape) == 1 and not middle.any() and (half == 1).all():
                return size, lambda outputs: np.minimum(np.maximum(outputs, -1), 1)
            return size, lambda outputs: (middle + half * outputs.clip(-1, 1)).astype(dtype).reshape(shape)
        low, high = np.ravel(space.low), np.ravel(space.high)
        return size, lambda outputs: outputs.clip(low, high).astype(dtype).reshape(shape)
    raise ConfigError(
        f"Actions must be a Box or Discrete, and this environment's are {space}. Wrap it in one that maps them."
    )


def _observer(space: Any) -> Callable[[Any], HostArray]:
    """How an observation becomes a vector of float32."""
    import gymnasium

    if isinstance(space, gymnasium.spaces.Box):
        if len(space.shape) == 1:
            return lambda observation: np.asarray(observation, np.float32)
        return lambda observation: np.asarray(observation, np.float32).ravel()
    if not space.is_np_flattenable:
        raise ConfigError(f"Observations of this environment cannot be made a vector: {space}.")
    return lambda observation: np.asarray(gymnasium.spaces.flatten(space, observation), np.float32)


def _moments(observations: HostArray) -> Moments:
    """Of all observations of one member."""
    mean = observations.mean(axis=0)
    return Moments(np.float64(len(observations)), mean, ((observations - mean) ** 2).sum(axis=0))


def _integers(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise ConfigError(f"behavior: whole numbers are expected after observation:, got '{text}'.") from None


def _arguments(text: str) -> dict[str, Any]:
    try:
        arguments = json.loads(text)
    except ValueError as error:
        raise ConfigError(f"env_arguments: a JSON object is expected, got '{text}' ({error}).") from None
    if not isinstance(arguments, dict):
        raise ConfigError(f"env_arguments: a JSON object is expected, got '{text}'.")
    return arguments
