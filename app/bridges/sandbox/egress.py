"""The network egress of a cage: its proxy, where the cage allows hosts.

Owns: when the proxy's socket is made, and that the proxy ends with its holder. Never: what it allows.

The socket is made before anything runs in the cage, so no process of the cage keeps a copy.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from app.bridges.network.dialling import Dialler
from app.bridges.network.proxy import CageProxy, proxy_variables
from app.bridges.processes.audit import Record
from app.bridges.sandbox.holder import Holder, HolderGone, Refused
from app.cages.cage import Cage
from app.cages.network_rules import NetworkRules

PORT = 17_777
"""On the cage's own loopback, the same in every cage: a new holder needs no new variables."""

MAX_REFUSED = 20
"""The most refused hosts in one note to the agent."""


@dataclass(frozen=True, slots=True)
class Outside:
    """What the proxies of all cages share: the dialler, and the recorder of audit events."""

    dialler: Callable[[], Dialler] = Dialler
    record: Record | None = None


@dataclass(slots=True)
class Egress:
    """The egress of one cage. `about` is the owner of the cage, in every audit event."""

    cage: Cage
    outside: Outside
    about: Mapping[str, str]
    _refused: dict[str, str] = field(default_factory=dict)
    _proxies: set[CageProxy] = field(default_factory=set)
    _closing: set[asyncio.Task[None]] = field(default_factory=set)

    @property
    def _is_needed(self) -> bool:
        return bool(NetworkRules.of(self.cage.net))

    @property
    def variables(self) -> dict[str, str]:
        """The variables that name the proxy; empty where there is none."""
        return proxy_variables(PORT) if self._is_needed else {}

    async def open(self, holder: Holder) -> None:
        """Serve the egress of a new holder until it is gone. Raises HolderGone."""
        if not self._is_needed:
            return
        try:
            listener = await holder.open("listen", port=PORT)
        except Refused as refused:
            raise HolderGone(f"its network has no way out ({refused})") from None
        try:
            rules = NetworkRules.of(self.cage.net)
            proxy = CageProxy(listener, rules, dialler=self.outside.dialler(), emit=self.emit)
        except (OSError, ValueError) as problem:
            listener.close()
            raise HolderGone(f"its network has no way out ({problem})") from None
        self._proxies.add(proxy)
        proxy.start()
        holder.gone.add_done_callback(lambda _: self._close(proxy))

    def take_refused(self) -> dict[str, str]:
        """Return the hosts that were refused since this was asked last, each with the kind of refusal."""
        refused, self._refused = self._refused, {}
        return refused

    async def aclose(self) -> None:
        for proxy in list(self._proxies):
            self._close(proxy)
        await asyncio.gather(*self._closing)

    def _close(self, proxy: CageProxy) -> None:
        if proxy not in self._proxies:
            return
        self._proxies.discard(proxy)
        task = asyncio.create_task(proxy.aclose(), name="end of a cage's proxy")
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    def emit(self, event: str, data: dict[str, Any]) -> None:
        """Record an audit event about the cage."""
        if event == "cage.connection_refused" and data["host"] and len(self._refused) < MAX_REFUSED:
            place = data["host"] if data["port"] is None else f"{data['host']}:{data['port']}"
            self._refused.setdefault(place, data["reason"])
        if self.outside.record is not None:
            self.outside.record(event, self.about.get("project_id", ""), {**self.about, **data})
