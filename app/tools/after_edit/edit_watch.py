"""One call of an agent that writes files: the errors before it, and those that it introduced.

Owns: what was written, how long the call waits for a language server, and what its result says.
Never: failing the call; an edit that was made is reported whatever a server does.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

from app.bridges.lsp.manager import LanguageServer, ProjectLanguages
from app.errors import ToolError
from app.tools.after_edit.edit_checks import FeedbackLimits, FileCheck, StepWait
from app.tools.after_edit.edited_files import EditedFiles, File
from app.tools.after_edit.known_errors import KnownErrors, Rows, new_errors, run_of, shown
from app.tools.after_edit.server_scope import ServerScope, server_scope
from app.tools.contract.call import PathConsent, ToolCallContext, ToolEnvelope
from app.tools.contract.edit_findings import MAX_ERRORS, EditFindings, IntroducedError

log = logging.getLogger("kaged.languages")

MAX_FILES = 8
MAX_OTHERS = 4
ASKING = ("code.lsp", "code.lsp.diagnostics")


@dataclass(frozen=True, slots=True)
class _Written:
    created: bool
    was: str | None


@dataclass(frozen=True, slots=True)
class _Other:
    """A file that the server has open and that the call does not write."""

    server: LanguageServer
    before: Rows


class Feedback(Protocol):
    """What the daemon knows of the errors in files, for one call to ask."""

    limits: FeedbackLimits
    edited: EditedFiles

    def project(self, context: ToolCallContext) -> ProjectLanguages | None: ...

    def known(self, root: Path) -> KnownErrors: ...

    def waits(self, context: ToolCallContext) -> StepWait: ...

    def is_untold(self, context: ToolCallContext, path: str) -> bool: ...

    def begin(
        self,
        project: ProjectLanguages,
        context: ToolCallContext,
        path: str,
        before: Rows | None,
        was: str | None,
        scope: ServerScope,
    ) -> FileCheck: ...

    def delivered(self, context: ToolCallContext, check: FileCheck) -> None: ...


class EditWatch:
    """Made for each call by `EditFeedback`; `close` it when the call is over."""

    def __init__(
        self,
        feedback: Feedback,
        context: ToolCallContext,
        may_read: Callable[[str], Awaitable[bool]],
    ) -> None:
        self._feedback = feedback
        self._context = context
        self._may_read = may_read
        self._before: dict[str, Rows] = {}
        self._others: dict[str, _Other] = {}
        self._edited_since: set[str] = set()
        """What calls have begun to edit since this one began: errors there are not this one's."""
        self._beside: _Tasks | None = None
        self._unfollow: Callable[[], None] | None = None
        self._new_in_others: dict[str, Rows] = {}
        self._written: dict[str, _Written] = {}
        self._checks: list[FileCheck] = []
        self._held: list[File] = []
        self._scope: ServerScope | None = None

    @cached_property
    def _project(self) -> ProjectLanguages | None:
        return self._feedback.project(self._context)

    @cached_property
    def _known(self) -> KnownErrors:
        return self._feedback.known(self._context.project_root)

    @cached_property
    def _waits(self) -> StepWait:
        return self._feedback.waits(self._context)

    async def _asks(self, project: ProjectLanguages) -> ServerScope:
        """Return which server is asked for the agent: as for its question of diagnostics."""
        if self._scope is None:
            context = replace(self._context, paths=PathConsent(ASKING))
            self._scope = await server_scope(context, project)
        return self._scope

    # -- while the call runs -----------------------------------------------------------------

    async def before(self, paths: Sequence[str]) -> None:
        """Learn which errors the files have, in the time that there is for it."""
        project = self._project
        wanted = [path for path in paths if project is not None and project.language_of(path) is not None]
        if project is None or not wanted:
            return
        del wanted[MAX_FILES:]
        for path in wanted:
            self._hold(path)
        try:
            with self._waits.before.spend() as seconds:
                await self._learn(project, wanted, time.monotonic() + seconds)
        except ToolError as problem:
            log.debug("the errors before an edit are not known: %s", problem.message)
        except Exception:  # the edge: whatever is wrong here, the edit is made
            log.exception("looking at files before an edit failed")

    def written(self, path: str, *, created: bool, was: str | None = None) -> None:
        if self._project is not None and self._project.language_of(path) is not None:
            self._hold(path)
            self._written[path] = _Written(created, was)

    async def finished(self, envelope: ToolEnvelope) -> ToolEnvelope:
        """Return the call's answer with what a server says by now.

        A cancellation ends only the waiting: the edit was made, and its result is not lost."""
        project = self._project if self._written else None
        if project is None or envelope.is_error:
            return envelope
        try:
            await self._look(project)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            while task is not None and task.cancelling():
                task.uncancel()
        except Exception:  # the edge: the edit was made, and that is what its result says
            log.exception("looking at files after an edit failed")
        findings = self._findings()
        return envelope if findings is None else envelope.with_findings(findings)

    def close(self) -> None:
        """The call is over, however it ended."""
        if self._unfollow is not None:
            self._unfollow()
            self._unfollow = None
        for held in self._held:
            self._feedback.edited.end(held)
        self._held.clear()

    # -- before ------------------------------------------------------------------------------

    def _hold(self, path: str) -> None:
        held = (self._context.project_root, path)
        if self._unfollow is None:
            self._unfollow = self._feedback.edited.follow(self._edit_begins)
        if held not in self._held:
            self._held.append(held)
            self._feedback.edited.begin(held)

    def _edit_begins(self, file: File) -> None:
        """Leave a file to the call that edits it from now on."""
        root, path = file
        if root == self._context.project_root:
            self._edited_since.add(path)
            if self._beside is not None:
                self._beside.cancel(path)

    async def _learn(self, project: ProjectLanguages, wanted: list[str], until: float) -> None:
        """Ask the servers that run. All questions are over when this returns: answers that come after
        the edit are not about what was before."""
        servers: dict[str, LanguageServer] = {}
        scope = await self._asks(project)
        for path in wanted:
            server = await project.running_for(path, scope.readable)
            if server is not None:
                servers[path] = server
        own = {
            path: self._ask(server, path, until) for path, server in servers.items() if self._compares(path)
        }
        others = await self._open_beside(wanted, list(servers.values()))
        soon = min(until, time.monotonic() + self._feedback.limits.before_beside)
        beside = {path: self._ask(server, path, soon) for path, server in others.items()}
        asked, self._beside = _Tasks(own), _Tasks(beside)
        try:
            await asked.wait(until)
            await self._beside.wait(soon)
        finally:
            await asked.end()
            await self._beside.end()
        self._before = asked.results()
        self._others = {path: _Other(others[path], rows) for path, rows in self._beside.results().items()}

    def _compares(self, path: str) -> bool:
        """An earlier edit that the agent has not heard of has the errors to compare with."""
        return not self._feedback.is_untold(self._context, path)

    async def _ask(self, server: LanguageServer, path: str, until: float) -> Rows | None:
        try:
            return await self._known.before_edit(server, path, max(0.0, until - time.monotonic()))
        except ToolError:
            return None

    async def _open_beside(
        self, wanted: list[str], servers: list[LanguageServer]
    ) -> dict[str, LanguageServer]:
        """Return the newest open files of the servers that this call does not write."""
        found: dict[str, LanguageServer] = {}
        for server in dict.fromkeys(servers):
            run = run_of(server)
            open_now = run.documents.paths() if run is not None else ()
            found |= {path: server for path in open_now if path not in wanted and not self._is_edited(path)}
        newest = list(found)[-MAX_OTHERS:]
        return {path: found[path] for path in newest if await self._may_read(path)}

    def _is_edited(self, path: str) -> bool:
        return path in self._edited_since or (self._context.project_root, path) in self._feedback.edited

    # -- after -------------------------------------------------------------------------------

    async def _look(self, project: ProjectLanguages) -> None:
        """Have the files looked at, and wait as long as there is time for it."""
        scope = await self._asks(project)
        with self._waits.after.spend() as seconds:
            until = time.monotonic() + seconds
            for path, written in list(self._written.items())[:MAX_FILES]:
                if await self._may_read(path):
                    before = () if written.created else self._before.get(written.was or path)
                    check = self._feedback.begin(project, self._context, path, before, written.was, scope)
                    self._checks.append(check)
            others = {path: one for path, one in self._others.items() if not self._is_edited(path)}
            looks = {path: self._look_beside(path, one, until) for path, one in others.items()}
            asked = self._beside = _Tasks(looks)
            try:
                waited_for = [*(check.task for check in self._checks), *asked.tasks.values()]
                if waited_for:
                    await asyncio.wait(waited_for, timeout=max(0.0, until - time.monotonic()))
            finally:
                await asked.end()
            found = asked.results().items()
            self._new_in_others = {path: rows for path, rows in found if path not in self._edited_since}

    async def _look_beside(self, path: str, other: _Other, until: float) -> Rows | None:
        try:
            rows = await self._known.now(other.server, path, max(0.0, until - time.monotonic()))
        except ToolError:
            return None
        return None if rows is None else new_errors(rows, other.before)

    def _findings(self) -> EditFindings | None:
        """Return what is known by now, None when nothing was looked at."""
        done = [check for check in self._checks if check.task.done()]
        for check in done:
            self._feedback.delivered(self._context, check)
        answered = [check for check in done if not check.task.cancelled() and check.task.result() is not None]
        waiting = len(self._checks) - len(done)
        if not answered and not waiting:
            return None
        errors: list[IntroducedError] = [error for check in answered for error in check.errors()]
        older = any(check.before is None and check.errors() for check in answered)
        errors += self._errors_beside()
        looked_at = [check for check in self._checks if check in answered or not check.task.done()]
        return EditFindings(
            status="pending" if waiting else "errors" if errors else "clean",
            fresh=not waiting,
            paths=[f"./{check.path}" for check in looked_at],
            errors=errors[:MAX_ERRORS],
            more=max(0, len(errors) - MAX_ERRORS) or None,
            may_be_older=older or None,
            not_looked_at=max(0, len(self._written) - MAX_FILES) or None,
        )

    def _errors_beside(self) -> list[IntroducedError]:
        withheld = self._scope is not None and bool(self._scope.withheld)
        others = sorted(self._new_in_others.items())
        return [error for path, rows in others for error in shown(path, rows, withheld=withheld)]


class _Tasks:
    """Questions that are under way at the same time."""

    def __init__(self, questions: Mapping[str, Coroutine[Any, Any, Rows | None]]) -> None:
        self.tasks = {
            path: asyncio.create_task(one, name=f"errors of {path}") for path, one in questions.items()
        }

    async def wait(self, until: float) -> None:
        if self.tasks:
            await asyncio.wait(self.tasks.values(), timeout=max(0.0, until - time.monotonic()))

    def cancel(self, path: str) -> None:
        """Give up one answer."""
        if path in self.tasks:
            self.tasks[path].cancel()

    async def end(self) -> None:
        """Give up what has no answer."""
        for task in self.tasks.values():
            task.cancel()
        await asyncio.gather(*self.tasks.values(), return_exceptions=True)

    def results(self) -> dict[str, Rows]:
        """Return the answers that came."""
        found: dict[str, Rows] = {}
        for path, task in self.tasks.items():
            rows = None if not task.done() or task.cancelled() or task.exception() else task.result()
            if rows is not None:
                found[path] = rows
        return found
