"""Requests to hosts that nobody vouches for, and their answers.

Owns: their shapes, and which addresses are legal, in one spelling. Never: resolving, vetting or connecting.

The parts of a target make the request, so that no second parser reads the address differently.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from typing import Protocol
from urllib.parse import quote, urljoin

from app.cages.address_vetting import Address
from app.cages.network_rules import NumericHost, host_name, port_number, shown

MAX_URL = 8_000
_URL = re.compile(r"(?i:(https?))://([^/?#\\]*+)([^#]*+)(?:#.*)?")
_FORBIDDEN = re.compile(r"[\x00-\x20\x7f-\x9f\\]|\s")
_KEPT = "/?:@!$&'()*+,;=-._~%[]"


@dataclass(frozen=True, slots=True)
class WebTarget:
    """Where a request goes: `host` in its one spelling, an address of IPv6 without brackets. `path` begins
    with a slash and has the query."""

    scheme: str
    host: str
    port: int
    path: str = "/"

    @classmethod
    def parse(cls, url: str) -> WebTarget:
        """Read an address of HTTP or HTTPS. Raises ValueError that says what to write."""
        if len(url) > MAX_URL:
            raise ValueError(f"the address is longer than {MAX_URL:,} characters")
        if _FORBIDDEN.search(url):
            raise ValueError("the address has spaces, controls or backslashes; percent-encode them")
        found = _URL.fullmatch(url)
        if found is None:
            raise ValueError("write a whole address that begins with http:// or https://")
        scheme, authority, path = found[1].lower(), found[2], found[3]
        if "@" in authority:
            raise ValueError("the address has a user name or password; leave them out")
        host, port = _split(authority, scheme)
        encoded = quote(path, safe=_KEPT)
        return cls(scheme, host, port, encoded if encoded.startswith("/") else f"/{encoded}")

    def follow(self, location: str) -> WebTarget:
        """Return the target that a redirect names. Raises ValueError."""
        return WebTarget.parse(urljoin(self.url, location.strip()))

    @property
    def authority(self) -> str:
        """The host, and the port where it is not the usual one, as the header `Host` has them."""
        return self._host if self.port == default_port(self.scheme) else self.place

    @property
    def place(self) -> str:
        """`host:port`, as rules and cages name it."""
        return f"{self._host}:{self.port}"

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.authority}{self.path}"

    @property
    def _host(self) -> str:
        return f"[{self.host}]" if ":" in self.host else self.host


@dataclass(frozen=True, slots=True)
class WebAnswer:
    """`address` is the one that was connected to, None behind a proxy. Names of `headers` are in lower case;
    of a header that came twice it has the first. `body` is decompressed."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    address: Address | None


@dataclass(frozen=True, slots=True)
class WebRequest:
    """`private`: the operator allows this host and port, also on this machine or its network; only metadata
    addresses stay closed. `most` bounds the body, as it comes and decompressed."""

    target: WebTarget
    most: int
    method: str = "GET"
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    body: bytes | None = None
    private: bool = False


class Exchanges(Protocol):
    """Sends requests. `web_client` implements it, and imports the HTTP library."""

    async def exchange(self, request: WebRequest) -> WebAnswer:
        """Send a request and return the answer, redirects included. Raises Refusal."""


def default_port(scheme: str) -> int:
    return 443 if scheme == "https" else 80


def _split(authority: str, scheme: str) -> tuple[str, int]:
    bracketed = re.fullmatch(r"\[([0-9A-Fa-f:.]+)\](?::(.*))?", authority)
    if bracketed is not None:
        try:
            host = str(IPv6Address(bracketed[1]))
        except AddressValueError:
            raise ValueError(f"`{shown(authority)}` is no address of IPv6") from None
        return host, _port(bracketed[2], scheme)
    name, colon, port = authority.partition(":")
    return _host(name), _port(port if colon else None, scheme)


def _host(name: str) -> str:
    try:
        return host_name(name)
    except NumericHost:
        pass
    try:
        return str(IPv4Address(name))
    except AddressValueError:
        raise ValueError(f"`{shown(name)}` is a host in numbers; write its name, or four numbers") from None


def _port(text: str | None, scheme: str) -> int:
    return port_number(text) if text else default_port(scheme)
