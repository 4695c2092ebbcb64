"""Every figure of the paper, drawn from run folders that are found by their configurations."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from matplotlib.figure import Figure

from evolvability import Run, RunFolderError
from evolvability.figures import adaptation, behaviors, components, curves, evolution, graphs, interference, offspring
from evolvability.methods.registry import MAML
from evolvability.studies.offspring import kept_offspring
from evolvability.theory import Deterministic, Expectation, Input, NestedGraph, Normal, Stochastic
from evolvability_paper import graphs as paper_graphs
from evolvability_paper.claims.claim import EVOLVABILITY, evolved_from, species, trained_by
from evolvability_paper.claims.uses import QUARTER

Runs = Sequence[Run]


class Picture(NamedTuple):
    """A figure's caption, and how it is drawn from all runs there are; an error says which runs are missing."""

    caption: str
    """The caption in the report."""
    draw: Callable[[Runs], Figure]
    """From all runs to a figure; an error says which runs are missing."""


def _trained(runs: Runs, task: str, objectives: Sequence[str] = ("mean_fitness", *EVOLVABILITY)) -> list[Run]:
    """The runs of some methods, as far as there are any; an error if there are none."""
    found: list[Run] = []
    missing = []  # one method less is still a figure
    for objective in objectives:
        try:
            found += trained_by(runs, task, objective).runs
        except RunFolderError as error:
            missing.append(error)
    if not found:
        raise missing[0]
    return found


def _further(runs: Runs) -> list[Run]:
    return [run for start in (*EVOLVABILITY, None) for run in evolved_from(runs, "ant", start).runs]


def _species(runs: Runs, objective: str) -> Figure:
    """One component, a mixture from scratch, and a split population."""
    kinds = [species(runs, "ant", objective, split=split) for split in (False, True)]
    return components.figure([run for group in (trained_by(runs, "ant", objective), *kinds) for run in group.runs])


def _offspring(runs: Runs, share: float) -> Figure:
    """One row per method, by mutations of training's size; MAML's of a share of that."""
    trained, shares = _trained(runs, "cheetah", (*EVOLVABILITY, MAML)), dict.fromkeys(EVOLVABILITY, 1.0) | {MAML: share}
    for run in trained:  # where they were not kept, an error says how to make them
        kept_offspring(run, shares[run.config.objective] * run.config.population_options.sigma)
    return offspring.figure(trained, lambda row: row.share == shares[row.objective])


def _one_expectation() -> NestedGraph:
    """Any function of what depends on a sample, and the expectation over that sample, which has inputs of its own."""
    return NestedGraph(
        (
            Input("xi_1", label=r"\xi_1"),
            Input("xi_m", label=r"\xi_m"),
            Stochastic("z"),
            Deterministic("y_1", ("z",), paper_graphs.identity, label="y_1"),
            Deterministic("y_l", ("z",), paper_graphs.square, label="y_l"),
            Deterministic("f", ("y_1", "y_l"), lambda first, last: first + last),
            Expectation("E_z", over="z", integrand="f", given=("xi_1", "xi_m"), distribution=Normal),
        )
    )


ONE_EXPECTATION: graphs.Positions = {
    "z": (3, 0), "y_1": (1.5, 1.5), "y_l": (4.5, 1.5), "xi_1": (0, 5.3), "xi_m": (0, 3.7), "f": (3, 3), "E_z": (3, 4.5),
}  # fmt: skip


def _graph(name: str) -> Callable[[Runs], Figure]:
    """One of the paper's graphs, by the name of the function that makes it; no runs are needed."""

    def draw(runs: Runs) -> Figure:
        own = name == "one_expectation"  # the only one that nothing but its figure needs
        graph = _one_expectation() if own else getattr(paper_graphs, name)()
        positions = ONE_EXPECTATION if own else paper_graphs.POSITIONS[name]
        return graphs.figure(graph, positions, [("y_1", "y_l"), ("xi_1", "xi_m")] if own else [])

    return draw


PICTURES: dict[str, Picture] = {
    "1": Picture(
        "Interference pattern: the behavior over the one parameter, and the centers over generations; dashed, the most "
        "evolvable parameter.",
        lambda runs: interference.figure(_trained(runs, "interference")),
    ),
    "2": Picture(
        "Behaviors of the cheetah's population over generations.",
        lambda runs: behaviors.figure(_trained(runs, "cheetah")),
    ),
    "3": Picture(
        "Where mutations of trained centers end, by mutations of training's size.",
        lambda runs: _offspring(runs, 1),
    ),
    "4": Picture("Last populations of the ant.", lambda runs: behaviors.final_figure(_trained(runs, "ant"))),
    "5": Picture(
        "The ant's population while standard ES turns it to the right, seeded by MaxEnt-EES.",
        lambda runs: behaviors.figure(evolved_from(runs, "ant", "max_entropy").runs),
    ),
    "6": Picture(
        "Fitness of the ant while standard ES turns it to the right, from each start.",
        lambda runs: evolution.figure(_further(runs)),
    ),
    "7": Picture(
        "Last populations of one component, of a mixture from scratch and of a split population; MaxEnt-EES.",
        lambda runs: _species(runs, "max_entropy"),
    ),
    "S1": Picture(
        "Mean distance of the cheetah's population over generations.",
        lambda runs: curves.distance_figure(_trained(runs, "cheetah")),
    ),
    "S2": Picture(
        "Mean distance of the ant's population over generations.",
        lambda runs: curves.distance_figure(_trained(runs, "ant")),
    ),
    "S3": Picture(
        "As figure 5, seeded by MaxVar-EES.",
        lambda runs: behaviors.figure(evolved_from(runs, "ant", "max_variance").runs),
    ),
    "S4": Picture("As figure 7, MaxVar-EES.", lambda runs: _species(runs, "max_variance")),
    "S5": Picture(
        "As figure 3, with mutations of MAML's policies a quarter as large.", lambda runs: _offspring(runs, QUARTER)
    ),
    "S6": Picture("A Markov reward process as a stochastic computation graph.", _graph("markov_reward_process")),
    "S7": Picture("The same as a nested one.", _graph("nested_markov_reward_process")),
    "S8": Picture("A nested graph with a single expectation.", _graph("one_expectation")),
    "S9": Picture("Natural evolution strategies.", _graph("natural_es")),
    "S10": Picture("MaxVar-EES.", _graph("max_variance_graph")),
    "S11": Picture("MaxEnt-EES.", _graph("max_entropy_graph")),
    "every ant": Picture(
        "As figure 4, of every seed; not in the paper.",
        lambda runs: behaviors.seeds_figure(_trained(runs, "ant")),
    ),
    "best of k": Picture(
        "How far the best of k mutations gets, picked in one start state and judged in others; the paper has k = 40.",
        lambda runs: adaptation.figure(_trained(runs, "cheetah", EVOLVABILITY)),
    ),
    "race": Picture(
        "What each method reaches over the episodes it uses to adapt; not in the paper.",
        lambda runs: adaptation.race_figure(_trained(runs, "cheetah", (*EVOLVABILITY, MAML))),
    ),
    "MAML's training": Picture(
        "MAML's outer steps: fitness before and after adaptation among others; not in the paper.",
        lambda runs: curves.figure(trained_by(runs, "cheetah", MAML).runs),
    ),
}
"""By number, or by name for what is not in the paper."""
