"""Remembers the bytes of the few things that stay the same from call to call.

Owns: a small cache for tuples that cannot be hashed (tool specifications hold dictionaries), found
by identity first and by equality after. Never: messages (those have `EncodingCache`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

Source = TypeVar("Source")

_KEPT = 32


class EncodedOnce(Generic[Source]):
    """`encode` runs once for each distinct source; the last 32 are kept. Threads may share it: a call is
    encoded on the loop while another one, of the past, is encoded anew in a thread."""

    def __init__(self, encode: Callable[[Source], bytes]) -> None:
        self._encode = encode
        self._known: deque[tuple[Source, bytes]] = deque(maxlen=_KEPT)

    def __call__(self, source: Source) -> bytes:
        kept = tuple(self._known)
        for known, encoded in kept:
            if known is source:
                return encoded
        for known, encoded in kept:
            if known == source:
                self._known.appendleft((source, encoded))
                return encoded
        encoded = self._encode(source)
        self._known.appendleft((source, encoded))
        return encoded
