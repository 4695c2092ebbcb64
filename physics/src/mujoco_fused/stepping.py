"""Any supported MuJoCo model, stepped in batches from JAX, also inside of a compiled program, or from NumPy."""

import functools
import itertools
import os
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import mujoco
import numpy as np

from mujoco_fused.emission import DOUBLE, FLOAT, Precision, check_precision, emit, epilogue, from_nothing, prelude
from mujoco_fused.errors import FusedError, ShapeError, check_model, several
from mujoco_fused.kernel import jax, jax_function, load_kernel, make_kernel, read_row, warp, write_row
from mujoco_fused.pairs import LEAST_FRICTION, needs_double
from mujoco_fused.parameters import Numbers
from mujoco_fused.sensing import Watched, num_watched


class State(NamedTuple):
    """Worlds in mid-simulation; arrays have the axis (num_worlds,) in front."""

    qpos: Any
    """(num_worlds, nq) positions."""
    qvel: Any
    """(num_worlds, nv) velocities."""
    qacc_warmstart: Any
    """(num_worlds, nv) the last accelerations, where the solver begins."""


def start(model: mujoco.MjModel, num_worlds: int, qpos: Any = None, *, precision: Precision = FLOAT) -> State:
    """Worlds at rest.

    Args:
        model: the model.
        num_worlds: how many.
        qpos: (num_worlds, nq) their poses; default: the model's first pose.
        precision: of the numbers.
    """
    check_model(model)
    check_precision(precision)
    poses = np.tile(model.qpos0, (num_worlds, 1)) if qpos is None else np.asarray(qpos)
    if poses.shape != (num_worlds, model.nq):
        raise ShapeError(f"'qpos' has the shape {poses.shape}, expected (num_worlds, nq): ({num_worlds}, {model.nq}).")
    still = np.zeros((num_worlds, model.nv), precision.dtype)
    return State(poses.astype(precision.dtype), still, still)


def compile(
    model: mujoco.MjModel,
    *,
    num_steps: int = 1,
    precision: Precision = FLOAT,
    parameters: Sequence[str] = (),
    watched: Sequence[Watched] = (),
) -> "Step":
    """Compile a model into a function that steps worlds.

    Args:
        model: the model; `UnsupportedModelError` has all reasons why it cannot be compiled, see `unsupported`.
        num_steps: time steps per call, with the same controls.
        precision: `FLOAT` or `DOUBLE`, of the arrays. A model with less friction than `LEAST_FRICTION` is computed in
            double all the same.
        parameters: names of what differs between worlds, see `PARAMETERS`; all else is a constant and costs nothing.
        watched: what is returned beside the state: heights of geoms above planes, by the geoms' numbers, and what
            sensors of the model read, by their names.
    """
    return Step(Numbers(model, parameters), num_steps, precision, several("watched", watched))


class Step:
    """A compiled model, made by `compile`. Gradients are not offered: MuJoCo's contacts have few that would help."""

    def __init__(self, numbers: Numbers, num_steps: int, precision: Precision, watched: Sequence[Watched]) -> None:
        check_precision(precision)
        self.precision, self.parameters, self._numbers, model = precision, numbers.given, numbers, numbers.model
        self._inside = DOUBLE if needs_double(model) else precision
        self._inputs = {"qpos": model.nq, "qvel": model.nv, "qacc_warmstart": model.nv, "controls": model.nu}
        self._outputs = {"q_out": model.nq, "v_out": model.nv, "w_out": model.nv, "low": num_watched(model, watched)}
        self._kernel = _kernel(numbers, num_steps, (precision, self._inside), watched)
        self._call = jax_function(self._kernel, len(self._outputs))

    def __call__(self, state: State, controls: Any, **parameters: Any) -> tuple[State, Any]:
        """Advance all worlds by the same number of time steps.

        NumPy's arrays are stepped on all CPU cores. JAX's are stepped on their device, under `jax.jit`, `jax.lax.scan`
        and `jax.vmap` too.

        Args:
            state: the worlds.
            controls: (num_worlds, nu).
            parameters: one array per name that the model was compiled with, with one row per world (see `PARAMETERS`).

        Returns:
            The worlds afterwards, and (num_worlds, num_watched) all that is watched, as it is at the beginning of the
            last time step, as MuJoCo's own sensors are.
        """
        arrays = dict(zip((*State._fields, "controls"), (*state, controls), strict=True)) | parameters
        self._check(arrays)
        run = self._in_jax if any(map(_is_jax, arrays.values())) else self._in_numpy
        *after, heights = run(arrays)
        return State(*after), heights

    def rollout(self, state: State, controls: Any, **parameters: Any) -> tuple[State, Any]:
        """Advance all worlds again and again.

        Args:
            state: the worlds.
            controls: (num_calls, num_worlds, nu) of one call after another.
            parameters: as in a call, the same for all of them.

        Returns:
            The worlds after each call, and heights as of a call; all arrays have the axis (num_calls,) in front.
        """
        if not any(map(_is_jax, (*state, controls, *parameters.values()))):
            shape = len(controls), len(state.qpos)
            found = [np.zeros((*shape, size), self.precision.dtype) for size in self._outputs.values()]
            for number, own in enumerate(controls):
                state, heights = self(state, own, **parameters)
                for rows, row in zip(found, (*state, heights), strict=True):
                    rows[number] = row
            return State(*found[:3]), found[3]

        def call(now: State, own: Any) -> tuple[State, tuple[State, Any]]:
            after, heights = self(now, own, **parameters)
            return after, (after, heights)

        lax, numpy = jax().lax, jax().numpy
        first = State(*(numpy.asarray(array, self.precision.dtype) for array in state))
        return lax.scan(call, first, numpy.asarray(controls))[1]

    def _check(self, arrays: dict[str, Any]) -> None:
        """Raise an error for a missing, unknown or ill-shaped array: the program itself would read beyond its end."""
        given = arrays.keys() - self._inputs.keys()
        if given != set(self.parameters):
            asked = ", ".join(self.parameters) or "none"
            raise FusedError(f"The model was compiled with the parameters: {asked}. Got: {', '.join(given) or 'none'}.")
        number = np.shape(arrays["qpos"])[:1]
        shapes = {name: (size,) for name, size in self._inputs.items()}
        shapes |= {name: self._numbers.shapes[name] for name in self.parameters}
        for name, shape in shapes.items():
            if np.shape(arrays[name]) != (*number, *shape):
                expected = ", ".join(map(str, ("num_worlds", *shape)))
                others = f", as many worlds as qpos has: {number[0]}" if number else ""
                raise ShapeError(f"'{name}' has the shape {np.shape(arrays[name])}, expected ({expected}){others}.")

        friction = arrays.get("friction", LEAST_FRICTION)
        if self._inside is FLOAT and not _is_jax(friction) and np.min(friction, initial=1.0) < LEAST_FRICTION:
            raise FusedError(f"Friction below {LEAST_FRICTION} needs more digits than FLOAT has: compile with DOUBLE.")

    def _in_jax(self, arrays: dict[str, Any]) -> list[Any]:
        numpy, dtype = jax().numpy, self.precision.dtype
        if dtype == np.float64 and not jax().config.jax_enable_x64:
            raise FusedError("JAX's arrays are float32: call jax.config.update('jax_enable_x64', True) to use DOUBLE.")
        number = len(arrays["qpos"])
        inputs = [numpy.asarray(arrays[name], dtype) for name in self._inputs]
        rows = [
            numpy.asarray(arrays[name], dtype).reshape(number, self._numbers.own[name].size) for name in self.parameters
        ]
        inputs.append(numpy.concatenate(rows, axis=1) if rows else numpy.zeros((number, 1), dtype))
        # Warp knows no array without columns: one that nothing is read of or written to stands for it.
        inputs = [array if array.size else numpy.zeros((number, 1), dtype) for array in inputs]
        shapes = {name: (number, max(size, 1)) for name, size in self._outputs.items()}
        outputs = self._call(*inputs, output_dims=shapes, launch_dims=number)
        return [output[:, :size] for output, size in zip(outputs, self._outputs.values(), strict=True)]

    def _in_numpy(self, arrays: dict[str, Any]) -> list[Any]:
        wp, dtype = warp(), self.precision.dtype
        load_kernel(self._kernel, "cpu")
        number = len(arrays["qpos"])
        inputs = [arrays[name] for name in self._inputs]
        rows = [
            np.asarray(arrays[name], dtype).reshape(number, self._numbers.own[name].size) for name in self.parameters
        ]
        inputs.append(np.concatenate([np.zeros((number, 0), dtype), *rows], axis=1))
        inputs = [np.ascontiguousarray(array, dtype) for array in inputs]  # the program counts on rows without gaps
        outputs = [np.zeros((number, size), dtype) for size in self._outputs.values()]

        def launch(part: slice) -> None:
            views = [[wp.array(one[part], device="cpu", copy=False) for one in group] for group in (inputs, outputs)]
            wp.launch(self._kernel, dim=len(inputs[0][part]), inputs=views[0], outputs=views[1], device="cpu")

        threads = _threads()
        bounds = np.linspace(0, number, threads._max_workers + 1).astype(int)
        list(threads.map(launch, [slice(a, b) for a, b in itertools.pairwise(bounds) if a < b]))
        return outputs


@functools.cache
def _threads() -> ThreadPoolExecutor:
    """One thread per core that this process may use; they begin when there is work for them."""
    # macOS cannot bind a process to cores, and does not have the question.
    allowed = getattr(os, "sched_getaffinity", None)
    return ThreadPoolExecutor(len(allowed(0)) if allowed else os.cpu_count() or 1)


def _is_jax(array: Any) -> bool:
    return "jax" in sys.modules and isinstance(array, jax().Array)


def _kernel(numbers: Numbers, num_steps: int, kinds: tuple[Precision, Precision], watched: Sequence[Watched]) -> Any:
    """A kernel that advances worlds, one row each of every array.

    Its arguments: qpos, qvel, the last accelerations, controls and parameters, which are read; the first three after
    the time steps and heights of watched geoms, which are written. The kinds are the precisions of the arrays and of
    what is computed in between.
    """
    wp, model, (precision, inside) = warp(), numbers.model, kinds

    names = ("qpos", "qvel", "warm", "ctrl", "given", "q_out", "v_out", "w_out", "low")
    types = dict.fromkeys(names, wp.array2d(dtype=precision.warp))
    sizes = {"q": model.nq, "v": model.nv, "w": model.nv, "u": model.nu}
    told = num_watched(model, watched)
    text = numbers.pointers("given", precision.name) + f"R clearance[{max(told, 1)}];\n"
    for (name, size), source in zip(sizes.items(), names, strict=False):
        text += f"R {name}[{max(size, 1)}];\n" + read_row(size, name, source)
    text += from_nothing(model) + emit(model, num_steps, watched, numbers.given)
    for name in "qvw":
        text += write_row(sizes[name], f"{name}_out", name)
    text += write_row(told, "low", "clearance")
    return make_kernel(f"step_{precision.name}", prelude(inside) + text + epilogue(), types)
