"""Every kind of breakpoint that `set_breakpoint` makes, met by one adapter, and what came of each."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from app.bridges.dap.breakpoint import Breakpoint, Terms
from tests.driver.debug_adapters import line_of
from tests.tools.debug.every_action import WORKS, RefusedError, Subject, Walk

SAMPLES = {
    "condition": Breakpoint(id=0, kind="line", terms=Terms(condition="1")),
    "hit_count": Breakpoint(id=0, kind="line", terms=Terms(hit_count=3)),
    "log_message": Breakpoint(id=0, kind="line", terms=Terms(log_message="here")),
    "function": Breakpoint(id=0, kind="function"),
}
KINDS = tuple(SAMPLES)


@dataclass
class BreakpointWalk:
    """One adapter, one desk, and the cells that have been seen."""

    walk: Walk
    program: str
    cells: dict[str, str] = field(default_factory=dict)
    why: dict[str, str] = field(default_factory=dict)
    lacks: dict[str, str | None] = field(default_factory=dict)
    """The capability that the adapter says it lacks for each kind."""

    @property
    def subject(self) -> Subject:
        return self.walk.subject

    async def everything(self) -> dict[str, str]:
        """Meet each kind once, each in a run of its own, and return what came of it."""
        for kind in KINDS:
            meet: Callable[[], Awaitable[None]] = getattr(self, f"_{kind}")
            try:
                await meet()
            except RefusedError as refusal:
                self.cells[kind], self.why[kind] = str(refusal), str(self.walk.why)
                await self._before(kind)
            except AssertionError as wrong:
                self.cells[kind], self.why[kind] = "wrong", str(wrong)
            else:
                self.cells[kind] = WORKS
            await self.walk.desk.answer("disconnect")
            for one in (await self.walk.ask("list_breakpoints"))["breakpoints"]:
                place = {name: one[name] for name in ("path", "line", "function") if one.get(name)}
                await self.walk.ask("remove_breakpoint", **place)
        return self.cells

    @property
    def _line(self) -> int:
        return line_of(self.walk.source, "loop")

    async def _condition(self) -> None:
        """Only in the third round."""
        await self._launched(path=self.subject.script, line=self._line, condition=self.subject.third)
        assert await self._round() == 2

    async def _hit_count(self) -> None:
        """From the third round on, also in the fourth."""
        await self._launched(path=self.subject.script, line=self._line, hit_count=3)
        assert await self._round() == 2
        found = await self.walk.ask("continue")
        assert found["status"] == "stopped", found
        assert await self._round() == 3

    async def _log_message(self) -> None:
        """All five rounds, and no stop."""
        end = line_of(self.walk.source, "end")
        await self.walk.ask("set_breakpoint", path=self.subject.script, line=end)
        message = f"round {self.subject.logged}."
        found = await self._launched(path=self.subject.script, line=self._line, log_message=message)
        assert found["location"]["line"] == end, found
        # What js-debug has from the program's own output may come after the stop.
        ended = await self.walk.ask("continue")
        told = found.get("output", "") + ended.get("output", "")
        assert [f"round {number}." in told for number in range(6)] == [True] * 5 + [False], (found, ended)

    async def _function(self) -> None:
        found = await self._launched(function=self.subject.named or self.subject.function)
        assert self.subject.function in found["location"]["function"], found

    async def _before(self, kind: str) -> None:
        """Before the launch it is not known what the adapter lacks: the launch tells it."""
        await self.walk.desk.answer("disconnect")
        more = {"condition": "1", "hit_count": 3, "log_message": "here"}
        place = {"path": self.subject.script, "line": self._line, kind: more.get(kind)}
        if kind == "function":
            place = {"function": self.subject.function}
        await self.walk.ask("set_breakpoint", **place)
        found = await self.walk.ask("launch", runtime=self.subject.runtime, script=self.program)
        capability = self.cells[kind].partition(": ")[2]
        if capability not in found.get("warning", ""):
            self.cells[kind], self.why[kind] = "refused, and not told by the launch", str(found)

    async def _launched(self, **place: Any) -> Any:
        """Launch the program, set the breakpoint on its beginning, and return the next stop."""
        found = await self.walk.ask("launch", runtime=self.subject.runtime, script=self.program)
        assert found["stopped_reason"] == "entry", found
        session = self.walk.desk.debugged()
        self.lacks = {kind: session.lacking(one) for kind, one in SAMPLES.items()}
        await self.walk.ask("set_breakpoint", **place)
        found = await self.walk.ask("continue")
        assert found["status"] == "stopped", found
        return found

    async def _round(self) -> int:
        found = await self.walk.ask("evaluate", expression=self.subject.round)
        return int(found["result"])
