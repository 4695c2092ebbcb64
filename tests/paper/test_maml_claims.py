"""The paper's statements about MAML, on made-up runs whose answers are known."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from evolvability import Run
from evolvability.studies.adaptation import Adaptation, save_adaptation
from evolvability.studies.offspring import save_offspring
from evolvability.studies.races import Raced, own_adapter, save_race
from evolvability_paper.claims import CLAIMS
from tests.synthetic import config, made_up

MAML_CLAIMS = {name: claim for name, claim in CLAIMS.items() if claim.item == "maml"}
SEEDS = 12
SPREADS = {"max_entropy": 30.0, "max_variance": 25.0, "maml": 5.0}
LEVELS = {"max_entropy": 40.0, "max_variance": 30.0, "maml": 30.0}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Run]:
    """Runs for which every statement holds."""
    folder, draw, made = tmp_path_factory.mktemp("runs"), np.random.default_rng(0), []
    for objective, spread in SPREADS.items():
        run = made_up(folder / objective, config("cheetah", objective=objective, seeds=SEEDS))
        for share in (1.0, 0.25):
            save_offspring(
                run,
                share * run.config.population_options.sigma,
                share * draw.normal(scale=spread, size=(SEEDS, 200, 1)),
            )
        for goal in ("left", "right"):
            reached = LEVELS[objective] + np.resize([0.0, 1.0, 2.0, 3.0], SEEDS)[:: 1 if objective == "maml" else -1]
            # One gradient step counts; after more it would be another story.
            scores = np.stack([np.zeros(SEEDS), reached, reached + 99], axis=1)[:, :, None]
            raced = Raced(goal, own_adapter(run), np.array([0, 10, 40]), scores)
            save_race(run, replace(raced, fixed=scores, drawn=scores, drawn_fixed=scores))
            save_adaptation(run, Adaptation(goal, 0.1, reached[:, None], reached[:, None, None]))
        made.append(run)
    return made


@pytest.mark.parametrize("name", MAML_CLAIMS)
def test_statement_holds_where_it_should_and_has_no_answer_without_runs(name: str, runs: list[Run]) -> None:
    assert MAML_CLAIMS[name](runs).verdict == "holds"
    empty = MAML_CLAIMS[name]([])
    assert empty.verdict == "not enough runs"
    assert "There are no runs of 'cheetah'" in empty.reason


def test_statements_fail_where_maml_has_more(runs: list[Run], tmp_path: Path) -> None:
    maml = made_up(tmp_path / "maml", config("cheetah", objective="maml", seeds=SEEDS))
    draw = np.random.default_rng(1)
    for share in (1.0, 0.25):
        save_offspring(maml, share * maml.config.population_options.sigma, draw.normal(scale=99, size=(SEEDS, 200, 1)))
    for goal in ("left", "right"):
        far = np.full((SEEDS, 2, 1), 99.0)
        save_race(maml, Raced(goal, "gradient", np.array([0, 10]), far, fixed=far, drawn=far, drawn_fixed=far))
    others = [run for run in runs if run.config.objective != "maml"]
    verdicts = {name: claim([*others, maml]).verdict for name, claim in MAML_CLAIMS.items()}
    assert set(verdicts.values()) == {"refuted"}, verdicts


def test_a_race_without_drawn_actions_leaves_those_statements_open(runs: list[Run], tmp_path: Path) -> None:
    maml = made_up(tmp_path / "maml", config("cheetah", objective="maml", seeds=SEEDS))
    for goal in ("left", "right"):
        save_race(maml, Raced(goal, "gradient", np.array([0, 10]), np.full((SEEDS, 2, 1), 9.0)))
    others = [run for run in runs if run.config.objective != "maml"]
    assert MAML_CLAIMS["maxent-adapts-better-than-maml/mean"]([*others, maml]).verdict == "holds"
    missing = MAML_CLAIMS["maxent-adapts-better-than-maml/drawn"]([*others, maml])
    assert missing.verdict == "not enough runs"
    assert "no drawn actions" in missing.reason
