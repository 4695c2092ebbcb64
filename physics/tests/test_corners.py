"""Models that a compiler of this kind gets wrong easily: all move as MuJoCo has them."""

from typing import Any

import mujoco
import mujoco_fused
import numpy as np
import pytest
from mujoco_fused import between

pytest.importorskip("warp", reason="Warp is not installed")
SPHERE = """<mujoco>{option}<worldbody><geom name="floor" type="plane" size="1 1 1" {plane}/>
  <body pos="0 0 0.1"><freejoint/><geom {geom} size="0.1"/></body></worldbody>{more}</mujoco>"""
HINGE = """<mujoco>{option}<worldbody><body pos="0 0 1"><joint name="h" axis="0 1 0" {joint}/>
  <geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.05"/></body></worldbody>{more}</mujoco>"""
PAIR = """<mujoco><worldbody>{world}<body name="a" pos="0 0 0.2"><freejoint/><geom size="0.05" mass="1"/>
  <body name="w" pos="0 0 -0.1"><geom size="0.08"/></body></body></worldbody><contact>{contact}</contact></mujoco>"""
FLOOR = '<geom type="plane" size="1 1 1"/>'


def sphere(option: str = "", plane: str = "", geom: str = "", more: str = "") -> str:
    return SPHERE.format(option=option, plane=plane, geom=geom, more=more)


def hinge(option: str = "", joint: str = "", more: str = "") -> str:
    return HINGE.format(option=option, joint=joint, more=more)


def root(*joints: str) -> str:
    return f"""<mujoco><worldbody><body pos="0 0 1" euler="10 20 30">{"".join(joints)}
      <geom type="capsule" fromto="0 0 0 0.3 0 0.1" size="0.05"/></body></worldbody></mujoco>"""


TURN, SLIDE, BALL = (
    '<joint axis="0 1 0" pos="0.1 0 0"/>',
    '<joint type="slide" axis="1 0 0.3"/>',
    '<joint type="ball"/>',
)
MODELS = {
    "a sphere on a plane": sphere(),
    "a hinge, then a slide": root(TURN, SLIDE),
    "a slide, a hinge, a slide": root(SLIDE, TURN, SLIDE.replace("1 0", "0 1")),
    "a ball, then a slide": root(BALL, SLIDE),
    "a contact exactly at its margin": sphere(plane='margin="0.1"').replace('pos="0 0 0.1"', 'pos="0 0 0.2"'),
    "a disabled group of motors": hinge(
        '<option actuatorgroupdisable="1"/>', "", '<actuator><motor joint="h" group="1"/></actuator>'
    ),
    "solref of mixed signs": sphere(plane='solref="-1000 1"', geom='solref="-1000 1"'),
    "solref of a limit, of mixed signs": hinge(joint='limited="true" range="-1 10" solreflimit="-100 1"'),
    "solref of zeros": sphere(plane='solref="0 0"', geom='solref="0 0"'),
    "a very short time constant": sphere(plane='solref="1e-9 1"', geom='solref="1e-9 1"'),
    "a solimp beyond its bounds": sphere(plane='solimp="0 0 0.001"', geom='solimp="0 0 0.001"'),
    "a solimp of one": sphere(plane='solimp="1 1 0.001 2 0.5"', geom='solimp="1 1 0.001 2 0.5"'),
    "a power that is not whole": sphere(plane='solimp="0.8 0.9 0.01 0.3 2.5"', geom='solimp="0.8 0.9 0.01 0.3 2.5"'),
    "no friction with condim 3": sphere(plane='friction="0"', geom='friction="0"'),
    "hardly any friction": sphere(plane='friction="1e-7"', geom='friction="1e-7" type="sphere"'),
    "a body of half a millimeter": """<mujoco><worldbody><body><freejoint/>
      <geom type="box" size="3e-4 4e-4 5e-4" euler="10 20 30"/></body></worldbody></mujoco>""",
    "priority with a direct solref": sphere(plane='solref="-5000 -3"', geom='solref="-500 -30" priority="1"'),
    "an excluded body that is welded": PAIR.format(world=FLOOR, contact='<exclude body1="world" body2="w"/>'),
    "an excluded parent of a welded body": PAIR.format(world=FLOOR, contact='<exclude body1="world" body2="a"/>'),
    "an excluded static body": PAIR.format(
        world=f'<body name="s">{FLOOR}</body>', contact='<exclude body1="s" body2="w"/>'
    ),
    "an excluded world, and a floor of a static body": PAIR.format(
        world=f'<body name="s">{FLOOR}</body>', contact='<exclude body1="world" body2="w"/>'
    ),
    "a pair that masks would not let touch": PAIR.format(
        world=FLOOR.replace("<geom", '<geom name="f" contype="0" conaffinity="0"'),
        contact='<pair geom1="f" geom2="g" condim="3" friction="0.3 0.3" solref="0.05 0.7" margin="0.01"/>',
    ).replace('size="0.08"', 'size="0.08" name="g" contype="0" conaffinity="0"'),
    "a pair in place of what geoms would do": PAIR.format(
        world=FLOOR.replace("<geom", '<geom name="f"'),
        contact='<pair geom1="g" geom2="f" condim="1"/><exclude body1="world" body2="w"/>',
    ).replace('size="0.08"', 'size="0.08" name="g"'),
    "capsules that are parallel": """<mujoco><worldbody>
      <body><joint type="slide"/><geom type="capsule" size="0.2 0.2"/></body>
      <body pos="0.31 0 0"><joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 0 1"/>
      <geom type="capsule" size="0.15 0.3"/></body></worldbody></mujoco>""",
    "capsules whose axes meet": """<mujoco><worldbody><body><joint axis="0 1 0"/><joint type="slide" axis="0 1 0"/>
      <geom type="capsule" size="0.1 0.5"/></body>
      <body pos="0.05 0 0" euler="0 70 0"><joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 1 0"/>
      <geom type="capsule" size="0.1 0.5"/></body></worldbody></mujoco>""",
    "a ball in a static capsule": """<mujoco><worldbody><geom type="capsule" fromto="-1 0 0 1 0 0" size="0.1"/>
      <body pos="0 0.02 0.15"><freejoint/><geom size="0.1" condim="1"/></body></worldbody></mujoco>""",
    "negative damping alone": hinge(joint='damping="-0.5"'),
    "an impratio of zero": sphere('<option impratio="0"/>'),
    "a negative impratio": sphere('<option impratio="-1"/>'),
    "a negative solmix": sphere(plane='solmix="-1" solref="0.05 1"', geom='solref="0.03 1"'),
    "no motion along the normal": """<mujoco><worldbody><geom type="plane" size="1 1 1"/><body pos="0 0 0.09">
      <joint type="slide" axis="1 0 0"/><geom size="0.1"/></body></worldbody></mujoco>""",
}


def native(model: mujoco.MjModel, speed: Any, control: Any, num_steps: int) -> mujoco.MjData:
    data = mujoco.MjData(model)
    data.qvel[:], data.ctrl[:] = speed, control
    for _ in range(num_steps):
        mujoco.mj_step(model, data)
    return data


def compiled(
    model: mujoco.MjModel, speed: Any, control: Any, num_steps: int, precision: Any = mujoco_fused.DOUBLE
) -> Any:
    step = mujoco_fused.compile(model, num_steps=num_steps, precision=precision)
    state = mujoco_fused.start(model, 1, precision=precision)._replace(qvel=np.asarray(speed)[None])
    return step(state, np.asarray(control)[None])[0]


@pytest.mark.parametrize("name", MODELS)
def test_it_moves_as_mujoco_has_it(name: str) -> None:
    model = mujoco.MjModel.from_xml_string(MODELS[name])
    model.opt.tolerance, model.opt.ls_tolerance = 1e-15, 1e-12
    assert mujoco_fused.unsupported(model) == []
    speed = np.array([0.5, 0.3, -1, 1, 2, 3])[: model.nv] if model.nv != 6 else np.array([0.5, 0.3, -1, 0.1, 0.2, 0.3])
    num_steps = 50
    expected = native(model, speed, np.ones(model.nu), num_steps)
    found = compiled(model, speed, np.ones(model.nu), num_steps)
    np.testing.assert_allclose(found.qpos[0], expected.qpos, atol=1e-8)
    np.testing.assert_allclose(found.qvel[0], expected.qvel, atol=1e-7)


@pytest.mark.parametrize("precision", [mujoco_fused.FLOAT, mujoco_fused.DOUBLE])
@pytest.mark.parametrize("integrator", ["Euler", "RK4"])
def test_a_quaternion_of_zeros_is_not_turned(precision: Any, integrator: str) -> None:
    model = mujoco.MjModel.from_xml_string(f"""<mujoco><option integrator="{integrator}"/><worldbody>
      <body pos="0 0 1"><freejoint/><geom size="0.1"/>
      <body><joint type="ball"/><geom size="0.1" pos="0 0.1 0.2" contype="0"/></body></body></worldbody></mujoco>""")
    data, speed = mujoco.MjData(model), np.linspace(-1, 1, model.nv)
    data.qpos[3:], data.qvel[:] = 0, speed
    state = mujoco_fused.State(data.qpos[None].copy(), speed[None], 0 * speed[None])
    mujoco.mj_step(model, data)
    after, _ = mujoco_fused.compile(model, precision=precision)(state, np.zeros((1, 0)))
    np.testing.assert_allclose(after.qpos[0], data.qpos, atol=1e-12 if precision is mujoco_fused.DOUBLE else 1e-6)


CONTROLS = [np.nan, np.inf, 1e11, -2.0]


@pytest.mark.parametrize("bad", CONTROLS)
@pytest.mark.parametrize("limited", ["", 'ctrllimited="true" ctrlrange="-1 1"'])
def test_a_control_that_is_not_a_number_is_treated_as_mujoco_does(bad: float, limited: str) -> None:
    motors = f'<actuator><motor joint="h" gear="3"/><motor joint="h" {limited}/></actuator>'
    model = mujoco.MjModel.from_xml_string(hinge(more=motors))
    expected = native(model, [0.1], [1.0, bad], 3)
    np.testing.assert_allclose(compiled(model, [0.1], [1.0, bad], 3).qpos[0], expected.qpos, rtol=1e-12)


def test_a_geom_that_touches_no_plane_is_not_watched() -> None:
    with pytest.raises(mujoco_fused.FusedError, match="The geom 0 is watched and may touch no plane"):
        mujoco_fused.compile(mujoco.MjModel.from_xml_string(hinge()), watched=(0,))


@pytest.mark.parametrize("iterations", [1, *(pytest.param(number, marks=pytest.mark.full) for number in (2, 3))])
def test_with_few_iterations_the_solver_begins_where_mujocos_does(iterations: int) -> None:
    model = mujoco.MjModel.from_xml_string(sphere(geom='type="box"').replace('size="0.1"', 'size="0.1 0.2 0.1"'))
    model.opt.iterations, model.opt.tolerance, model.opt.ls_tolerance = iterations, 1e-15, 1e-12
    state, controls = mujoco_fused.verification.random_states(model, 200)
    wild = state._replace(qacc_warmstart=np.random.default_rng(0).normal(0, 100, state.qvel.shape))
    expected, num_contacts = mujoco_fused.verification.native_steps(model, wild, controls)
    step = mujoco_fused.compile(model, precision=mujoco_fused.DOUBLE)
    found, _ = step(wild, controls)
    assert num_contacts > 0.5
    errors = np.abs(found.qvel - expected.qvel).max(axis=1)
    assert np.mean(errors < 1e-8) > 0.98


@pytest.mark.parametrize("friction", [0.0, 0.02, *(pytest.param(one, marks=pytest.mark.full) for one in (0.003, 0.3))])
def test_float_is_as_good_at_low_friction(friction: float) -> None:
    """A box that slides: its pyramid is steep, and float32 alone would be off by more than 1e-3 in many states."""
    box = sphere(plane=f'friction="{friction}"', geom=f'friction="{friction}" type="box"')
    model = mujoco.MjModel.from_xml_string(box.replace('size="0.1"', 'size="0.1 0.2 0.1"'))
    model.opt.tolerance, model.opt.ls_tolerance = 1e-15, 1e-12
    assert mujoco_fused.needs_double(model) == (friction < mujoco_fused.LEAST_FRICTION)
    verified = mujoco_fused.verify(model, num_worlds=300, precision=mujoco_fused.FLOAT)
    assert verified.num_contacts > 0.5
    assert np.quantile(verified.errors, 0.99) < 2e-5


def test_a_world_may_not_have_less_friction_than_float_can_do() -> None:
    model = mujoco.MjModel.from_xml_string(sphere())
    step = mujoco_fused.compile(model, parameters=("friction",))
    state, friction = mujoco_fused.start(model, 1), np.full((1, 2), 0.1)
    with pytest.raises(mujoco_fused.FusedError, match="compile with DOUBLE"):
        step(state, np.zeros((1, 0)), friction=friction)
    step(state, np.zeros((1, 0)), friction=friction + 0.1)


def test_a_world_with_more_contacts_than_there_is_room_for_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(between, "MOST", 2)
    balls = "".join(
        f'<body pos="{x} 0 0.1"><joint type="slide" axis="1 0 0"/><geom size="0.1"/></body>'
        for x in (0, 0.15, 0.3, 0.45)
    )
    model = mujoco.MjModel.from_xml_string(f"<mujoco><worldbody>{balls}</worldbody></mujoco>")
    far, near = np.array([0.0, 1, 2, 3]), np.zeros(4)
    step = mujoco_fused.compile(model)
    after, _ = step(mujoco_fused.start(model, 2, [far, near]), np.zeros((2, 0)))
    assert np.isfinite(after.qvel[0]).all()
    assert np.isnan(after.qvel[1]).all()
