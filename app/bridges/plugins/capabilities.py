"""What a plugin may do, as its manifest writes it down.

Owns: the grammar of capabilities, and whether one is contained in another. Never: enforcing any.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Kind = Literal["read", "write", "exec", "net", "storage"]
MAX_CAPABILITY = 1_000
GRAMMAR = (
    "`read:fs:/path`, `write:fs:/path`, `exec:/path`, `net:[]`, `net:*`, `net:host:port`, `net:host:*`, "
    "`kaged:storage:read` or `kaged:storage:write`"
)
_HOST = re.compile(
    r"(?=.{1,253}\Z)[A-Za-z0-9]([A-Za-z0-9-]{0,62})(\.[A-Za-z0-9][A-Za-z0-9-]{0,62})*|\[[0-9A-Fa-f:.]{2,45}\]"
)
_PATHS: tuple[tuple[str, Kind], ...] = (("read:fs:", "read"), ("write:fs:", "write"), ("exec:", "exec"))


@dataclass(frozen=True, slots=True)
class Capability:
    """One capability. `target` is an absolute path, a host, `*` for every host, `read` or `write` of the
    storage, and empty for no network at all; `port` None is every port."""

    text: str
    kind: Kind
    target: str
    port: int | None = None

    @property
    def is_nothing(self) -> bool:
        return self.kind == "net" and not self.target

    def covers(self, other: Capability) -> bool:
        """Tell whether this capability includes the other."""
        if other.is_nothing:
            return True
        if self.kind != other.kind:
            return False
        match self.kind:
            case "read" | "write":
                return _contains(self.target, other.target)
            case "net":
                if self.target == "*":
                    return True
                return self.target == other.target and self.port in (None, other.port)
            case _:
                return self.target == other.target


def parse_capability(text: str) -> Capability:
    """Parse a capability. Raises ValueError with the problem and the remedy."""
    if len(text) > MAX_CAPABILITY or not text.isprintable():
        raise ValueError(f"that is no capability; write {GRAMMAR}")
    for prefix, kind in _PATHS:
        if text.startswith(prefix):
            return Capability(text, kind, _path(text.removeprefix(prefix)))
    if text in {"kaged:storage:read", "kaged:storage:write"}:
        return Capability(text, "storage", text.rpartition(":")[2])
    if text == "net:[]":
        return Capability(text, "net", "")
    if text == "net:*":
        return Capability(text, "net", "*")
    if text.startswith("net:"):
        return _host(text)
    raise ValueError(f"`{text[:80]}` is no capability; write {GRAMMAR}")


def covered(granted: Iterable[Capability], wanted: Capability) -> bool:
    """Tell whether a granted capability includes the wanted one."""
    return wanted.is_nothing or any(one.covers(wanted) for one in granted)


def _path(path: str) -> str:
    plain = path.rstrip("/") or "/"
    if not path.startswith("/") or "//" in path or {".", ".."} & set(path.split("/")):
        raise ValueError(f"`{path[:80]}` is no plain absolute path; write one as `/var/lib/notes`")
    return plain


def _host(text: str) -> Capability:
    host, _, port = text.removeprefix("net:").rpartition(":")
    if not _HOST.fullmatch(host):
        raise ValueError(f"`{text[:80]}` names no host and port; write `net:example.org:443`")
    if port == "*":
        return Capability(text, "net", host.lower())
    if not (port.isascii() and port.isdigit() and len(port) <= 5 and 0 < int(port) <= 65_535):
        raise ValueError(f"the port of `{text[:80]}` is invalid; write 1 to 65535, or `*`")
    return Capability(text, "net", host.lower(), int(port))


def _contains(folder: str, path: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")
