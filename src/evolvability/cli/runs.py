"""The commands about runs as they are: show, figure, compare, sweep, export."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from inspect import cleandoc
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from rich.console import Group
from rich.table import Table
from rich.text import Text
from tyro.conf import Positional, arg

from evolvability.cli.arguments import Count, Dimensions, File, Folder, MaybeCount, RunPaths, check_alone, open_runs
from evolvability.cli.printing import console, errors, median, plural, print_text, say
from evolvability.config.schema import UNSET, read_toml
from evolvability.core.errors import ConfigError
from evolvability.figures.registry import FIGURES, draw_figure, figure_entry, save_figure
from evolvability.runs.files import command_line, json_text, write_output
from evolvability.runs.trust import check_file_trust

if TYPE_CHECKING:
    from evolvability.runs.folder import Run
    from evolvability.studies.sweeps import Status, Watch
    from evolvability.training.progress import Display

METRICS = (
    "objective variance entropy distance repeatability fitness_before fitness_mean fitness_max center_norm num_invalid"
)
SETTINGS = "population population_size episodes optimizer learning_rate l2"
"""What `ees show` shows of a run, beside the options of its population and its objective."""


def show(runs: RunPaths) -> None:
    """Summarize run folders.

    Args:
        runs: One run folder or more.
    """
    for run in open_runs(runs):
        console.print(_summary(run), soft_wrap=True)


def figure(
    name: Annotated[str, Positional, arg(metavar="NAME")],
    runs: RunPaths,
    dimensions: Dimensions = "",
    output: File = None,
) -> None:
    """Draw a figure from run folders.

    {figures}

    Args:
        name: Which figure, one of those above.
        runs: Run folders; those that differ in their seeds alone are drawn as one.
        dimensions: Which behavior dimensions the axes show, counted from 0, e.g. 0,2; default: the first two.
        output: The file to write, ending in .png, .pdf or .svg; default: NAME.png.
    """
    figure_entry(name)  # an unknown name is told before JAX is loaded
    print_text(f"wrote {draw_figure(name, open_runs(runs, dimensions), output)}")


figure.__doc__ = cleandoc(str(figure.__doc__)).replace(
    "{figures}", "\n".join(f"- {name}: {entry.summary}." for name, entry in FIGURES.items())
)


def compare(
    runs: RunPaths,
    metric: Annotated[str, arg(metavar="NAME")] = "distance",
    generation: Annotated[int | Literal["last"] | None, arg(metavar="N|last"), UNSET] = None,
    correction: Literal["none", "holm", "benjamini-hochberg"] = "none",
    output: Annotated[Path | None, arg(metavar="STEM"), UNSET] = None,
) -> None:
    """Test whether groups of runs differ in a metric.

    Runs that differ in their seeds alone are a group.

    Args:
        runs: Run folders of one task.
        metric: A field of metrics.jsonl, such as repeatability, a measure of behaviors (distinct, coverage, degenerate,
            specialization), adapted:GOAL, raced:GOAL[:ADAPTER] or offspring:MEASURE[:SIGMA].
        generation: Which generation, or last for each run's own last; default: the last that all runs have.
        correction: Correct p-values for their number.
        output: Write STEM.json, STEM.md and STEM.png as well.
    """
    found = open_runs(runs)
    from evolvability.studies.comparison import compare_runs, to_markdown, to_terminal

    correcting = None if correction == "none" else correction
    report = compare_runs(found, metric, generation=generation, correction=correcting)
    console.print(to_terminal(report), soft_wrap=False)
    if output is not None:
        from evolvability.figures.comparison import figure as comparison_figure

        # Not with_suffix: a stem may have a dot of its own.
        write_output(Path(f"{output}.json"), json_text(asdict(report)).encode())
        write_output(Path(f"{output}.md"), to_markdown(report).encode())
        save_figure(lambda: comparison_figure(report), Path(f"{output}.png"))
        print_text(f"wrote {output}.json, {output}.md, {output}.png")


def sweep(
    file: Annotated[Path, Positional, arg(metavar="FILE")],
    output: Folder = None,
    dry_run: bool = False,
    quiet: bool = False,
    trust: bool = False,
) -> None:
    """Run every combination of some settings, each into a folder of its own. Finished runs are skipped.

    Args:
        file: A TOML file of values, with a table [sweep] of lists.
        output: The folder for the run folders; default: runs/NAME-OF-FILE.
        dry_run: Only tell what would be done.
        quiet: Print nothing but the result.
        trust: Import the code that the file names as its task, now and later: only if you trust it.
    """
    table = read_toml(file)
    from evolvability.studies.sweeps import conduct, plan

    planned = plan(table)
    for run in planned:
        check_file_trust(file, run.config, trust=trust)
    folder = output or Path("runs") / file.stem
    if dry_run:
        for run in planned:
            print_text(f"{replace(run, folder=folder).status():5}  {folder / run.name}")
        return
    conduct(planned, folder, watch_works(len(planned), quiet))
    print_text(f"{plural(len(planned), 'run')} in {folder}\nfigures: {command_line('figure', 'curves', folder)}/*")


def watch_works(number: int, quiet: bool) -> "Watch":
    """Shows the progress of each of several pieces of work, runs or studies of them."""
    from evolvability.studies.sweeps import Planned
    from evolvability.training.progress import display

    # Counted over calls, one per piece, also for those that are skipped.
    count = iter(range(1, number + 1))

    @contextmanager
    def watch(work: Any, status: "Status") -> "Iterator[Display]":
        name = f"{work.item}: {work.name}" if work.item else work.path
        say(quiet, f"{next(count)}/{number} {name}" + {"done": ": done", "begun": ": goes on"}.get(status, ""))
        try:
            if isinstance(work, Planned):
                with display(work.config, console, quiet=quiet or status == "done") as show:
                    yield show
            else:
                yield lambda rows: None
        except KeyboardInterrupt:
            print_text("\nInterrupted; nothing is lost. Go on with the same command.", errors)
            raise

    return watch


def export(
    paths: Annotated[tuple[Path, ...], Positional, arg(metavar="RUN [RUN ...] FOLDER"), UNSET],
    behaviors: Count = 5,
    half: bool = False,
    members: MaybeCount = None,
    histograms: MaybeCount = None,
    centers: bool = True,
    playground: File = None,
) -> None:
    """Make slim exports of run folders, without the optimizer's state and most of the recorded behaviors.

    Args:
        paths: The run folders, and the folder in which each gets a copy of its name.
        behaviors: How many recorded generations to keep, the first and the last among them.
        half: Keep centers as 16-bit numbers.
        members: How many members of those generations to keep, the first ones; default: all.
        histograms: How many generations to keep histograms of; default: all.
        centers: Keep the last center; a copy without it can be shown and drawn, but has no mutations.
        playground: Write a page that simulates mutations of one run into this HTML file instead.
    """
    if playground is not None:
        if len(paths) != 1:
            raise ConfigError(f"ees export --playground: give one run folder, got {len(paths)}.")
        others = {"--half": half, "--members": members, "--histograms": histograms, "--no-centers": not centers}
        check_alone("export --playground", others)
        run = open_runs(paths)[0]
        from evolvability.explorer.playground import export_playground

        export_playground(run, playground)
        print_text(f"wrote {playground}, {playground.stat().st_size / 1e6:.1f} MB")
        return
    if len(paths) < 2:
        raise ConfigError("ees export: give one run folder or more, and the folder for their copies.")
    *sources, target = paths
    found = open_runs(sources)
    from evolvability.runs.export import export as export_run
    from evolvability.runs.export import folder_size

    for run in found:
        copy = export_run(
            run,
            target / run.path.resolve().name,
            behaviors=behaviors,
            half=half,
            members=members,
            histograms=histograms,
            centers=centers,
        )
        print_text(f"wrote {copy}, {folder_size(copy) / 1000:,.0f} kB")


def _interval(run: "Run", generation: int) -> str:
    """Of a run's repeatability, where that generation's behaviors were kept."""
    from evolvability.studies.repeatability import recorded_episodes, repeatability

    episodes = recorded_episodes(run, 0, generation) if generation in run.recorded else None
    if episodes is None:
        return ""
    found = repeatability(episodes)
    return f"{found.low:.2f} to {found.high:.2f}"


def _summary(run: "Run") -> Group:
    """A run's configuration and its metrics at the start, the middle and the end; several seeds by their medians."""
    from evolvability.explorer.data import environment
    from evolvability.runs.checkpoints import checkpoint_generations

    config, metrics = run.config, run.metrics
    done = metrics["generation"].shape[1] if metrics else 0
    seeds = f"seed {config.seed}" if config.seeds == 1 else f"{config.seeds} seeds, medians"
    title = f"{run.path}: {config.task_title}, {config.objective}, {seeds}, {done}/{config.generations} generations"
    settings = {name: getattr(config, name) for name in SETTINGS.split() if name not in config.idle}
    caption = ", ".join(f"{name} {value}" for name, value in (settings | config.options).items())
    if behaviors := ", ".join(run.behavior_names):
        caption = f"behavior: {behaviors}; {caption}"
    caption += f"; trained on {', '.join(environment(run).get('devices', ['an unknown device']))}"
    if not checkpoint_generations(run.path):
        caption += "; without checkpoints: nothing can go on from it"
    table = Table("generation")
    # A set, as of one or two generations some are the same.
    columns = sorted({0, done // 2, done - 1}) if done else []
    for column in columns:
        table.add_column(str(column), justify="right")
    for name in METRICS.split():
        values = [median(metrics[name][:, column]) for column in columns] if name in metrics else []
        if any(map(math.isfinite, values)):
            table.add_row(name.replace("_", " "), *(f"{value:.5g}" for value in values))
            if name == "repeatability" and config.seeds == 1:
                table.add_row("its 95 % interval", *(_interval(run, column) for column in columns))
    # Beside the table, not its title and caption: those would be wrapped to the table's width.
    return Group(Text(title, style="bold"), *([table] if columns else []), Text(caption, style="dim"))
