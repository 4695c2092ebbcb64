"""The program that makes COSTS.md: what it asks of engines, and that the page is what it makes of what was recorded."""

import argparse
import gc
import importlib.util
import json
import subprocess
import sys
import unittest.mock
import weakref
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest

FOLDER = Path(__file__).parents[1]


@pytest.fixture(name="costs")
def costs_program(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(FOLDER))
    spec = importlib.util.spec_from_file_location("costs", FOLDER / "costs.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_made_of_what_was_recorded(costs: Any) -> None:
    rows = [json.loads(line) for line in (FOLDER / "costs.jsonl").read_text().splitlines()]
    assert (FOLDER / "COSTS.md").read_text() == costs.page(rows)


def test_a_row_tells_ratios_and_worlds_that_broke_down(costs: Any) -> None:
    same = {"model": "m", "dofs": 3, "touching": True, "device": "A GPU", "worlds": 8, "steps": 2, "compile_s": 1.0}
    rows = [
        same | {"engine": "compiled", "microseconds": 0.002, "finite": 1.0},
        same | {"engine": "mujoco_warp", "microseconds": 0.008, "finite": 0.5},
    ]
    assert "| m | 3 | each other | 1.0 | 2 | 1.0 | 8 (50.0 % of worlds broke down) | 4 |  |  |  |" in costs.page(rows)


def test_what_tells_most_is_measured_first(costs: Any) -> None:
    options = argparse.Namespace(
        device="cuda", worlds=None, steps=None, engines=None, models=["a/hopper.xml", "b.xml"], cache=""
    )
    engines = [job.engine for job in costs.jobs(options, "turn")]
    assert engines == ["compiled"] * 4 + ["mujoco_warp"] * 4 + ["mjx"] * 4


def test_a_measurement_is_a_process_that_prints_its_row(costs: Any, tmp_path: Path) -> None:
    path = tmp_path / "ball.xml"
    path.write_text(
        '<mujoco><worldbody><geom type="plane" size="9 9 1"/><body pos="0 0 1"><freejoint/><geom size="0.1"/></body>'
        '<body pos="0 0 2"><freejoint/><geom size="0.1"/></body></worldbody></mujoco>'
    )
    job = costs.Job("native", str(path), False, "cpu", 2, 3, 1, str(tmp_path / "turn"), "")
    command = [sys.executable, str(FOLDER / "cost_engines.py"), json.dumps(job._asdict())]
    row = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    assert row["model"] == "ball"
    assert row["dofs"] == 12
    assert row["microseconds"] > 0
    assert row["finite"] == 1.0
    prepared = sys.modules["cost_engines"].prepared
    assert [_num_contacts(prepared(str(path), touching)) for touching in (False, True)] == [0, 1]


def test_a_graph_keeps_the_arrays_that_it_works_on(costs: Any) -> None:
    def steps() -> None: ...

    job = costs.Job("compiled", "", False, "cuda", 1, 1, 1, "", "")
    run = sys.modules["cost_engines"]._captured(unittest.mock.MagicMock(), job, steps)
    kept = weakref.ref(steps)
    del steps
    gc.collect()
    run()
    assert kept() is not None


def _num_contacts(model: mujoco.MjModel) -> int:
    data = mujoco.MjData(model)
    data.qpos[:] = np.tile((0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0), 2)
    mujoco.mj_forward(model, data)
    return int(data.ncon)
