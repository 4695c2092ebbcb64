"""What trained populations go on as: standard ES towards a goal (section 5.3.1), or several species (section 5.4).

Both are ordinary runs that start from another, see `origins`.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from evolvability.core.errors import ConfigError
from evolvability.runs.folder import Run
from evolvability.studies.sweeps import Planned

FURTHER_GENERATIONS = 21
"""Generation 20, the last, is the population after 20 updates."""
SPLIT_GENERATIONS = 20


def plan_further_evolution(
    runs: Sequence[Run], goal: str, *, generations: int = FURTHER_GENERATIONS, random: bool = True
) -> list[Planned]:
    """Standard ES towards a goal from each of some trained populations, and from a random start (section 5.3.1).

    Args:
        runs: the trained populations, of one task.
        goal: what counts as fitness.
        generations: how many; the last is evaluated but its update not.
        random: whether to include the random start, with the configuration of the first run.
    """
    starts: list[tuple[str, Run, str]] = [(f"from-{run.path.resolve().name}", run, str(run.path)) for run in runs]
    starts += [("from-random", runs[0], "")] if random else []
    names = [name for name, _, _ in starts]
    if len(set(names)) < len(names):
        raise ConfigError(f"Two of the runs have a folder of the same name: {', '.join(names)}. Give one at a time.")
    for run in runs:
        if run.config.task != runs[0].config.task:
            raise ConfigError(f"{run.path} is a run of '{run.config.task}', {runs[0].path} of '{runs[0].config.task}'.")
    knobs: dict[str, Any] = {"objective": "mean_fitness", "goal": goal, "generations": generations, "record_every": 1}
    return [Planned(name, replace(run.config, **knobs, start_from=path)) for name, run, path in starts]


def plan_split(run: Run, *, components: int = 2, generations: int = SPLIT_GENERATIONS) -> Planned:
    """Split a trained population into species, and evolve on with its own objective (section 5.4).

    Args:
        run: the trained population.
        components: how many species; their means are independent samples of the trained population.
        generations: how many more.
    """
    if run.config.population == "mixture" and run.config.components == components:
        raise ConfigError(f"{run.path} has {components} components already. Choose another number, or: ees resume")
    knobs: dict[str, Any] = {"population": "mixture", "components": components, "generations": generations}
    return Planned(
        f"{run.path.resolve().name}-split-{components}", replace(run.config, **knobs, start_from=str(run.path))
    )
