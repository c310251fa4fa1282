"""The registry of all built-in tools, for tests that ask it for names and schemas."""

from __future__ import annotations

from typing import Any

from app.bridges.processes.process import ChildProcesses
from app.bridges.pty.manager import TerminalManager
from app.config import child_environment
from app.tools.catalog import build_registry
from app.tools.dispatch.registry import ToolRegistry
from app.tools.processes.call_processes import CallProcesses
from app.tools.project_files.read_tracker import ReadTracker


def tool_registry(
    *,
    reads: ReadTracker | None = None,
    children: ChildProcesses | None = None,
    processes: CallProcesses | None = None,
    **options: Any,
) -> ToolRegistry:
    """Return the registry; who calls tools that start processes gives `children` and closes them. Nothing
    is caged without `processes`."""
    children = children or ChildProcesses()
    return build_registry(
        reads=reads or ReadTracker(),
        processes=processes or CallProcesses.uncaged(children),
        terminals=TerminalManager(children, per_session=4),
        environment=child_environment(),
        **options,
    )
