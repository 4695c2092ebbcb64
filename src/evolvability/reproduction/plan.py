"""From items and a scale to pieces of work, each of them done or not: runs to make, and studies of them."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from evolvability.evidence.maml_claims import GOALS
from evolvability.reproduction.items import Item, Study, Training
from evolvability.reproduction.scales import Scale
from evolvability.runs import Run
from evolvability.studies.adaptation import adapt, adapted_goals
from evolvability.studies.mutants import keep_offspring, kept_sigmas
from evolvability.studies.races import own_adapter, race, races_of
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
        done: dict[str, Callable[[], bool]] = {
            "adapt": lambda: set(GOALS) <= set(adapted_goals(run)),
            "race": lambda: (
                {(goal, own_adapter(run)) for goal in GOALS} <= {(one.goal, one.adapter) for one in races_of(run)}
            ),
            "offspring": lambda: any(abs(sigma / self._sigma(run) - 1) < 1e-6 for sigma in kept_sigmas(run)),
        }
        return "done" if done[self.study.kind]() else "new"

    def conduct(self) -> None:
        """Do it, into the run folder."""
        run = Run(self.path)
        if self.study.kind == "adapt":
            adapt(run, GOALS, mutations=self.sizes["mutations"], repeats=self.sizes["repeats"])
        elif self.study.kind == "race":
            race(run, GOALS, episodes=self.sizes["episodes"], repeats=self.sizes["repeats"])
        else:
            keep_offspring(run, number=self.sizes["number"], sigma=self._sigma(run))

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
