"""One call of `code.lsp`: who asks, about which file, and the server that answers.

Owns: resolving the path that the caller gave, and the errors for what a server does not offer. Never:
what an action does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, TypeVar

from app.bridges.lsp.manager import LanguageServer, LanguageServers, ProjectLanguages
from app.errors import ToolError
from app.tools.after_edit.server_scope import ServerScope, server_scope
from app.tools.ast_grep.engine import AstGrep
from app.tools.ast_grep.listing import SourceFiles
from app.tools.code.file_lines import FileLines
from app.tools.code.parameters import WHOLE_PROJECT, LspParams
from app.tools.contract.call import ToolCallContext
from app.tools.processes.call_processes import CallProcesses
from app.tools.processes.foreign_text import clean, clean_value, one_line
from app.tools.project_files.project_files import ProjectFiles
from app.tools.project_files.view import View
from app.workspace import Workspace, invalid_path

SECONDS = 30.0
T = TypeVar("T")
MAX_MESSAGE = 4_000
MAX_PROBLEM = 2_000
PROBLEM_WITHHELD = "the language server has a problem with the project, in words that may quote other files"


@dataclass(frozen=True, slots=True)
class Tooling:
    """What every call stands on. `languages` is None where no servers are run, as in a check of a
    project file."""

    files: ProjectFiles
    sources: SourceFiles
    syntax: AstGrep
    processes: CallProcesses
    languages: LanguageServers | None
    lines: FileLines


@dataclass(frozen=True, slots=True)
class Named:
    """What the path of a call names: its real place below the root."""

    parts: tuple[str, ...]
    is_directory: bool

    @property
    def relative(self) -> str:
        return "/".join(self.parts)

    @property
    def shown(self) -> str:
        return shown_path(self.parts)


class CodeCall:
    """Made for each call."""

    def __init__(self, tooling: Tooling, params: LspParams, context: ToolCallContext) -> None:
        self.tooling = tooling
        self.params = params
        self.context = context
        self.started = asyncio.get_running_loop().time()
        self.workspace: Workspace = tooling.files.workspace(context)
        self._scope: ServerScope | None = None
        self._asked: dict[LanguageServer, None] = {}
        self.limit: asyncio.Timeout | None = None

    @cached_property
    def view(self) -> View:
        return View(self.context, self.workspace.closed_below())

    @cached_property
    def project(self) -> ProjectLanguages:
        if self.tooling.languages is None:
            raise ToolError("lsp_server_unavailable", "this process runs no language servers")
        return self.tooling.languages.project(self.context.project_id, self.context.project_root)

    def seconds_left(self) -> float:
        """What is left of the time that a call may take."""
        return max(SECONDS - (asyncio.get_running_loop().time() - self.started), 0.0)

    async def named(self) -> Named:
        """Resolve the path. Raises ToolError as the workspace does: `invalid_path`, `file_not_found`,
        `capability_denied`, `permission_denied`."""
        path = self.params.path or "."

        def look() -> Named:
            with self.workspace.open(path) as opened:
                if opened.location.aside is not None:
                    raise invalid_path(path, "only files of the project are known to language servers")
                return Named(opened.parts, opened.is_directory)

        return await self.aside(look)

    async def aside(self, work: Callable[..., T], *given: Any) -> T:
        """Return `work(*given)`, done in one of the session's threads for files."""
        return await self.tooling.files.threads.run(self.context.session_id, partial(work, *given))

    async def file(self) -> Named:
        """Resolve the path, which must be a file's."""
        named = await self.named()
        if named.is_directory:
            raise ToolError(
                "is_directory",
                f"{named.shown} is a folder; {self.params.action} needs a file in it",
                detail={"path": named.shown},
            )
        return named

    async def scope(self) -> ServerScope:
        """Return which server is asked, and whether its words may be shown."""
        if self._scope is None:
            self._scope = await server_scope(self.context, self.project)
        return self._scope

    async def server(self, named: Named) -> LanguageServer:
        """Return the server for a file, which sees no more of the project than the caller may read, where
        there can be such a one. Raises ToolError as `ProjectLanguages.server_for` does."""
        return self._note(await self.project.server_for(named.relative, (await self.scope()).readable))

    async def whole_server(self, named: Named) -> LanguageServer:
        """Return the server that sees the whole project: for what must be right in all of it, as a rename,
        and for places that a cage lets the caller know of. Its words are not for callers that may not read
        all of it. Raises as `server`."""
        return self._note(await self.project.server_for(named.relative))

    async def server_at(self, like: LanguageServer, folder: str) -> LanguageServer:
        """Return the server for the unit of code in a folder, of the same language as another and reading no
        more than that. Raises as `server`."""
        readable = like.reading.readable
        return self._note(await self.project.server_at(like.language, folder, readable))

    async def loaded(self, named: Named, server: LanguageServer) -> None:
        """Wait for the first load of the server's project, if diagnostics need it; that time does not
        count."""
        began = asyncio.get_running_loop().time()
        await server.load(named.relative)
        self.started += asyncio.get_running_loop().time() - began

    def _note(self, server: LanguageServer) -> LanguageServer:
        self._asked[server] = None
        left = server.load_seconds_left(whole=self.params.action in WHOLE_PROJECT)
        limit = self.limit
        if left and limit is not None and (until := limit.when()) is not None:
            # A first load may take longer than a call that only looks.
            limit.reschedule(max(until, asyncio.get_running_loop().time() + left + SECONDS))
        return server

    def problem(self) -> str | None:
        """Return what the servers that were asked complain of, as the caller may read it; None when they
        complain of nothing. Their answers may lack something because of it."""
        problems: dict[str, None] = {}
        for server in self._asked:
            if (words := server.problem) and self.view.restricts and server.reading.readable.is_all:
                words = PROBLEM_WITHHELD
            problems[one_line(words, MAX_PROBLEM)] = None
        return "; ".join(filter(None, problems)) or None

    @property
    def is_bounded(self) -> bool:
        """Whether the server that was asked sees a part of the project only."""
        return self._scope is not None and self._scope.is_bounded

    @property
    def withholds(self) -> bool:
        """Whether the server's own words are withheld, as far as a server was asked."""
        return self._scope is not None and bool(self._scope.withheld)


def shown_path(parts: tuple[str, ...]) -> str:
    """Return a path below the root as answers show it."""
    return "./" + "/".join(parts) if parts else "."


def need(server: LanguageServer, method: str, action: str) -> None:
    """Raise ToolError `action_not_supported` unless the server offers `method`."""
    if not server.offers(method):
        raise ToolError(
            "action_not_supported",
            f"{server.name} ({server.language}) does not offer {method}, so {action} cannot be used there; "
            "the action capabilities says what it offers",
            detail={"server": server.name, "language": server.language, "capability": method},
        )


def reason_of(call: CodeCall, error: ToolError) -> str:
    """Return why a part of an answer is missing, as the caller may read it."""
    return one_line(readable(call, error).message, 1_000)


def readable(call: CodeCall, error: ToolError) -> ToolError:
    """Return the error as the caller may read it: a server's own words may stand in it, and what it
    says at its end may quote files that not every caller sees."""
    if not error.code.startswith("lsp_"):
        return error
    if error.code == "lsp_server_unavailable" and call.view.restricts:
        return ToolError(error.code, "the language server does not run; status and reload may help")
    if error.code == "lsp_request_failed" and call.withholds:
        return ToolError(error.code, "the language server refused the request; its words are withheld")
    return ToolError(error.code, clean(error.message, MAX_MESSAGE), detail=clean_value(error.detail))
