"""Every action of `debug`, called on one adapter at work, and what came of each."""

from __future__ import annotations

import asyncio
import base64
import re
import shutil
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from app.tools.debug.parameters import ACTIONS
from tests.driver.debug_adapters import built, copy_of, line_of
from tests.driver.debug_desk import DebugDesk
from tests.driver.machine import TOOLS, Lack
from tests.tools.debug.targets import Target

WORKS = "works"
KEPT = "goes on stopping, and says so"
"""The cell of `remove_breakpoint` where the adapter does not take one away."""
NOWHERE = "0x1000"
"""An address for adapters that name none: they must refuse before they look at it."""
_ADDRESS = re.compile(r"0x[0-9a-fA-F]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """A runtime's fixture programs, as one adapter debugs them."""

    runtime: str
    script: str
    """Adds up orders in a loop; built first where it is C."""
    endless: str
    """Never stops; a file of the fixtures, or one with the text `written`."""
    written: str = ""
    word: str = "total"
    """An expression for the variable `total`."""
    local: str = "total"
    """Its name."""
    pointer: str = ""
    """An expression for its address, or for other memory."""
    number: str = ""
    """An expression for what is in the other memory."""
    function: str = "price_of"
    """What the loop calls."""
    named: str = ""
    """How a function breakpoint names it, where it does otherwise."""
    round: str = "i"
    """An expression for the number of the loop's round, from 0."""
    third: str = "i == 2"
    """An expression for that it is the third."""
    logged: str = "{i}"
    """How a log message has the number."""
    custom: tuple[str, dict[str, Any]] = ("adapterInfo", {})
    """A request that the adapter is known to answer, where there is one."""
    target: Callable[[Path, AsyncExitStack], Awaitable[Target]] | None = None
    """Starts a program to be attached to; None where the adapter cannot."""
    arguments: tuple[str, ...] | None = None
    """Of the adapter, where it is not the one that is found for the runtime by itself."""
    build: tuple[str, ...] = ()
    """Builds both programs."""
    exit_code: int | None = 0
    """What is told of the end; None where the adapter does not tell it."""


class RefusedError(Exception):
    """A call answered with an error; the text is its code and the capability that it names."""


@dataclass
class Walk:
    """One adapter, one desk, and the cells that have been seen."""

    desk: DebugDesk
    subject: Subject
    cells: dict[str, str] = field(default_factory=dict)
    why: dict[str, str] = field(default_factory=dict)
    offers: dict[str, bool] = field(default_factory=dict)
    """Whether the adapter says, after the launch, that it can do what an action needs."""
    first: int = 0
    """The id of the first breakpoint."""

    async def ask(self, action: str, /, **params: Any) -> Any:
        """Return what a call answers. Raises RefusedError."""
        envelope = await self.desk.answer(action, **params)
        if envelope.type == "error":
            detail = envelope.detail or {}
            self.why[action] = envelope.model_text()
            raise RefusedError(": ".join(filter(None, (envelope.code, detail.get("capability")))))
        return envelope.data

    async def cell(self, action: str, look: Awaitable[Any]) -> Any:
        """Note what became of an action, and return what was looked up, None where it did not work."""
        try:
            seen = await look
        except RefusedError as refusal:
            self.cells[action] = str(refusal)
            return None
        except AssertionError as wrong:
            self.cells[action] = "wrong"
            self.why[action] = str(wrong)
            return None
        self.cells.setdefault(action, WORKS)
        return seen

    @property
    def source(self) -> Path:
        return self.desk.root / self.subject.script

    def line(self, mark: str) -> int:
        return line_of(self.source, mark)

    async def everything(self) -> Mapping[str, str]:
        """Call every action, and return what came of each."""
        program, endless = await self.built()
        await self._one_call(program)
        await self._begin(program)
        await self._look_around()
        await self._addresses()
        await self._data()
        await self._end()
        await self._pause(endless)
        await self._attach()
        return self.cells

    async def built(self) -> tuple[str, str]:
        """Make both programs ready, and return what is launched for each."""
        program = self._program(self.subject.script)
        endless = self._program(self.subject.endless, self.subject.written)
        if self.subject.build:
            await self._build()
        return program, endless

    def _program(self, name: str, text: str = "") -> str:
        path = self.desk.root / name
        if text:
            path.write_text(text)
        return built(path).name if path.suffix == ".c" else name

    async def _build(self) -> None:
        if shutil.which(self.subject.build[0]) is None:
            pytest.skip(str(Lack(f"the compiler {self.subject.build[0]}", "not installed", TOOLS)))
        process = await asyncio.create_subprocess_exec(*self.subject.build, cwd=self.desk.root)
        assert await process.wait() == 0

    async def _one_call(self, program: str) -> None:
        """What runs a program for one answer."""
        start = {"runtime": self.subject.runtime, "script": program}
        loop = self.line("loop")

        async def why() -> None:
            found = await self.ask("why", **start)
            assert found["outcome"] == "passed" and "owes" in found["output"], found

        async def trace() -> None:
            at = [{"path": self.subject.script, "line": loop, "expressions": [self.subject.word]}]
            found = await self.ask("trace", **start, at=at, max_hits=2)
            assert (found["hits"], found["trace"][0]["line"]) == (2, loop), found
            assert re.search(r"\d", found["trace"][0]["rows"][-1]["values"][self.subject.word]), found

        async def run_to() -> None:
            found = await self.ask("run_to", **start, path=self.subject.script, line=loop)
            assert (found["stopped_reason"], found["location"]["line"]) == ("run_to", loop), found
            assert self.subject.local in {one["name"] for one in found["locals"]}, found

        await self.cell("why", why())
        await self.cell("trace", trace())
        await self.cell("run_to", run_to())
        await self.desk.answer("disconnect")

    async def _begin(self, program: str) -> None:
        """Breakpoint before the launch, the launch, the steps."""
        call = self.line("loop") - 1

        async def set_there() -> None:
            found = await self.ask("set_breakpoint", path=self.subject.script, line=call)
            self.first = found["breakpoint_id"]

        async def launch() -> None:
            found = await self.ask(
                "launch", runtime=self.subject.runtime, script=program, stop_on_entry=False
            )
            assert found["status"] == "stopped", found
            assert found["location"]["line"] == call, found
            assert found["breakpoint_id"] == self.first, found
            self.offers = {name: self.desk.debugged().supports(name) for name in ACTIONS}

        async def listed() -> None:
            [found] = (await self.ask("list_breakpoints"))["breakpoints"]
            assert (found["line"], found["verified"]) == (call, True), found

        async def proceed() -> None:
            found = await self.ask("continue")
            assert (found["status"], found["location"]["line"]) == ("stopped", call), found

        await self.cell("set_breakpoint", set_there())
        await self.cell("launch", launch())
        await self.cell("list_breakpoints", listed())
        await self.cell("step_over", self._stepped("step_over", self.line("loop")))
        await self.cell("continue", proceed())
        await self.cell("step_into", self._stepped("step_into", None))
        await self.cell("threads", self._threads())
        await self.cell("stack_trace", self._stack())
        await self._instruction()
        await self.cell("step_out", self._out(call))
        await self._home()

    async def _stepped(self, action: str, *lines: int | None) -> None:
        found = await self.ask(action)
        assert found["status"] == "stopped", found
        if lines == (None,):
            assert self.subject.function in found["location"]["function"], found
        else:
            assert found["location"]["line"] in lines, found

    async def _out(self, call: int) -> None:
        """Some stop at the end of the function first, where its result is known."""
        found = await self.ask("step_out")
        if self.subject.function in found["location"]["function"]:
            found = await self.ask("step_over")
        assert found["location"]["line"] in {call, self.line("loop")}, found

    async def _home(self) -> None:
        """Go on to where the variable is known, however the steps have ended."""
        for _ in range(5):
            [frame, *_] = (await self.ask("stack_trace"))["frames"]
            if self.subject.function not in frame["name"]:
                return
            await self.ask("step_over")
        raise AssertionError(f"there is no end to {self.subject.function}")

    async def _threads(self) -> None:
        found = await self.ask("threads")
        assert found["thread_id"] in {one["id"] for one in found["threads"]}, found

    async def _stack(self) -> None:
        first, second, *_ = (await self.ask("stack_trace"))["frames"]
        assert self.subject.function in first["name"], first
        assert (first["path"], second["line"]) == (f"./{self.subject.script}", self.line("loop") - 1)

    async def _instruction(self) -> None:
        """A breakpoint on the instruction where the program stands; met in the next round."""
        frames = (await self.ask("stack_trace"))["frames"]
        address = frames[0].get("address") or NOWHERE

        async def set_there() -> None:
            found = await self.ask("set_instruction_breakpoint", instruction_reference=address)
            assert found["verified"], found
            await self.ask("remove_breakpoint", path=self.subject.script, line=self.line("loop") - 1)
            stopped = await self.ask("continue")
            assert stopped["stopped_reason"] in {"instruction breakpoint", "breakpoint"}, stopped
            assert stopped["breakpoint_id"] == found["breakpoint_id"], stopped

        async def remove() -> None:
            found = await self.ask("remove_instruction_breakpoint", instruction_reference=address)
            assert found["removed"]

        await self.cell("set_instruction_breakpoint", set_there())
        await self.cell("remove_instruction_breakpoint", remove())

    async def _look_around(self) -> None:
        word, local = self.subject.word, self.subject.local

        async def scopes() -> None:
            found = await self.ask("scopes")
            assert "local" in {one.get("scope") for one in found["scopes"]}, found

        async def variables() -> None:
            found = await self.ask("variables")
            values = {one["name"]: one["value"] for one in found["variables"]}
            assert re.search(r"\d", values.get(local, "")), values

        async def exceptions() -> None:
            found = await self.ask("set_exceptions", exceptions="none")
            assert found["exceptions"] == "none", found

        async def assign() -> None:
            before = (await self.ask("evaluate", expression=word))["result"]
            for value in ("4711", before):
                found = await self.ask("set_variable", name=local, value=value)
                assert found["result"] == value, found
                assert (await self.ask("evaluate", expression=word))["result"] == value

        async def evaluate() -> None:
            assert re.search(r"\d", (await self.ask("evaluate", expression=word))["result"])

        async def modules() -> None:
            found = await self.ask("modules")
            assert found["modules"], found

        async def loaded_sources() -> None:
            found = await self.ask("loaded_sources")
            assert f"./{self.subject.script}" in {one["path"] for one in found["sources"]}, found

        async def custom() -> None:
            command, arguments = self.subject.custom
            found = await self.ask("custom_request", command=command, arguments=arguments)
            assert found.get("response") or found.get("head"), found  # head: of a long answer

        await self.cell("scopes", scopes())
        await self.cell("variables", variables())
        await self.cell("set_exceptions", exceptions())
        await self.cell("set_variable", assign())
        await self.cell("evaluate", evaluate())
        await self.cell("modules", modules())
        await self.cell("loaded_sources", loaded_sources())
        await self.cell("custom_request", custom())

    async def _addresses(self) -> None:
        async def disassemble() -> None:
            found = await self.ask("disassemble", instruction_count=5)
            assert len(found["instructions"]) == 5, found
            assert found["instructions"][0]["instruction"], found

        async def read() -> bytes:
            found = await self.ask("read_memory", memory_reference=address, count=4)
            assert found["count"] == 4, found
            return base64.b64decode(found["data"])

        async def write() -> None:
            before = int.from_bytes(data or b"", "little")
            other = base64.b64encode((before + 256).to_bytes(4, "little")).decode()
            found = await self.ask("write_memory", memory_reference=address, data=other)
            assert found["bytes_written"] == 4, found
            assert await self._number() == before + 256
            same = base64.b64encode(before.to_bytes(4, "little")).decode()
            await self.ask("write_memory", memory_reference=address, data=same)

        if "disassemble" not in self.cells:
            await self.cell("disassemble", disassemble())
        address = await self._address()
        data = await self.cell("read_memory", read())
        if data is not None:
            assert int.from_bytes(data, "little") == await self._number()
        await self.cell("write_memory", write())

    async def _number(self) -> int:
        """Return the number that is in the memory, by an expression."""
        expression = self.subject.number or self.subject.word
        return int((await self.ask("evaluate", expression=expression))["result"])

    async def _address(self) -> str:
        """Return where the variable is, as the adapter has it."""
        if not self.subject.pointer:
            return NOWHERE
        context = "repl" if self.subject.number else "watch"
        found = await self.ask("evaluate", expression=self.subject.pointer, context=context)
        if "memory_reference" in found and self.subject.number:
            return str(found["memory_reference"])
        address = _ADDRESS.search(found.get("memory_reference") or found["result"])
        return address[0] if address else NOWHERE

    async def _data(self) -> None:
        """Stop where the variable is written."""

        async def info() -> str:
            found = await self.ask("data_breakpoint_info", name=self.subject.local)
            assert found["data_id"], found
            return str(found["data_id"])

        async def set_there() -> None:
            made = await self.ask("set_data_breakpoint", data_id=data_id, access_type="write")
            found = await self.ask("continue")
            assert found["stopped_reason"] == "data breakpoint", found
            assert found["breakpoint_id"] == made["breakpoint_id"], found
            assert "total" in {one["name"] for one in found["changed"]}, found

        async def remove() -> None:
            assert (await self.ask("remove_data_breakpoint", data_id=data_id))["removed"]

        data_id = await self.cell("data_breakpoint_info", info()) or "none"
        await self.cell("set_data_breakpoint", set_there())
        await self.cell("remove_data_breakpoint", remove())

    async def _end(self) -> None:
        """From the last breakpoint to the end of the program, and of the session."""

        async def remove() -> None:
            await self.ask("set_breakpoint", path=self.subject.script, line=self.line("end"))
            for one in (await self.ask("list_breakpoints"))["breakpoints"]:
                if one["line"] != self.line("end"):
                    await self.ask("remove_breakpoint", path=one["path"], line=one["line"])
            found = await self.ask("continue")
            kept = found["location"]["line"] != self.line("end")
            told = not kept or "was removed" in found.get("note", "")
            while found["location"]["line"] == self.line("loop") - 1:
                found = await self.ask("continue")
            assert found["location"]["line"] == self.line("end"), found
            found = await self.ask("continue")
            assert (found["status"], found.get("exit_code")) == ("exited", self.subject.exit_code), found
            await self.ask("remove_breakpoint", path=self.subject.script, line=self.line("end"))
            assert told, "it goes on stopping, and nobody is told"
            if kept:
                raise RefusedError(KEPT)

        async def disconnect() -> None:
            found = await self.ask("disconnect")
            assert found["disconnected"], found
            assert (await self.desk.refused("threads")).code == "dap_session_ended"

        await self.cell("remove_breakpoint", remove())
        await self.cell("disconnect", disconnect())

    async def _pause(self, program: str) -> None:
        async def hang() -> None:
            found = await self.ask("hang")
            first = found["hung"][0]
            assert found["status"] == "running" and ("frames" in first or "waits_for" in first), found

        async def pause() -> None:
            found = await self.ask(
                "launch", runtime=self.subject.runtime, script=program, stop_on_entry=False, timeout=2_000
            )
            assert found["status"] == "running", found
            await self.cell("hang", hang())
            found = await self.ask("pause")
            assert found.get("stopped_reason") == "pause", found
            found = await self.ask("continue", timeout=300)
            assert found["timed_out"], found

        await self.cell("pause", pause())
        await self.desk.answer("disconnect")

    async def _attach(self) -> None:
        """Take a program under the debugger that runs already, and let it go again."""

        async def attach() -> None:
            found = await self.ask("attach", runtime=self.subject.runtime, **where)
            assert found["status"] in {"running", "stopped"}, found
            left = await self.ask("disconnect")
            assert left["debuggee_terminated"] is False, left
            await asyncio.sleep(0)
            assert target is None or await target.runs(), f"it ended with {target.process.returncode}"

        async with AsyncExitStack() as stack:
            start = self.subject.target
            target = None if start is None else await start(self.desk.root, stack)
            where = {"port": 1} if target is None else target.where
            await self.cell("attach", attach())


def project_of(subject: Subject, base: Path) -> Path:
    """Copy the fixture programs of the subject's runtime and return their folder."""
    return copy_of(subject.runtime, base)
