"""The commands about the gradient-based rival: maml, race."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import jax
import tyro
from rich.table import Table
from rich.text import Text

from evolvability.cli.options import FolderOptions, lookup
from evolvability.cli.printing import console, finish, free_folder, plural, print_text, resumable, say
from evolvability.config.schema import MAML, Config, layered, read_toml
from evolvability.core.errors import ConfigError
from evolvability.methods.maml import MamlOptions
from evolvability.training.progress import display


@dataclasses.dataclass(frozen=True)
class MamlRun:
    """What of a run's configuration means something for MAML."""

    generations: int = 100
    """How many outer steps to run."""
    seed: int = 0
    """The seed of the run, and of the first of several."""
    seeds: int = 1
    """How many seeds to run side by side, as one batch."""
    sigma: float = 0.02
    """Standard deviation of mutations, when the trained center is mutated."""
    start_from: Annotated[str, tyro.conf.arg(metavar="RUN")] = ""
    """A run folder of the same task, whose trained center is where this run starts; each seed from its own."""
    record_every: int = 1
    """Keep where adapted policies ended every so many outer steps (the last one is always kept)."""
    checkpoint_seconds: float = 10.0
    """Seconds between checkpoints: at most this much work is lost when a run is killed."""
    max_invalid: float = 0.5
    """Stop when more than this share of an outer step's episodes is invalid."""


def maml(arguments: Sequence[str]) -> None:
    """Train with MAML, the gradient-based rival, into a new run folder: ees maml TASK [options]."""
    from evolvability.training.driver import Evolution, train

    options, config = parse_maml(arguments)
    output = options.output or free_folder(config)
    evolution = Evolution(config)
    say(
        options.quiet,
        f"{config.task}: MAML, {config.maml.tasks} tasks of {config.maml.episodes} episodes before and after "
        f"adaptation, {config.generations:,} outer steps, {plural(config.seeds, 'seed')} on "
        f"{jax.devices()[0].device_kind}, into {output}",
    )
    with resumable(output), display(config, console, quiet=options.quiet) as show:
        train(evolution, output, show)
    finish(output)
    print_text(f"         ees figure maml {output}")


def parse_maml(arguments: Sequence[str]) -> tuple[FolderOptions, Config]:
    """The options and the configuration of `ees maml`."""
    arguments = list(arguments)
    task = arguments.pop(0) if arguments and not arguments[0].startswith("-") else None
    file, preset = lookup(arguments, "--config"), lookup(arguments, "--preset")
    table = read_toml(Path(file)) if file else {}
    task = task or table.get("task")
    if task is None:
        if not {"-h", "--help"} & set(arguments):
            raise ConfigError("ees maml: which task? It comes first, e.g. ees maml cheetah.")
        task = "navigation"
    if table.get("task", task) != task or table.get("objective", MAML) != MAML:
        raise ConfigError(f"{file} is not a configuration of MAML on task '{task}'.")
    base = layered(task, objective=MAML, preset=preset, values=table | {"task": task})
    sections = dataclasses.make_dataclass(
        "Maml",
        [
            ("options", Annotated[FolderOptions, tyro.conf.arg(name="run folder")]),
            ("maml", Annotated[MamlOptions, tyro.conf.arg(name="MAML")]),
            ("run", Annotated[MamlRun, tyro.conf.arg(name="run")]),
            ("task", Annotated[type(base.task_options), tyro.conf.arg(name="task")]),
        ],
    )
    run = MamlRun(**{field.name: getattr(base, field.name) for field in dataclasses.fields(MamlRun)})
    parsed: Any = tyro.cli(
        sections,
        prog=f"ees maml {task}",
        description="Train a center from which one policy-gradient step solves any of a task's goals.",
        args=arguments,
        default=sections(FolderOptions(), base.maml, run, base.task_options),
        config=(tyro.conf.OmitArgPrefixes,),
    )
    knobs = dataclasses.asdict(parsed.run)
    return parsed.options, dataclasses.replace(base, maml=parsed.maml, task_options=parsed.task, **knobs)


def race(arguments: Sequence[str]) -> None:
    """Race ways of adapting, by performance over episodes used: ees race RUN [RUN...] --direction left right."""

    def parse(
        runs: Annotated[tuple[Path, ...], tyro.conf.Positional, tyro.conf.arg(metavar="RUN [RUN ...]")],
        direction: Annotated[tuple[str, ...], tyro.conf.arg(metavar="GOAL [GOAL ...]")] = ("right",),
        adapters: Annotated[tuple[str, ...], tyro.conf.arg(metavar="NAME [NAME ...]")] = (),
        episodes: Annotated[int, tyro.conf.arg(metavar="N")] = 40,
        repeats: int = 10,
        output: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None,
    ) -> None:
        """Adapt each center to goals in one or several ways, and evaluate what came of it after each so many episodes.

        Args:
            runs: Run folders of one task, or light copies of them.
            direction: What is asked for, one or more: right, left, an angle in degrees, or point:X,Y.
            adapters: How to adapt: mutations, gradient, es, hill_climbing; unless given, gradient for runs of MAML and
                mutations for others, as the paper did.
            episodes: The budget of each adaptation.
            repeats: Evaluations with different start states, whose mean is reported.
            output: A picture of performance over episodes used.
        """
        from evolvability.cli.populations import spread
        from evolvability.runs.folder import Run
        from evolvability.studies.races import race as race_run

        if not runs:
            raise ConfigError("ees race: give at least one run folder.")
        table = Table("run", "direction", "adapter", "before", f"after {episodes} episodes")
        for run in [Run(path) for path in runs]:
            for course in race_run(run, direction, adapters, episodes=episodes, repeats=repeats):
                performance = course.performance
                table.add_row(
                    Text(str(run.path)),
                    course.goal,
                    course.adapter,
                    spread(performance[:, 0]),
                    spread(performance[:, -1]),
                )
        console.print(table)
        print_text(
            f"means over {repeats} evaluations with different start states; several seeds: median (lowest to highest)"
        )
        if output is not None:
            from evolvability.figures.registry import draw_figure

            print_text(f"wrote {draw_figure('race', [Run(path) for path in runs], output)}")

    tyro.cli(parse, prog="ees race", args=arguments)
