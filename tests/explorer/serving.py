"""An explorer that is asked, by tests or by a browser."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import safetensors.numpy

from evolvability import Run
from evolvability.explorer.server import Server
from evolvability.explorer.service import Explorer


def arrays(explorer: Explorer, question: str) -> dict[str, Any]:
    return dict(safetensors.numpy.load(explorer.answer(question)))


@contextmanager
def serving(*runs: Run) -> Iterator[str]:
    """The address of an explorer."""
    server = Server(Explorer(runs))
    threading.Thread(target=server.serve_forever, args=(0.2,), daemon=True).start()
    try:
        yield server.address
    finally:
        server.shutdown()
        server.server_close()
