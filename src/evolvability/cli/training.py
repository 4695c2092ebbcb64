"""The commands that train: train, resume."""

import argparse
import dataclasses
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro
from tyro.conf import OmitArgPrefixes, arg

from evolvability.cli.arguments import MaybeCount, RunPath, open_runs
from evolvability.cli.printing import console, finish, free_folder, plural, print_text, resumable, say
from evolvability.config.options import OF_OBJECTIVES, OF_POPULATIONS, OWNERS, check_option, is_sum, no_object
from evolvability.config.schema import PRESETS, UNSET, Config, layered, read_toml
from evolvability.config.tables import flat
from evolvability.core.cores import num_cores
from evolvability.core.entries import FROM_PYTHON
from evolvability.core.errors import ConfigError
from evolvability.methods.registry import MAML
from evolvability.runs.files import check_is_run, command_line
from evolvability.runs.trust import check_file_trust
from evolvability.tasks.registry import ROBOT, is_robot_file, make_task
from evolvability.tasks.robots.archives import ROBOT_FILE, offer

if TYPE_CHECKING:
    from evolvability.tasks.base import Task
    from evolvability.training.progress import Display
    from evolvability.workers.pools import Pool

UNNAMED = "module:name"
"""Stands for a task when none was given, and only help is asked for."""
TABLES = ("task_options", OF_OBJECTIVES, OF_POPULATIONS)
TERM = "term_"
"""Begins the names of what is parsed for a term of a sum."""


@dataclasses.dataclass(frozen=True)
class WorkerOptions:
    """Where members are evaluated, for tasks whose simulator is ordinary Python. It does not change the result."""

    workers: Annotated[int | None, arg(metavar="N"), UNSET] = None
    """Worker processes on this machine; 0 for none, everything in this process; default: one per core."""
    dask: Annotated[str | None, arg(metavar="ADDRESS"), UNSET] = None
    """A Dask cluster instead: its scheduler's address, such as tcp://host:8786, or its scheduler file."""
    deadline: float = 600.0
    """Seconds a unit of work may take before it is done again elsewhere."""

    def __post_init__(self) -> None:
        if self.workers is not None and self.workers < 0:
            raise ConfigError(f"--workers must be 0 or more, got {self.workers}.")
        if self.workers is not None and self.dask is not None:
            raise ConfigError("Give --workers, for processes on this machine, or --dask, for a cluster, not both.")
        if self.deadline <= 0:
            raise ConfigError(f"--deadline must be positive, got {self.deadline}.")


@dataclasses.dataclass(frozen=True)
class TrainOptions:
    """Where the run goes, and what it starts from."""

    output: Annotated[Path | None, arg(metavar="FOLDER"), UNSET] = None
    """The run folder; default: runs/TASK-OBJECTIVE-N, with the environment's id for the task gymnasium."""
    overwrite: bool = False
    """Replace a run that the folder holds."""
    log: Annotated[str, arg(metavar="NAMES"), UNSET] = ""
    """Further places for metrics: tensorboard, wandb, or both with a comma between."""
    preset: Annotated[str | None, arg(metavar="NAME"), UNSET] = None
    """A named set of values, from `ees list`; options given here win over it."""
    config: Annotated[Path | None, arg(metavar="FILE"), UNSET] = None
    """A TOML file of values, such as a run folder's config.toml; options given here win over it."""
    quiet: bool = False
    """Print nothing but the result."""
    trust: bool = False
    """Import the code that the file of --config names as its task, now and later: only if you trust it."""


def train(arguments: Sequence[str]) -> None:
    """Run a task into a new run folder."""
    options, workers, config = parse_train(arguments)
    began = time.monotonic()
    output = options.output or free_folder(config)
    task = make_task(config.task, config.task_options)
    from evolvability.training.driver import train as train_run
    from evolvability.training.evolution import Evolution
    from evolvability.training.progress import seconds_per_generation

    with resumable(output), _pool(task, workers) as pool:
        evolution = Evolution(config, task, pool)
        each = "episodes" if config.objective == MAML else "members"
        say(
            options.quiet,
            f"{config.task_title}: {config.objective}, {config.population_size:,} {each}, "
            f"{plural(config.generations, 'generation')}, {plural(config.seeds, 'seed')} on {_devices(task, pool)}, "
            f"into {output}",
        )
        expected = None if options.quiet else seconds_per_generation(evolution)
        with _followed(evolution.config, options.quiet, pool, options.log, output, expected) as follow:
            train_run(evolution, output, follow, overwrite=options.overwrite)
    finish(output, is_watchable=task.stage is not None, seconds=time.monotonic() - began)


def resume(
    run: RunPath,
    generations: MaybeCount = None,
    log: Annotated[str, arg(metavar="NAMES"), UNSET] = "",
    quiet: bool = False,
    trust: bool = False,
    workers: WorkerOptions = WorkerOptions(),  # noqa: B008 (frozen)
) -> None:
    """Go on with a run that was interrupted, as if nothing had happened.

    Args:
        run: The run folder.
        generations: A new last generation, to make a finished run longer.
        log: Further places for metrics: tensorboard, wandb, or both with a comma between.
        quiet: Print nothing but the result.
        workers: Where members are evaluated.
        trust: Import the code that a run names as its task, now and later: only if you trust it.
    """
    check_is_run(run)
    found = open_runs([run], trust=trust)[0]
    from evolvability.runs.writer import damage_in
    from evolvability.training.driver import resume as resume_run

    is_asked = generations in (None, found.config.generations)
    if found.is_complete and is_asked and not damage_in(found)[0]:
        longer = f"{command_line('resume', run)} --generations N"
        if objects := found.config.from_python:
            given = ", ".join(f"{name}=..." for name in objects)
            longer = f"evolvability.resume({str(run)!r}, {given}, generations=N), from Python"
        print_text(f"{run} is complete. To make it longer: {longer}")
        return
    config = found.config if generations is None else dataclasses.replace(found.config, generations=generations)
    task = found.task
    with resumable(run), _pool(task, workers) as pool, _followed(config, quiet, pool, log, run) as follow:
        resume_run(found, task, generations=generations, on_generation=follow, workers=pool, progress=False)
    finish(run, is_watchable=task.stage is not None)


def parse_train(arguments: Sequence[str]) -> tuple[TrainOptions, WorkerOptions, Config]:
    """The options, the workers and the configuration of `ees train`."""
    arguments = list(arguments)
    task = arguments.pop(0) if arguments and not arguments[0].startswith("-") else None
    base = _starting_values(task, arguments)
    name, about = base.task, f"Run the task {base.task}."
    if base.task == UNNAMED:
        name = "TASK"
        about = "Run a task. A task has defaults and options of its own: ees train TASK --help shows them."
    for word in arguments:
        option = word.removeprefix("--").removeprefix("no-").partition("=")[0].replace("-", "_")
        if word.startswith("--") and option in OWNERS:
            check_option(option, base.objective, base.population)
    sections = _sections(base)
    # Made here, as the options and their defaults depend on the task, the objective and the population.
    arguments_type = dataclasses.make_dataclass("Train", [(key, hint) for key, (hint, _) in sections.items()])
    parsed: Any = tyro.cli(
        arguments_type,
        prog=f"ees train {name}",
        description=about,
        args=arguments,
        default=arguments_type(*(default for _, default in sections.values())),
    )
    of_terms = {key.removeprefix(TERM): value for key, value in vars(parsed).items() if key.startswith(TERM)}
    # Sections beside the others, hidden inside `Config`: nested, their headings would have the names of our fields.
    nested: dict[str, Any] = {key: getattr(parsed, key) for key in TABLES if key in sections}
    config: Config = dataclasses.replace(parsed.run, **nested, **({OF_OBJECTIVES: of_terms} if of_terms else {}))
    # A setting that differs from its starting value was given on the command line.
    for setting in sorted(config.idle):
        if getattr(config, setting) != getattr(base, setting):
            option = setting.replace("_", "-")
            warnings.warn(f"--{option} changes nothing in runs with the objective {config.objective}.", stacklevel=1)
    return parsed.options, parsed.workers, config


def _sections(base: Config) -> dict[str, tuple[Any, Any]]:
    """The groups of options of `ees train`, each with its values at the start; every term of a sum has its own."""

    def section(title: str, options: Any, plain: bool = True) -> tuple[Any, Any]:
        kind = type(options)
        return (
            Annotated[kind, arg(name=title), OmitArgPrefixes] if plain else Annotated[kind, arg(name=title)]
        ), options

    found = {"task_options": section("task", base.task_options)}
    if is_sum(base.objective):
        for term, options in base.objective_options.items():
            found[TERM + term] = section(term.replace("_", "-"), options, plain=False)
    else:
        found[OF_OBJECTIVES] = section("objective", base.objective_options)
    found[OF_POPULATIONS] = section("population", base.population_options)
    found = {key: (hint, options) for key, (hint, options) in found.items() if dataclasses.fields(options)}
    return {
        **found,
        "options": section("run folder", TrainOptions()),
        "run": section("", base),
        "workers": section("workers", WorkerOptions()),
    }


def _starting_values(task: str | None, arguments: Sequence[str]) -> Config:
    """What a run has where no option says otherwise.

    The task, the objective, the population, the preset and the file decide which options there are and which defaults
    `--help` shows, so they are looked up before the rest is parsed.
    """
    parser = argparse.ArgumentParser(prog="ees train", add_help=False, allow_abbrev=False)
    for option in ("--config", "--preset", "--objective", "--population"):
        parser.add_argument(option)
    # The rest is unknown to it, and left to the parser proper.
    first, _ = parser.parse_known_args(arguments)
    table = read_toml(Path(first.config)) if first.config else {}
    if first.preset and set(PRESETS.get(first.preset, ("", {}))[1]) & {key.split(".")[-1] for key, _ in flat(table)}:
        warnings.warn(f"{first.config} sets values of the preset {first.preset}, and wins.", stacklevel=1)
    named = table.pop("task", None)
    if task is not None and named not in (None, ROBOT if is_robot_file(task) else task):
        raise ConfigError(f"{first.config} is for task '{named}', but the task given is '{task}'.")
    # Help is given also where the task is missing.
    by_file, task = task is None, task or named or (UNNAMED if {"-h", "--help"} & set(arguments) else None)
    if task is None:
        raise ConfigError("ees train: which task? It comes first, e.g. ees train interference. See ees list.")
    for piece in ("objective", "population", "optimizer"):
        if (recorded := str(table.get(piece, ""))).startswith(FROM_PYTHON) and not getattr(first, piece, None):
            raise no_object(piece, recorded)
    given = {piece: getattr(first, piece) for piece in ("objective", "population") if getattr(first, piece)}
    # Of a file whose objective or population another one replaces, the options that still fit.
    offers, values = (table, {}) if given.keys() & table else ({}, table)
    base = layered(task, preset=first.preset, offers=offers, values={**values, **given})
    # A run folder's file comes with its robot.
    if first.config and (robot := Path(first.config).with_name(ROBOT_FILE)).is_file():
        offer(getattr(base.task_options, "digest", ""), robot)
    if first.config and (by_file or ":" not in task):  # who names the code on the command line trusts it
        check_file_trust(Path(first.config), base, trust="--trust" in arguments)
    return base


@contextmanager
def _pool(task: "Task", options: WorkerOptions) -> "Iterator[Pool | None]":
    """The workers that are asked for; None for a task that needs none."""
    asked = options.dask if options.dask is not None else options.workers
    if task.simulator is None and asked is None:
        yield None
        return
    workers = num_cores() if asked is None else asked
    from evolvability.workers.connect import opened

    # 0 workers are None: everything in this process.
    with opened(workers or None, options.deadline) as pool:
        yield pool


@contextmanager
def _followed(
    config: Config, quiet: bool, pool: "Pool | None", log: str, output: Path, expected: float | None = None
) -> "Iterator[Display]":
    """Shows every generation, and writes it wherever it is to be logged."""
    from evolvability.training.following import logged
    from evolvability.training.progress import display

    with (
        logged(log, config, output) as write,
        display(config, console, quiet=quiet, pool=pool, expected=expected) as show,
    ):

        def each(rows: Any) -> None:
            show(rows)
            write(rows)

        yield each


def _devices(task: "Task", pool: "Pool | None") -> str:
    if pool is not None:
        return f"{task.engine or 'Python'}, {pool.description}"
    if task.on_host:
        return task.engine or "the host, in Python"
    import jax

    kinds = [device.device_kind for device in jax.devices()]
    devices = f"{len(kinds)} x {kinds[0]}" if len(kinds) > 1 else kinds[0]
    return f"{task.engine}, {devices}" if task.engine else devices
