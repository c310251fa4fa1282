"""What is kept for sessions and their folders beyond a call, and its end.

Owns: the bundle of it, ended with a run, a session or the folder of a workspace. Never: making any of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from app.bridges.dap.manager import DebugAdapters
from app.bridges.pty.manager import TerminalManager
from app.daemon.code_services import CodeServices
from app.harness.checkpoints.worktree_notes import WorktreeNotes
from app.harness.hooks.plugin_hooks import PluginHooks
from app.tools.processes.call_processes import CallProcesses
from app.tools.project_files.read_tracker import ReadTracker


@dataclass(frozen=True, slots=True)
class SessionResources:
    """What tools keep beyond a call: what has been read, commands, late findings, debug sessions; and the
    plugins."""

    reads: ReadTracker
    terminals: TerminalManager
    code: CodeServices
    debuggers: DebugAdapters
    hooks: PluginHooks
    notes: WorktreeNotes
    processes: CallProcesses

    async def on_run_end(self, session_id: str, agent_path: str, run_id: str, *, last: bool = True) -> None:
        """End what is kept for one run of an agent only, and with its `last` one what is the agent's."""
        try:
            if last:
                await self.debuggers.end_run(session_id, agent_path)
        finally:
            await self.processes.end_run(session_id, run_id)

    async def close_session(self, session_id: str) -> None:
        """End and forget everything that is kept for a session."""
        self.reads.forget(session_id)
        self.code.feedback.forget(session_id)
        await self.hooks.servers.close_session(session_id)
        await self.debuggers.end_session(session_id)
        await self.terminals.end_session(session_id)
        await self.processes.end_session(session_id)

    async def close_root(self, root: Path) -> None:
        """End and forget everything that is kept for the folder of a workspace, before it is removed. The
        sessions that work there are closed already."""
        self.code.feedback.forget_root(root)
        self.code.symbols.forget(root)
        self.code.kept.forget(root)
        await self.code.languages.close_root(root)
        await self.notes.worktrees.forget(root)
