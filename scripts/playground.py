"""The documentation's playground, made from committed results; the documentation's build runs it first.

python scripts/playground.py docs/playground/live.html
"""

import sys
from pathlib import Path
from typing import Any

import jax
import numpy as np

from evolvability import Run
from evolvability.config.schema import Config, layered
from evolvability.explorer.page import playground_html
from evolvability.explorer.playground import make_tab, packed
from evolvability.tasks.options import InterferenceOptions
from evolvability.tasks.registry import make_task

RESULTS = Path(__file__).parents[1] / "results" / "paper-h200"
CLICK = "Click anywhere on the ground: forty fresh mutations of the center are tried, and the nearest walks there."
CHANGE = "\n\nThen change the world: break a motor, look how far the picked one gets, and pick again."
ABOUT = {
    "cheetah": "A robot that runs on a line, with 74,246 numbers for a brain. Evolvability ES has found a brain whose "
    "small random changes make it run left or right, far away. Click left, then click right.\n\nStandard ES's brain "
    "was trained to run right: move the slider, and see what the same changes do to it." + CHANGE,
    "ant": "A robot with four legs and 75,272 numbers for a brain. Small random changes of the brain that Evolvability "
    "ES has found send it in every direction: the ring that you see. Click a place on it.\n\nStandard ES's brain was "
    "trained to go right: move the slider, and see what the same changes do to it." + CHANGE,
    "waves": "The smallest example: a single number x, and a behavior f(x). A center's mutations differ most where the "
    "waves are highest, at x = 7.85.\n\nDrag sigma: with large steps the green landscape has one hill, and the center "
    "climbs it; with tiny steps every wave is a hill of its own, and the center is stuck on one. Click the picture to "
    "put the center elsewhere.",
    "evolve": "A point that is pushed about by a small network. Nothing is trained yet: press “evolve here”, and a few "
    "generations of Evolvability ES run before your eyes, in this page.\n\nThen click a place: mutations of what has "
    "just evolved go there.",
}


def robot_tab(title: str, task: str) -> dict[str, Any]:
    """A robot, with the centers of standard ES and of Evolvability ES."""
    runs = [Run(RESULTS / f"{task}-{objective}") for objective in ("mean_fitness", "max_entropy")]
    tab = make_tab(title, runs, about=ABOUT[task], hint=CLICK)
    tab["centers"][1]["name"] = "Evolvability ES"
    return tab


def settings_of(config: Config) -> dict[str, Any]:
    """How a toy evolves in the page."""
    kept = {"size": config.population_size, "rate": config.learning_rate, "l2": config.l2}
    kept |= {name: config.options[name] for name in ("sigma", "mirrored")}
    return kept | {name: getattr(config, name) for name in ("optimizer", "objective")}


def waves_tab() -> dict[str, Any]:
    """The interference pattern, which evolves while it is looked at."""
    settings = settings_of(layered("interference", values={"objective": "max_variance"}))
    more = {"start": InterferenceOptions().start, "key": [0, 1], "sigmas": [-6, 3.5], "about": ABOUT["waves"]}
    return {"kind": "waves", "title": "Interference", "settings": settings, "hint": "", **more}


def evolve_tab() -> dict[str, Any]:
    """The point world, which evolves on demand."""
    config, task = layered("point"), make_task("point")
    center = np.asarray(task.init(jax.random.key(0)), np.float32)
    population = {"kind": "normal", "format": "float32", "key": [0, 0], "generation": 0, "components": 1, "rank": 1}
    sigma = config.population_options.sigma
    population |= {"scale": packed(np.array([sigma], np.float32)), "size": len(center), "shapes": task.shapes}
    assert task.stage is not None
    setup = {"task": "point", "shapes": task.shapes, "num_steps": 100, "time_step": task.stage.time_step}
    start = {"name": "untrained", "center": packed(center), "population": population, "sigma": sigma}
    start |= {"mean": [], "std": [], "cloud": packed(np.zeros(0, np.float32))}
    shown = {"kind": "evolve", "title": "Evolve here", "behavior": list(task.behavior), "reach": 2.0, "moves": True}
    texts = {"about": ABOUT["evolve"], "hint": "Press “evolve here”, then click a place."}
    return {**shown, **texts, "setup": setup, "centers": [start], "settings": settings_of(config)}


def page() -> str:
    """The playground as HTML."""
    tabs = [robot_tab("Cheetah", "cheetah"), robot_tab("Ant", "ant"), waves_tab(), evolve_tab()]
    return playground_html({"title": "Evolvability ES playground", "tabs": tabs})


if __name__ == "__main__":
    output = Path(sys.argv[1])
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(page())
