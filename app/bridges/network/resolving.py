"""Resolves names with the system's resolver.

Owns: one lookup, and how many run at once. Never: which addresses may be used.

A lookup cannot be cancelled and may take half a minute, so each has a thread of its own, outside the event
loop's pool.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from ipaddress import ip_address
from pathlib import Path

from app.bridges.network.exchange import Refusal
from app.cages.address_vetting import Address

LOOKUPS_AT_ONCE = 4
HOSTS_FILE = Path("/etc/hosts")
MAX_HOSTS_FILE = 1 << 20


class SystemResolver:
    """Looks names up for one cage, or for the clients of the daemon."""

    def __init__(self, hosts_file: Path = HOSTS_FILE, *, at_once: int = LOOKUPS_AT_ONCE) -> None:
        self._hosts_file = hosts_file
        self._room = asyncio.Semaphore(at_once)

    async def __call__(self, host: str) -> list[Address]:
        """Return the addresses of `host`, best first. The name is taken as it is: the search domains of
        this machine are not tried. Raises Refusal `unresolvable`."""
        await self._room.acquire()
        loop = asyncio.get_running_loop()
        found: asyncio.Future[list[Address]] = loop.create_future()

        def deliver(addresses: list[Address], problem: OSError | None) -> None:
            self._room.release()
            if found.cancelled():
                return
            if problem is not None:
                found.set_exception(Refusal("unresolvable", f"`{host}` cannot be found ({problem.strerror})"))
            else:
                found.set_result(addresses)

        def look_up() -> None:
            addresses: list[Address] = []
            problem: OSError | None = None
            try:
                addresses = _addresses(host, self._hosts_file)
            except OSError as error:
                problem = error
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
                loop.call_soon_threadsafe(deliver, addresses, problem)

        try:
            threading.Thread(target=look_up, name="name lookup", daemon=True).start()
        except RuntimeError:
            self._room.release()
            raise Refusal(
                "unresolvable", f"`{host}` cannot be resolved: the machine has no free thread"
            ) from None
        return await found


def _addresses(host: str, hosts_file: Path) -> list[Address]:
    mapped = _mapped(host, hosts_file)
    if mapped:
        return mapped
    rows = socket.getaddrinfo(f"{host}.".encode("ascii"), None, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(ip_address(str(row[4][0])) for row in rows))


def _mapped(host: str, hosts_file: Path) -> list[Address]:
    """Return what the operator's table of hosts says. The resolver does not look there for a name that ends
    with a dot."""
    try:
        with hosts_file.open("rb") as file:
            lines = file.read(MAX_HOSTS_FILE).decode("utf-8", "replace").splitlines()
    except OSError:
        return []
    found: dict[Address, None] = {}
    for line in lines:
        address, *names = line.partition("#")[0].split() or [""]
        if host in (name.lower().removesuffix(".") for name in names):
            with contextlib.suppress(ValueError):
                found[ip_address(address)] = None
    return list(found)
