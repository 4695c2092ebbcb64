"""The commands that use what was trained: adapt, evolve further, split, measure, compare, sweep, export."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from evolvability.cli.printing import console, plural, print_text, resumable, say
from evolvability.display import Display, display
from evolvability.errors import ConfigError

if TYPE_CHECKING:
    from evolvability.sweeps import Planned, Status, Watch

RunPath = Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
RunPaths = Annotated[tuple[Path, ...], tyro.conf.Positional, tyro.conf.arg(metavar="RUN [RUN ...]")]


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
        from evolvability.sweeps import conduct, plan_from_file, status

        planned = plan_from_file(file)
        folder = output or Path("runs") / file.stem
        if dry_run:
            for run in planned:
                print_text(f"{status(folder / run.name, run.config):5}  {folder / run.name}")
            return
        conduct(planned, folder, _watch(len(planned), folder, quiet))
        print_text(f"{plural(len(planned), 'run')} in {folder}\nfigures: ees figure curves {folder}/*")

    tyro.cli(parse, prog="ees sweep", args=arguments)


def _watch(number: int, folder: Path, quiet: bool) -> "Watch":
    """Shows the progress of each of several runs."""
    count = iter(range(1, number + 1))

    @contextmanager
    def watch(run: "Planned", status: "Status") -> Iterator[Display]:
        done = "done" if status == "done" else "goes on" if status == "begun" else plural(run.config.seeds, "seed")
        say(quiet, f"{next(count)}/{number} {folder / run.name}: {done}")
        with resumable(folder / run.name), display(run.config, console, quiet=quiet or status == "done") as show:
            yield show

    return watch


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
        from evolvability.exports import export as export_run
        from evolvability.exports import folder_size
        from evolvability.runs import Run

        if len(paths) < 2:
            raise ConfigError("ees export: give one run folder or more, and the folder for their copies.")
        *sources, target = paths
        for run in [Run(path) for path in sources]:
            copy = export_run(run, target / run.path.resolve().name, behaviors=behaviors, half=half)
            print_text(f"wrote {copy}, {folder_size(copy) / 1000:,.0f} kB")

    tyro.cli(parse, prog="ees export", args=arguments)
