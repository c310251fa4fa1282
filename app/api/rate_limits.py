"""How much one client may ask for: requests, failed sign-ins, WebSockets and their frames.

Owns: counting by principal, or by address without one, in memory. Never: identity (`access_rules`), or limits
of unidentified connections (`app.connections`).
Keeps S22 of docs/security.md.
"""

from __future__ import annotations

import ipaddress
import math
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from starlette.types import Scope

from app.access.scopes import Principal
from app.api.error_handlers import RETRY_AFTER
from app.config import LimitSettings
from app.errors import RateLimited

MAX_KEYS = 4_096
"""How many clients are remembered; the least recent one is forgotten first."""


class Allowance:
    """`per_minute` uses for each key, at once or spread: what is used comes back evenly in time. None
    is without a limit, 0 allows nothing."""

    def __init__(self, per_minute: int | None, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_minute = per_minute
        self._clock = clock
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, key: str) -> float:
        """Use one; return 0.0, or the seconds after which there is one again when nothing is left."""
        limit = self._per_minute
        if limit is None:
            return 0.0
        now = self._clock()
        left, at = self._left.pop(key, (float(limit), now))
        left = min(float(limit), left + (now - at) * limit / 60.0)
        self._left[key] = (left - 1.0 if left >= 1.0 else left, now)
        if len(self._left) > MAX_KEYS:
            self._left.popitem(last=False)
        if left >= 1.0:
            return 0.0
        return (1.0 - left) * 60.0 / limit if limit else 60.0


class RateLimits:
    """The allowances of one application."""

    def __init__(self, settings: LimitSettings, clock: Callable[[], float] = time.monotonic) -> None:
        self._settings = settings
        self._clock = clock
        self._requests = Allowance(settings.requests_per_minute, clock)
        self._anonymous = Allowance(settings.anonymous_requests_per_minute, clock)
        self._failures = Allowance(settings.failed_sign_ins_per_minute, clock)
        self._sockets: Counter[str] = Counter()

    def request(self, principal: Principal, scope: Scope) -> None:
        """Count a request of somebody known. Raises `RateLimited`."""
        key = f"insecure:{address_of(scope)}" if principal.via == "insecure" else principal.key
        _refuse(self._requests.take(key), "Too many requests", "requests", self._settings.requests_per_minute)

    def anonymous(self, scope: Scope) -> None:
        """Count a request of nobody in particular. Raises `RateLimited`."""
        limit = self._settings.anonymous_requests_per_minute
        _refuse(
            self._anonymous.take(address_of(scope)), "Too many requests without a token", "requests", limit
        )

    def failed(self, scope: Scope) -> None:
        """Count a request whose sign-in failed. Raises `RateLimited` in place of what was wrong."""
        limit = self._settings.failed_sign_ins_per_minute
        _refuse(self._failures.take(address_of(scope)), "Too many failed sign-ins", "sign_ins", limit)

    @contextmanager
    def socket(self, principal: Principal) -> Iterator[Allowance]:
        """Count a WebSocket while it is open; gives what it may send. Raises `RateLimited`."""
        limit, key = self._settings.sockets_per_client, principal.key
        if limit is not None and self._sockets[key] >= limit:
            raise RateLimited(
                f"This client has {limit} WebSockets open. Close one, or follow several sessions with one.",
                reason="too_many_sockets",
                details={"limit": limit, "route": "GET /api/v1/ws"},
            )
        self._sockets[key] += 1
        try:
            yield Allowance(self._settings.socket_frames_per_minute, self._clock)
        finally:
            self._sockets[key] -= 1
            if not self._sockets[key]:
                del self._sockets[key]


def address_of(scope: Scope) -> str:
    """Return the address that a connection counts for: of IPv6 the network that one customer has."""
    client = scope.get("client")
    if client is None:
        return "unknown"
    try:
        address = ipaddress.ip_address(client[0])
    except ValueError:
        return str(client[0])
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(ipaddress.ip_network((address, 64), strict=False))


def _refuse(wait: float, words: str, what: str, limit: int | None) -> None:
    if not wait:
        return
    seconds = max(1, math.ceil(wait))
    raise RateLimited(
        f"{words}: the limit is {limit} per minute. Retry in {seconds} s.",
        reason=f"too_many_{what}",
        details={"limit": limit, RETRY_AFTER: seconds},
    )
