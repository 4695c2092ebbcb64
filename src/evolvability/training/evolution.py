"""A configuration and its task, compiled: all that a run consists of but its State."""

import gc
import math
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from evolvability.config.build import build_algorithm, build_population
from evolvability.config.objective_text import needs_fitness
from evolvability.config.options import no_object
from evolvability.config.pieces import Pieces, check_pieces
from evolvability.config.schema import Config
from evolvability.core.entries import FROM_PYTHON
from evolvability.core.errors import ConfigError, UserError, given
from evolvability.core.keys import noise_key
from evolvability.core.strategy import Algorithm, Info, State
from evolvability.core.types import LARGEST, Outcome, PyTree
from evolvability.methods.maml import Meta, maml
from evolvability.methods.policy_gradient import Exploration
from evolvability.methods.registry import MAML
from evolvability.runs.folder import Run
from evolvability.tasks.base import Task, with_episodes, world_of
from evolvability.tasks.checking import checked, trace
from evolvability.tasks.goals import judge, with_goal
from evolvability.tasks.registry import make_task
from evolvability.training import metrics
from evolvability.training.generation import Where, exploring, in_chunks, on_workers, seed_by_seed, start, step, whole
from evolvability.training.interrupts import delayed_interrupts
from evolvability.training.sharding import replicated, spread_population, spread_task, usable
from evolvability.training.starts import inherited, is_run, taken
from evolvability.workers.evaluator import Evaluator
from evolvability.workers.pools import Pool

Step = Callable[[State], tuple[State, Info, Outcome]]


class InvalidMembersError(UserError):
    """Too many members of a generation broke down."""


class Evolution:
    """What a configuration trains, and how."""

    def __init__(
        self,
        config: Config,
        task: Task | None = None,
        pool: Pool | None = None,
        pieces: Pieces = Pieces(),  # noqa: B008 (a tuple)
        start_from: PyTree = None,
    ) -> None:
        # What a former run compiled is held in circles of references, megabytes that Python leaves for dozens of runs.
        gc.collect()
        check_pieces(config, pieces)
        self.config = config
        self._start_from = start_from  # arrays, which a configuration does not hold
        self.given = task = task or make_task(config.task, config.task_options)  # as it was given, or is named
        if type(task.options) is type(config.task_options):
            self.config = config = replace(config, task_options=task.options)
        is_own = ":" in config.task  # of the user's, as an object or as module:name
        task = checked(task) if is_own else task
        if config.explores:
            if pool is not None:
                raise ConfigError("Actions are drawn on the device, not on workers. Leave out workers, or action_std.")
            # What is seen of an episode is where it led, not the task's own fitness; and no simulator is asked.
            task = replace(task, has_fitness=False, on_host=False, simulator=None)
        # The goal again, beside the task's own below: outcomes of workers and worlds do not pass through the task.
        self._judge = judge(config.goal, task)
        # What members are asked to do, with the run's goal for fitness.
        self.task = with_episodes(_asked(task, config), config.episodes)
        population = pieces.population or build_population(config, self.task.shapes)
        self.devices = _devices(config, self.task, population.num_signs)  # that the population is spread over
        self.population = spread_population(population, self.devices)  # of MAML, its center's
        is_maml = config.objective == MAML
        self.algorithm: Algorithm | Meta
        self.evaluator: Evaluator | None = None  # of members by simulators; None where `Task.evaluate` does that
        if is_maml:
            self.algorithm = maml(world_of(self.task), config.objective_options)
        else:
            self.algorithm = build_algorithm(config, self.population, len(self.task.behavior), pieces)
            if pool is not None or self.task.simulator is not None:
                self.evaluator = Evaluator(config, self.task, population.num_signs, pool or Pool(), pieces.population)
        self._on_accelerator = jax.default_backend() != "cpu" and (is_maml or not self.task.on_host)
        self._batch: Callable[..., Any] = jax.vmap if config.seeds > 1 else seed_by_seed
        self._jit = partial(jax.jit, compiler_options=_compiler_options(config))
        self._compile = partial(self._jit, out_shardings=replicated(self.devices))
        self._begin = self._batch(partial(start, self.algorithm, self.task, self.population.num_components))
        if is_own and isinstance(self.algorithm, Algorithm) and not (self.task.on_host or config.explores):
            one_seed = jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape[1:], leaf.dtype), self.template())
            trace(self.task, self.algorithm.ask, one_seed)
        self._step = self._prepared_step()
        # The episodes of MAML are not draws of a population: all belong to its one center.
        draws = jnp.arange(1) if is_maml else self.population.draws(config.population_size)
        # ``(keys, generation) -> (num_seeds, num_draws)``, the component of every draw.
        self.components = jax.jit(
            jax.vmap(lambda key, generation: self.population.components(noise_key(key), generation, draws), (0, None))
        )

    def _prepared_step(self) -> Step:
        """One generation of all seeds: compiled in one piece on devices, out of compiled parts on the host."""
        if isinstance(self.algorithm, Meta):
            return self._compile(self._batch(self.algorithm.step))
        if self.evaluator is not None:
            # Seed by seed, not by vmap, so that a seed's bits are those it has alone.
            parts = Algorithm(*(seed_by_seed(self._jit(part)) for part in self.algorithm))
            return partial(step, parts, on_workers(self.evaluator, self._judge, self.config.seed))
        if self.task.on_host:
            parts = Algorithm(*(self._jit(part) for part in self.algorithm))
            where = self._where(parts, self.task)
            return seed_by_seed(partial(step, parts, where._replace(gradient=self._jit(where.gradient))))
        where = self._where(self.algorithm, spread_task(self.task, self.devices))
        return self._compile(self._batch(partial(step, self.algorithm, where)))

    def _where(self, algorithm: Algorithm, task: Task) -> Where:
        if self.config.explores:
            exploration = Exploration(world_of(task), self.config.action_std, self.config.times)
            by_actions = self.config.estimator == "actions"
            return exploring(algorithm, self.population, exploration, self._judge, by_actions=by_actions)
        if self.config.chunk_size in (0, self.config.population_size):
            return whole(algorithm, self.population, task)
        num_chunks = self.config.population_size // self.config.chunk_size
        chunks = self.population.draws(self.config.population_size).reshape(num_chunks, -1)
        return in_chunks(algorithm, self.population, task, chunks)

    def start(self) -> State:
        """The first State, with a seed axis in front."""
        source = self.config.start_from if self._start_from is None else self._start_from
        rest = (self.config, self.task, self._keys(), self.population.num_components)
        if isinstance(source, str) and source.startswith(FROM_PYTHON):
            raise no_object("start_from", source)
        if isinstance(source, str) and not source:
            return self._compile(self._begin)(self._keys())
        keys, parameters, memory = inherited(Run(source), *rest) if is_run(source) else taken(source, *rest)
        state = self._compile(jax.vmap(self.algorithm.init))(keys, parameters.center, memory)
        # Learned scales are inherited only where both runs learn them; otherwise they start at sigma.
        if state.parameters.log_scale is not None and parameters.log_scale is not None:
            state = state._replace(parameters=parameters)
        return state

    def place(self, state: State) -> State:
        """A State that was read from a file where the next step wants it: on every device."""
        return self._compile(lambda state: state)(state)

    def template(self) -> State:
        """The shapes of a State."""
        return jax.eval_shape(lambda: self._begin(self._keys()))

    def generations(self, state: State) -> Iterator[tuple[State, metrics.Rows, Outcome]]:
        """Run from a State to the last generation; yields each one's State, metrics and outcome, that on the host."""
        is_said = False
        # All seeds are at the same generation.
        for generation in range(int(state.generation[0]), self.config.generations):
            began = time.perf_counter()
            is_small = math.prod(state.parameters.center.shape[1:]) <= metrics.MAX_RECORDED_CENTER
            # Of the state before the step: what this generation's members are drawn around.
            centers = state.parameters.center if is_small else None
            with delayed_interrupts() if self._on_accelerator else nullcontext():
                state, info, outcome = self._step(state)
                # Waits for the step. What members did comes along to the host, where the neighbors are.
                info, centers, did = jax.device_get((info, centers, outcome))
            values = metrics.with_entropy(info, did)
            seconds = time.perf_counter() - began
            rows = metrics.metric_rows(self.config, self.task.has_fitness, generation, values, centers, seconds)
            # Before it is handed on: a generation that is refused is not recorded, and a resumed run does it again.
            self._check_invalid(generation, values)
            if generation == 0 and (text := metrics.sameness_notice(self.config, self.task.behavior, did)):
                warnings.warn(text, stacklevel=2)
            if not is_said and (text := metrics.outlier_notice(self.config, generation, values["outlier"])):
                warnings.warn(text, stacklevel=2)
                is_said = True
            yield state, rows, did

    def _keys(self) -> Array:
        # In JAX's 32 bits, hence the bound on `Config.seed`.
        return jax.vmap(jax.random.key)(jnp.arange(self.config.seed, self.config.seed + self.config.seeds))

    def _check_invalid(self, generation: int, info: Mapping[str, Any]) -> None:
        worst = int(np.max(info["num_invalid"]))
        if worst > self.config.max_invalid * self.config.population_size:
            raise InvalidMembersError(
                f"{worst} of {self.config.population_size} members were invalid in generation {generation} (their "
                f"simulator failed, or their behavior or fitness was not finite, or beyond {LARGEST:g}), more than "
                f"max_invalid = {self.config.max_invalid} allows. Look for NaN and extremes in the task, or lower "
                "sigma or the learning rate."
            )


def _compiler_options(config: Config) -> dict[str, Any] | None:
    """What makes a compiled generation repeat bit for bit; None where it does anyway, or is not asked to."""
    if not config.deterministic or jax.default_backend() == "cpu":
        return None
    # Otherwise every process times several kernels and takes the fastest, and some add up in no fixed order.
    return {"xla_gpu_deterministic_ops": True}


def _asked(task: Task, config: Config) -> Task:
    """The task, with what the configuration wants of its members."""
    if config.goal:
        task = with_goal(task, config.goal)
    if not task.has_fitness and needs_fitness(config.objective):
        raise ConfigError(
            f"Task '{task.name}' has no fitness{' with drawn actions' if config.explores else ''}, so the objective "
            f"{config.objective} has none to climb. Give it one, such as {given(goal='right')}."
        )
    return task


def _devices(config: Config, task: Task, num_signs: int) -> Any:
    """Those that a generation runs on; one alone where episodes are followed step by step, and in Python."""
    in_world = config.objective == MAML or config.explores
    if jax.process_count() > 1:
        raise ConfigError("A run is one process of JAX's. To use many machines, write the task in Python, for Dask.")
    if not task.on_host and not in_world:
        return usable(jax.devices(), (config.chunk_size or config.population_size) // num_signs)
    return jax.devices()[:1]
