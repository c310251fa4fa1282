"""What the language servers of a project find in one of its files, for clients.

Owns: which server is asked, for how long, and the reason where no answer comes. Never: running servers
(`bridges.lsp`), or the shape of what they report, which is that of agents (`tools.code`).
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from app.bridges.lsp.manager import Diagnosed, LanguageServer, LanguageServers
from app.errors import ToolError
from app.harness.files.roots import WorkingRoots
from app.harness.files.service import FileAddress, ProjectFileViews
from app.harness.projects.projects import ProjectRegistry
from app.tools.code.diagnostic_rows import SEVERITIES, rows
from app.tools.code.results import Diagnostic
from app.tools.processes.foreign_text import clean, one_line

ProblemState = Literal["known", "checking", "no_server", "not_installed", "not_trusted", "unavailable"]
MAX_PROBLEMS = 500
MAX_ASKED = 16
"""How many files are asked about at once."""
MAX_WORDS = 1_000
WITHHELD = "Not shown to a read-only token: it may quote other files."
_STATES: dict[str, ProblemState] = {
    "language_not_supported": "no_server",
    "lsp_server_not_found": "not_installed",
    "lsp_timeout": "checking",
}
_NO_SERVER = "kaged knows no language server for this kind of file. One can be declared under lsp.servers."
_NOT_TRUSTED = "The project is not trusted, so no language server runs in it. Trust it to see problems."
_CHECKING = "The language server is still checking this file."


@dataclass(frozen=True, slots=True)
class FileProblems:
    """`found` are the most serious problems, by position, `total` counts all. `words` say why it is not known
    what is wrong, or what the server complains of; they may be empty where it is known."""

    path: str
    state: ProblemState
    words: str = ""
    server: str | None = None
    found: tuple[Diagnostic, ...] = ()
    total: int = 0


class ProblemViews:
    """One per daemon."""

    def __init__(
        self,
        views: ProjectFileViews,
        roots: WorkingRoots,
        projects: ProjectRegistry,
        languages: LanguageServers,
    ) -> None:
        self._views = views
        self._roots = roots
        self._projects = projects
        self._languages = languages
        self._gate = asyncio.Semaphore(MAX_ASKED)

    async def of(self, address: FileAddress, *, seconds: float, secrets: bool) -> FileProblems:
        """Return what is wrong in a file, as far as its server says so within `seconds`. A server that does
        not run yet goes on with its start afterwards. Without `secrets` only of files that seem to hold no
        credentials, and not in the server's words. Raises `KagedError`."""
        path = await self._views.located(address, secrets=secrets)
        if self._projects.is_untrusted(address.project_id):
            return FileProblems(path, "not_trusted", _NOT_TRUSTED)
        root = await self._roots.named(address.project_id, address.session_id)
        try:
            async with asyncio.timeout(seconds), self._gate:
                found = await self._ask(address.project_id, root, path, time.monotonic() + seconds)
        except TimeoutError:
            return FileProblems(path, "checking", _CHECKING)
        except ToolError as problem:
            state = _STATES.get(problem.code, "unavailable")
            words = _NO_SERVER if state == "no_server" else _sentence(problem.message)
            found = FileProblems(path, state, words)
        return found if secrets else _without_words(found)

    async def _ask(self, project_id: str, root: Path, path: str, deadline: float) -> FileProblems:
        server = await self._languages.project(project_id, root).server_for(path)
        await server.load(path)
        # It answers a little before it is waited for no more.
        left = max(0.0, 0.9 * (deadline - time.monotonic()))
        diagnosed = await server.diagnostics(path, seconds=left)
        found = await asyncio.to_thread(rows, diagnosed, server.encoding)
        serious = sorted(found, key=lambda one: SEVERITIES.index(one.severity))[:MAX_PROBLEMS]
        shown = tuple(sorted(serious, key=lambda one: (one.line, one.character)))
        state, words = _told(server, diagnosed)
        return FileProblems(path, state, words, one_line(server.name, 100), shown, len(found))


def _told(server: LanguageServer, diagnosed: Diagnosed) -> tuple[ProblemState, str]:
    problem = server.problem
    if diagnosed.fresh:
        return "known", _sentence(problem) if problem else ""
    if problem:
        return "unavailable", _sentence(f"{server.name} cannot check the file: {problem}")
    doing = one_line(server.doing, MAX_WORDS)
    return "checking", f"{_CHECKING} It is at: {doing}." if doing else _CHECKING


def _without_words(found: FileProblems) -> FileProblems:
    """Return the problems without what a server, or its end, has said: it may quote files that the token does
    not get to read."""
    rest = tuple(one.model_copy(update={"message": WITHHELD}) for one in found.found)
    words = "" if found.state == "known" else found.words
    if found.state == "unavailable":
        words = "The language server does not answer. A read-only token does not get to see why."
    elif found.state == "checking":
        words = _CHECKING
    return FileProblems(found.path, found.state, words, found.server, rest, found.total)


def _sentence(words: str) -> str:
    text = clean(words, MAX_WORDS).strip()
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith(('.', '!', '?')) else '.'}"
