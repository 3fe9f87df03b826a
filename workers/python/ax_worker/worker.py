"""A worker: registers, takes attempts, runs handlers, reports."""

from __future__ import annotations

import logging
import os
import signal
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, Mapping, Sequence
from urllib.parse import quote

from .client import Away, Client, Refused
from .door import Door
from .task import Handler, Task, carry_out

_log = logging.getLogger("ax_worker")


class Worker:
    """Runs handlers for a server until it is stopped.

    Once the server takes tokens, `token`, or AX_TOKEN in the environment, is that of a developer: it registers with it. It polls, or with `listen` opens a port and is pushed to at `address`. Handlers run in threads, at most `capacity` at once.
    """

    def __init__(
        self,
        server: str,
        id: str,
        handlers: Mapping[str, Handler],
        *,
        namespace: str = "default",
        capacity: int = 4,
        labels: Mapping[str, str] | None = None,
        queues: Sequence[str] | None = None,
        listen: tuple[str, int] | None = None,
        address: str = "",
        app: str = "",
        token: str | None = None,
    ) -> None:
        self._token = os.environ.get("AX_TOKEN", "") if token is None else token
        self._client = Client(server, namespace)
        self._handlers = dict(handlers)
        self._registration: dict[str, Any] = {
            "id": id, "app": app or "python", "host": socket.gethostname(), "labels": dict(labels or {}),
            "handlers": sorted(handlers), "capacity": capacity, "protocol": 1,
        }
        if queues is not None:
            self._registration["queues"] = list(queues)
        self._path = f"/workers/{quote(id)}"
        self._capacity = capacity
        self._stopping = threading.Event()
        self._gone = threading.Event()
        self._lock = threading.Condition()
        self._running: dict[tuple[str, int], Task] = {}
        self._pool = ThreadPoolExecutor(max_workers=capacity)
        self._heartbeat = 10.0
        self._draining = False
        self._door: Door | None = None
        if listen is not None:
            self._door = Door(listen, lambda: self._client.token, self._take)
            self._registration["address"] = address or "http://%s:%d/" % self._door.server_address[:2]

    def run(self, grace: float = 30) -> None:
        """Works until stop() is called or, in the main thread, a SIGTERM or SIGINT comes; then what runs has `grace` seconds to end."""
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, lambda *_: self.stop())
        if self._door is not None:
            threading.Thread(target=self._door.serve_forever, daemon=True).start()
        try:
            if self._register():
                beat = threading.Thread(target=self._beat_on, daemon=True)
                beat.start()
                self._poll_on()
                self._leave(grace)
        finally:
            self._gone.set()
            if self._door is not None:
                self._door.shutdown()
                self._door.server_close()
            self._pool.shutdown(wait=False, cancel_futures=True)

    def stop(self) -> None:
        """Makes run() end: nothing new is taken."""
        self._stopping.set()

    def _register(self) -> bool:
        pause = 0.2
        while not self._stopping.is_set():
            self._client.token = self._token
            try:
                told = self._client.send("POST", "/workers", self._registration)
            except Away as error:
                _log.warning("the server is away: %s", error)
                self._stopping.wait(pause)
                pause = min(pause * 2, 5)
                continue
            self._client.token = told["worker_token"]
            self._heartbeat = float(told["heartbeat_seconds"])
            self._draining = False
            _log.info("registered as %s", told.get("incarnation"))
            return True
        return False

    def _poll_on(self) -> None:
        while not self._stopping.is_set():
            room = self._await_room()
            if room == 0 or self._door is not None or self._draining:
                self._stopping.wait(0.2)
                continue
            try:
                wait = min(20.0, self._heartbeat)
                for body in self._client.send("POST", self._path + "/poll", {"max": room, "wait_seconds": wait}, timeout=wait + 15):
                    self._take(Task.read(body))
            except Away as error:
                _log.warning("the server is away: %s", error)
                self._stopping.wait(1)
            except Refused as error:
                _log.warning("a poll was refused: %s", error)
                self._stopping.wait(0.5)  # the heartbeat registers anew, if that is it

    def _await_room(self) -> int:
        with self._lock:
            self._lock.wait_for(lambda: len(self._running) < self._capacity, timeout=0.5)
            return self._capacity - len(self._running)

    def _take(self, task: Task) -> bool:
        key = (task.execution_id, task.attempt)
        path = f"/executions/{quote(task.execution_id)}"
        task = replace(
            task,
            log=lambda text: self._say(path + "/logs", {"attempt": task.attempt, "lines": [{"text": line} for line in text.splitlines()]}),
            progress=lambda value: self._say(path + "/heartbeat", {"attempt": task.attempt, "progress": value}),
        )
        with self._lock:
            if key in self._running:
                return True  # it came twice
            if len(self._running) >= self._capacity or self._stopping.is_set():
                return False
            self._running[key] = task
        self._pool.submit(self._work, task)
        return True

    def _work(self, task: Task) -> None:
        try:
            report = carry_out(self._handlers, task)
            if not task.cancelled.is_set():
                self._report(task, report)
        finally:
            with self._lock:
                self._running.pop((task.execution_id, task.attempt), None)
                self._lock.notify_all()

    def _report(self, task: Task, report: dict[str, Any]) -> None:
        try:
            self._client.insist("POST", task.result_url or f"/executions/{quote(task.execution_id)}/result", {**report, "attempt": task.attempt}, patience=300)
        except Refused as error:  # stale, or an output that cannot be kept
            _log.warning("the report of %s was refused: %s", task.execution_id, error)
        except Away as error:
            _log.error("the report of %s did not arrive; it will be run again: %s", task.execution_id, error)
        except (TypeError, ValueError) as error:  # the output is no JSON
            self._report(task, {"status": "failed", "error": {"class": "permanent", "code": "invalid_output", "message": str(error)}})

    def _say(self, path: str, body: Mapping[str, Any]) -> None:
        """Sends what may be lost."""
        try:
            self._client.send("POST", path, body)
        except (Away, Refused) as error:
            _log.info("not told: %s", error)

    def _beat_on(self) -> None:
        heard, pause = time.monotonic(), 0.0  # at once: a worker that is pushed to gets something from its first beat on
        while not self._gone.wait(pause):
            pause = self._heartbeat
            with self._lock:
                running = list(self._running)
            try:
                told = self._client.send("PUT", self._path + "/heartbeat", {"running": [{"execution_id": i, "attempt": n} for i, n in running]}, timeout=self._heartbeat)
                heard = time.monotonic()
                self._draining = bool(told.get("drain"))
                self._cancel({(c["execution_id"], c["attempt"]) for c in told["cancel"]})
            except Refused as error:
                _log.warning("this worker is not known any more: %s", error)
                self._cancel(set(running))
                if self._register():
                    heard, pause = time.monotonic(), 0.0
            except Away as error:
                _log.warning("the server is away: %s", error)
                pause = min(self._heartbeat, 1.0)
                if time.monotonic() - heard > 3 * self._heartbeat:  # before others take over
                    self._cancel(set(running))

    def _cancel(self, keys: set[tuple[str, int]]) -> None:
        with self._lock:
            for key in keys & set(self._running):
                self._running[key].cancelled.set()

    def _leave(self, grace: float) -> None:
        with self._lock:
            self._lock.wait_for(lambda: not self._running, timeout=grace)
        try:
            self._client.send("DELETE", self._path, None)
        except (Away, Refused) as error:
            _log.warning("the worker could not unregister: %s", error)
