"""Audit events for the connections of a cage: hosts reached, hosts refused, bytes carried.

Owns: the events and their bounds. Never: storing them.

The first connection to a host and the first refusal of a kind are recorded at once; repetitions are counted
until the cage ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from app.bridges.network.exchange import RefusalKind
from app.bridges.processes.audit import Emit
from app.cages.address_vetting import Address
from app.cages.network_rules import shown

MAX_EVENTS = 256
"""Hosts, and refusals, with an event each; more are only counted."""


@dataclass(slots=True)
class _Carried:
    connections: int = 0
    sent: int = 0
    received: int = 0

    def add(self, sent: int, received: int) -> None:
        self.connections += 1
        self.sent += sent
        self.received += received

    def data(self) -> dict[str, int]:
        return {"connections": self.connections, "bytes_sent": self.sent, "bytes_received": self.received}


class TrafficRecord:
    def __init__(self, emit: Emit | None) -> None:
        self._emit = emit
        self._reached: set[tuple[str, int]] = set()
        self._refused: dict[tuple[str, int | None, RefusalKind], int] = {}
        self._carried: dict[tuple[str, int], _Carried] = {}
        self._others = _Carried()
        self._refused_others = 0

    def connected(self, protocol: str, host: str, port: int, address: Address) -> None:
        """Record a connection to `host`."""
        place = (host, port)
        if place in self._reached or len(self._reached) >= MAX_EVENTS:
            return
        self._reached.add(place)
        self._record(
            "cage.connected", {"host": host, "port": port, "address": str(address), "protocol": protocol}
        )

    def refused(self, protocol: str, host: str, port: int | None, kind: RefusalKind) -> None:
        """Somebody in the cage is not connected; `host` as it was written, empty when nobody can say."""
        key = (shown(host), port, kind)
        if key in self._refused:
            self._refused[key] += 1
        elif len(self._refused) >= MAX_EVENTS:
            self._refused_others += 1
        else:
            self._refused[key] = 1
            self._record(
                "cage.connection_refused",
                {"host": key[0], "port": port, "reason": kind, "protocol": protocol},
            )

    def carried(self, host: str, port: int, sent: int, received: int) -> None:
        place = (host, port)
        if place not in self._carried and len(self._carried) >= MAX_EVENTS:
            self._others.add(sent, received)
        else:
            self._carried.setdefault(place, _Carried()).add(sent, received)

    def close(self) -> None:
        """Record the counts at the end of the cage, if there are any."""
        refused = sum(self._refused.values()) + self._refused_others
        if not self._carried and not refused:
            return
        hosts = [
            {"host": host, "port": port, **carried.data()} for (host, port), carried in self._carried.items()
        ]
        others = {"others": self._others.data()} if self._others.connections else {}
        self._record("cage.traffic", {"hosts": hosts, "refused": refused, **others})
        self._carried.clear()
        self._refused.clear()
        self._refused_others = 0

    def _record(self, event: str, data: dict[str, Any]) -> None:
        if self._emit is not None:
            self._emit(event, data)
