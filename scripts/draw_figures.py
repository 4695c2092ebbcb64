"""The documentation's figures, made from results/ and from the code: `make figures`.

    python scripts/draw_figures.py [NAME ...]

The same results give the same bytes, so that a figure that has not changed shows no difference. Screenshots of the
explorer, videos, and pictures of toy runs, which the pages themselves tell how to make, are not among them.
"""

import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from matplotlib.figure import Figure

from evolvability import Run, evolve, function_task
from evolvability.figures import comparison, curves, episodes, graphs
from evolvability.figures.bands import Line, Lines, add_legend, draw_lines
from evolvability.figures.registry import FIGURES, save_figure
from evolvability.figures.style import LINE_STYLES, OTHER_COLORS, PAGE_WIDTH, draw_histogram, new_figure
from evolvability.studies.comparison import compare_runs
from evolvability.studies.groups import method_name
from evolvability_paper import graphs as paper_graphs
from evolvability_paper.claims.training import WALKS
from evolvability_paper.pictures import PICTURES
from evolvability_paper.report import finished

ROOT = Path(__file__).parents[1]
ASSETS, RESULTS = ROOT / "docs" / "assets", ROOT / "results"
EES = ("mean_fitness", "max_variance", "max_entropy")
SETTINGS = {"text": "(a) settings of the paper's text", "released": "(b) settings of the published program"}
FATES = {True: (f"{WALKS:g} m or more", "#56B4E9"), False: (f"less than {WALKS:g} m", "#A02020")}
VARIANCE = {
    "z'": (0, 2), "B'": (1.8, 2), "E_z'": (3.9, 2), "z": (1.8, 0), "B": (3.9, 0), "square": (5.9, 1), "E_z": (8.2, 1),
    "theta": (5.9, 3),
}  # fmt: skip
"""Where the nodes of the nested variance are, which is not in the paper."""

FROM_RUNS: dict[str, tuple[str, tuple[str, ...]]] = {
    "ant-final.png": ("final", tuple(f"paper-h200/ant-{name}" for name in EES)),
    "ant-distance.png": ("distance", tuple(f"paper-h200/ant-{name}" for name in EES)),
    "ant-seeds.png": ("seeds", tuple(f"paper-bodies-h200/released/runs/ant/{name}_*" for name in EES)),
    "ant-falls.png": (
        "falls",
        tuple(f"paper-bodies-h200/{folder}/runs/ant/{name}_*" for folder in SETTINGS for name in EES[1:]),
    ),
    "cheetah-bands.png": ("2", ("paper-bodies-h200/released/runs/cheetah/*",)),
    "cheetah-distance.png": (
        "settings",
        tuple(f"paper-bodies-h200/{folder}/runs/cheetah/{name}_*" for folder in SETTINGS for name in EES),
    ),
    "cheetah-settings.png": (
        "compare",
        tuple(
            f"paper-bodies-h200/{name}_seeds-[0-4]-?"  # 0 to 5: there are no more of each setting
            for name in (
                "text/runs/cheetah/mean_fitness",
                "text/runs/cheetah/max_variance",
                "text/why/cheetah/paper-whole-ranked",
                "released/runs/cheetah/mean_fitness",
                "text/why/cheetah/paper-whole-standardized-l2",
                "released/runs/cheetah/max_variance",
            )
        ),
    ),
    "adaptation-cheetah.png": ("best of k", ("paper-bodies-h200/released/runs/cheetah/*",)),
    "evolution-ant.png": ("6", ("paper-bodies-h200/released/runs/ant/*",)),
    "race-cheetah.png": (
        "race",
        (
            *(f"paper-bodies-h200/released/runs/cheetah/{name}_*" for name in EES[1:]),
            "paper-bodies-h200/text/runs/cheetah/maml",  # MAML has none of the program's settings
        ),
    ),
}
"""By file: which figure of `ees figure`, of OWN or, by its number, of the paper, and the runs that it shows."""
VARIANTS = {
    "low-rank-cheetah.png": {"full rank": "fixed", "rank 4": "rank-4", "rank 1": "rank-1"},
    "natural-cheetah.png": {
        "fixed sigma": "fixed",
        "learned": "learned",
        "learned, natural gradient": "learned-natural-gradient",
        "learned, natural ascent": "learned-natural-ascent",
    },
}
"""By file: ways to mutate, each with its run in results/mutations-h200."""
COLORS = ("#404040", *OTHER_COLORS[1:3], OTHER_COLORS[0])  # none of a method's: all of them are MaxEnt


def main(names: list[str]) -> None:
    """Draw all figures, or those that are named, into docs/assets."""
    every = {name: _of_runs(*what) for name, what in FROM_RUNS.items()} | _graphs()
    every |= {name: partial(_variants, what) for name, what in VARIANTS.items()} | {"episodes-toy.png": _luck}
    for name in names or every:
        save_figure(every[name], ASSETS / name)
        print(ASSETS / name)


def _of_runs(figure: str, patterns: tuple[str, ...]) -> Callable[[], Figure]:
    def draw() -> Figure:
        # Several patterns in their order: it is that of the legend.
        runs = [Run(path) for pattern in patterns for path in sorted(RESULTS.glob(pattern)) if path.is_dir()]
        if figure in OWN:
            return OWN[figure](runs)
        return PICTURES[figure].draw(finished(runs)) if figure in PICTURES else FIGURES[figure](runs)

    return draw


def _compared(runs: list[Run]) -> Figure:
    """The last distance of every seed, a column per settings, which are named as the pages do."""
    drawing = comparison.figure(compare_runs(runs, "distance"))
    ax = drawing.axes[0]
    ax.set_ylim(bottom=0)  # shares of it are spoken of
    names = [label.get_text() for label in ax.get_xticklabels()]
    for option, word in {"standardize": "standardized", "centered_ranks": "ranked"}.items():
        names = [name.replace(f"behavior shaping\n{option}", word) for name in names]
    assert not any("behavior" in name for name in names), names
    ax.set_xticks(ax.get_xticks(), [name.replace("l2 ", "L2 ") for name in names])
    return drawing


def _by_settings(runs: list[Run]) -> Figure:
    """Mean distance over generations, a panel per settings."""
    drawing = new_figure(PAGE_WIDTH, 2.9)
    for ax, (folder, title) in zip(drawing.subplots(1, 2, sharey=True), SETTINGS.items(), strict=True):
        own = [run for run in runs if folder in run.path.parts]
        data = curves.data_from_runs(own)
        curves.draw(ax, data, "distance")
        number = len({seed for run in own for seed in run.seeds})
        ax.set_title(f"{title}, {number} seeds", loc="left")
    highest = max(ax.dataLim.y1 for ax in drawing.axes)  # of both: each panel alone would clip the other's bands
    drawing.axes[0].set(ylabel="mean distance from origin (m)", ylim=(0, 1.03 * highest))
    add_legend(drawing, "line: median over seeds; band: interquartile range")
    return drawing


def _falls(runs: list[Run]) -> Figure:
    """How long episodes last over generations: a line per seed, in the color of whether its ants walk at the end."""
    drawing = new_figure(PAGE_WIDTH, 2.7)
    panels = [(folder, objective) for folder in SETTINGS for objective in EES[1:]]
    for ax, (folder, objective) in zip(drawing.subplots(1, len(panels), sharey=True), panels, strict=True):
        own = [run for run in runs if folder in run.path.parts and run.config.objective == objective]
        for run in own:
            for steps, distance in zip(run.metrics["num_steps"], run.metrics["distance"], strict=True):
                name, color = FATES[bool(distance[-1] >= WALKS)]
                ax.plot(steps / run.config.population_size, label=name, color=color, linewidth=0.9)
        ax.plot(20, 400, "+", color="black", markersize=8, label="generation 20, 400 steps")
        where = SETTINGS[folder].rpartition(" ")[2]
        ax.set_title(f"{method_name(objective).removesuffix('-EES')}, {where}", loc="left")
        ax.set(xlabel="generation", ylim=(0, 1030))
    drawing.axes[0].set_ylabel("mean steps of an episode")
    add_legend(drawing, "a line per seed, by the mean distance at the last generation")
    return drawing


def _variants(names: dict[str, str]) -> Figure:
    """Entropy over generations, and where the mutations of all seeds end."""
    runs = {name: Run(RESULTS / "mutations-h200" / f"cheetah-{folder}") for name, folder in names.items()}
    looks = [{"color": color, "linestyle": dashes} for color, dashes in zip(COLORS, LINE_STYLES, strict=True)]
    lines = [
        Line(name, "max_entropy", np.arange(own.shape[1]), own, look)
        for (name, run), look in zip(runs.items(), looks, strict=False)
        for own in [run.metrics["entropy"]]
    ]
    data = Lines({"entropy": lines})
    drawing = new_figure(PAGE_WIDTH, 0.9 + 0.55 * len(runs))
    left, *right = drawing.subplot_mosaic([["curve", name] for name in runs], width_ratios=(1, 1.1)).values()
    draw_lines(left, data, "entropy")
    left.set(xlabel="generation", ylabel="entropy of behavior (nats)", xlim=(0, None), ylim=(2, None))
    clouds = [run.behaviors()["behavior"][run.behaviors()["valid"]] for run in runs.values()]  # of all seeds
    low, high = np.percentile(np.concatenate(clouds), [0.05, 99.95])
    edges = np.linspace(float(low), float(high), 61)
    for ax, cloud, name, look in zip(right, clouds, runs, looks, strict=False):
        draw_histogram(ax, np.histogram(cloud, edges)[0] / len(cloud), edges, look["color"])
        ax.set_title(name, loc="left", fontsize=7)
        ax.tick_params(labelbottom=ax is right[-1])
    right[-1].set_xlabel(next(iter(runs.values())).behavior_names[0])
    add_legend(drawing, f"{data.note}; histograms: last generation of all seeds", columns=len(runs))
    return drawing


def _luck() -> Figure:
    """Luck and skill in a toy world, trained as docs/dependable.md does: half a minute, from no result."""

    def toy(x: jax.Array, key: jax.Array) -> jax.Array:
        return 5 * jnp.sin(x / 5) * jnp.sin(20 * x) + 6 * jnp.exp(-((x - 3) ** 2) / 2) * jax.random.normal(key)

    task = function_task(toy, start=jnp.ones(1), takes_key=True)
    settings: dict[str, Any] = {"episodes": 4, "population_size": 250, "generations": 120, "sigma": 0.5}
    settings |= {"learning_rate": 0.1, "l2": 0.0, "progress": False}
    with tempfile.TemporaryDirectory() as folder:
        paths = {name: Path(folder) / name for name in ("max_variance", "max_covariance")}
        for name, path in paths.items():
            evolve(task, objective=name, output=path, **settings)
        return episodes.figure([Run(path) for path in paths.values()])


OWN = {"compare": _compared, "settings": _by_settings, "falls": _falls}
"""Figures of these pages alone, by name."""


def _graphs() -> dict[str, Callable[[], Figure]]:
    """The paper's five graphs where the paper places their nodes, and the nested variance in the same way."""

    def drawing(name: str, positions: Any) -> Callable[[], Figure]:
        return lambda: graphs.figure(getattr(paper_graphs, name)(), positions)

    places = {**paper_graphs.POSITIONS, "variance_graph": VARIANCE}
    return {f"graph-{_slug(name)}.svg": drawing(name, positions) for name, positions in places.items()}


def _slug(name: str) -> str:
    return name.removesuffix("_graph").replace("_", "-")


if __name__ == "__main__":
    main(sys.argv[1:])
