"""The commands that train: train, maml, resume."""

import argparse
import dataclasses
import warnings
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Annotated, Any

import jax
import tyro
from tyro.conf import arg

from evolvability.cli.arguments import MaybeCount, RunPath
from evolvability.cli.printing import console, finish, free_folder, plural, print_text, resumable, say
from evolvability.config.pieces import Pieces, no_object
from evolvability.config.schema import ES_MAML, MAML, PRESETS, UNSET, Config, idle_settings, layered, read_toml
from evolvability.core.cores import num_cores
from evolvability.core.errors import ConfigError
from evolvability.methods.maml import MamlOptions
from evolvability.runs.damage import damage_in
from evolvability.runs.files import command_line
from evolvability.runs.folder import Run
from evolvability.runs.trust import check_file_trust
from evolvability.tasks.base import Task
from evolvability.tasks.registry import FROM_PYTHON, make_task
from evolvability.training.driver import resume as resume_run
from evolvability.training.driver import train as train_run
from evolvability.training.evolution import Evolution
from evolvability.training.processes import Processes, is_first, join
from evolvability.training.progress import Display, display
from evolvability.workers.connect import opened
from evolvability.workers.pools import Pool

UNNAMED = "module:name"
"""Stands for a task when none was given, and only help is asked for."""


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
    options, workers, processes, config = parse_train(arguments)
    # Before the task is made: the processes must have met when JAX first looks for devices.
    join(processes)
    output = options.output or free_folder(config)
    task = make_task(config.task, config.task_options)
    with resumable(output), _pool(task, workers) as pool:
        evolution = Evolution(config, task, pool)
        each = "episodes" if config.objective == MAML else "members"
        say(
            options.quiet,
            f"{config.task_title}: {config.objective}, {config.population_size:,} {each}, "
            f"{plural(config.generations, 'generation')}, {plural(config.seeds, 'seed')} on {_devices(task, pool)}, "
            f"into {output}",
        )
        with _progress(config, options.quiet, pool) as show:
            train_run(evolution, output, show)
    if is_first():
        finish(output)


def maml(arguments: Sequence[str]) -> None:
    """Train with MAML, the gradient-based baseline: ees train with --objective maml."""
    # Last, so that it wins over one that was given.
    train([*arguments, "--objective", MAML])


def resume(
    run: RunPath,
    generations: MaybeCount = None,
    quiet: bool = False,
    trust: bool = False,
    processes: Processes = Processes(),  # noqa: B008 (frozen)
    workers: WorkerOptions = WorkerOptions(),  # noqa: B008 (frozen)
) -> None:
    """Go on with a run that was interrupted, as if nothing had happened.

    Args:
        run: The run folder.
        generations: A new last generation, to make a finished run longer.
        quiet: Print nothing but the result.
        processes: Several processes as one run.
        workers: Where members are evaluated.
        trust: Import the code that a run names as its task, now and later: only if you trust it.
    """
    join(processes)
    found = Run(run, trust=trust)
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
    with resumable(run), _pool(task, workers) as pool, _progress(config, quiet, pool) as show:
        resume_run(found, task, generations=generations, on_generation=show, workers=pool, progress=False)
    if is_first():
        finish(run)


def parse_train(arguments: Sequence[str]) -> tuple[TrainOptions, WorkerOptions, Processes, Config]:
    """The options, the workers, the processes and the configuration of `ees train`."""
    arguments = list(arguments)
    task = arguments.pop(0) if arguments and not arguments[0].startswith("-") else None
    base = _starting_values(task, arguments)
    name, about = base.task, f"Run the task {base.task}."
    if base.task == UNNAMED:
        name = "TASK"
        about = "Run a task. A task has defaults and options of its own: ees train TASK --help shows them."
    sections: list[tuple[str, Any, Any]] = [
        ("options", Annotated[TrainOptions, arg(name="run folder")], TrainOptions()),
        ("run", Annotated[Config, arg(name="")], base),
        ("workers", Annotated[WorkerOptions, arg(name="workers")], WorkerOptions()),
        ("processes", Annotated[Processes, arg(name="several processes")], Processes()),
    ]
    if dataclasses.fields(base.task_options):
        sections.insert(0, ("task", Annotated[type(base.task_options), arg(name="task")], base.task_options))
    if base.objective in (MAML, ES_MAML):
        sections.insert(1, (MAML, Annotated[MamlOptions, arg(name="MAML")], base.maml))
    # Made here, as the options and their defaults depend on the task and on the objective.
    arguments_type = dataclasses.make_dataclass("Train", [(key, hint) for key, hint, _ in sections])
    parsed: Any = tyro.cli(
        arguments_type,
        prog=f"ees train {name}",
        description=about,
        args=arguments,
        default=arguments_type(*(default for _, _, default in sections)),
        config=(tyro.conf.OmitArgPrefixes,),
    )
    # Sections beside the others, hidden inside `Config`: nested, their headings would have the names of our fields.
    nested = {"maml": getattr(parsed, MAML, base.maml), "task_options": getattr(parsed, "task", base.task_options)}
    config: Config = dataclasses.replace(parsed.run, **nested)
    # A setting that differs from its starting value was given on the command line.
    for setting in sorted(idle_settings(config.objective, config.diversity)):
        if getattr(config, setting) != getattr(base, setting):
            option = setting.replace("_", "-")
            warnings.warn(f"--{option} changes nothing in runs with the objective {config.objective}.", stacklevel=1)
    return parsed.options, parsed.workers, parsed.processes, config


def _starting_values(task: str | None, arguments: Sequence[str]) -> Config:
    """What a run has where no option says otherwise.

    The task, the objective, the preset and the file decide which defaults `--help` shows, so they are looked up before
    the rest is parsed.
    """
    parser = argparse.ArgumentParser(prog="ees train", add_help=False, allow_abbrev=False)
    for option in ("--config", "--preset", "--objective"):
        parser.add_argument(option)
    # The rest is unknown to it, and left to the parser proper.
    first, _ = parser.parse_known_args(arguments)
    table = read_toml(Path(first.config)) if first.config else {}
    if first.preset and set(PRESETS.get(first.preset, ("", {}))[1]) & set(table):
        warnings.warn(f"{first.config} sets values of the preset {first.preset}, and wins.", stacklevel=1)
    named = table.pop("task", None)
    if task is not None and named not in (None, task):
        raise ConfigError(f"{first.config} is for task '{named}', but the task given is '{task}'.")
    # Help is given also where the task is missing.
    by_file, task = task is None, task or named or (UNNAMED if {"-h", "--help"} & set(arguments) else None)
    if task is None:
        raise ConfigError("ees train: which task? It comes first, e.g. ees train interference. See ees list.")
    for piece in Pieces._fields:
        if (recorded := str(table.get(piece, ""))).startswith(FROM_PYTHON) and not getattr(first, piece, None):
            raise no_object(piece, recorded)
    base = layered(task, objective=first.objective, preset=first.preset, values=table)
    if first.config and (by_file or ":" not in task):  # who names the code on the command line trusts it
        check_file_trust(Path(first.config), base, trust="--trust" in arguments)
    return base


@contextmanager
def _pool(task: Task, options: WorkerOptions) -> Iterator[Pool | None]:
    """The workers that are asked for; None for a task that needs none."""
    asked = options.dask if options.dask is not None else options.workers
    if task.simulator is None and asked is None:
        yield None
        return
    workers = num_cores() if asked is None else asked
    # 0 workers are None: everything in this process.
    with opened(workers or None, options.deadline) as pool:
        yield pool


def _progress(config: Config, quiet: bool, pool: Pool | None) -> AbstractContextManager[Display]:
    return display(config, console, quiet=quiet, status=pool.status if pool else str)


def _devices(task: Task, pool: Pool | None) -> str:
    if pool is not None:
        return f"{task.engine or 'Python'}, {pool.description}"
    if task.on_host:
        return task.engine or "the host, in Python"
    kinds = [device.device_kind for device in jax.devices()]
    devices = f"{len(kinds)} x {kinds[0]}" if len(kinds) > 1 else kinds[0]
    return f"{task.engine}, {devices}" if task.engine else devices
