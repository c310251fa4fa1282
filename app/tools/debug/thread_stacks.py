"""What the threads of a program do at one moment, as each debugger can tell it.

Owns: the frames of all threads and what they wait for, without stopping where that is possible. Never: what
of it is shown.
"""

from __future__ import annotations

import ast
import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import orjson

from app.bridges.dap.manager import DebugSession
from app.bridges.processes import proc
from app.bridges.processes.waiting import ThreadWait, waits_of
from app.errors import ToolError
from app.tools.debug.call import DebugCall
from app.tools.processes.foreign_text import clean, objects, one_line, whole_number

SAMPLE_SECONDS = 0.4
PAUSE_SECONDS = 5.0
IDLE_SECONDS = 10.0
STACK_SECONDS = 10.0
MAX_THREADS = 100
MAX_FRAMES = 30
MAX_NAME = 200
_SAMPLER = Path(__file__).with_name("thread_sampler.py")
_JS_LOOP = "`${performance.eventLoopUtilization().idle} ${process.getActiveResourcesInfo().join(', ')}`"
"""For how many milliseconds the event loop has waited, and what keeps the program alive."""
_IDLE_SHARE = 0.5
_KINDS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (kind, re.compile(pattern, re.IGNORECASE))
    for kind, pattern in (
        ("thread", r"pthread_(?:clock|timed)?join|thread::join|JoinHandle"),
        ("group", r"WaitGroup"),
        ("condition", r"cond_(?:timed|clock)?wait|condvar|condition_variable|sync\.\(\*Cond\)|Object\.wait"),
        ("lock", r"mutex|rwlock|lll_lock|lock_slow|lockSlow|lock_contended|MonitorEnter|ReentrantLock"),
        ("channel", r"chanrecv|chansend|selectgo|runtime\.block\b|mpsc|mpmc"),
        ("sleep", r"nanosleep|timeSleep|time\.Sleep|thread::sleep|sleep_for|Thread\.sleep"),
        ("input", r"netpoll|epoll|\b_*poll\b|\b_*read\b|accept|recv|internal/poll"),
    )
)
_FIRST_FRAMES = 10


@dataclass(frozen=True, slots=True)
class Waits:
    """`thread` is the id of the one that has it, or is to end."""

    kind: str
    name: str | None = None
    thread: int | None = None


@dataclass(frozen=True, slots=True)
class ThreadStack:
    """Frames are as the protocol has them, the top one first. `moves` is None where nobody can tell."""

    id: int
    name: str
    frames: Sequence[Mapping[str, Any]] = ()
    moves: bool | None = None
    waits: Waits | None = None


@dataclass(slots=True)
class Threads:
    """`note` says what could not be had; `output` is what the program wrote meanwhile."""

    found: list[ThreadStack] = field(default_factory=list)
    note: str | None = None
    output: str = ""


async def stacks_of(call: DebugCall, session: DebugSession, pid: int | None) -> Threads:
    """Return all threads of a session's program. It goes on as it did before. `pid` is its process as the
    machine knows it."""
    if session.behaviour.name == "debugpy" and (found := await _of_python(session)) is not None:
        return Threads(found)
    if session.behaviour.name != "js-debug" or session.stop.status != "running":
        return await _of_stopped(call, session, pid)
    idle = await _idle_script(session)
    if idle is not None:
        return idle
    threads = await _of_stopped(call, session, pid)
    return replace(threads, found=[replace(one, moves=True) for one in threads.found])


async def _of_python(session: DebugSession) -> list[ThreadStack] | None:
    """Python's own threads, asked for inside of the program by the debugger's thread: none is stopped."""
    code = repr(_SAMPLER.read_text())
    expression = (
        "(lambda names: (exec(compile(" + code + ", '<threads>', 'exec'), names), "
        f"names['sampled']({SAMPLE_SECONDS}))[1])({{'__name__': 'threads'}})"
    )
    try:
        answer = await session.request("threads", "evaluate", {"expression": expression, "context": "repl"})
        text = str(answer.get("result") or "")
        rows = orjson.loads(ast.literal_eval(text) if text.startswith("'") else text)
    except (ToolError, ValueError, SyntaxError):
        return None
    return [_python_thread(one) for one in objects(rows)[:MAX_THREADS]]


def _python_thread(row: dict[str, Any]) -> ThreadStack:
    waits = row.get("waits")
    awaited = None
    if isinstance(waits, dict):
        thread = waits.get("thread")
        name = one_line(waits.get("name"), MAX_NAME) or None
        awaited = Waits(one_line(waits.get("kind"), MAX_NAME), name, thread if type(thread) is int else None)
    frames = [
        {"name": one.get("name"), "line": one.get("line"), "source": {"path": one.get("path")}}
        for one in objects(row.get("frames"))[:MAX_FRAMES]
    ]
    return ThreadStack(
        row["id"] if type(row.get("id")) is int else 0,
        one_line(row.get("name"), MAX_NAME),
        frames,
        row.get("moves") is True,
        awaited,
    )


async def _idle_script(session: DebugSession) -> Threads | None:
    """Return what a script waits for whose event loop does; None for one whose code runs."""
    try:
        async with asyncio.timeout(IDLE_SECONDS):
            before, _ = await _event_loop(session)
            await asyncio.sleep(SAMPLE_SECONDS)
            after, kept = await _event_loop(session)
        threads = objects((await session.request("threads", "threads", {})).get("threads"))
    except (ToolError, TimeoutError, ValueError):
        return None
    if (after - before) / 1000 < _IDLE_SHARE * SAMPLE_SECONDS:
        return None
    first = threads[0] if threads else {}
    row = ThreadStack(
        whole_number(first.get("id")) or 0,
        one_line(first.get("name"), MAX_NAME) or "main",
        moves=False,
        waits=Waits("events", kept or None),
    )
    return Threads([row], "No code runs: the event loop waits. name has what keeps the program alive.")


async def _event_loop(session: DebugSession) -> tuple[float, str]:
    asked = {"expression": _JS_LOOP, "context": "repl"}
    answer = await session.request("threads", "evaluate", asked)
    idle, _, kept = clean(answer.get("result"), MAX_NAME).strip("'\"`").partition(" ")
    return float(idle), kept


async def _of_stopped(call: DebugCall, session: DebugSession, pid: int | None) -> Threads:
    """Stop the program where it runs, look, and let it go on."""
    before = await call.aside(_sample, pid)
    await asyncio.sleep(SAMPLE_SECONDS)
    after = await call.aside(_sample, pid)
    ran = session.stop.status == "running"
    output = ""
    if ran:
        stop = await session.pause(seconds=PAUSE_SECONDS)
        output += stop.output
    if session.stop.status != "stopped":
        note = f"{session.adapter} could not stop it within {PAUSE_SECONDS:g} s: there are no stacks."
        return Threads([_of_kernel(one, before) for one in after.values()], note, output)
    try:
        rows = await _asked(session)
    finally:
        if ran:
            output += (await session.resume(seconds=0.0)).output
    return Threads(_joined(rows, before, after), None, output)


async def _asked(session: DebugSession) -> list[ThreadStack]:
    answer = await session.request("threads", "threads", {})
    threads = [one for one in objects(answer.get("threads")) if type(one.get("id")) is int][:MAX_THREADS]
    rows: list[ThreadStack] = []
    deadline = asyncio.get_running_loop().time() + STACK_SECONDS
    for one in threads:
        frames: list[dict[str, Any]] = []
        try:
            async with asyncio.timeout_at(deadline):
                asked = {"threadId": one["id"], "startFrame": 0, "levels": MAX_FRAMES}
                stack = await session.request("threads", "stackTrace", asked)
                frames = objects(stack.get("stackFrames"))[:MAX_FRAMES]
        except (ToolError, TimeoutError):
            pass
        name = one_line(one.get("name"), MAX_NAME) or str(one["id"])
        rows.append(ThreadStack(one["id"], name, frames, waits=_by_frames(frames)))
    return rows


def _by_frames(frames: Sequence[Mapping[str, Any]]) -> Waits | None:
    """Return what the functions at the top of a stack wait for, by their names."""
    for frame in frames[:_FIRST_FRAMES]:
        name = str(frame.get("name"))
        kind = next((kind for kind, pattern in _KINDS if pattern.search(name)), None)
        if kind is not None:
            return Waits(kind)
    return None


def _sample(pid: int | None) -> dict[int, ThreadWait]:
    """Blocking."""
    return {} if pid is None else {one.thread: one for one in waits_of(pid)}


def _of_kernel(one: ThreadWait, before: Mapping[int, ThreadWait]) -> ThreadStack:
    waits = None if one.kind is None else Waits(one.kind, None, one.on)
    return ThreadStack(one.thread, one.name, (), _moves(one, before), waits)


def _moves(one: ThreadWait, before: Mapping[int, ThreadWait]) -> bool:
    return one.thread in before and one.ticks > before[one.thread].ticks


def _joined(
    rows: list[ThreadStack], before: Mapping[int, ThreadWait], after: Mapping[int, ThreadWait]
) -> list[ThreadStack]:
    """Add what the kernel knows to the debugger's threads, where these are the same ones: their ids are the
    kernel's, or they are as many and in the same order."""
    inner = {proc.inner_number(number) or number: number for number in after}
    if all(one.id in inner for one in rows):
        numbers = {one.id: inner[one.id] for one in rows}
    elif len(rows) == len(after):
        numbers = dict(zip(sorted(one.id for one in rows), sorted(after), strict=True))
    else:
        return rows
    back = {number: number_of for number_of, number in numbers.items()}
    return [_with_kernel(one, after[numbers[one.id]], before, back) for one in rows]


def _with_kernel(
    row: ThreadStack, one: ThreadWait, before: Mapping[int, ThreadWait], back: Mapping[int, int]
) -> ThreadStack:
    waits = row.waits
    if one.on is not None:
        waits = Waits(one.kind or "lock", None, back.get(one.on))
    return replace(row, waits=waits, moves=_moves(one, before))
