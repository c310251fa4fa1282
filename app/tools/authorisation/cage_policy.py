"""Refusals for paths that the caller's cage does not grant.

Owns: their words. Never: opening files (`app.workspace` asks for the real path), the meaning of entries
(`app.cages`).
Keeps S3 of docs/security.md.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from app.cages.file_grants import FileGrants
from app.cages.protected_names import is_protected
from app.errors import RPC_CAPABILITY_DENIED, ToolError
from app.workspace import Access

_PLAIN = re.compile(r"[A-Za-z0-9_./][A-Za-z0-9_./ -]*")


class CagePolicy:
    """The `fs` part of one cage. Without an entry that covers a path, the path is closed."""

    def __init__(self, cage: Mapping[str, Any], root: Path) -> None:
        self._grants = FileGrants.of(cage.get("fs") or (), root)
        self._guarded = {tuple(path.split("/")) for path in cage.get("guarded") or ()}
        self._links = {tuple(path.split("/")) for path in cage.get("guarded_links") or ()}

    def check(self, parts: tuple[str, ...], access: Access) -> None:
        """Raise ToolError `capability_denied` unless `parts` (below the root) may be used so."""
        lack = self.lack(parts, access)
        if lack is not None:
            raise refusal([lack])

    def lack(self, parts: tuple[str, ...], access: Access) -> Lack | None:
        """Return what is lacking to use `parts` so, None when nothing is."""
        mode = self.mode(parts)
        granted = mode == "rw" or (mode == "ro" and access == "ro")
        path = "/".join(parts) or "."
        needed = f"fs {access} on {path}"
        if access == "rw" and any(is_protected(part) for part in parts):
            return Lack(needed, "protected names are read-only inside a cage")
        guarded = parts in self._links or any(parts[: len(one)] == one for one in self._guarded)
        if access == "rw" and guarded:
            return Lack(needed, "the project file names it: prompts and programs are read-only in every cage")
        if granted:
            return None
        return Lack(
            needed,
            f"this agent's cage grants {mode or 'nothing'} there ({self._grants.in_words()})",
            f"fs: [{{ mode: {access}, path: {yaml_text(path)} }}]",
        )

    def check_step(self, parts: tuple[str, ...]) -> None:
        """Raise ToolError `capability_denied` unless the caller may know `parts`: it is granted, or on the
        way to a granted path."""
        if not self.reaches_below(parts):
            self.check(parts, "ro")

    def mode(self, parts: tuple[str, ...]) -> str | None:
        """Return the mode of the most specific entry that covers `parts`, None without one."""
        return self._grants.mode(parts)

    def reaches_below(self, parts: tuple[str, ...]) -> bool:
        """Tell whether something below `parts` is granted by an entry of its own."""
        return self._grants.reaches_below(parts)


@dataclass(frozen=True, slots=True)
class Lack:
    """What a call needs and its cage does not grant. `line` would grant it, under the agent's `cage`; None
    where no line does."""

    needed: str
    because: str
    line: str | None = None
    detail: Mapping[str, Any] = field(default_factory=dict)


def refusal(lacks: Sequence[Lack]) -> ToolError:
    """Return the refusal that names everything that is lacking, and what would grant it."""
    reasons = "; it needs ".join(f"{one.needed}, but {one.because}" for one in lacks)
    lines = list(dict.fromkeys(one.line for one in lacks if one.line is not None))
    widen = f": {' and '.join(f'`{line}`' for line in lines)}" if lines else ""
    detail: dict[str, Any] = {"needed": "; ".join(one.needed for one in lacks)}
    for one in lacks:
        detail |= one.detail
    return ToolError(
        "capability_denied",
        f"Needs {reasons}. Work within the cage, or ask the operator to widen it{widen}.",
        detail=detail | ({"allow": lines} if lines else {}),
        rpc_code=RPC_CAPABILITY_DENIED,
    )


def yaml_text(text: str) -> str:
    """Return a path as it stands in a project file."""
    return text if _PLAIN.fullmatch(text) else json.dumps(text)
