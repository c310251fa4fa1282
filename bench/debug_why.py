"""Compare `debug.why` of a failing test with the same test that runs to its end under the debugger and stops
nowhere.

Both take turns, and the figure is the median of the ratios. The time of `why` has the end of the adapter in
it, after which nothing is left; that of the test ends when the program has.
"""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from app.bridges.dap.manager import DebugAdapters, Declarations
from app.bridges.processes.process import ChildProcesses
from app.tools.dispatch.service import ToolService
from app.tools.project_files.read_tracker import ReadTracker
from bench.debug import Bench, Subject
from bench.figures import report
from tests.driver.debug_adapters import INSTALLED, debug_environment, find_adapter
from tests.driver.tool_registry import tool_registry

ROUNDS = 7
FAILING = """import unittest


class Case(unittest.TestCase):
    def test_sum(self):
        total = sum(range(1_000))
        self.assertEqual(total, 1)
"""
CAUGHT = """import logging
from concurrent.futures import Future

logging.disable(logging.CRITICAL)


def refuse(done):
    raise KeyError(done.result())


def test_sum():
    for number in range(2_000):
        future = Future()
        future.add_done_callback(refuse)
        future.set_result(number)
    total = sum(range(1_000))
    assert total == 1
"""
MANY = (
    "exports.caught = (count) => {\n  for (let one = 0; one < count; one += 1) {\n"
    "    try { throw new Error(`caught ${one}`); } catch { continue; }\n  }\n};\n"
    "exports.total = (count) => {\n  exports.caught(count);\n  const found = 6;\n"
    "  if (found !== 3) throw new RangeError(`${found} is not 3`);\n};\n"
)
HEADS = {
    "node": ("many.test.js", 'const test = require("node:test");\nconst many = require("./many.js");\n'),
    "jest": ("many.test.js", 'const many = require("./many.js");\n'),
    "vitest": ("many.test.mjs", 'import { test } from "vitest";\nimport many from "./many.js";\n'),
}
BODY = "\ntest('is right', () => {\n  many.total(COUNT);\n});\n"
COUNTS = (3, 3_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One failing test: its files, the parameters that name it, and how the message of its failure begins."""

    name: str
    runtime: str
    files: Mapping[str, str]
    test: str
    message: str
    more: Mapping[str, str] = field(default_factory=dict)


def cases() -> Iterator[Case]:
    python = {
        "unittest": ("failing_case.py", FAILING, "failing_case.Case.test_sum", "499500 != 1"),
        "pytest": (
            "test_sum.py",
            "def test_sum():\n    assert 6 == 1\n",
            "test_sum.py::test_sum",
            "assert 6 == 1",
        ),
        "pytest, 2,000 caught exceptions": (
            *("test_caught.py", CAUGHT),
            *("test_caught.py::test_sum", "assert 499500 == 1"),
        ),
    }
    for name, (file, text, test, message) in python.items():
        yield Case(name=name, runtime="python", files={file: text}, test=test, message=message)
    for runner, (file, head) in HEADS.items():
        for count in COUNTS:
            yield Case(
                name=f"{runner}, {count:,} caught errors",
                runtime="node",
                files={"many.js": MANY, file: head + BODY.replace("COUNT", str(count))},
                test=f"{file}::is right",
                message="6 is not 3",
                more={"runner": runner},
            )


def main() -> None:
    for case in cases():
        with tempfile.TemporaryDirectory() as folder:
            asyncio.run(_measure(case, Path(folder).resolve()))


async def _measure(case: Case, base: Path) -> None:
    root = base / "project"
    root.mkdir()
    runners = INSTALLED / "runners" / "node_modules"
    if case.runtime == "node" and (find_adapter("js-debug") is None or not runners.is_dir()):
        print(f"{case.name}: js-debug or the test runners are not installed", flush=True)
        return
    if case.runtime == "node":
        (root / "node_modules").symlink_to(runners)
        (root / "package.json").write_text('{"private": true}\n')
    for name, text in case.files.items():
        (root / name).write_text(text)
    children = ChildProcesses()
    debuggers = DebugAdapters(
        children,
        None,
        environment=debug_environment(base / "home"),
        declared=lambda _: Declarations(),
        record=lambda *_: None,
    )
    service = ToolService(tool_registry(reads=ReadTracker(), children=children, debuggers=debuggers))
    try:
        adapter = await asyncio.to_thread(debuggers.table("prj_bench", root).resolve, case.runtime)
        subject = Subject(runtime=case.runtime, source="", text="", line=1)
        await _pairs(case, Bench(subject, root, service, adapter))
    finally:
        await debuggers.aclose()
        await children.aclose()


async def _pairs(case: Case, bench: Bench) -> None:
    call: dict[str, Any] = {"test": case.test, "timeout": 120_000, **case.more}
    ours, bare = [], []
    for number in range(ROUNDS + 1):
        began = time.perf_counter()
        found = await bench.call("launch", **call, exceptions="none")
        alone = (time.perf_counter() - began) * 1000
        assert found["status"] == "exited", found
        await bench.call("disconnect")
        began = time.perf_counter()
        found = await bench.call("why", **call)
        asked = (time.perf_counter() - began) * 1000
        assert found["exception"]["message"].startswith(case.message), found
        if number > 0:  # before the first one nothing is in the caches of the system and of the runner
            bare.append(alone)
            ours.append(asked)
    ratio = statistics.median(mine / other for mine, other in zip(ours, bare, strict=True))
    spent = f"{statistics.median(ours):.0f} ms, the test {statistics.median(bare):.0f}"
    report(f"{case.runtime}: why, {case.name} ({spent})", ratio, "times the test", at_most=1.2)
