"""The worker against a server that is scripted here."""

from __future__ import annotations

import json
import logging
import threading
import time
import unittest
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from ax_worker import Permanent, Retry, Skip, Task, Worker
from ax_worker.signature import sign, verify
from ax_worker.task import carry_out


logging.getLogger("ax_worker").setLevel(logging.CRITICAL)  # the server's end is part of every test


class Script(ThreadingHTTPServer):
    """Plays the server: gives out what is queued, keeps what is reported."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Page)
        self.lock = threading.Condition()
        self.queue: list[dict[str, Any]] = []
        self.cancel: list[dict[str, Any]] = []
        self.seen: list[tuple[str, str, Any]] = []
        self.address = ""
        self.broken = 0

    @property
    def url(self) -> str:
        return "http://%s:%d" % self.server_address[:2]

    def wait(self, ending: str) -> Any:
        """Waits for a request and returns its body."""
        with self.lock:
            found = self.lock.wait_for(lambda: [b for _, p, b in self.seen if p.endswith(ending)], timeout=20)
        if not found:
            raise AssertionError(f"nothing came to {ending}: {self.seen}")
        return found[-1]


class Page(BaseHTTPRequestHandler):
    server: Script

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"null")
        answer: Any = {}
        with self.server.lock:
            self.server.seen.append((self.command, self.path, body))
            if self.path.endswith("/workers"):
                answer = {"worker_token": "key", "heartbeat_seconds": 0.1}
                self.server.address = body.get("address", "")
            elif self.path.endswith("/poll"):
                answer, self.server.queue = self.server.queue, []
            elif self.path.endswith("/workers/w/heartbeat"):
                answer = {"cancel": self.server.cancel, "server_time": ""}
            elif self.path.endswith("/result") and self.server.broken > 0:
                self.server.broken -= 1
                self.send_error(503)
                return
            self.server.lock.notify_all()
        text = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_PUT = do_DELETE = do_POST

    def log_message(self, format: str, *args: object) -> None:
        del format, args


def dispatch(handler: str, **more: Any) -> dict[str, Any]:
    return {"version": 1, "execution_id": f"run:{handler}:1", "attempt": 2, "handler": handler, "inputs": {"n": 1}, "future": True, **more}


class WorkerTest(unittest.TestCase):
    def setUp(self) -> None:
        self.server = Script()
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)

    def start(self, handlers: dict[str, Any], **options: Any) -> Worker:
        worker = Worker(self.server.url, "w", handlers, **options)
        thread = threading.Thread(target=worker.run, kwargs={"grace": 5})
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(worker.stop)
        self.server.wait("/workers")
        return worker

    def test_polls_runs_and_reports(self) -> None:
        def add(task: Task) -> object:
            task.log("one\ntwo")
            task.progress({"half": True})
            return {"n": task.inputs["n"] + 1}

        self.server.broken = 1  # the first report finds nobody
        self.server.queue.append(dispatch("add"))
        self.start({"add": add})
        self.assertEqual({"status": "succeeded", "output": {"n": 2}, "attempt": 2}, self.server.wait("run%3Aadd%3A1/result"))
        self.assertEqual(["one", "two"], [line["text"] for line in self.server.wait("/logs")["lines"]])
        self.assertEqual({"half": True}, self.server.wait("run%3Aadd%3A1/heartbeat")["progress"])

    def test_cancel_reaches_the_handler_and_its_result_is_dropped(self) -> None:
        ended = threading.Event()

        def long(task: Task) -> object:
            task.cancelled.wait(20)
            ended.set()
            return None

        self.server.queue.append(dispatch("long"))
        self.start({"long": long})
        with self.server.lock:
            self.server.lock.wait_for(lambda: any(b and b.get("running") for _, p, b in self.server.seen if p.endswith("/w/heartbeat")), timeout=20)
            self.server.cancel = [{"execution_id": "run:long:1", "attempt": 2}]
        self.assertTrue(ended.wait(20))
        self.assertFalse([p for _, p, _ in self.server.seen if p.endswith("/result")])

    def test_leaves_when_what_runs_has_ended(self) -> None:
        self.server.queue.append(dispatch("slow"))
        begun = threading.Event()

        def slow(task: Task) -> object:
            begun.set()
            time.sleep(0.3)
            return task.attempt

        worker = self.start({"slow": slow})
        self.assertTrue(begun.wait(20))
        worker.stop()
        self.server.wait("/workers/w")
        methods = [m for m, p, _ in self.server.seen if p.endswith("/result") or p.endswith("/workers/w")]
        self.assertEqual(["POST", "DELETE"], methods)

    def test_is_pushed_to_by_who_has_the_key(self) -> None:
        self.start({"add": lambda task: task.attempt}, listen=("127.0.0.1", 0))
        self.server.wait("/w/heartbeat")  # it knows its token
        body = json.dumps(dispatch("add", result_url=self.server.url + "/mine/result")).encode()
        now = int(time.time())
        for header, status in ((sign("key", body, now), 202), (sign("guess", body, now), 401), (sign("key", body, now - 301), 401), ("", 401)):
            request = urllib.request.Request(self.server.address, data=body, headers={"Ax-Signature": header})
            try:
                with urllib.request.urlopen(request, timeout=20) as answer:
                    got = answer.status
                    self.assertEqual("1", answer.headers["Ax-Protocol"])
            except urllib.error.HTTPError as error:
                with error:
                    got = error.code
            self.assertEqual(status, got, header)
        self.assertEqual(2, self.server.wait("/mine/result")["output"])


class OutcomeTest(unittest.TestCase):
    def test_every_end_has_its_report(self) -> None:
        def raises(error: Exception) -> Any:
            def handler(task: Task) -> object:
                raise error

            return handler

        task = Task(execution_id="e", attempt=1, handler="h")
        for error, status, details in (
            (Permanent("no", code="c"), "failed", {"class": "permanent", "code": "c", "message": "no"}),
            (Retry("busy", after=3), "failed", {"class": "system", "code": "failed", "message": "busy", "retry_after": 3}),
            (ValueError("x"), "failed", {"class": "system", "code": "ValueError", "message": "x"}),
            (Skip("none"), "skipped", {"message": "none"}),
        ):
            self.assertEqual({"status": status, "error": details}, carry_out({"h": raises(error)}, task))
        self.assertEqual("unknown_handler", carry_out({}, task)["error"]["code"])

    def test_signatures(self) -> None:
        self.assertTrue(verify("k", sign("k", b"x", 1000), b"x", now=1200))
        self.assertFalse(verify("k", sign("k", b"x", 1000), b"y", now=1200))
        self.assertFalse(verify("k", "t=x,v1=y", b"x", now=1200))
        self.assertFalse(verify("k", "schräg", b"x", now=1200))


if __name__ == "__main__":
    unittest.main()
