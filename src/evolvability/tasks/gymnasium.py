"""Any Gymnasium environment as a task: a network drives it, and a named function says what its behavior was."""

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from evolvability.core.errors import ConfigError, in_words, missing_extra
from evolvability.tasks.actions import Actions, choice
from evolvability.tasks.base import Task, checked_names, checked_result
from evolvability.tasks.episodes import Episode, Measure, named_behavior, named_fitness
from evolvability.tasks.families import NetworkFamily, family_of
from evolvability.tasks.normalizer import Moments, no_moments, pool, scaled, scaling
from evolvability.tasks.options import GymnasiumOptions
from evolvability.tasks.own_code import explain_errors
from evolvability.tasks.policies import MakePolicy, named_policy
from evolvability.tasks.rendering import Camera, camera_of
from evolvability.tasks.replay import HostArray, Stage
from evolvability.tasks.simulators import Address, Trial, host_task

EXTRAS = {"Box2D": "box2d", "mujoco": "gymnasium", "imageio": "gymnasium", "pygame": "gymnasium"}
"""What Gymnasium's own environments need, and the extra that brings it."""
NOTES = {"box2d": "It has no wheels for Linux on ARM, nor for Python 3.14: a compiler and SWIG build it there."}
REMEMBERS = ("BipedalWalker",)
"""Environments whose reset does not forget: what went before decides over the last bits of what comes after."""
PURPOSE_REMEMBER = 1 << 16
"""Of the seeds that decide whether an episode's observations are remembered; those of episodes count from 0."""


def gymnasium_named(options: GymnasiumOptions, policy: MakePolicy | None = None) -> Task:
    """The task of an environment's id, as the command line asks for it."""
    if not options.env:
        give = in_words("task_options={'env': 'BipedalWalker-v3'}", "--env BipedalWalker-v3")
        raise ConfigError(f"Task 'gymnasium': which environment? Give its id, e.g. {give}.")
    try:
        arguments = json.loads(options.env_arguments)
    except ValueError:
        arguments = None
    if not isinstance(arguments, dict):
        raise ConfigError(f"env_arguments: a JSON object is expected, got '{options.env_arguments}'.")
    return gymnasium_task(Made(options.env, arguments), options, name="gymnasium", policy=policy)


def gymnasium_task(
    make: Callable[[], Any] | str,
    options: GymnasiumOptions = GymnasiumOptions(),  # noqa: B008 (frozen)
    *,
    policy: MakePolicy | None = None,
    behavior: Measure | None = None,
    fitness: Measure | None = None,
    name: str = "",
    behavior_names: tuple[str, ...] = (),
) -> Task:
    """A task from a Gymnasium environment: its id, or any function that makes one.

    Args:
        make: makes the environment, once per worker; or an environment's id.
        options: everything else; its ``env`` is not used.
        policy: the network, such as ``gru(64)``, in place of the option.
        behavior: from an `Episode` to its behavior, in place of the option.
        fitness: from an `Episode` to its fitness, in place of the option.
        name: the task's name; default: the environment's id.
        behavior_names: a name for each behavior dimension.
    """
    make = Made(make, {}) if isinstance(make, str) else make
    behavior, fitness = behavior or named_behavior(options.behavior), fitness or named_fitness(options.fitness)
    # One step is taken here, so that what cannot work says so now, and not on a worker.
    env = _built(make)
    observation, _ = env.reset(seed=0)
    actions = _actions(env.action_space)
    num_outputs = len(actions.low)
    last, reward, terminated, truncated, info = env.step(actions(np.zeros(num_outputs, np.float32)))
    episode = Episode(env, [observation, last], info, [float(reward)], terminated, truncated)
    with explain_errors("The behavior or fitness function raised"):
        num_behaviors = checked_result(behavior(episode), fitness(episode))
    name, own = name or getattr(getattr(env, "spec", None), "id", "gymnasium"), getattr(behavior, "names", ())
    # A name of ours may stand for several numbers: an entry of info may be a vector.
    names = checked_names(name, behavior_names or (own if len(own) == num_behaviors else ()), num_behaviors)
    policy, sizes = policy or named_policy(options), (len(_observer(env.observation_space)(observation)), num_outputs)
    networks, camera = family_of(policy, *sizes), camera_of(make, env, options.num_steps)
    # Not a closure: it travels to workers.
    factory = partial(_Driver, options, behavior, fitness, partial(family_of, policy, *sizes))
    return host_task(
        name,
        names,
        networks.init,
        partial(factory, make),
        memory=no_moments(networks.num_inputs),
        engine=f"{type(env.unwrapped).__name__} (Gymnasium)",
        stage=camera and Stage(None, camera.time_step, simulator=partial(factory, camera.make, camera)),
        unflatten=networks.unflatten,
        shapes=networks.shapes,
        network=networks,
        actions=actions,
    )


@dataclass(frozen=True)
class Made:
    """Makes an environment by its id."""

    env: str
    """The environment's id."""
    arguments: dict[str, Any]
    """Arguments for ``gymnasium.make``."""

    def drawing(self, render_mode: str) -> "Made":
        """Makes the same environment, to draw itself."""
        return replace(self, arguments={**self.arguments, "render_mode": render_mode})

    def __call__(self) -> Any:
        """The environment, without the checks meant for its authors."""
        try:
            import gymnasium
        except ModuleNotFoundError as error:
            raise missing_extra("The task 'gymnasium'", error.name, "gymnasium") from error
        with explain_errors(f"Environment '{self.env}' could not be made", ConfigError):
            try:
                return gymnasium.make(self.env, disable_env_checker=True, **self.arguments)
            except (gymnasium.error.DependencyNotInstalled, ModuleNotFoundError) as error:
                # Gymnasium says what is missing, too, but not how to get the versions that this project is tried with.
                reason = error if isinstance(error, ModuleNotFoundError) else error.__cause__
                package = getattr(reason, "name", "")
                if extra := EXTRAS.get(package):
                    note = NOTES.get(extra, "")
                    raise missing_extra(f"Environment '{self.env}'", package, extra, note=note) from error
                raise


def _built(make: Callable[[], Any]) -> Any:
    """An environment that was reset once: the first reset of some differs from all that follow."""
    env = make()
    env.reset(seed=0)
    return env


@dataclass
class _Driver:
    """Drives one environment with one member's network after another."""

    options: GymnasiumOptions
    behavior: Measure
    fitness: Measure
    networks: Callable[[], NetworkFamily]
    """The networks that drive it, made where the driver is: compiled functions do not travel."""
    make: Callable[[], Any]
    camera: Camera | None = None

    def __post_init__(self) -> None:
        self.env = _built(self.make)
        spec_id = getattr(getattr(self.env, "spec", None), "id", None) or ""
        remembers = self.options.rebuild == "auto" and spec_id.startswith(REMEMBERS)
        self.rebuild = self.options.rebuild == "always" or remembers
        self.is_used = False
        self.observe = _observer(self.env.observation_space)
        self.act = _actions(self.env.action_space)
        self.family = self.networks()

    def __call__(self, parameters: HostArray, address: Address, memory: Moments) -> Trial:
        # Before its first member it has only just been built.
        if self.rebuild and self.is_used:
            self.env.close()
            self.env = _built(self.make)
        self.is_used = True
        network, carry = self.family.member(parameters), self.family.carry
        mean, std = (np.asarray(part, np.float32) for part in scaling(memory))
        # By the member's own seed, whatever seeds differ by: by a common one all would be remembered, or nobody.
        remember = (
            np.random.default_rng(address.seed(PURPOSE_REMEMBER + address.episode)).random()
            < self.options.observation_share
        )
        inputs: list[HostArray] = []

        def act(observation: Any) -> Any:
            nonlocal carry
            given = self.observe(observation)
            if remember:
                inputs.append(given)  # as they are, not scaled: the scale is what they are for
            outputs, carry = network(scaled(given, mean, std), carry)
            return self.act(outputs)

        pictures: list[bytes] = []
        episode = self._episode(address.seed(address.episode, self.options.seeds_differ_by), act, pictures)
        # Measured at once: the next episode changes the environment that some measures look at.
        behavior = np.atleast_1d(np.asarray(self.behavior(episode), np.float64))
        fitness = float(self.fitness(episode))
        each, ones = np.asarray(inputs, np.float64), np.ones(len(inputs))
        seen = pool(Moments(ones, each, np.zeros_like(each)), ones > 0) if inputs else None
        return Trial(behavior, fitness, len(episode.rewards), seen, tuple(pictures))

    def close(self) -> None:
        """Give up the environment, and what it draws with."""
        self.env.close()

    def _episode(self, seed: int, act: Callable[[Any], Any], pictures: list[bytes]) -> Episode:
        """One episode; its pictures, if the environment draws, are added to those there are."""
        env, camera = self.env, self.camera
        observation, info = env.reset(seed=seed)
        episode = Episode(env, [observation], info)
        limit = self.options.num_steps or sys.maxsize
        terminated = truncated = False
        pictures += camera.pictures(env, 0, False) if camera else ()
        while not (terminated or truncated):
            observation, reward, terminated, truncated, episode.info = env.step(act(observation))
            episode.observations.append(observation)
            episode.rewards.append(float(reward))
            # Our limit, beside that of the environment.
            truncated = truncated or len(episode.rewards) >= limit
            pictures += camera.pictures(env, len(episode.rewards), terminated or truncated) if camera else ()
        episode.terminated, episode.truncated = bool(terminated), bool(truncated)
        return episode


def _actions(space: Any) -> Actions:
    """How a network's outputs become an action."""
    import gymnasium

    if isinstance(space, gymnasium.spaces.Discrete):
        return choice(int(space.n), int(space.start))
    if not isinstance(space, gymnasium.spaces.Box):
        raise ConfigError(f"Actions must be a Box or Discrete, got {space}. Wrap the environment to map them.")
    low, high = (np.ravel(bound).astype(np.float64) for bound in (space.low, space.high))
    # Without bounds, or with some, an output is the action itself, clipped to those there are.
    middle, half = np.zeros_like(low), np.ones_like(low)
    if space.is_bounded():  # an output of -1 to 1 spans the range
        middle, half = (low + high) / 2, (high - low) / 2
        low, high = -np.ones_like(low), np.ones_like(low)
    return Actions(low, high, middle, half, space.shape, space.dtype.name)


def _observer(space: Any) -> Callable[[Any], HostArray]:
    """How an observation becomes a vector of float32."""
    import gymnasium

    if isinstance(space, gymnasium.spaces.Box):
        return lambda observation: np.asarray(observation, np.float32).ravel()
    if not space.is_np_flattenable:
        raise ConfigError(f"Observations of this environment cannot be made a vector: {space}.")
    return lambda observation: np.asarray(gymnasium.spaces.flatten(space, observation), np.float32)
