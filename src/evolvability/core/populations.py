r"""Populations: distributions over parameter vectors that draw members and turn weights into gradients.

With weights $w_k = n\, \partial J / \partial \log p(z_k)$ an objective's gradient is

$$\nabla_\theta J = \frac1n \sum_k w_k \nabla_\theta \log p(z_k; \theta),$$

computed here from a `Sample` in its parts: one product with the noise, never a full parameter vector per member.

Noise is addressed: draw ``i`` of generation ``g`` is a pure function of (key, g, i), so any process can rebuild any
part of a population alone.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array
from jax.typing import DTypeLike

from evolvability.core.entries import DEFAULT_RANK
from evolvability.core.noise import Noise, Shapes, noise_sum, num_numbers, rows
from evolvability.core.noise import low_rank as low_rank_noise
from evolvability.core.normals import standard_normal
from evolvability.core.types import Parameters, Sample, keys_of, named

Schedule = float | Callable[[Array], Array]
Draw = Callable[[Array, Parameters, Array | int, Array], Noise]  # `(key, parameters, generation, draws) -> Noise`
Scale = Callable[[Parameters, Array | int], Array]
"""``(parameters, generation) -> (num_components, 1) or (num_components, num_params)``, the standard deviations."""


@dataclass(frozen=True)
class Population:
    """A family of distributions over parameter vectors."""

    init: Callable[[Array, Array], Parameters]
    """`(key, centers) -> Parameters` from (num_components, num_params) starting means."""
    sample: Callable[[Array, Parameters, Array | int, Array], Sample]
    """`(key, parameters, generation, draws) -> Sample` for any array of draw indices."""
    components: Callable[[Array, Array | int, Array], Array]
    """`(key, generation, draws) -> (num_draws,)`, the component each draw belongs to."""
    scale: Scale
    """`(parameters, generation) -> standard deviations` of every component: one for all parameters, or one for each."""
    log_prob: Callable[..., Array]
    """`(parameters, vector, generation=0) -> scalar`, the log-density at one (num_params,) vector."""
    gradient: Callable[[Sample, Array], Parameters]
    """`(sample, weights) -> Parameters`, the gradient of the weighted sum of log-densities."""
    num_components: int
    """How many means there are."""
    num_signs: int
    """Members per draw; 2 when sampling is mirrored."""
    name: str = ""
    """The population's name in a run's configuration."""

    def draws(self, population_size: int) -> Array:
        """The draw indices of a whole population."""
        if population_size < 2 or population_size % self.num_signs:
            even = "an even number, since mirrored members come in pairs" if self.num_signs == 2 else "2 or more"
            raise ValueError(f"population_size must be {even}, got {population_size}.")
        return jnp.arange(population_size // self.num_signs)


def normal(sigma: Schedule = 0.02, *, mirrored: bool = True, noise_dtype: DTypeLike = jnp.float32) -> Population:
    r"""Isotropic normal $\mathcal{N}(\mu, \sigma^2 I)$, the paper's population; $\mu$ is learned.

    Args:
        sigma: the standard deviation, or a schedule of it over generations (any optax schedule).
        mirrored: whether members come in pairs $\mu \pm \sigma\epsilon$.
        noise_dtype: the type noise is kept in: float32 or bfloat16.
    """
    population = _population("normal", _full_noise(noise_dtype), _fixed(sigma, 1), _gradient, mirrored)
    return _named(population, sigma, mirrored, noise_dtype)


def low_rank(
    shapes: Shapes,
    rank: int = DEFAULT_RANK,
    sigma: Schedule = 0.02,
    *,
    mirrored: bool = True,
    noise_dtype: DTypeLike = jnp.float32,
) -> Population:
    r"""Like `normal`, but the noise of every weight matrix has a low rank.

    The mean $\mu$ is learned. A matrix' noise is $E = A^\top B / \sqrt r$, kept as its factors. It has no density, so
    the score is that of the normal it stands for, $E / \sigma$. Arrays that factors would not make smaller have full
    noise: a network of small matrices then evolves as with `normal`.

    Args:
        shapes: of the arrays that a parameter vector is made of, e.g. `Task.shapes`.
        rank: the rank $r$; the higher, the nearer to `normal`. MaxVar and MaxEnt have a bias of order $1 / r$.
        sigma: the standard deviation of every parameter, or a schedule of it; what follows is as for `normal`.
        mirrored: whether members come in pairs.
        noise_dtype: the type noise is kept in.
    """
    if rank < 1:
        raise ValueError(f"low_rank: a rank of 1 or more is expected, got {rank}.")
    if not any(len(shape) > 1 for shape in shapes):
        known = ", ".join(map(str, shapes)) or "not known"
        raise ValueError(f"low_rank: none of the parameters' arrays is a matrix; their shapes are {known}. Use normal.")
    numbers = num_numbers(shapes, rank)

    def draw(key: Array, parameters: Parameters, generation: Array | int, draws: Array) -> Noise:
        del parameters
        return low_rank_noise(draw_noise(key, generation, draws, numbers, noise_dtype), shapes, rank)

    return _population("low_rank", draw, _fixed(sigma, 1), _gradient, mirrored)


def diagonal_normal(sigma: float = 0.02, *, mirrored: bool = True, noise_dtype: DTypeLike = jnp.float32) -> Population:
    r"""Normal with one standard deviation per parameter, $\mathcal{N}(\mu, \mathrm{diag}(s)^2)$; both are learned.

    Args:
        sigma: the standard deviation every parameter starts with.
        mirrored: whether members come in pairs.
        noise_dtype: the type noise is kept in.
    """
    log_sigma = jnp.log(_schedule(sigma)(0))  # _schedule refuses what is not positive

    def init(key: Array, centers: Array) -> Parameters:
        del key
        return Parameters(centers, jnp.full_like(centers, log_sigma))

    def scale(parameters: Parameters, generation: Array | int) -> Array:
        del generation
        if parameters.log_scale is None:
            raise ValueError(
                "diagonal_normal: these parameters have no log_scale. Start with the population's own init."
            )
        return jnp.exp(parameters.log_scale)

    gradient = partial(_gradient, learns_scale=True)
    population = _population("diagonal_normal", _full_noise(noise_dtype), scale, gradient, mirrored, init=init)
    return _named(population, sigma, mirrored, noise_dtype)


def mixture(
    components: int = 2,
    sigma: Schedule = 0.02,
    *,
    mirrored: bool = True,
    noise_dtype: DTypeLike = jnp.float32,
) -> Population:
    r"""Equal mixture of isotropic normals, $\frac1C \sum_c \mathcal{N}(\mu_c, \sigma^2 I)$; the means are learned.

    The gradient passes through the responsibilities: with $r_c(z) = p(c \mid z)$,
    $\nabla_{\mu_c} \log p(z) = r_c(z) (z - \mu_c) / \sigma^2$. A mirrored pair stays in one component.

    Args:
        components: how many species there are.
        sigma: the standard deviation of each, or a schedule of it over generations.
        mirrored: whether members come in pairs.
        noise_dtype: the type noise is kept in.
    """
    if components < 2:
        raise ValueError(f"mixture: two components or more are expected, got {components}. For one, use normal.")
    sigma_at, full_noise = _schedule(sigma), _full_noise(noise_dtype)

    def init(key: Array, centers: Array) -> Parameters:
        # Components at one point would get one gradient and never part: then each starts at a mutation of its own.
        together = jnp.all(centers == centers[0])
        mutations = centers + sigma_at(0) * jax.random.normal(key, centers.shape)
        # Not an `if`: under jit the answer is not known yet.
        return Parameters(jnp.where(together, mutations, centers))

    def draw(key: Array, parameters: Parameters, generation: Array | int, draws: Array) -> Noise:
        # `choose` splits alike: it is called without any noise, by objectives with a history.
        key_noise, _ = jax.random.split(key)
        return full_noise(key_noise, parameters, generation, draws)

    def choose(key: Array, generation: Array | int, draws: Array) -> Array:
        _, key_component = jax.random.split(key)
        draw_one = jax.vmap(lambda key: jax.random.randint(key, (), 0, components))
        return draw_one(keys_of(jax.random.fold_in(key_component, generation), draws))

    def gradient(sample: Sample, weights: Array) -> Parameters:
        sigma = sample.scale[0, 0]  # the same for all components
        per_draw = weights.reshape(sample.num_draws, -1)
        shares = per_draw[..., None] * responsibilities(sample)  # (draws, signs, components)
        pulls = jnp.einsum("dsc,s->cd", shares, sample.sign)
        # z - center_c = sigma * sign * noise + (center of z's own component - center_c)
        own = jax.nn.one_hot(sample.component, components)
        # (components, components): how much of the members drawn from e is credited to c.
        flows = jnp.einsum("dsc,de->ce", shares, own)
        offsets = flows @ sample.center - flows.sum(axis=1, keepdims=True) * sample.center
        total = noise_sum(pulls, sample.noise) / sigma + offsets / sigma**2
        return Parameters(total / sample.num_members)

    species: dict[str, Any] = {"init": init, "components": choose, "num_components": components}
    population = _population("mixture", draw, _fixed(sigma, components), gradient, mirrored, **species)
    return _named(population, sigma, mirrored, noise_dtype, components=components)


def responsibilities(sample: Sample) -> Array:
    """(num_draws, num_signs, num_components) the probability that each component drew each member."""
    sigma, noise = sample.scale[0, 0], rows(sample.noise)
    # Relative to the mean center: only differences matter, and these keep their digits.
    centers = sample.center - sample.center.mean(axis=0)
    along = jnp.einsum("dp,cp->dc", noise, centers.astype(noise.dtype), preferred_element_type=jnp.float32)
    along = jnp.take_along_axis(along, sample.component[:, None], axis=1) - along  # noise . (own center - center_c)
    squares = jnp.sum((centers[:, None] - centers) ** 2, axis=-1)[sample.component]
    # -|z - center_c|^2 / (2 sigma^2), without the noise's own square: all components share it.
    logits = -squares[:, None] / (2 * sigma**2) - sample.sign[:, None] * along[:, None] / sigma
    return jax.nn.softmax(logits, axis=-1)


@partial(jax.jit, static_argnames=("num_params", "dtype"), inline=True)  # at a prompt, one program instead of eighty
def draw_noise(
    key: Array, generation: Array | int, draws: Array, num_params: int, dtype: DTypeLike = jnp.float32
) -> Array:
    """(num_draws, num_params) standard normal noise; each row depends on its own address alone."""
    if not jnp.issubdtype(dtype, jnp.floating):
        raise ValueError(f"noise_dtype: a type of floats is expected, float32 or bfloat16, got {jnp.dtype(dtype)}.")
    # Rounded rather than drawn in a short type, whose few random bits have neither tails nor a fine grain.
    return standard_normal(keys_of(jax.random.fold_in(key, generation), draws), num_params).astype(dtype)


def _population(
    name: str,
    draw: Draw,
    scale: Scale,
    gradient: Callable[[Sample, Array], Parameters],
    mirrored: bool,
    *,
    init: Callable[[Array, Array], Parameters] = lambda key, centers: Parameters(centers),
    components: Callable[[Array, Array | int, Array], Array] | None = None,
    num_components: int = 1,
) -> Population:
    """A population from its noise and its standard deviations; of one component unless said otherwise."""
    signs = jnp.array([1.0, -1.0]) if mirrored else jnp.array([1.0])
    choose = components or (lambda key, generation, draws: jnp.zeros(len(draws), jnp.int32))

    def sample(key: Array, parameters: Parameters, generation: Array | int, draws: Array) -> Sample:
        noise = draw(key, parameters, generation, draws)
        component = choose(key, generation, draws)
        return Sample(parameters.center, scale(parameters, generation), noise, component, signs, draws)

    def log_prob(parameters: Parameters, vector: Array, generation: Array | int = 0) -> Array:
        # An equal mixture of normals; noise of low rank has the density of the normal that it stands for.
        densities = jax.scipy.stats.norm.logpdf(vector, parameters.center, scale(parameters, generation)).sum(axis=1)
        return jax.nn.logsumexp(densities) - jnp.log(num_components)

    return Population(init, sample, choose, scale, log_prob, gradient, num_components, len(signs), name)


def _named(population: Population, sigma: Schedule, mirrored: bool, noise_dtype: DTypeLike, **more: Any) -> Population:
    """The population, with its settings; a schedule is none, nor is a type that configurations do not know."""
    dtype = jnp.dtype(noise_dtype).name
    found: Population = named(
        population,
        population=population.name,
        sigma=None if callable(sigma) else float(sigma),
        mirrored=mirrored,
        noise_dtype=dtype if dtype in ("float32", "bfloat16") else None,
        **more,
    )
    return found


def _full_noise(dtype: DTypeLike) -> Draw:
    return lambda key, parameters, generation, draws: draw_noise(
        key, generation, draws, parameters.center.shape[1], dtype
    )


def _fixed(sigma: Schedule, num_components: int) -> Scale:
    """One standard deviation for all parameters, by the generation alone."""
    sigma_at = _schedule(sigma)
    return lambda parameters, generation: jnp.full((num_components, 1), sigma_at(generation))


def _gradient(sample: Sample, weights: Array, learns_scale: bool = False) -> Parameters:
    """Of one normal: d log p / d center = sign * noise / scale, and d log p / d log scale = noise^2 - 1."""
    per_draw = weights.reshape(sample.num_draws, -1)
    # Mirrored members share one row of the product.
    center = noise_sum(per_draw @ sample.sign, sample.noise)[None] / sample.scale / sample.num_members
    if not learns_scale:
        return Parameters(center)
    # The 1 is subtracted before the sum, which rounds weights to the noise's type: it would not cancel after it.
    noise = rows(sample.noise)
    spread = (noise.astype(jnp.float32) ** 2 - 1).astype(noise.dtype)
    return Parameters(center, noise_sum(per_draw.sum(axis=1), spread)[None] / sample.num_members)


def _schedule(sigma: Schedule) -> Callable[[Array | int], Array]:
    if callable(sigma):
        return lambda generation: jnp.asarray(sigma(jnp.asarray(generation)), jnp.float32)
    if not sigma > 0:
        raise ValueError(f"sigma, the population's standard deviation, must be positive, got {sigma}.")
    return lambda generation: jnp.asarray(sigma, jnp.float32)
