"""When a language server runs: started on first use, restarted after a crash, ended when idle or too large.

Owns: the present run and the state, one start and any number of endings under way, each a task of its own
that no caller's cancellation stops, and the audit of it all. Never: what the server is asked.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Coroutine, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from app.bridges.lsp.connection import SHUTDOWN_SECONDS, ServerEnded
from app.bridges.lsp.documents import Decode
from app.bridges.lsp.limits import ServerLimits
from app.bridges.lsp.resolution import ResolvedServer, ServerTable
from app.bridges.lsp.run import ServerRun
from app.bridges.lsp.server_places import ServerPlaces
from app.bridges.lsp.server_sight import Reading
from app.bridges.processes import proc
from app.bridges.processes.audit import Emit
from app.bridges.processes.supervisor import Restarts
from app.errors import ToolError
from app.states import LanguageServerState, move
from app.workspace import RootFolder
from app.workspace.tree_watch import TreeWatches

log = logging.getLogger("kaged.languages")

MAX_REOPENED = 16
HANGING_GRACE_SECONDS = 1.0
"""How long a server that hangs may take to end on SIGTERM before it is killed."""
_FORGIVING = frozenset({"idle_timeout", "reload"})


@dataclass(frozen=True, slots=True)
class Dependencies:
    """What servers are run with; the same for all of a project. `contents` stand in place of what files hold
    on disk, by path: for a server that looks at another state of the project."""

    places: ServerPlaces
    watches: TreeWatches
    environment: Mapping[str, str]
    decode: Decode
    record: Emit
    limits: ServerLimits
    contents: Mapping[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Served:
    """What one server is for: a language of the `table`, below the folder `root` in which it is started, in a
    project whose root paths are relative to; and what it reads."""

    language: str
    root: Path
    project_root: Path
    table: ServerTable
    reading: Reading = field(default_factory=Reading)


class _Use:
    """Who uses a server now, and when it was used last."""

    def __init__(self) -> None:
        self.last = time.monotonic()
        self._users = 0

    @property
    def is_present(self) -> bool:
        return self._users > 0

    def noted(self) -> None:
        self.last = time.monotonic()

    @contextmanager
    def begun(self) -> Iterator[None]:
        self._users += 1
        try:
            yield
        finally:
            self._users -= 1
            self.noted()


class Lifecycle:
    """The runs of one server, at most one at a time. Made by its `LanguageServer`."""

    def __init__(self, served: Served, dependencies: Dependencies) -> None:
        self.restarts = Restarts(dependencies.limits.back_off, dependencies.limits.forgive_seconds)
        self.last_problem = ""
        self.resolved: ResolvedServer | None = None
        self._served = served
        self._project = RootFolder(served.project_root)
        self._dependencies = dependencies
        self._use = _Use()
        self._state = LanguageServerState.STOPPED
        self._run: ServerRun | None = None
        self._starting: asyncio.Task[None] | None = None
        self._guard: asyncio.Task[None] | None = None
        self._endings: set[asyncio.Task[None]] = set()
        self._reopen: tuple[str, ...] = ()
        self._stopped_for = ""
        self._closed = False

    @property
    def language(self) -> str:
        return self._served.language

    @property
    def _limits(self) -> ServerLimits:
        return self._dependencies.limits

    @property
    def state(self) -> LanguageServerState:
        return self._state

    @property
    def run(self) -> ServerRun | None:
        """The present run, None when there is none."""
        return self._run

    @property
    def busy(self) -> bool:
        return self._use.is_present or self._starting is not None

    @property
    def is_ending(self) -> bool:
        """Whether something is still there of what was stopped or has crashed."""
        return bool(self._endings) or self._starting is not None

    @property
    def name(self) -> str:
        return self.resolved.program.name if self.resolved is not None else self.language

    @property
    def last_used(self) -> float:
        return self._use.last

    def in_use(self) -> AbstractContextManager[None]:
        """While the `with` lasts the server is not idle."""
        return self._use.begun()

    async def running(self) -> ServerRun:
        """Return the present run, started if need be. Raises ToolError `lsp_server_not_found`,
        `lsp_server_unavailable`, and `lsp_timeout` when the start takes long.

        A start goes on when its caller is cancelled: the next one will want it.
        """
        while True:
            if self._closed:
                raise self._is_closed()
            run = self._run
            if run is None:
                await self._started()
            elif run.connection.ended:
                self.crashed(run, await run.connection.wait_until_ended())
            elif not await self.fits(run):
                continue
            else:
                self._use.noted()
                return run

    def crashed(self, run: ServerRun, ended: ServerEnded, *, hangs: bool = False) -> None:
        """Note the end of a run, once, and have what is left of it ended; `hangs` when it still runs."""
        if self._run is not run:
            return
        self._leave(LanguageServerState.CRASHED, ended)
        self._note_crash(ended)
        self._aside(run.connection.aclose(grace_seconds=HANGING_GRACE_SECONDS if hangs else 0.0))

    async def fits(self, run: ServerRun) -> bool:
        """Tell whether the cage of a run still shows what it should, and begin to end the run when it does
        not: a file that was put in the place of a hidden one is seen in there."""
        sight = run.sight
        if sight is None or not await asyncio.to_thread(sight.is_outdated):
            return True
        if self._run is run:
            self.begin_stop("cage_changed")
        return False

    def begin_stop(self, reason: str, *, for_ever: bool = False) -> None:
        """Begin to end the server; `ended` waits for it. It starts again at the next use, unless
        `for_ever`."""
        self._stopped_for = reason
        self._closed = self._closed or for_ever
        if self._starting is not None:
            self._starting.cancel()
        run = self._leave(LanguageServerState.STOPPED, ServerEnded(f"{self.name} was stopped ({reason})"))
        if reason in _FORGIVING:
            self.restarts.forgive()
        if reason == "idle_timeout":
            self._reopen = ()
        if run is not None:
            self._aside(self._shut_down(run, reason))

    async def ended(self) -> None:
        """Wait until nothing is left of what was stopped or has crashed up to now."""
        tasks = {*self._endings, *((self._starting,) if self._starting is not None else ())}
        if tasks:
            await asyncio.wait(tasks)
        if self._endings:
            await asyncio.wait(set(self._endings))

    def unavailable(self, problem: str = "") -> ToolError:
        """Return the error of who needed the server; `problem` is why it ended, if not of itself."""
        problem = self.last_problem or problem
        tries = self.restarts.crashes
        given_up = self._state is LanguageServerState.UNAVAILABLE
        then = "use the reload action to try again" if given_up else "it is started again with the next call"
        return ToolError(
            "lsp_server_unavailable",
            f"the {self.language} server ended ({tries} crashes): {problem}; {then}",
            detail={
                "language": self.language,
                "restarts": max(0, tries - 1),
                "problem": problem,
            },
        )

    def _still_starting(self) -> ToolError:
        return ToolError(
            "lsp_timeout",
            f"the {self.language} server ({self.name}) is not ready after {self._limits.wait_seconds:g} s: "
            "it has not answered initialize yet and is still starting; ask again later",
            detail={"language": self.language, "starting": True},
        )

    def _is_closed(self) -> ToolError:
        return ToolError(
            "lsp_server_unavailable",
            f"the {self.language} server was stopped for good ({self._stopped_for}); repeat the call if the "
            "project is still open",
            detail={"language": self.language, "restarts": 0, "problem": self._stopped_for},
        )

    async def _started(self) -> None:
        """Wait for the start, begun if it is not; when it is called off, each waiter looks again."""
        starting = self._starting
        if starting is None:
            starting = asyncio.create_task(self._start(), name=f"start {self.language} server")
            starting.add_done_callback(self._start_is_over)
            self._starting = starting
        await asyncio.wait({starting}, timeout=self._limits.wait_seconds)
        if not starting.done():
            raise self._still_starting()
        if not starting.cancelled() and (problem := starting.exception()) is not None:
            raise problem

    def _start_is_over(self, starting: asyncio.Task[None]) -> None:
        self._starting = None
        if self._state is LanguageServerState.STARTING:
            self._become(LanguageServerState.STOPPED)
        if not starting.cancelled():
            starting.exception()  # the waiters get it; there may be none left

    async def _start(self) -> None:
        """Start the server, again after a crash at its start, as long as it may be."""
        until = time.monotonic() + self._limits.start_seconds
        while True:
            if self._state is LanguageServerState.UNAVAILABLE:
                raise self.unavailable()
            if self._endings:
                await asyncio.wait(set(self._endings))
            await asyncio.sleep(self.restarts.wait_seconds)
            self.resolved = await asyncio.to_thread(self._served.table.resolve, self.language)
            self._become(LanguageServerState.STARTING)
            try:
                run = await self._begin(self.resolved)
            except ServerEnded as ended:
                if self._state is not LanguageServerState.STARTING:
                    raise asyncio.CancelledError from None  # it was stopped at the same moment
                self._note_crash(ended)
                if time.monotonic() > until:
                    raise self.unavailable() from None
                continue
            break
        self._enter(run)
        for path in self._reopen:
            with suppress(ToolError, ServerEnded):
                await run.documents.get(path)

    async def _begin(self, resolved: ResolvedServer) -> ServerRun:
        spawned = False

        def note() -> None:
            nonlocal spawned
            spawned = True
            beside = {"companion": list(resolved.companion)} if resolved.companion else {}
            self._record("spawned", {"command": list(resolved.command), **beside})

        watch = await self._dependencies.watches.open(self._project.path)
        run = ServerRun(resolved, self._project, watch)
        try:
            await run.begin(
                await self._dependencies.places.place(resolved, self._served.reading, self._served.root),
                self._served.root,
                self._dependencies.decode,
                self._language_id,
                note,
                self._limits.initialize_seconds,
                self._dependencies.contents,
            )
        except asyncio.CancelledError:
            if spawned:
                self._record("stopped", {"reason": self._stopped_for})
            raise
        return run

    def _enter(self, run: ServerRun) -> None:
        self._run = run
        self._become(LanguageServerState.READY)
        self.restarts.started()
        self._use.noted()
        self._guard = asyncio.create_task(self._look_after(run), name=f"look after {self.language} server")

    def _leave(self, state: LanguageServerState, why: ServerEnded) -> ServerRun | None:
        """Part from the present run, which the caller ends."""
        run, self._run = self._run, None
        if self._guard is not None and self._guard is not asyncio.current_task():
            self._guard.cancel()
        self._guard = None
        if run is not None:
            self._reopen = run.documents.paths()[-MAX_REOPENED:]
            run.forget(why)
        if self._state is not state:
            self._become(state)
        return run

    async def _look_after(self, run: ServerRun) -> None:
        """Notice the end of a run, and end one that is idle or has grown too large."""
        limits = self._limits
        cap = (limits.memory_mb or run.server.behaviour.max_memory_mb) * 1024 * 1024
        while True:
            if await run.connection.ended_within(limits.look_seconds):
                self.crashed(run, await run.connection.wait_until_ended())
                return
            memory = await asyncio.to_thread(proc.memory_of_tree, *run.connection.pids)
            if memory > cap:
                self.last_problem = f"it used {memory >> 20} MB of memory, {cap >> 20} MB are allowed"
                self.begin_stop("memory_limit")
                return
            if not self.busy and time.monotonic() - self.last_used >= limits.idle_seconds:
                self.begin_stop("idle_timeout")
                return

    async def _shut_down(self, run: ServerRun, reason: str) -> None:
        await run.connection.shut_down(SHUTDOWN_SECONDS)
        self._record("stopped", {"reason": reason})

    def _aside(self, ending: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(ending, name=f"end {self.language} server")
        self._endings.add(task)
        task.add_done_callback(self._ending_is_over)

    def _ending_is_over(self, task: asyncio.Task[None]) -> None:
        self._endings.discard(task)
        if not task.cancelled() and (problem := task.exception()) is not None:
            log.error("a language server was not ended properly", exc_info=problem)

    def _note_crash(self, ended: ServerEnded) -> None:
        self.restarts.crashed()
        self.last_problem = ended.reason
        if self._state is not LanguageServerState.CRASHED:
            self._become(LanguageServerState.CRASHED)
        data = {"exit_code": ended.exit_code, "restart_count": self.restarts.crashes - 1}
        self._record("crashed", data)
        if self.restarts.exhausted:
            self._become(LanguageServerState.UNAVAILABLE)

    def _record(self, event: str, data: dict[str, Any]) -> None:
        self._dependencies.record(f"code.lsp.server_{event}", {"language": self.language, **data})

    def _language_id(self, path: str) -> str | None:
        found = self._served.table.language_of(path)
        return found[1] if found is not None and found[0] == self.language else None

    def _become(self, state: LanguageServerState) -> None:
        self._state = move(self._state, state)
