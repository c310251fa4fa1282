"""Watching a project's files for hot reload.

Owns: noticing changes of project files and prompts, once per change of content; events of the file system are
hints only. Never: compiling or reloading.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import xxhash
from anyio import to_thread
from watchfiles import Change, awatch

from app.harness.dsl.compiled import CompiledProject, workflow_prompt
from app.workspace import read_beginning

_logger = logging.getLogger(__name__)

_MISSING = "missing"
_WRITTEN_MEANWHILE = "written meanwhile"
_EMPTY = xxhash.xxh3_128_hexdigest(b"")
_MAX_READ = 2 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class ProjectChange:
    """What changed: project files (compile again), or the prompts of `agents` (reload these), workflows
    included."""

    kind: Literal["project", "prompts"]
    files: tuple[str, ...]
    agents: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class WatchList:
    """The files to watch: project files, and prompt files with the agents that use them."""

    source_files: tuple[str, ...]
    prompts: Mapping[str, tuple[str, ...]]

    @classmethod
    def of(cls, project: CompiledProject, also: Collection[str] = ()) -> WatchList:
        """Everything that a compiled project depends on.

        `also` are further files whose change is a reason to compile again: those that a newer version, which
        does not compile, was looking for (`CompileResult.watch_files`).
        """
        users: dict[str, list[str]] = {file: [] for file in project.prompt_files}
        for agent in project.agents():
            for file in agent.system_prompt_candidates:
                users.setdefault(file, []).append(agent.path)
        for name, workflow in project.workflows.items():
            for file in workflow.prompt_files:
                users.setdefault(file, []).append(workflow_prompt(name))
        sources = dict.fromkeys((*project.source_files, *(file for file in also if file not in users)))
        return cls(tuple(sources), {file: tuple(paths) for file, paths in users.items()})

    def files(self) -> tuple[str, ...]:
        return (*self.source_files, *self.prompts)


@dataclass(frozen=True, slots=True)
class _Plan:
    """Folders to watch, with their inode numbers, and the files in them that matter."""

    folders: dict[Path, int]
    files: frozenset[str]


@contextmanager
def _thread_of_its_own() -> Iterator[None]:
    """Events are waited for in one of the threads that all requests share; a watcher brings its own, so
    that forty loaded projects do not take them all."""
    limiter = to_thread.current_default_thread_limiter()
    limiter.total_tokens += 1
    try:
        yield
    finally:
        limiter.total_tokens -= 1


class ProjectWatcher:
    """Calls back, one call at a time, when the content of a watched file is different.

    `debounce_seconds` gathers the events of one save. `missing_seconds` is how long a file may be gone or
    empty before that counts as a change: many editors empty a file before they write it. `poll_seconds` is
    how often contents are compared when no event came.
    """

    def __init__(
        self,
        watched: WatchList,
        on_change: Callable[[ProjectChange], Awaitable[None]],
        *,
        debounce_seconds: float = 0.1,
        missing_seconds: float = 1.0,
        poll_seconds: float = 5.0,
    ) -> None:
        self._watched = watched
        self._on_change = on_change
        self._debounce = debounce_seconds
        self._missing = missing_seconds
        self._poll = poll_seconds
        self._seen: dict[str, str] = {}
        self._rearm = asyncio.Event()
        self._stopped = False
        self._task: asyncio.Task[None] | None = None

    async def start(self, read_at: int | None = None) -> None:
        """Remember the present contents and begin to watch. Reports changes from now on, and files that were
        written after `read_at` (nanoseconds since the epoch), since their content may not have been read."""
        self._seen = await asyncio.to_thread(_known, self._watched.files(), read_at)
        self._task = asyncio.create_task(self._run(), name="project-watcher")

    async def watch(self, watched: WatchList, read_at: int | None = None) -> None:
        """Watch other files from now on, after the project was compiled again; `read_at` as in `start`."""
        known = self._seen
        fresh = await asyncio.to_thread(_known, [f for f in watched.files() if f not in known], read_at)
        self._watched = watched
        self._seen = {file: known.get(file, fresh.get(file, _MISSING)) for file in watched.files()}
        self._rearm.set()

    async def stop(self) -> None:
        """Stop watching. Not to be called from the callback."""
        self._stopped = True
        self._rearm.set()
        if self._task is not None:
            await self._task
            self._task = None

    async def _run(self) -> None:
        with _thread_of_its_own():
            await self._watch_until_stopped()

    async def _watch_until_stopped(self) -> None:
        while not self._stopped:
            self._rearm.clear()
            plan = await asyncio.to_thread(_plan, self._watched.files())
            try:
                await self._until_rearmed(plan)
            except* (OSError, RuntimeError) as error:
                # Out of watches, a folder vanished meanwhile, or a name beside the files is not UTF-8:
                # contents are compared without events.
                _logger.warning(
                    "cannot watch the project's folders, comparing contents instead: %s", error.exceptions[0]
                )
                await self._report()
                await self._pause()

    async def _until_rearmed(self, plan: _Plan) -> None:
        events = self._events(plan)
        pending = asyncio.ensure_future(anext(events, None))
        try:
            await asyncio.sleep(0)  # its first step arms the watch, so that nothing falls between
            await self._report()
            while (changes := await pending) is not None and not self._rearm.is_set():
                pending = asyncio.ensure_future(anext(events, None))
                await self._report()
                if await self._outdated(plan, changes):
                    return
        finally:
            pending.cancel()
            await asyncio.wait([pending])
            await events.aclose()

    async def _outdated(self, plan: _Plan, changes: Collection[tuple[Change, str]]) -> bool:
        """Whether a link leads elsewhere or a folder was replaced (inode numbers alone are used again)."""
        if any(change is not Change.modified and Path(path) in plan.folders for change, path in changes):
            return True
        return await asyncio.to_thread(_plan, self._watched.files()) != plan

    def _events(self, plan: _Plan) -> AsyncGenerator[set[tuple[Change, str]], None]:
        interesting = {*plan.files, *map(str, plan.folders)}
        return awatch(
            *plan.folders,
            watch_filter=lambda _, path: path in interesting,
            recursive=False,
            debounce=int(self._debounce * 1000),
            step=max(1, int(self._debounce * 500)),
            rust_timeout=int(self._poll * 1000),
            yield_on_timeout=True,
            stop_event=self._rearm,
        )

    async def _pause(self) -> None:
        try:
            await asyncio.wait_for(self._rearm.wait(), self._poll)
        except TimeoutError:
            return

    async def _report(self) -> None:
        """Compare contents with what was seen last and call back for what is different."""
        watched = self._watched
        now = await self._settled(watched)
        if self._watched is not watched:
            return  # `watch` has re-armed: its files are compared next
        changed = [file for file in watched.files() if now.get(file) != self._seen.get(file)]
        self._seen.update({file: now[file] for file in changed if file in now})
        sources = tuple(file for file in watched.source_files if file in changed)
        prompts = tuple(file for file in watched.prompts if file in changed)
        agents = sorted({agent for file in prompts for agent in watched.prompts[file]})
        if sources:
            await self._notify(ProjectChange("project", sources))
        if prompts:
            await self._notify(ProjectChange("prompts", prompts, tuple(agents)))

    async def _notify(self, change: ProjectChange) -> None:
        try:
            await self._on_change(change)
        except Exception:  # a listener may fail on this change; the next one must still be seen
            _logger.exception("a listener failed on a change of %s", ", ".join(change.files))

    async def _settled(self, watched: WatchList) -> dict[str, str]:
        """The contents. A file that has just vanished, or been emptied, gets the time to come back."""
        waited = 0.0
        while True:
            now = await asyncio.to_thread(_contents, watched.files())
            vanished = [
                file
                for file, content in now.items()
                if content in (_MISSING, _EMPTY) and content != self._seen.get(file, content)
            ]
            if not vanished or waited >= self._missing or self._stopped:
                return now
            await asyncio.sleep(self._debounce)
            waited += self._debounce


def _contents(files: Collection[str]) -> dict[str, str]:
    """A digest of each file's content, or that it is missing."""
    result = {}
    for file in files:
        try:
            result[file] = xxhash.xxh3_128_hexdigest(read_beginning(Path(file), _MAX_READ))
        except OSError:
            result[file] = _MISSING
    return result


def _known(files: Collection[str], read_at: int | None) -> dict[str, str]:
    """The contents, with a mark for files that were written after `read_at`."""
    result = _contents(files)
    if read_at is None:
        return result
    for file in files:
        with suppress(OSError):
            if os.stat(file).st_mtime_ns > read_at:
                result[file] = _WRITTEN_MEANWHILE
    return result


def _plan(files: Collection[str]) -> _Plan:
    """Find out what to watch: where the files are, where links lead, and one folder above each.

    The folder above shows that a folder itself was replaced.
    """
    paths = {path for file in files for path in _ends(Path(file))}
    folders: dict[Path, int] = {}
    for folder in {above for path in paths for above in (path.parent, path.parent.parent)}:
        try:
            folders[folder] = folder.stat().st_ino
        except OSError:
            continue
    return _Plan(folders, frozenset(map(str, paths)))


def _ends(path: Path) -> tuple[Path, ...]:
    """A file and, when it is a link, where it leads."""
    try:
        return path, path.resolve()
    except (OSError, RuntimeError):  # a circle of links
        return (path,)
