"""Models to compile, and states that they get into: MuJoCo itself is the judge of what is computed of them."""

import functools
from pathlib import Path
from typing import Any

import gymnasium
import mujoco
import numpy as np
import pytest
from mujoco_fused.expressions import Scalar, Tape

ASSETS = Path(gymnasium.__file__).parent / "envs" / "mujoco" / "assets"
ROBOTS = Path(__file__).with_name("robots")
"""Models that somebody has edited for the compiler: two robots of Evolvability ES, two bodies each."""

# All that is supported and that no robot of Gymnasium's has: a ball joint, boxes, a tilted plane, joints beside their
# bodies' origins, a welded body, two trees, damping that grows with speed, motors whose force is limited, contacts
# with different parameters, some without friction.
MIXED = """
<mujoco>
  <option timestep="0.004" iterations="20" ls_iterations="20"/>
  <worldbody>
    <geom type="plane" size="9 9 1" pos="0 0 -0.1" euler="8 -5 0" conaffinity="1" friction="0.9"/>
    <body pos="0.1 -0.2 0.9" euler="10 20 30">
      <freejoint/>
      <geom type="box" size="0.2 0.3 0.1" pos="0.05 0 0.02" contype="1" conaffinity="0" friction="0.4" solref="0.03 0.8"/>
      <body pos="0.25 0 0" euler="0 15 0">
        <geom type="sphere" size="0.08" pos="0.1 0 0" contype="0" conaffinity="0"/>
        <body pos="0.2 0.05 0">
          <joint name="ball" type="ball" pos="-0.05 0.02 0" damping="0.3" armature="0.02"/>
          <geom type="capsule" fromto="0 0 0 0.2 0.1 -0.3" size="0.05" contype="1" conaffinity="0" solimp="0.8 0.99 0.01 0.4 2"/>
          <body pos="0.2 0.1 -0.3">
            <joint name="slide" type="slide" axis="1 0 1" range="-0.1 0.1" limited="true" margin="0.01" stiffness="20"/>
            <joint name="hinge" axis="0 1 0.3" pos="0 0 0.05" range="-50 40" limited="true" damping="0.2 0.05 0.02" springref="20" stiffness="3"/>
            <geom type="sphere" size="0.07" pos="0.05 0 -0.1" contype="1" conaffinity="0" condim="1"/>
          </body>
        </body>
      </body>
    </body>
    <body pos="1.5 0 0.4">
      <joint name="swing" axis="0 1 0" pos="0 0 0.2"/>
      <geom type="capsule" size="0.05 0.2" contype="1" conaffinity="0" margin="0.02"/>
    </body>
  </worldbody>
  <actuator>
    <motor joint="hinge" gear="3" ctrllimited="true" ctrlrange="-1 1"/>
    <motor joint="slide" gear="20" forcelimited="true" forcerange="-0.4 0.6"/>
    <motor joint="swing" gear="2"/>
  </actuator>
</mujoco>
"""  # noqa: E501
GYMNASIUM = ("hopper", "walker2d_v5", "inverted_pendulum", "inverted_double_pendulum", "humanoid")
QUICK = ("cheetah", "mixed", "inverted_double_pendulum")
"""In every commit's tests those with the most parts; compiling each takes seconds."""
NAMES = ("cheetah", "ant", "cheetah, gymnasium", "ant, gymnasium", "mixed", *GYMNASIUM)

each_quickly = pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.full) for name in NAMES]
)
"""The other models are of the full tier."""


def snake(num_joints: int, touches_itself: bool = False) -> str:
    """A free chain of capsules on a floor, each turned by a motor."""
    links, motors = "", ""
    for joint in range(num_joints):
        axis = "0 1 0" if joint % 2 else "0 0 1"
        links += (
            f'<body pos="0.1 0 0"><joint name="j{joint}" axis="{axis}" damping="0.05" range="-60 60" armature="0.01"/>'
        )
        links += '<geom type="capsule" fromto="0 0 0 0.1 0 0" size="0.02"/>'
        motors += f'<motor joint="j{joint}" ctrlrange="-1 1" gear="0.3"/>'
    return f"""<mujoco><default><geom contype="1" conaffinity="{int(touches_itself)}"/></default><worldbody>
      <geom type="plane" size="9 9 1" conaffinity="1"/><body pos="0 0 0.1"><freejoint/>
      <geom size="0.03"/>{links}{"</body>" * num_joints}</body></worldbody><actuator>{motors}</actuator></mujoco>"""


@functools.cache
def model(name: str) -> mujoco.MjModel:
    """A model by name, with the integrator, solver and contacts that are supported."""
    robot, _, body = name.partition(", ")
    file = ROBOTS / f"{robot}_{body or 'paper'}.xml"
    if file.exists():
        return mujoco.MjModel.from_xml_path(str(file))
    text = MIXED if name == "mixed" else (ASSETS / f"{name}.xml").read_text()
    spec = mujoco.MjSpec.from_string(text)
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_EULER
    spec.option.solver = mujoco.mjtSolver.mjSOL_NEWTON
    spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_AUTORESET
    for geom in spec.geoms:
        if name in GYMNASIUM and geom.type != mujoco.mjtGeom.mjGEOM_PLANE:
            geom.contype, geom.conaffinity = 1, 0  # no contacts of a robot with itself
    return spec.compile()


def states(model: mujoco.MjModel, number: int, seed: int = 0) -> dict[str, Any]:
    """Positions, velocities, last accelerations and controls along random episodes."""
    generator = np.random.default_rng(seed)
    found = []
    for _ in range(number):
        data = mujoco.MjData(model)
        if model.nkey:
            mujoco.mj_resetDataKeyframe(model, data, 0)
        data.qvel[:] = generator.normal(0, 0.5, model.nv)
        for _ in range(generator.integers(1, 60)):
            data.ctrl[:] = generator.uniform(-1.3, 1.3, model.nu)
            mujoco.mj_step(model, data, 3)
        mujoco.mj_normalizeQuat(model, data.qpos)
        found.append((data.qpos, data.qvel, data.qacc_warmstart, generator.uniform(-1.3, 1.3, model.nu)))
    return dict(zip(("q", "v", "w", "u"), map(np.array, zip(*found, strict=True)), strict=True))


def forward(model: mujoco.MjModel, state: dict[str, Any], index: int) -> mujoco.MjData:
    """MuJoCo's own view of one of the states."""
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:], data.qacc_warmstart[:] = (state[name][index] for name in "qvw")
    data.ctrl[:] = state["u"][index]
    mujoco.mj_forward(model, data)
    return data


def evaluate(tape: Tape, inputs: dict[str, Any], values: Any) -> Any:
    """Numbers in place of a tape's values: of each input array the last axis is its index, the others are kept."""
    known: dict[str, Any] = {}
    for name, array in inputs.items():
        known |= {f"{name}[{k}]": np.asarray(array)[..., k] for k in range(np.shape(array)[-1])}

    def number(value: Any) -> Any:
        return known[value.name] if isinstance(value, Scalar) else value

    for name, (operation, operands) in tape.steps.items():
        known[name] = getattr(np, operation)(*map(number, operands))
    numbers = [number(value) for value in np.ravel(np.asarray(values, object))]
    batch = np.broadcast_shapes(*map(np.shape, numbers))
    return np.stack(np.broadcast_arrays(*numbers), axis=-1).reshape(*batch, *np.shape(values))
