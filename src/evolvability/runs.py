"""The run folder: written whole or not at all, resumed, read.

    runs/NAME/
      config.toml          every knob; `ees train --config` repeats the run
      environment.json     versions, devices, commit
      metrics.jsonl        one object a generation and seed, see docs/metrics.md
      behaviors/           the population's behaviors, generation by generation
      checkpoints/         State as safetensors + JSON, the last ones

Nothing in it is executable: opening somebody else's run folder never runs code.
"""

import hashlib
import json
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import filelock
import jax
import jax.numpy as jnp
import numpy as np
import safetensors
import safetensors.numpy

from evolvability.config import Config, from_table, read_toml, to_toml
from evolvability.environment import describe_environment
from evolvability.errors import ConfigError, RunFolderError
from evolvability.types import PyTree

KEPT_CHECKPOINTS = 3
RUN_FOLDER_NAMES = {"config.toml", "environment.json", "metrics.jsonl", "behaviors", "checkpoints", ".lock"}

Arrays = dict[str, np.ndarray[Any, Any]]


class Run:
    """A run folder, to read from. Works while the run is still going on.

    Examples:
        >>> from evolvability import Run
        >>> run = Run("runs/interference-max_entropy-1")  # doctest: +SKIP
        >>> run.metrics["variance"].shape                 # doctest: +SKIP
        (10, 2000)
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        if not (self.path / "config.toml").is_file():
            raise RunFolderError(f"{self.path} is no run folder: it has no config.toml.")
        try:
            self.config: Config = from_table(read_toml(self.path / "config.toml"))
        except ConfigError as error:
            raise RunFolderError(f"{self.path} cannot be read: {error}") from None

    def __repr__(self) -> str:
        return f"Run({str(self.path)!r})"

    @property
    def seeds(self) -> range:
        """The seeds of the run."""
        return range(self.config.seed, self.config.seed + self.config.seeds)

    @property
    def environment(self) -> dict[str, Any]:
        """Versions, devices and commit of the process that made the run."""
        return dict(json.loads((self.path / "environment.json").read_text()))

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The objects in metrics.jsonl, up to the last complete generation."""
        rows = list(_complete_rows(self.path / "metrics.jsonl"))
        return rows[: len(rows) - len(rows) % self.config.seeds]

    @property
    def metrics(self) -> Arrays:
        """Every metric by name: (num_seeds, num_generations), with a further axis for ``center``. Missing is nan."""
        return metric_arrays(self.rows, self.config.seeds)

    @property
    def recorded(self) -> list[int]:
        """The generations whose behaviors were kept."""
        return sorted(int(path.stem) for path in (self.path / "behaviors").glob("*.safetensors"))

    def behaviors(self, generation: int | None = None) -> Arrays:
        """One recorded generation (the last unless given).

        Returns:
            ``behavior`` (num_seeds, num_members, num_behaviors); ``fitness``, ``valid``, ``component``
            (num_seeds, num_members).
        """
        recorded = self.recorded
        generation = recorded[-1] if generation is None and recorded else generation
        if generation not in recorded:
            nearby = f"recorded: {_summary(recorded)}" if recorded else "none was recorded"
            raise RunFolderError(f"{self.path} has no behaviors of generation {generation}; {nearby}.")
        return _load_arrays(self.path / "behaviors" / f"{generation:06d}.safetensors")

    def state(self, generation: int | None = None) -> Arrays:
        """A checkpoint's arrays by name, with a seed axis in front; the newest intact one unless given a generation."""
        return load_checkpoint(self.path, generation)[1]

    @property
    def center(self) -> np.ndarray[Any, Any]:
        """(num_seeds, num_components, num_params) the newest center."""
        return self.state()["cloud/center"]

    @property
    def is_complete(self) -> bool:
        """Whether every generation is done, and the last checkpoint is intact."""
        last = self.config.generations
        return checkpoint_generations(self.path)[-1:] == [last] and _is_intact(_checkpoint_stem(self.path, last))


class RunWriter:
    """Writes a run folder. One process at a time: see `locked`."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def create(self, config: Config) -> None:
        """A new folder for a run."""
        for name in ("behaviors", "checkpoints"):
            (self.path / name).mkdir(exist_ok=True)
        write_whole(self.path / "environment.json", json.dumps(describe_environment(), indent=2).encode())
        (self.path / "metrics.jsonl").touch()
        self.write_config(config)

    def write_config(self, config: Config) -> None:
        """The configuration. Written last when a folder is created: it makes the folder a run."""
        write_whole(self.path / "config.toml", to_toml(config).encode())

    def rewind(self, generation: int) -> None:
        """Forget what was recorded from a generation on, so that it can be done again."""
        rows = [row for row in _complete_rows(self.path / "metrics.jsonl") if row["generation"] < generation]
        write_whole(self.path / "metrics.jsonl", "".join(json.dumps(row) + "\n" for row in rows).encode())
        for path in (self.path / "behaviors").iterdir():
            if not path.stem.isdigit() or int(path.stem) >= generation:
                path.unlink()
        for old in checkpoint_generations(self.path):
            if old > generation:
                self._remove_checkpoint(old)

    def record_metrics(self, rows: list[dict[str, Any]]) -> None:
        """Append one generation's rows."""
        with (self.path / "metrics.jsonl").open("a") as file:
            file.write("".join(json.dumps(row) + "\n" for row in rows))

    def record_behaviors(self, generation: int, arrays: Arrays) -> None:
        """Keep one generation's behaviors."""
        data = safetensors.numpy.save(arrays)
        write_whole(self.path / "behaviors" / f"{generation:06d}.safetensors", data, sync=False)

    def checkpoint(self, state: PyTree) -> None:
        """Save a State with a seed axis; the JSON beside the arrays is written last and vouches for them."""
        generation = int(state.generation[0])
        with (self.path / "metrics.jsonl").open("a") as file:
            os.fsync(file.fileno())  # a checkpoint is never ahead of its metrics
        data = safetensors.numpy.save(named_arrays(state))
        stem = _checkpoint_stem(self.path, generation)
        write_whole(stem.with_suffix(".safetensors"), data)
        voucher = {"generation": generation, "sha256": hashlib.sha256(data).hexdigest()}
        write_whole(stem.with_suffix(".json"), json.dumps(voucher).encode())
        for old in checkpoint_generations(self.path)[:-KEPT_CHECKPOINTS]:
            self._remove_checkpoint(old)

    def _remove_checkpoint(self, generation: int) -> None:
        stem = _checkpoint_stem(self.path, generation)
        for suffix in (".json", ".safetensors"):
            stem.with_suffix(suffix).unlink(missing_ok=True)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a run folder for this process alone; the lock ends with the process, however it ends."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        lock = filelock.FileLock(path / ".lock", timeout=0)
        lock.acquire()
    except filelock.Timeout:
        raise RunFolderError(
            f"{path} is in use: another process is writing to it. Wait for it, or choose another --output."
        ) from None
    except OSError as error:
        raise RunFolderError(f"{path} cannot be written: {error.strerror or error}. Choose another --output.") from None
    try:
        yield
    finally:
        lock.release()


def checkpoint_generations(path: Path) -> list[int]:
    """The generations of the checkpoints in a run folder, oldest first."""
    return sorted(int(voucher.stem) for voucher in (path / "checkpoints").glob("*.json") if voucher.stem.isdigit())


def load_checkpoint(path: Path, generation: int | None = None) -> tuple[int, Arrays]:
    """The newest intact checkpoint, or that of a generation. A damaged one is named and passed over."""
    available = checkpoint_generations(path)
    if generation is not None and generation not in available:
        raise RunFolderError(f"{path} has no checkpoint of generation {generation}; kept: {_summary(available)}.")
    for candidate in reversed(available) if generation is None else [generation]:
        try:
            return candidate, _verified_arrays(_checkpoint_stem(path, candidate))
        except RunFolderError as error:
            if generation is not None:
                raise
            warnings.warn(f"{error} The one before is used.", stacklevel=2)
    raise RunFolderError(
        f"{path} has no intact checkpoint. Start the run anew with: ees train --config {path}/config.toml"
    )


def named_arrays(tree: PyTree) -> Arrays:
    """A pytree's leaves by their path; random keys as their bits."""
    return {_name(path): np.ascontiguousarray(_bits(leaf)) for path, leaf in jax.tree_util.tree_leaves_with_path(tree)}


def restore(template: PyTree, arrays: Arrays) -> PyTree:
    """A pytree like ``template`` (shapes are enough) filled with named arrays."""

    def fill(path: Any, leaf: Any) -> Any:
        name = _name(path)
        is_key = jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
        expected = jax.eval_shape(jax.random.key_data, leaf) if is_key else leaf
        found = arrays.get(name)
        if found is None or found.shape != expected.shape or found.dtype != expected.dtype:
            got = "nothing" if found is None else f"{found.dtype}{list(found.shape)}"
            raise RunFolderError(
                f"The checkpoint does not fit the configuration: {name} should be {expected.dtype}"
                f"{list(expected.shape)}, got {got}. Was config.toml edited?"
            )
        return jax.random.wrap_key_data(jnp.asarray(found)) if is_key else jnp.asarray(found)

    return jax.tree_util.tree_map_with_path(fill, template)


def metric_arrays(rows: list[dict[str, Any]], num_seeds: int) -> Arrays:
    """Rows as arrays by name: (num_seeds, num_generations), with a further axis for ``center``. Missing is nan."""
    names = rows[0].keys() - {"seed"} if rows else set()
    columns = {name: np.array([_number(row.get(name)) for row in rows], np.float64) for name in sorted(names)}
    return {name: column.reshape(-1, num_seeds, *column.shape[1:]).swapaxes(0, 1) for name, column in columns.items()}


def write_whole(path: Path, data: bytes, *, sync: bool = True) -> None:
    """Write a file so that a reader sees all of it or none, even after a crash."""
    temporary = path.with_suffix(path.suffix + ".part")
    with temporary.open("wb") as file:
        file.write(data)
        if sync:
            file.flush()
            os.fsync(file.fileno())
    temporary.replace(path)


def _checkpoint_stem(path: Path, generation: int) -> Path:
    return path / "checkpoints" / f"{generation:06d}"


def _intact_bytes(stem: Path) -> bytes | None:
    """A checkpoint's arrays as they lie on disk, if its voucher fits them."""
    try:
        voucher = json.loads(stem.with_suffix(".json").read_text())
        data = stem.with_suffix(".safetensors").read_bytes()
        return data if hashlib.sha256(data).hexdigest() == voucher["sha256"] else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _is_intact(stem: Path) -> bool:
    return _intact_bytes(stem) is not None


def _verified_arrays(stem: Path) -> Arrays:
    data = _intact_bytes(stem)
    if data is None:
        raise RunFolderError(f"The checkpoint {stem.with_suffix('.safetensors')} is damaged.")
    return safetensors.numpy.load(data)


def _load_arrays(path: Path) -> Arrays:
    try:
        return safetensors.numpy.load_file(path)
    except (OSError, safetensors.SafetensorError) as error:
        raise RunFolderError(f"{path} is damaged: {error}.") from None


def _complete_rows(path: Path) -> Iterator[dict[str, Any]]:
    """Rows of a file that may still be growing, or end in the middle of a line."""
    if not path.is_file():
        return
    for line in path.read_text().splitlines():
        try:
            row = json.loads(line)
        except ValueError:
            return
        yield row


def _number(value: Any) -> Any:
    return np.nan if value is None else value


def _name(path: Any) -> str:
    return jax.tree_util.keystr(path, simple=True, separator="/")


def _bits(leaf: Any) -> np.ndarray[Any, Any]:
    is_key = jnp.issubdtype(jnp.asarray(leaf).dtype, jax.dtypes.prng_key)
    return np.asarray(jax.random.key_data(leaf) if is_key else leaf)


def _summary(generations: list[int]) -> str:
    if not generations:
        return "none"
    return ", ".join(map(str, generations)) if len(generations) <= 6 else f"{generations[0]} to {generations[-1]}"
