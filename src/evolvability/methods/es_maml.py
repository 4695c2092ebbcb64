r"""ES-MAML: meta-learning without any gradient, from the pieces there are.

The outer problem is MAML's, $\max_\theta \mathbb{E}_i[f_i(U_i(\theta))]$, with a step of hill climbing for the inner
adaptation $U_i$: of a few mutations of $\theta$, and $\theta$ itself, the one that does best at goal $i$. Members of a
population are adapted, each to a goal of its own, and their fitness is what they reach then; standard ES does the rest.

Reference: Song et al., *ES-MAML: Simple Hessian-free meta learning* (2020).
"""

from dataclasses import replace

import jax
import jax.numpy as jnp
from jax import Array

from evolvability.core.objectives import Objective, mean_fitness
from evolvability.core.shaping import Shaping
from evolvability.core.types import Outcome, PyTree, Sample, keys_of, sample_of
from evolvability.tasks.base import Task, world_of


def es_maml(fitness_shaping: Shaping, episodes_per_task: int) -> Objective:
    """The mean of fitness, which of the task that `adapting` makes is that after adaptation by so many episodes."""
    del episodes_per_task  # what the task does
    return mean_fitness(fitness_shaping)


def adapting(task: Task, *, episodes: int, sigma: float) -> Task:
    """A task whose members are adapted to a goal of its world before they are evaluated.

    Each tries itself and mutations of the standard deviation ``sigma``, ``episodes`` in all. Mirrored members share
    goal and tries.
    """
    goals = world_of(task).goals

    def evaluate(key: Array, sample: Sample, memory: PyTree) -> tuple[Outcome, PyTree]:
        key_goals, key_noise, key_tries, key_last = jax.random.split(key, 4)
        members, num_signs = sample.members(), len(sample.sign)
        # Addressed by draws: the same goals and tries, whatever part of the population this is.
        asked = jax.vmap(lambda key: goals.draw(key, 1)[0])(keys_of(key_goals, sample.draw))
        shape = (episodes, members.shape[1])
        # The first try has no noise: it is the member itself.
        noise = jax.vmap(lambda key: jax.random.normal(key, shape).at[0].set(0))(keys_of(key_noise, sample.draw))
        asked, noise = (jnp.repeat(part, num_signs, axis=0) for part in (asked, noise))
        tries = members[:, None] + sigma * noise
        number = sample.member_indices()
        # Each try counts as a draw of its own: it has the key of an episode that no other has.
        numbers = (episodes * number[:, None] + jnp.arange(episodes)).ravel()
        tried, _ = task.evaluate(key_tries, sample_of(tries.reshape(-1, members.shape[1]), numbers), memory)
        scores = goals.score(jnp.repeat(asked, episodes, axis=0), jnp.asarray(tried.behavior))
        # Where no try is valid, the first is taken: the member itself.
        best = jnp.argmax(jnp.where(tried.valid, scores, -jnp.inf).reshape(-1, episodes), axis=1)
        adapted = jnp.take_along_axis(tries, best[:, None, None], axis=1)[:, 0]
        outcome, seen = task.evaluate(key_last, sample_of(adapted, number), memory)
        # Adapting costs steps too: they count as the member's.
        num_steps = outcome.num_steps + jnp.asarray(tried.num_steps).reshape(-1, episodes).sum(axis=1)
        fitness = goals.score(asked, jnp.asarray(outcome.behavior))
        return outcome._replace(fitness=fitness, num_steps=num_steps), seen

    return replace(task, evaluate=evaluate, has_fitness=True)
