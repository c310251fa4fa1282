"""One request, and when it is sent again. Nothing here does input or output.

Owns: addresses, headers, the idempotency key, back-off. Never: connections.
"""

from __future__ import annotations

import json
import random
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from kaged_client._model import OMIT, jsonable
from kaged_client._version import __version__

RETRIED_STATUSES = (429, 503)
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 5.0


@dataclass(frozen=True, slots=True)
class Call:
    """One operation with its arguments. `keyed`: it takes an `Idempotency-Key`, so it can be repeated."""

    method: str
    path: str
    query: Mapping[str, Any] | None = None
    body: Mapping[str, Any] | None = None
    content: bytes | Path | None = None
    content_type: str = "application/octet-stream"
    keyed: bool = False
    key: str | None = None

    @property
    def repeatable(self) -> bool:
        """Whether a second request has no second effect."""
        return self.keyed or self.method in ("GET", "PUT")

    def headers(self) -> dict[str, str]:
        """Return the headers of every try; the key is made here, once."""
        headers = {}
        if self.body is not None:
            headers["content-type"] = "application/json"
        elif self.content is not None:
            headers["content-type"] = self.content_type
        if self.keyed:
            headers["idempotency-key"] = self.key or uuid.uuid4().hex
        return headers

    def encoded(self) -> bytes | None:
        """Return the JSON body."""
        if self.body is None:
            return None
        return json.dumps(self.body, ensure_ascii=False, separators=(",", ":")).encode()

    def parameters(self) -> dict[str, str | list[str]]:
        """Return the query, without what is None."""
        return {name: _plain(value) for name, value in (self.query or {}).items() if value is not None}

    def with_query(self, **more: Any) -> Call:
        """Return the same call with other values in its query."""
        return Call(self.method, self.path, query={**(self.query or {}), **more})


def _plain(value: Any) -> str | list[str]:
    value = jsonable(value)
    if isinstance(value, list):
        return [str(_plain(member)) for member in value]
    return str(value).lower() if isinstance(value, bool) else str(value)


def given(values: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the arguments of a body that the caller has given; None when there is none."""
    return {name: jsonable(value) for name, value in values.items() if value is not OMIT} or None


def part(value: str | int) -> str:
    """Return a value as one part of a path. Raises `ValueError` for one that would lead elsewhere."""
    text = str(value)
    if text in ("", ".", ".."):
        raise ValueError(f"{text!r} cannot be part of an address.")
    return quote(text, safe="")


class Token:
    """A secret that no representation shows."""

    __slots__ = ("_value",)

    def __init__(self, value: str | None) -> None:
        value = value.strip() if value else ""
        if any(not 33 <= ord(letter) <= 126 for letter in value):
            raise ValueError("A token consists of printable ASCII characters without spaces.")
        self._value = value

    def headers(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self._value}"} if self._value else {}

    def __repr__(self) -> str:
        return "Token(***)"


@dataclass(frozen=True, slots=True)
class Settings:
    """Where the daemon is and how patient the client is."""

    url: str
    token: Token
    timeout: float
    retry_seconds: float

    @classmethod
    def checked(cls, url: str, token: str | None, timeout: float, retry_seconds: float) -> Settings:
        """Return the settings. Raises `ValueError`, which does not repeat what was given."""
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("The address must begin with http:// or https:// and name a host.")
        if parts.username or parts.password or parts.query or parts.fragment:
            raise ValueError(
                "The address must not contain a user, password, query or fragment; pass `token`."
            )
        return cls(url.rstrip("/"), Token(token), timeout, retry_seconds)

    @property
    def socket_url(self) -> str:
        return f"ws{self.url.removeprefix('http')}"

    def headers(self) -> dict[str, str]:
        return {"user-agent": f"kaged-client/{__version__}", **self.token.headers()}


class Attempts:
    """The pauses between tries: growing, at random, until the time is over."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self.restart()

    def restart(self) -> None:
        """Begin again after a success."""
        self._ends = time.monotonic() + self._seconds
        self._pause = _FIRST_PAUSE

    def pause(self, at_least: float = 0.0) -> float | None:
        """Return the seconds before the next try; None when the time is over."""
        seconds = max(self._pause * random.uniform(0.5, 1.0), at_least)
        self._pause = min(self._pause * 2, _LONGEST_PAUSE)
        return seconds if time.monotonic() + seconds <= self._ends else None


def retry_after(value: str | None) -> float:
    """Return the seconds of a `Retry-After` header; 0 when there is none that can be read."""
    try:
        return min(max(float(value or 0), 0.0), 3600.0)
    except ValueError:
        return 0.0
