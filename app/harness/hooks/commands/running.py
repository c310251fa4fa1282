"""Runs one hook's command to its end, in its cage.

Owns: the process, its bounds, and that nothing of it is left. Never: what its answer means (`answer`).
Keeps S9 of docs/security.md.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace

from app.bridges.processes.child import SpawnFailed
from app.bridges.processes.child_starter import ChildStarter
from app.cages.cage import Cage
from app.cages.inner_environment import environment_inside
from app.errors import ToolError
from app.harness.dsl.spec_hooks import OF_TOOLS
from app.harness.hooks.commands.cage import cage_of_hook, variables
from app.harness.hooks.commands.hook import CommandHook, HookPlace
from app.tools.processes.call_processes import CallProcesses

log = logging.getLogger("kaged.hooks")

MAX_OUTPUT = 1024 * 1024
"""Bytes of standard output or standard error beyond which a hook is killed."""
MOST_AT_ONCE = 8
"""Hooks of tools that run at the same time in one daemon, and hooks of other events; more wait for their
turn."""
_numbers = itertools.count(1)


@dataclass(frozen=True, slots=True)
class HookRun:
    """How a hook ended. `problem` says why it could not be run, or was killed; None when it ended by
    itself."""

    exit_code: int | None
    stdout: bytes = b""
    stderr: bytes = b""
    problem: str | None = None
    timed_out: bool = False
    duration_ms: int = 0


class HookProcesses:
    """The processes of all hooks. One instance; `environment` is that of the daemon's children."""

    def __init__(self, processes: CallProcesses, environment: Mapping[str, str]) -> None:
        self._processes = processes
        self._environment = environment
        self._places = {True: asyncio.Semaphore(MOST_AT_ONCE), False: asyncio.Semaphore(MOST_AT_ONCE)}
        self._ending: set[asyncio.Task[None]] = set()

    async def run(self, hook: CommandHook, place: HookPlace, content: bytes) -> HookRun:
        """Run a hook with `content` on its standard input. Raises nothing but a cancellation; when this
        returns or raises, nothing of the hook is left."""
        async with self._places[hook.event in OF_TOOLS]:
            started = time.monotonic()
            try:
                run = await self._in_cage(hook, place, content)
            except (SpawnFailed, OSError) as problem:
                words = problem.reason if isinstance(problem, SpawnFailed) else problem.strerror
                run = HookRun(None, problem=f"it cannot be started: {words}")
            except ToolError as problem:
                run = HookRun(None, problem=f"it cannot be started: {problem.message}")
            duration = round((time.monotonic() - started) * 1000)
        return HookRun(run.exit_code, run.stdout, run.stderr, run.problem, run.timed_out, duration)

    async def aclose(self) -> None:
        """Wait for the ends of cages."""
        await asyncio.gather(*self._ending, return_exceptions=True)

    async def _in_cage(self, hook: CommandHook, place: HookPlace, content: bytes) -> HookRun:
        cage = await asyncio.to_thread(cage_of_hook, hook, place, self._processes.closed)
        own = self._processes.variables(place.folder)
        if cage is None:
            environment = {**self._environment, **own, **variables(hook, place)}
            return await self._run(self._processes.own, hook, place, environment, content)
        cage = replace(cage, env={**own, **cage.env})
        key = f"hook/{place.project_id}/{next(_numbers)}"
        about = {"project_id": place.project_id, "hook": hook.name}
        keeper = self._processes.cages
        try:
            children = await keeper.children(key, cage, place.folder, about=about)
            return await self._run(children, hook, place, self._inside(cage), content)
        finally:
            await asyncio.shield(self._end(key))

    def _inside(self, cage: Cage) -> dict[str, str]:
        shown = tuple(mount.path for mount in cage.mounts if mount.mode != "deny")
        if not self._processes.has_cages:
            return {**self._environment, **cage.env}
        return environment_inside(self._environment, shown)

    async def _run(
        self,
        children: ChildStarter,
        hook: CommandHook,
        place: HookPlace,
        environment: dict[str, str],
        content: bytes,
    ) -> HookRun:
        done = await children.run(
            _words(hook, place),
            owner=f"hook {hook.name}",
            cwd=place.folder,
            env=environment,
            input=content,
            seconds=hook.spec.timeout_seconds,
            max_output=MAX_OUTPUT,
        )
        if done.timed_out:
            problem = f"it was killed after {hook.spec.timeout_seconds:g} seconds"
            return HookRun(None, done.stdout, done.stderr, problem, timed_out=True)
        if done.truncated:
            problem = f"it was killed because it wrote more than {MAX_OUTPUT // 1024} KB"
            return HookRun(None, done.stdout, done.stderr, problem)
        return HookRun(done.exit_code, done.stdout, done.stderr)

    def _end(self, key: str) -> asyncio.Task[None]:
        async def end() -> None:
            try:
                await self._processes.cages.end(key)
            except Exception:  # the hook has its answer; the daemon's stop ends what is left
                log.exception("the cage %s was not ended", key)

        task = asyncio.create_task(end(), name=f"end of {key}")
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)
        return task


def _words(hook: CommandHook, place: HookPlace) -> list[str]:
    command = hook.spec.command
    if isinstance(command, str):
        return ["/bin/sh", "-c", command]
    program, *rest = command
    if "/" in program and not program.startswith("/"):
        program = str(place.root / program)
    return [program, *rest]
