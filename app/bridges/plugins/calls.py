"""Calls of plugins: declarations, contexts, outcomes and states.

Owns: the types that the rest of the daemon uses. Never: calling a plugin.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from app.bridges.plugins.manifest import Role
from app.states import PluginState

OutcomeKind = Literal["result", "null", "error", "timeout", "unavailable"]


@dataclass(frozen=True, slots=True)
class PluginDeclaration:
    """A plugin as an agent of a project declares it: `name` is its key in the project file, `package` a
    path to its folder or the name of an installed one."""

    project_id: str
    project_root: Path
    agent_path: str
    name: str
    package: str
    isolation: Literal["agent", "project"]
    config: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class CallContext:
    """On whose behalf a plugin is called; the plugin gets it as `_context`."""

    operator_id: str
    project_id: str
    project_root: Path
    agent_path: str
    session_id: str | None
    request_id: str
    dry_run: bool = False

    def wire(self) -> dict[str, Any]:
        """Return it as it is sent. `dry_run` is there only when it is true."""
        context: dict[str, Any] = {
            "operator_id": self.operator_id,
            "project_id": self.project_id,
            "project_root": str(self.project_root),
            "agent_path": self.agent_path,
            "session_id": self.session_id,
            "request_id": self.request_id,
        }
        return {**context, "dry_run": True} if self.dry_run else context


@dataclass(frozen=True, slots=True)
class HookOutcome:
    """What came of one hook of one plugin. `result` is the object that the plugin answered, None unless
    `kind` is `result`; `error` says what went wrong, None when nothing did."""

    plugin: str
    role: Role
    duration_ms: float
    kind: OutcomeKind
    result: Any
    error: str | None


@dataclass(frozen=True, slots=True)
class PluginStatus:
    """A plugin as an operator is shown it. `agent_path` is None when the project's agents share it.
    `memory_bytes` is that of its process and all that it started, `failures` how often it has failed."""

    project_id: str
    agent_path: str | None
    name: str
    version: str
    package: str
    state: PluginState
    reason: str | None
    failures: int
    pid: int | None
    memory_bytes: int
    log: tuple[str, ...]
