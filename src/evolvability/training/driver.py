"""The driver: runs generations, batches seeds, keeps the run folder, resumes."""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from evolvability.config.build import build_algorithm, build_population
from evolvability.config.schema import ES_MAML, MAML, Config, layered, to_toml
from evolvability.core.errors import ConfigError, RunFolderError, UserError
from evolvability.core.strategy import Info, State, compiled_parts, describe, noise_key, start, step, step_in_chunks
from evolvability.core.types import Cloud, Outcome, PyTree
from evolvability.methods.es_maml import adapting
from evolvability.methods.maml import maml, outer_step
from evolvability.methods.registry import needs_fitness
from evolvability.runs.checkpoints import Arrays, checkpoint_generations, load_checkpoint, restore
from evolvability.runs.folder import RUN_FOLDER_NAMES, Run, RunWriter, locked, metric_arrays
from evolvability.runs.trained import describe_origin, inherited
from evolvability.tasks.base import Task, world_of
from evolvability.tasks.goals import judge, with_goal
from evolvability.tasks.registry import FROM_PYTHON, make_task
from evolvability.tasks.simulators import absorb, outcome_of
from evolvability.training.interrupts import delayed_interrupts
from evolvability.training.processes import agree, first_alone, is_first
from evolvability.training.sharding import local, replicated, spread_population, spread_task, usable
from evolvability.workers.connect import Crew, Workers, opened
from evolvability.workers.evaluator import Evaluator, name_invalid
from evolvability.workers.pools import InProcess

Rows = list[dict[str, Any]]
MAX_RECORDED_CENTER = 16


class InvalidMembersError(UserError):
    """Too many members of a generation broke down."""


@dataclass(frozen=True)
class Result:
    """What `evolve` returns.

    Attributes:
        state: the last State, with a seed axis in front.
        metrics: every metric by name, (num_seeds, num_generations).
        centers: (num_seeds, num_components, num_params) the last centers.
        task: the task, whose ``unflatten`` turns a center back into parameters.
    """

    state: State
    metrics: Arrays
    centers: Array
    task: Task

    @property
    def center(self) -> PyTree:
        """The last center (of the first seed and component), in the form the task's author gave parameters."""
        return self.task.unflatten(self.centers[0, 0])


def evolve(
    task: Task | str,
    config: Config | None = None,
    *,
    output: str | Path | None = None,
    on_generation: Callable[[Rows], None] | None = None,
    workers: Workers = None,
    **knobs: Any,
) -> Result:
    """Run Evolvability ES on a task.

    Args:
        task: a Task, or the name of a registered one.
        config: the whole configuration; or give single ``knobs``.
        output: a run folder to write; nothing is written unless given.
        on_generation: called with every generation's metrics, one row a seed.
        workers: where a task with a simulator of its own is evaluated: in this process unless given; or a number of
            local processes, a Dask address or ``Client``, or any ``concurrent.futures.Executor``.
        **knobs: fields of `Config`, e.g. ``objective="max_variance", sigma=0.1, generations=50``.

    Examples:
        >>> result = evolve("point", generations=3, population_size=32)
        >>> result.metrics["variance"].shape
        (1, 3)
    """
    if config is None:
        config = layered(task if isinstance(task, str) else FROM_PYTHON + task.name, values=knobs)
    elif knobs:
        raise ConfigError(f"Give either a whole config or single knobs, got both: {', '.join(knobs)}.")
    elif isinstance(task, str) and task != config.task:
        raise ConfigError(f"The configuration is for task '{config.task}', but the task given is '{task}'.")
    rows: Rows = []

    def collect(new: Rows) -> None:
        rows.extend(new)
        if on_generation is not None:
            on_generation(new)

    with opened(workers) as crew:
        evolution = Evolution(config, None if isinstance(task, str) else task, None if workers is None else crew)
        if output is None or not is_first():
            state = evolution.start()
            for new_state, new_rows, _ in evolution.generations(state):
                state = new_state
                collect(new_rows)
            return Result(state, metric_arrays(rows, config.seeds), state.cloud.center, evolution.task)
        train(evolution, Path(output), collect)
    run = Run(output)
    state = restore(evolution.template(), run.state())
    return Result(state, run.metrics, state.cloud.center, evolution.task)


class Evolution:
    """A configuration and its task, compiled: all that a run consists of but its State."""

    def __init__(self, config: Config, task: Task | None = None, crew: Crew | None = None) -> None:
        agree(to_toml(config))
        self.config = config
        self.task = task or make_task(config.task, config.task_options)
        self._judge = judge(config.goal, self.task)
        if config.goal:
            self.task = with_goal(self.task, config.goal)
        if config.objective == ES_MAML:
            self.task = adapting(self.task, episodes=config.maml.episodes, sigma=config.sigma)
        if not self.task.has_fitness and needs_fitness(config.objective):
            raise ConfigError(
                f"Task '{self.task.name}' has no fitness, so the objective {config.objective} has none to climb."
            )
        batch: Callable[..., Any] = jax.vmap if config.seeds > 1 else _unbatched
        self._step: Callable[[State], tuple[State, Info, Outcome]]
        self.components: Callable[..., Array]
        """``(keys, generation) -> (num_seeds, num_draws)``, the component of every draw."""
        if config.objective == MAML:
            self._prepare_maml(batch)
        else:
            self._prepare_strategy(batch, crew)

    def _prepare_strategy(self, batch: Callable[..., Any], crew: Crew | None) -> None:
        config = self.config
        if self.task.on_host and jax.process_count() > 1:
            raise ConfigError(
                f"Task '{self.task.name}' runs on {self.task.engine or 'the host, in Python'}, in one process alone. "
                "Several need a task that runs on JAX's devices; for the robots choose --engine mjx."
            )
        population = build_population(config, self.task.shapes)
        num_draws = (config.chunk_size or config.population_size) // population.num_signs
        self.devices = jax.local_devices()[:1] if self.task.on_host else usable(jax.devices(), num_draws)
        self.population = spread_population(population, self.devices)
        self.algorithm = build_algorithm(config, self.population, len(self.task.behavior))
        draws = self.population.draws(config.population_size)
        self.components = jax.jit(
            jax.vmap(lambda key, generation: self.population.components(noise_key(key), generation, draws), (0, None))
        )
        compiled = partial(jax.jit, out_shardings=replicated(self.devices))
        self._start = compiled(batch(partial(start, self.algorithm, self.task, self.population.num_components)))
        self._init = compiled(jax.vmap(self.algorithm.init))
        if crew is not None or self.task.simulator is not None:
            self.evaluator = Evaluator(config, self.task, self.population.num_signs, crew or Crew(InProcess()))
            self._remember, self._weigh = jax.jit(self.algorithm.remember), jax.jit(self.algorithm.weigh)
            self._finish = jax.jit(self._ascend_and_describe)
            self._step = self._step_on_workers
        elif self.task.on_host:
            self._step = _seed_by_seed(self._generation())
        else:
            self._step = compiled(batch(self._generation()))
        self._on_accelerator = not self.task.on_host and jax.default_backend() != "cpu"

    def _prepare_maml(self, batch: Callable[..., Any]) -> None:
        if jax.process_count() > 1:
            raise ConfigError("MAML runs in one process alone. Leave out the options of several.")
        self.devices = jax.local_devices()[:1]
        self.meta = maml(world_of(self.task), self.config.maml)
        self.components = lambda keys, generation: jnp.zeros((len(keys), 1), jnp.uint16)
        self._start = jax.jit(batch(partial(start, self.meta, self.task, 1)))
        self._init = jax.jit(jax.vmap(self.meta.init))
        self._step = jax.jit(batch(partial(outer_step, self.meta)))
        self._on_accelerator = jax.default_backend() != "cpu"

    def start(self) -> State:
        """The first State, with a seed axis in front."""
        if not self.config.start_from:
            return self._start(self._keys())
        keys, cloud, memory = inherited(Run(self.config.start_from), self.config, self.task, self._keys())
        state = self._init(keys, cloud.center, memory)
        if state.cloud.log_scale is not None and cloud.log_scale is not None:
            state = state._replace(cloud=cloud)
        return state

    def place(self, state: State) -> State:
        """A State that was read from a file where the next step wants it: on every device."""
        everywhere = replicated(self.devices)
        return jax.jit(lambda state: state, out_shardings=everywhere)(state)

    def template(self) -> State:
        """The shapes of a State."""
        return jax.eval_shape(lambda: self._start(self._keys()))

    def _keys(self) -> Array:
        return jax.vmap(jax.random.key)(jnp.arange(self.config.seed, self.config.seed + self.config.seeds))

    def generations(self, state: State) -> Iterator[tuple[State, Rows, Outcome]]:
        """Run from a State to the last generation; yields the State, the metrics and the outcome of each."""
        for generation in range(int(state.generation[0]), self.config.generations):
            began = time.perf_counter()
            centers = state.cloud.center
            with delayed_interrupts() if self._on_accelerator else nullcontext():
                state, info, outcome = self._step(state)
                # Waits for the step; small centers come along, to be recorded.
                info, centers = jax.device_get(
                    (info, centers if math.prod(centers.shape[1:]) <= MAX_RECORDED_CENTER else None)
                )
            rows = metric_rows(self.config, self.task, generation, info, centers, time.perf_counter() - began)
            self._check_invalid(generation, info)
            yield state, rows, outcome

    def _generation(self) -> Callable[[State], tuple[State, Info, Outcome]]:
        """One generation of one seed, to be compiled; on the host, out of compiled parts."""
        algorithm = compiled_parts(self.algorithm) if self.task.on_host else self.algorithm
        task = self.task if self.task.on_host else spread_task(self.task, self.devices)
        if self.config.chunk_size in (0, self.config.population_size):
            return partial(step, algorithm, task)
        return partial(step_in_chunks, algorithm, task, self.config.population_size // self.config.chunk_size)

    def _step_on_workers(self, state: State) -> tuple[State, Info, Outcome]:
        states = [jax.tree.map(lambda leaf, seed=seed: leaf[seed], state) for seed in range(self.config.seeds)]
        broadcasts = [self.evaluator.broadcast(own) for own in states]
        parts = self.evaluator.evaluate(broadcasts)
        outcomes = [self._judge(outcome_of(part)) for part in parts]
        states = [self._remember(own, outcome) for own, outcome in zip(states, outcomes, strict=True)]
        weights, values = zip(*map(self._weigh, states, outcomes), strict=True)
        gradients = self.evaluator.gradient(broadcasts, weights)
        self.evaluator.forget(broadcasts)
        results = []
        for seed, (own, part) in enumerate(zip(states, parts, strict=True)):
            name_invalid(part, int(own.generation), self.config.seed + seed)
            new, info = self._finish(own, outcomes[seed], values[seed], gradients[seed])
            results.append((new._replace(memory=absorb(own.memory, part.seen)), info, outcomes[seed]))
        return jax.tree.map(lambda *leaves: jnp.stack(leaves), *results)

    def _ascend_and_describe(self, state: State, outcome: Outcome, value: Array, gradient: Cloud) -> tuple[State, Info]:
        nobody = self.population.sample(noise_key(state.key), state.cloud, state.generation, jnp.zeros(0, jnp.int32))
        return self.algorithm.ascend(state, gradient), describe(nobody, outcome, value, gradient)

    def _check_invalid(self, generation: int, info: Info) -> None:
        worst = int(np.max(info.num_invalid))
        if worst > self.config.max_invalid * self.config.population_size:
            raise InvalidMembersError(
                f"{worst} of {self.config.population_size} members were invalid in generation {generation} (their "
                f"behavior or fitness was not finite), more than max_invalid = {self.config.max_invalid} allows. "
                "Look for NaN in the task, or lower sigma or the learning rate."
            )


def train(evolution: Evolution, output: Path, on_generation: Callable[[Rows], None] = lambda rows: None) -> None:
    """Run from the start, into a new run folder; of several processes, the first one writes."""
    with ExitStack() as held:
        state = evolution.start()  # first: where it starts from may be missing
        with first_alone() as first:
            writer = _new_folder(output, evolution.config, held) if first else None
        if writer:
            writer.checkpoint(local(state))
        _write_generations(evolution, state, writer, on_generation)


def resume(
    run: Run | str | Path,
    task: Task | None = None,
    *,
    generations: int | None = None,
    on_generation: Callable[[Rows], None] = lambda rows: None,
    workers: Workers = None,
) -> None:
    """Go on from the newest intact checkpoint; the result is the same, bit for bit, as without the interruption.

    Args:
        run: the run, or the path of its folder.
        task: its task, where that is not one a name leads to.
        generations: a new last generation, to make a finished run longer.
        on_generation: called with every generation's metrics.
        workers: as for `evolve`; they may be others than before.
    """
    run = run if isinstance(run, Run) else Run(run)
    config = run.config if generations is None else replace(run.config, generations=generations)
    with ExitStack() as held:
        with first_alone() as first:
            writer = _locked_folder(run.path, held) if first else None
        crew = None if workers is None else held.enter_context(opened(workers))
        evolution = Evolution(config, task, crew)
        state = _saved_state(run.path, evolution)
        generation = int(state.generation[0])
        if generation > config.generations:
            raise ConfigError(
                f"{run.path} has already done {generation} generations, more than the {config.generations} asked for."
            )
        if writer:
            if config != run.config:
                writer.write_config(config)
            writer.rewind(generation)
        _write_generations(evolution, state, writer, on_generation)


def _new_folder(output: Path, config: Config, held: ExitStack) -> RunWriter:
    if output.is_dir():
        # A process killed while it made the folder leaves some of these names behind, and no config.toml.
        strangers = {path.name.removesuffix(".part") for path in output.iterdir()} - RUN_FOLDER_NAMES
        if strangers:
            raise RunFolderError(f"{output} is not empty (it has {min(strangers)}). Choose another --output.")
    writer = _locked_folder(output, held)
    if (output / "config.toml").exists():
        raise RunFolderError(
            f"{output} already holds a run. Go on with: ees resume {output}, or choose another --output."
        )
    writer.create(config, describe_origin(Run(config.start_from)) if config.start_from else None)
    return writer


def _locked_folder(path: Path, held: ExitStack) -> RunWriter:
    held.enter_context(locked(path))
    return RunWriter(path)


def _saved_state(path: Path, evolution: Evolution) -> State:
    """The newest intact checkpoint; the start, when the run was killed before its first."""
    if not checkpoint_generations(path):
        return evolution.start()
    template, arrays = evolution.template(), load_checkpoint(path)[1]
    if (
        "optimizer" in template._fields
        and jax.tree.leaves(template.optimizer)
        and not any(name.startswith("optimizer/") for name in arrays)
    ):
        raise RunFolderError(
            f"{path} is a light copy of a run: it has no state of the optimizer to go on with. "
            f"Start a new run at its population with: ees train {evolution.config.task} --start-from {path}"
        )
    return evolution.place(restore(template, arrays))


def _write_generations(
    evolution: Evolution, state: State, writer: RunWriter | None, on_generation: Callable[[Rows], None]
) -> None:
    if writer is None:  # another process does it
        for _ in evolution.generations(state):
            pass
        return
    config = evolution.config
    complete = saved = local(state)
    saved_at = time.monotonic()
    try:
        for next_state, rows, outcome in evolution.generations(state):
            generation = rows[0]["generation"]
            own = local(next_state)
            if generation % config.record_every == 0 or generation == config.generations - 1:
                if config.record_centers and config.objective != MAML:  # whose members are no mutations
                    writer.record_center(complete)  # before the behaviors: who sees those finds it
                writer.record_behaviors(generation, behavior_arrays(evolution, own, generation, local(outcome)))
            writer.record_metrics(rows)
            complete = own
            if time.monotonic() - saved_at >= config.checkpoint_seconds:
                writer.checkpoint(complete)
                saved, saved_at = complete, time.monotonic()
            on_generation(rows)
    finally:
        # Also when interrupted: no generation that was recorded is lost.
        if saved is not complete:
            writer.checkpoint(complete)


def behavior_arrays(evolution: Evolution, state: State, generation: int, outcome: Outcome) -> Arrays:
    """What is kept of a generation's behaviors, with a seed axis in front."""
    component, num_members = evolution.components(state.key, generation), outcome.valid.shape[1]
    return {
        "behavior": np.asarray(outcome.behavior),
        "fitness": np.asarray(outcome.fitness),
        "valid": np.asarray(outcome.valid),
        "component": np.repeat(np.asarray(component, np.uint16), num_members // component.shape[1], axis=1),
    }


def metric_rows(config: Config, task: Task, generation: int, info: Info, centers: Any, seconds: float) -> Rows:
    """One JSON-ready row a seed; what is not finite, or means nothing for the task, is None.

    ``centers``, (num_seeds, num_components, num_params), is recorded where it is given.
    """
    rows = []
    episodes = 1 + config.maml.episodes if config.objective == ES_MAML else 1
    for k in range(config.seeds):
        values: dict[str, Any] = {name: _jsonable(values[k]) for name, values in info._asdict().items()}
        if not task.has_fitness:
            values["fitness_mean"] = values["fitness_max"] = None
        row: dict[str, Any] = {
            "generation": generation,
            "seed": config.seed + k,
            **values,
            "seconds": round(seconds, 6),
        }
        row["evaluations"] = (generation + 1) * config.population_size * episodes
        if centers is not None:
            row["center"] = centers[k].ravel().tolist()
        rows.append(row)
    return rows


def _seed_by_seed(function: Callable[[PyTree], PyTree]) -> Callable[[PyTree], PyTree]:
    """Like `vmap`, for a function that is ordinary Python."""

    def call(batch: PyTree) -> PyTree:
        num_seeds = len(jax.tree.leaves(batch)[0])
        results = [function(jax.tree.map(lambda leaf, seed=seed: leaf[seed], batch)) for seed in range(num_seeds)]
        return jax.tree.map(lambda *leaves: jnp.stack(leaves), *results)

    return call


def _unbatched(function: Callable[..., Any]) -> Callable[..., Any]:
    """Like `vmap` over an axis of length one, without making the compiled program pay for the axis."""

    def call(*arguments: Any) -> Any:
        return jax.tree.map(lambda leaf: leaf[None], function(*jax.tree.map(lambda leaf: leaf[0], arguments)))

    return call


def _jsonable(value: Any) -> float | int | None:
    """A number in the digits that tell it from every other of its own type, and no more; None where not finite."""
    number = value.item()
    if not math.isfinite(number):
        return None
    return float(str(np.asarray(value)[()])) if isinstance(number, float) else number
