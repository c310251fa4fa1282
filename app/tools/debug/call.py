"""One call of `debug`: who asks, in which session, and what an adapter's errors become.

Owns: finding the session, opening the paths that the caller gave. Never: what an action does.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, TypeVar

from app.bridges.dap.manager import DebugAdapters, DebugOwner, DebugSession
from app.bridges.pty.manager import TerminalManager
from app.errors import ToolError
from app.tools.ast_grep.engine import AstGrep
from app.tools.contract.call import ToolCallContext
from app.tools.debug.changed import LocalsMemory
from app.tools.debug.parameters import DebugParams
from app.tools.debug.source_lines import SourceLines
from app.tools.debug.watch_lists import WatchLists
from app.tools.processes.call_processes import CallProcesses
from app.tools.processes.foreign_text import clean, clean_value
from app.tools.project_files.project_files import ProjectFiles
from app.tools.project_files.view import View
from app.workspace import Workspace, invalid_path

T = TypeVar("T")
MAX_MESSAGE = 4_000
_QUOTING = frozenset({"debug_request_failed", "debug_launch_failed", "debug_timeout", "dap_session_ended"})
"""Errors in which words of the adapter stand."""


@dataclass(frozen=True, slots=True)
class Tooling:
    """What every call stands on. `adapters` is None where nothing is debugged, as in a check of a
    project file."""

    files: ProjectFiles
    adapters: DebugAdapters | None
    terminals: TerminalManager
    processes: CallProcesses
    lines: SourceLines
    seen: LocalsMemory
    syntax: AstGrep
    watches: WatchLists


@dataclass(frozen=True, slots=True)
class Named:
    """What a path of a call names: its real place, below the root and absolute."""

    parts: tuple[str, ...]
    real: Path
    is_directory: bool

    @property
    def shown(self) -> str:
        return shown_path(self.parts)


class DebugCall:
    """Made for each call."""

    def __init__(self, tooling: Tooling, params: DebugParams, context: ToolCallContext) -> None:
        self.tooling = tooling
        self.params = params
        self.context = context
        self.workspace: Workspace = tooling.files.workspace(context)
        self.owner = DebugOwner(
            context.session_id, context.agent_path, context.project_id, context.project_root
        )

    def apart(self, **changed: object) -> DebugCall:
        """Return the same call, with other parameters, for a program beside the agent's own session."""
        other = copy.copy(self)
        other.params = self.params.model_copy(update=changed)
        other.owner = replace(self.owner, purpose=self.params.action)
        return other

    @cached_property
    def view(self) -> View:
        return View(self.context, self.workspace.closed_below())

    @property
    def adapters(self) -> DebugAdapters:
        if self.tooling.adapters is None:
            raise ToolError("debug_unavailable", "this process starts no debuggers")
        return self.tooling.adapters

    @property
    def session(self) -> DebugSession:
        """The agent's session. Raises ToolError `dap_session_ended` when it has none."""
        session = self.adapters.session(self.owner)
        if session is None:
            raise ToolError(
                "dap_session_ended",
                f"there is no debug session, and {self.params.action} needs one; begin with launch or attach",
            )
        return session

    async def ask(self, command: str, **arguments: object) -> dict[str, Any]:
        """Ask the adapter, for this action. None among the arguments is left out."""
        given = {name: value for name, value in arguments.items() if value is not None}
        return await self.session.request(self.params.action, command, given)

    async def named(self, path: str) -> Named:
        """Resolve a path of the call. Raises ToolError as the workspace does: `invalid_path`,
        `file_not_found`, `capability_denied`, `permission_denied`."""

        def look() -> Named:
            with self.workspace.open(path) as opened:
                if opened.location.aside is not None:
                    raise invalid_path(path, "only files of the project are debugged")
                return Named(opened.parts, Path(opened.key), opened.is_directory)

        return await self.aside(look)

    async def aside(self, work: Callable[..., T], *given: Any) -> T:
        """Return `work(*given)`, done in one of the session's threads for files."""
        return await self.tooling.files.threads.run(self.context.session_id, partial(work, *given))


def shown_path(parts: tuple[str, ...]) -> str:
    """Return a path below the root as answers show it."""
    return "./" + "/".join(parts) if parts else "."


def readable(error: ToolError) -> ToolError:
    """Return the error as a model may read it: words of an adapter may stand in it."""
    if error.code not in _QUOTING:
        return error
    return ToolError(error.code, clean(error.message, MAX_MESSAGE), detail=clean_value(error.detail))
