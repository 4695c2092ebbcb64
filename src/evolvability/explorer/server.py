"""The local web server of `ees explore`."""

import ipaddress
import os
import secrets
import socket
import sys
import threading
import webbrowser
from contextlib import suppress
from email.message import Message
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from evolvability.core.errors import ConfigError, UserError, described, given
from evolvability.explorer.page import page
from evolvability.explorer.service import Explorer

HOST = "127.0.0.1"
QUESTIONS = "ask/"
EVERYWHERE = ("0.0.0.0", "")
HEADERS = {
    # The page brings everything along: nothing may be loaded from elsewhere, nor sent there.
    "Content-Security-Policy": "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src 'self' data: blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}


class Server(ThreadingHTTPServer):
    """Serves the page and its answers: at any free port if 0, and to this machine alone unless the host is 0.0.0.0."""

    daemon_threads = True  # a slow answer does not keep the program from ending
    request_queue_size = 1024  # of requests that come at once

    def __init__(self, explorer: Explorer, port: int = 0, host: str = HOST) -> None:
        self.explorer, self.host, self.html = explorer, host, page().encode()
        # Before all paths: other users of this machine can reach the port, but do not know it.
        self.token = secrets.token_urlsafe(16)
        try:
            super().__init__((host, port), Handler)
        except (OSError, OverflowError) as error:  # OverflowError: of a port above 65535
            raise ConfigError(
                f"Port {port} of {host} cannot be used: {getattr(error, 'strerror', '') or error}. "
                f"Choose another port, or any: {given(port=0)}."
            ) from None

    def verify_request(self, request: Any, client_address: Any) -> bool:
        """Refuse other users of this machine, who may see the address where a browser was started with it."""
        return self.host != HOST or owner(client_address) in (None, 0, os.getuid())

    @property
    def address(self) -> str:
        """Where the page is, for whoever may see it; with the token that lets them in."""
        shown = _outward() if self.host in EVERYWHERE else self.host
        return f"http://{shown}:{self.server_address[1]}/{self.token}/"

    def open_browser(self) -> None:
        """Show the page in the user's browser."""
        # In a thread: a browser of the terminal returns only when it is closed.
        threading.Thread(target=webbrowser.open, args=(self.address,), daemon=True).start()


class Handler(BaseHTTPRequestHandler):
    """One request to a `Server`."""

    server: Server
    """The server that got the request."""
    timeout = 60  # seconds in which a request must have been sent

    def do_GET(self) -> None:
        """A page or an answer."""
        if not is_own(self.headers, self.server.host):
            self._send(HTTPStatus.FORBIDDEN, "text/plain", b"Pages from elsewhere are not answered.")
            return
        _, token, path = [*self.path.split("/", 2), "", ""][:3]
        if not secrets.compare_digest(token.encode(), self.server.token.encode()):
            self._send(HTTPStatus.FORBIDDEN, "text/plain", b"Open the address that ees explore printed, whole.")
        elif not path:
            self._send(HTTPStatus.OK, "text/html; charset=utf-8", self.server.html)
        elif path.startswith(QUESTIONS):
            self._answer(path.removeprefix(QUESTIONS))
        else:
            self._send(HTTPStatus.NOT_FOUND, "text/plain", b"There is no such page.")

    def _answer(self, question: str) -> None:
        try:
            content = self.server.explorer.answer(question)
        except Exception as error:  # whatever it is, the page can say it
            text = str(error) if isinstance(error, UserError) else described(error)
            self._send(HTTPStatus.UNPROCESSABLE_ENTITY, "text/plain; charset=utf-8", text.encode())
        else:
            self._send(HTTPStatus.OK, "application/octet-stream", content)

    def _send(self, status: HTTPStatus, kind: str, content: bytes) -> None:
        try:
            self.send_response(status)
            for name, value in {"Content-Type": kind, "Content-Length": str(len(content)), **HEADERS}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)
        except (BrokenPipeError, ConnectionResetError):
            pass  # the reader has gone elsewhere

    def log_message(self, *_: Any) -> None:
        """Nothing: a page asks often."""


def owner(client: tuple[str, int]) -> int | None:
    """The user whose process is at the other end of a connection from this machine; None where nobody tells."""
    address, port = client
    place = f"{int.from_bytes(socket.inet_aton(address), sys.byteorder):08X}:{port:04X}"
    with suppress(OSError):  # this is not Linux
        for line in Path("/proc/net/tcp").read_text().splitlines():
            if line.split()[1] == place:
                return int(line.split()[7])
    return None


def _outward() -> str:
    """The address of this machine that others reach it by; no packet is sent to find it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one, suppress(OSError):
        one.connect(("192.0.2.1", 9))  # an address for documentation: it leads nowhere
        return str(one.getsockname()[0])
    return HOST


def is_own(headers: Message, host: str) -> bool:
    """Whether a request comes from the explorer's own page, or from a person's address bar.

    Somebody else's page may know the port, and may have a name made to lead to this machine: its requests arrive, but
    with that name as their Host, or marked by the browser as coming from another site.
    """
    asked = headers.get("Host") or ""
    try:
        name = urlsplit(f"//{asked}").hostname or ""
        # Where others are served, an address will do; a name that is not one could be made to lead anywhere.
        # Of what is not an address, ip_address raises a ValueError.
        is_known = name in (HOST, "localhost", host) or (host != HOST and bool(ipaddress.ip_address(name)))
    except ValueError:
        return False
    is_same_site = headers.get("Sec-Fetch-Site", "none") in ("none", "same-origin")
    return is_known and is_same_site and headers.get("Origin") in (None, f"http://{asked}")
