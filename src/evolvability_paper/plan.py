"""From items and a scale to pieces of work, runs and studies of them; doing those that are not done yet."""

import json
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from operator import itemgetter
from pathlib import Path
from typing import Any

from evolvability import Config, ConfigError, Run, RunFolderError
from evolvability.runs.environment import describe_devices
from evolvability.runs.sealed import UNREADABLE
from evolvability.runs.trust import check_files
from evolvability.studies.adaptation import adapt, load_adaptation
from evolvability.studies.offspring import kept_generation, offspring_of_run
from evolvability.studies.races import load_race, own_adapter, race
from evolvability.studies.result_files import is_current
from evolvability.studies.sweeps import Planned, Show, Status, Watch, batches, unwatched, work_off
from evolvability_paper.claims.uses import GOALS
from evolvability_paper.items import Item, Study, Training
from evolvability_paper.scales import Scale

FILES = {"report.html", "report.md", "claims.json", "figures", "times.jsonl"}
"""In the output folder, beside the run folders: refused where they are links, by which others would be overwritten."""
TIMES = "times.jsonl"
"""One object per piece of work, in the output folder: what was done, interrupted or not, and its seconds."""


@dataclass(frozen=True)
class StudyWork:
    """A study of one run, and its sizes."""

    item: str
    """The first item that needs it."""
    study: Study
    """The study."""
    path: Path
    """The run folder that it is about."""
    sizes: dict[str, Any]
    """The study's arguments."""

    @property
    def name(self) -> str:
        """What it is called."""
        size = f" of {self.study.share:g} sigma" if self.study.share != 1 else ""
        return f"{self.study.kind}{size}: {self.path.parent.name}/{self.path.name}"

    def status(self) -> Status:
        """Whether its result is in the run folder, and of the run's last centers."""
        if not (self.path / "config.toml").exists():
            return "new"
        run = Run(self.path)
        try:
            return "done" if all(is_current(run, generation) for generation in self._generations(run)) else "new"
        except RunFolderError:  # a part of it is missing
            return "new"

    def conduct(self, show: Show) -> None:
        """Do it, into the run folder."""
        run = Run(self.path)
        if self.study.kind == "adapt":
            adapt(run, GOALS, **self.sizes)
        elif self.study.kind == "race":
            race(run, GOALS, **self.sizes)
        else:
            offspring_of_run(run, sigma=self._sigma(run), save=True, **self.sizes)

    def _generations(self, run: Run) -> list[int | None]:
        """Of the centers that each part of the result is about."""
        if self.study.kind == "adapt":
            return [load_adaptation(run, goal).generation for goal in GOALS]
        if self.study.kind == "race":
            return [load_race(run, goal, own_adapter(run)).generation for goal in GOALS]
        return [kept_generation(run, self._sigma(run))]

    def _sigma(self, run: Run) -> float:
        return self.study.share * run.config.population_options.sigma


Work = Planned | StudyWork


def plan(items: Sequence[Item], scale: Scale, output: Path, batches: Sequence[int] = ()) -> list[Work]:
    """All pieces of work of some items, in an order in which each finds what it starts from; none of them twice.

    The first batch of seeds of everything comes before the second of anything: whenever it is interrupted, all items
    have about as many seeds. Of some ``batches`` alone, where those are given, counted from 1.
    """
    found: dict[str, tuple[int, Work]] = {}
    for item in items:
        made: dict[str, list[Planned]] = {}
        for training in item.trainings:
            # An item lists what others start from before these.
            made[training.name] = list(_runs(item, training, scale, output / "runs", made.get(training.start, [])))
        works: list[tuple[int, Work]] = [pair for runs in made.values() for pair in enumerate(runs, start=1)]
        for study in item.studies:
            sizes = dict(scale.studies[study.kind])
            for number, run in (pair for name in study.trainings for pair in enumerate(made[name], start=1)):
                works.append((number, StudyWork(item.name, study, run.path, sizes)))
        for number, work in works:
            found.setdefault(work.name, (number, work))  # what several items need is booked under the first
    most = max((number for number, _ in found.values()), default=1)
    for number in batches:
        if not 1 <= number <= most:
            raise ConfigError(f"--batches takes numbers from 1 to {most}, as many as these items have; got {number}.")
    # Sorting keeps the order within a batch.
    return [work for number, work in sorted(found.values(), key=itemgetter(0)) if not batches or number in batches]


def _runs(item: Item, training: Training, scale: Scale, folder: Path, starts: Sequence[Planned]) -> Iterator[Planned]:
    """A training's seeds in batches, each of which starts from the batch that has its seeds."""
    for number, run in enumerate(batches(training.name, scale.config(training), scale.batch_of(training))):
        start = str(starts[number].path) if starts else ""
        config = _settled(folder / run.name, replace(run.config, start_from=start))
        yield replace(run, config=config, folder=folder, item=item.name, slim=scale.slim)


def _settled(path: Path, config: Config) -> Config:
    """The configuration with the start that its folder says: all of it may have been moved since it was begun."""
    found = Run(path).config.start_from if (path / "config.toml").exists() else ""
    # TASK/NAME are the same wherever the output folder lies.
    moved = Path(found).parts[-2:] == Path(config.start_from).parts[-2:]
    return replace(config, start_from=found) if moved else config


def conduct(works: Sequence[Work], output: Path, watch: Watch = unwatched) -> None:
    """Do every piece of work that is not done yet, and keep in the output folder how long it took; see `work_off`."""
    check_files(output, FILES)

    @contextmanager
    def timed(work: Work, state: Status) -> Iterator[Show]:
        if state == "done":
            yield lambda rows: None
            return
        # Durations by the monotonic clock: the other may be set meanwhile.
        began, clock = time.time(), time.monotonic()
        try:
            with watch(work, state) as show:
                yield show
        finally:  # also when it is interrupted
            row = {"item": work.item, "work": work.name, "began": round(began, 2)}
            row |= {"seconds": round(time.monotonic() - clock, 2), "devices": describe_devices()}
            with suppress(OSError):  # where nothing can be written, the work itself has said so
                output.mkdir(parents=True, exist_ok=True)
                with (output / TIMES).open("a") as file:
                    file.write(f"\n{json.dumps(row)}\n")  # on a line of its own: the last may be torn

    work_off(works, timed)


def times(output: Path) -> list[dict[str, Any]]:
    """What was done so far and how long it took."""
    path, rows = output / TIMES, []
    lines = path.read_text(errors="replace").splitlines() if path.is_file() else []
    for line in filter(str.strip, lines):
        try:
            row = json.loads(line)
            devices = [str(one) for one in row["devices"]] or [""]
            rows.append({"item": str(row["item"]), "seconds": float(row["seconds"]), "devices": devices})
        except UNREADABLE:
            warnings.warn(f"A line of {path} is damaged, and left out.", stacklevel=2)
    return rows
