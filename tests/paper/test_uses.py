"""The uses of the study's centers: their plan, their rows at a size that means nothing, and tests on made-up rows."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.dependability import uses
from benchmarks.dependability.__main__ import plan as plan_study
from benchmarks.dependability.arms import FIRST_SEED, SCALES
from evolvability import RunFolderError


def test_every_start_has_six_seeds_and_the_same_further_evolution(tmp_path: Path) -> None:
    planned = uses.plan(SCALES["full"], tmp_path)
    assert len({use.path for use in planned}) == len(planned)
    found: dict[tuple[str, str, str], list[int]] = {}
    for use in planned:
        config = use.run.config
        found.setdefault((use.arm.task, use.kind, use.start), []).extend(range(config.seed, config.seed + config.seeds))
        assert config.population_size * config.episodes == 10_000
        assert (config.start_from == "") == (use.start == uses.RANDOM)
        assert f"/{use.arm.task}/{use.start}_seeds-" in config.start_from or not config.start_from
    kinds = {("further", "MaxVar"), ("further", "MaxCov"), ("further", uses.RANDOM), ("split", "MaxVar")}
    assert {key[1:] for key in found} == {*kinds, ("split", "MaxCov")}
    assert all(seeds == list(range(FIRST_SEED, FIRST_SEED + uses.SEEDS)) for seeds in found.values())
    further = [replace(use.run.config, start_from="", seed=0, seeds=1) for use in planned if use.kind == "further"]
    assert all(config in (further[0], next(one for one in further if one.task == "ant")) for config in further)


@pytest.mark.full
def test_smoke_makes_a_row_per_seed_of_every_use(tmp_path: Path) -> None:
    smoke = SCALES["smoke"]
    scale = replace(smoke, task_options={**smoke.task_options, "engine": "mujoco"})
    (origin,) = [work.run for work in plan_study(scale, tmp_path) if work.name.startswith("cheetah/MaxCov")]
    origin.conduct(lambda rows: None)
    for use in uses.plan(scale, tmp_path):
        if (use.arm.task, use.start) == ("cheetah", "MaxCov"):
            use.conduct(lambda rows: None)
            assert use.status() == "done"
    further, split = ([json.loads(line) for line in path.open()] for path in sorted((tmp_path / "uses").iterdir()))
    assert [row["seed"] for row in further] == [row["seed"] for row in split] == [0, 1]
    assert all(len(row["fitness"]) == max(uses.AFTER) + 1 for row in further)
    assert all(len(row["distances"]) == 2 and set(row["best_of_all"]) == {"right", "left"} for row in split)


def test_starts_are_compared_by_seeds_and_species_must_walk(tmp_path: Path) -> None:
    with pytest.raises(RunFolderError, match="no rows"):
        uses.report(tmp_path)
    (tmp_path / "uses").mkdir()
    rows: list[dict[str, object]] = []
    for seed in range(6):
        for start, level in (("MaxVar", 10.0), ("MaxCov", 20.0), (uses.RANDOM, 0.0)):
            rows.append({"use": "further", "from": start, "fitness": [level + seed] * 21})
        for start, near in (("MaxVar", 3.0), ("MaxCov", 30.0)):
            own = {"specialization": 0.9 + seed / 100, "distances": [near, 30.0], "best_of_all": {"0": 1.0, "90": 3.0}}
            rows.append({"use": "split", "from": start, **own})
    text = "".join(json.dumps({"task": "cheetah", **row}) + "\n" for row in rows)
    (tmp_path / "uses" / "made-up.jsonl").write_text(text)
    told = [
        line.strip("| ").split(" | ") for line in uses.report(tmp_path).splitlines() if line.startswith("| cheetah")
    ]
    after, _, specialization, best = told
    assert [cell.split()[0] for cell in after[2:5]] == ["12.5", "22.5", "2.5"]
    assert after[5:] == ["0.0022", "0.0043"]  # the smallest that six against six allow; two of two tests have it
    assert [cell.split()[0] for cell in specialization[2:4]] == ["0", "0.925"]
    assert [cell.split()[0] for cell in best[2:4]] == ["2", "2"]
