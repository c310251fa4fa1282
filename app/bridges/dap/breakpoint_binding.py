"""The breakpoints of an agent in one debug session: sent to its adapters, and what they made of them.

Owns: which breakpoint an adapter's id stands for, and putting together what several links answer.
Never: which breakpoints there are.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from app.bridges.dap.adapter_behaviour import AdapterBehaviour
from app.bridges.dap.breakpoint import Breakpoint, as_sent, lacking
from app.bridges.dap.capabilities import FILTERS
from app.bridges.dap.exceptions import ExceptionChoice, filter_arguments, panic_functions
from app.bridges.dap.limits import DebugLimits
from app.bridges.dap.links import Link
from app.bridges.dap.program import Program
from app.bridges.dap.stops import whole
from app.errors import ToolError

MAX_MESSAGE = 1_000
MAX_REMOVED = 1_000
FIRST_LINE = 1
_CPP_THROW = "__cxa_throw"
NOT_ANSWERED = "the adapter did not say whether it is bound"


Place = tuple[str, int]
"""A path and a line in it."""


def place_of(fields: Mapping[str, Any]) -> Place | None:
    """Return where a breakpoint or a frame of the protocol is, None when it does not say so."""
    source, line = fields.get("source"), whole(fields.get("line"))
    path = source.get("path") if isinstance(source, dict) else None
    return (path, line) if isinstance(path, str) and line is not None else None


def _places(one: Breakpoint) -> set[Place]:
    lines = (one.sent_line, one.actual_line)
    return set() if one.path is None else {(str(one.path), line) for line in lines if line is not None}


class Answered:
    """What one link made of one breakpoint."""

    def __init__(self, body: Any) -> None:
        fields = body if isinstance(body, dict) else {}
        message = fields.get("message")
        self.id = whole(fields.get("id"))
        self.verified = fields.get("verified") is True
        self.line = whole(fields.get("line"))
        self.message = message[:MAX_MESSAGE] if isinstance(message, str) and message else None
        if not fields:
            self.message = NOT_ANSWERED

    def updated(self, body: dict[str, Any]) -> None:
        """Take a `breakpoint` event about it: what it leaves out has not changed."""
        news = Answered(body)
        self.verified = news.verified if "verified" in body else self.verified
        self.line = news.line if news.line is not None else self.line
        self.message = news.message if "message" in body or news.verified else self.message


class Binding:
    """Made with its session. `entry` are the functions in which breakpoints of ours stand, on the program's
    beginning, while they do; `entry_file` is the file in whose first line one does."""

    def __init__(self, program: Program, limits: DebugLimits, runtime: str, root: Path) -> None:
        self.entry: tuple[str, ...] = ()
        self.entry_file: Path | None = None
        self._runtime = runtime
        self._root = Path(os.path.realpath(root))
        self._panics: tuple[str, ...] = ()
        self._program = program
        self._behaviour: AdapterBehaviour = program.behaviour
        self._seconds = limits.request_seconds
        self._answers: dict[int, dict[int, Answered]] = {}
        self._breakpoints: dict[int, Breakpoint] = {}
        self._entry_ids: set[tuple[int, int]] = set()
        self._gave_way: int | None = None
        self._removed: set[Place] = set()

    def lacking(self, one: Breakpoint) -> str | None:
        """Return the capability that the session's adapter lacks for a breakpoint."""
        return lacking(one, self._program.front().capabilities, self._behaviour)

    async def configure(
        self, link: Link, breakpoints: Sequence[Breakpoint], exceptions: ExceptionChoice
    ) -> None:
        """Send everything to a link that is being opened; what it refuses is not verified, no more."""
        self._panics = panic_functions(self._behaviour, exceptions, self._runtime)
        paths = dict.fromkeys([self.entry_file, *(one.path for one in breakpoints)])
        for path in filter(None, paths):
            await self._leniently(link, self._file(path, breakpoints), self._send_file, path)
        functions = [one for one in breakpoints if one.kind == "function"]
        own = self.entry or self._panics
        if (functions or own) and "supportsFunctionBreakpoints" in link.capabilities:
            await self._leniently(link, functions, self._send_functions)
        else:
            self._usable(link, functions)
        with suppress(ToolError):
            await self._send_filters(link, exceptions)

    async def set_exceptions(self, choice: ExceptionChoice, breakpoints: Sequence[Breakpoint]) -> None:
        """Have the program stop at other exceptions. Raises as `send` does."""
        before = self._panics
        self._panics = panic_functions(self._behaviour, choice, self._runtime)
        for link in [one for one in self._program.links if one.alive]:
            await self._send_filters(link, choice)
            if self._panics != before and "supportsFunctionBreakpoints" in link.capabilities:
                await self._send_functions(link, [one for one in breakpoints if one.kind == "function"])

    def is_panic(self, frame: Mapping[str, Any] | None) -> bool:
        """Tell whether the program stands in a function that a panic calls."""
        name = str(frame.get("name", "")) if frame is not None else ""
        last = re.split("`|::", name.partition("(")[0])[-1]
        return last == _CPP_THROW or last in self._panics or name in self._panics

    async def _send_filters(self, link: Link, choice: ExceptionChoice) -> None:
        if FILTERS in link.capabilities:
            arguments = filter_arguments(link.advertised, self._behaviour, choice, self._root)
            await link.request("setExceptionBreakpoints", arguments, self._seconds)

    async def send(self, breakpoints: Sequence[Breakpoint], like: Breakpoint) -> None:
        """Send all those again that go in one request with one of them, to every link that has them.

        Raises ToolError `debug_request_failed` or `debug_timeout`, and PeerClosed."""
        problem: ToolError | None = None
        for link in self._links(like):
            try:
                if like.path is not None:
                    await self._send_file(link, self._file(like.path, breakpoints), like.path)
                elif like.kind == "function":
                    await self._send_functions(link, [one for one in breakpoints if one.kind == "function"])
                else:
                    await self._send_low(
                        link, [one for one in breakpoints if one.kind == like.kind], like.kind
                    )
            except ToolError as refused:
                problem = problem or refused
        if problem is not None and not like.verified:
            raise problem

    async def without_entry(self, breakpoints: Sequence[Breakpoint]) -> None:
        """Take the breakpoint on the program's beginning away."""
        functions = [one for one in breakpoints if one.kind == "function"]
        had_functions, path = bool(self.entry), self.entry_file
        self.entry, self.entry_file = (), None
        self._entry_ids.clear()
        self._gave_way = None
        for link in self._program.speakers():
            if had_functions:
                await self._leniently(link, functions, self._send_functions)
            if path is not None:
                await self._leniently(link, self._file(path, breakpoints), self._send_file, path)

    def changed(self, link: Link, body: dict[str, Any]) -> None:
        """Take a `breakpoint` event."""
        fields = body.get("breakpoint")
        if not isinstance(fields, dict) or body.get("reason") == "new":
            return
        one = self._of(link, whole(fields.get("id")), place=place_of(fields))
        if one is None:
            return
        answer = self._answers[one.id][link.number]
        if body.get("reason") == "removed":
            answer.verified, answer.message = False, "the adapter has removed it"
        else:
            answer.updated(fields)
        self._settle(one)

    def hit(
        self, link: Link, numbers: Iterable[int], *, place: Place | None, data: bool = False
    ) -> tuple[int, ...]:
        """Return our ids of the breakpoints that an adapter names, at a place when it is known. `data`: data
        was accessed; some adapters count those breakpoints apart from all others."""
        own = (number for number in numbers if not self.is_entry(link, (number,)))
        found = (self._of(link, number, data=data, place=place) for number in own)
        return tuple(dict.fromkeys(one.id for one in found if one is not None))

    def met(self, link: Link, ids: Iterable[int]) -> None:
        """The program stands at breakpoints: they hold, also where the adapter has not said so yet."""
        for own in ids:
            answer = self._answers.get(own, {}).get(link.number)
            if answer is not None and not answer.verified:
                answer.verified, answer.message = True, None
                self._settle(self._breakpoints[own])

    def is_entry(self, link: Link, numbers: Iterable[int]) -> bool:
        """Tell whether the breakpoint on the program's beginning is among those."""
        return any((link.number, number) in self._entry_ids for number in numbers)

    def holds(self, own: int) -> bool:
        """Tell whether a breakpoint of the agent stops the program where it stands; on its entry one can
        have given way to ours."""
        return own != self._gave_way

    def forget(self, one: Breakpoint) -> None:
        """A breakpoint is no more."""
        self._answers.pop(one.id, None)
        self._breakpoints.pop(one.id, None)

    def removed(self, one: Breakpoint) -> None:
        """Forget a breakpoint that was removed from the program."""
        self.forget(one)
        if len(self._removed) < MAX_REMOVED:
            self._removed |= _places(one)

    def was_removed(self, place: Place) -> bool:
        """Tell whether a breakpoint at a place was taken away from this program, and none is there now."""
        return place in self._removed

    def _of(
        self, link: Link, number: int | None, *, place: Place | None, data: bool = False
    ) -> Breakpoint | None:
        """js-debug gives breakpoints that are set after the launch numbers that earlier ones have: of those
        that are alike it is the one at the place, else the one that was set last."""
        if number is None:
            return None
        alike = [
            one
            for own, answers in self._answers.items()
            if (one := self._breakpoints.get(own)) is not None
            and (one.kind == "data") is data
            and link.number in answers
            and answers[link.number].id == number
        ]
        there = [
            one
            for one in alike
            if place in ((str(one.path), one.sent_line), (str(one.path), one.actual_line))
        ]
        return next(reversed(there or alike), None)

    def _links(self, like: Breakpoint) -> list[Link]:
        """Places of memory are of one process, those in files and functions of all."""
        if like.kind in ("instruction", "data"):
            return [self._program.front()]
        return [link for link in self._program.links if link.alive]

    def _file(self, path: Path, breakpoints: Sequence[Breakpoint]) -> list[Breakpoint]:
        return [one for one in breakpoints if one.path == path]

    def _usable(self, link: Link, breakpoints: Sequence[Breakpoint]) -> list[Breakpoint]:
        """Return those that the link can set; the others say what it lacks, and are not sent: it would
        ignore what it lacks and stop each time."""
        usable = []
        for one in breakpoints:
            lacks = lacking(one, link.capabilities, self._behaviour)
            if lacks is None:
                usable.append(one)
            else:
                name = self._behaviour.name or "the adapter"
                one.unbound(f"not set: {name} does not offer {lacks}")
        return usable

    async def _leniently(
        self,
        link: Link,
        breakpoints: Sequence[Breakpoint],
        send: Callable[..., Any],
        *more: Any,
    ) -> None:
        try:
            await send(link, breakpoints, *more)
        except ToolError as refused:
            for one in breakpoints:
                self._take(link, one, {"verified": False, "message": refused.message})

    async def _send_file(self, link: Link, breakpoints: Sequence[Breakpoint], path: Path) -> None:
        usable = self._usable(link, breakpoints)
        for one in usable:
            if one.sent_line is None:
                one.sent_line = one.line
        sent = [as_sent(one, self._behaviour) for one in usable]
        own = self._on_first_line(usable, sent) if path == self.entry_file else None
        arguments = {
            "source": {"name": path.name, "path": str(path)},
            "breakpoints": sent,
            "lines": [one["line"] for one in sent],
            "sourceModified": False,
        }
        answers = await self._request(link, "setBreakpoints", arguments, usable)
        if own is not None and own < len(answers):
            self._is_of_entry(link, answers[own])

    def _on_first_line(self, usable: Sequence[Breakpoint], sent: list[dict[str, Any]]) -> int | None:
        """Add what stops on entry, and return its place; None when a breakpoint of the agent does it. One
        that would not stop each time gives way until the program has stopped: a line has one at most."""
        plain = {"line": FIRST_LINE}
        for place, one in enumerate(usable):
            if one.sent_line == FIRST_LINE:
                if sent[place] == plain:
                    return None
                sent[place], self._gave_way = plain, one.id
                return place
        sent.append(plain)
        return len(sent) - 1

    async def _send_functions(self, link: Link, breakpoints: Sequence[Breakpoint]) -> None:
        usable = self._usable(link, breakpoints)
        sent = [as_sent(one, self._behaviour) for one in usable]
        taken = {one.function for one in usable}
        own = [name for name in self.entry if name not in taken]
        panics = [name for name in self._panics if name not in taken]
        sent += [{"name": name} for name in (*own, *panics)]
        answers = await self._request(link, "setFunctionBreakpoints", {"breakpoints": sent}, usable)
        for answer in answers[len(usable) : len(usable) + len(own)]:
            self._is_of_entry(link, answer)

    def _is_of_entry(self, link: Link, answer: Any) -> None:
        if (number := Answered(answer).id) is not None:
            self._entry_ids.add((link.number, number))

    async def _send_low(self, link: Link, breakpoints: Sequence[Breakpoint], kind: str) -> None:
        command = "setInstructionBreakpoints" if kind == "instruction" else "setDataBreakpoints"
        usable = self._usable(link, breakpoints)
        arguments = {"breakpoints": [as_sent(one, self._behaviour) for one in usable]}
        await self._request(link, command, arguments, usable)

    async def _request(
        self, link: Link, command: str, arguments: dict[str, Any], sent: Sequence[Breakpoint]
    ) -> list[Any]:
        body = await link.request(command, arguments, self._seconds)
        answers = body.get("breakpoints")
        answers = answers if isinstance(answers, list) else []
        for at, one in enumerate(sent):
            # js-debug answers with nothing when nothing has changed.
            if at < len(answers) or link.number not in self._answers.get(one.id, {}):
                self._take(link, one, answers[at] if at < len(answers) else None)
        return answers

    def _take(self, link: Link, one: Breakpoint, body: Any) -> None:
        self._breakpoints[one.id] = one
        self._removed -= _places(one)
        self._answers.setdefault(one.id, {})[link.number] = Answered(body)
        self._settle(one)

    def _settle(self, one: Breakpoint) -> None:
        """A breakpoint holds when one of the links has it; the links that are there count."""
        there = {link.number for link in self._program.links if not link.over}
        answers = [answer for number, answer in sorted(self._answers[one.id].items()) if number in there]
        best = next((answer for answer in answers if answer.verified), answers[-1] if answers else None)
        if best is not None:
            one.verified, one.message = best.verified, best.message
            one.actual_line = best.line if best.line is not None else one.sent_line
