"""How far a compiled model and MuJoCo's own library part, on any model: from random states, a few time steps."""

from typing import Any, NamedTuple

import mujoco
import numpy as np

from mujoco_fused.emission import DOUBLE, Precision
from mujoco_fused.errors import check_number
from mujoco_fused.parameters import own_parameters
from mujoco_fused.stepping import State, compile

BOUND = 1e3
"""Of positions and velocities in random states: what is beyond has broken down."""
BROKEN = 1e6
"""Of native MuJoCo's results: a world that gets there has broken down, and is left out."""
FREE, BALL = int(mujoco.mjtJoint.mjJNT_FREE), int(mujoco.mjtJoint.mjJNT_BALL)


class Verified(NamedTuple):
    """How far compiled and native physics part."""

    errors: Any
    """(num_worlds,) largest difference of positions and velocities, relative to 1 + the largest native number."""
    states: State
    """Where the worlds began."""
    controls: Any
    """(num_worlds, nu) what they were given."""
    num_contacts: float
    """Contacts per world where they began, on average: what has none says nothing of contacts."""

    @property
    def median(self) -> float:
        """The median world's error."""
        return float(np.median(self.errors)) if len(self.errors) else np.nan

    @property
    def worst(self) -> float:
        """The largest error; nan if a compiled world has a number that is not finite, or if there is no world."""
        return float(np.max(self.errors)) if len(self.errors) else np.nan

    def __str__(self) -> str:
        if not len(self.errors):
            return "nothing to compare: native MuJoCo breaks down from all states"
        about = f"{len(self.errors)} worlds with {self.num_contacts:.1f} contacts each on average"
        return f"{about}: errors {self.median:.1e} (median), {self.worst:.1e} (largest)"


def verify(
    model: mujoco.MjModel,
    *,
    num_worlds: int = 200,
    num_steps: int = 1,
    precision: Precision = DOUBLE,
    parameters: dict[str, Any] | None = None,
    seed: int = 0,
) -> Verified:
    """Compare a compiled model with MuJoCo's own library, from random states.

    In `DOUBLE` precision one time step agrees to rounding where the solver has as many iterations as it needs. With few
    (`model.opt.iterations`), and with a coarse `model.opt.tolerance`, both end at slightly different accelerations. At
    a friction near 0 the default of 1e-8 is coarse: set it to 0 to see how far the physics itself parts.
    Over many steps contacts part any two computations that round differently.

    Args:
        model: the model.
        num_worlds: how many states; those from which native MuJoCo breaks down are left out.
        num_steps: time steps from each.
        precision: of the compiled model.
        parameters: rows of parameters per world (see `PARAMETERS`): both get them. Default: the model's own.
        seed: of the states.
    """
    check_number("num_worlds", num_worlds)
    given = parameters or {}
    step = compile(model, num_steps=num_steps, precision=precision, parameters=tuple(given))
    state, controls = random_states(model, num_worlds, seed)
    after, _ = step(state, controls, **given)
    native, num_contacts = native_steps(model, state, controls, num_steps, given)
    ours, theirs = (np.concatenate([one.qpos, one.qvel], axis=1) for one in (after, native))
    whole = np.abs(theirs).max(axis=1) < BROKEN
    errors = np.abs(ours - theirs).max(axis=1) / (1 + np.abs(theirs).max(axis=1))
    return Verified(errors[whole], State(*(array[whole] for array in state)), controls[whole], num_contacts)


def random_states(model: mujoco.MjModel, number: int, seed: int = 0) -> tuple[State, Any]:
    """States and controls that a model may get into: anywhere near its first pose, every other one after a while."""
    generator = np.random.default_rng(seed)
    found = []
    for index in range(number):
        pose, speed = _pose(model, generator), generator.normal(0, 1, model.nv)
        num_turns = int(generator.integers(1, 100)) if index % 2 else 0
        for _ in range(3):  # a while that ends in numbers without bounds is tried again, a tenth as long
            data = mujoco.MjData(model)
            data.qpos[:], data.qvel[:] = pose, speed
            for _ in range(num_turns):
                data.ctrl[:] = _controls(model, generator)
                mujoco.mj_step(model, data, 3)
            if np.abs(np.concatenate([data.qpos, data.qvel])).max() < BOUND:
                break
            num_turns //= 10
        mujoco.mj_normalizeQuat(model, data.qpos)
        found.append((data.qpos, data.qvel, data.qacc_warmstart, _controls(model, generator)))
    *state, controls = (np.array(rows) for rows in zip(*found, strict=True))
    return State(*state), controls


def _pose(model: mujoco.MjModel, generator: np.random.Generator) -> Any:
    """Joints within their limits and a little beyond, free bodies turned any way."""
    pose = model.qpos0.copy()
    for joint in range(model.njnt):
        first, kind = int(model.jnt_qposadr[joint]), int(model.jnt_type[joint])
        if kind == FREE:
            pose[first : first + 3] += generator.normal(0, 0.3, 3)
        if kind in (FREE, BALL):
            quaternion = slice(first + 3, first + 7) if kind == FREE else slice(first, first + 4)
            pose[quaternion] = generator.normal(size=4)
        elif model.jnt_limited[joint]:
            low, high = model.jnt_range[joint]
            pose[first] = generator.uniform(low - 0.1 * (high - low), high + 0.1 * (high - low))
        else:
            pose[first] += generator.uniform(-0.6, 0.6)
    mujoco.mj_normalizeQuat(model, pose)
    return pose


def _controls(model: mujoco.MjModel, generator: np.random.Generator) -> Any:
    """Within controls' ranges and beyond them."""
    ranges = np.where(model.actuator_ctrllimited[:, None] > 0, model.actuator_ctrlrange, [-1.0, 1.0])
    low, high = ranges.T
    return generator.uniform(low - 0.2 * (high - low), high + 0.2 * (high - low))


def native_steps(
    model: mujoco.MjModel, state: State, controls: Any, num_steps: int = 1, parameters: dict[str, Any] | None = None
) -> tuple[State, float]:
    """MuJoCo's own steps from given states, and how many contacts a world has at first, on average."""
    after, num_contacts = [], 0
    for index in range(len(controls)):
        edited, data = model, mujoco.MjData(model)
        if parameters:
            edited = edited_model(model, {name: rows[index] for name, rows in parameters.items()})
            data.xfrc_applied[:] = parameters.get("force", np.zeros((len(controls), model.nbody, 6)))[index]
        data.qpos[:], data.qvel[:], data.qacc_warmstart[:] = (array[index] for array in state)
        data.ctrl[:] = controls[index]
        for number in range(num_steps):
            mujoco.mj_step(edited, data)
            num_contacts += data.ncon if number == 0 else 0
        after.append((data.qpos, data.qvel, data.qacc))
    return State(*(np.array(rows) for rows in zip(*after, strict=True))), num_contacts / max(len(controls), 1)


def edited_model(model: mujoco.MjModel, parameters: dict[str, Any]) -> mujoco.MjModel:
    """A native model with a world's parameters in the places of its own (but for forces, which are not a model's)."""
    edited, own = mujoco.MjModel.__copy__(model), own_parameters(model)
    values = own | parameters
    edited.actuator_gear[:, 0], edited.geom_friction[:, 0] = values["gear"], values["friction"]
    denser = np.divide(values["mass"], own["mass"], out=np.ones(model.nbody), where=own["mass"] > 0)
    edited.body_mass[:], edited.body_inertia[:] = values["mass"], model.body_inertia * denser[:, None]
    edited.dof_damping[:], edited.opt.gravity[:] = values["damping"], values["gravity"]
    return edited
