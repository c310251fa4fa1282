"""What is known of the places that one server by itself does not know.

Owns: these types. Never: finding out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from app.bridges.lsp.manager import LanguageServer, Unit
from app.workspace import changed_since_read


@dataclass(frozen=True, slots=True)
class Declaration:
    """Where a symbol is declared: the file, relative to the root, its text and the server's position in
    it."""

    path: str
    text: str = ""
    position: Mapping[str, Any] = field(default_factory=dict)

    async def at(self, server: LanguageServer) -> dict[str, Any]:
        """Return the parameters of a request about it to another server of the same program. Raises ToolError
        `file_changed_since_read`, and as opening does."""
        text = await server.document(self.path)
        if text.text != self.text:
            raise changed_since_read(f"./{self.path}")
        return {"textDocument": {"uri": text.uri}, "position": self.position}


@dataclass(frozen=True, slots=True)
class NotAsked:
    """Files that hold the word and that no server has looked at, and why. `reaches` as in `Group`. `places`
    are the uses in them, as `./path:line`, where these are known."""

    folder: str
    files: tuple[str, ...]
    reason: str
    reaches: bool = False
    places: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Group:
    """The files of one unit that hold the word. `reaches`: they can mean what is declared; `declares`: the
    declaration is in this unit."""

    unit: Unit
    files: tuple[str, ...]
    reaches: bool
    declares: bool

    def not_asked(self, reason: str) -> NotAsked:
        return NotAsked(self.unit.folder, self.files, reason, self.reaches)


@dataclass(slots=True)
class Crossed:
    """`servers` know other units and are asked about the `declaration`, too. `opened`: the first server knows
    more than before. `views` are further positions that servers are asked about."""

    declaration: Declaration | None = None
    servers: list[tuple[LanguageServer, Group]] = field(default_factory=list)
    opened: bool = False
    views: list[tuple[LanguageServer, dict[str, Any]]] = field(default_factory=list)
    not_asked: list[NotAsked] = field(default_factory=list)
