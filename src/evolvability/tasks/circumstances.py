"""What differs between the episodes of a robot, as options. `engines.drawing` draws it for every episode."""

from dataclasses import dataclass, fields, replace
from typing import Any

from evolvability.core.errors import ConfigError
from evolvability.core.settings import ZERO_OR_MORE, Options, Rule, setting

START_NOISE = 0.1
"""By how much start poses differ in the evaluations that are reported, in radians, where they did not in training."""

LESS_THAN_ALL = Rule("a share, 0 or more and less than 1", lambda value: 0 <= value < 1)
ANGLE = Rule("an angle in degrees, 0 or more and less than 90", lambda value: 0 <= value < 90)


@dataclass(frozen=True)
class Circumstances(Options):
    """What differs between the episodes of a robot; all are independent of each other, and 0 means that it is fixed.

    Examples:
        >>> Circumstances(friction=0.3).varies
        True
    """

    start_noise: float = setting(0.0, ZERO_OR_MORE)
    """Joint angles at the start vary by up to this much, in radians."""
    push: float = setting(0.0, ZERO_OR_MORE)
    """At the start the robot moves along the ground at up to this speed, in m/s, in a random direction."""
    friction: float = setting(0.0, LESS_THAN_ALL)
    """The floor's friction varies by up to this share: 0.3 is 30 % less to 30 % more."""
    mass: float = setting(0.0, LESS_THAN_ALL)
    """The robot's mass varies by up to this share, all its bodies by one factor."""
    motor_strength: float = setting(0.0, LESS_THAN_ALL)
    """The strength of motors varies by up to this share, of each by itself."""
    failed_motors: int = setting(0, ZERO_OR_MORE)
    """So many motors do nothing, others in every episode."""
    slope: float = setting(0.0, ANGLE)
    """The floor slopes by up to this angle, in degrees, down in a random direction."""

    @property
    def varies(self) -> bool:
        """Whether episodes differ at all."""
        return any(circumstances_in(self).values())

    @property
    def parameters(self) -> tuple[str, ...]:
        """What of the physics differs: names of `mujoco_fused.PARAMETERS`, sorted, as JAX sorts dictionaries."""
        used = {
            "friction": self.friction,
            "gear": self.motor_strength or self.failed_motors,
            "gravity": self.slope,
            "mass": self.mass,
        }
        return tuple(name for name, is_used in used.items() if is_used)


def circumstances_in(options: Circumstances) -> dict[str, Any]:
    """The circumstances alone, by name, of a task's options."""
    return {field.name: getattr(options, field.name) for field in fields(Circumstances)}


def usual_circumstances(options: Any) -> Circumstances:
    """What trained mutations are judged in where nothing else is asked for: as in training, from different poses."""
    if not isinstance(options, Circumstances):
        return Circumstances()
    own = circumstances_in(options)
    return replace(Circumstances(), **own | {"start_noise": own["start_noise"] or START_NOISE})


def check_circumstances(circumstances: Circumstances, robot: Any) -> None:
    """Refuse what a robot cannot be put into."""
    from mujoco import mjtTrn  # here: options are read without MuJoCo, too

    most, got = robot.num_motors, circumstances.failed_motors
    if got > most:
        raise ConfigError(f"failed_motors must be {most} or less (the {robot.name} has {most} motors), got {got}.")
    model, name = robot.model, robot.name
    gains = model.actuator_gainprm[:, 1:] * (model.actuator_gaintype > 0)[:, None]
    is_sticky = (model.actuator_trntype == int(mjtTrn.mjTRN_BODY)).any()  # whose gear does not count
    no_strength = "motors that hold a position or a speed, or stick, whose strength is not one number"
    cannot = {
        "push": (not robot.ground, "stands on a fixed base, and cannot be pushed"),
        "friction": (not model.geom_friction[:, 0].any(), "has no geom with friction"),
        "slope": (not model.opt.gravity.any(), "has no gravity"),
        "motor_strength": (model.actuator_biasprm[:, 1:].any() or gains.any() or is_sticky, f"has {no_strength}"),
        "failed_motors": (is_sticky, "has actuators that stick (adhesion), which cannot fail"),
    }
    for key, (is_so, why) in cannot.items():
        if is_so and getattr(circumstances, key):
            raise ConfigError(f"{key}: the {name} {why}. Set {key} to 0.")


def rubs_by_pairs(model: Any) -> bool:
    """Whether a model has a <pair> of geoms with friction of its own, which a compiled program cannot change."""
    return bool((model.pair_dim > 1).any())
