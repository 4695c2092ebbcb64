"""Statistics: against tables and SciPy, and what is said where a test would say nothing."""

import itertools
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from evolvability import ConfigError
from evolvability.cli import main
from evolvability.runs.files import json_text
from evolvability.runs.writer import RunWriter
from evolvability.studies.comparison import compare_runs, quantity, title, to_markdown
from evolvability.studies.groups import group_runs, run_names
from evolvability.studies.races import Raced, save_race
from evolvability.studies.statistics import (
    above_zero,
    compare_all,
    corrected,
    effect_interval,
    mann_whitney,
    median_interval,
    paired,
    ratio_interval,
)
from tests.synthetic import config, made_up


def test_mann_whitney_is_scipys_and_its_effect_the_share_of_pairs() -> None:
    generator = np.random.default_rng(0)
    first, second = generator.normal(size=12), generator.normal(0.8, size=9)
    test = mann_whitney(first, second)
    expected = stats.mannwhitneyu(first, second, alternative="two-sided", method="exact")
    assert test.statistic == expected.statistic
    assert test.p == pytest.approx(expected.pvalue)
    assert test.effect == np.mean(first[:, None] > second)
    assert test.shift == pytest.approx(np.median(np.subtract.outer(first, second)))


def test_completely_separate_groups_have_the_exact_p_value() -> None:
    assert mann_whitney(np.arange(6) + 10, np.arange(6)).p == pytest.approx(2 / 924)  # of C(12, 6) orders, two
    assert mann_whitney(np.arange(12) + 20, np.arange(12)).p == pytest.approx(2 / 2704156)


def test_ties_are_counted_half_and_equal_groups_do_not_differ() -> None:
    same = mann_whitney([1.0] * 6, [1.0] * 6)
    assert (same.p, same.effect, same.shift) == (1.0, 0.5, 0.0)
    tied = mann_whitney([1, 2, 2, 3, 4], [0, 2, 2, 1, 0])
    assert tied.effect == 20.5 / 25
    # Every way to share the ten values out, counted.
    values = np.array([1, 2, 2, 3, 4, 0, 2, 2, 1, 0])
    ways = [list(way) for way in itertools.combinations(range(10), 5)]
    signs = [np.sign(np.subtract.outer(values[way], np.delete(values, way))).mean() for way in ways]
    assert tied.p == pytest.approx(2 * np.mean(np.array(signs) >= 2 * 20.5 / 25 - 1 - 1e-9))


@pytest.mark.parametrize("number", [7, 13, 20])
@pytest.mark.parametrize("digits", [0, 6], ids=["ties", "no ties"])
def test_paired_values_have_the_p_value_of_scipys_signed_ranks(number: int, digits: int) -> None:
    differences = np.round(np.random.default_rng(number).normal(0.4, size=number), digits)
    expected = stats.wilcoxon(differences[differences != 0]).pvalue
    assert paired(differences, np.zeros(number)).wilcoxon == pytest.approx(expected, rel=1e-12)


def test_one_tie_leaves_the_p_value_exact() -> None:
    low, high = np.arange(11.0), 20 + np.arange(11.0)
    high[1] = high[0]
    assert mann_whitney(high, low).p == pytest.approx(2 / 705432)  # of C(22, 11) ways to share them out, two


@pytest.mark.parametrize("seed", range(5))
def test_exact_p_values_are_those_of_every_way_to_share_the_values_out(seed: int) -> None:
    generator = np.random.default_rng(seed)
    first, second = generator.integers(0, 5, 7), generator.integers(1, 7, 6)
    ways = stats.PermutationMethod(n_resamples=10_000)
    assert mann_whitney(first, second).p == pytest.approx(stats.mannwhitneyu(first, second, method=ways).pvalue)
    many, others = generator.normal(size=40), generator.normal(0.3, size=45)
    assert mann_whitney(many, others).p == pytest.approx(stats.mannwhitneyu(many, others, method="exact").pvalue)


def test_collapsed_runs_are_the_worst_and_not_left_out() -> None:
    good, half = np.arange(12.0), np.array([-np.inf] * 6 + [100.0] * 6)
    test = mann_whitney(half, good)
    assert (test.effect, test.p, test.num_runs) == (0.5, 1.0, (12, 12))
    collapsed = mann_whitney([-np.inf] * 6, np.arange(6.0))
    assert (collapsed.effect, collapsed.shift) == (0.0, -np.inf)
    assert collapsed.p == pytest.approx(2 / 924)
    assert mann_whitney([-np.inf] * 6, [-np.inf] * 6).shift == 0.0
    assert mann_whitney([1.0, np.nan, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0, np.nan]).num_runs == (4, 4)
    interval = median_interval([-np.inf, -np.inf, -np.inf, 1.0, 2.0, 3.0, 4.0])
    assert (interval.median, interval.low, interval.number) == (1.0, -np.inf, 7)
    assert above_zero([-np.inf] * 5 + [1.0, 2.0]).p == pytest.approx(1, abs=0.05)


def test_intervals_of_effects_hold_the_effect_as_often_as_they_say() -> None:
    generator = np.random.default_rng(2)
    for shift in (0.0, 1.0, 2.0):
        true = stats.norm.cdf(shift / 2**0.5)
        values = generator.normal(size=(400, 2, 12)) + np.array([shift, 0])[:, None]
        intervals = [mann_whitney(*pair).interval for pair in values]
        assert np.mean([low <= true <= high for low, high in intervals]) == pytest.approx(0.95, abs=0.04)
    low, high = effect_interval(0.7, 9, 5)
    assert effect_interval(1 - 0.7, 9, 5) == pytest.approx((1 - high, 1 - low))
    assert low < 0.7 < high
    assert effect_interval(0.7, 90, 50)[0] > low


@pytest.mark.parametrize(("first", "second", "enough"), [(3, 3, False), (3, 4, False), (4, 4, True), (3, 5, True)])
def test_too_few_runs_are_told_instead_of_a_p_value(first: int, second: int, enough: bool) -> None:
    test = mann_whitney(np.arange(first) + 10, np.arange(second))
    assert (test.p is not None) == enough
    assert ("too few runs" in test.reason) != enough
    assert mann_whitney([np.nan], [1.0]).reason == "one of the groups has no value"


def test_the_interval_of_a_ratio_holds_the_true_one_about_as_often_as_it_says() -> None:
    generator = np.random.default_rng(0)
    held = 0
    for _ in range(200):
        second = generator.gamma(20, 2, 12)  # mean 40
        low, high = ratio_interval(0.9 * second + generator.normal(0, 5, 12), second)
        held += low <= 0.9 <= high
    assert 0.85 <= held / 200 <= 0.98  # a percentile bootstrap of twelve is somewhat narrow


def test_median_interval_has_the_binomial_level() -> None:
    values = np.arange(12.0)
    interval = median_interval(values)
    assert (interval.low, interval.high) == (2.0, 9.0)
    assert interval.level == pytest.approx(1 - 2 * stats.binom.cdf(2, 12, 0.5))
    few = median_interval([3.0, 1.0, 2.0])
    assert (few.low, few.median, few.high, few.level) == (1.0, 2.0, 3.0, 0.75)


def test_a_median_interval_holds_the_median_as_often_as_it_says() -> None:
    generator = np.random.default_rng(1)
    samples = generator.exponential(size=(2000, 9))
    intervals = [median_interval(sample) for sample in samples]
    held = np.mean([one.low <= np.log(2) <= one.high for one in intervals])
    assert held == pytest.approx(intervals[0].level, abs=0.015)
    assert intervals[0].level >= 0.95


def test_corrections_match_worked_examples() -> None:
    p_values = [0.01, 0.04, None, 0.03, 0.005]
    assert corrected(p_values, "holm") == pytest.approx([0.03, 0.06, None, 0.06, 0.02])
    false_discovery = stats.false_discovery_control([0.01, 0.04, 0.03, 0.005])
    found = [p for p in corrected(p_values, "benjamini-hochberg") if p is not None]
    assert found == pytest.approx(false_discovery.tolist())
    with pytest.raises(ConfigError, match=r"holm.*got 'sidak'"):
        corrected(p_values, "sidak")  # type: ignore[arg-type]


def test_every_pair_is_compared_and_corrected_together() -> None:
    groups = {"a": np.arange(8.0), "b": np.arange(6.0) + 10, "c": np.arange(2.0) + 0.5}
    found = compare_all(groups, "holm")
    assert [(one.first, one.second) for one in found] == [("a", "b"), ("a", "c"), ("b", "c")]
    assert [one.test.p is None for one in found] == [False, False, True]
    assert found[0].test.p == pytest.approx(2 * 2 / 3003)  # of two tests, the smaller one


def test_values_above_zero_are_found_so() -> None:
    assert above_zero(np.arange(1.0, 7)).p == pytest.approx(0.5**6)
    assert above_zero([0.1, 0.2]).reason.startswith("too few runs")
    assert above_zero([-1.0, 1.0, -2.0, 2.0, -3.0, 3.0]).p == pytest.approx(0.5, abs=0.1)


# Of run folders


def test_groups_come_from_configurations_and_a_seed_counts_once(tmp_path: Path) -> None:
    a = made_up(tmp_path / "a", config(seeds=3), distance=np.array([[1.0, 2], [1, 3], [1, 4]]))
    b = made_up(tmp_path / "b", config(seed=2, seeds=2), distance=np.array([[1.0, 4], [1, 5]]))
    c = made_up(tmp_path / "c", config(sigma=0.5, seeds=1), distance=np.array([[1.0, 9]]))
    report = compare_runs([a, b, c], "distance")
    assert (report.generation, report.remarks) == (None, ["Settings differ: sigma (0.05, 0.5)."])
    assert list(report.values.values()) == [[2.0, 3.0, 4.0, 5.0], [9.0]]
    # Where a name does not tell a setting, the remark says who has it.
    d = made_up(tmp_path / "d", config(objective="max_variance", sigma=0.5), distance=np.array([[1.0, 9]]))
    (remark,) = compare_runs([a, d], "distance").remarks
    assert remark == "Settings differ: sigma (0.05 in MaxEnt-EES; 0.5 in MaxVar-EES)."
    assert [name.split(", ")[1] for name in report.values] == ["sigma 0.05", "sigma 0.5"]
    assert list(compare_runs([a], "distance", generation=0).values.values()) == [[1.0, 1.0, 1.0]]


def test_runs_of_unequal_length_are_compared_at_the_last_common_generation(tmp_path: Path) -> None:
    long = made_up(tmp_path / "long", config(generations=4), distance=np.array([[1.0, 2, 3, 4]]))
    short = made_up(tmp_path / "short", config(sigma=0.5, generations=2), distance=np.array([[5.0, 6]]))
    report = compare_runs([long, short], "distance")
    assert list(report.values.values()) == [[2.0], [6.0]]
    assert "at generation 1" in title(report)
    shown = to_markdown(report)
    assert "4 in MaxEnt-EES, sigma 0.05; 2 in MaxEnt-EES, sigma 0.5." in shown
    assert "generation 1, the last that all have" in shown
    own = compare_runs([long, short], "distance", generation="last")
    assert list(own.values.values()) == [[4.0], [6.0]]
    assert "Different numbers of generations" in own.remarks[0]


def test_behaviors_are_compared_at_the_last_generation_that_all_recorded(tmp_path: Path) -> None:
    runs = []
    for end in (2, 3):
        own, behavior = config(sigma=float(end), generations=end), np.full((1, 4, 2), end)
        runs.append(made_up(tmp_path / str(end), own, behavior, loss=np.zeros((1, end))))
    with pytest.raises(ConfigError, match="no generation that all runs have"):
        compare_runs(runs, "coverage")
    RunWriter(runs[1].path).record("behaviors", 1, runs[0].behaviors())
    assert compare_runs(runs, "coverage").generation == 1


def test_only_metrics_of_a_generation_are_said_to_be_of_one(tmp_path: Path) -> None:
    run = made_up(tmp_path / "a", config(seeds=2), distance=np.ones((2, 2)))
    save_race(run, Raced("left", "mutations", np.array([0, 1]), np.ones((2, 2, 1))))
    assert title(compare_runs([run], "raced:left")) == "point: raced:left"
    with pytest.raises(ConfigError, match=r"raced:left.*no generation"):
        compare_runs([run], "raced:left", generation=1)


def test_runs_of_two_environments_are_told_apart(tmp_path: Path) -> None:
    configs = [config("gymnasium", task_options={"env": env}) for env in ("CartPole-v1", "Acrobot-v1")]
    assert run_names(configs) == ["gymnasium CartPole-v1, MaxEnt-EES", "gymnasium Acrobot-v1, MaxEnt-EES"]
    runs = [made_up(tmp_path / str(k), one, distance=np.ones((1, 2))) for k, one in enumerate(configs)]
    with pytest.raises(ConfigError, match=r"CartPole-v1.*Acrobot-v1"):
        compare_runs(runs, "distance")


def test_a_run_that_collapsed_counts_as_the_worst_of_its_group(tmp_path: Path) -> None:
    entropy = np.array([[1.0, 3.0], [1.0, np.nan], [1.0, 2.0]])  # metrics.jsonl has null for minus infinity
    a = made_up(tmp_path / "a", config(seeds=3), entropy=entropy)
    alone = made_up(tmp_path / "b", config(sigma=0.5), entropy=np.array([[1.0, np.nan]]))
    report = compare_runs([a, alone], "entropy")
    assert list(report.values.values()) == [[3.0, -np.inf, 2.0], [-np.inf]]
    assert [interval.number for interval in report.intervals.values()] == [3, 1]
    never = made_up(tmp_path / "c", config(), entropy=np.full((1, 2), np.nan))
    with pytest.raises(ConfigError, match="no value of 'entropy'"):
        compare_runs([never], "entropy")


def test_settings_that_change_no_result_do_not_part_a_group(tmp_path: Path) -> None:
    same: list[dict[str, Any]] = [
        {},
        {"record_centers": False},
        {"worker_batches": 8},
        {"record_every": 2, "checkpoint_seconds": 0.0},
    ]
    runs = [made_up(tmp_path / str(seed), config(seed=seed, **values)) for seed, values in enumerate(same)]
    assert [len(group.runs) for group in group_runs(runs)] == [4]
    other = made_up(tmp_path / "other", config(sigma=0.5))
    assert [len(group.runs) for group in group_runs([*runs, other])] == [4, 1]


def test_behaviors_are_measured_by_one_scale_for_all_groups(tmp_path: Path) -> None:
    wide = np.array([[[-10.0, -10], [10, 10], [-10, 10], [10, -10]]])
    a = made_up(tmp_path / "a", config(), wide, variance=np.zeros((1, 1)))
    b = made_up(tmp_path / "b", config(sigma=0.5), wide / 20, variance=np.zeros((1, 1)))
    found = compare_runs([a, b], "coverage")
    assert list(found.values.values()) == [[4 / 400], [4 / 400]]
    assert list(compare_runs([a, b], "degenerate").values.values()) == [[0.0], [1.0]]


def test_a_report_is_the_same_in_json_and_markdown(tmp_path: Path) -> None:
    a = made_up(tmp_path / "a", config(seeds=6), distance=np.arange(6.0)[:, None])
    b = made_up(tmp_path / "b", config(sigma=0.5, seeds=6), distance=10 + np.arange(6.0)[:, None])
    report = compare_runs([a, b], "distance", correction="holm")
    table = json.loads(json_text(asdict(report)))
    assert table["comparisons"][0]["test"]["p"] == pytest.approx(2 / 924)
    text = to_markdown(report)
    assert "| MaxEnt-EES, sigma 0.05 | MaxEnt-EES, sigma 0.5 | 0.0022 | 0.00 (0.00 to 0.31) | -10 |" in text
    assert "| 6 | 2.5 | 0 to 5 (97 %) |" in text


def test_compare_writes_a_table_and_a_picture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made_up(tmp_path / "a", config(seeds=2), distance=np.ones((2, 1)))
    made_up(tmp_path / "b", config(sigma=0.5, seeds=2), distance=np.zeros((2, 1)))
    main(["compare", str(tmp_path / "a"), str(tmp_path / "b"), "--output", str(tmp_path / "v1.2")])
    assert "too few runs" in " ".join(capsys.readouterr().out.split()).replace("│ ", "")
    assert {path.name for path in tmp_path.glob("v1.2.*")} == {"v1.2.json", "v1.2.md", "v1.2.png"}


def test_what_cannot_be_compared_is_refused(tmp_path: Path) -> None:
    a = made_up(tmp_path / "a", config(), np.zeros((1, 4, 2)), distance=np.ones((1, 3)))
    b = made_up(tmp_path / "b", config("interference"), distance=np.ones((1, 3)))
    with pytest.raises(ConfigError, match=r"'point'.*'interference'"):
        compare_runs([a, b], "distance")
    with pytest.raises(ConfigError, match=r"'distanc'.*'distance'"):
        compare_runs([a], "distanc")
    with pytest.raises(ConfigError, match=r"0 to 2.* 7"):
        compare_runs([a], "distance", generation=7)
    with pytest.raises(ConfigError, match="one component only"):
        quantity(group_runs([a])[0], "specialization")
