"""Compare `debug` with a client that only speaks the protocol, with the same adapter.

Both take turns, so that a change of the machine's speed affects both alike. A call of the tool includes
everything: validation, permissions, audit, and an answer with place, source line, changed locals and
output. The raw client requests the place and the locals after a stop, as every debugger does before it can
show one; the time to the event alone is printed beside it.
"""

from __future__ import annotations

import asyncio
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.bridges.dap.manager import DebugAdapters, Declarations, ResolvedAdapter
from app.bridges.dap.start_arguments import launch_arguments, launch_values
from app.bridges.processes.process import ChildProcesses
from app.errors import ToolError
from app.tools.contract.call import ToolCallContext
from app.tools.dispatch.service import ToolService
from app.tools.project_files.read_tracker import ReadTracker
from bench.debug_client import RawDebugger
from bench.figures import report
from tests.driver.debug_adapters import debug_environment
from tests.driver.tool_registry import tool_registry
from tests.tools.conftest import Ports

LAUNCHES = 11
STEPS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """A program with a long loop: `line` is the first of the loop's body."""

    runtime: str
    source: str
    text: str
    line: int
    program: str = ""
    build: tuple[str, ...] = ()


SUBJECTS = (
    Subject(
        runtime="python",
        source="turns.py",
        text="def work(count):\n    total, names = 0, ['a', 'b']\n    for turn in range(count):\n"
        "        total += turn\n        names[0] = str(turn)\n    return total\n\n\nwork(1_000_000)\n",
        line=4,
    ),
    Subject(
        runtime="node",
        source="turns.js",
        text="function work(count) {\n  let total = 0; const names = ['a', 'b'];\n"
        "  for (let turn = 0; turn < count; turn++) {\n    total += turn;\n"
        "    names[0] = String(turn);\n  }\n  return total;\n}\nwork(1000000);\n",
        line=4,
    ),
    Subject(
        runtime="c",
        source="turns.c",
        text="static long work(long count) {\n  long total = 0, last = 0;\n"
        "  for (long turn = 0; turn < count; turn++) {\n    total += turn;\n    last = turn * 2;\n  }\n"
        "  return total + last;\n}\nint main(void) { return work(1000000) == 1; }\n",
        line=4,
        program="turns",
        build=("gcc", "-g", "-O0", "-o", "turns", "turns.c"),
    ),
)


class Bench:
    """The tool over one program, and what a raw client for the same adapter needs."""

    def __init__(self, subject: Subject, root: Path, service: ToolService, adapter: ResolvedAdapter) -> None:
        self.subject = subject
        self.root = root
        self.adapter = adapter
        self._service = service
        self._environment = debug_environment(root.parent / "home")

    @property
    def program(self) -> str:
        return self.subject.program or self.subject.source

    async def call(self, action: str, **params: Any) -> Any:
        context = ToolCallContext(
            session_id="ses_bench",
            run_id=None,
            agent_path="primary",
            project_id="prj_bench",
            project_root=self.root,
            cage=None,
            request_id="req_bench",
            call_id="call_bench",
            scratch_dir=self.root.parent / "scratch",
            ports=Ports(),
        )
        names = self._service.registry.names()
        envelope = await self._service.call("debug", {"action": action, **params}, context, allowed=names)
        assert not envelope.is_error, envelope.model_text()
        return envelope.data

    async def launch(self) -> None:
        found = await self.call(
            "launch", runtime=self.subject.runtime, script=self.program, stop_on_entry=False
        )
        assert found["location"]["line"] == self.subject.line, found

    async def step(self) -> None:
        found = await self.call("step_over")
        assert found["stopped_reason"] == "step", found

    def raw(self) -> RawDebugger:
        """Launch the program under the same adapter, with the same request."""
        values = launch_values(
            self.adapter,
            script=self.root / self.program,
            args=(),
            env={},
            cwd=self.root,
            root=self.root,
            stop_on_entry=False,
        )
        behaviour = self.adapter.behaviour
        debugger = RawDebugger(
            self.adapter.command,
            {**self._environment, **self.adapter.env},
            self.root,
            port_pattern=behaviour.reach.port_pattern if behaviour.reach.transport == "announced" else "",
            child_sessions=behaviour.children.are_program,
        )
        place = (self.root / self.subject.source, self.subject.line)
        try:
            debugger.launch(launch_arguments(self.adapter, values), place)
        except BaseException:
            debugger.close()
            raise
        return debugger


def main() -> None:
    for subject in SUBJECTS:
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder).resolve() / "project"
            root.mkdir()
            (root / subject.source).write_text(subject.text)
            if subject.build:
                if shutil.which(subject.build[0]) is None:
                    print(f"{subject.runtime}: {subject.build[0]} is not installed", flush=True)
                    continue
                subprocess.run(subject.build, cwd=root, check=True)
            try:
                asyncio.run(_measure(subject, root))
            except ToolError as absent:
                print(f"{subject.runtime}: {absent.message}", flush=True)


async def _measure(subject: Subject, root: Path) -> None:
    children = ChildProcesses()
    debuggers = DebugAdapters(
        children,
        None,
        environment=debug_environment(root.parent / "home"),
        declared=lambda _: Declarations(),
        record=lambda *_: None,
    )
    service = ToolService(tool_registry(reads=ReadTracker(), children=children, debuggers=debuggers))
    try:
        adapter = await asyncio.to_thread(debuggers.table("prj_bench", root).resolve, subject.runtime)
        bench = Bench(subject, root, service, adapter)
        await bench.call("set_breakpoint", path=subject.source, line=subject.line)
        await _launches(bench)
        await _steps(bench)
    finally:
        await debuggers.aclose()
        await children.aclose()


async def _launches(bench: Bench) -> None:
    """From nothing to the first stop, at a breakpoint that was set before."""
    ours, raws, bare = [], [], []
    (await asyncio.to_thread(bench.raw)).close()  # what the system and the adapter keep on disk is there then
    for _ in range(LAUNCHES):
        ours.append(await _timed(bench.launch))
        await bench.call("disconnect")
        began = time.perf_counter()
        debugger = await asyncio.to_thread(bench.raw)
        bare.append((time.perf_counter() - began) * 1000)
        await asyncio.to_thread(debugger.look)
        raws.append((time.perf_counter() - began) * 1000)
        await asyncio.to_thread(debugger.close)
    tool, raw = statistics.median(ours), statistics.median(raws)
    event = statistics.median(bare)
    label = (
        f"{_label(bench)}: launch to the first stop ({tool:.0f} ms, raw {raw:.0f}, to its event {event:.0f})"
    )
    ratio = statistics.median(mine / other for mine, other in zip(ours, raws, strict=True))
    report(label, ratio, "times the raw client", at_most=1.1)


async def _steps(bench: Bench) -> None:
    """One step over a line of a loop, until its place and its locals are known."""
    await bench.launch()
    await bench.call("remove_breakpoint", path=bench.subject.source, line=bench.subject.line)
    debugger = await asyncio.to_thread(bench.raw)
    try:
        await asyncio.to_thread(debugger.forget_breakpoints, bench.root / bench.subject.source)
        ours, raws, bare = [], [], []
        for _ in range(STEPS):
            ours.append(await _timed(bench.step))
            bare.append(await _timed(lambda: asyncio.to_thread(debugger.step)))
            raws.append(bare[-1] + await _timed(lambda: asyncio.to_thread(debugger.look)))
    finally:
        await asyncio.to_thread(debugger.close)
        await bench.call("disconnect")
    tool, raw = statistics.median(ours), statistics.median(raws)
    label = (
        f"{_label(bench)}: a step ({tool:.1f} ms, raw {raw:.1f}, to its event {statistics.median(bare):.1f})"
    )
    report(label + " added", tool - raw, "ms", at_most=3.0)


def _label(bench: Bench) -> str:
    return f"{bench.subject.runtime}, {bench.adapter.behaviour.name}"


async def _timed(work: Callable[[], Awaitable[Any]]) -> float:
    began = time.perf_counter()
    await work()
    return (time.perf_counter() - began) * 1000
