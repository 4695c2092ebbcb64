"""Several runs, planned and then made, each in a folder of its own; finished runs are skipped, begun ones resumed.

A sweep is every combination of some settings: a configuration file with a table ``[sweep]`` of lists, see
docs/command-line.md. Trained populations evolve further (section 5.3.1 of the paper) or split into species (section
5.4): ordinary runs that start from another.
"""

import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from evolvability.config.schema import Config, changed, layered, to_table
from evolvability.config.tables import flat, merged
from evolvability.core.errors import ConfigError, RunFolderError, UserError
from evolvability.runs.export import slim_down
from evolvability.runs.files import command_line, slug
from evolvability.runs.folder import Run
from evolvability.runs.trust import check_trust
from evolvability.studies.groups import check_one_task
from evolvability.training.driver import resume, train
from evolvability.training.evolution import Evolution
from evolvability.training.metrics import Rows

Status = Literal["new", "begun", "done"]
FURTHER_GENERATIONS = 21  # generation 20, the last, is the population after 20 updates
SPLIT_GENERATIONS = 20
Show = Callable[[Rows], None]
Watch = Callable[[Any, Status], AbstractContextManager[Show]]
"""Called before each piece of work, for what shows its progress."""


@dataclass(frozen=True)
class Planned:
    """A run to be made."""

    name: str
    """The name of its run folder."""
    config: Config
    """Its configuration."""
    folder: Path = Path()
    """The folder that its run folder is in."""
    item: str = ""
    """The first item of the paper that needs it."""
    slim: bool = False
    """Whether it keeps less once it is finished, see `slim_down`."""

    @property
    def path(self) -> Path:
        """Its run folder."""
        return self.folder / self.name

    def status(self) -> Status:
        """How far it has come; a folder that holds a run of another configuration is refused."""
        if not (self.path / "config.toml").exists():
            return "new"
        run, config = Run(self.path), self.config
        # A run that is to be longer now is begun, not another.
        longer = replace(run.config, generations=config.generations)
        if run.config.generations < config.generations and longer == config:
            return "begun"
        if run.config != config:
            found, asked = dict(flat(to_table(run.config))), dict(flat(to_table(config)))
            key = next(key for key in asked if found.get(key) != asked[key])
            there, here = found.get(key), asked[key]
            raise RunFolderError(
                f"{self.path} holds a run of another configuration: {key} is {there} there and {here} here. "
                "Choose another output, or remove that folder."
            )
        return "done" if run.is_complete else "begun"

    def conduct(self, show: Show) -> None:
        """Make it, or go on with it."""
        if self.status() == "new":
            train(Evolution(self.config), self.path, show)
        else:
            resume(self.path, generations=self.config.generations, on_generation=show, progress=False)
        if self.slim:
            slim_down(Run(self.path))


def work_off(works: Sequence[Any], watch: Watch) -> None:
    """Do all work that is not done yet, in order, going on with what was begun; pieces of work are like a `Planned`.

    A piece that fails does not keep the others from being done: the errors are raised together at the end.
    """
    for work in works:
        work.status()  # all of them first: a folder that holds something else is named early
    failed = []
    for work in works:
        state = work.status()  # asked again: what a piece starts from may have been made since
        with watch(work, state) as show:
            try:
                if state != "done":
                    work.conduct(show)
            except UserError as error:
                failed.append(f"{work.name}: {error}")
    if failed:
        raise UserError(f"{len(failed)} of {len(works)} failed.\n" + "\n".join(failed))


def plan(table: dict[str, Any]) -> list[Planned]:
    """The runs of a sweep, from its file's table.

    Examples:
        >>> sweep = {"task": "point", "sweep": {"sigma": [0.02, 0.05]}}
        >>> [planned.name for planned in plan(sweep)]
        ['sigma-0.02', 'sigma-0.05']
    """
    table = dict(table)
    if "task" not in table:
        raise ConfigError('A sweep names its task: add e.g. task = "point" to the top of the file.')
    task, preset = table.pop("task"), table.pop("preset", None)
    per_run = table.pop("seeds_per_run", None)
    settings = dict(flat(table.pop("sweep", {})))
    for key, values in settings.items():
        if not isinstance(values, list) or not values:
            raise ConfigError(f"sweep.{key}: a list of values is expected, got {values!r}.")
    planned: list[Planned] = []
    for values in itertools.product(*settings.values()):
        chosen = dict(zip(settings, values, strict=True))
        config = layered(task, preset=preset, values=merged(table, *itertools.starmap(_nested, chosen.items())))
        planned += batches("_".join(_slug(*item) for item in chosen.items()), config, per_run)
    names = [run.name for run in planned]
    if twice := {name for name in names if names.count(name) > 1}:
        # They would share a folder, and the second would be taken for the first.
        raise ConfigError(f"Two runs of the sweep would both be named '{min(twice)}'. Is a value listed twice?")
    return planned


def plan_further_evolution(
    runs: Sequence[Run], goal: str, *, generations: int = FURTHER_GENERATIONS, random: bool = True
) -> list[Planned]:
    """Standard ES towards a goal from each of some trained populations, and from a random start (section 5.3.1).

    The random start has the configuration of the first run. The last generation is evaluated but its update not.
    """
    for run in runs:
        check_trust(run.path, run.config)  # the new runs have its task
    starts = [(f"from-{run.path.resolve().name}", run.config, str(run.path)) for run in runs]
    starts += [("from-random", runs[0].config, "")] if random else []
    names = [name for name, _, _ in starts]
    if len(set(names)) < len(names):
        raise ConfigError(f"Two of the runs have a folder of the same name: {', '.join(names)}. Give one at a time.")
    check_one_task(runs)
    changes: dict[str, Any] = {"objective": "mean_fitness", "goal": goal, "generations": generations, "record_every": 1}
    return [Planned(name, changed(config, **changes, start_from=path)) for name, config, path in starts]


def plan_split(run: Run, *, components: int = 2, generations: int = SPLIT_GENERATIONS) -> Planned:
    """Split a trained population into species, and evolve on with its own objective (section 5.4).

    The species' means are independent samples of the trained population.
    """
    check_trust(run.path, run.config)  # the new run has its task
    if run.config.population == "mixture" and run.config.population_options.components == components:
        longer = f"{command_line('resume', run.path)} --generations N"
        raise ConfigError(f"{run.path} has {components} components already. Choose another number, or: {longer}")
    changes: dict[str, Any] = {"population": "mixture", "components": components, "generations": generations}
    config = changed(run.config, **changes, start_from=str(run.path))
    return Planned(f"{run.path.resolve().name}-split-{components}", config)


def unwatched(work: Any, state: Status) -> AbstractContextManager[Show]:
    """Shows nothing."""
    return nullcontext(lambda rows: None)


def conduct(planned: Sequence[Planned], output: Path, watch: Watch = unwatched) -> list[Run]:
    """Make every run that is not done yet, in a folder of its name in the output folder; see `work_off`."""
    works = [replace(run, folder=output) for run in planned]
    work_off(works, watch)
    return [Run(work.path) for work in works]


def _nested(key: str, value: Any) -> dict[str, Any]:
    """A setting as a configuration has it: ``TABLE.NAME`` in a table inside."""
    head, dot, tail = key.partition(".")
    return {head: _nested(tail, value)} if dot else {key: value}


def batches(name: str, config: Config, per_run: int | None) -> Iterator[Planned]:
    """One configuration's seeds, in as many runs as it takes."""
    if per_run is not None and (not isinstance(per_run, int) or per_run < 1):
        raise ConfigError(f"seeds_per_run must be 1 or more, got {per_run!r}.")
    if per_run is None or config.seeds <= per_run:
        yield Planned(name or "run", config)
        return
    for first in range(0, config.seeds, per_run):
        part = replace(config, seed=config.seed + first, seeds=min(per_run, config.seeds - first))
        label = f"seeds-{part.seed}-{part.seed + part.seeds - 1}"
        yield Planned(f"{name}_{label}" if name else label, part)


def _slug(key: str, value: Any) -> str:
    """A setting's value in the name of a folder."""
    if key == "start_from":
        return slug(f"from-{Path(value).name}" if value else "from-random")
    return slug(str(value) if key == "objective" else f"{key.rpartition('.')[2]}-{value}")
