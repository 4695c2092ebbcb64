"""evosax's Open_ES with brax' half cheetah (backend spring)."""

import sys

import jax
import jax.numpy as jnp
import optax
from brax import envs
from evosax.algorithms import Open_ES
from jax.flatten_util import ravel_pytree

hidden, members, steps, generations = map(int, sys.argv[1:])
env = envs.get_environment("halfcheetah", backend="spring")
sizes = [(env.observation_size, hidden), (hidden, hidden), (hidden, env.action_size)]
start, unravel = ravel_pytree([jnp.zeros(size) for size in sizes])


def act(parameters, seen):
    for weight in unravel(parameters):
        seen = jnp.tanh(seen @ weight)
    return seen


def episode(parameters, key):
    def step(state, _):
        state = env.step(state, act(parameters, state.obs))
        return state, state.reward

    return jax.lax.scan(step, env.reset(key), length=steps)[1].sum()


strategy = Open_ES(members, start, optimizer=optax.adam(0.01), std_schedule=optax.constant_schedule(0.02))
key, settings = jax.random.key(0), strategy.default_params
state = strategy.init(key, start, settings)
evaluate = jax.jit(jax.vmap(episode, (0, None)))
for _ in range(generations):
    population, state = strategy.ask(key, state, settings)
    fitness = evaluate(jax.vmap(lambda one: ravel_pytree(one)[0])(population), key)
    state, _ = strategy.tell(key, population, -fitness, state, settings)
    jax.block_until_ready(state)
    print("generation", flush=True)
