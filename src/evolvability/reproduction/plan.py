"""From items and a scale to pieces of work, each of them done or not: runs to make, and studies of them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from evolvability.reproduction.claims.maml import GOALS
from evolvability.reproduction.items import Item, Study, Training
from evolvability.reproduction.scales import Scale
from evolvability.runs.folder import Run
from evolvability.studies.adaptation import adapt, adapted_goals, load_adaptation
from evolvability.studies.offspring import kept_generation, kept_sigmas, offspring_of_run
from evolvability.studies.races import own_adapter, race, races_of
from evolvability.studies.result_files import is_current
from evolvability.studies.sweeps import Planned, Status, batches, status


@dataclass(frozen=True)
class RunWork:
    """A run to be made.

    Attributes:
        item: the first item that needs it.
        run: its name and configuration.
        folder: the folder that its name is in.
    """

    item: str
    run: Planned
    folder: Path

    @property
    def path(self) -> Path:
        """Its run folder."""
        return self.folder / self.run.name

    @property
    def title(self) -> str:
        """What it is called."""
        return self.run.name

    def status(self) -> Status:
        """How far it has come; a folder that holds a run of another configuration is refused."""
        return status(self.path, self.settled().config)

    def settled(self) -> Planned:
        """The run with the start that its folder says: all of it may have been moved since it was begun."""
        if not (self.path / "config.toml").exists():
            return self.run
        found, asked = Run(self.path).config.start_from, self.run.config.start_from
        moved = Path(found).parts[-2:] == Path(asked).parts[-2:]
        return replace(self.run, config=replace(self.run.config, start_from=found)) if moved else self.run


@dataclass(frozen=True)
class StudyWork:
    """A study of one run, and its sizes.

    Attributes:
        item: the first item that needs it.
        study: what is done.
        path: the run folder.
        sizes: arguments of the study.
    """

    item: str
    study: Study
    path: Path
    sizes: dict[str, int]

    @property
    def title(self) -> str:
        """What it is called."""
        size = f" of {self.study.share:g} sigma" if self.study.share != 1 else ""
        return f"{self.study.kind}{size}: {self.path.parent.name}/{self.path.name}"

    def status(self) -> Status:
        """Whether its result is in the run folder."""
        if not (self.path / "config.toml").exists():
            return "new"
        run = Run(self.path)
        made = {"adapt": self._adapted, "race": self._raced, "offspring": self._born}[self.study.kind](run)
        return "done" if made and all(is_current(run, generation) for generation in made) else "new"

    def conduct(self) -> None:
        """Do it, into the run folder."""
        run = Run(self.path)
        if self.study.kind == "adapt":
            adapt(run, GOALS, mutations=self.sizes["mutations"], repeats=self.sizes["repeats"])
        elif self.study.kind == "race":
            race(run, GOALS, episodes=self.sizes["episodes"], repeats=self.sizes["repeats"])
        else:
            offspring_of_run(run, number=self.sizes["number"], sigma=self._sigma(run), save=True)

    # The generations of the centers of all its parts; none where a part is missing.

    def _adapted(self, run: Run) -> list[int | None]:
        there = set(GOALS) <= set(adapted_goals(run))
        return [load_adaptation(run, goal).generation for goal in GOALS] if there else []

    def _raced(self, run: Run) -> list[int | None]:
        own = own_adapter(run)
        made = {one.goal: one.generation for one in races_of(run) if one.adapter == own}
        return [made[goal] for goal in GOALS] if set(GOALS) <= set(made) else []

    def _born(self, run: Run) -> list[int | None]:
        return [kept_generation(run, sigma) for sigma in kept_sigmas(run) if abs(sigma / self._sigma(run) - 1) < 1e-6]

    def _sigma(self, run: Run) -> float:
        return self.study.share * run.config.sigma


Work = RunWork | StudyWork


def plan(items: Sequence[Item], scale: Scale, output: Path) -> list[Work]:
    """All pieces of work of some items, in an order in which each finds what it starts from; none of them twice."""
    found: dict[str, Work] = {}
    for item in items:
        names: dict[str, list[str]] = {}
        for training in item.trainings:
            runs = list(_runs(training, scale, output, names))
            names[training.name] = [run.name for run in runs]
            for run in runs:
                found.setdefault(run.name, RunWork(item.name, run, output / "runs"))
        for study in item.studies:
            for name in (name for training in study.trainings for name in names[training]):
                work = StudyWork(item.name, study, output / "runs" / name, dict(scale.studies[study.kind]))
                found.setdefault(work.title, work)
    return list(found.values())


def _runs(training: Training, scale: Scale, output: Path, names: dict[str, list[str]]) -> Iterator[Planned]:
    """A training's seeds in batches, each of which starts from the batch that has its seeds."""
    per_run = scale.batch(training)
    for number, run in enumerate(batches("", scale.config(training), per_run)):
        name = training.name if run.name == "run" else f"{training.name}_{run.name}"
        start = str(output / "runs" / names[training.start][number]) if training.start else ""
        yield Planned(name, replace(run.config, start_from=start))
