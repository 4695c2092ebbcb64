"""The commands about several runs: sweep, compare, export."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from evolvability.cli.printing import console, plural, print_text, resumable, say
from evolvability.core.errors import ConfigError
from evolvability.training.progress import Display, display

if TYPE_CHECKING:
    from evolvability.studies.sweeps import Planned, Status, Watch


def sweep(arguments: Sequence[str]) -> None:
    """Run every combination of some knobs, skipping what is done: ees sweep FILE [--output FOLDER]."""

    def parse(
        file: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="FILE")],
        output: Annotated[Path | None, tyro.conf.arg(metavar="FOLDER")] = None,
        dry_run: bool = False,
        quiet: bool = False,
    ) -> None:
        """Run every combination of some knobs, each into a folder of its own; what is done is skipped.

        Args:
            file: A TOML file of values, with a table [sweep] of lists.
            output: The folder for the run folders; runs/NAME-OF-FILE unless given.
            dry_run: Only tell what would be done.
            quiet: Print nothing but the result.
        """
        from evolvability.config.schema import read_toml
        from evolvability.studies.sweeps import conduct, plan, status

        planned = plan(read_toml(file))
        folder = output or Path("runs") / file.stem
        if dry_run:
            for run in planned:
                print_text(f"{status(folder / run.name, run.config):5}  {folder / run.name}")
            return
        conduct(planned, folder, watch_runs(len(planned), folder, quiet))
        print_text(f"{plural(len(planned), 'run')} in {folder}\nfigures: ees figure curves {folder}/*")

    tyro.cli(parse, prog="ees sweep", args=arguments)


def watch_runs(number: int, folder: Path, quiet: bool) -> "Watch":
    """Shows the progress of each of several runs."""
    count = iter(range(1, number + 1))

    @contextmanager
    def watch(run: "Planned", status: "Status") -> Iterator[Display]:
        done = "done" if status == "done" else "goes on" if status == "begun" else plural(run.config.seeds, "seed")
        say(quiet, f"{next(count)}/{number} {folder / run.name}: {done}")
        with resumable(folder / run.name), display(run.config, console, quiet=quiet or status == "done") as show:
            yield show

    return watch


def compare(arguments: Sequence[str]) -> None:
    """Test whether groups of runs differ in a metric: ees compare RUN [RUN...] --metric NAME."""

    def parse(
        runs: Annotated[tuple[Path, ...], tyro.conf.Positional, tyro.conf.arg(metavar="RUN [RUN ...]")],
        metric: Annotated[str, tyro.conf.arg(metavar="NAME")] = "distance",
        generation: Annotated[int | None, tyro.conf.arg(metavar="N")] = None,
        correction: Literal["none", "holm", "bonferroni", "benjamini-hochberg"] = "none",
        output: Annotated[Path | None, tyro.conf.arg(metavar="STEM")] = None,
    ) -> None:
        """Test whether groups of runs differ in a metric. Runs that differ in their seeds alone are a group.

        Args:
            runs: Run folders of one task.
            metric: A field of metrics.jsonl, a measure of behaviors (distinct, coverage, degenerate, reachability,
                specialization), adapted:GOAL, raced:GOAL[:ADAPTER] or offspring:MEASURE[:SIGMA].
            generation: Which generation; each run's last unless given.
            correction: Correct p-values for their number.
            output: Write STEM.json, STEM.md and STEM.png as well.
        """
        from evolvability.runs.folder import Run
        from evolvability.studies.comparison import compare_runs, to_json, to_markdown, to_terminal

        if not runs:
            raise ConfigError("ees compare: give at least one run folder.")
        found = [Run(path) for path in runs]
        report = compare_runs(
            found, metric, generation=generation, correction=None if correction == "none" else correction
        )
        console.print(to_terminal(report), soft_wrap=False)
        if output is not None:
            from evolvability.figures.comparison import figure
            from evolvability.figures.registry import save_figure
            from evolvability.runs.files import write_output

            # Not with_suffix: a stem may have a dot of its own.
            write_output(Path(f"{output}.json"), to_json(report).encode())
            write_output(Path(f"{output}.md"), to_markdown(report).encode())
            save_figure(lambda: figure(report), Path(f"{output}.png"))
            print_text(f"wrote {output}.json, {output}.md, {output}.png")

    tyro.cli(parse, prog="ees compare", args=arguments)


def export(arguments: Sequence[str]) -> None:
    """Copy what is light of run folders: ees export RUN [RUN...] FOLDER."""

    def parse(
        paths: Annotated[tuple[Path, ...], tyro.conf.Positional, tyro.conf.arg(metavar="RUN [RUN ...] FOLDER")],
        behaviors: Annotated[int, tyro.conf.arg(metavar="N")] = 5,
        half: bool = False,
    ) -> None:
        """Copy what is light of run folders: all but the optimizer's state and most of the recorded behaviors.

        Args:
            paths: The run folders, and the folder in which each gets a copy of its name.
            behaviors: How many recorded generations to keep, the first and the last among them.
            half: Keep centers as 16-bit numbers.
        """
        from evolvability.runs.export import export as export_run
        from evolvability.runs.export import folder_size
        from evolvability.runs.folder import Run

        if len(paths) < 2:
            raise ConfigError("ees export: give one run folder or more, and the folder for their copies.")
        *sources, target = paths
        for run in [Run(path) for path in sources]:
            copy = export_run(run, target / run.path.resolve().name, behaviors=behaviors, half=half)
            print_text(f"wrote {copy}, {folder_size(copy) / 1000:,.0f} kB")

    tyro.cli(parse, prog="ees export", args=arguments)
