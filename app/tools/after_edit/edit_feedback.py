"""What language servers say after the edits of agents, for all projects and sessions.

Owns: the checks of edited files, also those whose answers come late, the time that edits of one step
wait together, and the known errors below each root. Never: what one call wrote (`edit_watch`), or the
words (`edit_findings`).
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Awaitable, Callable, Collection
from pathlib import Path
from typing import Any

from app.bridges.lsp.manager import LanguageServers, ProjectLanguages
from app.errors import ToolError
from app.tools.after_edit.edit_checks import FeedbackLimits, FileCheck, Looked, SharedWait, Stamp, StepWait
from app.tools.after_edit.edit_watch import ASKING, EditWatch
from app.tools.after_edit.edited_files import EditedFiles
from app.tools.after_edit.known_errors import KnownErrors, Rows, new_errors
from app.tools.after_edit.server_scope import ServerScope
from app.tools.contract.call import ToolCallContext
from app.tools.contract.edit_findings import LateAnswer, late_note

log = logging.getLogger("kaged.languages")

AGAIN_SECONDS = 0.25
MAX_CHECKS = 512
MAX_STEPS = 1_024
MAX_PROJECTS = 64

Key = tuple[str, str, str]
"""Session, agent, path."""


class EditFeedback:
    """One for the daemon; closed before the language servers are. `enabled` says whether a project
    wants it."""

    def __init__(
        self,
        languages: LanguageServers,
        *,
        enabled: Callable[[str], bool],
        limits: FeedbackLimits | None = None,
    ) -> None:
        self.limits = limits or FeedbackLimits()
        self._languages = languages
        self._enabled = enabled
        self._known: dict[Path, KnownErrors] = {}
        self._steps: dict[tuple[str, str], StepWait] = {}
        self._checks: dict[Key, FileCheck] = {}
        self._tasks: set[asyncio.Task[Looked | None]] = set()
        self.edited = EditedFiles()

    def follow(
        self,
        context: ToolCallContext,
        allowed: Collection[str],
        may_call: Callable[[str, dict[str, Any]], Awaitable[bool]],
    ) -> EditWatch | None:
        """Return the observer of an agent's call; None for calls outside of runs and for agents without
        `code.lsp.diagnostics`. `may_call` says whether the agent may make a call."""
        tool, action = ASKING
        if context.run_id is None or action not in allowed:
            return None

        async def may_read(path: str) -> bool:
            return await may_call(tool, {"action": action.removeprefix(f"{tool}."), "path": path})

        return EditWatch(self, context, may_read)

    async def note(self, session_id: str, agent_path: str) -> str | None:
        """Return, once, what came late about the agent's edits; None when there is nothing."""
        ready = {
            key: check
            for key, check in self._checks.items()
            if key[:2] == (session_id, agent_path) and check.task.done()
        }
        if not ready:
            return None
        stamps = await asyncio.to_thread(lambda: {key: stamp_of(check.place) for key, check in ready.items()})
        answers = []
        for key, check in ready.items():
            if self._checks.get(key) is check:  # not edited again meanwhile
                del self._checks[key]
                answers.append(_late(check, stamps[key]))
        return late_note(answers) if answers else None

    def forget(self, session_id: str) -> None:
        """The session is over: nothing is looked at for it any more."""
        for key in [key for key in self._checks if key[0] == session_id]:
            self._checks.pop(key).task.cancel()
        for step in [step for step in self._steps if step[0] == session_id]:
            del self._steps[step]

    def forget_root(self, root: Path) -> None:
        """The folder is gone: nothing is known of its files any more."""
        self._known.pop(root, None)

    async def aclose(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._checks.clear()

    # -- for the watch of a call --------------------------------------------------------------

    def project(self, context: ToolCallContext) -> ProjectLanguages | None:
        """Return the languages of the call's project, None where nobody wants to know."""
        try:
            if self._enabled(context.project_id):
                return self._languages.project(context.project_id, context.project_root)
        except Exception:  # the edge: whatever is wrong with a declaration, the edit is made
            log.exception("the language servers of %s cannot be had", context.project_id)
        return None

    def known(self, root: Path) -> KnownErrors:
        """Return what is known of the files below a root."""
        known = self._known.get(root)
        if known is None:
            if len(self._known) >= MAX_PROJECTS:
                self._known.clear()
            known = self._known[root] = KnownErrors()
        return known

    def waits(self, context: ToolCallContext) -> StepWait:
        """Return what the calls of this step may wait together."""
        key = (context.session_id, context.agent_path)
        found = self._steps.get(key)
        step = context.step.number
        if found is None or not step or (found.run_id, found.step) != (context.run_id, step):
            before, after = SharedWait(self.limits.before), SharedWait(self.limits.after)
            found = StepWait(context.run_id, step, before, after)
            if len(self._steps) >= MAX_STEPS:
                self._steps.clear()
            self._steps[key] = found
        return found

    def is_untold(self, context: ToolCallContext, path: str) -> bool:
        """Tell whether the agent has not heard yet of an earlier edit of the file."""
        return (context.session_id, context.agent_path, path) in self._checks

    def begin(
        self,
        project: ProjectLanguages,
        context: ToolCallContext,
        path: str,
        before: Rows | None,
        was: str | None,
        scope: ServerScope,
    ) -> FileCheck:
        """Have the server look at an edited file.

        What the agent has not heard of an earlier edit is counted to this one."""
        session, agent = context.session_id, context.agent_path
        for name in (path, was):
            earlier = self._checks.pop((session, agent, name), None) if name is not None else None
            if earlier is not None:
                earlier.task.cancel()
                before = earlier.before
        if len(self._checks) >= MAX_CHECKS:
            self._checks.pop(next(iter(self._checks))).task.cancel()
        place = project.root / path
        look = self._look(project, self.known(context.project_root), path, before or (), scope)
        task = asyncio.create_task(look, name=f"errors after an edit of {path}")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        check = FileCheck(path, place, before, task, bool(scope.withheld))
        self._checks[session, agent, path] = check
        return check

    def delivered(self, context: ToolCallContext, check: FileCheck) -> None:
        """Report this check in the result of the agent's call."""
        key = (context.session_id, context.agent_path, check.path)
        if self._checks.get(key) is check:
            del self._checks[key]

    async def _look(
        self, project: ProjectLanguages, known: KnownErrors, path: str, before: Rows, scope: ServerScope
    ) -> Looked | None:
        until = time.monotonic() + self.limits.late
        try:
            server = await project.server_for(path, scope.readable)
            while True:
                rows = await known.now(server, path, max(0.0, until - time.monotonic()))
                if rows is not None:
                    stamp = await asyncio.to_thread(stamp_of, project.root / path)
                    return Looked(new_errors(rows, before), stamp)
                if time.monotonic() >= until:
                    return None
                await asyncio.sleep(AGAIN_SECONDS)
        except ToolError as problem:
            log.debug("no errors of %s after an edit: %s", path, problem.message)
        except Exception:  # the edge of a task that nobody waits for
            log.exception("looking at %s after an edit failed", path)
        return None


def stamp_of(place: Path) -> Stamp:
    """Return what changes when the file does; None when it is gone. Blocking."""
    try:
        status = os.stat(place)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino


def _late(check: FileCheck, stamp: Stamp) -> LateAnswer:
    path = f"./{check.path}"
    looked = None if check.task.cancelled() else check.task.result()
    if looked is None:
        return LateAnswer(path=path, outcome="silent")
    if looked.stamp != stamp:
        return LateAnswer(path=path, outcome="outdated")
    older = check.before is None
    return LateAnswer(path=path, outcome="answered", errors=check.errors(), may_be_older=older)
