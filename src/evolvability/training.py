"""The driver: runs generations, batches seeds, keeps the run folder, resumes."""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from evolvability.assembly import build_algorithm, build_population
from evolvability.checkpoints import Arrays, checkpoint_generations, load_checkpoint, restore
from evolvability.config import Config, layered, parse_objective
from evolvability.errors import ConfigError, RunFolderError, UserError
from evolvability.goals import with_goal
from evolvability.interrupts import delayed_interrupts
from evolvability.origins import describe_origin, inherited
from evolvability.runs import RUN_FOLDER_NAMES, Run, RunWriter, locked, metric_arrays
from evolvability.strategy import Info, State, episode_key, noise_key, start, step
from evolvability.tasks.base import Task
from evolvability.tasks.registry import FROM_PYTHON, make_task
from evolvability.types import Outcome, PyTree

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
    **knobs: Any,
) -> Result:
    """Run Evolvability ES on a task.

    Args:
        task: a Task, or the name of a registered one.
        config: the whole configuration; or give single ``knobs``.
        output: a run folder to write; nothing is written unless given.
        on_generation: called with every generation's metrics, one row a seed.
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
    evolution = Evolution(config, None if isinstance(task, str) else task)
    rows: Rows = []

    def collect(new: Rows) -> None:
        rows.extend(new)
        if on_generation is not None:
            on_generation(new)

    if output is None:
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

    def __init__(self, config: Config, task: Task | None = None) -> None:
        self.config = config
        self.task = task or make_task(config.task, config.task_options)
        if config.goal:
            self.task = with_goal(self.task, config.goal)
        if not self.task.has_fitness and any(name == "mean_fitness" for _, name in parse_objective(config.objective)):
            raise ConfigError(
                f"Task '{self.task.name}' has no fitness, so the objective {config.objective} has none to climb."
            )
        self.population = build_population(config)
        self.algorithm = build_algorithm(config, self.population)
        batch: Callable[..., Any] = jax.vmap if config.seeds > 1 else _unbatched
        draws = self.population.draws(config.population_size)
        self.components = jax.jit(
            jax.vmap(lambda key, generation: self.population.components(noise_key(key), generation, draws), (0, None))
        )
        """``(keys, generation) -> (num_seeds, num_draws)``, the component of every draw."""
        self._start = jax.jit(batch(partial(start, self.algorithm, self.task, self.population.num_components)))
        self._init = jax.jit(jax.vmap(self.algorithm.init))
        if self.task.on_host:
            self._ask, self._tell = jax.jit(batch(self.algorithm.ask)), jax.jit(batch(self.algorithm.tell))
            self._step = self._step_on_host
        else:
            self._step = jax.jit(batch(partial(step, self.algorithm, self.task)))
        self._on_accelerator = not self.task.on_host and jax.default_backend() != "cpu"

    def start(self) -> State:
        """The first State, with a seed axis in front."""
        if not self.config.start_from:
            return self._start(self._keys())
        keys, cloud, memory = inherited(Run(self.config.start_from), self.config, self.task, self._keys())
        state = self._init(keys, cloud.center, memory)
        if state.cloud.log_scale is not None and cloud.log_scale is not None:
            state = state._replace(cloud=cloud)
        return state

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

    def _step_on_host(self, state: State) -> tuple[State, Info, Outcome]:
        samples = self._ask(state)
        results = []
        for seed in range(self.config.seeds):
            own_state, own_sample = jax.tree.map(lambda leaf, seed=seed: leaf[seed], (state, samples))
            results.append(self.task.evaluate(episode_key(own_state), own_sample, own_state.memory))
        outcome, memory = jax.tree.map(lambda *leaves: jnp.stack(leaves), *results)
        state, info = self._tell(state, samples, outcome)
        return state._replace(memory=memory), info, outcome

    def _check_invalid(self, generation: int, info: Info) -> None:
        worst = int(np.max(info.num_invalid))
        if worst > self.config.max_invalid * self.config.population_size:
            raise InvalidMembersError(
                f"{worst} of {self.config.population_size} members were invalid in generation {generation} (their "
                f"behavior or fitness was not finite), more than max_invalid = {self.config.max_invalid} allows. "
                "Look for NaN in the task, or lower sigma or the learning rate."
            )


def train(evolution: Evolution, output: Path, on_generation: Callable[[Rows], None] = lambda rows: None) -> None:
    """Run from the start, into a new run folder."""
    if output.is_dir():
        # A process killed while it made the folder leaves some of these names behind, and no config.toml.
        strangers = {path.name.removesuffix(".part") for path in output.iterdir()} - RUN_FOLDER_NAMES
        if strangers:
            raise RunFolderError(f"{output} is not empty (it has {min(strangers)}). Choose another --output.")
    with locked(output):
        if (output / "config.toml").exists():
            raise RunFolderError(
                f"{output} already holds a run. Go on with: ees resume {output}, or choose another --output."
            )
        state = evolution.start()
        writer = RunWriter(output)
        origin = evolution.config.start_from
        writer.create(evolution.config, describe_origin(Run(origin)) if origin else None)
        writer.checkpoint(state)
        _write_generations(evolution, state, writer, on_generation)


def resume(
    run: Run | str | Path,
    task: Task | None = None,
    *,
    generations: int | None = None,
    on_generation: Callable[[Rows], None] = lambda rows: None,
) -> None:
    """Go on from the newest intact checkpoint; the result is the same, bit for bit, as without the interruption.

    Args:
        run: the run, or the path of its folder.
        task: its task, where that is not one a name leads to.
        generations: a new last generation, to make a finished run longer.
        on_generation: called with every generation's metrics.
    """
    run = run if isinstance(run, Run) else Run(run)
    with locked(run.path):
        config = run.config if generations is None else replace(run.config, generations=generations)
        evolution = Evolution(config, task)
        writer = RunWriter(run.path)
        state = _saved_state(run.path, evolution)
        generation = int(state.generation[0])
        if generation > config.generations:
            raise ConfigError(
                f"{run.path} has already done {generation} generations, more than the {config.generations} asked for."
            )
        if config != run.config:
            writer.write_config(config)
        writer.rewind(generation)
        _write_generations(evolution, state, writer, on_generation)


def _saved_state(path: Path, evolution: Evolution) -> State:
    """The newest intact checkpoint; the start, when the run was killed before its first."""
    if not checkpoint_generations(path):
        return evolution.start()
    template, arrays = evolution.template(), load_checkpoint(path)[1]
    if jax.tree.leaves(template.optimizer) and not any(name.startswith("optimizer/") for name in arrays):
        raise RunFolderError(
            f"{path} is a light copy of a run: it has no state of the optimizer to go on with. "
            f"Start a new run at its population with: ees train {evolution.config.task} --start-from {path}"
        )
    return restore(template, arrays)


def _write_generations(
    evolution: Evolution, state: State, writer: RunWriter, on_generation: Callable[[Rows], None]
) -> None:
    config = evolution.config
    complete, saved, saved_at = state, state, time.monotonic()
    try:
        for next_state, rows, outcome in evolution.generations(state):
            generation = rows[0]["generation"]
            if generation % config.record_every == 0 or generation == config.generations - 1:
                if config.record_centers:
                    writer.record_center(complete)  # before the behaviors: who sees those finds it
                writer.record_behaviors(generation, behavior_arrays(evolution, next_state, generation, outcome))
            writer.record_metrics(rows)
            complete = next_state
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
    component = evolution.components(state.key, generation)
    return {
        "behavior": np.asarray(outcome.behavior),
        "fitness": np.asarray(outcome.fitness),
        "valid": np.asarray(outcome.valid),
        "component": np.repeat(np.asarray(component, np.uint16), evolution.population.num_signs, axis=1),
    }


def metric_rows(config: Config, task: Task, generation: int, info: Info, centers: Any, seconds: float) -> Rows:
    """One JSON-ready row a seed; what is not finite, or means nothing for the task, is None.

    ``centers``, (num_seeds, num_components, num_params), is recorded where it is given.
    """
    rows = []
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
        row["evaluations"] = (generation + 1) * config.population_size
        if centers is not None:
            row["center"] = centers[k].ravel().tolist()
        rows.append(row)
    return rows


def _unbatched(function: Callable[..., Any]) -> Callable[..., Any]:
    """Like `vmap` over an axis of length one, without making the compiled program pay for the axis."""

    def call(*arguments: Any) -> Any:
        return jax.tree.map(lambda leaf: leaf[None], function(*jax.tree.map(lambda leaf: leaf[0], arguments)))

    return call


def _jsonable(value: Any) -> float | int | None:
    number = value.item()
    return number if math.isfinite(number) else None
