"""The commands about runs as they are: list, show, figure, compare, sweep, export."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from rich.console import Group
from rich.table import Table
from rich.text import Text
from tyro.conf import Positional, arg

from evolvability.cli.arguments import Count, Dimensions, File, Folder, MaybeCount, RunPaths, open_runs
from evolvability.cli.printing import console, errors, median, plural, print_text, say
from evolvability.cli.viewing import write_page
from evolvability.config.objective_text import STANDALONE_OBJECTIVES
from evolvability.config.pieces import idle_beside
from evolvability.config.schema import MAML, PRESETS, UNSET, idle_settings, read_toml
from evolvability.core.errors import ConfigError
from evolvability.core.populations import POPULATIONS
from evolvability.methods.registry import OBJECTIVES
from evolvability.runs.export import export as export_run
from evolvability.runs.export import folder_size
from evolvability.runs.files import command_line, json_text, write_output
from evolvability.runs.folder import Run
from evolvability.runs.trust import check_file_trust
from evolvability.studies.sweeps import Planned, Status, Watch, conduct, plan
from evolvability.tasks.registry import TASKS
from evolvability.training.progress import Display, display

SHOWN = {
    "metrics": "objective variance entropy distance fitness_before fitness_mean fitness_max center_norm num_invalid",
    "settings": "population population_size sigma mirrored optimizer learning_rate l2 bandwidth",
    "MAML's settings": "tasks episodes_per_task inner_rate discount trust_region start_std",
}
"""What `ees show` shows of a run."""


def list_names() -> None:
    """Show the tasks, objectives, populations and presets there are."""
    sections = {
        "tasks": {name: entry.summary for name, entry in TASKS.items()} | {"module:name": "a Task of your own"},
        "objectives": {name: _first_sentence(factory) for name, factory in OBJECTIVES.items()} | STANDALONE_OBJECTIVES,
        "populations": {name: _first_sentence(factory) for name, factory in POPULATIONS.items()},
        "presets": {name: text for name, (text, _) in PRESETS.items()},
    }
    for title, names in sections.items():
        table = Table(title=title, title_justify="left", title_style="bold", show_header=False, box=None)
        for name, text in names.items():
            table.add_row(f"  {name}", text)
        console.print(table)


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

    - curves: variance, entropy, distance and fitness over generations, with bands over seeds.
    - distance: the mean distance from the origin over generations.
    - behaviors: what the population does, generation by generation, as heat maps.
    - final: what the last population does, runs side by side.
    - seeds: the same of every seed, one line per method.
    - components: what the last population does, one color per component.
    - offspring: what mutations did that `ees measure --keep` kept.
    - adaptation: how far the best of k mutations gets, as `ees adapt` found.
    - race: ways of adapting over episodes used, as `ees race` found.
    - evolution: standard ES from different starts, as `ees evolve-from` makes them.
    - maml: returns before and after adaptation, divergence and exploration over outer steps.
    - elites: a MAP-Elites archive of all recorded members.
    - maze: the maze's walls and where members ended.
    - interference: the interference pattern and the way of every center over it.

    Args:
        name: Which figure, one of those above.
        runs: Run folders; those that differ in their seeds alone are drawn as one.
        dimensions: Which behavior dimensions the axes show, counted from 0, e.g. 0,2; a third one is shown as color.
            Default: the first two.
        output: The file to write, ending in .png, .pdf or .svg; default: NAME.png.
    """
    from evolvability.figures.registry import draw_figure  # which takes a second to load

    print_text(f"wrote {draw_figure(name, open_runs(runs, dimensions), output)}")


def compare(
    runs: RunPaths,
    metric: Annotated[str, arg(metavar="NAME")] = "distance",
    generation: Annotated[int | Literal["last"] | None, arg(metavar="N|last"), UNSET] = None,
    correction: Literal["none", "holm", "bonferroni", "benjamini-hochberg"] = "none",
    output: Annotated[Path | None, arg(metavar="STEM"), UNSET] = None,
) -> None:
    """Test whether groups of runs differ in a metric.

    Runs that differ in their seeds alone are a group.

    Args:
        runs: Run folders of one task.
        metric: A field of metrics.jsonl, a measure of behaviors (distinct, coverage, degenerate, reachability,
            specialization), adapted:GOAL, raced:GOAL[:ADAPTER] or offspring:MEASURE[:SIGMA].
        generation: Which generation, or last for each run's own last; default: the last that all runs have.
        correction: Correct p-values for their number.
        output: Write STEM.json, STEM.md and STEM.png as well.
    """
    from evolvability.studies.comparison import compare_runs, to_markdown, to_terminal

    correcting = None if correction == "none" else correction
    report = compare_runs(open_runs(runs), metric, generation=generation, correction=correcting)
    console.print(to_terminal(report), soft_wrap=False)
    if output is not None:
        from evolvability.figures.comparison import figure as comparison_figure
        from evolvability.figures.registry import save_figure

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
    planned = plan(read_toml(file))
    for run in planned:
        check_file_trust(file, run.config, trust=trust)
    folder = output or Path("runs") / file.stem
    if dry_run:
        for run in planned:
            print_text(f"{replace(run, folder=folder).status():5}  {folder / run.name}")
        return
    conduct(planned, folder, watch_works(len(planned), quiet))
    print_text(f"{plural(len(planned), 'run')} in {folder}\nfigures: {command_line('figure', 'curves', folder)}/*")


def watch_works(number: int, quiet: bool) -> Watch:
    """Shows the progress of each of several pieces of work, runs or studies of them."""
    # Counted over calls, one per piece, also for those that are skipped.
    count = iter(range(1, number + 1))

    @contextmanager
    def watch(work: Any, status: Status) -> Iterator[Display]:
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
        playground: Write a page that simulates mutations of one run into this HTML file instead; what a page cannot
            simulate, e.g. Gymnasium's environments, is written as recorded.
    """
    if playground is not None:
        if len(paths) != 1:
            raise ConfigError(f"ees export --playground: give one run folder, got {len(paths)}.")
        write_page(open_runs(paths)[0], playground)
        return
    if len(paths) < 2:
        raise ConfigError("ees export: give one run folder or more, and the folder for their copies.")
    *sources, target = paths
    for run in open_runs(sources):
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


def _first_sentence(factory: Callable[..., Any]) -> str:
    """What a factory's docstring says before its formula."""
    line = (factory.__doc__ or "").strip().splitlines()[0]
    # A terminal shows no formulas.
    return line.split("$")[0].rstrip(" :(,") if "$" in line else line.rstrip(".")


def _summary(run: Run) -> Group:
    """A run's configuration and its metrics at the start, the middle and the end; several seeds by their medians."""
    config, metrics = run.config, run.metrics
    done = metrics["generation"].shape[1] if metrics else 0
    seeds = f"seed {config.seed}" if config.seeds == 1 else f"{config.seeds} seeds, medians"
    title = f"{run.path}: {config.task_title}, {config.objective}, {seeds}, {done}/{config.generations} generations"
    names, source = (SHOWN["MAML's settings"], config.maml) if config.objective == MAML else (SHOWN["settings"], config)
    idle = idle_settings(config.objective, config.diversity) | idle_beside(config)
    caption = ", ".join(f"{name} {getattr(source, name)}" for name in names.split() if name not in idle)
    if behaviors := ", ".join(run.behavior_names):
        caption = f"behavior: {behaviors}; {caption}"
    table = Table("generation")
    # A set, as of one or two generations some are the same.
    columns = sorted({0, done // 2, done - 1}) if done else []
    for column in columns:
        table.add_column(str(column), justify="right")
    for name in SHOWN["metrics"].split():
        values = [median(metrics[name][:, column]) for column in columns] if name in metrics else []
        if np.isfinite(values).any():
            table.add_row(name.replace("_", " "), *(f"{value:.5g}" for value in values))
    # Beside the table, not its title and caption: those would be wrapped to the table's width.
    return Group(Text(title, style="bold"), *([table] if columns else []), Text(caption, style="dim"))
