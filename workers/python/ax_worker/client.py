"""The requests of the worker protocol."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from typing import Any, Mapping
from urllib.parse import quote


class Refused(Exception):
    """The server's answer to a request that it will not carry out, however often it is sent."""

    def __init__(self, status: int, body: str) -> None:
        super().__init__(f"{status}: {body[:500]}")
        self.status = status


class Away(Exception):
    """The server does not answer, or says that it cannot now."""


class Client:
    """Sends JSON to one server, as one worker."""

    def __init__(self, server: str, namespace: str) -> None:
        self._base = f"{server.rstrip('/')}/api/v1/namespaces/{quote(namespace)}"
        self.token = ""

    def send(self, method: str, path: str, body: Mapping[str, Any] | None, timeout: float = 30) -> Any:
        """Sends one request to a path below the namespace, or to a URL, and returns what is answered."""
        url = path if path.startswith(("http://", "https://")) else self._base + path
        request = urllib.request.Request(url, method=method, headers={"Content-Type": "application/json", "User-Agent": "ax-worker-python/0.1"})
        if body is not None:
            request.data = json.dumps(body).encode()
        if self.token and url.startswith(self._base):
            request.add_header("Authorization", f"Bearer {self.token}")
        try:
            with urllib.request.urlopen(request, timeout=timeout) as answer:
                text = answer.read()
        except urllib.error.HTTPError as error:
            with error:
                said = error.read().decode(errors="replace")
            if error.code in (408, 429) or error.code >= 500:
                raise Away(f"{error.code}: {said[:200]}") from error
            raise Refused(error.code, said) from error
        except (OSError, ValueError) as error:
            raise Away(str(error)) from error
        return json.loads(text) if text else None

    def insist(self, method: str, path: str, body: Mapping[str, Any], patience: float) -> Any:
        """Sends a request again, slower each time, while the server is away, for so many seconds."""
        pause, until = 0.2, time.monotonic() + patience
        while True:
            try:
                return self.send(method, path, body)
            except Away:
                if time.monotonic() + pause > until:
                    raise
            time.sleep(pause)
            pause = min(pause * 2, 5)
