"""Runs from start to end: `evolve` in Python, `train` into a run folder, `resume` from one."""

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

from evolvability.config.pieces import Pieces, split_pieces, split_start
from evolvability.config.schema import Config, layered
from evolvability.config.tables import merged
from evolvability.core.entries import FROM_PYTHON
from evolvability.core.errors import ConfigError, TaskError, unknown
from evolvability.core.populations import Population
from evolvability.core.strategy import State
from evolvability.core.types import Outcome
from evolvability.methods.registry import MAML
from evolvability.runs.checkpoints import check_config
from evolvability.runs.folder import Run
from evolvability.runs.histograms import histogram_rows
from evolvability.runs.population import TrainedPopulation
from evolvability.runs.rows import HISTOGRAMS, METRICS, PackedRows
from evolvability.runs.sealed import Arrays
from evolvability.runs.trees import named_arrays
from evolvability.runs.trust import check_trust
from evolvability.runs.writer import RunWriter, damage_in, set_aside
from evolvability.tasks.base import Task
from evolvability.tasks.checking import check_is_task
from evolvability.tasks.policies import MakePolicy
from evolvability.tasks.registry import ROBOT, is_robot_file, make_task, policy_in
from evolvability.training.evolution import Evolution
from evolvability.training.folders import discard, locked_folder, new_folder, saved_state
from evolvability.training.following import Follow, Generation, StopTraining, logged
from evolvability.training.interrupts import Terminated, terminations
from evolvability.training.metrics import valid_episodes
from evolvability.training.progress import live
from evolvability.workers.connect import Workers, are_none, opened


@dataclass(frozen=True, repr=False)
class TrainingResult(TrainedPopulation):
    """What `evolve` returns: a trained population, to `pick` a mutation of, draw `mutations`, act by a `policy`."""

    state: State
    """The State after the last generation; arrays have a seed axis in front."""
    metrics: Arrays
    """Every metric by name, (num_seeds, num_generations)."""
    task: Task
    """The task."""
    config: Config
    """The run's configuration."""
    by_name: bool
    """Whether the task is the one that the configuration names, not an object of yours."""
    _behaviors: Arrays
    """What the last generation did, by name."""
    population: Population | None = None
    """The population that members were drawn from, where it was given as an object."""

    def __repr__(self) -> str:
        what = f"{self.config.task_title}, {self.config.objective}"
        return f"TrainingResult({what}, seeds: {', '.join(map(str, self.seeds))}; generations: {self.generations_done})"

    def _ended_with(self) -> tuple[int, Arrays]:
        """The number of generations that were done, and the last State's arrays by name, as in a checkpoint."""
        return self.generations_done, named_arrays(self.state)

    @property
    def generations_done(self) -> int:
        """How many generations were done."""
        return int(self.state.generation[0])

    @property
    def behavior_names(self) -> list[str]:
        """The names of the behavior dimensions, with their units."""
        return list(self.task.behavior)

    def behaviors(self) -> Arrays:
        """What the members of the last generation did; `Run.behaviors` has every recorded generation.

        Returns:
            ``behavior`` (num_seeds, num_members, num_behaviors); ``fitness``, ``valid``, ``component``
            (num_seeds, num_members).
        """
        return self._behaviors


def evolve(
    task: Task | str,
    config: Config | None = None,
    *,
    policy: MakePolicy | str | None = None,
    output: str | Path | None = None,
    overwrite: bool = False,
    on_generation: Follow = lambda generation: None,
    log: str | Sequence[str] = (),
    workers: Workers = None,
    progress: bool = True,
    **settings: Any,
) -> TrainingResult:
    """Run Evolvability ES on a task.

    Args:
        task: a Task, or the name of a registered one.
        config: the whole configuration; or give single ``settings``.
        policy: the members' network, for a task by name: ``mlp((64, 64))``, ``gru(64)``, one of your own, or its
            ``"module:name"``, by which a run folder finds it again.
        output: a run folder to write; default: nothing is written.
        overwrite: replace a run that the folder holds.
        on_generation: called with every `Generation`: its metrics, a row per seed, and on demand the center and the
            behaviors. It may raise `StopTraining` to end the run early.
        log: further places for metrics, ``"tensorboard"``, ``"wandb"`` or both.
        workers: where a task with a simulator of its own is evaluated: a number of local processes, a Dask address or
            ``Client``; default: in this process.
        progress: show how far it is, on a terminal and in a notebook.
        **settings: fields of `Config`, e.g. ``objective="max_variance", sigma=0.1, generations=50``. Instead of names,
            ``objective``, ``population`` and ``optimizer`` may be objects: any function ``(outcome, log_prob) ->
            scalar``, a `Population`, an optax optimizer. ``start_from`` may be arrays: a pytree as the task's
            parameters are, or a mapping of arrays, layer by layer.

    Examples:
        >>> run = evolve("point", generations=3, population_size=32)
        >>> run.metrics["variance"].shape
        (1, 3)
        >>> run.pick("left", mutations=10).policy([0.0, 0.0, 0.0, 0.0]).shape  # the action at an observation
        (2,)
    """
    check_is_task(task)
    settings, pieces = split_pieces(settings)
    settings, start = split_start(settings)
    config = _settled(task, config, policy, settings)
    if not isinstance(output, str | Path | None):
        raise ConfigError(f"output must be the path of a folder, or None, got {output!r}.")
    rows, path = PackedRows(config.seeds), None if output is None else Path(output)
    own_task = None if isinstance(task, str) else task
    if "task" in config.from_python and isinstance(task, str):
        own_task = make_task(config.task, config.task_options, policy=policy)
    with ExitStack() as held:
        pool = None if are_none(workers) else held.enter_context(opened(workers))
        evolution = Evolution(config, own_task, pool, pieces, start)
        write = held.enter_context(logged(log, config, path))
        show = held.enter_context(live(evolution, progress))
        each = _all(rows.extend, show, write, on_generation)
        state, did = train(evolution, path, each, overwrite=overwrite)
    by_name = own_task is None or own_task.options is not None
    return TrainingResult(state, rows.arrays(), evolution.given, evolution.config, by_name, did, pieces.population)


def _settled(
    task: Task | str, config: Config | None, policy: MakePolicy | str | None, settings: dict[str, Any]
) -> Config:
    """The configuration of a run, from a whole one or from single settings."""
    if policy is not None:
        if not isinstance(task, str):
            raise ConfigError("policy: a Task has its network. Give it to what makes the task, as make_task does.")
        settings["task_options"] = merged(settings.get("task_options", {}), policy_in(task, policy))
    if config is None:
        if isinstance(task, str) or task.options is None:
            return layered(task if isinstance(task, str) else FROM_PYTHON + task.name, values=settings)
        # A robot from a file can be made again by name.
        return layered(ROBOT, values=merged({"task_options": asdict(task.options)}, settings))
    if settings:
        raise ConfigError(f"Give either a whole config or single settings, got both: {', '.join(settings)}.")
    if isinstance(task, str) and config.task != (ROBOT if is_robot_file(task) else task):
        raise ConfigError(f"The configuration is for task '{config.task}', but the task given is '{task}'.")
    return config


def train(
    evolution: Evolution,
    output: Path | None = None,
    on_generation: Follow = lambda generation: None,
    *,
    overwrite: bool = False,
) -> tuple[State, Arrays]:
    """Run from the start, into a new run folder if one is given.

    A run that fails before its first generation is done leaves no folder behind.

    Returns:
        the last State, and what the members of the last generation did, as `Run.behaviors` has it.
    """
    writer = None
    # Holds the folder's lock until the run ends.
    with ExitStack() as held:
        state = evolution.start()  # first: where it starts from may be missing
        if output is not None:
            writer = new_folder(output, evolution, state, held, overwrite=overwrite)
        try:
            return _run(evolution, state, writer, on_generation)
        except Exception:
            if writer:
                discard(writer.path)
            raise


def resume(
    run: Run | str | Path,
    task: Task | None = None,
    *,
    generations: int | None = None,
    on_generation: Follow = lambda generation: None,
    log: str | Sequence[str] = (),
    workers: Workers = None,
    progress: bool = True,
    **pieces: Any,
) -> TrainingResult:
    """Go on from the newest intact checkpoint, as if the run had not been interrupted; returns what `evolve` does.

    Where runs repeat bit for bit (docs/run-folder.md has a table), so does a resumed one.

    Args:
        run: the run, or the path of its folder.
        task: its task, where that is not one a name leads to.
        generations: a new last generation, to make a finished run longer.
        on_generation: as for `evolve`.
        log: as for `evolve`.
        workers: as for `evolve`; they may be others than before.
        progress: as for `evolve`.
        **pieces: ``objective``, ``population`` and ``optimizer``, those that the run was given as objects.
    """
    for name in set(pieces) - set(Pieces._fields):
        raise ConfigError(unknown("argument of resume", name, Pieces._fields))
    run = run if isinstance(run, Run) else Run(run)
    config = run.config if generations is None else replace(run.config, generations=generations)
    if task is None:
        check_trust(run.path, config)
    given = Pieces(**pieces)
    check_config(run.path, config)  # first: what an edited one asks for may be more than this machine has
    damage, before = damage_in(run)
    with ExitStack() as held:
        # Before the checkpoint is read: another process might be about to write a newer one.
        writer = locked_folder(run.path, held)
        pool = None if are_none(workers) else held.enter_context(opened(workers))
        evolution = Evolution(config, task, pool, given)
        state = saved_state(run.path, evolution, {*chain(*damage.values())})
        generation = int(state.generation[0])
        # With another last generation, which config.toml is to tell.
        if config != run.config:
            writer.write_config(config)
        set_aside(damage, generation)
        writer.rewind(generation, run.seeds)
        if damage:  # from now on it vouches for what is left
            writer.checkpoint(state, config)
        show = held.enter_context(live(evolution, progress))
        write = held.enter_context(logged(log, config, run.path))
        rows = PackedRows(config.seeds, {name: all_[:, :generation] for name, all_ in before.items()})
        state, did = _run(evolution, state, writer, _all(rows.extend, show, write, on_generation))
    did = did or run.behaviors()  # of a run that was finished before, the folder has them
    return TrainingResult(state, rows.arrays(), evolution.given, config, task is None, did, given.population)


def _all(*functions: Callable[[Any], Any]) -> Follow:
    """Hands every generation to all of them."""

    def each(generation: Generation) -> None:
        for function in functions:
            function(generation)

    return each


def _run(evolution: Evolution, state: State, writer: RunWriter | None, on_generation: Follow) -> tuple[State, Arrays]:
    """From a State to the last generation; what is to be kept of each is written, if it goes into a folder.

    Returns:
        the last State, and what the members of the last generation did; nothing, where all were done before.
    """
    saved, saved_at, generation = state, time.monotonic(), None
    with terminations() as termination:
        try:
            for new, rows, outcome in evolution.generations(state):
                generation = Generation(rows, evolution, new, outcome)
                if writer:
                    # With the former state, which the generation was drawn around.
                    _record(writer, evolution.config, state, generation, outcome)
                state = new
                if writer and time.monotonic() - saved_at >= evolution.config.checkpoint_seconds:
                    writer.checkpoint(state, evolution.config)
                    saved, saved_at = state, time.monotonic()
                on_generation(generation)
                if number := termination():
                    raise Terminated(number)
        except StopTraining:
            pass
        except SystemExit as stop:  # or a run that is not finished would end as if it were
            text = f"The task ended the program, by sys.exit({stop.code!r}), before the run was done."
            raise TaskError(text) from stop
        finally:
            # Also when interrupted: no generation that was recorded is lost.
            if writer and saved is not state:
                writer.checkpoint(state, evolution.config)
    return state, {} if generation is None else generation.behaviors()


def _record(writer: RunWriter, config: Config, state: State, generation: Generation, outcome: Outcome) -> None:
    """Write what is kept of a generation; state: the one that it was drawn from."""
    number = generation.number
    if number % config.record_every == 0 or number == config.generations - 1:
        if config.objective != MAML:  # whose members are not mutations
            # Before the behaviors: who sees those finds it.
            writer.record_center(state, newest_only=not config.record_centers)
        writer.record("behaviors", number, generation.behaviors())
    writer.append(HISTOGRAMS, histogram_rows(number, [row["seed"] for row in generation], valid_episodes(outcome)))
    # Last: who reads of a generation finds its behaviors.
    writer.append(METRICS, generation)
