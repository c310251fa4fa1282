"""Telling of a stop: which thread and frame it is about, and which breakpoints of ours were hit.

Owns: asking the adapter for what its events leave out, recording each hit once. Never: the state.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from app.bridges.dap.breakpoint_binding import Binding, place_of
from app.bridges.dap.breakpoints import Breakpoints
from app.bridges.dap.exception_screen import ExceptionScreen
from app.bridges.dap.links import Link
from app.bridges.dap.peer import AdapterRefusal
from app.bridges.dap.program import Program
from app.bridges.dap.stops import BREAKPOINT_REASONS, Seen, Standing, Stop, StopEvent
from app.bridges.dap.threads import any_thread, first_thread
from app.bridges.rpc.message_stream import PeerClosed

MAX_UNREPORTED = 1_000
"""How many stops in a row are recorded without being reported."""
_QUIET_SECONDS = 1.0
"""How long further events of one stop are waited for, as long as they come."""


class StopReports:
    """The reports of one session. `entry`: the first stop is expected to be the one on entry. `on_hit` gets
    the frame and our ids of the breakpoints at which the program stands."""

    def __init__(
        self,
        program: Program,
        breakpoints: Breakpoints,
        binding: Binding,
        *,
        screen: ExceptionScreen,
        entry: bool,
        on_hit: Callable[[Mapping[str, Any], tuple[int, ...]], None],
    ) -> None:
        self._program = program
        self._breakpoints = breakpoints
        self._binding = binding
        self._screen = screen
        self._entry = entry
        self._on_hit = on_hit
        self.keeps_breakpoints = False
        """Whether the adapter has stopped at a breakpoint after its removal."""
        self._looking = asyncio.Lock()
        self._unreported = 0

    async def of(self, link: Link) -> Stop | None:
        """Return what there is to tell of the stop that a link stands at, without output; None when the
        program has gone on meanwhile."""
        standing = link.standing
        if standing is None:
            return None
        seen = await self.seen(link, standing)
        if link.standing is not standing:
            return None
        self._binding.met(link, seen.hits)
        reason = self._reason(seen.event, seen)
        if self._entry:
            self._entry = False
            reason = self._entry_reason(link, standing, seen) or reason
            if self._binding.entry or self._binding.entry_file is not None:
                await self._breakpoints.without_entry()
        removed = reason == "breakpoint" and self._is_removed(seen)
        self.keeps_breakpoints = self.keeps_breakpoints or removed
        standing.reported, self._unreported = True, 0
        return Stop(
            status="stopped",
            reason=reason,
            description=seen.event.description,
            text=seen.event.text,
            thread_id=None if seen.thread is None else seen.thread + link.shift,
            breakpoint_ids=seen.hits,
            frame=seen.frame,
            removed=removed,
        )

    async def seen(self, link: Link, standing: Standing) -> Seen:
        """Find out what a stop is, once, and have its hits recorded."""
        async with self._looking:
            seen = standing.seen
            if seen is None or seen.count != standing.count:
                seen = standing.seen = await self._look(link, standing)
                if await self._passes_by(link, standing, seen):
                    return seen
            self._record(standing, seen)
            return seen

    async def _passes_by(self, link: Link, standing: Standing, seen: Seen) -> bool:
        """Let the program go on from an exception that nobody asked for, and tell whether it does."""
        if link.standing is not standing or seen.hits or self._reason(seen.event, seen) != "exception":
            return False
        with suppress(PeerClosed):
            if not await self._screen.passes_by(link, seen.frame) or link.standing is not standing:
                return False
            link.let_run()
            thread = seen.thread if seen.thread is not None else await any_thread(link, _QUIET_SECONDS)
            answer = link.send("continue", {"threadId": thread + link.shift})
            answer.add_done_callback(lambda done: done.cancelled() or done.exception())
            self._program.settle()
        return True

    def missed(self, link: Link, standing: Standing) -> None:
        """Record the hits of a stop as far as its events tell: it is too late to ask for more."""
        self._record(standing, self._unasked(link, standing))

    async def _look(self, link: Link, standing: Standing) -> Seen:
        """Asking for the frame also lets the other events of the same stop come in: most adapters send them
        before they answer. While some come, it is asked again, so that none is taken for the next stop."""
        until = asyncio.get_running_loop().time() + _QUIET_SECONDS
        while link.standing is standing:
            event, count = standing.best, standing.count
            thread, frame = await self._place(link, event)
            if link.standing is standing and (
                standing.count == count or asyncio.get_running_loop().time() > until
            ):
                return Seen(count, event, thread, frame, self._hits(link, standing, event, frame))
        return self._unasked(link, standing)

    def _unasked(self, link: Link, standing: Standing) -> Seen:
        event = standing.best
        hits = self._hits(link, standing, event, None)
        return Seen(standing.count, event, event.thread, None, hits)

    def _record(self, standing: Standing, seen: Seen) -> None:
        """Have each breakpoint of a stop recorded once; not without end while nobody looks."""
        new = tuple(number for number in seen.hits if number not in standing.recorded)
        standing.recorded.update(new)
        if new and self._unreported < MAX_UNREPORTED:
            self._unreported += 1
            self._on_hit(seen.frame or {}, new)

    async def _place(self, link: Link, event: StopEvent) -> tuple[int | None, dict[str, Any] | None]:
        """Return the adapter's id of the thread, and the frame at its top."""
        seconds = self._program.limits.frame_seconds
        try:
            thread = event.thread if event.thread is not None else await self._first_thread(link)
            if thread is None:
                return None, None
            arguments = {"threadId": thread + link.shift, "startFrame": 0, "levels": 1}
            body = await link.ask("stackTrace", arguments, seconds)
        except (AdapterRefusal, TimeoutError, PeerClosed):
            return event.thread, None
        frames = body.get("stackFrames")
        frame = frames[0] if isinstance(frames, list) and frames and isinstance(frames[0], dict) else None
        if frame is not None and (path := _path(frame)) is not None:
            self._program.has_loaded(path)
        return thread, frame

    async def _first_thread(self, link: Link) -> int | None:
        if link.threads:
            return next(iter(link.threads))
        return await first_thread(link, self._program.limits.frame_seconds)

    def _hits(
        self, link: Link, standing: Standing, event: StopEvent, frame: dict[str, Any] | None
    ) -> tuple[int, ...]:
        """Return our ids of the breakpoints that were hit: those named, else those at the place."""
        data = event.reason == "data breakpoint"
        place = place_of(frame) if frame is not None else None
        named = self._binding.hit(link, standing.hits(), place=place, data=data)
        if named or event.reason not in BREAKPOINT_REASONS or place is None or standing.hits():
            return named
        return tuple(filter(self._binding.holds, self._breakpoints.at(*place)))

    def _is_removed(self, seen: Seen) -> bool:
        place = place_of(seen.frame) if seen.frame is not None else None
        return not seen.hits and place is not None and self._binding.was_removed(place)

    def _entry_reason(self, link: Link, standing: Standing, seen: Seen) -> str | None:
        event, frame = seen.event, seen.frame
        if seen.hits or event.reason == "exception":
            return None
        if event.reason in self._program.behaviour.stopping.entry_reasons:
            return "entry"
        by_name = frame is not None and str(frame.get("name", "")).split("(")[0] in self._binding.entry
        if self._binding.is_entry(link, standing.hits()) or (self._binding.entry and by_name):
            return "entry"
        if self._binding.entry_file is not None and event.reason == "breakpoint":
            return "entry"  # js-debug may have moved it meanwhile, and does not know it any more
        return None

    def _reason(self, event: StopEvent, seen: Seen) -> str:
        """Return the protocol's reason for what the adapter calls otherwise."""
        if not seen.hits and self._binding.is_panic(seen.frame):
            return "exception"
        asked_for = self._program.asked_for
        if event.reason == "step" and asked_for == "pause":
            return "pause"  # by a step out of what it does not show
        if event.reason == "breakpoint" and asked_for == "step" and not (seen.hits or event.hits):
            return "step"  # to some adapters every stop is one at a breakpoint
        named = self._program.behaviour.stopping.reasons
        return named.get(event.description or "") or named.get(event.reason, event.reason)


def _path(frame: dict[str, Any]) -> str | None:
    source = frame.get("source")
    path = source.get("path") if isinstance(source, dict) else None
    return path if isinstance(path, str) else None
