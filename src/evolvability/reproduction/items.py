"""What of the paper is reproduced, as data: items, their runs, what is made of these, their figures and claims."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from evolvability.core.errors import ConfigError, unknown
from evolvability.reproduction.claims.maml import MAML_CLAIMS
from evolvability.reproduction.claims.paper import CLAIMS
from evolvability.reproduction.claims.settings import SETTING_CLAIMS

ALL_CLAIMS = SETTING_CLAIMS | CLAIMS | MAML_CLAIMS
"""Every statement of the paper that runs can check, by name."""

Kind = Literal["train", "species", "further", "split", "maml"]


@dataclass(frozen=True)
class Training:
    """A run to be made, or several with different seeds.

    Attributes:
        task: the task.
        objective: what is maximized.
        kind: which of a scale's sizes it has.
        start: the training whose population it starts from, by name.
    """

    task: str
    objective: str
    kind: Kind = "train"
    start: str = ""

    @property
    def name(self) -> str:
        """The name of its folder, TASK/NAME."""
        return f"{self.task}/{self.objective if self.kind in ('train', 'maml') else f'{self.kind}-{self._method}'}"

    @property
    def is_mixture(self) -> bool:
        """Whether its population has several components."""
        return self.kind in ("species", "split")

    @property
    def _method(self) -> str:
        return self.start.rpartition("/")[2] if self.start else self.objective


@dataclass(frozen=True)
class Study:
    """What is made of trained centers, kept in their run folders.

    Attributes:
        kind: the best of some mutations; a race of the run's own adapter; or offspring, to be kept.
        trainings: of which trainings, by name.
        share: of offspring, their standard deviation relative to that of training.
    """

    kind: Literal["adapt", "race", "offspring"]
    trainings: tuple[str, ...]
    share: float = 1.0


@dataclass(frozen=True)
class Item:
    """A part of the paper that can be reproduced by itself.

    Attributes:
        name: what `ees reproduce` calls it.
        title: a line about it.
        trainings: its runs, those of other items that it needs among them.
        studies: what is made of them.
        figures: numbers in the paper, and names of further pictures; see `pictures`.
        claims: how the names of its claims begin.
    """

    name: str
    title: str
    trainings: tuple[Training, ...] = ()
    studies: tuple[Study, ...] = ()
    figures: tuple[str, ...] = ()
    claims: tuple[str, ...] = ()

    @property
    def claim_names(self) -> list[str]:
        """The names of its claims in `ALL_CLAIMS`."""
        return [name for head in self.claims for name in ALL_CLAIMS if f"{name}/".startswith(f"{head}/")]


def _trained(task: str) -> tuple[Training, ...]:
    return tuple(Training(task, objective) for objective in ("mean_fitness", "max_variance", "max_entropy"))


CHEETAH_EES = ("cheetah/max_variance", "cheetah/max_entropy")
ANT_EES = ("ant/max_variance", "ant/max_entropy")

ITEMS: dict[str, Item] = {
    item.name: item
    for item in (
        Item(
            "figure1",
            "The interference pattern (section 5.1)",
            _trained("interference"),
            figures=("1",),
            claims=("finds-the-most-evolvable",),
        ),
        Item(
            "cheetah",
            "2-D locomotion (section 5.2)",
            _trained("cheetah"),
            figures=("2", "S1"),
            claims=(
                "both-directions",
                "runs-far-both-ways",
                "variants-spread-alike",
                "standard-moves-further/cheetah",
                "distance-share/cheetah",
                "variants-move-alike/cheetah",
                "standard-learns-faster/cheetah",
                "as-many-evaluations/cheetah",
                "as-many-parameters/cheetah",
            ),
        ),
        Item(
            "adaptation",
            "Fast adaptation: pick a mutation (section 5.2.1)",
            _trained("cheetah")[1:],
            (Study("adapt", CHEETAH_EES),),
            figures=("best of k",),
            claims=("maxent-adapts-better",),
        ),
        Item(
            "maml",
            "Comparison to MAML (section 5.2.1)",
            (*_trained("cheetah")[1:], Training("cheetah", "maml", "maml")),
            (
                Study("adapt", CHEETAH_EES),
                Study("race", (*CHEETAH_EES, "cheetah/maml")),
                Study("offspring", (*CHEETAH_EES, "cheetah/maml")),
                Study("offspring", ("cheetah/maml",), share=0.25),
            ),
            figures=("3", "S5", "race", "MAML's training"),
            claims=tuple(MAML_CLAIMS),
        ),
        Item(
            "ant",
            "3-D locomotion (section 5.3)",
            _trained("ant"),
            figures=("4", "S2"),
            claims=(
                "all-directions",
                "goes-roughly-as-far",
                "ring-is-hollow",
                "fewer-degenerate",
                "standard-moves-further/ant",
                "distance-share/ant",
                "variants-move-alike/ant",
                "standard-learns-faster/ant",
                "as-many-evaluations/ant",
                "as-many-parameters/ant",
            ),
        ),
        Item(
            "evolution",
            "Seeding further evolution (section 5.3.1)",
            # Standard ES from scratch is the random start.
            (*_trained("ant"), *(Training("ant", "mean_fitness", "further", start) for start in ANT_EES)),
            figures=("5", "6", "S3"),
            claims=("converges-to-the-goal", "seeded-beats-random", "seeds-alike"),
        ),
        Item(
            "mixtures",
            "Population-level evolvability (section 5.4)",
            (
                *_trained("ant")[1:],
                *(Training("ant", objective, "species") for objective in ("max_variance", "max_entropy")),
                *(Training("ant", start.removeprefix("ant/"), "split", start) for start in ANT_EES),
            ),
            figures=("7", "S4"),
            claims=("species-specialize", "species-cover-no-more", "species-variants-alike"),
        ),
        Item(
            "graphs",
            "Stochastic computation graphs (supplement, sections S2 to S4)",
            figures=("S6", "S7", "S8", "S9", "S10", "S11"),
        ),
    )
}


def items_named(names: Sequence[str]) -> list[Item]:
    """Items by name, in the paper's order; all of them if none is named."""
    for name in names:
        if name not in ITEMS:
            raise ConfigError(unknown("item", name, ITEMS))
    return [item for item in ITEMS.values() if not names or item.name in names]
