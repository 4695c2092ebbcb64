"""Several processes as one run: every process has devices of its own, and all of them run the same program.

JAX connects them (`jax.distributed`). The first process alone writes the run folder and talks to people.
"""

import os
import sys
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, NoReturn

from tyro.conf import arg

from evolvability.config.schema import UNSET
from evolvability.core.errors import ConfigError

AUTO = "auto"
HEARTBEAT_SECONDS = 30  # of silence, after which a process counts as gone
GRACE_SECONDS = 1


@dataclass(frozen=True)
class Processes:
    """Several processes, one per machine for instance, as one run: start each with the same options and its own id."""

    coordinator: Annotated[str | None, arg(metavar="HOST:PORT"), UNSET] = None
    """Where process 0 listens; auto where Slurm, Open MPI or a TPU pod starts the processes, and knows the rest."""
    num_processes: Annotated[int | None, arg(metavar="N"), UNSET] = None
    """How many processes there are."""
    process_id: Annotated[int | None, arg(metavar="I"), UNSET] = None
    """Which of them this is, from 0 on."""


def join(processes: Processes) -> None:
    """Become one of several processes, if asked to. To be called before anything else is done with JAX."""
    given = (processes.num_processes, processes.process_id)
    if processes.coordinator is None:
        if given != (None, None):
            raise ConfigError("--num-processes and --process-id need --coordinator HOST:PORT, where process 0 listens.")
        return
    import jax
    from jax.experimental import multihost_utils

    address = None if processes.coordinator == AUTO else _address(processes)
    with _silence():
        try:
            jax.distributed.initialize(address, *given, heartbeat_timeout_seconds=HEARTBEAT_SECONDS)
        except ValueError as error:
            raise ConfigError(
                f"--coordinator {AUTO}: found neither Slurm, nor Open MPI, nor a TPU pod ({error}). "
                "Give --coordinator HOST:PORT, --num-processes N and --process-id I."
            ) from None
        except jax.errors.JaxRuntimeError as error:
            raise ConfigError(f"The processes did not come together at {address}: {error}") from None
        multihost_utils.sync_global_devices("joined")  # the first message also makes Gloo say that it is there
    if not is_first():
        # The descriptor, not sys.stdout: what libraries print themselves is silenced, too.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def is_first() -> bool:
    """Whether this is the process that writes and shows things; where there is one only, it is."""
    import jax

    return jax.process_index() == 0


def agree(text: str) -> None:
    """Make sure that all processes were started with the same options, of which ``text`` is a full account."""
    import jax
    import numpy as np
    from jax.experimental import multihost_utils

    if jax.process_count() == 1:
        return
    # A checksum, since all must gather arrays of one shape, and texts differ in length.
    checksums = multihost_utils.process_allgather(np.uint32(zlib.crc32(text.encode())))
    if len(np.unique(checksums)) > 1:
        raise ConfigError("The processes were given different options. Only --process-id may differ.")


@contextmanager
def first_alone() -> Iterator[bool]:
    """What the first process does before all go on; whether this is the one. If it fails, the others end quietly."""
    try:
        # All processes meet in `_first_says` below, so none goes on before the first is done.
        yield is_first()
    except Exception:
        _first_says(False)
        raise
    if not _first_says(True):
        leave(2)  # the first one has said why


def leave(code: int) -> NoReturn:
    """End this process because of an error. One of several ends at once: the others see it gone, and end too."""
    # Where JAX was not even loaded, there is one process.
    if "jax" not in sys.modules or not sys.modules["jax"].distributed.is_initialized():
        sys.exit(code)
    sys.stdout.flush()
    sys.stderr.flush()
    if is_first():
        time.sleep(GRACE_SECONDS)  # it holds the others together: without it they crash instead of telling why they end
    # Not sys.exit: on its way out JAX would first wait for the others.
    os._exit(code)


def _first_says(word: bool) -> bool:
    import jax
    import numpy as np
    from jax.experimental import multihost_utils

    return bool(multihost_utils.broadcast_one_to_all(np.bool_(word))) if jax.process_count() > 1 else word


def _address(processes: Processes) -> str:
    address, num_processes, process_id = processes.coordinator or "", processes.num_processes, processes.process_id
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit():
        raise ConfigError(f"--coordinator must be HOST:PORT, such as 10.0.0.1:1234, or {AUTO}, got '{address}'.")
    if num_processes is None or process_id is None:
        raise ConfigError(f"--coordinator {address} needs --num-processes N and --process-id I, too.")
    if not 0 <= process_id < num_processes:
        raise ConfigError(
            f"--process-id must be from 0 to {num_processes - 1}, below --num-processes, got {process_id}."
        )
    return address


@contextmanager
def _silence() -> Iterator[None]:
    """Nothing that C++ prints reaches standard output."""
    # Flushed below: what Python has yet to write would vanish, too.
    kept, nowhere = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    sys.stdout.flush()
    os.dup2(nowhere, 1)
    try:
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)
        os.close(nowhere)
