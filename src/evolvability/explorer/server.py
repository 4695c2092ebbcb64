"""The local web server of `ees explore`."""

import threading
import webbrowser
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

from evolvability.errors import ConfigError
from evolvability.explorer.page import page
from evolvability.explorer.service import Explorer, explained

HOST = "127.0.0.1"
NAMES = (HOST, "localhost")
QUESTIONS = "/ask/"


class Server:
    """Serves the page and its answers, to this machine alone.

    Args:
        explorer: what answers.
        port: where; any free one if 0.
    """

    def __init__(self, explorer: Explorer, port: int = 0) -> None:
        html = page().encode()

        class Handler(BaseHTTPRequestHandler):
            """One request."""

            def do_GET(self) -> None:
                """A page or an answer."""
                # A page of somebody else's, under a name that leads to this machine, is not let in.
                if urlsplit(f"//{self.headers.get('Host', '')}").hostname not in NAMES:
                    self._send(HTTPStatus.FORBIDDEN, "text/plain", b"This page is for this machine alone.")
                elif self.path == "/":
                    self._send(HTTPStatus.OK, "text/html; charset=utf-8", html)
                elif self.path.startswith(QUESTIONS):
                    self._answer(self.path.removeprefix(QUESTIONS))
                else:
                    self._send(HTTPStatus.NOT_FOUND, "text/plain", b"There is no such page.")

            def _answer(self, question: str) -> None:
                try:
                    content = explorer.answer(question)
                except Exception as error:  # whatever it is, the page can say it
                    self._send(HTTPStatus.UNPROCESSABLE_ENTITY, "text/plain; charset=utf-8", explained(error).encode())
                else:
                    self._send(HTTPStatus.OK, "application/octet-stream", content)

            def _send(self, status: HTTPStatus, kind: str, content: bytes) -> None:
                try:
                    self.send_response(status)
                    self.send_header("Content-Type", kind)
                    self.send_header("Content-Length", str(len(content)))
                    self.send_header("Cache-Control", "no-store")
                    self.end_headers()
                    self.wfile.write(content)
                except (BrokenPipeError, ConnectionResetError):
                    pass  # the reader has gone elsewhere

            def log_message(self, *_: Any) -> None:
                """Nothing: a page asks often."""

        try:
            self._server = ThreadingHTTPServer((HOST, port), Handler)
        except OSError as error:
            raise ConfigError(
                f"Port {port} cannot be used: {error.strerror or error}. Choose another --port, or 0 for any."
            ) from None
        self._server.daemon_threads = True

    @property
    def address(self) -> str:
        """Where the page is."""
        return f"http://{HOST}:{self._server.server_address[1]}/"

    def open_browser(self) -> None:
        """Show the page in the user's browser."""
        threading.Thread(target=webbrowser.open, args=(self.address,), daemon=True).start()

    def serve(self) -> None:
        """Answer until stopped."""
        self._server.serve_forever(poll_interval=0.2)

    def stop(self) -> None:
        """Stop answering."""
        self._server.shutdown()
        self._server.server_close()
