"""The breakpoints of one agent, kept also while no program runs.

Owns: which there are and their ids, following the edits of files, sending changes to the program that is
being debugged. Never: the wire.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from pathlib import Path

from app.bridges.dap.breakpoint import ALWAYS, NO_SESSION, Breakpoint, Terms
from app.bridges.dap.breakpoint_binding import Binding
from app.bridges.dap.breakpoint_lines import Content, Stamp, anchor_at, find, read, read_changed
from app.bridges.dap.capabilities import not_supported
from app.bridges.dap.exceptions import ExceptionChoice, check_choice
from app.bridges.dap.links import Link
from app.bridges.dap.program import Program
from app.bridges.rpc.message_stream import PeerClosed
from app.errors import ToolError, invalid_params
from app.states import DebugState

_LOADED = "the program runs the content from before the file was edited, and stops where that had this line"


class Breakpoints:
    """All raise ToolError: `action_not_supported` where the session's adapter cannot do it (nothing is
    changed then), `breakpoint_not_found` by the removals, `debug_request_failed`, `debug_timeout`,
    `too_many_breakpoints`, `invalid_params` for a line after the end of its file. One that is set again is
    replaced and keeps its id."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._all: dict[int, Breakpoint] = {}
        self._stamps: dict[Path, Stamp | None] = {}
        self._last_id = 0
        self._program: Program | None = None
        self._binding: Binding | None = None
        self._one_at_a_time = asyncio.Lock()
        self.exceptions = ExceptionChoice()
        """At which exceptions programs stop; kept as breakpoints are."""

    async def listed(self) -> tuple[Breakpoint, ...]:
        """Return all, by id, where the files' present content has them."""
        async with self._one_at_a_time:
            await self._follow()
        return self._present()

    def get(self, breakpoint_id: int) -> Breakpoint | None:
        return self._all.get(breakpoint_id)

    def at(self, path: str, line: int) -> tuple[int, ...]:
        """Return the ids of those that hold at a line, by which a stop is known that names none."""
        return tuple(
            one.id
            for one in self._all.values()
            if one.path is not None and str(one.path) == path and line in (one.actual_line, one.sent_line)
        )

    async def set_line(self, path: Path, line: int, terms: Terms = ALWAYS) -> Breakpoint:
        """`path` is the real absolute path of the file, which need not be loaded yet."""
        async with self._one_at_a_time:
            await self._follow()
            content = await asyncio.to_thread(read, path)
            if content.lines is not None and line > len(content.lines):
                raise _beyond_end(path, len(content.lines))
            self._stamps.setdefault(path, content.stamp)
            anchor = anchor_at(content.lines or (), line)
            return await self._set(Breakpoint(kind="line", path=path, line=line, terms=terms, anchor=anchor))

    async def remove_line(self, path: Path, line: int) -> Breakpoint:
        """By the line that was asked for, else by the one that it was bound to."""
        async with self._one_at_a_time:
            await self._follow()
            here = [one for one in self._present() if one.path == path]
            found = [one for one in here if one.line == line] or [
                one for one in here if one.actual_line == line
            ]
            lines = ", ".join(str(one.line) for one in here)
            where = f"the breakpoints of this file are in line {lines}" if lines else "this file has none"
            return await self._remove(found, f"there is no breakpoint in line {line}: {where}")

    async def set(self, one: Breakpoint) -> Breakpoint:
        """On a function, an instruction or data. The last two need a session (`dap_session_ended` without),
        and are forgotten with it."""
        async with self._one_at_a_time:
            if one.kind != "function":
                self._need_program()
            return await self._set(one)

    async def remove(self, like: Breakpoint) -> Breakpoint:
        """From a function, an instruction or data."""
        async with self._one_at_a_time:
            missing = {
                "function": f"breakpoint on a function {like.function}",
                "instruction": f"breakpoint on the instruction {like.reference}",
            }.get(like.kind, f"data breakpoint {like.data_id}")
            found = [one for one in self._all.values() if one.is_where(like)]
            return await self._remove(found, f"there is no {missing}")

    def attach(self, program: Program, binding: Binding) -> None:
        """Send changes of breakpoints to a program that is about to be debugged."""
        self._program, self._binding = program, binding
        for one in self._all.values():
            one.unbound("not bound yet")

    def detach(self, program: Program) -> None:
        """The program is no longer debugged."""
        if self._program is not program:
            return
        self._program = self._binding = None
        for one in list(self._all.values()):
            one.unbound()
            if one.kind in ("instruction", "data"):
                del self._all[one.id]

    async def configure(self, link: Link) -> None:
        """Send everything to a link that is being opened."""
        async with self._one_at_a_time:
            await self._follow()
            if self._binding is not None:
                await self._binding.configure(link, self._present(), self.exceptions)

    async def set_exceptions(self, choice: ExceptionChoice) -> None:
        """Choose at which exceptions the program that is debugged, and later ones, stop."""
        async with self._one_at_a_time:
            if self._binding is not None and self._program is not None and self._is_active():
                behaviour = self._program.behaviour
                check_choice(behaviour, behaviour.name or "the adapter", choice)
                await self._binding.set_exceptions(choice, self._present())
            self.exceptions = choice

    async def without_entry(self) -> None:
        """Take away what made the program stop at its beginning."""
        async with self._one_at_a_time:
            if self._binding is not None:
                await self._binding.without_entry(self._present())

    async def follow_edits(self) -> None:
        """Look whether files with breakpoints were edited, and bring those in line."""
        if self._stamps:
            async with self._one_at_a_time:
                await self._follow()

    def _present(self) -> tuple[Breakpoint, ...]:
        return tuple(self._all[number] for number in sorted(self._all))

    def _need_program(self) -> None:
        if self._binding is None:
            raise ToolError(
                "dap_session_ended",
                "instructions and data belong to a program that is being debugged: call launch first",
            )

    async def _set(self, one: Breakpoint) -> Breakpoint:
        """Keep a breakpoint and tell the program of it; when that fails nothing has changed."""
        self._need_capabilities(one)
        before = next((other for other in self._all.values() if other.key == one.key), None)
        if before is None and len(self._all) >= self._most:
            raise ToolError(
                "too_many_breakpoints", f"there are {self._most} breakpoints, which is the most: remove some"
            )
        one.id = before.id if before is not None else self._last_id + 1
        self._last_id = max(self._last_id, one.id)
        self._all[one.id] = one
        try:
            await self._send(one)
        except BaseException:
            if before is not None:
                self._all[one.id] = before
            else:
                del self._all[one.id]
            if self._binding is not None and before is None:
                self._binding.forget(one)
            raise
        return one

    async def _remove(self, found: Iterable[Breakpoint], otherwise: str) -> Breakpoint:
        one = next(iter(found), None)
        if one is None:
            raise ToolError("breakpoint_not_found", f"{otherwise}; list_breakpoints shows all")
        del self._all[one.id]
        if one.path is not None and all(other.path != one.path for other in self._all.values()):
            self._stamps.pop(one.path, None)
        one.verified = False
        await self._send(one)
        if self._binding is not None:
            self._binding.removed(one)
        one.unbound("removed")
        return one

    def _need_capabilities(self, one: Breakpoint) -> None:
        """A program that has started can be asked; before, what it cannot do is seen when it starts."""
        if self._binding is None or self._program is None or not self._is_active():
            return
        lacks = self._binding.lacking(one)
        if lacks is not None:
            advice = {
                "supportsFunctionBreakpoints": "set it on the line where the function begins",
                "supportsHitConditionalBreakpoints": "use a condition on a counter of the program",
                "supportsLogPoints": "set a plain breakpoint and evaluate there",
            }.get(lacks, "")
            name = self._program.behaviour.name or "the adapter"
            action = {"line": "set_breakpoint", "function": "set_breakpoint"}.get(
                one.kind, f"set_{one.kind}_breakpoint"
            )
            raise not_supported(name, action, lacks, advice)

    def _is_active(self) -> bool:
        return self._program is not None and self._program.state in (DebugState.STOPPED, DebugState.RUNNING)

    async def _send(self, like: Breakpoint) -> None:
        if self._binding is None or not self._is_active():
            return
        try:
            await self._binding.send(self._present(), like)
        except PeerClosed:
            like.unbound(NO_SESSION)

    async def _follow(self) -> None:
        """Move the breakpoints of edited files with the text that they stood on."""
        if not self._stamps:
            return
        for path, content in (await asyncio.to_thread(read_changed, dict(self._stamps))).items():
            self._stamps[path] = content.stamp
            here = [one for one in self._present() if one.path == path]
            moved = [one for one in here if self._moved(one, content)]
            if moved and self._is_active():
                await self._after_edit(path, here)

    def _moved(self, one: Breakpoint, content: Content) -> bool:
        """Bring one in line with its file, and tell whether its line is another."""
        if one.anchor is None or content.lines is None or one.line is None:
            return False
        line = find(one.anchor, content.lines)
        if line is None:
            return False  # its text is gone: it stays where it was until it is set again
        before, one.line = one.line, line
        one.anchor = anchor_at(content.lines, line)
        return line != before

    async def _after_edit(self, path: Path, here: list[Breakpoint]) -> None:
        """Keep the content that a program has loaded; it loads new content later."""
        assert self._program is not None
        if str(path) in self._program.loaded or self._program.loads_at_start:
            for one in here:
                one.message = _LOADED if one.sent_line != one.line else one.message
            return
        for one in here:
            one.sent_line = None
        await self._send(here[0])


def _beyond_end(path: Path, lines: int) -> ToolError:
    problem = f"is after the end of {path.name}, which has {lines} lines"
    return invalid_params(f"debug: line: {problem}", {"line": problem})
