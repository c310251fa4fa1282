"""hang: why a program does not get on: the stacks of all its threads, and who waits for whom.

Owns: finding the program, the threads that wait for each other, and what of all this is shown. Never: how
the threads are looked at.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from app.bridges.dap.manager import LIBRARIES, AttachRequest, DebugSession
from app.bridges.processes import proc
from app.tools.debug.admission import check_attach
from app.tools.debug.call import DebugCall
from app.tools.debug.debugger_cage import cage_for, reads_of
from app.tools.debug.own_processes import machine_number
from app.tools.debug.results import Awaited, DebugResult, HungThread, ProjectFrame
from app.tools.debug.small_answer import size_of
from app.tools.debug.sources import Sources, function_name
from app.tools.debug.thread_stacks import Threads, ThreadStack, stacks_of
from app.tools.debug.wrong_parameter import wrong
from app.tools.processes.foreign_text import clean, one_line

MAX_BYTES = 4_000
MAX_OUTPUT = 400
_SIZES = ((50, 5), (30, 3), (20, 2), (12, 1), (8, 1), (4, 1))
"""Threads and frames of each; each time less."""
_RUNTIMES = {"python": "python", "node": "node", "bun": "bun"}


async def hang(call: DebugCall) -> DebugResult:
    """Look at the program of the session, or at a process."""
    if call.params.pid is None:
        session = call.session
        found = await stacks_of(call, session, await call.aside(_process_of, session))
        return await call.aside(_answer, call, session, found)
    async with _attached(call) as (apart, session, number):
        found = await stacks_of(apart, session, number)
        return await call.aside(_answer, call, session, found)


@asynccontextmanager
async def _attached(call: DebugCall) -> AsyncIterator[tuple[DebugCall, DebugSession, int]]:
    """Take a process under a debugger for a moment; it runs on afterwards, whatever happens."""
    params = call.params
    assert params.pid is not None
    number = await call.aside(machine_number, call.tooling.terminals, call.context, params.pid)
    if number is None:
        raise wrong("pid", "is no process of this agent's commands" if call.context.cage else "is no process")
    runtime = params.runtime
    if not runtime:
        runtime = await call.aside(_runtime_of, number)
    call = call.apart(runtime=runtime)
    inside = await check_attach(call)
    request = AttachRequest(
        runtime=runtime, pid=inside, cage=cage_for(call, attaching=True), reads=reads_of(call)
    )
    try:
        session, _ = await call.adapters.begin(call.owner, request, seconds=params.seconds)
        try:
            yield call, session, number
        finally:
            await session.disconnect(terminate=False)
    finally:
        call.adapters.forget(call.owner)


def _runtime_of(pid: int) -> str:
    """Return by which debugger a process can be looked at. Blocking."""
    try:
        program = os.readlink(f"/proc/{pid}/exe").removesuffix(" (deleted)")
        with open(f"/proc/{pid}/exe", "rb") as file:
            head = file.read(4_000_000)
    except OSError:
        raise wrong("runtime", "is required: this process cannot be looked at") from None
    name = os.path.basename(program).rstrip("0123456789.")
    if name in _RUNTIMES:
        return _RUNTIMES[name]
    if b"\xff Go buildinf:" in head:
        return "go"
    return "rust" if b"rustc version" in head or b"/rustc/" in head else "cpp"


def _process_of(session: DebugSession) -> int | None:
    """Return the process of a session's program as the machine knows it: of a caged one the adapter knows
    another number. Blocking."""
    told = session.process
    if told is None:
        return None
    name = Path(session.script).name[:15]
    own = proc.descendants(os.getpid())
    found = [one for one in own if proc.inner_number(one) == told and _named(one) == name]
    return found[0] if len(found) == 1 else None


def _named(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except (OSError, ValueError):
        return ""


def _answer(call: DebugCall, session: DebugSession, found: Threads) -> DebugResult:
    """Blocking."""
    names = {one.id: one.name for one in found.found}
    cycle = _cycle(found.found)
    order = {number: at for at, number in enumerate(cycle)}
    threads = sorted(found.found, key=lambda one: order.get(one.id, len(order)))
    busy = any(one.moves for one in threads)
    sources, result = Sources(call), DebugResult()
    by_id = {one.id: one for one in threads}
    for most, frames in _SIZES:
        result = DebugResult(
            runtime=session.runtime,
            adapter=session.adapter,
            status=session.stop.status,
            outcome="deadlock" if cycle else "busy" if busy else "waiting",
            deadlock=[_sentence(by_id[one], names) for one in cycle] or None,
            hung=[_thread(sources, one, names, frames) for one in threads[:most]],
            total=len(threads),
            truncated=True if len(threads) > most else None,
            output=clean(found.output, len(found.output) + 1)[-MAX_OUTPUT:] or None,
            note=found.note,
        )
        if size_of(result) <= MAX_BYTES:
            break
    return result


def _cycle(threads: Sequence[ThreadStack]) -> list[int]:
    """Return the threads that wait for each other in a ring, in its order; none where there is no ring."""
    waits: Mapping[int, int] = {
        one.id: one.waits.thread for one in threads if one.waits is not None and one.waits.thread is not None
    }
    for first in waits:
        path: list[int] = []
        at: int | None = first
        while at is not None and at not in path:
            path.append(at)
            at = waits.get(at)
        if at is not None:
            return path[path.index(at) :]
    return []


def _sentence(one: ThreadStack, names: Mapping[int, str]) -> str:
    waits = one.waits
    assert waits is not None and waits.thread is not None
    other = names.get(waits.thread, str(waits.thread))
    if waits.kind == "thread":
        return f"{one.name} waits for the end of {other}"
    return f"{one.name} waits for {waits.name or 'a ' + waits.kind}, which {other} has"


def _thread(sources: Sources, one: ThreadStack, names: Mapping[int, str], most: int) -> HungThread:
    waits = None
    if one.waits is not None:
        thread = one.waits.thread
        other = None if thread is None else names.get(thread, str(thread))
        waits = Awaited(kind=one.waits.kind, name=one.waits.name, thread=other)
    own = [frame for frame in one.frames if _is_own(sources, frame)][:most]
    rows = [_frame(sources, frame) for frame in own or one.frames[: min(most, 2)]]
    return HungThread(id=one.id, name=one.name, moves=one.moves, waits_for=waits, frames=rows or None)


def _is_own(sources: Sources, frame: Mapping[str, object]) -> bool:
    seen = sources.of(frame.get("source"))
    return seen is not None and seen.parts is not None and LIBRARIES.isdisjoint(seen.parts[:-1])


def _frame(sources: Sources, frame: Mapping[str, object]) -> ProjectFrame:
    place = sources.location(dict(frame))
    if place is None:
        return ProjectFrame(function=function_name(one_line(frame.get("name"), 200)) or None)
    return ProjectFrame(
        function=place.function, path=place.path, line=place.line, source=place.source_preview
    )
