"""What a handler is given, and how it ends."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any, Callable, Mapping


class Permanent(Exception):
    """An error that another attempt cannot mend: the node fails at once."""

    def __init__(self, message: str, code: str = "failed") -> None:
        super().__init__(message)
        self.code = code


class Retry(Exception):
    """An error that another attempt may mend, not before `after` seconds."""

    def __init__(self, message: str, after: float = 0, code: str = "failed") -> None:
        super().__init__(message)
        self.after = after
        self.code = code


class Skip(Exception):
    """There is nothing to do: the node is skipped, with this reason."""


def _no_progress(value: object) -> None:
    del value


def _no_log(text: str) -> None:
    del text


@dataclass(frozen=True)
class Task:
    """One attempt of a node run.

    `execution_id` is the same for all attempts of it: hand it to other systems as their idempotency key. `cancelled` is set when the attempt is not
    this worker's any more; what the handler returns then is dropped.
    """

    execution_id: str
    attempt: int
    handler: str
    workflow: str = ""
    node: str = ""
    run_id: str = ""
    logical_date: str = ""
    scheduled_at: str = ""
    deadline: str = ""
    shard_index: int = 0
    shard_total: int = 1
    item: Any = None
    params: Mapping[str, Any] = field(default_factory=dict)
    inputs: Mapping[str, Any] = field(default_factory=dict)
    result_url: str = ""
    cancelled: threading.Event = field(default_factory=threading.Event, compare=False)
    log: Callable[[str], None] = field(default=_no_log, compare=False)
    progress: Callable[[object], None] = field(default=_no_progress, compare=False)

    @staticmethod
    def read(body: Mapping[str, Any]) -> "Task":
        """Reads a dispatch; fields that are not known are ignored. KeyError or ValueError says that it is none."""
        shard = body.get("shard") or {}
        return Task(
            execution_id=str(body["execution_id"]),
            attempt=int(body["attempt"]),
            handler=str(body.get("handler") or body.get("node") or ""),
            workflow=str(body.get("workflow", "")),
            node=str(body.get("node", "")),
            run_id=str(body.get("run_id", "")),
            logical_date=str(body.get("logical_date", "")),
            scheduled_at=str(body.get("scheduled_at", "")),
            deadline=str(body.get("deadline", "")),
            shard_index=int(shard.get("index", 0)),
            shard_total=int(shard.get("total", 1)),
            item=body.get("item"),
            params=body.get("params") or {},
            inputs=body.get("inputs") or {},
            result_url=str(body.get("result_url", "")),
        )


Handler = Callable[[Task], object]


def carry_out(handlers: Mapping[str, Handler], task: Task) -> dict[str, Any]:
    """Runs the handler and tells how it ended, as the protocol writes it."""
    handler = handlers.get(task.handler)
    if handler is None:
        return _failed("permanent", "unknown_handler", f"this worker knows no handler {task.handler!r}")
    try:
        return {"status": "succeeded", "output": handler(task)}
    except Skip as reason:
        return {"status": "skipped", "error": {"message": str(reason)}}
    except Permanent as error:
        return _failed("permanent", error.code, str(error))
    except Retry as error:
        report = _failed("system", error.code, str(error))
        if error.after > 0:
            report["error"]["retry_after"] = error.after
        return report
    except Exception as error:  # whatever a handler raises is its attempt's end, never the worker's
        return _failed("system", type(error).__name__, str(error) or repr(error))


def _failed(error_class: str, code: str, message: str) -> dict[str, Any]:
    return {"status": "failed", "error": {"class": error_class, "code": code, "message": message}}
