"""The header Ax-Signature."""

from __future__ import annotations

import hashlib
import hmac
import time

MAX_AGE = 300.0
"""How many seconds old, or ahead, a signature may be."""


def sign(key: str, body: bytes, at: int) -> str:
    """Makes the header for a body."""
    mac = hmac.new(key.encode(), str(at).encode() + b"." + body, hashlib.sha256)
    return f"t={at},v1={mac.hexdigest()}"


def verify(key: str, header: str, body: bytes, now: float | None = None) -> bool:
    """Tells whether a header is that of a body, made with the key and not long ago."""
    parts = dict(part.partition("=")[::2] for part in header.split(","))
    try:
        at = int(parts["t"])
    except (KeyError, ValueError):
        return False
    if abs((time.time() if now is None else now) - at) > MAX_AGE:
        return False
    return hmac.compare_digest(header.encode(), sign(key, body, at).encode())
