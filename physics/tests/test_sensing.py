"""What a compiled model's sensors read is what MuJoCo's do."""

from typing import Any

import jax.numpy as jnp
import mujoco
import mujoco_fused
import numpy as np
import pytest
from models import model
from mujoco_fused.verification import random_states

pytest.importorskip("warp", reason="Warp is not installed")
OBJECTS = {
    "site": 'objtype="site" objname="s"',
    "geom": 'objtype="geom" objname="g"',
    "xbody": 'objtype="xbody" objname="b"',
}
NAMED = {"body": "b", "geom": "g", "site": "s"}
OBJECTS["body"] = 'objtype="body" objname="b"'
KINDS = ("framepos", "framequat", "framexaxis", "frameyaxis", "framezaxis", "framelinvel", "frameangvel")
FRAMES = "".join(f'<{kind} name="{kind} {name}" {words}/>' for kind in KINDS for name, words in OBJECTS.items())
ROBOT = f"""<mujoco><worldbody><geom type="plane" size="9 9 1"/><body pos="0 0 0.5"><freejoint/>
  <geom name="foot" size="0.1"/><body pos="0.2 0 0" euler="10 20 30"><joint type="ball" pos="0.1 0 0"/>
  <geom size="0.1" contype="0" conaffinity="0"/><body name="b" pos="0 0.3 0"><joint name="j" axis="0.3 1 0" ref="10"/>
  <geom name="g" type="capsule" size="0.05 0.2" pos="0.1 0 0.2" euler="40 0 0" contype="0" conaffinity="0"/>
  <site name="s" pos="0 0.1 0.1" euler="0 50 0"/></body></body></body></worldbody>
  <actuator><position name="m" joint="j" kp="10" kv="1" gear="2" forcelimited="true" forcerange="-3 4"/></actuator>
  <sensor>{FRAMES}<gyro name="gyro" site="s"/><velocimeter name="velocimeter" site="s" cutoff="0.5"/>
  <jointpos name="jointpos" joint="j"/><jointvel name="jointvel" joint="j"/>
  <actuatorfrc name="actuatorfrc" actuator="m"/>
  <accelerometer name="accelerometer" site="s"/></sensor></mujoco>"""


@pytest.mark.parametrize("integrator", ["EULER", "RK4"])
def test_sensors_read_what_mujocos_read(integrator: str) -> None:
    robot = mujoco.MjModel.from_xml_string(ROBOT)
    robot.opt.integrator = int(getattr(mujoco.mjtIntegrator, f"mjINT_{integrator}"))
    names = [robot.sensor(k).name for k in range(robot.nsensor - 1)]
    state, controls = random_states(robot, 30)
    step = mujoco_fused.compile(robot, precision=mujoco_fused.DOUBLE, watched=(robot.geom("foot").id, *names))
    _, found = step(state, controls)
    assert found.shape == (30, mujoco_fused.num_watched(robot, (1, *names)))
    for index in range(30):
        data = mujoco.MjData(robot)
        data.qpos[:], data.qvel[:], data.ctrl[:] = state.qpos[index], state.qvel[index], controls[index]
        mujoco.mj_forward(robot, data)
        np.testing.assert_allclose(found[index, 1:], data.sensordata[:-3], atol=1e-11)


@pytest.mark.parametrize("xp", [np, jnp], ids=["NumPy", "JAX"])
def test_places_motions_and_sensors_in_arrays_are_those_of_mujoco(xp: Any) -> None:
    robot = mujoco.MjModel.from_xml_string(ROBOT)
    seen, (state, _) = mujoco_fused.Kinematics(robot), random_states(robot, 6)
    at, atol = seen.at(xp.asarray(state.qpos), xp.asarray(state.qvel)), 1e-11 if xp is np else 1e-5
    names = [robot.sensor(k).name for k in range(robot.nsensor - 2)]
    read = np.concatenate([at(seen.sensor(name)) for name in names], axis=1)
    frames = {kind: seen.frame(kind, getattr(robot, kind)(name).id) for kind, name in NAMED.items()}
    for index in range(6):
        data, speed = mujoco.MjData(robot), np.zeros(6)
        data.qpos[:], data.qvel[:] = state.qpos[index], state.qvel[index]
        mujoco.mj_forward(robot, data)
        np.testing.assert_allclose(read[index], data.sensordata[:-4], atol=atol)
        for kind, frame in frames.items():
            own, thing = getattr(data, kind)(NAMED[kind]), "X" * (kind == "body") + kind
            mujoco.mj_objectVelocity(robot, data, getattr(mujoco.mjtObj, f"mjOBJ_{thing.upper()}"), own.id, speed, 0)
            np.testing.assert_allclose(at(frame.place)[index], own.xpos, atol=atol)
            np.testing.assert_allclose(at(frame.turn)[index].ravel(), own.xmat, atol=atol)
            np.testing.assert_allclose(at([*frame.spin, *frame.velocity])[index], speed, atol=atol)
    with pytest.raises(mujoco_fused.FusedError, match="'actuatorfrc' reads more than positions and velocities"):
        seen.sensor("actuatorfrc")


def test_a_sensor_that_is_not_compiled_says_so() -> None:
    with pytest.raises(mujoco_fused.FusedError, match="The sensor 'accelerometer' is not compiled"):
        mujoco_fused.compile(mujoco.MjModel.from_xml_string(ROBOT), watched=("accelerometer",))
    with pytest.raises(mujoco_fused.FusedError, match=r"no sensor 'nothing' to watch\. Its sensors: none"):
        mujoco_fused.compile(model("mixed"), watched=("nothing",))


SITES = {
    "sphere": "0.08",
    "capsule": "0.05 0.1",
    "ellipsoid": "0.1 0.05 0.07",
    "cylinder": "0.06 0.05",
    "box": "0.05 0.1 0.06",
}


@pytest.mark.parametrize("touches_itself", [1, pytest.param(0, marks=pytest.mark.full)])
def test_touch_sensors_read_what_mujocos_read(touches_itself: int) -> None:
    sites = "".join(
        f'<site name="{kind}{end}" type="{kind}" size="{size}" pos="{end / 12} 0 {-end / 20}" euler="9 {30 * end} 0"/>'
        for kind, size in SITES.items()
        for end in (-1, 0, 1)
    )
    sensors = "".join(f'<touch name="{kind}{end}" site="{kind}{end}"/>' for kind in SITES for end in (-1, 0, 1))
    text = f"""<mujoco><option integrator="RK4"/><default><geom conaffinity="{touches_itself}"/></default><worldbody>
      <geom type="plane" size="9 9 1" conaffinity="1"/><body pos="0 0 0.12"><freejoint/>
      <geom type="capsule" size="0.05 0.1" euler="0 80 0"/>{sites}
      <body pos="0.3 0 0"><joint axis="0 0 1"/><geom size="0.05"/><geom size="0.05" pos="0 0.1 0"/>
      <body pos="0 0.2 0"><joint axis="0 0 1"/><geom type="capsule" size="0.05 0.1" euler="90 0 0" pos="-0.15 0 0"/>
      </body></body></body></worldbody>
      <sensor>{sensors}<touch name="bounded" site="box0" cutoff="2"/></sensor></mujoco>"""
    robot = mujoco.MjModel.from_xml_string(text)
    robot.opt.tolerance, robot.opt.ls_tolerance, robot.opt.iterations = 1e-15, 1e-12, 100
    names = [robot.sensor(k).name for k in range(robot.nsensor)]
    state, controls = random_states(robot, 200)
    step = mujoco_fused.compile(robot, precision=mujoco_fused.DOUBLE, watched=tuple(names))
    _, found = step(state, controls)
    expected = []
    for index in range(200):
        data = mujoco.MjData(robot)
        data.qpos[:], data.qvel[:] = state.qpos[index], state.qvel[index]
        mujoco.mj_forward(robot, data)
        expected.append(data.sensordata.copy())
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-7)
    felt = (np.array(expected) > 0).mean(axis=0)
    assert (felt > 0).all()
    assert len(set(felt.tolist())) > 5  # the shapes differ in what they feel
