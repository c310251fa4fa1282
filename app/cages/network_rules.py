"""Which hosts and ports a cage may connect to.

Owns: what a host's name may look like, the meaning of `host`, `host:port`, `*.host:port` and `*`, and
whether one covers another. Never: resolving a name, or judging an address (`address_vetting`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

MAX_HOST = 253
MAX_PORT = 65_535
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_PORT = re.compile(r"[1-9][0-9]{0,4}")


class NumericHost(ValueError):
    """An address is written where a name has to stand."""


def host_name(text: str) -> str:
    """Return the one spelling of a host's name: ASCII, lower case, without the dot at its end.

    Raises NumericHost for anything that a resolver might read as an address (`127.1`, `0x7f000001`,
    `[::1]`), ValueError for what is no name.
    """
    name = text.lower() if text.isascii() else _as_ascii(text)
    name = name.removesuffix(".")
    if ":" in name or name.startswith("["):
        raise NumericHost(f"`{shown(text)}` is an address; write the host's name")
    labels = name.split(".")
    if len(name) > MAX_HOST or not all(_LABEL.fullmatch(label) for label in labels):
        raise ValueError(f"`{shown(text)}` is no host name")
    if _NUMBER.fullmatch(labels[-1]):
        raise NumericHost(f"`{shown(text)}` is an address; write the host's name")
    return name


def port_number(text: str) -> int:
    """Return a port from 1 to 65535, written plainly. Raises ValueError."""
    if not _PORT.fullmatch(text) or int(text) > MAX_PORT:
        raise ValueError(f"`{shown(text)}` is no port; write 1 to {MAX_PORT}")
    return int(text)


def shown(text: str) -> str:
    """Return what somebody sent so that it can stand in a message: short, and without controls."""
    return "".join(one if one.isprintable() else "?" for one in text[: MAX_HOST + 7])


def _as_ascii(text: str) -> str:
    if len(text) > MAX_HOST:
        raise ValueError(f"`{shown(text)}` is no host name")
    import idna

    try:
        return idna.encode(text, uts46=True, std3_rules=True).decode("ascii")
    except idna.IDNAError:
        raise ValueError(f"`{shown(text)}` is no host name") from None


@dataclass(frozen=True, slots=True)
class Target:
    """Hosts and ports. An empty `host` is every host; `below` are the hosts strictly below `host`
    instead of `host` itself; `port` None is every port."""

    host: str
    below: bool
    port: int | None

    @classmethod
    def parse(cls, text: str) -> Target:
        """Read `host`, `host:port`, `host:*`, the same with `*.` before the host, or `*`.

        Raises NumericHost, or ValueError, that say what to write."""
        written, colon, port = text.rpartition(":") if ":" in text else (text, "", "")
        number = port_number(port) if colon and port != "*" else None
        if written == "*":
            return cls("", True, number)
        below, host = written.startswith("*."), host_name(written.removeprefix("*."))
        if below and "." not in host:
            raise ValueError(f"`{shown(text)}` is all of a top-level domain; name a host below it")
        return cls(host, below, number)

    def covers(self, other: Target) -> bool:
        """Tell whether this destination includes all of the other."""
        return self._covers_hosts(other) and self.port in (None, other.port)

    def meeting(self, other: Target) -> Target | None:
        """Return what both cover: the narrower host, the narrower port. None when there is nothing."""
        if other._covers_hosts(self):
            narrower = self
        elif self._covers_hosts(other):
            narrower = other
        else:
            return None
        if None not in (self.port, other.port) and self.port != other.port:
            return None
        return Target(narrower.host, narrower.below, self.port if other.port is None else other.port)

    def _covers_hosts(self, other: Target) -> bool:
        if not self.below:
            return not other.below and self.host == other.host
        if not self.host:
            return True
        return other.host.endswith(f".{self.host}") or (other.below and other.host == self.host)

    def __str__(self) -> str:
        host = f"*.{self.host}".removesuffix(".") if self.below else self.host
        return host if self.port is None else f"{host}:{self.port}"


@dataclass(frozen=True, slots=True)
class NetworkRules:
    """Everything that one cage may connect to."""

    targets: tuple[Target, ...] = ()

    @classmethod
    def of(cls, texts: Iterable[str]) -> NetworkRules:
        """Read what a cage allows. An entry that is no target allows nothing."""
        found: list[Target] = []
        for text in texts:
            try:
                found.append(Target.parse(text))
            except ValueError:
                continue
        return cls(tuple(dict.fromkeys(found)))

    def __bool__(self) -> bool:
        return bool(self.targets)

    def allows(self, host: str, port: int | None) -> bool:
        """Tell whether `host`, as `host_name` returns it, may be connected to at `port`; without a port
        whether it may be at every port."""
        wanted = Target(host, False, port)
        return any(target.covers(wanted) for target in self.targets)

    def covers(self, text: str) -> bool:
        """Tell whether all of a target, as `Target.parse` reads it, is allowed; one that is none is not."""
        try:
            wanted = Target.parse(text)
        except ValueError:
            return False
        return any(target.covers(wanted) for target in self.targets)

    def in_words(self) -> str:
        """Return what is allowed, for a refusal."""
        if not self.targets:
            return "it allows no network at all"
        first = [str(target) for target in self.targets[:20]]
        more = len(self.targets) - len(first)
        return f"it allows {', '.join(first)}{f' and {more} more' if more else ''}"
