"""What the explorer's page shows of a run, as plain arrays and tables: from run folders, without a simulator."""

import warnings
from typing import Any

import numpy as np

from evolvability.config.schema import to_table
from evolvability.core.errors import RunFolderError
from evolvability.runs.folder import Run, spread_out
from evolvability.studies.groups import method_name
from evolvability.tasks.replay import HostArray

Arrays = dict[str, HostArray]

NUM_BINS = 96
MAX_COLUMNS = 240  # generations in the picture of a run's history: more would be finer than the screen
MAX_NUMBERS = 400_000  # in a cloud: of more members some are shown, as a page would stop over them all
MAX_CURVE_POINTS = 1000


def overview(run: Run, name: str, behavior: list[str]) -> dict[str, Any]:
    """A run in a table for the page: what it is, how far it has come, and what can be looked at."""
    recorded = run.recorded
    if not recorded:
        raise RunFolderError(f"{run.path} has no recorded behaviors yet. Wait for its first generation.")
    config = run.config
    return {
        "name": name,
        "task": config.task,
        "method": method_name(config.objective),
        "behavior": behavior,
        "population_size": config.population_size,
        "generations": config.generations,
        "seeds": list(run.seeds),
        "recorded": recorded,
        "rebuildable": run.rebuildable,
        "done": run.is_complete,
        "trained_on": trained_on(run),
        "reach": reach(run),
        "ranges": ranges(run),
        "config": {key: value for key, value in to_table(config).items() if value not in ("", {})},
        "environment": environment(run),
    }


def environment(run: Run) -> dict[str, Any]:
    """What made a run, or what is damaged of that."""
    try:
        return run.environment
    except RunFolderError as error:
        warnings.warn(str(error), stacklevel=2)
        return {"damaged": str(error)}


def num_behaviors(run: Run) -> int:
    """The number of behavior dimensions."""
    return int(run.behaviors(run.recorded[0] if run.recorded else None)["behavior"].shape[2])


def trained_on(run: Run) -> str:
    """The engine that stepped a run's physics; empty for tasks without."""
    engine = str(getattr(run.config.task_options, "engine", ""))
    if engine != "auto":
        return engine
    table = environment(run)
    if "damaged" in table:
        return "an unknown engine (environment.json is damaged)"
    packages, devices = table.get("packages") or {}, table.get("devices") or ()
    on_cpu = all(str(device).startswith("cpu") for device in devices)
    if "mujoco-mjx" in packages:  # a run of a version whose engine on accelerators that was
        return "mujoco" if on_cpu else "mjx"
    # Rounded otherwise than on the CPU, where members are watched.
    return "mujoco" if "warp-lang" not in packages else "fused" if on_cpu else "fused on a GPU"


def reach(run: Run) -> float:
    """How far from the origin nearly all behaviors lie, in any of a few generations."""
    distances = [np.linalg.norm(behavior[:, :2], axis=1) for behavior in _glimpses(run)]
    return max((float(np.quantile(one, 0.995)) for one in distances if len(one)), default=0.0) or 1.0


def ranges(run: Run) -> list[list[float]]:
    """Between which two values nearly all behaviors of each dimension lie, in any of a few generations."""
    found = [np.quantile(behavior, [0.005, 0.995], axis=0) for behavior in _glimpses(run) if len(behavior)]
    if not found:
        return [[-1.0, 1.0]] * num_behaviors(run)
    lows, highs = np.min(found, axis=0)[0], np.max(found, axis=0)[1]
    return [[float(low), float(high)] for low, high in zip(lows, highs, strict=True)]


def _glimpses(run: Run) -> list[HostArray]:
    """The valid members' behaviors in a few generations."""
    found = [run.behaviors(generation) for generation in spread_out(run.recorded, 5)]
    return [arrays["behavior"][arrays["valid"]] for arrays in found]


def cloud(run: Run, generation: int, seed_index: int, most: int | None = None) -> Arrays:
    """One generation's valid members: ``index``, ``behavior``, ``fitness`` and ``component``; at most so many.

    ``members`` (1,) says how many there are. Where members have several, ``episodes`` is what each did in every one.
    """
    arrays = run.behaviors(generation)
    if not 0 <= seed_index < len(arrays["valid"]):
        raise RunFolderError(f"{run.path} has {len(arrays['valid'])} seeds, numbered from 0 here, got {seed_index}.")
    index = np.flatnonzero(arrays["valid"][seed_index])
    number = len(index)
    widest = arrays.get("episodes", arrays["behavior"])
    most = min(number if most is None else most, max(1, MAX_NUMBERS // int(np.prod(widest.shape[2:]))))
    if number > most:
        # Evenly, not at random: the same members are shown every time.
        index = index[np.linspace(0, number - 1, most).astype(int)]
    # The page reads these types alone.
    types = {"behavior": np.float32, "fitness": np.float32, "component": np.uint32, "episodes": np.float32}
    shown = {name: arrays[name][seed_index, index].astype(kind) for name, kind in types.items() if name in arrays}
    return {"members": np.array([number], np.uint32), "index": index.astype(np.uint32), **shown}


def history(run: Run, seed_index: int, farthest: float) -> Arrays:
    """The distribution of behavior over generations: of one dimension itself, else the first two's distance from 0.

    Returns:
        ``generation`` (num_columns,) and ``share`` (num_columns, num_bins) of the valid members, over bins from
        -farthest to farthest, or from 0 in the case of distances; what lies beyond is in the outermost ones.
    """
    one = num_behaviors(run) == 1
    edges = np.linspace(-farthest if one else 0.0, farthest, NUM_BINS + 1)
    generations = spread_out(run.recorded, MAX_COLUMNS)
    shares = []
    for generation in generations:
        behavior = cloud(run, generation, seed_index)["behavior"]
        along = behavior[:, 0] if one else np.linalg.norm(behavior[:, :2], axis=1)
        counts, _ = np.histogram(np.clip(along, edges[0], edges[-1]), edges)
        shares.append(counts / max(len(behavior), 1))
    return {"generation": np.array(generations, np.uint32), "share": np.array(shares, np.float32)}


def curves(run: Run) -> Arrays:
    """Every metric, (num_seeds, num_points) each over ``generation``; long ones thinned out."""
    metrics = run.metrics
    if not metrics:
        return {"generation": np.zeros(0, np.uint32)}
    every = -(-metrics["generation"].shape[1] // MAX_CURVE_POINTS)
    thin = {name: values[:, ::every] for name, values in metrics.items() if values.ndim == 2}
    generation = thin.pop("generation")[0].astype(np.uint32)
    shown = {name: values.astype(np.float32) for name, values in thin.items() if np.isfinite(values).any()}
    return {"generation": generation, **shown}
