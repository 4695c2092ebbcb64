"""The robots that are files of ours: MuJoCo's library and the compiled physics agree on them, and they stay at home."""

from pathlib import Path

import mujoco
import numpy as np
import pytest

import evolvability.tasks.robots
from evolvability.tasks.replay import HostArray

mujoco_fused = pytest.importorskip("mujoco_fused")
ASSETS = Path(evolvability.tasks.robots.__file__).parent / "assets"
ROUNDING = 1e-9


def model_of(name: str) -> mujoco.MjModel:
    return mujoco.MjModel.from_xml_path(str(ASSETS / f"{name}.xml"))


def after(model: mujoco.MjModel, seconds: float) -> tuple[HostArray, HostArray]:
    """Pose and velocities after it was told to stay in the pose of its keyframe `home`."""
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, model.key("home").id)
    for _ in range(round(seconds / model.opt.timestep)):
        mujoco.mj_step(model, data)
    return data.qpos, data.qvel


@pytest.mark.parametrize("name", ["quadruped", "arm"])
def test_it_is_compiled_and_agrees_with_native_mujoco(name: str) -> None:
    pytest.importorskip("warp")
    model = model_of(name)
    assert mujoco_fused.unsupported(model) == []
    assert mujoco_fused.verify(model).errors.max() < ROUNDING


@pytest.mark.parametrize("name", ["quadruped", "arm"])
def test_it_stays_at_home_for_five_seconds(name: str) -> None:
    model = model_of(name)
    pose, velocities = after(model, seconds=5.0)
    # Gravity lets it sag a little, and then it rests.
    assert np.abs(pose - model.key("home").qpos).max() < 0.1
    assert np.abs(velocities).max() < 1e-3
    assert (0.02 / model.opt.timestep).is_integer()


def test_the_quadruped_stands_on_its_feet_alone() -> None:
    model = model_of("quadruped")
    data = mujoco.MjData(model)
    data.qpos[:], data.ctrl[:] = after(model, seconds=5.0)[0], model.key("home").ctrl
    mujoco.mj_forward(model, data)
    touching = {model.geom(geom).name for geom in data.contact.geom.ravel()}
    assert touching == {"floor", "FL_foot", "FR_foot", "RL_foot", "RR_foot"}
