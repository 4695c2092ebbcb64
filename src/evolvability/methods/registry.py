"""Every objective there is, by name."""

import re
from collections.abc import Callable

from evolvability.core.objectives import (
    Objective,
    max_covariance,
    max_entropy,
    max_information,
    max_variance,
    mean_fitness,
)
from evolvability.core.stateful_objectives import StatefulObjective
from evolvability.methods.novelty import ns_es, nsr_es, nsra_es
from evolvability.methods.quality_evolvability import qe_es

OBJECTIVES: dict[str, Callable[..., Objective | StatefulObjective]] = {
    "max_covariance": max_covariance,
    "max_entropy": max_entropy,
    "max_information": max_information,
    "max_variance": max_variance,
    "mean_fitness": mean_fitness,
    "ns_es": ns_es,
    "nsr_es": nsr_es,
    "nsra_es": nsra_es,
    "qe_es": qe_es,
}
CLIMB_FITNESS = {"mean_fitness", "nsr_es", "nsra_es", "qe_es"}
KEEP_ARCHIVE = ("ns_es", "nsr_es", "nsra_es")


def needs_fitness(objective: str) -> bool:
    """Whether an objective, or a term of a sum, is about fitness.

    Examples:
        >>> needs_fitness("max_entropy"), needs_fitness("max_entropy+0.1*nsr_es")
        (False, True)
    """
    return not CLIMB_FITNESS.isdisjoint(re.split(r"[+*]", objective))
