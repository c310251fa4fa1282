"""The HTTP proxies that the environment names.

Owns: `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY`, also in lower case, which wins. Never:
connecting.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address, ip_network

from app.config.environment import process_environment


@dataclass(frozen=True, slots=True)
class Proxies:
    """Addresses of proxies by the scheme of a request; they may hold a password. `none_for` are the entries
    of `NO_PROXY`."""

    by_scheme: Mapping[str, str] = field(default_factory=dict, repr=False)
    none_for: tuple[str, ...] = ()

    @classmethod
    def of_environment(cls, environ: Mapping[str, str] | None = None) -> Proxies:
        source = process_environment() if environ is None else environ

        def value(name: str) -> str:
            return (source.get(name.lower()) or source.get(name) or "").strip()

        both = value("ALL_PROXY")
        found = {scheme: value(f"{scheme.upper()}_PROXY") or both for scheme in ("http", "https")}
        addresses = {
            scheme: address if "://" in address else f"http://{address}"
            for scheme, address in found.items()
            if address
        }
        without = tuple(part.strip().lower() for part in value("NO_PROXY").split(",") if part.strip())
        return cls(addresses, without)

    def __bool__(self) -> bool:
        return bool(self.by_scheme)

    def of(self, scheme: str, host: str, port: int) -> str | None:
        """Return the address of the proxy for a request, None for a direct connection."""
        proxy = self.by_scheme.get(scheme)
        return None if proxy is None or any(_means(one, host, port) for one in self.none_for) else proxy


def _means(entry: str, host: str, port: int) -> bool:
    if entry == "*":
        return True
    name, colon, number = entry.rpartition(":")
    if colon and number.isdigit() and name.count(":") == 0:
        if int(number) != port:
            return False
        entry = name
    entry = entry.strip("[]")
    try:
        return ip_address(host) in ip_network(entry, strict=False)
    except ValueError:
        pass
    wanted = entry.removeprefix("*").removeprefix(".")
    return bool(wanted) and (host == wanted or host.endswith(f".{wanted}"))
