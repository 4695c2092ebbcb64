"""The commands that use a trained population: adapt, evolve-from, split, measure."""

import dataclasses
import json
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import tyro
from rich.table import Table
from rich.text import Text

from evolvability.cli.printing import console, finish, print_text, say
from evolvability.cli.several_runs import watch_runs
from evolvability.config.schema import layered
from evolvability.core.errors import ConfigError

if TYPE_CHECKING:
    from evolvability.studies.measures import Measures, MeasureScale
    from evolvability.studies.offspring import Offspring

Array = np.ndarray[Any, Any]
RunPath = Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
RunPaths = Annotated[tuple[Path, ...], tyro.conf.Positional, tyro.conf.arg(metavar="RUN [RUN ...]")]


def adapt(arguments: Sequence[str]) -> None:
    """Pick the best of k mutations for a direction: ees adapt RUN [RUN...] --direction left right."""

    def parse(
        runs: RunPaths,
        direction: Annotated[tuple[str, ...], tyro.conf.arg(metavar="GOAL [GOAL ...]")] = ("right",),
        mutations: Annotated[int, tyro.conf.arg(metavar="K", aliases=["-k"])] = 40,
        repeats: int = 10,
        start_noise: float | None = None,
        save: Annotated[Path | None, tyro.conf.arg(metavar="FOLDER")] = None,
        output: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None,
    ) -> None:
        """Mutate each center, pick the mutation that does best, and evaluate it again with different start states.

        Args:
            runs: Run folders, or light copies of them.
            direction: What is asked for, one or more: right, left, an angle in degrees, point:X,Y or fitness.
            mutations: How many mutations of each center.
            repeats: Further evaluations of each mutation, whose mean is reported.
            start_noise: By how much their start states differ, where the task has this option; 0.1 unless given.
            save: Write the picked parameters into this folder, NAME-GOAL.safetensors.
            output: A picture of how performance grows with the number of mutations.
        """
        import safetensors.numpy

        from evolvability.runs.files import slug, write_output
        from evolvability.runs.folder import Run
        from evolvability.studies.adaptation import adapt as adapt_run

        _some(runs, "adapt")
        table = Table("run", "direction", "seeds", "one mutation", f"best of {mutations}")
        for run in [Run(path) for path in runs]:
            options: dict[str, Any] = {"mutations": mutations, "repeats": repeats, "start_noise": start_noise}
            for found in adapt_run(run, direction, **options):
                one = spread(found.growth()[:, 0])
                name, seeds = run.path.resolve().name, str(len(found.performance))
                table.add_row(Text(name, overflow="fold"), found.goal, seeds, one, spread(found.performance))
                if save is not None and found.parameters is not None:
                    chosen = safetensors.numpy.save({"center": found.parameters})
                    write_output(save / f"{name}-{slug(found.goal)}.safetensors", chosen)
        console.print(table)
        print_text(
            f"the pick's mean over {repeats} evaluations with different start states; several seeds: median (lowest to "
            "highest)"
        )
        if output is not None:
            from evolvability.figures.registry import draw_figure

            print_text(f"wrote {draw_figure('adaptation', [Run(path) for path in runs], output)}")

    tyro.cli(parse, prog="ees adapt", args=arguments)


def evolve_from(arguments: Sequence[str]) -> None:
    """Evolve trained populations further, and a random one: ees evolve-from RUN [RUN...] --direction right."""

    def parse(
        runs: RunPaths,
        direction: Annotated[str, tyro.conf.arg(metavar="GOAL")] = "right",
        generations: Annotated[int, tyro.conf.arg(metavar="N")] = 21,
        random: bool = True,
        output: Annotated[Path | None, tyro.conf.arg(metavar="FOLDER")] = None,
        quiet: bool = False,
    ) -> None:
        """Standard ES from each trained population, and for comparison from a random start. What is done is skipped.

        Args:
            runs: Trained populations: run folders of one task, or light copies of them.
            direction: What counts as fitness: right, left, an angle in degrees, point:X,Y or fitness.
            generations: How many; the last, 20, is the population after 20 updates.
            random: Whether to evolve from a random start as well, with the configuration of the first run.
            output: The folder for the run folders from-NAME and from-random; runs/evolved-DIRECTION unless given.
            quiet: Print nothing but the result.
        """
        from evolvability.runs.files import slug
        from evolvability.runs.folder import Run
        from evolvability.studies.comparison import compare_runs, to_terminal
        from evolvability.studies.sweeps import conduct, plan_further_evolution

        _some(runs, "evolve-from")
        planned = plan_further_evolution(
            [Run(path) for path in runs], direction, generations=generations, random=random
        )
        folder = output or Path("runs") / f"evolved-{slug(direction)}"
        made = conduct(planned, folder, watch_runs(len(planned), folder, quiet))
        console.print(to_terminal(compare_runs(made, "fitness_mean")))
        print_text(f"figures: ees figure evolution {folder}/*")

    tyro.cli(parse, prog="ees evolve-from", args=arguments)


def split(arguments: Sequence[str]) -> None:
    """Split a trained population into species, and go on: ees split RUN [--components 2]."""

    def parse(
        run: RunPath,
        components: int = 2,
        generations: Annotated[int, tyro.conf.arg(metavar="N")] = 20,
        output: Annotated[Path | None, tyro.conf.arg(metavar="FOLDER")] = None,
        quiet: bool = False,
    ) -> None:
        """Split a trained population into species at independent samples of it, and evolve on with its objective.

        Args:
            run: The trained population: a run folder, or a light copy of one.
            components: How many species.
            generations: How many more generations.
            output: The new run folder; runs/NAME-split-COMPONENTS unless given.
            quiet: Print nothing but the result.
        """
        from evolvability.runs.folder import Run
        from evolvability.studies.sweeps import Planned, conduct, plan_split

        planned = plan_split(Run(run), components=components, generations=generations)
        path = output or Path("runs") / planned.name
        conduct([Planned(path.name, planned.config)], path.parent, watch_runs(1, path.parent, quiet))
        finish(path)
        say(quiet, f"        ees figure components {run} {path}")

    tyro.cli(parse, prog="ees split", args=arguments)


def measure(arguments: Sequence[str]) -> None:
    """Measure how evolvable centers are: ees measure RUN|PARAMETERS [--task TASK]."""

    def parse(
        centers: Annotated[tuple[Path, ...], tyro.conf.Positional, tyro.conf.arg(metavar="RUN|PARAMETERS [...]")],
        task: Annotated[str | None, tyro.conf.arg(metavar="TASK")] = None,
        options: Annotated[tuple[str, ...], tyro.conf.arg(metavar="KEY=VALUE")] = (),
        sigma: float | None = None,
        offspring: Annotated[int, tyro.conf.arg(metavar="N")] = 1000,
        reach: float | None = None,
        threshold: float | None = None,
        radius: float | None = None,
        cells: int = 20,
        keep: bool = False,
        output: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None,
    ) -> None:
        """Measure what mutations of centers do: variance, entropy, distinct behaviors, coverage, reachability.

        Args:
            centers: Run folders, or .safetensors or .npy files of centers, with --task.
            task: The task of parameter files.
            options: The task's own options for parameter files, e.g. hidden=64.
            sigma: Standard deviation of mutations; that of training, or the task's default, unless given.
            offspring: How many mutations of each center.
            reach: Half width of the box that coverage and reachability are about; as far as any goes unless given.
            threshold: Behaviors nearer to each other than this are the same; a cell's width unless given.
            radius: Nearer to the origin than this is degenerate; an eighth of the reach unless given.
            cells: Cells of the box, a dimension.
            keep: Keep what the offspring of run folders did, for figures and statistics.
            output: A JSON file with the measures of every seed.
        """
        from evolvability.runs.files import write_output
        from evolvability.studies.measures import common_reach, measures, yardstick

        _some(centers, "measure")
        born = {str(path): _offspring(path, task, options, sigma, offspring, keep) for path in centers}
        furthest = common_reach([one.behavior for several in born.values() for one in several])
        by = yardstick(furthest if reach is None else reach, threshold=threshold, radius=radius, cells=cells)
        measured = {name: [measures(one.behavior, by) for one in several] for name, several in born.items()}
        console.print(_measures_table(born, measured, by), soft_wrap=False)
        print_text(
            f"{offspring:,} offspring a center; several centers: median (lowest to highest). Reach {by.reach:.4g}, "
            f"threshold {by.threshold:.4g}, radius {by.radius:.4g}, {by.cells} cells a dimension."
        )
        if output is not None:
            rows = {name: [dataclasses.asdict(one) for one in several] for name, several in measured.items()}
            write_output(output, json.dumps({"yardstick": dataclasses.asdict(by), "measures": rows}, indent=2).encode())
            print_text(f"wrote {output}")

    tyro.cli(parse, prog="ees measure", args=arguments)


def _offspring(
    path: Path, task: str | None, options: Sequence[str], sigma: float | None, number: int, keep: bool
) -> "list[Offspring]":
    from evolvability.runs.folder import Run
    from evolvability.studies.offspring import offspring_of_file, offspring_of_run
    from evolvability.tasks.registry import make_task

    if path.is_dir():
        run = Run(path)
        if task not in (None, run.config.task):
            raise ConfigError(f"{path} is a run of '{run.config.task}', not of '{task}'. Leave out --task.")
        return offspring_of_run(run, number=number, sigma=sigma, save=keep)
    if keep:
        raise ConfigError(f"--keep is for run folders: {path} has nowhere to keep its offspring.")
    if not path.exists():
        raise ConfigError(f"There is no run folder and no file of parameters at {path}.")
    if task is None:
        raise ConfigError(f"{path} is a file of parameters: say what they are for, e.g. --task cheetah.")
    values: dict[str, Any] = {"task_options": _options(options)} | ({} if sigma is None else {"sigma": sigma})
    config = layered(task, values=values)
    return offspring_of_file(path, make_task(task, config.task_options), config, number=number)


def _options(pairs: Sequence[str]) -> dict[str, Any]:
    """A task's options from words such as ``hidden=64``."""
    options: dict[str, Any] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals:
            raise ConfigError(f"--options: KEY=VALUE is expected, e.g. hidden=64, got '{pair}'.")
        try:
            options |= tomllib.loads(f"{key} = {value}")
        except tomllib.TOMLDecodeError:
            options[key] = value  # a text without quotes
    return options


def _measures_table(
    born: "dict[str, list[Offspring]]", measured: "dict[str, list[Measures]]", by: "MeasureScale"
) -> Table:
    from evolvability.studies.measures import Measures, coverage, specialization

    table = Table("measure")
    for name in born:
        table.add_column(Text(name), justify="right")
    for field in dataclasses.fields(Measures):
        columns = [[float(getattr(one, field.name)) for one in several] for several in measured.values()]
        table.add_row(field.name, *map(spread, columns))
    most = max(int(one.component.max()) + 1 for several in born.values() for one in several)
    if most > 1:
        for component in range(most):
            parts = [[one.behavior[one.component == component] for one in several] for several in born.values()]
            cells = [[coverage(part, by) for part in several if len(part)] for several in parts]
            table.add_row(f"coverage of component {component + 1}", *(spread(own) if own else "" for own in cells))
        shares = [
            [specialization(one.behavior, one.component, by).share for one in several if one.component.any()]
            for several in born.values()
        ]
        table.add_row("specialization", *(spread(own) if own else "" for own in shares))
    invalid = [[float(one.num_invalid) for one in several] for several in born.values()]
    table.add_row("invalid", *map(spread, invalid))
    return table


def spread(values: Sequence[float] | Array) -> str:
    """One value, or the median and the range of several."""
    if len(values) == 1:
        return f"{values[0]:.4g}"
    return f"{np.median(values):.4g} ({min(values):.4g} to {max(values):.4g})"


def _some(paths: Sequence[Path], command: str) -> None:
    if not paths:
        raise ConfigError(f"ees {command}: give at least one run folder.")
