"""MCP servers as operators and projects declare them.

Owns: `ServerEntry`, its identity, and which names a server may have. Never: reading a declaration.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

import orjson

Origin = Literal["config", "added", "project"]
"""`config`: the local config file; `added`: `kaged mcp add`; `project`: a trusted project file."""

NAME_PATTERN = r"^[a-z](?:[a-z0-9_-]{0,30}[a-z0-9])?$"
_NAME = re.compile(NAME_PATTERN)
RESERVED = frozenset({"agent", "call", "kaged", "mcp", "tool", "web"})
"""Words with which names of other tools begin."""
DEFAULT_SECONDS = 120.0


def name_problem(name: str) -> str | None:
    """Say why a server cannot have a name; None when it can."""
    if not _NAME.fullmatch(name):
        return "a server's name has up to 32 of a-z, 0-9, `_` and `-`, and begins with a letter"
    if name in RESERVED:
        return f"`{name}` begins the names of other tools; choose another name"
    return None


@dataclass(frozen=True, slots=True)
class ServerEntry:
    """One server: `command` is started, or `url` is connected to. `cage` is a compiled cage, None for the
    daemon's rights. `package` is the folder of an installed package, which the cage shows."""

    name: str
    origin: Origin
    command: tuple[str, ...] = ()
    url: str | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    cage: Mapping[str, Any] | None = field(default_factory=dict)
    package: Path | None = None
    timeout_seconds: float = DEFAULT_SECONDS

    @property
    def changes_nothing(self) -> bool:
        """Whether the cage of the server denies writes and the network."""
        if self.url is not None or self.cage is None:
            return False
        writes = any(one.get("mode") == "rw" for one in self.cage.get("fs") or ())
        return not writes and not (self.cage.get("net") or {}).get("allow")

    @property
    def brings_authorization(self) -> bool:
        """Whether the declaration says by itself who asks."""
        return any(name.lower() == "authorization" for name in self.headers)

    def digest(self) -> str:
        """Return the identity of the declaration."""
        return hashlib.sha256(
            orjson.dumps(asdict(self), option=orjson.OPT_SORT_KEYS, default=str)
        ).hexdigest()


@dataclass(frozen=True, slots=True)
class RemoteTool:
    """A tool as a server lists it, with bounds on what it says of itself."""

    name: str
    title: str
    description: str
    schema: Mapping[str, Any]
    read_only: bool = False
    destructive: bool = True


@dataclass(frozen=True, slots=True)
class Listing:
    """What a server offers. `left_out` are the tools that cannot be used, each with the reason."""

    tools: tuple[RemoteTool, ...] = ()
    left_out: tuple[str, ...] = ()
    resources: bool = False
    prompts: bool = False
    instructions: str | None = None
    protocol: str = ""
    server: str = ""


@dataclass(frozen=True, slots=True)
class Image:
    """An image, base64 encoded."""

    media_type: str
    data: str


@dataclass(frozen=True, slots=True)
class Answer:
    """What a server answered. `structured` is None when it has no structured part."""

    text: str
    structured: Any = None
    images: tuple[Image, ...] = ()
    is_error: bool = False
