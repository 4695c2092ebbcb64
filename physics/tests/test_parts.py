"""Every part of the compiled physics against MuJoCo's own intermediate quantities, in double precision."""

import itertools
import re
from typing import Any

import mujoco
import numpy as np
import pytest
from models import NAMES, evaluate, forward, model, states
from mujoco_fused.between import Between
from mujoco_fused.constraints import contacts, limits, rubbing
from mujoco_fused.dynamics import bias_forces, joint_forces, mass_matrix
from mujoco_fused.expressions import Scalar, Tape, within
from mujoco_fused.kinematics import Motion, moving
from mujoco_fused.solver import SCOPE, Constraints, Solver
from mujoco_fused.tree import Tree

NUM_STATES = 6
each_model = pytest.mark.parametrize("name", NAMES)


class Traced:
    """A model over symbols, and numbers for them."""

    def __init__(self, name: str) -> None:
        self.model = model(name)
        self.tree, self.tape = Tree(self.model), Tape()
        sizes = {"q": self.model.nq, "v": self.model.nv, "u": self.model.nu}
        self.symbols = {name: self.tape.inputs(name, size) for name, size in sizes.items()}
        self.states = states(self.model, NUM_STATES)
        self.data = [forward(self.model, self.states, index) for index in range(NUM_STATES)]

    def numbers(self, values: Any) -> Any:
        """(NUM_STATES, ...) of some values."""
        inputs = {name: self.states[name] for name in self.symbols}
        return np.broadcast_to(evaluate(self.tape, inputs, values), (NUM_STATES, *np.shape(values)))

    def theirs(self, name: str) -> Any:
        """(NUM_STATES, ...) an array of MuJoCo's."""
        return np.array([getattr(data, name) for data in self.data])

    @property
    def motion(self) -> Motion:
        return moving(self.tree, self.symbols["q"], self.symbols["v"])


@each_model
def test_bodies_are_where_mujoco_has_them(name: str) -> None:
    traced = Traced(name)
    motion, model = traced.motion, traced.model
    for body in traced.tree.bodies:
        place = traced.numbers(motion.place[body] + motion.origin[body])
        np.testing.assert_allclose(place, traced.theirs("xpos")[:, body], atol=1e-12)
        turn = traced.numbers(motion.rotation[body])
        np.testing.assert_allclose(turn, traced.theirs("xmat")[:, body].reshape(-1, 3, 3), atol=1e-12)
        for index, data in enumerate(traced.data):
            expected = np.zeros(6)
            mujoco.mj_objectVelocity(model, data, mujoco.mjtObj.mjOBJ_XBODY, body, expected, 0)
            spin, speed = np.split(traced.numbers(motion.velocity[body])[index], 2)
            at_body = speed + np.cross(spin, traced.numbers(motion.place[body])[index])
            np.testing.assert_allclose(np.concatenate([spin, at_body]), expected, atol=1e-10)


@each_model
def test_mass_matrix_and_forces_are_mujocos(name: str) -> None:
    traced = Traced(name)
    matrix = mass_matrix(traced.tree, traced.motion)
    assert set(matrix) == set(traced.tree.entries)
    ours = traced.numbers(list(matrix.values()))
    for index, data in enumerate(traced.data):
        full = np.zeros((traced.model.nv, traced.model.nv))
        mujoco.mj_fullM(traced.model, data, full)
        theirs = np.array([full[pair] for pair in matrix])
        np.testing.assert_allclose(ours[index], theirs, rtol=1e-10, atol=1e-12 * np.abs(full).max())
        # What the tree's sparsity leaves out is zero.
        assert np.abs(full).sum() == pytest.approx(np.abs(theirs).sum() * 2 - np.abs(np.diag(full)).sum())
    scale = np.abs(traced.theirs("qfrc_bias")).max()
    bias = traced.numbers(bias_forces(traced.tree, traced.motion))
    np.testing.assert_allclose(bias, traced.theirs("qfrc_bias"), atol=1e-12 * scale)
    controls = traced.symbols["u"].copy()
    for motor in np.flatnonzero(traced.model.actuator_ctrllimited):
        controls[motor] = within(controls[motor], *traced.model.actuator_ctrlrange[motor])
    force = traced.numbers(joint_forces(traced.tree, traced.symbols["q"], traced.symbols["v"], controls))
    expected = traced.theirs("qfrc_passive") + traced.theirs("qfrc_actuator")
    np.testing.assert_allclose(force, expected, atol=1e-12 * np.abs(expected).max() + 1e-14)


@each_model
def test_contacts_are_found_where_mujoco_finds_them(name: str) -> None:
    traced = Traced(name)
    found = contacts(traced.tree, traced.motion)
    if not found:
        assert all(data.ncon == 0 for data in traced.data)
        return
    present = traced.numbers([contact.present for contact in found])
    fields = {key: traced.numbers([contact.fields[key] for contact in found]) for key in found[0].fields}
    origin = [traced.numbers(traced.motion.origin[contact.body]) for contact in found]
    for index, data in enumerate(traced.data):
        ours = np.flatnonzero(present[index])
        theirs = [contact for contact in data.contact if contact.efc_address >= 0]
        assert len(ours) == len(theirs)
        places = np.array([contact.pos for contact in theirs])
        for k in ours:
            place = np.array([fields[f"point_{axis}"][index, k] for axis in "xyz"]) + origin[k][index]
            nearest = int(np.argmin(np.linalg.norm(places - place, axis=1)))
            contact, row = theirs[nearest], theirs[nearest].efc_address
            np.testing.assert_allclose(place, contact.pos, atol=1e-10)
            normal = [fields[f"normal_{axis}"][index, k] for axis in "xyz"]
            np.testing.assert_allclose(normal, contact.frame[:3], atol=1e-10)
            # A contact without friction is one row of MuJoCo's, and four edges that share its strength here.
            share = 4 if contact.dim == 1 else 1
            assert fields["strength"][index, k] * share == pytest.approx(data.efc_D[row], rel=1e-9)
            stiffness, damping, impedance = data.efc_KBIP[row, :3]
            violation = data.efc_pos[row] - data.efc_margin[row]
            assert fields["pull"][index, k] == pytest.approx(stiffness * impedance * violation, rel=1e-8, abs=1e-12)
            assert fields["damping"][index, k] == pytest.approx(damping)


@each_model
def test_limits_are_mujocos(name: str) -> None:
    traced = Traced(name)
    found = limits(traced.tree, traced.symbols["q"], traced.symbols["v"])
    if not found:
        assert not traced.model.jnt_limited.any()
        return
    numbers = {
        key: traced.numbers([getattr(limit, key) for limit in found]) for key in ("present", "strength", "target")
    }
    kind = mujoco.mjtConstraint.mjCNSTR_LIMIT_JOINT
    for index, data in enumerate(traced.data):
        rows = np.flatnonzero(data.efc_type == kind)
        ours = np.flatnonzero(numbers["present"][index])
        dofs = [int(traced.model.jnt_dofadr[data.efc_id[row]]) for row in rows]
        assert dofs == [found[k].dof for k in ours]
        np.testing.assert_allclose(numbers["strength"][index, ours], data.efc_D[rows], rtol=1e-9)
        np.testing.assert_allclose(numbers["target"][index, ours], -data.efc_aref[rows], rtol=1e-8, atol=1e-9)


def test_states_have_contacts_limits_and_more_than_one_of_each() -> None:
    """So that the tests above and the steps are of something."""
    data = [one for name in NAMES for one in Traced(name).data]
    assert max(one.ncon for one in data) >= 4
    assert sum(int((one.efc_type == mujoco.mjtConstraint.mjCNSTR_LIMIT_JOINT).sum()) for one in data) >= 10


@each_model
def test_the_solver_reads_and_writes_what_its_scope_declares(name: str) -> None:
    traced = Traced(name)
    found, stops = contacts(traced.tree, traced.motion), limits(traced.tree, traced.symbols["q"], traced.symbols["v"])
    constraints = Constraints(found, stops, rubbing(traced.tree), Between(traced.tree, traced.motion))
    solver = Solver(traced.tree, traced.motion, constraints, itertools.count(10**6), {})
    text = re.sub(r'"[^"]*"|//[^\n]*|R\([-+.\de]+\)', "", solver.declarations() + solver.detection() + solver.code())
    own = set(re.findall(r"(?:const )?(?:R|int|bool|unsigned long long) (\w+)", text))
    for line in re.findall(r"\b(?:R|int|unsigned long long) ([^;{}()]*[,;])", text):
        own |= set(re.findall(r"(?:^|, ?)(\w+)(?=\[| =|,|;)", line))
    words = set(re.findall(r"(?<![\w.])[A-Za-z_]\w*", text))
    words -= {
        "R",
        "int",
        "const",
        "bool",
        "unsigned",
        "long",
        "for",
        "if",
        "else",
        "break",
        "_Pragma",
        "ull",
        "true",
        "false",
    }
    kept = {value.name for value in solver.kept() if isinstance(value, Scalar)}
    declared = {one for names in SCOPE for key in names for one in key.split()}
    assert words - own - kept <= declared
    assert {"w", "M", "force", "Ma", "H"} <= words
