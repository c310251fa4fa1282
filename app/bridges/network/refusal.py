"""Why somebody is not connected.

Owns: the kinds of refusals and their words. Never: how a protocol says them.
"""

from __future__ import annotations

from typing import Literal

RefusalKind = Literal[
    "malformed",
    "too_large",
    "too_slow",
    "unsupported",
    "numeric",
    "not_allowed",
    "not_public",
    "unresolvable",
    "unreachable",
    "no_answer",
]
"""`numeric`: an address stands where a name has to; `not_public`: the name leads to this machine or its
network; `no_answer`: the other side took too long; `too_slow`: whoever asks did."""


class Refusal(Exception):
    """Nobody is connected; `message` says why and, where something can be done, what."""

    def __init__(self, kind: RefusalKind, message: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
