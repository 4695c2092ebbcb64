"""Sweeps: every combination of some knobs, each into a run folder of its own, skipping what is done.

A sweep is a configuration file with a table ``[sweep]`` of lists; see docs/command-line.md.
"""

import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from evolvability.config.schema import MAML, Config, layered, read_toml, to_table
from evolvability.core.errors import ConfigError, RunFolderError, UserError
from evolvability.runs.files import slug
from evolvability.runs.folder import Run
from evolvability.training.driver import Evolution, Rows, resume, train

TABLES = ("task_options", MAML)
Status = Literal["new", "begun", "done"]
Watch = Callable[["Planned", Status], AbstractContextManager[Callable[[Rows], None]]]


@dataclass(frozen=True)
class Planned:
    """A run to be made: the name of its folder, and its configuration."""

    name: str
    config: Config


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
    knobs = dict(_flat(table.pop("sweep", {})))
    for key, values in knobs.items():
        if not isinstance(values, list) or not values:
            raise ConfigError(f"sweep.{key}: a list of values is expected, got {values!r}.")
    planned: list[Planned] = []
    for values in itertools.product(*knobs.values()):
        chosen = dict(zip(knobs, values, strict=True))
        config = layered(task, preset=preset, values=_with(table, chosen))
        planned += batches("_".join(_slug(*item) for item in chosen.items()), config, per_run)
    names = [run.name for run in planned]
    if twice := {name for name in names if names.count(name) > 1}:
        raise ConfigError(f"Two runs of the sweep would both be named '{min(twice)}'. Is a value listed twice?")
    return planned


def plan_from_file(path: Path) -> list[Planned]:
    """The runs that a sweep's TOML file asks for."""
    return plan(read_toml(path))


def status(path: Path, config: Config) -> Status:
    """How far a planned run has come in its folder; a folder that holds a run of another configuration is refused."""
    if not (path / "config.toml").exists():
        return "new"
    run = Run(path)
    if run.config.generations < config.generations and replace(run.config, generations=config.generations) == config:
        return "begun"
    if run.config != config:
        found, asked = to_table(run.config), to_table(config)
        key = next(key for key in asked if found[key] != asked[key])
        raise RunFolderError(
            f"{path} holds a run of another configuration: {key} is {found[key]} there and {asked[key]} here. "
            "Choose another --output, or remove that folder."
        )
    return "done" if run.is_complete else "begun"


def conduct(
    planned: Sequence[Planned], output: Path, watch: Watch = lambda run, status: nullcontext(lambda rows: None)
) -> list[Run]:
    """Make every run that is not done yet, going on with those that were begun.

    A run that fails does not keep the others from being made: the errors are raised together at the end.

    Args:
        planned: the runs.
        output: the folder for their folders.
        watch: called before each run, for what shows its progress.
    """
    states = [status(output / run.name, run.config) for run in planned]  # all of them first: an error comes early
    failed = []
    for run, state in zip(planned, states, strict=True):
        path = output / run.name
        with watch(run, state) as show:
            try:
                if state == "new":
                    train(Evolution(run.config), path, show)
                elif state == "begun":
                    resume(path, generations=run.config.generations, on_generation=show)
            except UserError as error:
                failed.append(f"{run.name}: {error}")
    if failed:
        raise UserError(f"{len(failed)} of {len(planned)} runs failed.\n" + "\n".join(failed))
    return [Run(output / run.name) for run in planned]


def _flat(table: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value


def _with(table: dict[str, Any], chosen: dict[str, Any]) -> dict[str, Any]:
    """A configuration's table with the chosen values; ``task_options.NAME`` goes into the table inside."""
    merged = {**table, **{name: dict(table[name]) for name in TABLES if name in table}}
    for key, value in chosen.items():
        head, dot, tail = key.partition(".")
        if dot and head in TABLES:
            merged.setdefault(head, {})[tail] = value
        else:
            merged[key] = value
    return merged


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
    """A knob's value in the name of a folder."""
    if key == "objective":
        text = str(value)
    elif key == "start_from":
        text = f"from-{Path(value).name}" if value else "from-random"
    else:
        text = f"{key.rpartition('.')[2]}-{value}"
    return slug(text)
