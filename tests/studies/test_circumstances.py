"""Runs of robots whose episodes differ, and trained mutations in other circumstances than those of training."""

import json
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from evolvability import Circumstances, ConfigError, Run, evolve, resume
from evolvability.cli import main
from evolvability.config.schema import layered
from evolvability.explorer.playground import export_playground, left_out
from evolvability.studies.adaptation import load_adaptation
from evolvability.studies.offspring import offspring_of_run
from evolvability.studies.rebuild import members, parent_of, replay, watchable_task

OPTIONS: dict[str, Any] = {"num_steps": 10, "hidden": 4, "engine": "mujoco", "threads": 1, "observation_share": 0.5}
VARIED: dict[str, Any] = {"start_noise": 0.1, "push": 1.0, "friction": 0.5, "mass": 0.3, "motor_strength": 0.3}
VARIED |= {"failed_motors": 1, "slope": 5.0}
train = partial(evolve, "cheetah", objective="max_variance", population_size=8, sigma=0.2)


@pytest.fixture(scope="module")
def still(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run whose episodes do not differ."""
    path = tmp_path_factory.mktemp("runs") / "still"
    train(generations=1, task_options=OPTIONS, output=path)
    return Run(path)


def test_a_run_is_resumed_and_its_members_do_again_what_they_did(tmp_path: Path) -> None:
    start = partial(train, episodes=2, task_options=OPTIONS | VARIED)
    whole = start(generations=3)
    start(generations=2, output=tmp_path / "run")
    gone_on = resume(tmp_path / "run", generations=3)
    np.testing.assert_array_equal(gone_on.state.parameters.center, whole.state.parameters.center)
    run = Run(tmp_path / "run")
    made = watchable_task(run)
    parent = parent_of(run, made, 2)
    for episode in (0, 1):
        recorded = run.behaviors(2)["episodes"][0][[5, 2], episode]
        rebuilt = replay(made, parent, members(parent, [5, 2], episode))
        np.testing.assert_allclose(rebuilt.behavior, recorded, atol=1e-6)


def test_a_page_says_what_it_has_not_of_circumstances(tmp_path: Path) -> None:
    pytest.importorskip("warp", reason="Warp is not installed")
    train(generations=1, task_options=OPTIONS | VARIED, output=tmp_path / "varied")
    page = export_playground(Run(tmp_path / "varied"), tmp_path / "page.html").read_text()
    names = "push, friction, mass, motor strength, failed motors, slope"
    assert f"In training episodes differed in more than here: {names}." in page
    plain: Any = SimpleNamespace(config=layered("cheetah", values={"task_options": {"start_noise": 0.1}}))
    assert left_out(plain) == ""


def test_mutations_are_picked_and_measured_in_circumstances_that_are_asked_for(
    still: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    limp = ("--failed-motors", "6", "--start-noise", "0")
    main(["adapt", str(still.path), "--mutations", "3", "--repeats", "2", *limp])
    assert "start_noise 0, failed_motors 6" in " ".join(capsys.readouterr().out.split())
    found = load_adaptation(still, "right")
    assert (found.start_noise, found.circumstances, found.episodes) == (0.0, "failed_motors 6", 1)
    assert len(np.unique(found.repeated)) == 1  # without motors all do the same,
    assert len(np.unique(found.scores)) == 3  # and with them they do not
    main(["measure", str(still.path), "--mutations", "4", *limp, "--output", str(tmp_path / "limp.json")])
    main(["measure", str(still.path), "--mutations", "4", "--output", str(tmp_path / "moving.json")])
    variance = {}
    for name in ("limp", "moving"):
        ((one,),) = json.loads((tmp_path / f"{name}.json").read_text())["measures"].values()
        variance[name] = one["variance"]
    assert variance["limp"] == 0 < variance["moving"]
    picked = still.pick("right", mutations=2, repeats=2, circumstances=Circumstances(friction=0.9))
    assert len(np.unique(picked.repeated)) == 4


def test_offspring_in_other_circumstances_are_not_kept_as_those_of_training(still: Run) -> None:
    with pytest.raises(ConfigError, match="of the circumstances of training alone"):
        offspring_of_run(still, number=2, circumstances=Circumstances(slope=5.0), save=True)
