"""The frames of a stopped thread, by their numbers.

Owns: which thread and which frame a call means, and the scopes of a frame. Never: what is in a scope.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from app.errors import ToolError
from app.tools.debug.call import DebugCall
from app.tools.debug.parameters import Scope
from app.tools.debug.values import reference_of
from app.tools.debug.wrong_parameter import wrong
from app.tools.processes.foreign_text import objects, one_line

MAX_FRAME = 10_000
MAX_SCOPES = 50
_BY_HINT: dict[str, Scope] = {
    "arguments": "local",
    "locals": "local",
    "globals": "global",
    "registers": "registers",
}
_BY_NAME: tuple[tuple[Scope, tuple[str, ...]], ...] = (
    ("registers", ("register", "cpu", "general purpose", "floating point", "exception state")),
    ("closure", ("closure", "captured", "nonlocal", "free var", "upvalue")),
    ("global", ("global", "static", "script", "module", "package", "file", "special", "constant")),
    ("local", ("local", "argument", "block", "catch", "with", "eval", "return value", "parameter", "this")),
)
"""How adapters name their scopes, by how the names begin."""
_BARE_CLOSURE = "Closure"


@dataclass(frozen=True, slots=True)
class FrameScope:
    """One scope of a frame. `kind` is None for what is none of the usual ones."""

    name: str
    kind: Scope | None
    reference: int
    expensive: bool
    variables: int | None


async def thread_of(call: DebugCall) -> int:
    """Return the thread that the call means. Raises ToolError `not_stopped` when none has stopped."""
    if call.session.stop.status != "stopped":
        await call.ask("threads")  # reports a stop that is not reported yet
    wanted = call.params.thread_id
    if wanted is None:
        wanted = call.session.current_thread
    if wanted is None:
        raise ToolError("not_stopped", "no thread has stopped yet; pause the program, or continue to a stop")
    return wanted


async def frame_of(call: DebugCall) -> dict[str, Any]:
    """Return the frame that the call means, as the protocol has it. Raises ToolError `invalid_params`
    when the stack is not that deep, and as requests do."""
    number, session = call.params.frame_id, call.session
    if number > MAX_FRAME:
        raise wrong("frame_id", f"is {number}; at most {MAX_FRAME}")
    thread = await thread_of(call)
    top = session.stop.frame if session.stop.status == "stopped" else None
    if number == 0 and thread == session.stop.thread_id and top is not None:
        return top
    frames = await frames_of(call, thread, number + 1)
    if number >= len(frames):
        raise wrong("frame_id", f"the stack has {len(frames)} frames, numbered from 0; see stack_trace")
    found = frames[number]
    if found.get("presentationHint") == "label" or type(found.get("id")) is not int:
        raise wrong("frame_id", f"{number} only separates frames; take another one of stack_trace")
    return found


async def frames_of(call: DebugCall, thread: int, count: int) -> list[dict[str, Any]]:
    """Return the first `count` frames of a thread, or all that there are."""
    answer = await call.ask("stackTrace", threadId=thread, startFrame=0, levels=count)
    return objects(answer.get("stackFrames"))[:count]


async def scopes_of(call: DebugCall, frame: dict[str, Any]) -> list[FrameScope]:
    """Return the scopes of a frame, in the adapter's order."""
    answer = await call.ask("scopes", frameId=frame["id"])
    scopes = list(_taken_apart(objects(answer.get("scopes"))[:MAX_SCOPES]))
    return _own_as_local(scopes, one_line(frame.get("name"), 200))


def _own_as_local(scopes: list[FrameScope], function: str) -> list[FrameScope]:
    """Bun has no local scopes but of blocks: what a function declares is in closures that have its name, or
    none when the function has none."""
    if any(one.name.casefold().startswith("local") for one in scopes):
        return scopes
    first = next((one.name for one in scopes if one.kind == "closure"), None)
    if first is None or first not in (_BARE_CLOSURE, f"{_BARE_CLOSURE} ({function.rpartition('.')[2]})"):
        return scopes
    names = [one.name for one in scopes]
    begin = names.index(first)
    end = next((at for at in range(begin, len(names)) if names[at] != first), len(names))
    own = [replace(one, kind="local") for one in scopes[begin:end]]
    return [*scopes[:begin], *own, *scopes[end:]]


def _taken_apart(scopes: Iterable[dict[str, Any]]) -> Iterable[FrameScope]:
    for one in scopes:
        reference, name = reference_of(one), one_line(one.get("name"), 200)
        if not reference or not name:
            continue
        named, indexed = one.get("namedVariables"), one.get("indexedVariables")
        counts = [count for count in (named, indexed) if type(count) is int and count >= 0]
        yield FrameScope(
            name=name,
            kind=kind_of(name, one.get("presentationHint")),
            reference=reference,
            expensive=one.get("expensive") is True,
            variables=sum(counts) if counts else None,
        )


def kind_of(name: str, hint: Any) -> Scope | None:
    """Return which of the tool's scopes an adapter's scope belongs to. Arguments are local too."""
    begins = name.casefold()
    for kind, beginnings in _BY_NAME:
        if begins.startswith(beginnings):
            return kind
    return _BY_HINT.get(hint) if isinstance(hint, str) else None
