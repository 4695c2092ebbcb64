"""The paper's statements about figure 1, shapes, sizes and costs, on made-up runs whose answers are known."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evolvability import Run
from evolvability.runs.rows import to_lines
from evolvability_paper.claims import CLAIMS
from evolvability_paper.claims.training import MOST_EVOLVABLE, share_inside
from tests.paper.test_claims import SHAPES_AND_SIZES, ring, scores
from tests.synthetic import config, made_up

SETTING_CLAIMS = {name: claim for name, claim in CLAIMS.items() if name.startswith(SHAPES_AND_SIZES)}
SEEDS = 6
EVOLVABILITY = ("max_variance", "max_entropy")


def runs_of(
    folder: Path,
    weaker: float = 0.9,
    reach: float = 0.9,
    inside: float = 0.0,
    hidden: int = 256,
    spent: float = 1.0,
) -> list[Run]:
    """Runs whose weaker side and whose rings go so far, with so many inside, and so many hidden units."""
    made = []
    for task in ("cheetah", "ant"):
        for objective in ("mean_fitness", *EVOLVABILITY):
            behavior = ring()
            if task == "cheetah":
                behavior = behavior[:, :, :1] * 0 + np.where(np.arange(72) % 2, 30.0, -30.0 * weaker)[:, None]
                behavior = np.abs(behavior) * 0 + 30.0 if objective == "mean_fitness" else behavior
            elif objective != "mean_fitness":
                behavior *= reach
                behavior[:, : int(72 * inside)] *= 0.1
            options = {"hidden": hidden}
            own = config(task, objective=objective, seeds=SEEDS, generations=21, task_options=options)
            factor = 1.0 if objective == "mean_fitness" else spent
            run = made_up(folder / task / objective, own, behavior, evaluations=factor * np.full((SEEDS, 21), 84.0))
            made.append(run)
    for objective in EVOLVABILITY:
        settings: dict[str, Any] = {"objective": "mean_fitness", "goal": "right", "seeds": SEEDS, "generations": 21}
        child = config("ant", **settings, start_from=f"runs/{objective}")
        origin = config("ant", objective=objective)
        made.append(made_up(folder / "further" / objective, child, origin=origin, fitness_mean=scores(9.0)))
    return made


def interference(folder: Path, end: float) -> list[Run]:
    """Centers that move from 1 to a point."""
    runs = []
    for objective in EVOLVABILITY:
        run = made_up(folder / "interference" / objective, config("interference", objective=objective))
        rows = [{"generation": k, "seed": 0, "center": [x]} for k, x in enumerate((1.0, end))]
        (run.path / "metrics.jsonl").write_bytes(b"".join(to_lines(rows)))
        runs.append(run)
    return runs


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Run]:
    folder = tmp_path_factory.mktemp("runs")
    return runs_of(folder) + interference(folder, MOST_EVOLVABLE - 0.3)


@pytest.mark.parametrize("name", SETTING_CLAIMS)
def test_each_statement_holds_where_it_was_made_to_and_is_open_without_runs(name: str, runs: list[Run]) -> None:
    claim = SETTING_CLAIMS[name](runs)
    assert claim.verdict == "holds", claim
    empty = SETTING_CLAIMS[name]([])
    assert (empty.verdict, empty.value) == ("not enough runs", None)


def test_statements_fail_where_they_are_false(tmp_path: Path) -> None:
    false = runs_of(tmp_path, weaker=0.3, reach=0.5, inside=0.25, hidden=8, spent=2.0) + interference(tmp_path, 2.0)
    verdicts = {name: claim(false).verdict for name, claim in SETTING_CLAIMS.items() if "converges" not in name}
    one_side = {name: verdicts.pop(name) for name in list(verdicts) if "both-ways" in name}
    assert set(one_side.values()) == {"holds in part"}
    assert set(verdicts.values()) == {"refuted"}, verdicts


def test_share_inside_counts_what_is_nearer_than_half_of_the_median() -> None:
    assert share_inside(ring()[0]) == 0.0
    half = ring()[0]
    half[:18] *= 0.1
    assert share_inside(half) == 0.25
