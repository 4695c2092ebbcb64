"""A generation on a pool: fixed units of work out, behaviors and partial gradients back.

The units depend on the population alone, never on the workers, and partial sums are added in their order. So the result
is the same, bit for bit, on one worker or a thousand, and whatever happens to them.

A call that is lost is made again. Members that lose their workers time and again are tried one by one, and those that
still do are given up; so one member that crashes its process costs some processes, and not the run.
"""

import time
import warnings
from collections import Counter, deque
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from functools import partial, reduce
from itertools import pairwise
from typing import Any

import jax
import numpy as np
from jax import Array

from evolvability.config.schema import Config
from evolvability.core.errors import ClusterError, ConfigError, given
from evolvability.core.keys import noise_key
from evolvability.core.populations import Population
from evolvability.core.strategy import State
from evolvability.core.types import Parameters
from evolvability.tasks.base import Task
from evolvability.tasks.simulators import Part, joined, lost, of_member
from evolvability.workers.pools import START_SECONDS, LostError, OverdueError, Pool
from evolvability.workers.worker import Broadcast, recipe_of, work

NUM_SUMS = 32
"""Partial gradients per generation, at most: what comes back to the driver does not grow with the population."""
MAX_NAMED = 3  # members named per generation; of more, the number is given
MAX_LOSSES = 3  # so many workers may a call cost before it is suspected
MAX_LOST, MAX_LOST_PER_SLOT = 6, 3  # so many calls may be lost in a row before the run is stopped
AHEAD = 2  # calls handed out per slot: one to work on, and one so that nobody waits for us
TICK = 1.0  # seconds between looks at the number of workers


class Evaluator:
    """Evaluates the generations of a run, whose task must have a simulator, on a pool; num_signs: members per draw."""

    def __init__(
        self, config: Config, task: Task, num_signs: int, pool: Pool, population: Population | None = None
    ) -> None:
        if task.simulator is None:
            why = "it has no simulator that they could build"
            raise ConfigError(f"Task '{task.name}' does not run on workers: {why}. Leave out workers.")
        self.pool, self.num_signs = pool, num_signs
        num_draws = config.population_size // num_signs
        # Units of whole draws: a pair's noise is then rebuilt once, and not by two workers.
        self.units = [range(r.start * num_signs, r.stop * num_signs) for r in split(num_draws, config.worker_batches)]
        # Fewer and longer than units: each comes back as a sum as long as the center.
        self.sums = split(num_draws, NUM_SUMS)
        self._recipe = recipe_of(config, task, population)

    def broadcast(self, state: State) -> Broadcast:
        """What workers need to know of one seed's generation."""
        # Two keys: addresses of episodes begin with the run's own, noise with that of its purpose.
        words = np.asarray(jax.random.key_data(state.key))
        noise = np.asarray(jax.random.key_data(noise_key(state.key)))
        parameters, memory = jax.device_get((state.parameters, state.memory))
        return Broadcast(tuple(map(int, words)), noise, int(state.generation), parameters, memory)

    def evaluate(self, broadcasts: Sequence[Broadcast]) -> list[Part]:
        """Every member of every seed."""
        # Seed after seed, which `_by_seed` relies on.
        calls = [(self._recipe, "evaluate", broadcast, unit) for broadcast in broadcasts for unit in self.units]
        return [joined(parts) for parts in _by_seed(dispatch(self.pool, calls), len(broadcasts))]

    def gradient(self, broadcasts: Sequence[Broadcast], weights: Sequence[Array]) -> list[Parameters]:
        """Every seed's gradient, from its members' weights; summed where the noise is."""
        per_draw = [np.asarray(own).reshape(-1, self.num_signs) for own in weights]
        calls = [
            (self._recipe, "gradient", broadcast, draws, own[draws.start : draws.stop])
            for broadcast, own in zip(broadcasts, per_draw, strict=True)
            for draws in self.sums
        ]
        answers = dispatch(self.pool, calls)
        # Added from the first to the last, since floats added in another order differ in the last bits.
        add = partial(jax.tree.map, np.add)
        totals = [reduce(add, own) for own in _by_seed(answers, len(broadcasts))]
        # The workers' are sums, divided once, by the number of members.
        size = np.float32(per_draw[0].size)
        return [jax.tree.map(lambda leaf: leaf / size, total) for total in totals]


def dispatch(pool: Pool, calls: Sequence[tuple[Any, ...]], ahead: int = AHEAD) -> list[Any]:
    """The answers to calls of `work`, in their order, whatever order they came in; so many are handed out per slot."""
    answers: dict[int, Any] = {}
    to_do = deque(range(len(calls)))
    out: dict[Future[Any], int] = {}
    losses: Counter[int] = Counter()  # workers that each call has cost
    # Workers come and go, so their number is asked for again at every tick.
    slots, looked = pool.slots(), time.monotonic()
    heard, most_slots = looked, slots
    while len(answers) < len(calls):
        pool.share = len(answers) / len(calls)
        # At least one, also while there is no worker: it waits for whoever comes.
        while to_do and len(out) < max(ahead * slots, 1):
            index = to_do.popleft()
            out[pool.submit(work, *calls[index])] = index
        for future in wait(out, TICK, FIRST_COMPLETED).done:
            # A call that is made again has a new future, so that each index is answered once.
            index, heard = out.pop(future), time.monotonic()
            try:
                answers[index] = future.result()
                pool.lost_in_a_row = 0
            except LostError as error:
                losses[index] += 1
                _check_losses(pool, most_slots, error)
                if (instead := _in_place_of(calls[index], losses[index], pool, error)) is None:
                    to_do.appendleft(index)
                else:
                    answers[index] = instead
        patience = max(pool.deadline, START_SECONDS)
        # With workers there is no limit here: each call has the pool's deadline.
        if not slots and time.monotonic() - heard > patience:
            raise ClusterError(f"There has been no worker for {patience:g} s.")
        if time.monotonic() - looked > TICK:
            slots, looked = pool.slots(), time.monotonic()
            most_slots = max(slots, most_slots)
    pool.share = 0.0
    return [answers[index] for index in range(len(calls))]


def _check_losses(pool: Pool, slots: int, error: LostError) -> None:
    """Stop a run whose members end every worker: it would go on so for hours, until all of them are invalid."""
    pool.lost_in_a_row += 1
    if pool.lost_in_a_row >= MAX_LOST_PER_SLOT * max(slots, 1) + MAX_LOST:
        raise ClusterError(
            f"{pool.lost_in_a_row} calls in a row came to nothing; of the last one {error}. Try it in this "
            f"process, with {given(workers=0)}: what ends workers is seen there."
        )


def _in_place_of(call: tuple[Any, ...], losses: int, pool: Pool, error: LostError) -> Part | None:
    """What becomes of a call that was lost: its members' answers one by one, or None where it is to be made again."""
    recipe, method, broadcast, members, *_ = call
    # Overdue, one by one at once: a deadline is long, and one member that hangs would take all others along.
    is_suspect = losses >= MAX_LOSSES or isinstance(error, OverdueError)
    if method == "evaluate" and is_suspect and len(members) > 1:
        singles = [(recipe, method, broadcast, range(k, k + 1)) for k in members]
        # One per slot, so that it is clear which of them costs a worker. Other calls' answers wait meanwhile.
        return joined(dispatch(pool, singles, ahead=1))
    if losses < MAX_LOSSES:
        return None
    if method == "gradient":  # one that lacks a part would point elsewhere
        raise ClusterError(f"A piece of work was lost {losses} times: {error}.")
    one = lost(recipe.num_behaviors, members[0], f"{error}, {losses} times")
    return of_member([one] * recipe.config.episodes)


def split(total: int, parts: int) -> list[range]:
    """So many whole numbers in at most so many ranges, which differ in length by one at most.

    >>> split(5, 2), split(2, 8)
    ([range(0, 3), range(3, 5)], [range(0, 1), range(1, 2)])
    """
    parts = min(total, parts)
    # Rounded up: minus the floor of minus.
    ends = [-(-total * k // parts) for k in range(parts + 1)]
    return [range(first, last) for first, last in pairwise(ends)]


def name_invalid(part: Part, generation: int, seed: int) -> None:
    """Warn once of each member that could not be evaluated."""
    texts = [f"member {member} is invalid: {text}" for member, text in part.notes[:MAX_NAMED]]
    if (others := len(part.notes) - MAX_NAMED) > 0:
        texts.append(f"{others} more members are invalid")
    for text in texts:
        warnings.warn(f"generation {generation}, seed {seed}: {text}", stacklevel=2)


def _by_seed(answers: list[Any], num_seeds: int) -> list[list[Any]]:
    return [answers[own.start : own.stop] for own in split(len(answers), num_seeds)]
