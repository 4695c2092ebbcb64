"""The command measure: how evolvable trained centers are."""

import dataclasses
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from evolvability.cli.arguments import (
    NOTHING_ASKED,
    AskedCircumstances,
    Count,
    File,
    MaybeFloat,
    RunPaths,
    circumstances_for,
    open_runs,
)
from evolvability.cli.printing import SEVERAL_SEEDS, console, plural, print_text, spread
from evolvability.runs.files import write_output

if TYPE_CHECKING:
    from evolvability.runs.folder import Run
    from evolvability.studies.measures import Measures, MeasureScale
    from evolvability.studies.offspring import Offspring

SHOWN = 10
"""Mutations whose behaviors are shown side by side."""


def measure(
    runs: RunPaths,
    sigma: MaybeFloat = None,
    offspring: Count = 1000,
    episodes: Count = 1,
    circumstances: AskedCircumstances = NOTHING_ASKED,
    reach: MaybeFloat = None,
    keep: bool = False,
    native: bool = False,
    output: File = None,
    trust: bool = False,
) -> None:
    """Measure how evolvable trained centers are.

    What their mutations do: variance, entropy, distinct behaviors, coverage, reachability.

    Args:
        runs: Run folders, or slim exports of them.
        sigma: Standard deviation of mutations; default: that of training.
        offspring: How many mutations of each center.
        episodes: Of each mutation, from start states that differ; from two on, how much of what they do they repeat.
        circumstances: What differs between episodes, of robots; default: as in training, but --start-noise 0.1 where
            there was none and episodes are several.
        reach: Half width of the box that coverage and reachability are about; default: as far as any goes.
        keep: Keep what the offspring did in the run folders, for figures and statistics.
        native: Compare what mutations of robots do in training's physics and in the robot's file as it is, by MuJoCo's
            library: how many still go where they went. It measures nothing else.
        output: A JSON file with the measures of every seed.
        trust: Import the code that a run names as its task, now and later: only if you trust it.
    """
    found_runs = open_runs(runs, trust=trust)
    if native:
        _compare_native(found_runs, offspring)
        return
    from evolvability.studies.measures import common_reach, measure_scale, measures
    from evolvability.studies.offspring import offspring_of_run

    settings: Any = {"number": offspring, "episodes": episodes, "sigma": sigma, "save": keep}
    born = {
        str(run.path): offspring_of_run(run, circumstances=circumstances_for(run, circumstances), **settings)
        for run in found_runs
    }
    # One box for all, so that the columns of the table can be compared.
    furthest = common_reach([one.behavior for several in born.values() for one in several])
    by = measure_scale(furthest if reach is None else reach)
    measured = {name: [measures(one.behavior, by, one.episodes) for one in several] for name, several in born.items()}
    console.print(_measures_table(born, measured, by), soft_wrap=False)
    print_text(
        f"{_behaviors(found_runs)}{offspring:,} offspring per center; {SEVERAL_SEEDS}. "
        f"Reach {by.reach:.4g}, threshold {by.threshold:.4g}, radius {by.radius:.4g}, {by.cells} cells per dimension."
    )
    if output is not None:
        rows = {name: [dataclasses.asdict(one) for one in several] for name, several in measured.items()}
        write_output(output, json.dumps({"yardstick": dataclasses.asdict(by), "measures": rows}, indent=2).encode())
        print_text(f"wrote {output}")


def _compare_native(runs: "Sequence[Run]", number: int) -> None:
    """Behaviors of the same mutations side by side, and the share that still go where they went."""
    from evolvability.studies.native import transfer

    table = Table("run", "mutation", "in training's physics", "in the file as it is")
    summary = Table("run", "still go where they went", "by chance", "within", "invalid")
    for run in runs:
        found = transfer(run, number)
        name = run.path.resolve().name
        for index, pair in enumerate(zip(found[0].trained[:SHOWN], found[0].native[:SHOWN], strict=True)):
            table.add_row(Text(name), str(index), *(", ".join(f"{value:.2f}" for value in one) for one in pair))
        shares = [
            spread([100 * share for share in own]) + " %"
            for own in zip(*((one.share, one.by_chance) for one in found), strict=True)
        ]
        within, invalid = spread([one.tolerance for one in found]), spread([float(one.num_invalid) for one in found])
        summary.add_row(Text(name), *shares, within, invalid)
    console.print(table)
    console.print(summary)
    within = "within: half of the median distance between two"
    print_text(f"{_behaviors(runs)}{plural(number, 'mutation')} per center; {within}.")


def _behaviors(runs: "Sequence[Run]") -> str:
    """What the behaviors of runs are called, as a sentence."""
    names = dict.fromkeys(", ".join(run.behavior_names) for run in runs)
    return "".join(f"Behaviors: {one}. " for one in names if one)


def _measures_table(
    born: "dict[str, list[Offspring]]", measured: "dict[str, list[Measures]]", by: "MeasureScale"
) -> Table:
    from evolvability.studies.measures import Measures, coverage, specialization
    from evolvability.studies.repeatability import repeatability

    table = Table("measure")
    for name in born:
        table.add_column(Text(name), justify="right")
    for field in dataclasses.fields(Measures):
        columns = [[getattr(one, field.name) for one in several] for several in measured.values()]
        if None not in columns[0]:
            table.add_row(field.name, *(spread([float(value) for value in own]) for own in columns))
    if measured and all(one.episodes is not None for several in born.values() for one in several):
        intervals = [[str(repeatability(one.episodes)) for one in several] for several in born.values()]  # type: ignore[arg-type]
        table.add_row("its 95 % interval, by center", *("; ".join(own) for own in intervals))
    most = max(int(one.component.max()) + 1 for several in born.values() for one in several)
    if most > 1:
        # As many as any of the centers has; where a center has fewer, its place stays empty.
        for component in range(most):
            parts = [[one.behavior[one.component == component] for one in several] for several in born.values()]
            cells = [[coverage(part, by) for part in several if len(part)] for several in parts]
            table.add_row(f"coverage of component {component + 1}", *(spread(own) if own else "" for own in cells))
        shares = [
            [specialization(one.behavior, one.component, by) for one in several if one.component.any()]
            for several in born.values()
        ]
        table.add_row("specialization", *(spread(own) if own else "" for own in shares))
    invalid = [[float(one.num_invalid) for one in several] for several in born.values()]
    table.add_row("invalid", *map(spread, invalid))
    return table
