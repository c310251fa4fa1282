"""Removes secrets from everything that is kept or sent: logs, audit rows, events, traces.

Owns: secrets known by value or name, and control characters. Never: what credentials look like
(`credential_shapes`).
Keeps S19 of docs/security.md.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

import orjson

from app.observability.credential_shapes import MASK, without_shapes

_SECRET = re.compile(
    r"pass(word|wd|phrase)|secret|api[_-]?key|private[_-]?key|authorization|credential|cookie"
    r"|(^|[_-])token(_?\d+)?$|[_-]key(_?\d+|_id)?$|(^|[_-])nonce$|[_-](pass|pwd|pat|dsn|auth)$"
    r"|(?-i:[a-z\d]Token$)",
    re.I,
)
_NO_SECRET = re.compile(r"(idempotency|cache|sort|public|primary|foreign)[_-]key", re.I)
_REMEMBERED_CHARACTERS = 64


def names_secret(name: str) -> bool:
    """Tell whether what has this name is left out of logs, audit rows, events and traces."""
    return _known(name) if len(name) <= _REMEMBERED_CHARACTERS else _says_secret(name)


def _says_secret(name: str) -> bool:
    return _SECRET.search(name) is not None and _NO_SECRET.fullmatch(name) is None


_known = lru_cache(maxsize=4096)(_says_secret)


_CONTROLS = {code: "\ufffd" for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) not in "\n\t"}


def without_controls(text: str) -> str:
    """Return `text` without the characters that steer a terminal; line ends and tabs stay.

    What files, models and clients say ends up in terminals."""
    return text.translate(_CONTROLS)


SURE_CHARACTERS = 16
"""A known secret that is this long is no word that something else may happen to have."""

_SHORTEST_CUT = 8
"""The part of a known secret at the end of a cut text: what is shorter gives nothing away."""


class Redactor:
    """Replaces secrets by a mask: registered values, and what has the shape of a credential."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._secrets: tuple[str, ...] = ()
        self._renewed: dict[str, tuple[str, ...]] = {}
        self.add(*secrets)

    def add(self, *secrets: str) -> None:
        """Remember further secret values; empty ones are ignored."""
        every = {secret for secret in (*self._secrets, *secrets) if secret}
        self._secrets = tuple(sorted(every, key=len, reverse=True))
        self._sure = tuple(secret for secret in self._secrets if len(secret) >= SURE_CHARACTERS)
        self._encoded = tuple(_json(secret)[1:-1] for secret in self._sure)

    def renew(self, owner: str, *secrets: str) -> None:
        """Remember the secrets of an owner in place of those that it had before."""
        if self._renewed.get(owner) != secrets:
            gone = set(self._renewed.get(owner, ()))
            self._renewed[owner] = secrets
            self._secrets = tuple(secret for secret in self._secrets if secret not in gone)
            self.add(*secrets)

    def text(self, value: str) -> str:
        """Return `value` without secrets."""
        for secret in self._secrets:
            if secret in value:
                value = value.replace(secret, MASK)
        return without_shapes(self._without_cut(value))

    def known(self, value: Any) -> Any:
        """Return JSON-ready `value`, in which only the long ones of the known secrets are masked: for what
        people, models and tools say, where the shape of a credential may be what is talked about."""
        return _replaced(value, self._sure) if self._sure and self._may_hold(value) else value

    def data(self, value: Any) -> Any:
        """Return JSON-ready `value` without secrets; a key such as `authorization` masks its value."""
        match value:
            case str():
                return self.text(value)
            case Mapping():
                return {self._key(key): self._entry(str(key), item) for key, item in value.items()}
            case list() | tuple():
                return [self.data(item) for item in value]
            case _:
                return value

    def _may_hold(self, value: Any) -> bool:
        """Tell fast whether one of the long secrets is anywhere in `value`."""
        if value is None or isinstance(value, bool | int | float):
            return False
        if isinstance(value, str):
            return any(secret in value for secret in self._sure)
        raw = _json(value)
        return any(secret in raw for secret in self._encoded)

    def _key(self, key: Any) -> Any:
        return self.text(key) if isinstance(key, str) else key

    def _entry(self, key: str, value: Any) -> Any:
        if isinstance(value, str) and value and names_secret(key):
            return MASK
        return self.data(value)

    def _without_cut(self, value: str) -> str:
        """Mask the beginning of a known secret with which `value` ends: it was shortened in its middle."""
        tail = value[-_SHORTEST_CUT:]
        if len(tail) < _SHORTEST_CUT:
            return value
        for secret in self._secrets:
            at = secret.find(tail)
            if at >= 0 and value.endswith(secret[: at + _SHORTEST_CUT]):
                return value[: -at - _SHORTEST_CUT] + MASK
        return value


def _json(value: Any) -> bytes:
    try:
        return orjson.dumps(value, default=str, option=orjson.OPT_NON_STR_KEYS)
    except TypeError:  # a lone surrogate, or an integer beyond 64 bits
        return json.dumps(value, default=str, skipkeys=True, ensure_ascii=False).encode("utf-8", "replace")


def _replaced(value: Any, secrets: Iterable[str]) -> Any:
    match value:
        case str():
            for secret in secrets:
                if secret in value:
                    value = value.replace(secret, MASK)
            return value
        case dict():
            return {_replaced(key, secrets): _replaced(item, secrets) for key, item in value.items()}
        case list():
            return [_replaced(item, secrets) for item in value]
        case tuple():
            return tuple(_replaced(item, secrets) for item in value)
        case _:
            return value
