"""Tasks whose simulator is ordinary Python: built once per worker, run member by member, on any number of machines."""

from collections.abc import Callable, Iterable
from functools import cache, partial
from itertools import chain
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from evolvability.core.noise import Shapes, blocks, shapes_of
from evolvability.core.types import Outcome, PyTree, Sample, is_usable, merge_episodes
from evolvability.tasks.base import Task, behavior_and_fitness, checked_names, checked_result, flattened
from evolvability.tasks.normalizer import Moments, merge, pool
from evolvability.tasks.options import Scope
from evolvability.tasks.own_code import explain_errors
from evolvability.tasks.replay import HostArray


class Address(NamedTuple):
    """Where a member comes from. All of its randomness follows from these integers, wherever it is evaluated."""

    run: tuple[int, ...]
    """The words of the run's key."""
    generation: int
    """The number of the generation."""
    member: int
    """The member's index in the population."""
    episode: int = 0
    """Which of its episodes."""

    def seed(self, purpose: int = 0, scope: Scope = "member") -> int:
        """A seed of 32 bits: every member's own, one for a whole generation, or one for the whole run.

        >>> Address((0, 1), 2, 3).seed() == Address((0, 1), 2, 4).seed()
        False
        >>> Address((0, 1), 2, 3).seed(scope="generation") == Address((0, 1), 2, 4).seed(scope="generation")
        True
        """
        where = {"member": (self.generation, self.member), "generation": (self.generation,), "run": ()}[scope]
        # The length of what follows is among the words, so that no scope's seed is another's.
        words = (*self.run, purpose, len(where), *where)
        # SeedSequence mixes its words, so that neighbors' seeds have nothing in common.
        return int(np.random.SeedSequence(words).generate_state(1)[0])


class Trial(NamedTuple):
    """What became of one episode of a member."""

    behavior: HostArray
    """(num_behaviors,) what the member did."""
    fitness: float
    """How well the member did."""
    num_steps: int
    """How many steps were simulated."""
    seen: Moments | None = None
    """Statistics of the observations to remember, where the task keeps them."""
    pictures: tuple[bytes, ...] = ()
    """JPEG files of it, one after another, from a simulator that draws."""


Simulator = Callable[[HostArray, Address, PyTree], Trial]
"""``(parameters, address, memory) -> Trial``, one episode of a member. It must not matter what it did before."""


class Part(NamedTuple):
    """What became of some members, in their order."""

    outcome: Outcome
    """The outcome, as NumPy arrays."""
    seen: tuple[Moments, ...] = ()
    """Statistics of observations, one entry per remembered member."""
    notes: tuple[tuple[int, str], ...] = ()
    """`(member, text)` for those whose simulator raised."""


def simulator_task(
    simulator: Callable[[], Callable[[PyTree, int], Any]],
    start: PyTree,
    *,
    name: str = "",
    behavior_names: Iterable[str] = (),
    has_fitness: bool = False,
    scope: Scope = "member",
) -> Task:
    """A task from a simulator of your own: no base class, no JAX.

    Args:
        simulator: a class, or any function without arguments, that builds a simulator; called once per worker. What it
            builds is called with ``(parameters, seed)``, once per episode of a member, and returns the behavior, or the
            pair ``(behavior, fitness)`` if ``has_fitness``.
        start: the parameters evolution starts from, any pytree of floats.
        name: the task's name; default: the simulator's own.
        behavior_names: a name for each behavior dimension.
        has_fitness: whether the simulator returns a fitness too.
        scope: whether seeds differ from member to member, from generation to generation only, or not at all.

    Examples:
        >>> class Walk:
        ...     def __call__(self, parameters, seed):
        ...         return parameters.cumsum()[-1:]
        >>> simulator_task(Walk, start=np.zeros(3)).behavior
        ('behavior 0',)
    """
    flat_start, unflatten = flattened(start)
    name = name or getattr(simulator, "__name__", "simulator").strip("<>")
    # Not a closure: it travels to workers. So do shapes, but not the start itself.
    shapes = shapes_of(start)
    factory = partial(_plain, simulator, jax.tree.structure(start), shapes, has_fitness, scope)
    with explain_errors(f"Task '{name}': the simulator raised at the start parameters"):
        # Once here, so that what cannot work says so now, and not on a worker.
        probe = factory()(np.asarray(flat_start), Address((0,), 0, 0), ())
    return host_task(
        name,
        checked_names(name, behavior_names, len(probe.behavior)),
        lambda key: flat_start,
        factory,
        has_fitness=has_fitness,
        unflatten=unflatten,
        shapes=shapes,
    )


def host_task(
    name: str, behavior: tuple[str, ...], init: Callable[[Array], Array], factory: Callable[[], Simulator], **more: Any
) -> Task:
    """A Task from a simulator's factory, which has to be picklable (by cloudpickle) to reach other processes.

    ``more`` are further attributes of the `Task`.
    """
    # Once, when a first member is evaluated here: where workers evaluate all of them, it is never called.
    build = cache(factory)

    def evaluate(key: Array, sample: Sample, memory: PyTree) -> tuple[Outcome, PyTree]:
        # The key is a generation's own: in this process, a generation's number need not tell members apart.
        run = tuple(int(word) for word in np.asarray(jax.random.key_data(key)))
        # By its index in the generation: what part of a population this is, and in which order, decides over no seed.
        members = zip(np.asarray(sample.member_indices()), np.asarray(sample.members()), strict=True)
        signs = np.asarray(sample.sign)
        # A member's episodes are its sign repeated.
        episodes = int(np.argmax(signs != signs[0])) or len(signs)
        with explain_errors(f"Task '{name}': its simulator failed"):
            trials = [
                build()(member, Address(run, 0, *divmod(int(index), episodes)), memory) for index, member in members
            ]
        part = joined([part_of(trial) for trial in trials])
        return jax.tree.map(jnp.asarray, part.outcome), absorb(memory, part.seen)

    return Task(name, behavior, init, evaluate, on_host=True, simulator=factory, **more)


def part_of(trial: Trial) -> Part:
    """One episode; invalid, and its observations forgotten, unless all of it is finite and in bounds."""
    behavior, fitness = np.asarray(trial.behavior, np.float32)[None], np.array([trial.fitness], np.float32)
    valid = is_usable(behavior).all(axis=1) & is_usable(fitness)
    # A member that broke down may have seen anything.
    seen = (trial.seen,) if valid[0] and trial.seen is not None else ()
    outcome: Any = (behavior, fitness, valid, np.array([trial.num_steps], np.int32))
    return Part(Outcome(*outcome), seen)


def lost(num_behaviors: int, member: int, text: str) -> Part:
    """An episode that cannot be evaluated: its member is invalid, with the reason."""
    return part_of(Trial(np.full(num_behaviors, np.nan), np.nan, 0))._replace(notes=((member, text),))


def of_member(episodes: Iterable[Part]) -> Part:
    """The episodes of one member together."""
    each = list(episodes)
    whole = joined(each)
    # One note: it is the member that is invalid.
    return whole._replace(outcome=merge_episodes(whole.outcome, len(each)), notes=whole.notes[:1])


def joined(parts: Iterable[Part]) -> Part:
    """Parts one after another."""
    outcomes, seen, notes = zip(*parts, strict=True)
    outcome = jax.tree.map(lambda *arrays: np.concatenate(arrays), *outcomes)
    return Part(outcome, tuple(chain(*seen)), tuple(chain(*notes)))


def absorb(memory: PyTree, seen: tuple[Moments, ...]) -> PyTree:
    """The task's memory after a generation, from the remembered members in their order: always the same bits."""
    if not seen:
        return memory
    new = pool(Moments(*(np.stack(each) for each in zip(*seen, strict=True))), np.ones(len(seen), bool))
    # By NumPy: the number of remembered members changes, and JAX would compile anew for each.
    # Pooled in float64, as simulators give them; kept in float32, as the State is.
    merged = merge(jax.device_get(memory), Moments(*(np.asarray(each, np.float32) for each in new)))
    return Moments(*(jnp.asarray(each) for each in merged))


def _plain(simulator: Callable[[], Any], tree: Any, shapes: Shapes, has_fitness: bool, scope: Scope) -> Simulator:
    """A user's simulator, called as one of ours; tree: the structure of parameters, shapes: of its leaves."""
    simulate = simulator()

    def trial(parameters: HostArray, address: Address, memory: PyTree) -> Trial:
        # In NumPy's arrays: a simulator need not know JAX.
        leaves: Any = blocks(parameters[None], shapes)  # type: ignore[arg-type]
        given = jax.tree.unflatten(tree, [leaf[0] for leaf in leaves])
        result = simulate(given, address.seed(address.episode, scope))
        behavior, fitness = behavior_and_fitness(result, has_fitness)
        checked_result(behavior, fitness)
        vector = np.atleast_1d(np.asarray(behavior, np.float64))
        # A call counts as one step: how many it simulates inside is not known.
        return Trial(vector, float(fitness) if has_fitness else 0.0, 1)

    return trial
