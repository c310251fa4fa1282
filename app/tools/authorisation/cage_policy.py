"""What a cage grants of a project's files.

Owns: the meaning of a cage's `fs` entries and their variables, and the names that no caged caller
writes. Never: opening files; `app.workspace` asks this policy about the real path it opened.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from app.errors import RPC_CAPABILITY_DENIED, ToolError
from app.workspace import Access, locate

READ_ONLY_NAMES = frozenset(
    {".git", ".gitmodules", ".gitconfig", ".hg", ".svn", ".husky", ".kaged"}
    | {".vscode", ".idea", ".zed", ".fleet", ".devcontainer", ".vim", ".vimrc", ".nvimrc", ".exrc"}
    | {".nvim.lua", ".emacs", ".emacs.d", ".dir-locals.el", ".inputrc", ".envrc", ".direnv"}
    | {".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile"}
    | {".zshrc", ".zprofile", ".zshenv", ".zlogin", ".zlogout", ".kshrc", ".cshrc", ".tcshrc", ".login"}
)
"""Names that a caged caller never writes, at any depth: they run code or steer the daemon."""

VARIABLES = ("workspace", "ad-hoc", "user-data")
"""What may stand in braces at the beginning of a cage's path. Only `{workspace}` has something to
stand for here: the daemon has no ad-hoc files, and its per-user data is closed to every tool."""


class CagePolicy:
    """The `fs` part of one cage. Without an entry that covers a path, the path is closed."""

    def __init__(self, cage: Mapping[str, Any], root: Path) -> None:
        self._entries: list[tuple[tuple[str, ...], str]] = []
        for entry in cage.get("fs") or ():
            mode = str(entry["mode"])
            parts = _entry_parts(str(entry["path"]), root, mode)
            if parts is not None:
                self._entries.append((parts, mode))

    def check(self, parts: tuple[str, ...], access: Access) -> None:
        """Raise ToolError `capability_denied` unless `parts` (below the root) may be used so."""
        mode = self.mode(parts)
        granted = mode == "rw" or (mode == "ro" and access == "ro")
        path = "/".join(parts) or "."
        if not granted:
            raise denied(
                f"fs {access} on {path}",
                f"this agent's cage grants {mode or 'nothing'} there ({self._summary()})",
            )
        if access == "rw" and any(is_protected(part) for part in parts):
            raise denied(f"fs rw on {path}", "protected names are read-only inside a cage")

    def mode(self, parts: tuple[str, ...]) -> str | None:
        """Return the mode of the most specific entry that covers `parts`, None without one."""
        best: tuple[int, bool, str] | None = None
        for prefix, mode in self._entries:
            if parts[: len(prefix)] == prefix:
                found = (len(prefix), mode == "deny", mode)
                if best is None or found[:2] > best[:2]:
                    best = found
        return None if best is None else best[2]

    def reaches_below(self, parts: tuple[str, ...]) -> bool:
        """Tell whether something below `parts` is granted by an entry of its own."""
        count = len(parts)
        return any(
            len(prefix) > count and prefix[:count] == parts and mode != "deny"
            for prefix, mode in self._entries
        )

    def _summary(self) -> str:
        granted = [f"{mode} {'/'.join(parts) or '.'}" for parts, mode in self._entries if mode != "deny"]
        return f"it grants {', '.join(granted)}" if granted else "it grants no files at all"


def denied(needed: str, because: str, **detail: Any) -> ToolError:
    """The refusal that tells the model what it would need."""
    return ToolError(
        "capability_denied",
        f"Needs {needed}, but {because}. Work within the cage, or ask the operator to widen it.",
        detail={"needed": needed, **detail},
        rpc_code=RPC_CAPABILITY_DENIED,
    )


def _entry_parts(path: str, root: Path, mode: str) -> tuple[str, ...] | None:
    """Parts of a cage's entry below the root; None when it lies elsewhere or has a variable
    with nothing to stand for: such an entry covers nothing, and one that denies covers all."""
    if path == "{workspace}" or path.startswith("{workspace}/"):
        path = path.removeprefix("{workspace}").lstrip("/") or "."
    closed = () if mode == "deny" else None
    if "{" in path:
        known = any(path == f"{{{name}}}" or path.startswith(f"{{{name}}}/") for name in VARIABLES)
        return None if known else closed
    try:
        return locate(root, path).parts
    except ToolError:
        return None


def is_protected(name: str) -> bool:
    """Tell whether a file system might take `name` for a protected one: other case, compatible or
    invisible characters, trailing dots and blanks, streams and short names."""
    plain = "".join(
        one for one in unicodedata.normalize("NFKC", name) if unicodedata.category(one) not in {"Cf", "Mn"}
    )
    folded = plain.casefold().partition(":")[0].rstrip(". ")
    return folded in READ_ONLY_NAMES or folded.startswith(("git~", "kaged~"))
