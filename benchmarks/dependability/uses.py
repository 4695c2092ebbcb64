"""The paper's uses of a trained center, of MaxVar's and of MaxCov's: a seed of further evolution, an origin of species.

    python -m benchmarks.dependability.uses runs/dependable --lane 1/3      # after the study's own runs
    python -m benchmarks.dependability.uses runs/dependable --report

The section "Uses" of `results/dependable-study/RULES.md` has the rules. Lanes share a folder, as those of the study.
"""

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import jax
import numpy as np

from benchmarks.dependability.__main__ import lane_of, watch
from benchmarks.dependability.arms import ARMS, SCALES, Scale, runs_of
from benchmarks.dependability.rows import TRIES, UNSEEN, WAYS, Place, Work, best, directions
from evolvability import Config, Run, RunFolderError
from evolvability.config.schema import changed
from evolvability.core.keys import Purpose, key_for
from evolvability.runs.files import write_output
from evolvability.studies.comparison import p_text
from evolvability.studies.measures import measure_scale, specialization
from evolvability.studies.repeatability import repeatability
from evolvability.studies.statistics import corrected, mann_whitney, median_interval
from evolvability.studies.sweeps import FURTHER_GENERATIONS, SPLIT_GENERATIONS, Planned, work_off

FROM, RANDOM = ("MaxVar", "MaxCov"), "random"
SEEDS = 6
AFTER = (5, 20)
"""Generations of further evolution after which starts are compared."""
WALKS = 6.0  # meters: a component whose mutations come no farther on average has not become a species of its own


@dataclass(frozen=True)
class Use(Work):
    """A run that starts from a center of an arm, or at random, and its rows."""

    kind: str
    """``further`` or ``split``."""
    start: str
    """The arm's name, or ``random``."""

    @property
    def path(self) -> Path:
        """Where its rows are."""
        return self.output / "uses" / f"{self.run.path.name}.jsonl"

    def rows(self, run: Run) -> Iterator[dict[str, Any]]:
        """One row per seed."""
        found = species(run, self.scale) if self.kind == "split" else fitness(run)
        what = {"task": self.arm.task, "use": self.kind, "from": self.start}
        return (what | {"seed": seed} | own for seed, own in zip(run.seeds, found, strict=True))


def plan(scale: Scale, output: Path) -> list[Use]:
    """All runs, first seeds first; the random starts last."""
    uses = []
    for arm in (arm for arm in ARMS if arm.name in FROM):
        for origin in runs_of(arm, scale, output):
            further, split = _further(origin, scale), _split(origin)
            own = [("further", arm.name, further), ("split", arm.name, split)]
            if arm.name == FROM[0]:
                own.append(("further", RANDOM, changed(further, start_from="")))
            # An origin may have more seeds than are asked for here.
            seeds = min(origin.config.seeds, scale.first_seed + SEEDS - origin.config.seed)
            for kind, start, config in own if seeds > 0 else ():
                name = f"uses/{arm.task}-{start}-{kind}_seeds-{config.seed}-{config.seed + seeds - 1}"
                run = Planned(name, replace(config, seeds=seeds), output / "runs", slim=True)
                uses.append(Use(arm, run, scale, output, kind, start))
    return sorted(uses, key=lambda use: (use.start == RANDOM, use.run.config.seed))


def _further(origin: Planned, scale: Scale) -> Config:
    """The same from wherever it starts."""
    sizes = {"population_size": scale.episodes, "episodes": 1, "generations": FURTHER_GENERATIONS}
    sizes |= {"record_every": FURTHER_GENERATIONS}
    return changed(origin.config, objective="mean_fitness", goal="right", start_from=str(origin.path), **sizes)


def _split(origin: Planned) -> Config:
    """Species go on as their origin was trained."""
    sizes = {"components": 2, "generations": SPLIT_GENERATIONS, "record_every": SPLIT_GENERATIONS}
    return changed(origin.config, population="mixture", start_from=str(origin.path), **sizes)


def fitness(run: Run) -> list[dict[str, Any]]:
    """Of each seed the mean fitness of every generation."""
    found = np.asarray(run.metrics["fitness_mean"], np.float64).round(3)
    return [{"fitness": own} for own in found.tolist()]


def species(run: Run, scale: Scale) -> Iterator[dict[str, Any]]:
    """Of each seed what fresh mutations of its two components do, in starts that training has not seen."""
    place = Place(run.config.task, run.config.task_options)
    for parent in run.parents():
        key_noise, key_episodes = jax.random.split(key_for(Purpose.OFFSPRING, parent.key))
        sample = parent.mutations(key_noise, scale.mutations)
        outcome, _ = place.evaluate(TRIES + UNSEEN)(key_episodes, sample, parent.memory)
        did, valid = np.asarray(outcome.episodes, np.float64), np.asarray(outcome.valid)
        places, component = did[valid].mean(axis=1), np.asarray(sample.component)[valid]
        radius = np.linalg.norm(places, axis=1)
        # Cells reach as far as this center's own mutations: the question is whether they differ, not how far they go.
        by = measure_scale(float(np.abs(places).max()))
        ways = WAYS[did.shape[2]]
        yield {
            "specialization": specialization(places, component, by),
            "distances": [float(radius[component == one].mean()) for one in range(2)],
            "directions": directions(places),
            "repeatability": repeatability(did[valid]).share,
            "best_of_all": {way: best(did, valid, angle, scale.picked_from, 1) for way, angle in ways.items()},
        }


def report(output: Path) -> str:
    """Medians and the registered tests, as Markdown; also written to the study's folder."""
    paths = sorted((output / "uses").glob("*.jsonl"))
    if not paths:
        raise RunFolderError(f"There are no rows in {output / 'uses'}. Leave out --report to make them.")
    rows = [json.loads(line) for path in paths for line in path.read_text().splitlines()]
    text = "# Uses of dependable centers\n"
    for use, statistics in STATISTICS.items():
        tests = [(task, name) for task in ("cheetah", "ant") for name in statistics]
        values = {
            (task, name, start): [
                statistics[name](row) for row in rows if (row["task"], row["use"], row["from"]) == (task, use, start)
            ]
            for task, name in tests
            for start in (*FROM, RANDOM)
        }
        found = [mann_whitney(*(values[*test, start] for start in reversed(FROM))) for test in tests]
        p_values = corrected([one.p for one in found], "holm")
        text += (
            f"\n## {use}\n\n| robot | statistic | from MaxVar | from MaxCov | from a random start | p | corrected |\n"
        )
        text += "|---|---|---|---|---|---|---|\n"
        for (task, name), one, p in zip(tests, found, p_values, strict=True):
            spread = [_spread(values[task, name, start]) for start in (*FROM, RANDOM)]
            shown = ["" if own is None else p_text(own) for own in (one.p, p)]
            text += f"| {' | '.join((task, name, *spread, *shown))} |\n"
    write_output(output / "uses.md", text.encode())
    return text


STATISTICS: dict[str, dict[str, Any]] = {
    "further": {
        f"fitness after {generation} generations": lambda row, at=generation: row["fitness"][at] for generation in AFTER
    },
    "split": {
        "specialization, 0 where one does not walk": lambda row: (
            row["specialization"] * (min(row["distances"]) >= WALKS)
        ),
        "best of 40": lambda row: float(np.mean(list(row["best_of_all"].values()))),
    },
}
"""What is tested, by use."""


def _spread(values: Sequence[float]) -> str:
    """A median with its interval, and the number of seeds."""
    if not values:
        return ""
    found = median_interval(values)
    return f"{found.median:.3g} ({found.low:.3g} to {found.high:.3g}; {len(values)})"


def main(arguments: Sequence[str] | None = None) -> None:
    """The program."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output", type=Path, help="the study's folder, with its runs")
    parser.add_argument("--scale", choices=SCALES, default="full", help="how large (default: full)")
    parser.add_argument("--lane", default="1/1", help="which part of the work (default: all)")
    parser.add_argument("--report", action="store_true", help="only tell what the rows say, into uses.md")
    options = parser.parse_args(arguments)
    if options.report:
        print(report(options.output))
        return
    first, step = lane_of(options.lane)
    work_off(plan(SCALES[options.scale], options.output)[first - 1 :: step], watch)


if __name__ == "__main__":
    main()
