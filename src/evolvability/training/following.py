"""Following a run while it goes on: what a callback gets, how it ends the run, and loggers of other projects."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np

from evolvability.config.schema import Config, to_table
from evolvability.config.tables import flat
from evolvability.core.errors import ConfigError, missing_extra, unknown
from evolvability.core.strategy import State
from evolvability.core.types import Outcome, PyTree
from evolvability.runs.sealed import Arrays
from evolvability.tasks.replay import HostArray
from evolvability.training.evolution import Evolution
from evolvability.training.metrics import Rows, behavior_arrays

TENSORBOARD = "tensorboard"
"""The logger's name, and that of its folder in a run folder."""


class StopTraining(Exception):  # noqa: N818 (nothing went wrong)
    """Raise it in ``on_generation`` to end a run early. What was done is kept, and `resume` can go on with it."""


class Generation(list[dict[str, Any]]):
    """What ``on_generation`` is called with: the metrics of a generation, a row per seed, and more on demand.

    Examples:
        >>> def watch(generation):
        ...     if generation[0]["variance"] > 0.05:
        ...         raise StopTraining
        >>> from evolvability import evolve
        >>> evolve("point", generations=100, population_size=32, on_generation=watch).generations_done < 100
        True
    """

    def __init__(self, rows: Rows, evolution: Evolution, state: State, outcome: Outcome) -> None:
        super().__init__(rows)
        self._evolution, self._state, self._outcome = evolution, state, outcome

    @property
    def number(self) -> int:
        """The generation's number, from 0."""
        return int(self[0]["generation"])

    @property
    def centers(self) -> HostArray:
        """(num_seeds, num_components, num_params) the centers that it led to."""
        return np.asarray(self._state.parameters.center)

    @property
    def center(self) -> PyTree:
        """The center that it led to, of the first seed and component, in the form of the task's parameters."""
        return self._evolution.given.unflatten(jnp.asarray(self.centers[0, 0]))

    def behaviors(self) -> Arrays:
        """What its members did: ``behavior`` (num_seeds, num_members, num_behaviors), ``fitness``, ``valid``..."""
        # Drawn again from its address: an Outcome does not say who belongs to which component.
        return behavior_arrays(self._evolution.components(self._state.key, self.number), self._outcome)


Follow = Callable[[Generation], Any]


@contextmanager
def logged(names: str | Sequence[str], config: Config, output: Path | None) -> Iterator[Callable[[Rows], None]]:
    """Writes every generation's metrics to loggers, by their names: in a sequence, or in one text with commas."""
    wanted = names.split(",") if isinstance(names, str) else names
    if not isinstance(wanted, Sequence) or not all(isinstance(name, str) for name in wanted):
        raise ConfigError(f"log: names of loggers are expected, {' or '.join(LOGGERS)}, got {names!r:.100}.")
    with ExitStack() as held:
        logs = [held.enter_context(_logger(name.strip())(config, output)) for name in wanted if name.strip()]

        def each(rows: Rows) -> None:
            values = _scalars(rows)
            for log in logs:
                log(rows[0]["generation"], values)

        yield each


def _scalars(rows: Rows) -> dict[str, float]:
    """The numbers in rows by name; of several seeds, as ``NAME/seed K``."""
    return {
        name if len(rows) == 1 else f"{name}/seed {row['seed']}": value
        for row in rows
        for name, value in row.items()
        if isinstance(value, int | float) and name not in ("generation", "seed")
    }


Log = Callable[[int, dict[str, float]], None]


@contextmanager
def _tensorboard(config: Config, output: Path | None) -> Iterator[Log]:
    if output is None:
        raise ConfigError("log: TensorBoard's files go into the run folder. Give output, too.")
    try:
        from tensorboard.summary import Writer
    except ModuleNotFoundError as error:
        raise missing_extra("log: TensorBoard", error.name, TENSORBOARD) from None
    writer = None

    def log(generation: int, values: dict[str, float]) -> None:
        nonlocal writer
        writer = writer or Writer(str(output / TENSORBOARD))  # not before the run has its folder
        for name, value in values.items():
            writer.add_scalar(name, value, generation)

    yield log
    if writer:
        writer.close()


@contextmanager
def _wandb(config: Config, output: Path | None) -> Iterator[Log]:
    try:
        import wandb
    except ModuleNotFoundError as error:
        raise missing_extra("log: Weights & Biases", error.name, "wandb") from None
    settings = dict(flat(to_table(config)))
    name = output.name if output else None
    with wandb.init(project="evolvability-es", name=name, config=settings) as run:
        yield lambda generation, values: run.log(values, step=generation)


LOGGERS: dict[str, Any] = {TENSORBOARD: _tensorboard, "wandb": _wandb}
"""What ``log`` may name: ``(config, output) -> `` a context, in which metrics are logged by name."""


def _logger(name: str) -> Any:
    if name not in LOGGERS:
        raise ConfigError(unknown("logger", name, LOGGERS))
    return LOGGERS[name]
