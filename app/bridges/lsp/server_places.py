"""Where a language server is started: with the daemon's rights, or in a cage of its own.

Owns: what such a cage holds, and what of the daemon's environment means something inside. Never: making
cages, and starting servers.

Servers run build scripts and load plugins of the project, so they are trusted no more than the project is:
they read what all who ask them may read of it, their own installation and the packages that were fetched
for their language before, have no network, and write to nothing but a home that is kept for their caches.
What they want changed in the project they ask for, as the protocol has it.
"""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import os
import re
import shutil
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from app.bridges.installed.installation_places import Surroundings, needed_places, usual_path
from app.bridges.installed.written_programs import Started, check_written
from app.bridges.lsp.resolution import ResolvedServer
from app.bridges.lsp.server_sight import Reading, Sight, sight_of
from app.bridges.processes.child_starter import CageKeeper, ChildStarter
from app.cages.cage import Cage, Mount
from app.cages.inner_environment import allowed_environment, environment_inside
from app.errors import ToolError
from app.programs import on_path
from app.workspace.own_places import workspace_folder

_ADVICE = (
    "Language servers run in a cage of the project; the operator can give them the rights of the daemon by "
    '`lsp = "none"` under [sandbox].'
)
HOMES, HOMES_OF_WORKSPACES = "lsp", "lsp-of-workspaces"
"""Where the homes of a project's servers are kept, below its folder for cages."""
_numbers = itertools.count(1)
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,60}")
_COMPANIONS: Mapping[str, tuple[str, ...]] = {
    "go": ("go",),
    "rust": ("cargo", "rustc"),
    "java": ("java",),
    "ruby": ("ruby",),
    "php": ("php",),
}
"""Programs that servers of a language run to know what a project is made of."""
_TARGET = "cargo-target"
_WRITTEN: Mapping[str, Mapping[str, str]] = {"rust": {"CARGO_TARGET_DIR": _TARGET}}
"""Variables for what a language's programs would write into the project, and where it is in the home."""
_OPTIONS: Mapping[str, Callable[[str], Mapping[str, Any]]] = {
    "rust": lambda home: {"cargo": {"targetDir": f"{home}/{_TARGET}"}}
}
"""Options of a language's server that name such a place too, for a home."""


@dataclass(frozen=True, slots=True)
class _Supply:
    """Packages and tools that a language's own programs have fetched. `variable` names their folder,
    `usual` is where it is below the home otherwise; only `parts` of it are shown: beside them may be
    credentials."""

    variable: str
    usual: str
    parts: tuple[str, ...]


_SUPPLIES: Mapping[str, tuple[_Supply, ...]] = {
    "go": (_Supply("GOMODCACHE", "go/pkg/mod", (".",)),),
    "rust": (
        _Supply("CARGO_HOME", ".cargo", ("registry", "git")),
        _Supply("RUSTUP_HOME", ".rustup", ("toolchains", "settings.toml")),
    ),
    "python": (_Supply("PYTHONUSERBASE", ".local", ("lib",)),),
}


@dataclass(frozen=True, slots=True)
class ServerCages:
    """What servers' cages are made of. `states` is the folder that keeps their homes, None where these are
    gone with the server; `closed` are the daemon's own places, which no cage shows. `masks`: the cages can
    show a part of the project only."""

    keeper: CageKeeper
    states: Path | None
    closed: tuple[Path, ...] = ()
    masks: bool = True


@dataclass(frozen=True, slots=True)
class ServerPlace:
    """What starts one run of a server, and in which environment. `end` ends the cage, if it is one. `sight`
    is what of the project the cage shows, None where that is all of it. `options` are added to those that the
    server is initialized with."""

    children: ChildStarter
    environment: Mapping[str, str]
    end: Callable[[], Awaitable[None]]
    sight: Sight | None = None
    caged: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)

    def command(self, server: ResolvedServer) -> tuple[str, ...]:
        """Return the server's command. A cage has the real names of folders only."""
        if not self.children.apart:
            return server.command
        program, *arguments = server.command
        return (str(usual_path(Path(program))), *arguments)


class ServerPlaces:
    """The places of one project's servers. Without `cages` they have the daemon's rights."""

    def __init__(
        self,
        children: ChildStarter,
        environment: Mapping[str, str],
        cages: ServerCages | None,
        project_id: str,
        project_root: Path,
    ) -> None:
        self._children = children
        self._environment = environment
        self._cages = cages
        self._project_id = project_id
        self._project_root = project_root

    @property
    def masks(self) -> bool:
        """Whether servers can be shown a part of the project only."""
        return self._cages is not None and self._cages.masks

    async def place(self, server: ResolvedServer, reading: Reading, cwd: Path) -> ServerPlace:
        """Return where the server is started this time, in the folder `cwd`. Raises ToolError
        `cage_unavailable`, and `program_writable_in_cage` for a program that runs with fewer rights only."""
        cages = self._cages
        command = (*server.command, *server.companion)
        started = Started(command, self._project_root, cwd, server.env, server.settings)
        reads = None if cages is None else reading.readable
        written = await asyncio.to_thread(check_written, started, reading.agents, reads)
        if cages is None:
            return ServerPlace(self._children, allowed_environment(self._environment), _nothing)
        sight = None
        if not reading.readable.is_all:
            sight = await asyncio.to_thread(sight_of, started, reading.readable, narrow=written)
        cage = await asyncio.to_thread(self._cage, cages, server, sight, written)
        key = f"lsp/{self._project_id}/{_name(server.language)}/{next(_numbers)}"
        about = {"project_id": self._project_id, "language": server.language}
        try:
            children = await cages.keeper.children(key, cage, self._project_root, about=about)
        except ToolError as problem:
            raise ToolError(problem.code, f"{problem.message} {_ADVICE}", detail=problem.detail) from None
        shown = tuple(mount.path for mount in cage.mounts if mount.mode != "deny")
        inside = environment_inside(allowed_environment(self._environment), shown)
        home = children.environment({}).get("HOME", "/nonexistent")
        written_to = {name: f"{home}/{place}" for name, place in _WRITTEN.get(server.language, {}).items()}
        environment = {**inside, **written_to, **cage.env}
        options = _OPTIONS[server.language](home) if server.language in _OPTIONS else {}
        ended = partial(cages.keeper.end, key)
        return ServerPlace(children, environment, ended, sight, caged=True, options=options)

    def _cage(self, cages: ServerCages, server: ResolvedServer, sight: Sight | None, written: bool) -> Cage:
        """Blocks."""
        state = None
        if cages.states is not None:
            folder = _name(server.language) + ("" if sight is None else f"-{sight.readable.name}")
            homes = cages.states / _name(self._project_id) / HOMES
            workspace = workspace_folder(Path(os.path.realpath(self._project_root)), cages.closed)
            if workspace is not None:  # two servers with one home would wait for each other
                homes = homes.parent / HOMES_OF_WORKSPACES / workspace.name
            state = homes / folder
        return server_cage(
            server,
            self._project_root,
            self._environment,
            state=state,
            closed=cages.closed,
            sight=sight,
            supplied=not written,
        )


def server_cage(
    server: ResolvedServer,
    project_root: Path,
    environment: Mapping[str, str],
    *,
    state: Path | None,
    closed: Iterable[Path] = (),
    sight: Sight | None = None,
    supplied: bool = True,
) -> Cage:
    """Return the cage of a project's server: the project or what `sight` shows of it, its installation and,
    where it is `supplied`, what its language has fetched, all to be read only, nothing of `closed`, no
    network. `state` keeps its home. Blocks: looks where programs are."""
    closed = tuple(closed)
    home = Path(environment.get("HOME") or "/")
    around = Surroundings(home, (project_root, *closed), environment)
    installed = list(needed_places(server.command, around))
    if server.companion:
        installed += needed_places(server.companion, around)
    for name in _COMPANIONS.get(server.language, ()):
        program = on_path(name, environment, outside=project_root)
        installed += needed_places((str(program),), around) if program is not None else ()
    fetched, variables = _supplies(server.language, environment, home) if supplied else ([], {})
    outside = [path for path in (*installed, *fetched) if not path.is_relative_to(project_root)]
    return Cage(
        mounts=(
            *((Mount(project_root, "ro"),) if sight is None else sight.mounts(project_root)),
            *(Mount(path, "ro") for path in dict.fromkeys(outside)),
            *(Mount(path, "deny") for path in closed),
        ),
        state_folder=state,
        env=variables,
    )


def _supplies(language: str, environment: Mapping[str, str], home: Path) -> tuple[list[Path], dict[str, str]]:
    shown: list[Path] = []
    variables: dict[str, str] = {}
    for supply in _SUPPLIES.get(language, ()):
        folder = Path(environment.get(supply.variable) or _usual(supply, environment, home))
        parts = [folder / part for part in supply.parts]
        found = [part.resolve() for part in parts if folder.is_absolute() and os.path.exists(part)]
        if found:
            shown += found
            variables[supply.variable] = str(folder.resolve())
    return shown, variables


def _usual(supply: _Supply, environment: Mapping[str, str], home: Path) -> Path:
    path = environment.get("GOPATH", "").partition(":")[0]
    if supply.variable == "GOMODCACHE" and path:
        return Path(path, "pkg", "mod")
    return home / supply.usual


def _name(text: str) -> str:
    """Return a file name for what a project calls something, each its own."""
    return text if _PLAIN.fullmatch(text) else hashlib.sha256(text.encode()).hexdigest()[:32]


def remove_homes(cages: ServerCages, root: Path) -> None:
    """Remove what the servers of the workspace at `root` have kept. Blocks."""
    workspace = workspace_folder(root, cages.closed)
    if workspace is not None and cages.states is not None:
        for kept in cages.states.glob(f"*/{HOMES_OF_WORKSPACES}/{workspace.name}"):
            shutil.rmtree(kept, ignore_errors=True)


async def _nothing() -> None:
    """There is no cage to end."""
