"""A worker that is called by http nodes with `protocol: ax`: it registers nowhere, and reports to the result_url it is given."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Mapping

from .client import Away, Client, Refused
from .door import Door
from .task import Handler, Task, carry_out


class Called:
    """Serves handlers at an address. The key is that of the namespace; a dispatch names no handler there, so its node's name is taken for one."""

    def __init__(self, handlers: Mapping[str, Handler], listen: tuple[str, int], key: str, capacity: int = 16) -> None:
        self._handlers = dict(handlers)
        self._pool = ThreadPoolExecutor(max_workers=capacity)
        self._client = Client("http://localhost", "default")
        self._door = Door(listen, lambda: key, self._take)

    @property
    def url(self) -> str:
        """Where it listens."""
        return "http://%s:%d/" % self._door.server_address[:2]

    def run(self) -> None:
        """Serves until stop() is called."""
        self._door.serve_forever()
        self._door.server_close()
        self._pool.shutdown(wait=True)

    def stop(self) -> None:
        """Makes run() end when what runs has ended."""
        self._door.shutdown()

    def _take(self, task: Task) -> bool:
        if not task.result_url:
            return False
        beat = task.result_url.replace("/result?", "/heartbeat?", 1)
        self._pool.submit(self._work, replace(task, progress=lambda value: self._send(beat, {"attempt": task.attempt, "progress": value})))
        return True

    def _work(self, task: Task) -> None:
        self._send(task.result_url, {**carry_out(self._handlers, task), "attempt": task.attempt}, patience=300)

    def _send(self, url: str, body: Mapping[str, object], patience: float = 0) -> None:
        try:
            self._client.insist("POST", url, body, patience)
        except (Away, Refused):
            return  # it is run again, or is another's
