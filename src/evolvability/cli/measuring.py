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
    check_alone,
    circumstances_for,
    open_runs,
)
from evolvability.cli.printing import SEVERAL_SEEDS, console, plural, print_text, spread
from evolvability.runs.files import write_output

if TYPE_CHECKING:
    from evolvability.runs.folder import Run
    from evolvability.studies.measures import Measures
    from evolvability.studies.offspring import Offspring


def measure(
    runs: RunPaths,
    sigma: MaybeFloat = None,
    mutations: Count = 1000,
    episodes: Count = 1,
    circumstances: AskedCircumstances = NOTHING_ASKED,
    reach: MaybeFloat = None,
    keep: bool = False,
    native: bool = False,
    output: File = None,
    trust: bool = False,
) -> None:
    """Measure how evolvable trained centers are.

    What their mutations do: variance, entropy, distance, distinct behaviors, coverage.

    Args:
        runs: Run folders, or slim exports of them.
        sigma: Standard deviation of mutations; default: that of training.
        mutations: How many mutations of each center.
        episodes: Of each mutation, from start states that differ; from two on, how much of what they do they repeat.
        circumstances: What differs between episodes, of robots; default: as in training, but --start-noise 0.1 where
            there was none and episodes are several.
        reach: Half width of the box that coverage is about; default: as far as any goes.
        keep: Keep what they did in the run folders, for figures and statistics.
        native: Compare what mutations of robots do in training's physics and in the robot's file as it is, by MuJoCo's
            library: how many still go where they went. It measures nothing else.
        output: A JSON file with the measures of every seed.
        trust: Import the code that a run names as its task, now and later: only if you trust it.
    """
    found_runs = open_runs(runs, trust=trust)
    if native:
        others = {"--sigma": sigma, "--reach": reach, "--keep": keep, "--output": output, "--episodes": episodes > 1}
        check_alone("measure --native", others | {"circumstances": circumstances != NOTHING_ASKED})
        _compare_native(found_runs, mutations)
        return
    from evolvability.studies.measures import common_reach, measure_scale, measures
    from evolvability.studies.offspring import offspring_of_run

    settings: Any = {"number": mutations, "episodes": episodes, "sigma": sigma, "save": keep}
    born = {
        str(run.path): offspring_of_run(run, circumstances=circumstances_for(run, circumstances), **settings)
        for run in found_runs
    }
    # One box for all, so that the columns of the table can be compared.
    furthest = common_reach([one.behavior for several in born.values() for one in several])
    by = measure_scale(furthest if reach is None else reach)
    measured = {name: [measures(one.behavior, by, one.episodes) for one in several] for name, several in born.items()}
    console.print(_measures_table(born, measured), soft_wrap=False)
    print_text(
        f"{_behaviors(found_runs)}{mutations:,} mutations per center; {SEVERAL_SEEDS}. "
        f"Reach {by.reach:.4g}, threshold {by.threshold:.4g}, radius {by.radius:.4g}, {by.cells} cells per dimension."
    )
    if output is not None:
        rows = {name: [dataclasses.asdict(one) for one in several] for name, several in measured.items()}
        write_output(output, json.dumps({"scale": dataclasses.asdict(by), "measures": rows}, indent=2).encode())
        print_text(f"wrote {output}")


def _compare_native(runs: "Sequence[Run]", number: int) -> None:
    """The share of mutations that still go where they went."""
    from evolvability.studies.native import transfer

    table = Table("run", "still go where they went", "by chance", "within", "invalid")
    for run in runs:
        found = transfer(run, number)
        shares = [f"{spread([100 * getattr(one, part) for one in found])} %" for part in ("share", "by_chance")]
        others = [spread([float(getattr(one, part)) for one in found]) for part in ("tolerance", "num_invalid")]
        table.add_row(Text(run.path.resolve().name), *shares, *others)
    console.print(table)
    within = "within: half of the median distance between two"
    print_text(f"{_behaviors(runs)}{plural(number, 'mutation')} per center; {within}.")


def _behaviors(runs: "Sequence[Run]") -> str:
    """What the behaviors of runs are called, as a sentence."""
    names = dict.fromkeys(", ".join(run.behavior_names) for run in runs)
    return "".join(f"Behaviors: {one}. " for one in names if one)


def _measures_table(born: "dict[str, list[Offspring]]", measured: "dict[str, list[Measures]]") -> Table:
    from evolvability.studies.measures import Measures
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
    invalid = [[float(one.num_invalid) for one in several] for several in born.values()]
    table.add_row("invalid", *map(spread, invalid))
    return table
