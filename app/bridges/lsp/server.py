"""One language server of a project as its users see it: there when it is needed, whatever happened.

Owns: requests, which are shared when identical, repeated once after a crash, and ended when they hang.
Never: when the server runs, which is its `Lifecycle`, and the protocol's messages.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeVar

import orjson

from app.bridges.lsp import clangd, whole_project
from app.bridges.lsp.client import ServerCapabilities
from app.bridges.lsp.connection import ServerEnded
from app.bridges.lsp.diagnostics import Diagnosed, Unanswered
from app.bridges.lsp.documents import OpenText
from app.bridges.lsp.file_uris import path_to_uri
from app.bridges.lsp.language_entry import Behaviour
from app.bridges.lsp.lifecycle import Dependencies, Lifecycle, Served
from app.bridges.lsp.positions import Encoding
from app.bridges.lsp.preview import previewed
from app.bridges.lsp.run import ServerRun
from app.bridges.lsp.sharing import Sharing
from app.bridges.lsp.turns import Turns
from app.bridges.lsp.whole_project import ProjectReport
from app.bridges.rpc.peer import ResponseError
from app.errors import ToolError

T = TypeVar("T")
_ASK_AGAIN = frozenset({-32801, -32802})
"""ContentModified and ServerCancelled: the server was busy with a change."""
_ASK_AGAIN_SECONDS = 0.05
_ORDINARY = Behaviour()
_WHOLE = 0.9
_ABOUT_ONE_FILE = "textDocument/hover"
_NOT_REPEATED = frozenset({"workspace/executeCommand"})
_TURN_SECONDS = 1.0
"""How long a preview waits for what others are asking."""


class LanguageServer:
    """Starts and restarts as needed; every method may be called at any time, by many at once."""

    def __init__(self, served: Served, dependencies: Dependencies) -> None:
        self.language, self.reading = served.language, served.reading
        self.root, self.project_root = served.root, served.project_root
        self.lifecycle = Lifecycle(served, dependencies)
        self._limits = dependencies.limits
        self._sharing = Sharing()
        self._turns = Turns()
        self._unread: set[str] = set()

    @property
    def name(self) -> str:
        return self.lifecycle.name

    @property
    def _run(self) -> ServerRun | None:
        return self.lifecycle.run

    @property
    def encoding(self) -> Encoding:
        return self._run.connection.encoding if self._run is not None else "utf-16"

    @property
    def capabilities(self) -> Mapping[str, Any]:
        return self._offered.merged()

    @property
    def server_info(self) -> Mapping[str, Any]:
        return self._run.connection.server_info if self._run is not None else {}

    @property
    def trouble(self) -> str:
        """Why the server cannot work on the project, in its own words; empty while it can. Its answers
        may be empty because of that."""
        return self._run.readiness.trouble if self._run is not None else ""

    @property
    def problem(self) -> str:
        """What the server complains of, with what to do where that is known: its answers may lack
        something because of it. Empty when it complains of nothing."""
        return self._run.readiness.problem if self._run is not None else ""

    @property
    def doing(self) -> str:
        """What the server says that it is doing, and how far it is; empty when it says nothing."""
        return self._run.readiness.doing if self._run is not None else ""

    @property
    def behaviour(self) -> Behaviour:
        """What is particular to the server; that of an ordinary one until it is known which it is."""
        resolved = self.lifecycle.resolved
        return resolved.behaviour if resolved is not None else _ORDINARY

    def offers(self, method: str) -> bool:
        return self._offered.offers(method)

    def options(self, method: str) -> Mapping[str, Any] | None:
        """Return the options of what the server offers; None when it does not offer it."""
        return self._offered.options(method)

    async def start(self) -> None:
        """Have the server running. Raises ToolError `lsp_server_not_found` and
        `lsp_server_unavailable`."""
        await self.lifecycle.running()

    async def document(self, path: str) -> OpenText:
        """Open a file (relative to the project's root) and have it and all others in sync with the
        disk. Raises ToolError as opening does."""

        async def get(run: ServerRun) -> OpenText:
            return await run.document(path)

        return await self._with_run(get)

    def has_open(self, path: str) -> bool:
        """Tell whether a file (relative to the project's root) is open in the server."""
        return self._run is not None and path in self._run.documents.paths()

    async def open_all(self, paths: Sequence[str]) -> None:
        """Have these files open, of those that can be read, side by side, and known to the server. Raises
        ToolError `lsp_timeout` when that takes too long."""

        async def open_them(run: ServerRun) -> None:
            self._unread.update(await run.documents.open_all(paths))
            if run.server.behaviour.freshness == "clangd":
                unread = self._unread.intersection(paths)
                uris = [path_to_uri(self.project_root / path) for path in unread]
                if not await clangd.have_read(run.connection, uris, self._limits.request_seconds):
                    raise self._loading(run)
            self._unread.difference_update(paths)

        await self._with_run(open_them)

    async def synchronise(self) -> None:
        """Tell the server whatever changed on disk; nothing when it does not run."""
        if self._run is not None:
            with self.lifecycle.in_use(), suppress(ServerEnded):
                await self._run.synchronise()

    def notify(self, method: str, params: Any) -> None:
        """Send a notification; nothing when the server does not run."""
        if self._run is not None:
            self._run.connection.notify(method, params)

    async def request(self, method: str, params: Any, *, seconds: float | None = None) -> Any:
        """Ask the server, and return the plain answer. Those that ask the same at the same time share
        one request.

        Raises ToolError `lsp_timeout` (a server that hangs is killed and restarted at the next use),
        `lsp_request_failed` and `lsp_server_unavailable`.
        """
        allowed = self._limits.request_seconds if seconds is None else seconds

        async def ask(run: ServerRun) -> Any:
            deadline = time.monotonic() + allowed
            if run.readiness.needed_for(method):
                load_seconds = self._limits.load_seconds if seconds is None else 0.0
                if not await run.loaded(deadline, load_seconds):
                    raise self._loading(run)
                deadline = max(deadline, time.monotonic() + allowed) if load_seconds else deadline
                await run.scanned(deadline)
            while True:
                asked_at = time.monotonic()
                try:
                    async with asyncio.timeout(max(0.0, deadline - time.monotonic())):
                        return await run.connection.request(method, params)
                except TimeoutError:
                    raise self._timed_out(run, method, asked_at) from None
                except ResponseError as refusal:
                    if refusal.code not in _ASK_AGAIN or time.monotonic() + _ASK_AGAIN_SECONDS > deadline:
                        raise self._refused(method, refusal) from None
                await asyncio.sleep(_ASK_AGAIN_SECONDS)

        async def asked() -> Any:
            return await self._with_run(ask, repeats=method not in _NOT_REPEATED)

        if method in _NOT_REPEATED:
            return await asked()
        changes = self._run.changes if self._run is not None else -1
        key = (method, changes, allowed, orjson.dumps(params, option=orjson.OPT_SORT_KEYS))
        return await self._sharing.run(key, asked)

    async def load(self, path: str) -> None:
        """Have a file open and wait until the project is loaded, where diagnostics need that; not for
        ever."""

        async def loaded(run: ServerRun) -> None:
            with suppress(ToolError):  # it may be no text; another one is asked about then
                await run.document(path)
            if run.readiness.needed_for("textDocument/diagnostic"):
                await run.loaded(time.monotonic(), self._limits.load_seconds)

        await self._with_run(loaded)

    async def lacks_dependencies(self, path: str) -> bool:
        """Tell whether the server knows the project of a file only without what that depends on: its answers
        about code of others are empty then. Raises ToolError as `request` does."""
        if not self.behaviour.signals.failed_load_pattern:
            return False
        await self.load(path)
        return self._run is not None and self._run.readiness.load_failed

    @property
    def load_seconds(self) -> float:
        """How long a first load may take."""
        return self._limits.load_seconds

    @property
    def checks_open_texts(self) -> bool:
        """Whether its diagnostics are for the texts that are open, not for what is on disk."""
        return self.behaviour.freshness != "flycheck"

    def load_seconds_left(self, *, whole: bool) -> float:
        """Return how much longer a first load that is under way may take, in seconds; 0 where a request is
        answered before it: one that is not about the `whole` project, by most servers."""
        run = self._run
        if run is None or run.readiness.ready or not (whole or run.readiness.needed_for(_ABOUT_ONE_FILE)):
            return 0.0
        return run.load_seconds_left(self._limits.load_seconds)

    async def diagnostics(self, path: str, *, seconds: float | None = None, hints: bool = True) -> Diagnosed:
        """Return what the server finds in a file; `hints` may be left out. When it has not answered for the
        present content in time, the answer says so by `fresh`. Raises ToolError as `request` does."""
        allowed = self._limits.request_seconds if seconds is None else seconds

        async def diagnose(run: ServerRun) -> Diagnosed:
            deadline = time.monotonic() + allowed
            text = await run.document(path)
            try:
                if run.readiness.needed_for("textDocument/diagnostic"):
                    await run.readiness.wait(deadline)
                return await run.diagnostics.of(path, deadline, hints=hints)
            except Unanswered as silence:
                if self._hangs(silence.since):
                    self._end_hanging(run, silence.method)
                return Diagnosed((), False, text)
            except ResponseError as refusal:
                raise self._refused("textDocument/diagnostic", refusal) from None

        return await self._with_run(diagnose)

    async def project_diagnostics(self, path: str, *, seconds: float) -> ProjectReport:
        """Return what the server finds in the whole project of a file, as much as it says within `seconds`; a
        server that says nothing may be waiting for changes, and is not ended. Raises ToolError as `request`
        does."""

        async def look(run: ServerRun) -> ProjectReport:
            deadline = time.monotonic() + seconds
            await run.synchronise()
            if run.readiness.needed_for(whole_project.METHOD):
                await run.readiness.wait(deadline)
            found = await run.whole.report(path, deadline)
            await run.synchronise()
            return run.whole.checked(found)

        return await self._with_run(look)

    async def preview(
        self, contents: Mapping[str, bytes], paths: Sequence[str], *, seconds: float
    ) -> dict[str, Diagnosed]:
        """Return what the server would find in the files `paths` if others had these contents, hints left
        out, of those that it answers for in time. Who asks something else meanwhile waits, and is answered
        for what is on disk. Raises ToolError as `diagnostics` does, and `lsp_timeout` where others are being
        answered."""

        async def look(run: ServerRun) -> dict[str, Diagnosed]:
            return await previewed(run, contents, paths, seconds)

        try:
            async with self._turns.alone(_TURN_SECONDS):
                return await self._done_with_run(look, repeats=False)
        except TimeoutError:
            raise ToolError("lsp_timeout", f"{self.name} is busy with other requests") from None

    @property
    def _offered(self) -> ServerCapabilities:
        return self._run.connection.capabilities if self._run is not None else ServerCapabilities({})

    async def _with_run(self, work: Callable[[ServerRun], Awaitable[T]], *, repeats: bool = True) -> T:
        """Do the work with a server that runs; once more, with a new one, when it ends meanwhile."""
        async with self._turns.side_by_side():
            return await self._done_with_run(work, repeats=repeats)

    async def _done_with_run(self, work: Callable[[ServerRun], Awaitable[T]], *, repeats: bool) -> T:
        with self.lifecycle.in_use():
            for last in (not repeats, True):
                run = await self.lifecycle.running()
                try:
                    result = await work(run)
                except ServerEnded as ended:
                    self.lifecycle.crashed(run, ended)
                    if last:
                        raise self.lifecycle.unavailable(ended.reason) from None
                else:
                    # What was exchanged while it was asked may be in the answer.
                    if await self.lifecycle.fits(run):
                        return result
                    if last:
                        raise self.lifecycle.unavailable("files of its cage were exchanged while it answered")
        raise AssertionError("unreachable")

    def _hangs(self, since: float) -> bool:
        """Tell whether a request without an answer is old enough for the server to be ended; one that
        had to wait for the project to be loaded first has not had its whole time."""
        return time.monotonic() - since >= _WHOLE * self._limits.request_seconds

    def _end_hanging(self, run: ServerRun, method: str) -> None:
        ended = ServerEnded(f"{self.name} did not answer {method} in time and was killed")
        self.lifecycle.crashed(run, ended, hangs=True)

    def _timed_out(self, run: ServerRun, method: str, since: float) -> ToolError:
        if not self._hangs(since):
            return ToolError("lsp_timeout", f"{self.name} has not answered {method} in time; ask again later")
        self._end_hanging(run, method)
        return ToolError(
            "lsp_timeout",
            f"{self.name} did not answer {method} within {self._limits.request_seconds:g} s; it was "
            "stopped and starts again with the next call",
            detail={"language": self.language, "method": method},
        )

    def _loading(self, run: ServerRun) -> ToolError:
        doing = f" ({run.readiness.doing})" if run.readiness.doing else ""
        return ToolError(
            "lsp_timeout",
            f"{self.name} is still loading the project{doing}; ask again later",
            detail={"language": self.language, "loading": True},
        )

    def _refused(self, method: str, refusal: ResponseError) -> ToolError:
        return ToolError(
            "lsp_request_failed",
            f"{self.name} refused {method}: {refusal.message[:1000]}",
            detail={"language": self.language, "method": method, "server_code": refusal.code},
        )
