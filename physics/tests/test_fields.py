"""The table of MuJoCo's fields is complete, and native MuJoCo says whether it is right."""

import re
from typing import Any

import mujoco
import mujoco_fused
import numpy as np
import pytest
from models import model
from mujoco_fused.fields import DERIVED, HARMLESS, REFUSED, USED, kind_of
from mujoco_fused.support import ENABLED, field

# Much that moves nothing: cameras, lights, sites, sensors, materials, a mesh, a tendon, keyframes, numbers, texts.
FURNISHED = """
<mujoco>
  <asset>
    <texture name="t" type="2d" builtin="checker" width="8" height="8"/><material name="m" texture="t"/>
    <mesh name="d" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/><hfield name="h" nrow="2" ncol="2" size="1 1 1 1"/>
  </asset>
  <custom><numeric name="n" data="1 2"/><text name="x" data="abc"/></custom>
  <worldbody>
    <light pos="0 0 3"/><camera name="c" pos="0 0 3"/>
    <geom type="plane" size="9 9 1" material="m"/>
    <body pos="0 0 0.5" user="1"><freejoint/><geom size="0.1" pos="0 0 -0.3" user="2"/>
      <geom type="mesh" mesh="d" mass="0.1" contype="0" conaffinity="0"/><site name="s" size="0.01" user="3"/>
      <body pos="0.3 0 0"><joint name="j" user="4" group="2"/><geom type="capsule" size="0.05 0.1" contype="1" conaffinity="0"/>
        <camera pos="0 0 1" mode="trackcom"/><light pos="0 0 1" mode="track"/></body></body>
  </worldbody>
  <tendon><fixed name="q"><joint joint="j" coef="1"/></fixed></tendon>
  <actuator><motor joint="j" gear="2" user="5"/></actuator>
  <sensor><gyro site="s" user="6"/><touch site="s"/><jointpos joint="j"/><tendonpos tendon="q"/></sensor>
  <keyframe><key time="1"/></keyframe>
</mujoco>
"""  # noqa: E501
STRUCTURE = re.compile(r"(adr|num|id|type|dim|map|size|nrow|ncol|graph|face|edge|elem|height|width|nchannel|texcoord)$")
"""Names of integers that say where something is: changed, MuJoCo would read somewhere else."""
ROUGHLY = {"opt.solver", "opt.tolerance", "opt.ls_tolerance", "opt.jacobian"}
"""What is a matter of the solver's own accuracy."""


def furnished() -> mujoco.MjModel:
    return mujoco.MjModel.from_xml_string(FURNISHED)


def names() -> list[str]:
    own = furnished()
    found = [name for name in dir(own) if not name.startswith("_") and not callable(getattr(own, name))]
    for owner in ("opt", "stat"):
        found.remove(owner)
        part = getattr(own, owner)
        found += [
            f"{owner}.{name}" for name in dir(part) if not name.startswith("_") and not callable(getattr(part, name))
        ]
    return found


def test_every_field_of_mujocos_is_in_the_table() -> None:
    assert [name for name in names() if not kind_of(name)] == []


def test_the_table_has_no_field_twice_and_none_that_mujoco_has_not() -> None:
    written = [*USED.split(), *DERIVED.split(), *HARMLESS.split(), *REFUSED]
    assert len(written) == len(set(written))
    known = names()
    for name in written:
        assert any(one.startswith(name[:-1]) for one in known) if name.endswith("*") else name in known, name


def moved(own: mujoco.MjModel, num_steps: int = 150) -> Any:
    """Where native MuJoCo gets to."""
    data = mujoco.MjData(own)
    data.qvel[:] = np.linspace(-1, 1, own.nv)
    data.ctrl[:] = 0.3
    mujoco.mj_step(own, data, num_steps)
    return np.concatenate([data.qpos, data.qvel])


def perturbed(own: mujoco.MjModel, name: str) -> mujoco.MjModel | None:
    """A copy with another value of a field; None if that cannot be tried."""
    changed = mujoco.MjModel.__copy__(own)
    value = field(changed, name)
    if isinstance(value, np.ndarray):
        if not value.size or value.dtype.kind not in "fiub" or (value.dtype.kind != "f" and STRUCTURE.search(name)):
            return None
        value[...] = value * 1.3 + 0.1 if value.dtype.kind == "f" else 1 - value.clip(0, 1)
        return changed
    if not name.startswith(("opt.", "stat.")):
        return None
    owner, _, last = name.partition(".")
    other = {"solver": int(mujoco.mjtSolver.mjSOL_CG), "jacobian": 1, "tolerance": 1e-12, "ls_tolerance": 1e-5}
    setattr(getattr(changed, owner), last, other.get(last, value + 1))
    return changed


@pytest.mark.parametrize("which", ["furnished", "mixed", "cheetah"])
def test_what_is_called_harmless_moves_nothing(which: str) -> None:
    own = furnished() if which == "furnished" else model(which)
    assert mujoco_fused.unsupported(own) == []
    expected, tried = moved(own), 0
    for name in (one for one in names() if kind_of(one) == "harmless"):
        changed = perturbed(own, name)
        if changed is None:
            continue
        tried += 1
        if name in ROUGHLY:
            changed.opt.iterations = 1000
            np.testing.assert_allclose(moved(changed, 20), moved(own, 20), atol=1e-4, err_msg=name)
        else:
            np.testing.assert_allclose(moved(changed), expected, atol=1e-12, err_msg=name)
        assert mujoco_fused.unsupported(changed) == [], name
    assert tried > (100 if which == "furnished" else 30)


def test_what_is_used_is_used_by_mujoco_too() -> None:
    """A sample of it: the perturbation is one that shows."""
    own = model("mixed")
    for name in (
        "body_mass",
        "jnt_stiffness",
        "dof_damping",
        "geom_friction",
        "opt.gravity",
        "actuator_gear",
        "geom_solref",
    ):
        changed = perturbed(own, name)
        assert changed is not None
        assert np.abs(moved(changed) - moved(own)).max() > 1e-6, name


PARTS = {
    "neq": '<equality><joint joint1="j" polycoef="0 1 0 0 0"/></equality>',
    "nflex": '<deformable><flex name="f" dim="1" body="b c" element="0 1" vertex="0 0 0 0 0 0"/></deformable>',
    "na": '<actuator><general joint="j" dyntype="integrator" ctrlrange="0 1"/></actuator>',
    "nhistory": '<actuator><motor joint="j" delay="0.01" nsample="10"/></actuator>',
    "pair": '<contact><pair geom1="floor" geom2="ball"/></contact>',
    "tendon": '<tendon><fixed><joint joint="j" coef="1"/></fixed></tendon>',
    "actuator": '<actuator><motor joint="j"/></actuator>',
}


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_what_is_refused_is_refused_by_its_own_reason(name: str) -> None:
    part = PARTS.get(name) or PARTS.get(name.partition("_")[0], "")
    own = mujoco.MjModel.from_xml_string(f"""<mujoco>{part}<worldbody><geom name="floor" type="plane" size="1 1 1"/>
      <body name="b" pos="0 0 1"><joint name="j"/><geom name="ball" size="0.1"/><body name="c"/></body></worldbody>
      </mujoco>""")
    default, sentence = REFUSED[name]
    value = field(own, name)
    if isinstance(value, np.ndarray):
        assert value.size, f"The model for {name} has none."
        assert sentence not in " ".join(mujoco_fused.unsupported(own))
        value[...] = default + 1
    elif name.startswith("opt."):
        setattr(own.opt, name[4:], default + 1)
    assert any(reason.startswith(sentence) for reason in mujoco_fused.unsupported(own))
    with pytest.raises(mujoco_fused.UnsupportedModelError, match=re.escape(sentence)):
        mujoco_fused.emit(own)


@pytest.mark.parametrize("name", [one for one in mujoco.mjtEnableBit.__members__ if one.startswith("mjENBL_")])
def test_flags_that_may_be_enabled_move_nothing(name: str) -> None:
    own = mujoco.MjModel.__copy__(model("mixed"))
    expected = moved(own)
    own.opt.enableflags |= int(getattr(mujoco.mjtEnableBit, name))
    if name.removeprefix("mjENBL_") in ENABLED:
        assert f"flag {name.removeprefix('mjENBL_').lower()}" in " ".join(mujoco_fused.unsupported(own))
    else:
        assert mujoco_fused.unsupported(own) == []
        np.testing.assert_array_equal(moved(own), expected)


def test_all_reasons_are_given_at_once_with_names_and_no_advice_that_breaks_the_model() -> None:
    own = mujoco.MjModel.from_xml_string("""<mujoco><option integrator="implicit" density="1.2"/><worldbody>
      <geom type="plane" size="1 1 1"/><body pos="0 0 1"><freejoint name="root"/>
      <geom name="drum" type="cylinder" size="0.1 0.1"/><body pos="0 0 1"><joint name="knee" stiffness="1 2"/>
      <geom name="leg" size="0.1" condim="6"/></body></body></worldbody>
      <actuator><motor name="jet" joint="root"/></actuator></mujoco>""")
    reasons = mujoco_fused.unsupported(own)
    for words in ("IMPLICIT", "density", "'drum'", "'knee'", "condim 6", "'jet'"):
        assert sum(words in reason for reason in reasons) == 1, words
    with pytest.raises(mujoco_fused.UnsupportedModelError) as caught:
        mujoco_fused.compile(own)
    assert caught.value.reasons == reasons
    assert "contype" not in " ".join(reasons)


@pytest.mark.parametrize("kind", ["ball", "free"])
@pytest.mark.parametrize("stiffness", [-5, 5])
def test_springs_that_turn_are_refused(kind: str, stiffness: float) -> None:
    own = mujoco.MjModel.from_xml_string(f"""<mujoco><worldbody><body><joint name="j" type="{kind}"
      stiffness="{stiffness}"/><geom size="0.1"/></body></worldbody></mujoco>""")
    assert mujoco_fused.unsupported(own) == ["It has springs of free or ball joints. Remove stiffness. Joints: 'j'."]


def test_the_solver_is_not_a_reason() -> None:
    own = mujoco.MjModel.__copy__(model("mixed"))
    own.opt.solver = int(mujoco.mjtSolver.mjSOL_PGS)
    assert mujoco_fused.unsupported(own) == []


def test_a_motor_on_something_else_than_a_joint_is_refused_whatever_its_number() -> None:
    sites = "".join(f'<site name="s{k}"/>' for k in range(9))
    own = mujoco.MjModel.from_xml_string(f"""<mujoco>
      <worldbody><body><joint/><geom size="0.1"/>{sites}</body></worldbody>
      <actuator><general name="jet" site="s8"/></actuator></mujoco>""")
    assert [reason for reason in mujoco_fused.unsupported(own) if "'jet'" in reason]
