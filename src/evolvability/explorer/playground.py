"""The playground: a page that simulates. It holds centers, networks and physics, and needs no server.

A robot's episodes are compiled to WebAssembly from the same text that its CPU engine is made of, in double precision;
mutations are drawn from the same counters as in the library. So a mutation's number names the same network and the same
way on the ground in the page and in Python, to the bit, also after somebody has changed the friction, pushed the robot
or broken a motor: these are inputs of the program.
"""

import base64
import gzip
import importlib.util
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import numpy as np

from evolvability.core.errors import ConfigError, install_line
from evolvability.explorer import data
from evolvability.explorer.page import playground_html
from evolvability.explorer.shapes import robot_reach, robot_table
from evolvability.runs.files import write_output
from evolvability.runs.folder import Run
from evolvability.runs.picking import Parent
from evolvability.studies.groups import method_name
from evolvability.studies.rebuild import parent_of
from evolvability.tasks.base import Task
from evolvability.tasks.circumstances import Circumstances, circumstances_in, rubs_by_pairs
from evolvability.tasks.normalizer import Moments, scaling
from evolvability.tasks.options import EpisodeOptions, NetworkOptions
from evolvability.tasks.replay import HostArray

WORLDS = ("point", "maze", "navigation", "interference")
CLICK = "Click anywhere on the ground: fresh mutations of the center are tried, and the nearest goes there."
CHANGE = " Then change the world, and see which of them still go where they went."
MOST_BYTES = 2_000_000  # of centers, or they are kept as 16-bit numbers
SHOWN_MEMBERS = 1500  # of a recorded population
MAX = float(np.finfo(np.float32).max)
CHANGED = ("friction", "gear")  # parameters of the physics that are inputs of a page's program, sorted


def export_playground(run: Run, output: Path) -> Path:
    """Write a page that simulates mutations of a run's last center."""
    if output.suffix.lower() not in (".html", ".htm"):
        raise ConfigError(f"The page's file must end in .html, got '{output}'.")
    name = run.path.resolve().name
    about = f"The run {name}: {run.config.task_title}, generation {run.rebuildable[-1] if run.rebuildable else 0}."
    more = CHANGE if _is_robot(run) else ""
    tab = make_tab(run.config.task_title, [run], about=f"{about}{left_out(run)}\n\n{CLICK}{more}")
    write_output(output, playground_html({"title": f"{name} · Evolvability ES", "tabs": [tab]}).encode())
    return output


def left_out(run: Run) -> str:
    """What differed between the episodes of training, and does not in a page; empty where that is nothing."""
    options = run.config.task_options
    own = circumstances_in(options) if isinstance(options, Circumstances) else {}
    names = [name.replace("_", " ") for name, value in own.items() if value and name != "start_noise"]
    return f" In training episodes differed in more than here: {', '.join(names)}." if names else ""


def why_not(run: Run) -> str:
    """Why a run's mutations cannot be simulated in a page; empty where they can."""
    if not _is_robot(run) and run.config.task not in WORLDS:
        return f"task '{run.config.task}' cannot be simulated in a page (robots and {', '.join(WORLDS)} can)"
    if _is_robot(run) and importlib.util.find_spec("warp") is None:
        return f"robots are compiled with warp-lang, which is not installed; install it with: {install_line('warp')}"
    options = run.config.task_options
    if isinstance(options, NetworkOptions):
        if _is_robot(run) and options.policy not in ("mlp", "gru"):
            return "its network is your own; pages simulate mlp and gru"
        if not _is_robot(run) and (options.policy, options.activation) != ("mlp", "tanh"):
            return "its network is not an mlp with tanh, the only one of worlds that pages simulate"
    if not run.rebuildable:
        return "no center of this run was kept"
    if run.dimensions:
        return "it is reduced to some of its behavior dimensions"
    stage = read_task(run).stage
    return _not_compiled(stage and stage.robot)


def _is_robot(run: Run) -> bool:
    return isinstance(run.config.task_options, EpisodeOptions)


def _not_compiled(robot: Any) -> str:
    """Why a robot is not compiled; empty where it is, or where there is none."""
    if robot is None:
        return ""
    # Here, not above: toy worlds are simulated without MuJoCo too.
    from evolvability.tasks.robots.locomotion import obstacles

    found = obstacles(robot)
    return f"a page simulates robots that are compiled, and the {robot.name} is not. {found[0]}" if found else ""


def make_tab(title: str, runs: Sequence[Run], **more: Any) -> dict[str, Any]:
    """What the page gets of runs of one task: their centers, and what it takes to simulate them."""
    first = runs[0]
    for run in runs:
        if reason := why_not(run):
            raise ConfigError(f"{run.path}: {reason}.")
    parents = [parent_of(run, read_task(run), run.rebuildable[-1]) for run in runs]
    task = parents[0].task
    robot: Any = task.stage and task.stage.robot
    seen = [data.reach(run) for run in runs if run.recorded] or [10.0]
    half = sum(parent.parameters.center.nbytes for parent in parents) > MOST_BYTES
    return {
        "title": title,
        "task": first.config.task,
        "behavior": list(task.behavior),
        "reach": max(*seen, robot_reach(robot.model) if robot else 0.0),
        "moves": task.stage is not None,
        "robot": robot and robot_table(robot.model, robot.start),
        "setup": _setup(first, task),
        "centers": [_center(run, parent, half) for run, parent in zip(runs, parents, strict=True)],
        **more,
    }


def read_task(run: Run) -> Task:
    """A run's task, to read it alone: native MuJoCo is there at once, and a compiled engine is not."""
    options: Any = run.config.task_options
    return run.make_task(replace(options, engine="mujoco") if hasattr(options, "engine") else options)


def _setup(run: Run, task: Task) -> dict[str, Any]:
    """What an episode takes, beside a network."""
    options: Any = run.config.task_options
    shared = {"task": task.name, "shapes": task.shapes, "num_steps": getattr(options, "num_steps", 1)}
    shared["time_step"] = task.stage.time_step if task.stage else 1.0
    robot: Any = task.stage and task.stage.robot
    if robot is None:
        return shared
    from mujoco_fused import DOUBLE, to_webassembly

    from evolvability.tasks.engines.episodes import ARGUMENTS, Given, episode_text
    from evolvability.tasks.engines.network_text import network_text

    assert task.network is not None
    text = episode_text(robot, network_text(task.network, DOUBLE), DOUBLE, Given(velocities=True, parameters=CHANGED))
    program = to_webassembly(text, {**ARGUMENTS, "tid": "int"})
    return shared | {
        "program": {"code": packed(np.frombuffer(program.module, np.uint8)), "free": program.free},
        "size": sum(map(math.prod, task.shapes)),
        "observations": robot.num_observations,
        "behaviors": len(robot.behavior),
        "positions": robot.model.nq,
        "velocities": robot.model.nv,
        "pushes": list(robot.ground),
        "touches": bool(robot.floors or robot.links) and not rubs_by_pairs(robot.model),
        **{name: robot.parameters[name].tolist() for name in CHANGED},
        "joints": list(robot.joints),
        "range": None if robot.start_range is None else np.clip(robot.start_range, -MAX, MAX).tolist(),
        "followed": robot.followed,
        "start": robot.start.astype(np.float32).tolist(),
        "noise": options.start_noise,
        "early_termination": options.early_termination,
    }


def _center(run: Run, parent: Parent, half: bool) -> dict[str, Any]:
    """One run's center, how it is mutated, and what the mutations of its last population did."""
    config, population = parent.config, parent.drawn_by()
    center = np.asarray(parent.parameters.center, np.float32)
    is_short = half or bool((center.astype(np.float16) == center).all())  # a slim export's has 16 bits already
    scales = np.asarray(population.scale(parent.parameters, parent.generation), np.float32)
    mean, std = scaling(jax.tree.map(np.asarray, parent.memory)) if isinstance(parent.memory, Moments) else ((), ())
    cloud = data.cloud(run, run.recorded[-1], 0, SHOWN_MEMBERS)["behavior"] if run.recorded else np.zeros((0, 1))
    return {
        "name": method_name(config.objective),
        "center": packed(center.astype(np.float16) if is_short else center),
        "population": {
            "kind": population.name,
            "key": np.asarray(jax.random.key_data(parent.key)).tolist(),
            "generation": parent.generation,
            "components": population.num_components,
            "scale": packed(scales),
            "size": center.shape[1],
            "short": config.options.get("noise_dtype") == "bfloat16",
            "shapes": parent.task.shapes,
            "rank": config.options.get("rank", 1),
        },
        "sigma": float(parent.sigma),
        "mean": np.asarray(mean, np.float32).tolist(),
        "std": np.asarray(std, np.float32).tolist(),
        "cloud": packed(cloud.astype(np.float32)),
    }


def packed(array: HostArray) -> dict[str, Any]:
    """An array for the page: its type, and its compressed bytes as text."""
    # Without the time: the same file every time.
    content = gzip.compress(np.ascontiguousarray(array).tobytes(), mtime=0)
    return {"type": array.dtype.name, "bytes": base64.b64encode(content).decode()}
