"""Takes secrets out of everything that is kept or sent: logs, audit rows, events, traces.

Owns: the mask, the shapes of credentials, and the characters that steer a terminal. Never: where
the cleaned text goes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

MASK = "********"
_SECRET_KEY = re.compile(
    r"^(authorization|proxy-authorization|cookie|set-cookie|password|passwd|secret|token|nonce"
    r"|.*[_-](token|key|secret|password|nonce)|apikey)$",
    re.IGNORECASE,
)
_NOT_SECRET_KEY = frozenset({"idempotency_key", "idempotency-key", "cache_key", "sort_key", "public_key"})
_SECRET_SHAPE = re.compile(
    r"(?P<keep>\bBearer\s+|\bkaged\.bearer\.|[?&](?:token|key|api_key|access_token)=|://[^/@\s:]*:(?=[^/@\s]+@))"
    r"(?P<drop>[^\s&\"'@,;<>]{4,})"
    r"|\bsk-[A-Za-z0-9_-]{16,}|\bAIza[A-Za-z0-9_-]{30,}|\bkgd_[A-Za-z0-9_-]{20,}",
    re.IGNORECASE,
)
_CONTROLS = {code: "\ufffd" for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) not in "\n\t"}


def without_controls(text: str) -> str:
    """Return `text` without the characters that steer a terminal; line ends and tabs stay.

    What files, models and clients say ends up in terminals."""
    return text.translate(_CONTROLS)


class Redactor:
    """Replaces secrets by a mask: the values it was told, and what has the shape of a credential."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._secrets: set[str] = set()
        self._known: re.Pattern[str] | None = None
        self.add(*secrets)

    def add(self, *secrets: str) -> None:
        """Remember further secret values; empty ones are ignored."""
        self._secrets.update(secret for secret in secrets if secret)
        longest_first = sorted(self._secrets, key=len, reverse=True)
        self._known = re.compile("|".join(map(re.escape, longest_first))) if longest_first else None

    def text(self, value: str) -> str:
        """Return `value` without secrets."""
        if self._known is not None:
            value = self._known.sub(MASK, value)
        return _SECRET_SHAPE.sub(lambda found: (found["keep"] or "") + MASK, value)

    def data(self, value: Any) -> Any:
        """Return JSON-ready `value` without secrets; a key such as `authorization` masks its value."""
        match value:
            case str():
                return self.text(value)
            case Mapping():
                return {key: self._entry(str(key), item) for key, item in value.items()}
            case list() | tuple():
                return [self.data(item) for item in value]
            case _:
                return value

    def _entry(self, key: str, value: Any) -> Any:
        if isinstance(value, str) and value and _SECRET_KEY.match(key) and key.lower() not in _NOT_SECRET_KEY:
            return MASK
        return self.data(value)
