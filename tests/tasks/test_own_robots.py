"""Robots of one's own: functions of the user, sensors, and models that must be simplified to be compiled."""

import importlib.util
from pathlib import Path
from typing import Any

import jax
import mujoco
import numpy as np
import pytest

from evolvability import ConfigError, Ends, Run, Sample, Task, evolve, robot_task
from evolvability.cli import main
from evolvability.studies.native import compared, transfer
from evolvability.tasks.robots import robot_task as module
from evolvability.tasks.robots.simplify import simplified
from evolvability.tasks.robots.views import View
from tests.conftest import mutations_for

KEY = jax.random.key(3)
BUG = """
<mujoco model="bug">
  <option timestep="0.005" {option}/>
  <worldbody>
    <geom name="floor" type="plane" size="9 9 1"/>
    <body name="hull" pos="0 0 0.11">
      <freejoint/><geom type="sphere" size="0.1" mass="1"/><site name="eye" pos="0.1 0 0.05" euler="0 30 0"/>
      <body name="arm" pos="0.1 0 0"><joint name="hinge" axis="0 1 0" range="-60 60"/>
        <geom type="{shape}" fromto="0 0 0 0.2 0 0" size="0.02" mass="0.1" {more}/></body>
    </body>
  </worldbody>
  <actuator><motor joint="hinge" gear="2" ctrlrange="-1 1"/></actuator>
  <sensor>
    <gyro name="gyro" site="eye"/><velocimeter name="speed" site="eye"/>
    <framepos name="place" objtype="site" objname="eye"/>
    <framequat name="turn" objtype="site" objname="eye"/><jointpos name="angle" joint="hinge"/>{sensor}
    <framelinvel name="drift" objtype="body" objname="arm"/><framezaxis name="up" objtype="xbody" objname="arm"/>
  </sensor>
</mujoco>
"""
needs_warp = pytest.mark.skipif(importlib.util.find_spec("warp") is None, reason="Warp is not installed")


@pytest.fixture
def bug(tmp_path: Path) -> Any:
    def write(option: str = "", shape: str = "capsule", more: str = "", sensor: str = "") -> Path:
        path = tmp_path / "bug.xml"
        path.write_text(BUG.format(option=option, shape=shape, more=more, sensor=sensor))
        return path

    return write


def made(path: Path, **options: Any) -> Task:
    return robot_task(path, **{"num_steps": 8, "hidden": 4, "observation_share": 0.5} | options)


def draw(task: Task, num_members: int = 8) -> Sample:
    return mutations_for(task, num_members, sigma=0.5)


def behavior(task: Task) -> Any:
    return np.asarray(task.evaluate(KEY, draw(task), task.memory)[0].behavior)


def reach(view: View) -> Any:
    """How far an eye has moved, and the height of the hull."""
    return view.xp.sqrt((view.site("eye").position[..., :2] ** 2).sum(axis=-1)), view.root.position[..., 2]


def squashed(view: View) -> Any:
    return view.xp.exp(-(view.qvel**2))  # which a compiled program does not know


def by_numpy(view: View) -> Any:
    return np.sort(np.asarray(view.qvel), axis=-1)[..., :3]


@needs_warp
def test_functions_of_the_user_are_compiled_where_they_can_be(bug: Any, recwarn: Any) -> None:
    native, fused = (made(bug(), behavior=reach, engine=engine) for engine in ("mujoco", "auto"))
    assert fused.engine.startswith("fused, ")
    assert fused.on_host  # a whole episode is one compiled function
    assert not [one for one in recwarn if "slower" in str(one.message)]
    np.testing.assert_allclose(behavior(fused), behavior(native), atol=1e-5)
    place = behavior(made(bug(), behavior="site:eye.xyz", engine="mujoco"))
    np.testing.assert_allclose(behavior(native)[:, 0], np.linalg.norm(place[:, :2], axis=1), atol=1e-6)


@needs_warp
def test_functions_that_are_not_compiled_are_computed_beside_it_and_said(bug: Any) -> None:
    with pytest.warns(UserWarning, match=r"its observation \(AttributeError.*beside it, which is slower"):
        beside = made(bug(), observation=squashed)
    native = made(bug(), observation=squashed, engine="mujoco")
    assert (beside.engine, beside.on_host) == ("fused, cpu", False)
    np.testing.assert_allclose(behavior(beside), behavior(native), atol=1e-4)


@needs_warp
def test_functions_of_numpy_alone_are_left_to_mujocos_library(bug: Any) -> None:
    with pytest.warns(UserWarning, match=r"MuJoCo's library steps the bug.* Its observation can be computed neither"):
        assert made(bug(), observation=by_numpy).engine.startswith("mujoco")


def test_sensors_read_what_mujoco_reads(bug: Any) -> None:
    stage = made(bug(), observation="sensors", engine="mujoco").stage
    assert stage
    robot, random = stage.robot, np.random.default_rng(0)
    data = mujoco.MjData(robot.model)
    for _ in range(5):
        mujoco.mj_integratePos(robot.model, data.qpos, random.normal(size=robot.model.nv), 0.5)
        data.qvel[:] = random.normal(size=robot.model.nv)
        mujoco.mj_forward(robot.model, data)
        np.testing.assert_allclose(robot.look(robot.view(data.qpos, data.qvel)), data.sensordata, atol=1e-9)
    assert robot.num_observations == robot.model.nsensordata
    some = made(bug(), observation="gyro,joints,site:eye.z", behavior="sensor:angle", engine="mujoco").stage
    assert some
    assert (some.robot.num_observations, some.robot.behavior) == (3 + 2 + 1, ("angle",))


@needs_warp
def test_sensors_of_forces_are_left_to_mujocos_library(bug: Any) -> None:
    file = bug(sensor='<accelerometer name="shake" site="eye"/>')
    with pytest.warns(UserWarning, match="The sensor 'shake' is not compiled"):
        task = made(file, observation="sensors")
    assert task.engine.startswith("mujoco")
    assert np.isfinite(behavior(task)).all()


@needs_warp
def test_sensors_of_touch_and_of_motors_are_compiled(bug: Any, recwarn: Any) -> None:
    file = bug(sensor='<touch name="skin" site="eye"/><actuatorfrc name="effort" actuator="m"/>')
    file.write_text(
        file.read_text().replace('site name="eye"', 'site name="eye" size="0.3"').replace("<motor", '<motor name="m"')
    )
    options: dict[str, Any] = {"observation": "joints,skin,effort", "num_steps": 20, "observation_share": 1.0}
    native, fused = (made(file, engine=engine, **options) for engine in ("mujoco", "auto"))
    assert fused.engine.startswith("fused, ")
    assert not [one for one in recwarn if "library" in str(one.message)]
    sample = draw(native)
    (expected, told), (found, seen) = (task.evaluate(KEY, sample, native.memory) for task in (native, fused))
    np.testing.assert_allclose(found.behavior, expected.behavior, atol=1e-5)
    np.testing.assert_allclose(seen.mean, told.mean, rtol=1e-3, atol=1e-4)
    assert (np.abs(told.mean[-2:]) > 1e-3).all()  # it touches, and its motor pulls


COMPLICATED = {"option": 'cone="elliptic" density="1.2"', "shape": "cylinder", "more": 'condim="6" friction="0.1"'}


@needs_warp
def test_a_model_is_simplified_until_it_is_compiled_and_changes_are_listed(bug: Any, monkeypatch: Any) -> None:
    file = bug(**COMPLICATED)
    with pytest.warns(UserWarning, match=r"cannot be compiled.*elliptic friction cones"):
        slow = made(file)
    with pytest.warns(UserWarning, match=r"simplified: friction cones are pyramidal; no air or water.*1 other shapes"):
        fast = made(file, simplify=True)
    assert (slow.engine[:6], fast.engine[:6]) == ("mujoco", "fused,")
    model, changes = simplified(mujoco.MjModel.from_xml_path(str(file)), "bug")
    assert len(changes) == 4
    assert model.geom_type[2] == mujoco.mjtGeom.mjGEOM_BOX
    monkeypatch.setattr(module, "LONG_ENOUGH", 0.0)
    with pytest.warns(UserWarning, match=r"Simplified and compiled, the bug is \d+\.\d times as fast"):
        behavior(slow)
    unchanged, nothing = simplified(mujoco.MjModel.from_xml_path(str(bug())), "bug")
    assert nothing == []
    assert unchanged.opt.cone == mujoco.mjtCone.mjCONE_PYRAMIDAL
    # What is enough is listed, and nothing else is changed.
    asleep = mujoco.MjModel.from_xml_path(str(bug()))
    asleep.opt.enableflags |= int(mujoco.mjtEnableBit.mjENBL_SLEEP)
    assert simplified(asleep, "bug")[1] == ["the flag sleep is off"]


@needs_warp
def test_trained_mutations_are_compared_with_the_file_as_it_is(bug: Any, tmp_path: Path, capsys: Any) -> None:
    output = tmp_path / "run"
    with pytest.warns(UserWarning, match="is simplified"):
        task = made(bug(**COMPLICATED), simplify=True)
    evolve(task, objective="max_variance", sigma=0.5, generations=1, population_size=8, output=output)
    with pytest.raises(SystemExit):
        main(["measure", str(output), "--native", "--output", str(tmp_path / "ignored.json")])
    assert "leave out --output" in capsys.readouterr().err
    main(["measure", str(output), "--native", "--mutations", "12"])
    said = capsys.readouterr().out
    assert "still go where they went" in said
    (found,) = transfer(Run(output), 12)
    assert found.trained.shape == found.native.shape == (12 - found.num_invalid, 2)
    assert not np.array_equal(found.trained, found.native)
    places = np.random.default_rng(0).normal(size=(300, 2))
    same, lost = compared(places, places), compared(places, np.roll(places, 7, axis=0))
    assert (same.share, lost.share < 0.4, same.by_chance < 0.4) == (1.0, True, True)


def test_ends_and_options_are_checked(bug: Any) -> None:
    with pytest.raises(ConfigError, match="Unknown body 'wing'"):
        made(bug(), ends=Ends(touch=("wing",)))
    with pytest.raises(ConfigError, match="Unknown part of a robot 'eyes'"):
        made(bug(), observation="eyes")
    with pytest.raises(ConfigError, match="Unknown keyframe 'standing'"):
        made(bug(), start="standing")
    with pytest.raises(ConfigError, match="control_step must be positive"):
        made(bug(), control_step=0.0)
    with pytest.raises(ConfigError, match="stands on a fixed base, and cannot be pushed"):
        robot_task("reacher", push=1.0, engine="mujoco")
    with pytest.raises(ConfigError, match="motors that hold a position"):
        robot_task("quadruped", motor_strength=0.1, engine="mujoco")
