"""Every objective there is, by name, and its options. A new one is a factory and an entry here."""

from dataclasses import dataclass
from typing import Literal

from evolvability.core.entries import FROM_PYTHON, ObjectiveEntry
from evolvability.core.errors import ConfigError, unknown
from evolvability.core.settings import ONE_OR_MORE, POSITIVE, SHARE, Options, setting

MAML = "maml"
"""The objective of runs that meta-learn: what is reached after adaptation by a gradient step."""

ShapingName = Literal["standardize", "robust", "centered_ranks", "none"]


@dataclass(frozen=True)
class BehaviorOptions(Options):
    """Of objectives of behaviors."""

    behavior_shaping: ShapingName = "standardize"
    """What is done to behaviors before the objective; robust: standardize, after limiting the most extreme 1 %."""


@dataclass(frozen=True)
class KernelOptions(BehaviorOptions):
    """Of objectives of densities of behaviors."""

    bandwidth: float = setting(1.0, POSITIVE)
    """Standard deviation of the Gaussian kernel."""


@dataclass(frozen=True)
class EntropyOptions(KernelOptions):
    """Of the entropy of behaviors."""

    leave_one_out: bool = False
    """Leave a member's own kernel out of its density."""


@dataclass(frozen=True)
class InformationOptions(KernelOptions):
    """Of the information that a behavior holds about its member."""

    bandwidth: float = setting(2.0, POSITIVE)
    """Standard deviation of the Gaussian kernel; narrow ones make mutations that repeat themselves and stay near."""


@dataclass(frozen=True)
class FitnessOptions(Options):
    """Of objectives of fitness."""

    fitness_shaping: ShapingName = "centered_ranks"
    """What is done to fitness, and to novelty, before the objective."""


@dataclass(frozen=True)
class NoveltyOptions(FitnessOptions):
    """Of novelty search."""

    neighbors: int = setting(10, ONE_OR_MORE)
    """Nearest behaviors in the archive whose mean distance is novelty."""
    archive_size: int = setting(10_000, ONE_OR_MORE)
    """Behaviors in the archive, one per generation and component; the newest are kept."""


@dataclass(frozen=True)
class AdaptiveNoveltyOptions(NoveltyOptions):
    """Of novelty search with a weight that adapts."""

    patience: int = setting(50, ONE_OR_MORE)
    """Generations without progress until it turns from fitness to novelty by a twentieth."""


@dataclass(frozen=True)
class MamlOptions(Options):
    """Of MAML: those of the paper's table S5, and below what it lacks."""

    inner_rate: float = setting(0.1, POSITIVE)
    """Length of the inner step, in units of the gradient of the mean advantage per step."""
    episodes_per_task: int = setting(10, ONE_OR_MORE)
    """Episodes of a task before its adaptation, and again after it."""
    tasks: int = setting(40, ONE_OR_MORE)
    """Tasks in an outer step."""
    discount: float = setting(0.99, SHARE)
    """Factor on a reward's credit from one step to the next."""
    iterations: int = setting(10, ONE_OR_MORE)
    """Iterations of conjugate gradients."""
    damping: float = setting(1e-5, POSITIVE)
    """Added to the curvature in conjugate gradients."""
    line_search_steps: int = setting(15, ONE_OR_MORE)
    """Lengths that the line search tries, at most."""
    line_search_ratio: float = setting(0.8, SHARE)
    """Ratio of each length in the line search to the one before."""
    trust_region: float = setting(0.01, POSITIVE)
    """Bound on the mean divergence (KL, in nats) of the adapted policies in an outer step."""
    start_std: float = setting(1.0, POSITIVE)
    """Standard deviation of actions at the start, in units of their limits; learned from there."""


# The first three are Okabe and Ito's colors, the others Paul Tol's: both are made for any kind of color vision.
OBJECTIVES: dict[str, ObjectiveEntry] = {
    "max_variance": ObjectiveEntry(
        ".core.objectives:max_variance", "MaxVar, the variance of behaviors", BehaviorOptions, "MaxVar-EES", "#0072B2"
    ),
    "max_entropy": ObjectiveEntry(
        ".core.objectives:max_entropy", "MaxEnt, the entropy of behaviors", EntropyOptions, "MaxEnt-EES", "#D55E00"
    ),
    "max_covariance": ObjectiveEntry(
        ".core.objectives:max_covariance",
        "MaxCov, the variance of what members do again in another episode",
        BehaviorOptions,
        "MaxCov-EES",
        "#CC6677",
        compares_episodes=True,
    ),
    "max_information": ObjectiveEntry(
        ".core.objectives:max_information",
        "MaxInfo, how much a behavior tells about the member",
        InformationOptions,
        "MaxInfo-EES",
        "#117733",
        compares_episodes=True,
    ),
    "mean_fitness": ObjectiveEntry(
        ".core.objectives:mean_fitness",
        "Standard ES, the mean of fitness",
        FitnessOptions,
        "standard ES",
        "#009E73",
        needs_fitness=True,
    ),
    MAML: ObjectiveEntry(
        ".methods.maml:maml",
        "MAML, what is reached after one policy-gradient step",
        MamlOptions,
        "MAML",
        "#882255",
        standalone=True,
    ),
    "ns_es": ObjectiveEntry(
        ".methods.novelty:ns_es", "NS-ES, novelty against an archive of centers", NoveltyOptions, "NS-ES", "#332288"
    ),
    "nsr_es": ObjectiveEntry(
        ".methods.novelty:nsr_es",
        "NSR-ES, novelty and fitness in equal parts",
        NoveltyOptions,
        "NSR-ES",
        "#999933",
        needs_fitness=True,
    ),
    "nsra_es": ObjectiveEntry(
        ".methods.novelty:nsra_es",
        "NSRA-ES, which turns to novelty when fitness stalls",
        AdaptiveNoveltyOptions,
        "NSRA-ES",
        "#88CCEE",
        needs_fitness=True,
    ),
    "qe_es": ObjectiveEntry(
        ".methods.quality_evolvability:qe_es",
        "Quality Evolvability ES, non-dominated ranks of fitness and of what members add to the variance",
        Options,
        "QE-ES",
        "#AA4499",
        needs_fitness=True,
    ),
}
"""By name, in the order of `ees list` and of figures."""


def objective_entry(name: str) -> ObjectiveEntry:
    """The entry of an objective, or that of one that was given as an object."""
    if name.startswith(FROM_PYTHON):
        label = name.removeprefix(FROM_PYTHON).replace("_", " ")
        return ObjectiveEntry("", "given from Python", label=label)
    if name not in OBJECTIVES:
        raise ConfigError(unknown("objective", name, OBJECTIVES))
    return OBJECTIVES[name]
