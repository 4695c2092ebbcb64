import itertools
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

from evolvability.core.errors import ConfigError
from evolvability.core.noise import rows
from evolvability.core.populations import Population, diagonal_normal, low_rank, mixture, normal
from evolvability.core.types import Sample, sample_of
from evolvability.tasks.engines import network_text
from evolvability.tasks.families import NetworkFamily, family_of
from evolvability.tasks.options import PointOptions, parse_hidden, show_hidden
from evolvability.tasks.policies import ACTIVATIONS, MakePolicy, Policy, gru, mlp, named_policy, policy_options
from evolvability.tasks.registry import make_task

SIZES = (5, 16, 16, 3)
POLICY = family_of(mlp(SIZES[1:-1]), SIZES[0], SIZES[-1])
POPULATIONS = {
    "normal": normal(0.1),
    "not mirrored": normal(0.1, mirrored=False),
    "diagonal": diagonal_normal(0.1),
    "mixture": mixture(3, 0.1),
    "bfloat16": normal(0.1, noise_dtype=jnp.bfloat16),
    "rank 1": low_rank(POLICY.shapes, 1, 0.1),
    "rank 3, not mirrored": low_rank(POLICY.shapes, 3, 0.1, mirrored=False),  # the output's matrix has full noise
    "rank 2 bfloat16": low_rank(POLICY.shapes, 2, 0.1, noise_dtype=jnp.bfloat16),
    "diagonal bfloat16": diagonal_normal(0.1, noise_dtype=jnp.bfloat16),
}


def draw(population: Population, policy: NetworkFamily = POLICY, num_members: int = 12) -> Sample:
    def drawn(key: Array) -> Sample:
        centers = jax.vmap(policy.init)(jax.random.split(key, population.num_components))
        parameters = population.init(jax.random.key(2), centers)
        if parameters.log_scale is not None:  # every parameter a different one
            parameters = parameters._replace(log_scale=parameters.log_scale + jnp.linspace(-1, 1, policy.num_params))
        return population.sample(jax.random.key(1), parameters, 0, population.draws(num_members))

    return jax.jit(drawn)(jax.random.key(0))


def layer(parameters: Array, offset: int, num_in: int, num_out: int) -> tuple[Array, Array, int]:
    weights, bias = offset + num_in * num_out, offset + (num_in + 1) * num_out
    return parameters[offset:weights].reshape(num_in, num_out), parameters[weights:bias], bias


def plain_mlp(parameters: Array, observation: Array, carry: Any) -> tuple[Array, Any]:
    """The network of one member, the plain way."""
    offset, hidden = 0, observation
    for number, sizes in enumerate(itertools.pairwise(SIZES)):
        weight, bias, offset = layer(parameters, offset, *sizes)
        hidden = hidden @ weight + bias
        hidden = jnp.tanh(hidden) if number < len(SIZES) - 2 else hidden
    return hidden, carry


def plain_gru(parameters: Array, observation: Array, carry: Array) -> tuple[Array, Array]:
    """Gate by gate, as textbooks have it."""
    inward, inward_bias, offset = layer(parameters, 0, SIZES[0], 3 * UNITS)
    around, around_bias, offset = layer(parameters, offset, UNITS, 3 * UNITS)
    outward, outward_bias, _ = layer(parameters, offset, UNITS, SIZES[-1])
    seen, known = jnp.split(observation @ inward + inward_bias, 3), jnp.split(carry @ around + around_bias, 3)
    reset, update = jax.nn.sigmoid(seen[0] + known[0]), jax.nn.sigmoid(seen[1] + known[1])
    new = jnp.tanh(seen[2] + reset * known[2])
    carry = (1 - update) * new + update * carry
    return carry @ outward + outward_bias, carry


UNITS = 6
GRU = family_of(gru(UNITS), SIZES[0], SIZES[-1])
OWN = family_of(gru(UNITS).__call__, SIZES[0], SIZES[-1])  # no factory of ours: its members are written out
FAMILIES = {"mlp": (POLICY, plain_mlp), "gru": (GRU, plain_gru), "own": (OWN, plain_gru)}


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        pytest.param(name, kind, marks=[] if name == "mlp" or kind == "mixture" else pytest.mark.full)
        for name, kind in itertools.product(FAMILIES, POPULATIONS)
    ],
)
@pytest.mark.parametrize("library", ["jax", "numpy"])
def test_members_do_over_three_steps_what_networks_written_out_do(name: str, kind: str, library: str) -> None:
    family, plain = FAMILIES[name]
    population = POPULATIONS[kind]
    if kind.startswith("rank"):
        population = low_rank(family.shapes, int(kind[5]), 0.1, mirrored="not" not in kind)
    sample = draw(population, family)
    observations = jax.random.normal(jax.random.key(2), (3, sample.num_members, SIZES[0]))

    def followed(act: Any, carry: Any, seen: Any) -> Any:
        outputs = []
        for now in seen:
            output, carry = act(now, carry)
            outputs.append(output)
        return outputs

    members = jax.jit(lambda sample: sample.members())(sample)
    expected = followed(jax.jit(lambda *now: jax.vmap(plain)(members, *now)), family.start(len(members)), observations)
    given: Any = sample
    if library == "numpy":
        given = jax.tree.map(np.asarray, sample)
        given = given._replace(noise=jax.tree.map(lambda leaf: leaf.astype(np.float32), given.noise))
    xp: Any = np if library == "numpy" else jnp
    act = partial(family.act, family.build(given))
    found = followed(jax.jit(act) if xp is jnp else act, family.start(len(members), xp), xp.asarray(observations))
    assert all(isinstance(one, np.ndarray) == (xp is np) for one in found)
    # With short noise JAX rounds inputs to that noise too, a part in 256 of the mutations' effect.
    np.testing.assert_allclose(np.stack(found), np.stack(expected), atol=0.03 if "bfloat16" in kind else 1e-5)
    assert len({np.asarray(one).tobytes() for one in found}) == 3


@pytest.mark.parametrize("name", ["gru", "own"])
def test_one_member_acts_alike_alone_and_in_rows(name: str) -> None:
    family, plain = FAMILIES[name]
    parameters, rows = np.asarray(family.init(jax.random.key(0))) * 3, np.ones((4, 2, SIZES[0]), np.float32)
    output, carry = family.apply(parameters, rows, family.carry)
    again, _ = family.apply(parameters, rows, carry)
    first, state = plain(jnp.asarray(parameters), jnp.ones(SIZES[0]), jnp.zeros(UNITS))
    assert isinstance(output, np.ndarray)
    assert (output.shape, carry.shape) == ((4, 2, SIZES[-1]), (4, 2, UNITS))
    np.testing.assert_allclose(output, np.broadcast_to(first, output.shape), atol=1e-5)
    np.testing.assert_allclose(again[1, 1], plain(jnp.asarray(parameters), jnp.ones(SIZES[0]), state)[0], atol=1e-5)


@pytest.mark.parametrize("activation", ["tanh", "relu", "silu"])
def test_activations_are_those_of_jax(activation: str) -> None:
    x = np.linspace(-4, 4, 9, dtype=np.float32)
    np.testing.assert_allclose(ACTIVATIONS[activation](x), getattr(jax.nn, activation)(x), atol=1e-6)
    assert np.isnan(ACTIVATIONS[activation](np.array(np.nan))).all()
    assert network_text.ACTIVATIONS.keys() == ACTIVATIONS.keys()


def linear(num_observations: int, num_actions: int) -> Policy:
    def init(key: Array) -> dict[str, Array]:
        return {"weight": jax.random.normal(key, (num_observations, num_actions))}

    return Policy(init, lambda parameters, seen, carry: (seen @ parameters["weight"], carry))


def changed(**parts: Any) -> MakePolicy:
    return lambda num_observations, num_actions: linear(num_observations, num_actions)._replace(**parts)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (changed(apply=lambda p, x, c: (x, c)), r"shape \(2,\) is expected of apply, got \(4,\)"),
        (changed(apply=lambda p, x, c: x), r"the pair \(action, carry\), got float32\[4\]"),
        (changed(carry=np.zeros(3), apply=lambda p, x, c: (x[:2], c[1:])), r"float32\[3\], got float32\[2\]"),
        (changed(init=lambda key: {"n": jnp.arange(3)}), r"must be floats, got int32 \['n'\]"),
        (changed(init=lambda key: {"weight": jnp.zeros((3, 2))}), r"apply raised: TypeError.*called with 4 observa"),
        (linear(4, 2), r"\(num_observations, num_actions\) -> Policy is expected.*got Policy"),
        (lambda num_observations, num_actions: 3, r"the function returned int"),
        (lambda num_observations: 3, r"The policy raised: TypeError.*called with 4, 2"),
    ],
)
def test_what_does_not_fit_of_ones_own_policy_is_named_with_what_is_expected(make: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        make_task("point", policy=make)


def test_what_is_carried_begins_anew_with_every_episode() -> None:
    """A network that says how many steps it has lived, in a world that adds up what it says, a tenth of it."""

    def clock(num_observations: int, num_actions: int) -> Policy:
        return Policy(lambda key: jnp.zeros(1), lambda p, x, now: (jnp.full(num_actions, now), now + 0.1), 0.1)

    task = make_task("navigation", {"num_steps": 4}, policy=clock)
    evaluate = jax.jit(task.evaluate)
    for members in (sample_of(jnp.zeros((3, 1))), sample_of(jnp.zeros((3, 1))).repeated(2)):
        done, _ = evaluate(jax.random.key(0), members, ())
        np.testing.assert_allclose(done.behavior, 0.1 * (0.1 + 0.2 + 0.3 + 0.4), rtol=1e-5)
    assert task.stage is not None
    assert task.stage.replay is not None
    motion = task.stage.replay(jax.random.key(0), sample_of(jnp.zeros((2, 1))), ())
    np.testing.assert_allclose(motion.path[:, 1:, 0], [[0.01, 0.03, 0.06, 0.1]] * 2, rtol=1e-5)


@pytest.mark.parametrize(
    ("given", "hidden", "layers"),
    [(8, 8, (8, 8)), ("8,8", 8, (8, 8)), ([8, 4], (8, 4), (8, 4)), ("8,", (8,), (8,)), ((), (), ())],
)
def test_layers_are_written_in_one_way(given: Any, hidden: Any, layers: tuple[int, ...]) -> None:
    options = PointOptions(hidden=given)
    assert (options.hidden, options.layers) == (hidden, layers)
    assert parse_hidden(show_hidden(options.hidden)[0]) == hidden if layers else True
    assert make_task("point", options).shapes == family_of(mlp(layers), 4, 2).shapes


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"hidden": 0}, "hidden must be 1 or more"),
        ({"hidden": (4, 2.5)}, "hidden must be 1 or more"),
        ({"hidden": "4;4"}, "one per layer as 64,64, is expected, got '4;4'"),
        ({"policy": "gruu"}, "Did you mean 'gru'.*or module:name"),
        ({"policy": "gru", "hidden": (8, 4)}, "one number for a gru"),
        ({"policy": "gru", "activation": "relu"}, "activation is for an mlp"),
    ],
)
def test_options_that_no_network_has_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        PointOptions(**options)


def test_a_policy_that_is_an_object_is_recorded_by_what_makes_it_again() -> None:
    assert policy_options(mlp((8, 4), "relu")) == {"policy": "mlp", "hidden": (8, 4), "activation": "relu"}
    assert policy_options(gru(8)) == {"policy": "gru", "hidden": 8}
    assert policy_options(linear) == {"policy": "python:linear"}
    for make in (mlp((8, 4), "relu"), gru(8)):
        assert named_policy(PointOptions(**policy_options(make))) == make
    with pytest.raises(ConfigError, match=r"given from Python.*make_task\(NAME, OPTIONS, policy"):
        named_policy(PointOptions(**policy_options(linear)))
    with pytest.raises(ConfigError, match="'interference' takes no policy"):
        make_task("interference", policy=gru(8))


def test_noise_is_multiplied_in_the_type_it_is_kept_in() -> None:
    networks = POLICY.build(draw(POPULATIONS["bfloat16"]))
    assert {leaf.dtype for leaf in jax.tree.leaves(networks.noise)} == {jnp.dtype(jnp.bfloat16)}


def test_short_noise_is_the_long_noise_rounded() -> None:
    short, long = (rows(draw(each).noise) for each in (normal(noise_dtype=jnp.bfloat16), normal()))
    np.testing.assert_array_equal(short, long.astype(jnp.bfloat16))


def test_network_starts_with_unit_columns_and_a_small_output() -> None:
    centers = POLICY.build(draw(normal())).centers
    for weight, bias, norm in zip(centers[::2], centers[1::2], (1.0, 1.0, 0.01), strict=True):
        np.testing.assert_allclose(jnp.linalg.norm(weight[0], axis=0), norm, rtol=1e-5)
        np.testing.assert_array_equal(bias, 0)
