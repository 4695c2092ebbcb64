"""The command line: parse, call, print."""

import dataclasses
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import jax
import tyro
from rich.markup import escape
from rich.table import Table

from evolvability.cli.maml import maml, parse_maml, race
from evolvability.cli.options import TrainOptions, WorkerOptions, lookup
from evolvability.cli.populations import adapt, evolve_from, measure, split
from evolvability.cli.printing import console, errors, finish, free_folder, plural, print_text, resumable, say
from evolvability.cli.reproducing import reproduce
from evolvability.cli.several_runs import compare, export, sweep
from evolvability.cli.viewing import explore, video
from evolvability.config.schema import PRESETS, Config, layered, read_toml
from evolvability.core.errors import ConfigError, UserError, unknown
from evolvability.tasks.base import Task
from evolvability.training.processes import Processes, is_first, join, leave
from evolvability.training.progress import display

if TYPE_CHECKING:
    from evolvability.workers.connect import Crew


def train(arguments: Sequence[str]) -> None:
    """Run a task into a new run folder: ees train TASK [options]."""
    from evolvability.tasks.registry import make_task
    from evolvability.training.driver import Evolution
    from evolvability.training.driver import train as run_training

    options, processes, config = parse_train(arguments)
    join(processes)
    output = options.output or free_folder(config)
    task = make_task(config.task, config.task_options)
    with resumable(output), _crew(task, options.evaluation) as crew:
        evolution = Evolution(config, task, crew)
        say(
            options.quiet,
            f"{config.task}: {config.objective}, {config.population_size:,} members, {config.generations:,} "
            f"generations, {plural(config.seeds, 'seed')} on {_devices(task, crew)}, into {output}",
        )
        with display(config, console, quiet=options.quiet, status=crew.status if crew else str) as show:
            run_training(evolution, output, show)
    if is_first():
        finish(output)


def resume(arguments: Sequence[str]) -> None:
    """Go on with a run that was interrupted: ees resume RUN [--generations N]."""
    from evolvability.runs.folder import Run
    from evolvability.tasks.registry import make_task
    from evolvability.training.driver import resume as resume_run

    def parse(
        run: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")],
        generations: Annotated[int | None, tyro.conf.arg(metavar="N")] = None,
        quiet: bool = False,
        processes: Processes = Processes(),  # noqa: B008 (frozen)
        evaluation: Annotated[WorkerOptions, tyro.conf.arg(name="workers")] = WorkerOptions(),  # noqa: B008 (frozen)
    ) -> tuple[Path, int | None, bool, Processes, WorkerOptions]:
        """Go on with a run that was interrupted; the result is the same, bit for bit.

        Args:
            run: The run folder.
            generations: A new last generation, to make a finished run longer.
            quiet: Print nothing but the result.
            processes: Several processes as one run.
            evaluation: Where members are evaluated.
        """
        return run, generations, quiet, processes, evaluation

    path, generations, quiet, processes, evaluation = tyro.cli(
        parse, prog="ees resume", args=arguments, config=(tyro.conf.OmitArgPrefixes,)
    )
    join(processes)
    run = Run(path)
    if run.is_complete and generations in (None, run.config.generations):
        print_text(f"{path} is complete. To make it longer: ees resume {path} --generations N")
        return
    config = run.config if generations is None else dataclasses.replace(run.config, generations=generations)
    task = make_task(config.task, config.task_options)
    with (
        resumable(path),
        _crew(task, evaluation) as crew,
        display(config, console, quiet=quiet, status=crew.status if crew else str) as show,
    ):
        resume_run(run, task, generations=generations, on_generation=show, workers=crew)
    if is_first():
        finish(path)


def list_names(arguments: Sequence[str]) -> None:
    """Show the tasks, objectives, populations and presets there are: ees list."""
    from evolvability.core.populations import POPULATIONS
    from evolvability.methods.registry import OBJECTIVES
    from evolvability.tasks.registry import TASKS

    def parse() -> None:
        """Show the tasks, objectives, populations and presets there are."""

    tyro.cli(parse, prog="ees list", args=arguments)
    sections = {
        "tasks": {name: entry.summary for name, entry in TASKS.items()} | {"module:name": "a Task of your own"},
        "objectives": {name: _first_sentence(factory) for name, factory in OBJECTIVES.items()},
        "populations": {name: _first_sentence(factory) for name, factory in POPULATIONS.items()},
        "presets": {name: text for name, (text, _) in PRESETS.items()},
    }
    for title, names in sections.items():
        table = Table(title=title, title_justify="left", title_style="bold", show_header=False, box=None)
        for name, text in names.items():
            table.add_row(f"  {name}", text)
        console.print(table)


def show(arguments: Sequence[str]) -> None:
    """Summarize run folders: ees show RUN [RUN...]."""
    from evolvability.cli.summaries import summary_table
    from evolvability.runs.folder import Run

    def parse(
        runs: Annotated[tuple[Path, ...], tyro.conf.Positional, tyro.conf.arg(metavar="RUN [RUN ...]")],
    ) -> tuple[Path, ...]:
        """Summarize run folders.

        Args:
            runs: One run folder or more.
        """
        return runs

    paths = tyro.cli(parse, prog="ees show", args=arguments)
    if not paths:
        raise ConfigError("ees show: give at least one run folder.")
    for path in paths:
        console.print(summary_table(Run(path)), soft_wrap=True)


def figure(arguments: Sequence[str]) -> None:
    """Draw a figure from run folders: ees figure NAME RUN [RUN...] [--output FILE]."""
    from evolvability.figures.registry import FIGURES, draw_figure
    from evolvability.runs.folder import Run

    names = ", ".join(FIGURES)

    def parse(
        name: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="NAME")],
        runs: Annotated[tuple[Path, ...], tyro.conf.Positional, tyro.conf.arg(metavar="RUN [RUN ...]")],
        output: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None,
    ) -> None:
        if not runs:
            raise ConfigError(f"ees figure {name}: give at least one run folder.")
        target = draw_figure(name, [Run(path) for path in runs], output)
        print_text(f"wrote {target}")

    parse.__doc__ = f"""Draw a figure from run folders.

        Args:
            name: Which figure: {names}.
            runs: Run folders; those that differ in their seeds alone are drawn as one band.
            output: The file to write, ending in .png, .pdf or .svg; NAME.png unless given.
        """
    tyro.cli(parse, prog="ees figure", args=arguments)


__all__ = ["COMMANDS", "TrainOptions", "WorkerOptions", "main", "parse_maml", "parse_train"]

COMMANDS: dict[str, Callable[[Sequence[str]], None]] = {
    "train": train,
    "maml": maml,
    "resume": resume,
    "show": show,
    "figure": figure,
    "explore": explore,
    "video": video,
    "adapt": adapt,
    "evolve-from": evolve_from,
    "split": split,
    "measure": measure,
    "race": race,
    "compare": compare,
    "sweep": sweep,
    "reproduce": reproduce,
    "export": export,
    "list": list_names,
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; an error the user can mend is printed as one, and the exit code tells."""
    arguments = sys.argv[1:] if arguments is None else arguments
    warnings.showwarning = lambda message, *_, **__: errors.print(
        f"[yellow]warning:[/yellow] {escape(str(message))}", highlight=False, soft_wrap=True
    )
    if not arguments or arguments[0] in ("-h", "--help"):
        _overview()
        return
    if arguments[0] == "--version":
        from evolvability import __version__

        console.print(__version__, highlight=False)
        return
    try:
        if arguments[0] not in COMMANDS:
            raise ConfigError(unknown("command", arguments[0], COMMANDS))
        COMMANDS[arguments[0]](arguments[1:])
    except UserError as error:
        _fail(str(error))
    except jax.errors.JaxRuntimeError as error:
        if "RESOURCE_EXHAUSTED" in str(error) or "Out of memory" in str(error):
            _fail("The device has too little memory. Set --chunk-size, or lower --population-size or --seeds.")
        if not jax.distributed.is_initialized():
            raise
        _fail(f"This process ends because another one did, or could not be reached: {error}")
    except BrokenPipeError:  # the reader of our output has gone, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except KeyboardInterrupt:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(130)  # not sys.exit: an interpreter that ends while XLA compiles crashes. All is saved by now.


def parse_train(arguments: Sequence[str]) -> tuple[TrainOptions, Processes, Config]:
    """The options, the processes and the configuration of `ees train`.

    The task, the objective, the preset and the file decide which defaults `--help` shows, so they are looked up first.
    """
    arguments = list(arguments)
    task = arguments.pop(0) if arguments and not arguments[0].startswith("-") else None
    first = {name: lookup(arguments, f"--{name}") for name in ("config", "preset", "objective")}
    table = read_toml(Path(first["config"])) if first["config"] else {}
    if first["preset"] and set(PRESETS.get(first["preset"], ("", {}))[1]) & set(table):
        warnings.warn(f"{first['config']} sets values of the preset {first['preset']}, and wins.", stacklevel=1)
    named = table.pop("task", None)
    task = task or named
    if named not in (None, task):
        raise ConfigError(f"{first['config']} is for task '{named}', but the task given is '{task}'.")
    if task is not None:
        base = layered(task, objective=first["objective"], preset=first["preset"], values=table)
        about = f"Run the task {task}."
    elif {"-h", "--help"} & set(arguments):
        base, task = Config("module:name"), "TASK"
        about = "Run a task. A task has defaults and options of its own: ees train TASK --help shows them."
    else:
        raise ConfigError("ees train: which task? It comes first, e.g. ees train interference. See ees list.")
    arguments_type = dataclasses.make_dataclass(
        "Train",
        [
            ("options", Annotated[TrainOptions, tyro.conf.arg(name="run folder")]),
            ("run", Annotated[Config, tyro.conf.arg(name="")]),
            ("processes", Annotated[Processes, tyro.conf.arg(name="several processes")]),
        ],
    )
    parsed: Any = tyro.cli(
        arguments_type,
        prog=f"ees train {task}",
        description=about,
        args=arguments,
        default=arguments_type(TrainOptions(), base, Processes()),
        config=(tyro.conf.OmitArgPrefixes,),
    )
    return parsed.options, parsed.processes, parsed.run


@contextmanager
def _crew(task: Task, options: WorkerOptions) -> Iterator["Crew | None"]:
    """The workers that are asked for; None for a task that needs none."""
    from evolvability.workers.connect import opened

    asked = options.dask if options.dask is not None else options.workers
    if task.simulator is None and asked is None:
        yield None
        return
    workers = os.cpu_count() if asked is None else asked
    with opened(workers or None, options.deadline, options.processes_per_worker) as crew:
        yield crew


def _overview() -> None:
    table = Table(show_header=False, box=None)
    for name, command in COMMANDS.items():
        text, _, usage = (command.__doc__ or "").removesuffix(".").partition(": ")
        table.add_row(f"  [bold]{name}[/bold]", text, f"[dim]{usage}[/dim]".replace("[opt", r"\[opt"))
    console.print("[bold]ees[/bold]: optimize for parameters whose mutations behave in very different ways\n")
    console.print(table)
    console.print("\n`ees COMMAND --help` explains a command's options; `ees train TASK --help` those of a task.")


def _devices(task: Task, crew: "Crew | None") -> str:
    if crew is not None:
        return f"{task.engine or 'Python'}, {crew.pool.describe()}"
    if task.on_host:
        return task.engine or "the host, in Python"
    kinds = [device.device_kind for device in jax.devices()]
    devices = f"{len(kinds)} x {kinds[0]}" if len(kinds) > 1 else kinds[0]
    return f"{task.engine}, {devices}" if task.engine else devices


def _fail(text: str) -> NoReturn:
    errors.print(f"[bold red]error:[/bold red] {escape(text)}", highlight=False, soft_wrap=True)
    leave(2)


def _first_sentence(factory: Callable[..., Any]) -> str:
    """What a factory's docstring says before its formula."""
    line = (factory.__doc__ or "").strip().splitlines()[0]
    return line.split("$")[0].rstrip(" :(,") if "$" in line else line.rstrip(".")
