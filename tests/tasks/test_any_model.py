"""Models that are not like the robots that come with the package: nothing asked of them is silently left out."""

import re
from typing import Any

import jax
import mujoco
import numpy as np
import pytest
from mujoco_fused import contact_pairs

from evolvability import Circumstances, ConfigError, Ends, Sample, Task, robot_task
from evolvability.tasks.circumstances import circumstances_in
from evolvability.tasks.engines.drawing import draw
from evolvability.tasks.robots.simplify import simplified
from tests.conftest import in_tiers, mutations_for

FLOOR = '<geom name="floor" type="plane" size="9 9 1" {masks}/>'
HULL = '<body name="hull" pos="0 0 {height}">{joints}<geom name="hull" size=".1" mass="1" {masks}/>{inside}</body>'
PLANAR = '<joint type="slide" axis="{axis}"/><joint type="slide" axis="0 0 1"/><joint axis="{turn}"/>'
CAPSULE = '<geom name="tip" type="capsule" fromto="0 0 0 .2 0 -.2" size=".03"/>'
ARM = f'<body pos=".1 0 0"><joint name="a" axis="0 1 0"/>{CAPSULE}</body>'
MOTOR = '<motor joint="a" gear="3" ctrlrange="-1 1"/>'
NO_MASKS = 'contype="0" conaffinity="0"'


def model(
    floor: str = FLOOR.format(masks=""),
    joints: str = "<freejoint/>",
    inside: str = ARM,
    actuator: str = MOTOR,
    more: str = "",
    height: float = 0.1,
    masks: str = "",
) -> mujoco.MjSpec:
    hull = HULL.format(joints=joints, inside=inside, height=height, masks=masks)
    world = f'<option timestep="0.01"/><worldbody>{floor}{hull}</worldbody><actuator>{actuator}</actuator>{more}'
    return mujoco.MjSpec.from_string(f'<mujoco model="thing">{world}</mujoco>')


DRONE = '<site name="l" pos=".1 0 0"/><site name="r" pos="-.1 0 0"/>'
ROTORS = "".join(f'<motor site="{side}" gear="0 0 9 0 0 0" ctrlrange="0 1"/>' for side in "lr")
PAIRS = '<contact><pair geom1="floor" geom2="hull" friction=".5 .5"/><pair geom1="floor" geom2="tip"/></contact>'
MODELS: dict[str, Any] = {
    "walker": {},
    "drone": {"inside": DRONE, "actuator": ROTORS, "height": 0.2},
    "ball": {
        "inside": ARM.replace("joint", 'joint type="ball"', 1),
        "actuator": '<motor joint="a" gear="0 3 0 0 0 0" ctrlrange="-1 1"/>',
    },
    "pairs": {"floor": FLOOR.format(masks=NO_MASKS), "masks": NO_MASKS, "more": PAIRS},
    "fixed": {"joints": ""},
    "damper": {"actuator": '<damper joint="a" kv="1" ctrlrange="0 1"/>'},
    "adhesion": {"actuator": MOTOR + '<adhesion body="hull" ctrlrange="0 1" gain="9"/>'},
    "slider": {"inside": ARM.replace("joint", 'joint type="slide"', 1)},
}
CASES: dict[str, Any] = {
    "push": 2.0,
    "friction": 0.9,
    "mass": 0.5,
    "motor_strength": 0.9,
    "failed_motors": 1,
    "slope": 15.0,
}
REFUSED = {
    "fixed": {"push"},
    "damper": {"motor_strength"},
    "adhesion": {"motor_strength", "failed_motors"},
}


def made(spec: Any, **options: Any) -> Task:
    usual: dict[str, Any] = {"num_steps": 25, "hidden": 4, "engine": "mujoco", "behavior": look}
    return robot_task(spec, **usual | options)


def look(view: Any) -> Any:
    return view.qpos[..., :]


def draws(task: Task) -> Sample:
    return mutations_for(task, 4, sigma=1.0)


def behavior(task: Task) -> Any:
    return np.asarray(task.evaluate(jax.random.key(3), draws(task), task.memory)[0].behavior)


@pytest.mark.parametrize("name", in_tiers([*MODELS], ["drone", "adhesion"]))
def test_every_circumstance_changes_what_a_model_does_or_is_refused(name: str) -> None:
    spec = model(**MODELS[name])
    still = behavior(made(spec))
    for circumstance, value in CASES.items():
        given = Circumstances(**{circumstance: value})
        if circumstance in REFUSED.get(name, ()):
            with pytest.raises(ConfigError, match=f"{circumstance}: the thing .* Set {circumstance} to 0"):
                made(spec, circumstances=given)
        else:
            assert np.abs(behavior(made(spec, circumstances=given)) - still).max() > 1e-4


def test_motors_on_sites_fail_and_weaken_in_all_their_directions() -> None:
    drone = model(inside=DRONE, actuator=ROTORS, height=5.0)
    both = behavior(made(drone, behavior="root.z", failed_motors=2))
    fallen = 5 - 9.81 * 0.01**2 * 50 * 51 / 2
    np.testing.assert_allclose(both, fallen, rtol=1e-4)


def test_the_friction_of_pairs_is_varied_by_mujocos_library_alone() -> None:
    pytest.importorskip("warp", reason="Warp is not installed")
    pairs = model(**MODELS["pairs"])
    with pytest.raises(ConfigError, match="contacts of <pair>, whose friction a compiled program cannot vary"):
        made(pairs, engine="fused", friction=0.3)
    with pytest.warns(UserWarning, match="contacts of <pair>"):
        assert made(pairs, engine="auto", friction=0.3).engine.startswith("mujoco")


@pytest.mark.parametrize(
    "floor", ['<geom type="box" size="9 9 .1" pos="0 0 -.1"/>', '<geom type="hfield" hfield="h"/>']
)
def test_what_robots_stand_on_is_not_simplified_away(floor: str) -> None:
    more = '<asset><hfield name="h" nrow="2" ncol="2" size="5 5 .3 .1" elevation="0 0 0 0"/></asset>'
    with pytest.raises(ConfigError, match=r"Contacts with what is fixed stay\. Let it stand on a plane"):
        simplified(model(floor=floor, more=more).compile(), "thing")


def test_contacts_with_fixed_things_stay_and_no_other_ones_come_in() -> None:
    wall = FLOOR.format(masks="") + '<geom name="post" type="capsule" fromto="1 0 0 1 0 1" size=".1"/>'
    wall += '<geom name="wall" type="plane" size="9 9 1" contype="2" conaffinity="2" zaxis="1 0 0" pos="-5 0 0"/>'
    box = (
        '<body pos="{} 0 .5"><joint axis="1 0 0"/><geom type="box" size=".1 .1 .1" contype="2" conaffinity="2"/></body>'
    )
    whole = model(floor=wall, inside=ARM + box.format(0.1) + box.format(-0.1)).compile()
    kept, said = simplified(whole, "thing")
    assert said == ["it does not touch itself, nor other things that move"]
    before, after = ({(pair.geom, pair.plane) for pair in contact_pairs(one)} for one in (whole, kept))
    names = [whole.geom(number).name for number in range(whole.ngeom)]
    assert before - after == {(len(names) - 1, len(names) - 2)}  # the two boxes
    assert not after - before
    assert (names.index("hull"), names.index("post")) in after


def test_names_win_over_numbers() -> None:
    links = '<body name="3" pos=".3 0 0"><joint name="a" axis="0 1 0"/><geom size=".02"/>{}</body>'
    last = '<body name="2" pos=".3 0 0"><joint axis="0 1 0"/><geom size=".02"/></body>'
    spec = model(joints="", inside=links.format(last), height=1.0)
    for text, name in (("auto", "2"), ("body:3.xyz", "3"), ("body:2.xyz", "2"), ("body:1.xyz", "hull")):
        by_name = made(spec, behavior=lambda view, name=name: view.body(name).position)
        np.testing.assert_allclose(behavior(made(spec, behavior=text)), behavior(by_name), atol=1e-6)


def test_a_planar_robot_along_y_behaves_along_y() -> None:
    spec = model(joints=PLANAR.format(axis="0 1 0", turn="1 0 0"))
    task = made(spec, behavior="auto", slope=20.0)
    assert task.behavior == ("y (m)",)
    assert task.stage
    assert np.abs(behavior(task)).min() > 1e-3
    gravity = draw(jax.random.split(jax.random.key(0), 9), task.stage.robot, Circumstances(slope=20.0)).physics[
        "gravity"
    ]
    assert not np.asarray(gravity)[:, 0].any()
    assert np.asarray(gravity)[:, 1].all()


def test_starts_vary_by_angles_within_the_limits_of_joints() -> None:
    limited = ARM.replace('axis="0 1 0"', 'axis="0 1 0" range="-1 2"')
    finger = '<body><joint name="f" type="slide" axis="1 0 0" range="0 .04"/><geom size=".02"/></body>'
    stage = made(model(inside=limited + finger)).stage
    assert stage
    keys = jax.random.split(jax.random.key(0), 200)
    poses = np.asarray(draw(keys, stage.robot, Circumstances(start_noise=0.1)).qpos)
    low, high = np.deg2rad([-1, 2])
    assert (poses[:, 7].min(), poses[:, 7].max()) == pytest.approx((low, high))
    assert not poses[:, 8].any()


def test_a_keyframe_gives_states_of_actuators_and_mocap_bodies() -> None:
    holding = '<intvelocity joint="a" kp="100" kv="5" actrange="-1 1" ctrlrange="-1e-9 1e-9"/>'
    inside = ARM.replace("<joint", '<joint armature="1"')
    mocap = '<body name="m" mocap="true" pos="1 0 1"><site name="m"/></body>'
    key = '<keyframe><key name="home" qpos=".8" qvel="1" act=".8" mpos="5 0 1"/></keyframe>'
    spec = model(joints="", inside=inside, actuator=holding, more=key, floor=mocap)
    with pytest.warns(UserWarning, match=r"starts at rest: the velocities \(qvel\) of the keyframe 'home'"):
        assert behavior(made(spec, num_steps=50)) == pytest.approx(0.8, abs=0.1)
    with pytest.warns(UserWarning, match="starts at rest"):
        np.testing.assert_allclose(behavior(made(spec, behavior="site:m.xyz")), [[5, 0, 1]] * 4)


def test_a_body_that_cannot_touch_the_floor_cannot_end_an_episode() -> None:
    box = '<geom type="box" size="9 9 .1" pos="0 0 -.1"/>'
    for spec in (model(floor=box), model(masks=NO_MASKS)):
        with pytest.raises(ConfigError, match="must_not_touch: 'hull' can touch no fixed plane"):
            made(spec, ends=Ends(touch=("hull",)))


def test_all_circumstances_are_tried_here() -> None:
    assert {*CASES, "start_noise"} == {*circumstances_in(Circumstances())}


@pytest.mark.parametrize("ends", [Ends(height=(1.0, 0.2)), Ends(height=(0.8, 0.0)), Ends(height=(0.0, 0.05))])
def test_episodes_that_would_be_over_where_they_start_are_refused(ends: Ends) -> None:
    with pytest.raises(ConfigError, match=r"over where they start: its root is at 0\.1 m, not between min_height"):
        made(model(), ends=ends)
    made(model(), ends=ends, early_termination=False)


def test_values_that_cannot_be_meant_are_refused() -> None:
    refused: dict[str, dict[str, Any]] = {
        "Unknown engine 'gpu'. Available: auto, fused, mujoco": {"engine": "gpu"},
        "control_step must be a number, got x": {"control_step": "x"},
        "its behavior must be (3, 2) values of 3 robots": {"behavior": lambda view: view.qpos[:2]},
    }
    for message, options in refused.items():
        with pytest.raises(ConfigError, match=re.escape(message)):
            made(model(), **options)
    wrong: Any = 0.2
    with pytest.raises(ConfigError, match=r"height must be a pair.* got 0\.2"):
        Ends(height=wrong)
    for timestep in (0.0, -0.01):
        spec = model()
        spec.option.timestep = timestep
        with pytest.raises(ConfigError, match=f"has a timestep of {timestep:g} s"):
            made(spec.compile())


def test_a_model_in_memory_is_simplified_too() -> None:
    pytest.importorskip("warp", reason="Warp is not installed")
    spec = model()
    spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    with pytest.warns(UserWarning, match="thing is simplified: friction cones are pyramidal"):
        task = made(spec.compile(), simplify=True)
    assert task.stage
    assert task.stage.robot.model.opt.cone == mujoco.mjtCone.mjCONE_PYRAMIDAL
