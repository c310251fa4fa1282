"""What a client of the proxy wants, whichever protocol it speaks.

Owns: the request, and the shape of a protocol. Never: a protocol.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from app.bridges.network.client_stream import ClientStream
from app.bridges.network.refusal import Refusal


@dataclass(frozen=True, slots=True)
class ProxyRequest:
    """Where the client wants to go; `host` as the client wrote it.

    `accepted` is what it is told when it is connected, `onward` what the host is sent first, and `body`
    how many bytes of the client's may follow; None: it is a tunnel."""

    host: str
    port: int
    accepted: bytes = b""
    onward: bytes = b""
    body: int | None = None


class Exchange(Protocol):
    """One conversation with a client, up to its being connected or refused."""

    name: str
    """The protocol, for the audit."""

    async def read(self, stream: ClientStream) -> ProxyRequest:
        """Read what the client wants. Raises Refusal, ClientGone."""

    def refused(self, refusal: Refusal) -> bytes:
        """Return the answer that says why it is not connected."""
