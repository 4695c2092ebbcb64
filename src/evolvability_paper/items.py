"""What of the paper is reproduced, as data: items, their runs, what is made of these, and their figures.

Which item a claim belongs to is said with the claim, in `claims`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from evolvability import ConfigError
from evolvability.core.errors import unknown

Kind = Literal["train", "species", "further", "split", "maml", "few", "first leg", "second leg"]
"""Which of a scale's sizes a run has; the last three are a tenth of its members, and two parts of one run."""


@dataclass(frozen=True)
class Training:
    """A run to be made, or several with different seeds."""

    task: str
    """The name of the task."""
    objective: str
    """The name of the objective."""
    kind: Kind = "train"
    """The kind of run, which decides seeds and further settings."""
    start: str = ""
    """The training whose population it starts from, by name."""
    label: str = ""
    """Its own name, where settings tell it from others."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Settings that win over those of the scale."""

    @property
    def name(self) -> str:
        """The name of its folder, TASK/NAME."""
        if self.label:
            return f"{self.task}/{self.label}"
        if self.kind in ("train", "maml"):
            return f"{self.task}/{self.objective}"
        method = self.start.rpartition("/")[2] or self.objective
        return f"{self.task}/{self.kind}-{method}"


@dataclass(frozen=True)
class Study:
    """What is made of trained centers, kept in their run folders."""

    kind: Literal["adapt", "race", "offspring"]
    """What is done: pick the best of some mutations, race the run's own adapter, or keep offspring."""
    trainings: tuple[str, ...]
    """The names of the trainings it is about."""
    share: float = 1.0
    """The standard deviation of offspring, relative to that of training."""


@dataclass(frozen=True)
class Item:
    """A part of the paper that can be reproduced by itself."""

    name: str
    """What `ees reproduce` calls it."""
    title: str
    """The heading in the report."""
    trainings: tuple[Training, ...] = ()
    """Its runs, including those of other items that it needs."""
    studies: tuple[Study, ...] = ()
    """What is made of them."""
    figures: tuple[str, ...] = ()
    """Numbers in the paper, and names of further pictures; see `pictures`."""
    in_paper: bool = True
    """Whether it is in the paper; others are done only if they are named."""


def _trained(task: str) -> tuple[Training, Training, Training]:
    return Training(task, "mean_fitness"), Training(task, "max_variance"), Training(task, "max_entropy")


MAML_TRAINING = Training("cheetah", "maml", "maml")
CHEETAH_EES = tuple(training.name for training in _trained("cheetah")[1:])
ANT_EES = tuple(training.name for training in _trained("ant")[1:])

_ITEMS = (
    Item("figure1", "The interference pattern (section 5.1)", _trained("interference"), figures=("1",)),
    Item("cheetah", "2-D locomotion (section 5.2)", _trained("cheetah"), figures=("2", "S1")),
    Item(
        "adaptation",
        "Fast adaptation: pick a mutation (section 5.2.1)",
        _trained("cheetah")[1:],  # mutations of standard ES all go one way
        (Study("adapt", CHEETAH_EES),),
        figures=("best of k",),
    ),
    Item(
        "maml",
        "Comparison to MAML (section 5.2.1)",
        (*_trained("cheetah")[1:], MAML_TRAINING),
        (
            Study("adapt", CHEETAH_EES),
            Study("race", (*CHEETAH_EES, MAML_TRAINING.name)),
            Study("offspring", (*CHEETAH_EES, MAML_TRAINING.name)),
            Study("offspring", (MAML_TRAINING.name,), share=0.25),  # figure S5
        ),
        figures=("3", "S5", "race", "MAML's training"),
    ),
    Item("ant", "3-D locomotion (section 5.3)", _trained("ant"), figures=("4", "every ant", "S2")),
    Item(
        "evolution",
        "Seeding further evolution (section 5.3.1)",
        # Standard ES from scratch is the random start.
        (*_trained("ant"), *(Training("ant", "mean_fitness", "further", start) for start in ANT_EES)),
        figures=("5", "6", "S3"),
    ),
    Item(
        "mixtures",
        "Population-level evolvability (section 5.4)",
        (
            *_trained("ant")[1:],
            *(Training("ant", one.objective, "species") for one in _trained("ant")[1:]),
            *(Training("ant", one.objective, "split", one.name) for one in _trained("ant")[1:]),
        ),
        figures=("7", "S4"),
    ),
    Item(
        "graphs",
        "Stochastic computation graphs (supplement, sections S2 to S4)",
        figures=("S6", "S7", "S8", "S9", "S10", "S11"),
    ),
)
STANDARDIZED, RANKED = {"behavior_shaping": "standardize"}, {"behavior_shaping": "centered_ranks"}
SHAPINGS = {"standardized": STANDARDIZED, "ranked": RANKED}


def _maxvar(kind: Kind, label: str, start: str = "", **settings: Any) -> Training:
    return Training("cheetah", "max_variance", kind, start, label, settings)


def _of_body(body: str, kind: Kind, size: str) -> list[Training]:
    """Standard ES and MaxVar by either shaping, of one body and size."""
    options: dict[str, Any] = {"task_options": {"body": body}}
    standard = Training("cheetah", "mean_fitness", kind, label=f"{body}-{size}-standard", settings=options)
    return [standard, *(_maxvar(kind, f"{body}-{size}-{name}", **own, **options) for name, own in SHAPINGS.items())]


# Why a population loses a side: experiments of ours, no part of the paper.
_WHY = (
    Item(
        "bodies",
        "MaxVar's share of standard ES's distance by body, shaping and size",
        (
            *_of_body("paper", "few", "tenth"),
            *_of_body("gymnasium", "few", "tenth"),
            *_of_body("gymnasium", "train", "whole"),
            # Standardized and of this body is what the item `cheetah` has.
            *_trained("cheetah")[:2],
            _of_body("paper", "train", "whole")[2],
        ),
        in_paper=False,
    ),
    Item(
        "left",
        "Standard ES to the left: is the left side's distance a ceiling?",
        (
            *_trained("cheetah")[:2],
            Training("cheetah", "mean_fitness", label="left", settings={"goal": "left"}),
        ),
        in_paper=False,
    ),
    Item(
        "legs",
        "Ranks for 20 generations, then standardizing, and the reverse: a founder effect?",
        (
            *(_maxvar("first leg", f"first-{name}", **shaping) for name, shaping in SHAPINGS.items()),
            # Those that go on as they began are the control: a restart forgets the optimizer's moments.
            *(
                _maxvar("second leg", f"{first}-then-{second}", f"cheetah/first-{first}", **shaping)
                for first in SHAPINGS
                for second, shaping in SHAPINGS.items()
            ),
        ),
        in_paper=False,
    ),
)
ITEMS = {item.name: item for item in (*_ITEMS, *_WHY)}  # by name, in the paper's order


def items_named(names: Sequence[str]) -> list[Item]:
    """Items by name, in the paper's order; all of the paper if none is named."""
    for name in names:
        if name not in ITEMS:
            raise ConfigError(unknown("item", name, ITEMS))
    return [item for item in ITEMS.values() if (item.name in names if names else item.in_paper)]
