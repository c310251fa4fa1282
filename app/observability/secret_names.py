"""Names of what is secret: of a field, a header, a variable, a parameter.

Owns: telling by a name that its value is not shown. Never: what a secret looks like; `credential_shapes`
knows that.
"""

from __future__ import annotations

import re
from functools import lru_cache

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
