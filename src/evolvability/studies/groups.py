"""Groups of runs that differ in their seeds alone, found by their configurations, and what each is called."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evolvability.config.objective_text import parse_objective
from evolvability.config.schema import SAME_COURSE, Config, to_table
from evolvability.config.tables import flat, from_table
from evolvability.core.entries import FROM_PYTHON
from evolvability.core.errors import ConfigError
from evolvability.methods.registry import OBJECTIVES, objective_entry
from evolvability.runs.folder import Run


@dataclass(frozen=True)
class RunGroup:
    """Runs of one configuration, up to seeds and length."""

    name: str
    """The group's name in tables and figures."""
    runs: tuple[Run, ...]
    """The runs of the group."""

    @property
    def config(self) -> Config:
        """The configuration of the first of them."""
        return self.runs[0].config


def group_runs(runs: Sequence[Run]) -> list[RunGroup]:
    """The groups among some runs of one task, in the order in which they are first met."""
    check_one_task(runs)
    found: dict[str, list[Run]] = {}
    for run in runs:
        found.setdefault(run_identity(run), []).append(run)
    names = run_names([members[0].config for members in found.values()])
    return [RunGroup(name, tuple(members)) for name, members in zip(names, found.values(), strict=True)]


def check_one_task(runs: Sequence[Run]) -> None:
    """Refuse runs of several tasks."""
    for run in runs:
        if run.config.task_title != runs[0].config.task_title:
            raise ConfigError(
                f"Runs are compared within one task, but {runs[0].path} is a run of '{runs[0].config.task_title}' and "
                f"{run.path} one of '{run.config.task_title}'."
            )


def differing_settings(groups: Sequence[RunGroup]) -> dict[str, dict[str, list[str]]]:
    """What groups differ in beside their objective, of the settings that several of them heed.

    By a setting's name its values, and by each value the names of the groups that have it.
    """
    tables = {group.name: _settings(group.config) for group in groups}
    found: dict[str, dict[str, list[str]]] = {}
    for key in dict.fromkeys(key for table in tables.values() for key in table if key != "objective"):
        values: dict[str, list[str]] = {}
        for name, table in tables.items():
            if key in table:
                values.setdefault(str(table[key]) or "none", []).append(name)
        if len(values) > 1:
            found[_words(key)] = values
    return found


def by_seed(group: RunGroup, values: Sequence[Sequence[float]]) -> dict[int, float]:
    """By seed its value, from the values of each run's seeds: a seed that is in two runs of a group counts once."""
    found: dict[int, float] = {}
    for run, own in zip(group.runs, values, strict=True):
        found |= dict(zip(run.seeds, own, strict=True))  # of two runs with a seed, the later one's value
    return dict(sorted(found.items()))


def of_common_seeds(first: Mapping[int, float], second: Mapping[int, float]) -> tuple[list[float], list[float]]:
    """The values of two groups by seed, of the seeds that both have, in their order."""
    common = sorted(first.keys() & second.keys())
    return [first[seed] for seed in common], [second[seed] for seed in common]


def start_name(run: Run) -> str:
    """What a run started from, in a few words: the method that trained it, and what for."""
    origin = run.origin
    if origin is None:
        return f"from {Path(run.config.start_from).name}" if run.config.start_from else "random start"
    config = origin["config"]
    name = f"seeded by {method_name(config['objective'])}"
    asked = config.get("goal") or config["task_options"].get("direction", "")
    # Evolvability ES takes no notice of what is asked.
    return f"{name} trained for '{asked}'" if config["objective"] == "mean_fitness" and asked else name


def unit_of(runs: Sequence[Run]) -> str:
    """The unit of behaviors, where all dimensions of all runs have one and the same; empty elsewhere."""
    names = [name for run in runs for name in run.behavior_names or [""]]
    units = {found[1] if (found := re.search(r"\((.+)\)$", name)) else "" for name in names}
    return units.pop() if len(units) == 1 else ""


def metric_unit(metric: str, runs: Sequence[Run]) -> str:
    """The unit of a metric of runs, where it is known.

    Fitness has that of behaviors where it is how far members get: asked to go somewhere, or robots by themselves.
    """
    unit = unit_of(runs)
    asked = all(run.config.goal or hasattr(run.config.task_options, "direction") for run in runs)
    units = {"variance": unit and f"{unit}²", "entropy": "nats", "divergence": "nats", "distance": unit}
    units |= dict.fromkeys(("fitness_before", "fitness_mean", "fitness_max"), unit if asked else "")
    return units.get(metric, "")


def method_name(objective: str) -> str:
    """What an objective is called in a figure.

    Examples:
        >>> method_name("max_entropy"), method_name("mean_fitness+0.1*max_entropy")
        ('MaxEnt-EES', 'mean fitness + 0.1 max entropy')
    """
    if objective in OBJECTIVES or objective.startswith(FROM_PYTHON):
        return objective_entry(objective).label or objective.replace("_", " ")
    terms = [(weight, name.replace("_", " ")) for weight, name in parse_objective(objective)]
    return " + ".join(name if weight == 1 else f"{weight:g} {name}" for weight, name in terms)


def config_identity(config: Config) -> str:
    """All that makes runs comparable seed by seed, as a text: equal for runs that differ in their seeds alone."""
    # Sorted: equal settings make equal texts, in whatever order they were given.
    return json.dumps(_settings(config), sort_keys=True)


def run_names(configs: Sequence[Config]) -> list[str]:
    """A short name for each of some different configurations: the method, then whatever else tells them apart.

    Examples:
        >>> from evolvability.config.schema import layered
        >>> run_names([layered("point", values={"sigma": sigma}) for sigma in (0.1, 0.2)])
        ['MaxEnt-EES, sigma 0.1', 'MaxEnt-EES, sigma 0.2']
    """
    several_tasks = len({config.task_title for config in configs}) > 1
    heads = [(config.task_title, method_name(config.objective)) for config in configs]
    settings = [_settings(config) for config in configs]
    names = []
    for head, own in zip(heads, settings, strict=True):
        # Settings are compared within a method: that each method has its own learning rate is not worth a word.
        others = [other for other_head, other in zip(heads, settings, strict=True) if other_head == head]
        telling = [_phrase(*item) for item in own.items() if any(other.get(item[0]) != item[1] for other in others)]
        names.append(", ".join([*(head if several_tasks else head[1:]), *telling]))
    return names


def run_identity(run: Run) -> str:
    """As `config_identity`, but what a run started from counts by its configuration: batches have their own folders."""
    origin = run.origin
    if origin is None:
        return config_identity(run.config)
    # The folder's name must not count, nor where that run itself began.
    began = _settings(from_table(origin["config"], Config)) | {"start_from": ""}
    start = json.dumps([began, origin.get("generation")], sort_keys=True)
    return json.dumps(_settings(run.config) | {"start_from": start}, sort_keys=True)


def _settings(config: Config) -> dict[str, Any]:
    """The settings that decide what happens, in one flat table."""
    unheeded = SAME_COURSE | config.idle
    return dict(flat({key: value for key, value in to_table(config).items() if key not in unheeded}))


def _phrase(key: str, value: Any) -> str:
    """A setting's value as part of a name."""
    if key == "start_from":
        return f"from {Path(value).name}" if value else "from a random start"
    if key == "goal" and not value:
        return "the task's own fitness"
    words = _words(key)
    if isinstance(value, bool):
        return words if value else f"no {words}"
    return f"{words} {value:g}" if isinstance(value, float) else f"{words} {value}"


def _words(key: str) -> str:
    """A setting as people say it; an option of a sum's term, with the term."""
    return key.partition(".")[2].replace(".", " ").replace("_", " ") or key.replace("_", " ")
