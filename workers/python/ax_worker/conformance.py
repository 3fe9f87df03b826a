"""The handlers that `ax worker conformance` asks for, as a worker of each kind: python3 -m ax_worker.conformance --help."""

from __future__ import annotations

import argparse
import time

from .called import Called
from .task import Handler, Permanent, Retry, Skip, Task
from .worker import Worker


def echo(task: Task) -> object:
    """Gives back its inputs."""
    return task.inputs


def permanent(task: Task) -> object:
    """Fails for good."""
    del task
    raise Permanent("as asked", code="asked")


def system(task: Task) -> object:
    """Fails in a way that another attempt may mend."""
    del task
    raise Retry("as asked", after=1, code="asked")


def skip(task: Task) -> object:
    """Has nothing to do."""
    del task
    raise Skip("as asked")


def sleep(task: Task) -> object:
    """Takes a while, or until it is cancelled."""
    until = time.monotonic() + float(task.inputs["seconds"])
    task.progress({"sleeps": True})
    while time.monotonic() < until and not task.cancelled.wait(0.05):
        pass
    return {"cancelled": task.cancelled.is_set()}


HANDLERS: dict[str, Handler] = {
    "conformance.echo": echo,
    "conformance.permanent": permanent,
    "conformance.system": system,
    "conformance.skip": skip,
    "conformance.sleep": sleep,
}


def main() -> None:
    """Runs a worker with these handlers."""
    parser = argparse.ArgumentParser(prog="ax_worker.conformance")
    parser.add_argument("--server", default="", help="poll this server, or with --listen be pushed to by it")
    parser.add_argument("--listen", default="", help="the address to be pushed to at, as 127.0.0.1:8000")
    parser.add_argument("--key", default="", help="be called, without a registration, with this key")
    parser.add_argument("--id", default="conformance")
    options = parser.parse_args()
    host, _, port = options.listen.rpartition(":")
    listen = (host, int(port)) if options.listen else None
    if options.server:
        Worker(options.server, options.id, HANDLERS, listen=listen).run()
    elif listen is None:
        parser.error("give --server, --listen or both")
    else:
        called = Called(HANDLERS, listen, options.key)
        print(called.url, flush=True)
        called.run()


if __name__ == "__main__":
    main()
