"""What a cage grants of a project's files, as a refusal or none.

Owns: the words that a caged caller is refused with. Never: opening files (`app.workspace` asks this policy
about the real path it opened), or what the entries mean (`app.cages`).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from app.cages.file_grants import FileGrants
from app.cages.protected_names import is_protected
from app.errors import RPC_CAPABILITY_DENIED, ToolError
from app.workspace import Access


class CagePolicy:
    """The `fs` part of one cage. Without an entry that covers a path, the path is closed."""

    def __init__(self, cage: Mapping[str, Any], root: Path) -> None:
        self._grants = FileGrants.of(cage.get("fs") or (), root)

    def check(self, parts: tuple[str, ...], access: Access) -> None:
        """Raise ToolError `capability_denied` unless `parts` (below the root) may be used so."""
        mode = self.mode(parts)
        granted = mode == "rw" or (mode == "ro" and access == "ro")
        path = "/".join(parts) or "."
        if not granted:
            raise denied(
                f"fs {access} on {path}",
                f"this agent's cage grants {mode or 'nothing'} there ({self._grants.in_words()})",
            )
        if access == "rw" and any(is_protected(part) for part in parts):
            raise denied(f"fs rw on {path}", "protected names are read-only inside a cage")

    def check_step(self, parts: tuple[str, ...]) -> None:
        """Raise ToolError `capability_denied` unless the caller may know what is at `parts`: it is
        granted, or on the way to what is."""
        if not self.reaches_below(parts):
            self.check(parts, "ro")

    def mode(self, parts: tuple[str, ...]) -> str | None:
        """Return the mode of the most specific entry that covers `parts`, None without one."""
        return self._grants.mode(parts)

    def reaches_below(self, parts: tuple[str, ...]) -> bool:
        """Tell whether something below `parts` is granted by an entry of its own."""
        return self._grants.reaches_below(parts)


def denied(needed: str, because: str, **detail: Any) -> ToolError:
    """The refusal that tells the model what it would need."""
    return ToolError(
        "capability_denied",
        f"Needs {needed}, but {because}. Work within the cage, or ask the operator to widen it.",
        detail={"needed": needed, **detail},
        rpc_code=RPC_CAPABILITY_DENIED,
    )
