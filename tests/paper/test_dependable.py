"""The study of dependable mutations: its plan, its rows at a size that means nothing, and its tests on made-up rows."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from benchmarks.dependability import bullet, report, rows, tries
from benchmarks.dependability.__main__ import lane_of, main, plan
from benchmarks.dependability.arms import ARMS, CONDITIONS, FAILED, FIRST_SEED, SCALES, config_of
from benchmarks.dependability.rows import TRIES, UNSEEN, Place, Work, best, directions, mask, without_motor
from evolvability import ConfigError, RunFolderError, evolve

RULES = (Path(__file__).parents[2] / "results" / "dependable-study" / "RULES.md").read_text()
FULL, SMOKE = SCALES["full"], SCALES["smoke"]


def test_every_arm_has_as_many_episodes_and_the_seeds_that_the_rules_register() -> None:
    for arm in ARMS:
        config = config_of(arm, FULL)
        assert (config.seed, config.seeds, config.task_options.body) == (FIRST_SEED, arm.seeds, "paper")
        spent = config.population_size * config.episodes * config.generations
        if arm.objective == "maml":
            options = config.objective_options
            spent = 2 * options.tasks * options.episodes_per_task * config.generations
        else:
            assert config.l2 == 0.005
            assert "centered_ranks" in str(config.options)
        assert spent == 1_000_000
        assert config.task_options.start_noise == (0.0 if "one start" in arm.name else 0.1)
        assert (arm.task, getattr(config.task_options, "early_termination", False)) != ("ant", "falls" not in arm.name)
        assert f"| {arm.task} | {arm.name} |" in RULES


def test_the_rules_have_every_test_and_aim_that_the_report_makes() -> None:
    sizes = {name: len(tests) for name, (_, tests) in report.FAMILIES.items()}
    assert sizes == {
        "cheetah, against MaxVar": 8,
        "ant, against MaxVar": 8,
        "cheetah, against MAML": 6,
        "cheetah, changed circumstances": 12,
        "ant, changed circumstances": 12,
    }
    assert [re.search(rf"{number}( each)? \|", RULES) is not None for number in (8, 6, 12)] == [True] * 3
    assert [f"{aim:g}" in RULES for aim in report.AIMS.values()] == [True, True]
    assert {test.condition for _, tests in report.FAMILIES.values() for test in tests} == {*CONDITIONS, FAILED}


def firsts_of(works: list[Work]) -> list[int]:
    return [work.run.config.seed for work in works]


def test_lanes_share_the_work_and_all_arms_have_their_first_seeds_before_any_has_its_next(tmp_path: Path) -> None:
    whole = plan(FULL, tmp_path)
    assert plan(FULL, tmp_path, only="MAML") == [work for work in whole if work.arm.name == "MAML"]
    lanes = [plan(FULL, tmp_path, lane_of(f"{number}/3")) for number in (1, 2, 3)]
    assert sorted(work.name for lane in lanes for work in lane) == sorted(work.name for work in whole)
    assert len({work.path for work in whole}) == len(whole)
    assert firsts_of(whole[:-2]) == sorted(firsts_of(whole[:-2]))
    assert firsts_of(whole).count(FIRST_SEED) == len(ARMS)
    assert [work.arm.objective for work in whole[-3:]].count("maml") == 2  # which comes last, six seeds
    for wrong in ("3/2", "0/1", "one"):
        with pytest.raises(ConfigError, match="N/OF"):
            lane_of(wrong)


def test_a_pick_is_judged_by_episodes_that_it_was_not_picked_by() -> None:
    did = np.zeros((8, TRIES + UNSEEN, 1))
    did[0, 0], did[1, :TRIES], did[1, TRIES:], did[5, TRIES:] = 9.0, 5.0, 3.0, 100.0
    valid = np.ones(8, bool)
    assert best(did, valid, 0, 8, 1) == 0.0  # luck in the first episode
    assert best(did, valid, 0, 8, TRIES) == 3.0
    assert best(-did, valid, 180, 8, TRIES) == 3.0
    valid[1] = False
    assert best(did, valid, 0, 8, TRIES) == 0.0
    assert best(did, valid, 0, 4, TRIES) == 0.0  # the median of both fours


def test_directions_are_those_of_mean_places_far_out() -> None:
    turn = np.linspace(0, 2 * np.pi, 24, endpoint=False) + 0.01
    ring = np.stack([np.cos(turn), np.sin(turn)], axis=1)
    assert directions(ring) == 1.0
    assert directions(np.concatenate([ring[:12], 0.1 * ring[12:]])) == 0.5
    assert (directions(np.array([[1.0], [-1.0]])), directions(np.array([[1.0], [2.0]]))) == (1.0, 0.5)


def test_a_motor_that_failed_gets_no_torque_from_any_mutation() -> None:
    options = replace(config_of(ARMS[1], SMOKE).task_options, engine="mujoco")  # compiles nothing
    place = Place("cheetah", options, motor=2)
    run = evolve(place.task, generations=1, population_size=4)
    (parent,) = run.parents()
    sample = without_motor(parent.mutations(jax.random.key(0), 3), place)
    seen = np.random.default_rng(0).normal(size=(5, 26))
    for member in np.asarray(sample.members()):
        torques = np.asarray(parent.policy(member)(seen))
        assert np.all(torques[:, 2] == 0)
        assert np.all(torques[:, [0, 1, 3, 4, 5]] != 0)
    assert float(mask(place._replace(motor=None)).min()) == 1.0


def test_smoke_makes_a_row_per_center_and_condition_and_makes_none_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = replace(SMOKE, seeds=1, task_options={**SMOKE.task_options, "engine": "mujoco"})
    (work,) = [own for own in plan(one, tmp_path) if own.name.startswith("cheetah/MaxCov")]
    assert work.status() == "new"
    work.conduct(lambda rows: None)
    assert work.status() == "done"
    made = [json.loads(line) for line in work.path.read_text().splitlines()]
    assert [row["condition"] for row in made] == [*CONDITIONS, *[FAILED] * 6]
    assert {row["seed"] for row in made} == {SMOKE.first_seed}
    for row in made:
        assert set(row["best_of_all"]) == set(row["best_of_few"]) == {"right", "left"}
        assert np.isfinite([row["repeatability"], row["distance"], row["directions"]]).all()
    work.path.unlink()  # interrupted between training and rows
    assert work.status() == "begun"
    monkeypatch.setattr(rows, "rows_of", lambda run, arm, scale: iter([{"seed": 200}]))
    work.conduct(lambda rows: None)  # trains no more
    assert json.loads(work.path.read_text()) == {"seed": 200}


def made_up_rows(folder: Path, levels: dict[str, float]) -> None:
    """Rows of the cheetah whose arms reach so far, in all conditions."""
    (folder / "rows").mkdir()
    for arm, level in levels.items():
        made: list[dict[str, Any]] = []
        for seed in range(FIRST_SEED, FIRST_SEED + 12):
            for condition in (*CONDITIONS, FAILED, FAILED):
                far = level + 0.1 * (seed % 7)
                ways = {"right": far + 1, "left": far - 1}
                row = {"task": "cheetah", "arm": arm, "seed": seed, "condition": condition, "adapted": ways}
                row |= {"repeatability": far / 60, "distance": far, "both_ways": 0.1, "directions": 1.0}
                made.append(row | {"best_of_all": ways, "best_of_few": ways})
        (folder / "rows" / f"{arm}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in made))


def test_the_report_tests_by_pairs_corrects_and_says_which_aims_are_met(tmp_path: Path) -> None:
    with pytest.raises(RunFolderError, match="no rows"):
        report.report(tmp_path)
    made_up_rows(tmp_path, {"MaxVar": 30.0, "MaxVar of means": 30.0, "MaxCov": 50.0, "MaxInfo": 41.0, "MAML": 39.0})
    text = report.report(tmp_path)
    assert text == (tmp_path / "report.md").read_text()
    lines = {line.split(" | ")[0][2:]: line.split(" | ") for line in text.splitlines() if " against " in line}
    found = lines["cheetah, MaxCov against MaxVar: best of 40, starts"]
    assert found[1] == "12"
    assert [float(cell) for cell in found[3:5]] == pytest.approx([2 / 2**12, 6 * 2 / 2**12], abs=3e-5)  # of 6 tests
    assert float(lines["cheetah, MaxVar of means against MaxVar: best of 40, starts"][3]) == 1.0
    missing = lines["cheetah, MaxVar to MaxCov against MaxVar: best of 40, starts"]
    assert (missing[1], missing[3]) == ("0", "")
    aims = [line for line in text.split("## Aims")[1].splitlines() if line.startswith("| Max")]
    assert [line.split(" | ")[-1] for line in aims] == ["yes |", "yes |", "no |", "no |"]


def test_a_dry_run_tells_what_is_left(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main([str(tmp_path), "--scale", "smoke", "--dry-run"])
    told = capsys.readouterr().out.splitlines()
    assert len(told) == len(ARMS)
    assert {line.split(":")[0] for line in told} == {"new"}


@pytest.mark.full
def test_the_smoke_size_of_the_whole_study_runs_and_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for lane in ("1/2", "2/2"):
        main([str(tmp_path), "--scale", "smoke", "--lane", lane])
    capsys.readouterr()
    main([str(tmp_path), "--report"])
    told = capsys.readouterr().out
    assert all(f"| {arm.name} | 2 |" in told for arm in ARMS)
    assert "MAML after 10 episodes of adaptation, cheetah: " in told


def test_mutations_in_another_simulator_are_compared_by_where_they_end_and_judged_by_unseen_episodes() -> None:
    generator = np.random.default_rng(0)
    places = np.arange(-8.0, 8.0)[:, None, None]
    ours = places + 0.1 * generator.normal(size=(16, 4, 1))
    same = bullet.compared(ours, ours / 2)
    assert same["agreement"] == pytest.approx(1.0)
    assert same["there"]["distance"] == pytest.approx(same["here"]["distance"] / 2)
    # Here the best is the last one; there its first episode goes astray, which picks another, and judges none.
    theirs = ours.copy()
    theirs[15, 0] = -20.0
    found = bullet.compared(ours, theirs)
    assert found["picked_here"]["right"] == pytest.approx(theirs[15, 1:].mean())
    assert found["picked_there"]["right"] == pytest.approx(theirs[14, 1:].mean())
    row = {"task": "ant", "arm": "MaxCov", "seed": 200} | found
    assert bullet.table([row]).splitlines()[-1].startswith("| ant, MaxCov | ")


def test_picks_are_counted_by_unseen_episodes_in_which_they_do_again_what_they_were_picked_for() -> None:
    did = np.ones((80, TRIES + UNSEEN, 1))
    did[7, 0] = 10.0  # luck in the episode that picks: later 1 m, a tenth as far
    did[50, :TRIES], did[50, TRIES:], did[50, -1] = 8.0, 4.0, -2.0
    by_one = tries.again(did, 0, 40, 1)
    assert by_one.tolist() == [0.1] * UNSEEN + [0.5] * (UNSEEN - 1) + [-0.25]
    by_four = tries.again(did, 0, 20, TRIES)  # of four sets of twenty, two have nobody that stands out
    assert by_four.reshape(4, UNSEEN)[:, 0].tolist() == [1 / 3.25, 1.0, 0.5, 1.0]
    assert not tries.again(did, 180, 20, TRIES).any()  # nobody went there when it was picked
    row = {"task": "ant", "arm": "MaxEnt", "seed": 200} | {how: {"half": 0.5, "back": 0.25} for how in tries.HOW}
    assert tries.table([row]).splitlines()[-1] == "| ant, MaxEnt | 50 25 | 50 25 |"
