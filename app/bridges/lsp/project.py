"""The language servers of one project.

Owns: which server a file belongs to, by language and by the folder that it is to be started in.
Never: what the servers are asked.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from app.bridges.installed.written_programs import CagedAgent
from app.bridges.lsp.lifecycle import Dependencies, Served
from app.bridges.lsp.resolution import Declared, ServerTable
from app.bridges.lsp.server import LanguageServer
from app.bridges.lsp.server_sight import Reading
from app.bridges.lsp.units import Units
from app.bridges.processes import proc
from app.cages.readable import ALL, Readable
from app.errors import ToolError

State = Literal["configured", "installed", "starting", "ready", "crashed", "unavailable", "stopped"]
MAX_FOLDERS = 10_000
MAX_SIGHTS = 3
"""How many servers of a language run beside each other because who asks may read different parts."""
Key = tuple[str, Path, Readable]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerStatus:
    """How one language stands. `configured`: no program was found, `problem` says what to install;
    `installed`: found, not started. `root` is relative to the project's, `memory_mb` that of the
    server and all that it started."""

    language: str
    state: State
    source: str | None = None
    command: tuple[str, ...] = ()
    root: str = "."
    pid: int | None = None
    memory_mb: int | None = None
    restarts: int = 0
    open_documents: int = 0
    loading: str | None = None
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class Declarations:
    """What the project file and the local config declare, and the project's agents that have a cage."""

    project: Sequence[Declared] = ()
    local: Sequence[Declared] = ()
    agents: tuple[CagedAgent, ...] = ()


class ProjectLanguages:
    """Made by the manager, once for each project."""

    def __init__(self, root: Path, declared: Declarations, dependencies: Dependencies) -> None:
        self.root = root
        self.declared = declared
        self.table = ServerTable(declared.project, declared.local, dependencies.environment, root=root)
        self._dependencies = dependencies
        self._servers: dict[Key, LanguageServer] = {}
        self._roots: dict[tuple[str, str], Path] = {}
        self._leaving: set[LanguageServer] = set()
        self._beside: set[LanguageServer] = set()
        self._closed = ""

    def language_of(self, path: str) -> str | None:
        """Return the language of a file by its name."""
        found = self.table.language_of(path)
        return None if found is None else found[0]

    @property
    def masks(self) -> bool:
        """Whether a server can be shown a part of the project only. Without, all ask the same one, which
        reads all of it."""
        return self._dependencies.places.masks

    async def server_for(self, path: str, readable: Readable = ALL) -> LanguageServer:
        """Return the running server of a file, started if need be, that reads no more of the project than
        `readable`, where there is such a thing; `path` is relative to the root.

        Raises ToolError `language_not_supported`, `lsp_server_not_found`, `lsp_server_unavailable`,
        `cage_unavailable` and `program_writable_in_cage`.
        """
        server = self._at(*await self._place(path), self._bound(readable))
        await server.start()
        return server

    async def server_at(self, language: str, folder: str, readable: Readable = ALL) -> LanguageServer:
        """Return the running server of a language for the unit in `folder` (relative to the root), started if
        need be. Raises ToolError as `server_for`."""
        server = self._at(language, self.root / folder, self._bound(readable))
        await server.start()
        return server

    @asynccontextmanager
    async def server_before(
        self, path: str, contents: Mapping[str, bytes], readable: Readable = ALL
    ) -> AsyncIterator[LanguageServer]:
        """Yield a server of its own for a file's language and root, for which some files hold `contents`; it
        is ended afterwards. These files have to be opened: what it reads by itself is what is on disk. Raises
        ToolError as `server_for`."""
        language, root = await self._place(path)
        dependencies = replace(self._dependencies, contents=contents)
        reading = Reading(self._bound(readable), self.declared.agents)
        server = LanguageServer(Served(language, root, self.root, self.table, reading), dependencies)
        if self._closed:
            raise self._is_closed(language)
        self._beside.add(server)
        try:
            await server.start()
            yield server
        finally:
            self._beside.discard(server)
            self._part_from(server, "no_longer_needed")

    def units(self, language: str) -> Units:
        """Return the units of the code in a language, as they are now."""
        return Units(self.root, language, self.table.unit_markers_of(language))

    def root_of(self, path: str) -> str:
        """Return the folder that the server of a file is started in, relative to the root. Blocks."""
        language = self.language_of(path)
        assert language is not None
        return self._root_of(language, os.path.dirname(path)).relative_to(self.root).as_posix()

    async def running_for(self, path: str, readable: Readable = ALL) -> LanguageServer | None:
        """Return the server of a file, as `server_for`, if it runs; it is not started."""
        if self.language_of(path) is None:
            return None
        server = self._servers.get((*await self._place(path), self._bound(readable)))
        return server if server is not None and server.lifecycle.run is not None else None

    async def synchronise(self) -> None:
        """Tell all servers that run what changed on disk."""
        await asyncio.gather(*(server.synchronise() for server in self.running()))

    def open_paths(self) -> set[str]:
        """Return the files that servers have open, relative to the root."""
        runs = (server.lifecycle.run for server in self.running())
        return {path for run in runs if run is not None for path in run.documents.paths()}

    def running(self) -> list[LanguageServer]:
        return [server for server in self._servers.values() if server.lifecycle.run is not None]

    async def status(self) -> list[ServerStatus]:
        """Return how every language of the table stands, those with a server first."""
        servers = list(self._servers.values())
        started = {server.language for server in servers}
        rest = [language for language in self.table.languages() if language not in started]
        found = [await self._status_of(server) for server in servers]
        return found + await asyncio.to_thread(lambda: [self._status_without(one) for one in rest])

    async def reload(self, language: str | None) -> list[str]:
        """Stop the servers of a language, or all, and forgive them their crashes; they start again at
        the next use, in the folder that is theirs by then. Return the languages."""
        chosen = [one for (name, *_), one in self._servers.items() if language in {None, name}]
        self._roots.clear()
        for server in chosen:
            server.lifecycle.begin_stop("reload")
        await asyncio.gather(*(server.lifecycle.ended() for server in chosen))
        return sorted({server.language for server in chosen})

    def redeclare(self, declared: Declarations) -> None:
        """Take over what the project file and the local config say now; running servers end, and start
        with it at their next use."""
        self.declared = declared
        self.table = ServerTable(
            declared.project, declared.local, self._dependencies.environment, root=self.root
        )
        self._roots.clear()
        self._part_from_all("configuration_changed")

    def begin_close(self, reason: str) -> None:
        """Begin to end all servers; none is started any more. `closed` waits for it."""
        self._closed = reason
        self._part_from_all(reason)

    @property
    def is_leaving(self) -> bool:
        """Whether something is still there of the servers that were parted from."""
        return any(server.lifecycle.is_ending for server in self._leaving)

    async def closed(self) -> None:
        """Wait until nothing is left of the servers that were parted from."""
        leaving = list(self._leaving)
        await asyncio.gather(*(server.lifecycle.ended() for server in leaving))
        self._leaving.difference_update(leaving)

    def _part_from_all(self, reason: str) -> None:
        servers, self._servers = self._servers, {}
        for server in (*servers.values(), *self._beside):
            self._part_from(server, reason)

    def _part_from(self, server: LanguageServer, reason: str) -> None:
        server.lifecycle.begin_stop(reason, for_ever=True)
        self._leaving = {one for one in self._leaving if one.lifecycle.is_ending}
        self._leaving.add(server)

    async def _place(self, path: str) -> tuple[str, Path]:
        language = self.language_of(path)
        if language is None:
            raise self._not_supported(f"{path} is of no language that a server is known for")
        folder = os.path.dirname(path)
        root = self._roots.get((language, folder))
        if root is None:
            root = await asyncio.to_thread(self._root_of, language, folder)
            if len(self._roots) >= MAX_FOLDERS:
                self._roots.clear()
            self._roots[language, folder] = root
        return language, root

    def _bound(self, readable: Readable) -> Readable:
        return readable if self.masks else ALL

    def _at(self, language: str, root: Path, readable: Readable) -> LanguageServer:
        if self._closed:
            raise self._is_closed(language)
        server = self._servers.get((language, root, readable))
        if server is None:
            self._make_room(language, readable)
            reading = Reading(readable, self.declared.agents)
            served = Served(language, root, self.root, self.table, reading)
            server = LanguageServer(served, self._dependencies)
            self._servers[language, root, readable] = server
        return server

    def _is_closed(self, language: str) -> ToolError:
        return ToolError(
            "lsp_server_unavailable",
            f"the language servers of this project were ended ({self._closed}); repeat the call if the "
            "project is still open",
            detail={"language": language, "restarts": 0, "problem": self._closed},
        )

    def _make_room(self, language: str, readable: Readable) -> None:
        """Keep the number of servers within its bounds: those that do not run are forgotten first, then
        the one that was idle for longest is ended."""
        sights: dict[Readable, list[Key]] = {}
        for key in self._servers:
            if key[0] == language and key[2] != readable:
                sights.setdefault(key[2], []).append(key)
        if len(sights) >= MAX_SIGHTS:
            self._end_idle(list(sights.values()))
        if len(self._servers) >= self._dependencies.limits.servers_per_project:
            self._end_idle([[key] for key in self._servers])

    def _end_idle(self, groups: list[list[Key]]) -> None:
        """End the servers of the group that was used least lately, and forget them."""
        lives = {key: server.lifecycle for key, server in self._servers.items()}
        idle = [group for group in groups if not any(lives[key].busy for key in group)]
        if not idle:
            raise ToolError(
                "lsp_server_unavailable",
                f"{sum(map(len, groups))} language servers run and are all busy; wait for their answers",
            )

        def use(group: list[Key]) -> tuple[bool, float]:
            running = any(lives[key].run is not None for key in group)
            return running, max(lives[key].last_used for key in group)

        for key in min(idle, key=use):
            self._part_from(self._servers.pop(key), "too_many")

    def _root_of(self, language: str, folder: str) -> Path:
        """Return where the server is to be started: the project's root when it has one of the
        language's marker files or no folder on the way has; else the first on the way that has one."""
        markers = self.table.root_markers_of(language)
        place = self.root
        for name in ("", *(part for part in folder.split("/") if part not in {"", "."})):
            place = place / name
            if any(_has(place, marker) for marker in markers):
                return place
        return self.root

    async def _status_of(self, server: LanguageServer) -> ServerStatus:
        life = server.lifecycle
        run = life.run
        state: State = life.state.value
        if state == "ready" and run is not None and not run.readiness.ready:
            state = "starting"
        resolved = life.resolved
        pids = run.connection.pids if run is not None else ()
        memory = await asyncio.to_thread(proc.memory_of_tree, *pids) if pids else None
        return ServerStatus(
            language=server.language,
            state=state,
            source=resolved.source if resolved is not None else None,
            command=resolved.command if resolved is not None else (),
            root=server.root.relative_to(self.root).as_posix(),
            pid=pids[0] if pids else None,
            memory_mb=memory >> 20 if memory is not None else None,
            restarts=life.restarts.crashes if run is not None else max(0, life.restarts.crashes - 1),
            open_documents=len(run.documents) if run is not None else 0,
            loading=(run.readiness.doing or None) if run is not None else None,
            problem=server.problem or life.last_problem or None,
        )

    def _status_without(self, language: str) -> ServerStatus:
        try:
            resolved = self.table.resolve(language)
        except ToolError as problem:
            return ServerStatus(language=language, state="configured", problem=problem.message)
        return ServerStatus(
            language=language, state="installed", source=resolved.source, command=resolved.command
        )

    def _not_supported(self, what: str) -> ToolError:
        known = self.table.languages()
        return ToolError(
            "language_not_supported",
            f"{what}; the languages are {', '.join(known)} (others can be declared in the project file)",
            detail={"languages": list(known)},
        )


def _has(folder: Path, marker: str) -> bool:
    """Tell whether a folder has a marker file, of which the name may be a glob. Blocks."""
    if "*" not in marker:
        return os.path.exists(folder / marker)
    return next(folder.glob(marker), None) is not None
