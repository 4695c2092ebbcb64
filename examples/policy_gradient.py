"""Evolvability ES by policy gradients on the toy world, against ES, for equal episodes. Writes policy-gradient.png.

    python examples/policy_gradient.py

About two minutes. How noisy the gradients are was measured by `benchmarks/estimators.py`; this draws what it wrote, and
learns with both.
"""

import json
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

from evolvability import evolvability_es, make_task, max_variance, normal
from evolvability.core.objectives import raw_variance
from evolvability.core.strategy import start, step
from evolvability.figures.estimators import draw_learning, draw_quality
from evolvability.figures.style import letter, new_figure, paper_style
from evolvability.methods.policy_gradient import Exploration, Learner, action_score, parameter_score, policy_gradient_es
from evolvability.tasks.base import world_of

RESULTS = Path(__file__).parents[1] / "results" / "benchmarks"
SIGMA, EPISODES, GENERATIONS, SEEDS = 0.05, 64, 40, 8
TASK = make_task("point")
OPTIMIZER: dict[str, Any] = {"optimizer": optax.adam(0.03), "population_size": EPISODES, "l2": 0.005}
COLORS = {
    "ES": "black",
    "ES, actions with noise 0.3": "#D55E00",
    "policy gradient, noise 0.3": "#0072B2",
    "policy gradient, noise 0.3, four times": "#0072B2",
    "policy gradient, noise 0.1": "#CC79A7",
}


def es() -> Learner:
    strategy = evolvability_es(normal(SIGMA), max_variance(), **OPTIMIZER)
    return Learner(strategy.init, lambda state: step(strategy, TASK, state)[:2])


def by_score(action_std: float, times: tuple[int, ...] = (), estimator: Any = action_score) -> Learner:
    exploration = Exploration(world_of(TASK), normal(SIGMA), action_std, times)
    return policy_gradient_es(exploration, max_variance(), estimator=estimator, **OPTIMIZER)


def learn(learner: Learner) -> np.ndarray[Any, Any]:
    """(num_seeds, num_generations) the variance of the behaviors of mutations that act without noise."""

    def generation(state: Any, _: None) -> Any:
        state, _ = learner.step(state)
        members = normal(SIGMA).sample(jax.random.key(1), state.cloud, state.generation, jnp.arange(128))
        return state, raw_variance(TASK.evaluate(jax.random.key(2), members, ())[0])

    def run(key: Any) -> Any:
        return jax.lax.scan(generation, start(learner, TASK, 1, key), length=GENERATIONS)[1]

    return np.asarray(jax.jit(jax.vmap(run))(jax.random.split(jax.random.key(0), SEEDS)))


def main() -> None:
    learners = (
        es(),
        by_score(0.3, estimator=parameter_score),
        by_score(0.3),
        by_score(0.3, (25, 50, 75, 100)),
        by_score(0.1),
    )
    curves = {name: learn(learner) for name, learner in zip(COLORS, learners, strict=True)}
    toy, cheetah = (json.loads((RESULTS / f"estimators-{name}-cpu.json").read_text()) for name in ("point", "cheetah"))
    with paper_style():
        figure = new_figure(7.2, 3.3)
        axes = figure.subplots(1, 3)
        draw_quality(axes[0], toy["rows"], 0.3, "episodes_needed")
        draw_quality(axes[1], cheetah["rows"], 0.3, "noise")
        draw_learning(axes[2], curves, COLORS)
        axes[0].set_ylabel("episodes for signal = noise")
        axes[1].set_ylabel("trace of the covariance (m$^4$)")
        axes[2].set_ylabel("variance of mutations")
        titles = ("toy world, 386 parameters", "cheetah, 74,246 parameters", f"learning, {EPISODES} episodes each")
        for index, title in enumerate(titles):
            letter(axes[index], index, title)
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower left", title="(a), (b)")
        figure.legend(*axes[2].get_legend_handles_labels(), loc="outside lower right", title="(c) median and range")
        figure.savefig("policy-gradient.png", dpi=200)
    for name, values in curves.items():
        early, late = np.median(values[:, 9]), np.median(values[:, -1])
        print(f"{name:40s} variance after 10 generations {early:5.1f}, at the end {late:5.1f}")
    print("wrote policy-gradient.png")


if __name__ == "__main__":
    main()
