"""The HTTP server of a worker that is pushed to."""

from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Callable

from .signature import verify
from .task import Task

MAX_BODY = 16 << 20


class Door(ThreadingHTTPServer):
    """Takes dispatches: checks the signature, hands the task on, and answers 202, or 429 where there is no room."""

    daemon_threads = True

    def __init__(self, listen: tuple[str, int], key: Callable[[], str], take: Callable[[Task], bool]) -> None:
        super().__init__(listen, _Visit)
        self.key = key
        self.take = take


class _Visit(BaseHTTPRequestHandler):
    server: Door
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:  # a probe: any answer will do
        self._answer(200)

    def do_POST(self) -> None:
        try:
            length = int(self.headers.get("Content-Length") or 0)
        except ValueError:
            length = -1
        if not 0 <= length <= MAX_BODY:
            self.close_connection = True
            self._answer(413)
            return
        body = self.rfile.read(length)
        if not verify(self.server.key(), self.headers.get("Ax-Signature") or "", body):
            self._answer(401)
            return
        try:
            task = Task.read(json.loads(body))
        except (KeyError, TypeError, ValueError, AttributeError):
            self._answer(400)
            return
        self._answer(202 if self.server.take(task) else 429)

    def _answer(self, status: int) -> None:
        self.send_response(status)
        self.send_header("Ax-Protocol", "1")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        del format, args
