"""The tools of a daemon by name and shape, for commands that compile a project without one.

Owns: making that catalog. Never: running a tool.
"""

from __future__ import annotations

from app.bridges.processes.process import ChildProcesses
from app.bridges.pty.manager import TerminalManager
from app.tools.catalog import build_registry
from app.tools.dispatch.registry import ToolRegistry
from app.tools.processes.call_processes import CallProcesses
from app.tools.project_files.read_tracker import ReadTracker


def tool_names() -> ToolRegistry:
    """Return the catalog; nothing is started by it."""
    children = ChildProcesses()
    terminals = TerminalManager(children, per_session=0)
    processes = CallProcesses.uncaged(children)
    return build_registry(reads=ReadTracker(), processes=processes, terminals=terminals, environment={})
