"""Where the time of one outer step of MAML goes.

Every part is a compiled program of its own; "whole" is the step as runs do it, in one program. "product" is one product
with the curvature, of which conjugate gradients take as many as they have iterations, "exact" the same in full
precision, and "evaluate" one length of the line search.

    python benchmarks/maml.py --task cheetah --steps 1000 --seeds 3 --output maml.json
"""

import argparse
import json
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

from evolvability.config.schema import layered
from evolvability.methods.maml import maml
from evolvability.methods.meta_gradient import adapt, for_tasks, outer_problem
from evolvability.methods.rollouts import Actor, Batch, roll_out
from evolvability.tasks.base import world_of
from evolvability.tasks.registry import make_task

PARTS = ("before", "adapt", "after", "gradient", "product", "evaluate")


def main() -> None:
    options = _arguments()
    row = measure(options)
    print(_line(row), flush=True)
    if options.output:
        report = {"device": jax.devices()[0].device_kind, "options": vars(options) | {"output": None}, "row": row}
        options.output.write_text(json.dumps(report, indent=1) + "\n")


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Seconds of every part of one outer step, of all seeds together."""
    task_options: dict[str, Any] = {"num_steps": options.steps}
    if options.task != "navigation":
        task_options |= {"engine": "fused"}
    sizes = {"tasks": options.tasks, "episodes_per_task": options.episodes}
    config = layered(options.task, objective="maml", values={"objective_options": sizes, "task_options": task_options})
    task = make_task(options.task, config.task_options)
    world = world_of(task)
    own = config.objective_options
    meta = maml(world, own)
    inner = partial(adapt, world.networks, rate=own.inner_rate, discount=own.discount)
    keys = jax.vmap(jax.random.key)(jnp.arange(options.seeds))
    states = jax.vmap(lambda key: meta.init(key, task.init(key)[None], task.memory))(keys)
    goals = jax.vmap(lambda key: world.goals.draw(key, options.tasks))(keys)
    actors = Actor(states.parameters.center[:, 0], states.log_std)
    same = jax.tree.map(lambda leaf: jnp.repeat(leaf[:, None], options.tasks, axis=1), actors)

    def episodes(key: jax.Array, actors: Actor, goals: jax.Array) -> Batch:
        return roll_out(world, key, actors, goals, task.memory, options.episodes, config.objective_options.discount)[0]

    def adapted(actor: Actor, before: Batch) -> Actor:
        return for_tasks(partial(inner, actor), before)

    def part(name: str, actor: Actor, before: Batch, after: Batch) -> Any:
        with jax.default_matmul_precision("highest"):
            outer, exact = (
                outer_problem(world.networks, actor, before, after, inner, curvature_precision=precision)
                for precision in ("tensorfloat32", "highest")
            )
            parts: dict[str, Callable[[], Any]] = {
                "gradient": lambda: outer.gradient,
                "product": lambda: outer.curvature(outer.position),
                "exact": lambda: exact.curvature(outer.position),
                "evaluate": lambda: outer.evaluate(1.001 * outer.position),
            }
            return parts[name]()

    timed = partial(_seconds, options.repeats)
    row: dict[str, Any] = {"control_steps": 2 * options.seeds * options.tasks * options.episodes * options.steps}
    run_episodes = jax.jit(jax.vmap(episodes))
    row["before"], before = timed(run_episodes, keys, same, goals)
    row["adapt"], own = timed(jax.jit(jax.vmap(adapted)), actors, before)
    row["after"], after = timed(run_episodes, keys, own, goals)
    for name in ("gradient", "product", "exact", "evaluate"):
        row[name], _ = timed(jax.jit(jax.vmap(partial(part, name))), actors, before, after)
    row["whole"], _ = timed(jax.jit(jax.vmap(meta.step)), states)
    products, lengths = config.objective_options.iterations, 1
    row["sum"] = sum(row[name] * {"product": products, "evaluate": lengths}.get(name, 1) for name in PARTS)
    row["control_steps_per_second"] = row["control_steps"] / row["whole"]
    statistics = jax.devices()[0].memory_stats()
    row["peak_gigabytes"] = round(statistics["peak_bytes_in_use"] / 1e9, 2) if statistics else None
    return row


def _seconds(repeats: int, function: Callable[..., Any], *arguments: Any) -> tuple[float, Any]:
    """The fastest of several calls after the one that compiles."""
    result = jax.block_until_ready(function(*arguments))
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        result = jax.block_until_ready(function(*arguments))
        times.append(time.perf_counter() - began)
    return min(times), result


def _line(row: dict[str, Any]) -> str:
    parts = "  ".join(f"{part} {row[part]:.3f}" for part in PARTS)
    return (
        f"{parts}  sum (10 products, 1 length) {row['sum']:.3f}  whole {row['whole']:.3f} s, "
        f"{row['control_steps_per_second'] / 1e3:,.0f} k control steps/s, peak {row['peak_gigabytes']} GB"
    )


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--task", default="cheetah", choices=["cheetah", "ant", "navigation"])
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--tasks", type=int, default=40)
    parser.add_argument("--episodes", type=int, default=10)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--output", type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    main()
