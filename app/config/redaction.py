"""What may be shown of the settings, and which texts must never be.

Owns: the masked dump and the list of secret values. Never: where they are shown.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from pydantic import BaseModel, SecretStr

from app.config.settings import COMPUTED_KEYS, Settings

MASK = "********"
_MASKED_TABLES = frozenset({"headers", "env"})
_SECRET_HINT = re.compile(r"auth|key|token|secret|passw|cookie|nonce|credential", re.IGNORECASE)
_PASSWORD_IN_URL = re.compile(r"(?<=://)([^/@\s:]*):([^/@\s]+)@")
_USER_INFO = re.compile(r"(?<=://)([^/?#\s]*)@")
_SHORTEST_SECRET = 6


def redacted(settings: Settings) -> dict[str, Any]:
    """Return the settings as JSON-ready data: secrets, header and environment values masked."""
    shown = _shown(settings)
    assert isinstance(shown, dict)
    return shown


def secret_values(settings: Settings) -> tuple[str, ...]:
    """Return every secret text of the settings, longest first, for a filter that removes them."""
    found: set[str] = set()
    _collect(settings, found)
    return tuple(sorted((text for text in found if len(text) >= _SHORTEST_SECRET), key=len, reverse=True))


def without_credentials(url: str) -> str:
    """Return `url` without the user name and password in it."""
    return _USER_INFO.sub(f"{MASK}@", url)


def url_password(url: str) -> str:
    """Return the password in `url`, or the user name that stands for one; empty when there is none."""
    found = _USER_INFO.search(url)
    return found[1].rpartition(":")[2] if found is not None else ""


def _shown(value: Any) -> Any:
    match value:
        case SecretStr():
            return MASK
        case BaseModel():
            return {name: _field(name, getattr(value, name)) for name in type(value).model_fields}
        case dict():
            return {str(name): _entry(str(name), item) for name, item in value.items()}
        case tuple() | list():
            return [_shown(item) for item in value]
        case Path():
            return str(value)
        case str():
            return _PASSWORD_IN_URL.sub(lambda found: f"{found[1]}:{MASK}@", value)
        case _:
            return value


def _field(name: str, value: Any) -> Any:
    if name in _MASKED_TABLES:
        return dict.fromkeys(value, MASK)
    if name in COMPUTED_KEYS and isinstance(value, dict):
        return dict(value)
    return _shown(value)


def _entry(name: str, value: Any) -> Any:
    return MASK if isinstance(value, str) and _SECRET_HINT.search(name) else _shown(value)


def _collect(value: Any, found: set[str]) -> None:
    match value:
        case SecretStr():
            text = value.get_secret_value()
            found.add(text)
            found.update(password for _, password in _PASSWORD_IN_URL.findall(text))
        case BaseModel():
            for name in type(value).model_fields:
                if name not in COMPUTED_KEYS:
                    _collect(getattr(value, name), found)
        case dict():
            for name, item in value.items():
                if isinstance(item, str) and _SECRET_HINT.search(str(name)):
                    found.update((item, item.removeprefix("Bearer ")))
                else:
                    _collect(item, found)
        case tuple() | list():
            for item in value:
                _collect(item, found)
        case str():
            found.add(url_password(value))
