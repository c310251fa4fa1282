"""Starts the processes of tool calls: in the caller's cage, in a read-only cage of the project, or uncaged.

Owns: which of these a call gets, the keys of cages, and their end. Never: what a cage holds back (the sandbox
bridge).
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from app.bridges.processes.child_starter import ChildStarter
from app.bridges.processes.process import ChildProcesses
from app.bridges.sandbox.manager import Cages, unavailable
from app.bridges.sandbox.tier import Tier
from app.cages.cage import Cage, Mount
from app.tools.contract.call import ToolCallContext
from app.tools.processes.cage_notes import EXCEEDED, RUN_OUT, RUN_OUT_DIRECTLY, not_connected, taken_away
from app.tools.processes.project_cage import (
    GitPlaces,
    GitWork,
    cage_for_caller,
    cage_for_folder,
    cage_for_git,
    cage_for_operator,
    cage_for_reading,
    programs_for_reading,
    shows_something,
)
from app.tools.processes.workspace_repository import with_repository
from app.workspace.own_places import may_be_workspace
from app.workspace.repository import RepositoryFolders

log = logging.getLogger("kaged.cages")

DIRECT = "direct"
"""Stands for the run in the key of a cage that an operator's own calls are made in."""
IDLE_SECONDS = 900.0
STATE_FOLDER = "cages"
_PLAIN_VARIABLE = re.compile(r"PATH|LANG|LANGUAGE|LC_[A-Z]+|TZ")


class CallProcesses:
    """One per daemon. `data_dir` is where cages keep state, `closed` are the daemon's own places, which no
    cage shows. `snapshots` holds copies for programs in the cage of the project; these are found on the PATH
    of `environment`. `first_port` returns the first port of the range of the workspace at a root."""

    def __init__(
        self,
        children: ChildProcesses,
        cages: Cages,
        *,
        data_dir: Path | None = None,
        closed: Sequence[Path] = (),
        snapshots: Path | None = None,
        environment: Mapping[str, str] | None = None,
        first_port: Callable[[Path], int | None] = lambda _: None,
    ) -> None:
        self._children = children
        self._cages = cages
        self._state = (data_dir or Path("/nonexistent")) / STATE_FOLDER
        self._closed = tuple(closed)
        self.snapshots = snapshots
        self._first_port = first_port
        self._for_reading = programs_for_reading(environment or {})
        if snapshots is not None:
            self._for_reading += (snapshots,)
        self._keys: dict[str, dict[str, set[str]]] = {}
        self._idle: dict[str, asyncio.TimerHandle] = {}
        self._ending: set[asyncio.Task[None]] = set()
        self._noted_limits: set[tuple[str, str]] = set()
        self._noted: dict[str, list[str]] = {}

    @classmethod
    def uncaged(cls, children: ChildProcesses) -> CallProcesses:
        """Start everything with the daemon's rights, as a daemon without a sandbox does."""
        return cls(children, Cages(children, Tier("off", "every process has the daemon's rights")))

    @property
    def tier(self) -> Tier:
        return self._cages.tier

    async def of_caller(self, context: ToolCallContext, *, also: Sequence[Path] = ()) -> ChildStarter:
        """Return a starter with the caller's rights: in its cage, if it has one. With `also`, folders that a
        debugger needs, it is a second cage beside the first. Raises ToolError `cage_unavailable`."""
        if context.cage is None:
            return self._children
        if may_be_workspace(context.project_root):
            cage = await asyncio.to_thread(self._cage, context, also)
        else:
            cage = self._cage(context, also)
        key = f"{key_of(context)}/debugger" if also else key_of(context)
        if context.run_id is None and self._cages.has_run_out(key):
            await self._end({key})  # there is no run that it was the cage of: another call has another one
        runs = self._keys.setdefault(context.session_id, {})
        runs.setdefault(context.run_id or DIRECT, set()).add(key)
        if context.run_id is None:
            self._end_when_idle(key)
        return await self._cages.children(key, cage, context.project_root, about=_about(context))

    def missing(self, context: ToolCallContext, places: Sequence[Path]) -> list[Path]:
        """Return which of these folders and files the caller's cage does not show."""
        shown = [one.path for one in self._cage(context).mounts if one.mode != "deny"]
        return [
            place
            for place in places
            if not any(place.is_relative_to(one) for one in (*shown, *self._cages.read_only))
        ]

    def _cage(self, context: ToolCallContext, also: Sequence[Path] = ()) -> Cage:
        """Return the caller's cage. Blocks for a workspace: it reads some small files of its repository."""
        cage = self.of_agent(context.cage or {}, context.project_root, context.project_id, context.agent_path)
        return replace(cage, mounts=(*cage.mounts, *(Mount(place, "ro") for place in also)))

    def of_agent(self, compiled: Mapping[str, Any], root: Path, project_id: str, agent_path: str) -> Cage:
        """Return the cage of an agent that works at `root`. Blocks as `_cage`."""
        state = self._state / _name(project_id) / _name(agent_path)
        cage = Cage.of_agent(compiled, root, state_folder=state, closed=self._closed)
        cage = with_repository(cage, root, self._closed)
        return replace(cage, env=self.variables(root) | dict(cage.env))

    def variables(self, root: Path) -> dict[str, str]:
        """Return what every command of a session that works at `root` finds in its environment: that, and the
        first of the ports that are its own."""
        port = self._first_port(root)
        own = {"KAGED_WORKSPACE": str(root)}
        return own if port is None else own | {"KAGED_WORKSPACE_PORT": str(port)}

    @property
    def closed(self) -> tuple[Path, ...]:
        return self._closed

    @property
    def has_cages(self) -> bool:
        return self.tier.name in {"full", "landlock"}

    @property
    def own(self) -> ChildProcesses:
        """What starts processes with the daemon's rights."""
        return self._children

    @property
    def cages(self) -> Cages:
        return self._cages

    async def for_reading(self, context: ToolCallContext, *, aside: Path | None = None) -> ChildStarter:
        """Return a starter for programs that search the project, or the folder `aside` outside it, for the
        caller. They read beyond the caller's cage; their results are judged. Raises ToolError
        `cage_unavailable` for a caged caller without cages."""
        if aside is not None and self.has_cages:
            folder = Path(await asyncio.to_thread(os.path.realpath, aside))
            return await self._looking(folder, cage_for_folder(folder, self._for_reading, self._closed))
        root = await asyncio.to_thread(os.path.realpath, context.project_root)
        return await self.of_project(Path(root), caged=context.cage is not None)

    async def for_reading_inside(self, context: ToolCallContext, folder: Path) -> ChildStarter | None:
        """Return what starts a program that searches `folder`, a real path, as far as a caged caller may
        read. None where nothing of that is there, or for a caller that no such cage can be made for."""
        root = Path(await asyncio.to_thread(os.path.realpath, context.project_root))
        cage = await asyncio.to_thread(
            cage_for_caller, context.cage or {}, root, self._for_reading, self._closed
        )
        if not shows_something(cage, folder):
            return None
        return await self._looking(root, cage)

    @property
    def reads_twice(self) -> bool:
        """Whether what a caged caller may read is searched apart from what it may only know of."""
        return self.tier.name == "full"

    def environment(self, context: ToolCallContext, daemons: Mapping[str, str]) -> dict[str, str]:
        """Return what a command of the caller finds in its environment, where the daemon's children have
        `daemons`. In a cage that is where programs are, and the language; the cage adds the rest."""
        if context.cage is None:
            return {**daemons, **self.variables(context.project_root)}
        if not self.has_cages:
            return {**daemons, **self.variables(context.project_root), **(context.cage.get("env") or {})}
        return plain_variables(daemons)

    async def of_project(self, root: Path, *, caged: bool) -> ChildStarter:
        """Return a starter for the daemon's own programs that look at the project at `root`, in a read-only
        cage. Without cages they have the daemon's rights, or raise ToolError `cage_unavailable` for callers
        that are `caged`."""
        if not self.has_cages:
            if caged and self.tier.name != "off":
                raise unavailable(self.tier)
            return self._children
        cage = await asyncio.to_thread(cage_for_reading, root, self._for_reading, self._closed)
        return await self._looking(root, cage)

    async def _looking(self, root: Path, cage: Cage) -> ChildStarter:
        """Return the starter of a cage that looks at a project; another cage does not end the one before,
        in which a search may be running."""
        key = f"daemon/{root}/{hash(cage.mounts):x}"
        self._end_when_idle(key)
        return await self._cages.children(key, cage, root)

    async def of_repository(self, root: Path, places: GitPlaces) -> ChildStarter:
        """Return what starts git for the daemon in the folder `root`, which writes to its `places`, if it has
        any: as `of_project`, for callers that are not caged. What is kept in them is so by mounts alone."""
        if not self.has_cages:
            return self._children
        if self.tier.name != "full":
            # Without mounts what is kept would keep new names, git's locks, out of the folder around it.
            places = replace(places, kept=())
        folder = places.writable[0] if places.writable else root
        key = f"daemon/{folder}/git/{hash((root, places)):x}"
        cage = await asyncio.to_thread(cage_for_git, root, places, self._closed)
        self._end_when_idle(key)
        # What may be written lies in the folder that is asked for, so that no part of its name is protected.
        return await self._cages.children(key, cage, folder)

    async def leave_repository(self, folder: Path) -> None:
        """End the cages in which git writes to a folder, which is about to go."""
        start = f"daemon/{folder}/git/"
        for key in [key for key in self._idle if key.startswith(start)]:
            self._idle.pop(key).cancel()
            await self._cages.end(key)

    async def of_operator(
        self, root: Path, folders: RepositoryFolders, also: Sequence[Path], work: GitWork
    ) -> ChildStarter:
        """Return what starts git for an operator's work in the repository of the project at `root`: in a
        cage of its own, or with the daemon's rights where there are no cages."""
        if not self.has_cages:
            return self._children
        held = replace(work, apart=self.tier.name == "full")
        cage = await asyncio.to_thread(cage_for_operator, root, folders, self._closed, also, held)
        return await self._looking(root, cage)

    async def settle(self, context: ToolCallContext) -> tuple[str, ...]:
        """Return, once, the notes on its cage for a caged caller: names taken away, hosts refused, limits
        reached."""
        keys = self._keys.get(context.session_id, {}).get(context.run_id or DIRECT, set())
        notes: list[str] = self._noted.pop(context.call_id, [])
        for key in sorted(key for key in keys if is_callers(key, context)):
            try:
                notes += taken_away(await self._cages.settle(key), context.project_root)
            except Exception:  # the call keeps its answer; the cage's end looks again
                log.exception("cage %s was not looked through", key)
            notes += not_connected(self._cages.take_refused(key))
            over = RUN_OUT if context.run_id is not None else RUN_OUT_DIRECTLY
            reached = [over] if self._cages.has_run_out(key) else []
            reached += [EXCEEDED[limit] for limit in sorted(self._cages.exceeded(key))]
            notes += [note for note in reached if (key, note) not in self._noted_limits]
            self._noted_limits.update((key, note) for note in reached)
        return tuple(dict.fromkeys(notes))

    def note(self, context: ToolCallContext, notes: Sequence[str]) -> None:
        """Add notes to those that `settle` returns after this call."""
        if notes:
            self._noted[context.call_id] = [*self._noted.get(context.call_id, ()), *notes]

    async def end_run(self, session_id: str, run_id: str) -> None:
        runs = self._keys.get(session_id, {})
        keys = runs.pop(run_id, set())
        if not runs:
            self._keys.pop(session_id, None)
        await self._end(keys)

    async def end_session(self, session_id: str) -> None:
        runs = self._keys.pop(session_id, {})
        await self._end({key for keys in runs.values() for key in keys})

    async def aclose(self) -> None:
        """Stop the timers. The owner of `cages` closes them."""
        for timer in self._idle.values():
            timer.cancel()
        self._idle.clear()
        await asyncio.gather(*self._ending)

    async def _end(self, keys: set[str]) -> None:
        self._noted_limits = {one for one in self._noted_limits if one[0] not in keys}
        await asyncio.gather(*map(self._cages.end, keys))

    def _end_when_idle(self, key: str) -> None:
        loop = asyncio.get_running_loop()
        timer = self._idle.pop(key, None)
        if timer is not None:
            timer.cancel()
        self._idle[key] = loop.call_later(IDLE_SECONDS, self._end_idle, key)

    def _end_idle(self, key: str) -> None:
        self._idle.pop(key, None)
        if self._cages.is_busy(key):
            self._end_when_idle(key)
            return
        for runs in self._keys.values():
            runs.get(DIRECT, set()).discard(key)
        self._noted_limits = {one for one in self._noted_limits if one[0] != key}
        task = asyncio.get_running_loop().create_task(self._cages.end(key), name=f"end of cage {key}")
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)


def plain_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """Return what commands of caged agents find of the daemon's environment."""
    return {name: value for name, value in environment.items() if _PLAIN_VARIABLE.fullmatch(name)}


def key_of(context: ToolCallContext) -> str:
    """Return the key of the caller's cage: one for each run of an agent."""
    return f"{context.session_id}/{context.agent_path}/{context.run_id or DIRECT}"


def _about(context: ToolCallContext) -> dict[str, str]:
    names = {"project_id": context.project_id, "session_id": context.session_id, "run_id": context.run_id}
    return {name: value for name, value in names.items() if value} | {"agent_path": context.agent_path}


def is_callers(key: str, context: ToolCallContext) -> bool:
    """Tell whether a key is that of the caller's cage, or of one beside it."""
    return f"{key}/".startswith(f"{key_of(context)}/")


def _name(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]", "_", text).lstrip(".") or "_"
