r"""The natural gradient: steepest ascent per change of the distribution, rather than of its parameters.

A gradient depends on how a distribution is written down; measured by the Fisher information $F$ instead, the direction
$F^{-1} \nabla J$ does not (Amari, 1998). For a normal with one standard deviation per parameter, in $\mu_j$ and
$\log \sigma_j$, $F$ is diagonal and known,

$$F_{\mu_j \mu_j} = \frac{1}{\sigma_j^2}, \qquad F_{\log\sigma_j \log\sigma_j} = 2,$$

so that inverting it costs nothing. This is the natural evolution strategy proper (Wierstra et al., 2014), in its
separable form.
"""

import jax.numpy as jnp
import optax

from evolvability.core.types import Parameters


def natural_gradient() -> optax.GradientTransformation:
    r"""Turns the gradient of a `diagonal_normal` into its natural gradient; to be chained before an optimizer.

    $$\tilde\nabla_{\mu_j} J = \sigma_j^2 \nabla_{\mu_j} J, \qquad
    \tilde\nabla_{\log\sigma_j} J = \tfrac12 \nabla_{\log\sigma_j} J.$$

    Examples:
        >>> optimizer = optax.chain(natural_gradient(), optax.sgd(1.0))
        >>> parameters = Parameters(jnp.zeros((1, 2)), jnp.log(jnp.array([[0.5, 2.0]])))
        >>> descent = Parameters(-jnp.ones((1, 2)), -jnp.ones((1, 2)))
        >>> updates, _ = optimizer.update(descent, optimizer.init(parameters), parameters)
        >>> updates.center, updates.log_scale
        (Array([[0.25, 4.  ]], dtype=float32), Array([[0.5, 0.5]], dtype=float32))
    """

    def precondition(gradient: Parameters, parameters: Parameters | None) -> Parameters:
        if parameters is None or parameters.log_scale is None or gradient.log_scale is None:
            raise ValueError(
                "natural_gradient: parameters with learned standard deviations are expected, those of diagonal_normal. "
                "With a fixed one it is the plain gradient times sigma^2: change the learning rate."
            )
        return Parameters(gradient.center * jnp.exp(2 * parameters.log_scale), gradient.log_scale / 2)

    return optax.stateless(precondition)
