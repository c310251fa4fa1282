"""Connects to a host by its name, at an address that was vetted.

Owns: resolving once, vetting every address, connecting to a vetted one. Never: which hosts may be named
(`app.cages.network_rules`).
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest

from app.bridges.network.exchange import Refusal
from app.bridges.network.resolving import SystemResolver
from app.cages.address_vetting import Address, literal_address, why_not_public

Resolve = Callable[[str], Awaitable[Sequence[Address]]]
Vet = Callable[[Address], str | None]

DIAL_SECONDS = 20.0
STAGGER_SECONDS = 0.3
"""How long one address is tried alone before the next is tried beside it."""
MAX_ADDRESSES = 6


@dataclass(frozen=True, slots=True)
class Dialled:
    """A connected socket that does not block, and to which address."""

    socket: socket.socket
    address: Address


def why_not_dialled(address: Address) -> str | None:
    """Return why an address must not be reached, else None: it has to be on the open internet, and not this
    machine's own."""
    return why_not_public(address) or ("this machine" if _is_own(address) else None)


class Dialler:
    """Connects for an untrusted client. `vet` returns the problem with an address."""

    def __init__(self, *, resolve: Resolve | None = None, vet: Vet = why_not_dialled) -> None:
        self._resolve = resolve or SystemResolver()
        self._vet = vet

    async def dial(self, host: str, port: int) -> Dialled:
        """Connect to `host`, as `host_name` returns it. Raises Refusal."""
        try:
            async with asyncio.timeout(DIAL_SECONDS):
                return await _first_to_answer(await self.addresses(host), port, host)
        except TimeoutError:
            raise Refusal("no_answer", f"`{host}` did not answer within {DIAL_SECONDS:.0f} s") from None

    async def addresses(self, host: str) -> list[Address]:
        """Return the vetted addresses of `host`, a name or a plain address, the best first; at least one.
        Raises Refusal."""
        literal = literal_address(host)
        return self._vetted(host, [literal] if literal is not None else await self._resolve(host))

    def _vetted(self, host: str, addresses: Sequence[Address]) -> list[Address]:
        good: list[Address] = []
        reason = "without an address"
        for address in addresses:
            problem = self._vet(address)
            if problem is None:
                good.append(address)
            else:
                reason = problem
        if not good:
            raise Refusal("not_public", f"`{host}` is {reason}; only hosts of the open internet are reached")
        return _by_turns(good)[:MAX_ADDRESSES]


def _by_turns(addresses: Iterable[Address]) -> list[Address]:
    """Return the addresses with both versions by turns, so that one which leads nowhere costs little."""
    first: dict[int, list[Address]] = {}
    for address in addresses:
        first.setdefault(address.version, []).append(address)
    return [one for one in chain.from_iterable(zip_longest(*first.values())) if one is not None]


async def _first_to_answer(addresses: Sequence[Address], port: int, host: str) -> Dialled:
    waiting = list(addresses)
    trying: set[asyncio.Task[Dialled]] = set()
    winner: Dialled | None = None
    problem: OSError | None = None
    ended: set[asyncio.Task[Dialled]] = set()
    try:
        while winner is None and (waiting or trying):
            if waiting:
                trying.add(asyncio.create_task(_connect(waiting.pop(0), port), name=f"dial {host}"))
            done, trying = await asyncio.wait(
                trying,
                timeout=STAGGER_SECONDS if waiting else None,
                return_when=asyncio.FIRST_COMPLETED,
            )
            ended |= done
            for task in done:
                error = task.exception()
                if error is None:
                    winner = winner or task.result()
                elif isinstance(error, OSError):
                    problem = error
                else:
                    raise error
    finally:
        for task in trying:
            task.cancel()
        await asyncio.gather(*trying, return_exceptions=True)
        _close_all(ended | trying, but=winner)
    if winner is None:
        reason = f" ({os.strerror(problem.errno)})" if problem is not None and problem.errno else ""
        raise Refusal("unreachable", f"`{host}` cannot be reached at port {port}{reason}")
    return winner


def _close_all(tasks: Iterable[asyncio.Task[Dialled]], *, but: Dialled | None) -> None:
    for task in tasks:
        if not task.cancelled() and task.exception() is None and task.result() is not but:
            task.result().socket.close()


async def _connect(address: Address, port: int) -> Dialled:
    family = socket.AF_INET6 if address.version == 6 else socket.AF_INET
    connection = socket.socket(family, socket.SOCK_STREAM | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC)
    try:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        await asyncio.get_running_loop().sock_connect(connection, (str(address), port))
    except BaseException:
        connection.close()
        raise
    return Dialled(connection, address)


def _is_own(address: Address) -> bool:
    """Tell whether packets for `address` never leave this machine: then it is also where they are from.
    Connecting a datagram socket only asks the routing table."""
    family = socket.AF_INET6 if address.version == 6 else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC) as probe:
        try:
            probe.connect((str(address), 9))
        except OSError:
            return False  # no way there: connecting will say so
        return str(probe.getsockname()[0]) == str(address)
