"""Firefox for tests, as Debian has it: driven by its own protocol, Marionette, on a display of its own."""

import json
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.patience import PATIENCE, attempts

FIREFOX = os.environ.get("FIREFOX") or shutil.which("firefox-esr") or shutil.which("firefox")
XVFB = shutil.which("Xvfb")


class Firefox:
    """A page in Firefox."""

    def __init__(self, port: int) -> None:
        self.socket = _connected(port)
        self.count = 0
        self._read()  # it says who it is
        self.call("WebDriver:NewSession", {"capabilities": {}})
        self.call("WebDriver:SetTimeouts", {"script": int(1000 * PATIENCE)})

    def call(self, name: str, arguments: dict[str, Any]) -> Any:
        """A command of the protocol, and its result."""
        self.count += 1
        message = json.dumps([0, self.count, name, arguments]).encode()
        self.socket.sendall(f"{len(message)}:".encode() + message)
        _, _, error, result = self._read()
        assert error is None, error
        return result

    def _read(self) -> Any:
        length = b""
        while not length.endswith(b":"):
            length += self._received(1)
        content = b""
        while len(content) < int(length[:-1]):
            content += self._received(int(length[:-1]) - len(content))
        return json.loads(content)

    def _received(self, most: int) -> bytes:
        content = self.socket.recv(most)
        assert content, "Firefox has gone"
        return content

    def goto(self, address: str) -> None:
        """Open a page."""
        self.call("WebDriver:Navigate", {"url": address})

    def evaluate(self, expression: str) -> Any:
        """The value of an expression, or what its promise comes to."""
        script = f"const done = arguments[0]; Promise.resolve({expression}).then(done);"
        return self.call("WebDriver:ExecuteAsyncScript", {"script": script, "args": []})["value"]

    def until(self, condition: str) -> None:
        """Wait for a condition."""
        for _ in attempts():
            if self.evaluate(condition):
                return
            time.sleep(0.1)
        raise AssertionError(f"waited in vain for: {condition}")


def _connected(port: int) -> socket.socket:
    for _ in attempts():
        try:
            return socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
        except OSError:
            time.sleep(0.1)
    raise AssertionError("Firefox did not start")


@contextmanager
def _display() -> Iterator[str]:
    """A display: the one that there is, or one that nobody sees."""
    if display := os.environ.get("DISPLAY"):
        yield display
        return
    if XVFB is None:
        pytest.skip("no display for Firefox, which draws with none: install Debian's package xvfb")
    reading, writing = os.pipe()
    command = [XVFB, "-displayfd", str(writing), "-screen", "0", "1280x900x24"]
    with subprocess.Popen(command, pass_fds=[writing], stderr=subprocess.DEVNULL) as server:
        os.close(writing)
        yield f":{os.read(reading, 16).decode().strip()}"
        server.terminate()


def firefoxes() -> Iterator[Firefox]:
    """One Firefox, for all tests of a module."""
    if FIREFOX is None:
        pytest.skip("no Firefox: install Debian's package firefox-esr, or set FIREFOX to a browser's path")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile, _display() as display:
        wanted = {"marionette.port": port, "webgl.force-enabled": "true", "network.proxy.type": 0}
        lines = [f'user_pref("{name}", {value});' for name, value in wanted.items()]
        (Path(profile) / "user.js").write_text("\n".join(lines))
        command = [FIREFOX, "--marionette", "--no-remote", "--profile", profile]
        environment = {**os.environ, "DISPLAY": display, "LIBGL_ALWAYS_SOFTWARE": "1"}
        quiet: Any = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        with subprocess.Popen(command, env=environment, **quiet) as process:
            try:
                yield Firefox(port)
            finally:
                process.terminate()
