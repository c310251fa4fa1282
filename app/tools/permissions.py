"""The capability check: what the caller's cage lets a call touch.

Owns: the reading of a cage for the daemon's own tools (paths, capabilities, seccomp, network).
Never: opening files; `app.workspace` asks this policy again about the real path it opened.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from app.errors import RPC_CAPABILITY_DENIED, ToolError
from app.tools.call import ToolCallContext
from app.tools.definition import (
    CapabilityRequirement,
    Effects,
    FsRequirement,
    NetRequirement,
    SeccompRequirement,
    ToolDefinition,
)
from app.workspace import Access, locate

READ_ONLY_NAMES = frozenset(
    {".git", ".kaged", ".vscode", ".idea", ".envrc", ".gitmodules", ".gitconfig", ".bashrc"}
    | {".bash_profile", ".profile", ".zshrc", ".zprofile", ".zshenv"}
)
"""Names that a caged caller never writes, at any depth: they run code or steer the daemon."""


class CagePolicy:
    """The `fs` part of one cage. Without an entry that covers a path, the path is closed."""

    def __init__(self, cage: Mapping[str, Any], root: Path) -> None:
        self._entries: list[tuple[tuple[str, ...], str]] = []
        for entry in cage.get("fs") or ():
            parts = _entry_parts(str(entry["path"]), root)
            if parts is not None:
                self._entries.append((parts, str(entry["mode"])))

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
        if access == "rw" and any(_folded(part) in READ_ONLY_NAMES for part in parts):
            raise denied(f"fs rw on {path}", "protected names are read-only inside a cage")

    def _summary(self) -> str:
        granted = [f"{mode} {'/'.join(parts) or '.'}" for parts, mode in self._entries if mode != "deny"]
        return f"it grants {', '.join(granted)}" if granted else "it grants no files at all"

    def mode(self, parts: tuple[str, ...]) -> str | None:
        """Return the mode of the most specific entry that covers `parts`, None without one."""
        best: tuple[int, bool, str] | None = None
        for prefix, mode in self._entries:
            if parts[: len(prefix)] == prefix:
                found = (len(prefix), mode == "deny", mode)
                if best is None or found[:2] > best[:2]:
                    best = found
        return None if best is None else best[2]


def fs_policy(context: ToolCallContext) -> CagePolicy | None:
    """Return the caller's policy for the workspace; None means the whole project."""
    return None if context.cage is None else CagePolicy(context.cage, context.project_root)


def authorise(definition: ToolDefinition, params: BaseModel, context: ToolCallContext) -> None:
    """Raise ToolError `capability_denied` unless the cage satisfies what the call requires."""
    if context.cage is None:
        return
    for requirement in definition.requires:
        if isinstance(requirement, FsRequirement):
            if requirement.filtered:
                continue
            _check_paths(definition.effects(params), context, context.cage)
        else:
            _check_requirement(requirement, context.cage)


def _check_paths(effects: Effects, context: ToolCallContext, cage: Mapping[str, Any]) -> None:
    policy = CagePolicy(cage, context.project_root)
    wanted: list[tuple[str, Access]] = [(path, "ro") for path in effects.reads]
    wanted += [(path, "rw") for path in effects.writes]
    for path, access in wanted:
        location = locate(context.project_root, path, scratch=context.scratch_dir)
        if not location.in_scratch:
            policy.check(location.parts, access)


def _check_requirement(
    requirement: SeccompRequirement | NetRequirement | CapabilityRequirement, cage: Mapping[str, Any]
) -> None:
    if isinstance(requirement, CapabilityRequirement):
        if requirement.name not in (cage.get("capabilities") or ()):
            raise denied(f"capability {requirement.name}", "this agent's cage does not list it")
    elif isinstance(requirement, SeccompRequirement):
        have = cage.get("seccomp") or "default"
        if have != requirement.profile:
            raise denied(f"seccomp {requirement.profile}", f"this agent's cage has seccomp {have}")
    else:
        net = cage.get("net") or {}
        if not any(_host_matches(str(pattern), requirement.target) for pattern in net.get("allow") or ()):
            raise denied(f"net {requirement.target}", "this agent's cage does not allow that host")


def _host_matches(pattern: str, target: str) -> bool:
    """`*.x` stands for strict subdomains of x; everything else is compared whole."""
    wanted, given = pattern.casefold(), target.casefold()
    if wanted.startswith("*."):
        return given.endswith(wanted[1:]) and len(given) > len(wanted[1:])
    return wanted == given


def denied(needed: str, reason: str) -> ToolError:
    """The refusal that tells the model what it would need."""
    return ToolError(
        "capability_denied",
        f"Needs {needed}, but {reason}. Work within the cage, or ask the operator to widen it.",
        detail={"needed": needed},
        rpc_code=RPC_CAPABILITY_DENIED,
    )


def _entry_parts(path: str, root: Path) -> tuple[str, ...] | None:
    """Parts of a cage's entry below the root; None when it lies elsewhere or has a variable
    with nothing to stand for: such an entry covers nothing."""
    if path == "{workspace}" or path.startswith("{workspace}/"):
        path = path.removeprefix("{workspace}").lstrip("/") or "."
    if "{" in path:
        return None
    try:
        return locate(root, path).parts
    except ToolError:
        return None


def _folded(name: str) -> str:
    return unicodedata.normalize("NFKC", name).casefold().rstrip(". ")
