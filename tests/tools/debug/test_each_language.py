"""What one call asks, in each language: without a cage, and in the cage of an agent.

What an adapter cannot is in `CANNOT`, with the reason.
"""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import orjson
import pytest

from tests.driver.debug_adapters import PATIENT, adapter_path, built, copy_of
from tests.driver.debug_desk import DebugDesk, debug_desk

RUNNING = {"stop_on_entry": False}


@dataclass(frozen=True)
class Subject:
    """A program that passes `line` twice, with these values of `expression`, and then fails in `fails`."""

    adapter: str
    runtime: str
    script: str
    source: str
    line: int
    expression: str
    values: tuple[str, str]
    fails: int
    message: str
    build: str = ""


DEAR = "too dear: 6"
RANGE_GO = "runtime error: index out of range [2] with length 2"
RANGE_RUST = "index out of bounds: the len is 2 but the index is 2"
TOTALS, COUNTS = ("total", ("3", "6")), ("count", ("1", "2"))
SUBJECTS: Mapping[str, Subject] = {
    "python": Subject("debugpy", "python", "boom.py", "boom.py", 10, *TOTALS, 11, DEAR),
    "node": Subject("js-debug", "node", "boom.js", "boom.js", 5, *TOTALS, 5, DEAR),
    "go": Subject("delve", "go", "go/main", "go/main.go", 7, *COUNTS, 7, RANGE_GO, "go/main.go"),
    "cpp": Subject("lldb-dap", "cpp", "boom", "boom.cpp", 6, *TOTALS, 6, DEAR, "boom.cpp"),
    "rust": Subject("lldb-dap", "rust", "panics", "panics.rs", 3, *COUNTS, 3, RANGE_RUST, "panics.rs"),
}
CANNOT: Mapping[tuple[str, str], str] = {
    ("go", "input"): "delve opens no file for the program that it starts",
    ("node", "user"): "V8 does not tell which code catches an exception",
    ("go", "user"): "delve does not tell which code recovers",
    ("cpp", "user"): "LLDB does not tell which code catches an exception",
    ("rust", "user"): "LLDB does not tell which code catches a panic",
    ("go", "types"): "delve does not know the type before the program stops",
    ("cpp", "types"): "LLDB does not know the type before the program stops",
    ("rust", "types"): "LLDB does not know the type before the program stops",
}
"""What an adapter cannot, and why. docs/debugging.md has it for all adapters."""


@asynccontextmanager
async def agent(base: Path, language: str, where: str) -> AsyncIterator[tuple[DebugDesk, Subject]]:
    subject = SUBJECTS[language]
    adapter_path(subject.adapter)
    root = copy_of("failing", base)
    shutil.move(root / "boom.rs", root / "panics.rs")
    if subject.build:
        built(root / subject.build)
    async with debug_desk(base, root, limits=replace(PATIENT, launch_seconds=200)) as desk:
        caged = desk.caged(("rw", "."), capabilities=["exec"], seccomp="relaxed")
        assert isinstance(caged, DebugDesk)
        yield (caged if where == "caged" else desk), subject


BOTH = pytest.mark.parametrize("where", ["free", pytest.param("caged", marks=pytest.mark.needs("cages"))])
EACH = pytest.mark.parametrize("language", SUBJECTS)


@EACH
@BOTH
@pytest.mark.requirement("debugger.run_to", "debugger.show", "debugger.trace", "debugger.why")
async def test_one_call_in_each_language(tmp_path: Path, language: str, where: str) -> None:
    async with agent(tmp_path, language, where) as (desk, subject):
        program = {"runtime": subject.runtime, "script": subject.script}
        first, last = subject.values
        there = {"path": subject.source, "line": subject.line}
        stop = await desk.debug(
            "run_to",
            **program,
            **there,
            condition=f"{subject.expression} == {last}",
            show=[subject.expression],
        )
        assert (stop["stopped_reason"], stop["location"]["line"]) == ("run_to", subject.line), stop
        assert stop["shown"] == [{"expression": subject.expression, "value": last}]
        assert {one["name"]: one["value"] for one in stop["locals"]}[subject.expression] == last
        assert (await desk.debug("list_breakpoints"))["breakpoints"] == []
        await desk.debug("disconnect")

        at = [{**there, "expressions": [subject.expression]}]
        traced = await desk.debug("trace", **program, at=at, exceptions="none")
        assert [one["values"][subject.expression] for one in traced["trace"][0]["rows"]] == [first, last], (
            traced
        )
        assert len(orjson.dumps(traced)) <= 2_000

        found = await desk.debug("why", **program)
        assert (found["outcome"], found["exception"]["message"].strip()) == ("failed", subject.message), found
        place = found["project_frames"][0]
        assert (place["path"], place["line"]) == (f"./{subject.source}", subject.fails)
        assert place["source"] and subject.expression in {one["name"] for one in place["locals"]}
        assert len(orjson.dumps(found)) <= 4_000 and desk.debuggers.active == 0


@EACH
@BOTH
@pytest.mark.requirement(
    "debugger.exceptions.modes", "debugger.exceptions.kept", "debugger.exceptions.answer"
)
async def test_exceptions_in_each_language(tmp_path: Path, language: str, where: str) -> None:
    async with agent(tmp_path, language, where) as (desk, subject):
        program = {"runtime": subject.runtime, "script": subject.script, **RUNNING}
        await desk.debug("set_exceptions", exceptions="uncaught")
        for _ in range(2):  # and kept for the next launch
            stop = await desk.debug("launch", **program)
            assert (stop["stopped_reason"], stop["location"]["line"]) == ("exception", subject.fails), stop
            assert stop["exception"]["message"].strip() == subject.message
            assert stop["location"]["path"] == f"./{subject.source}" and stop["locals"]
            await desk.debug("disconnect")
        assert (await desk.debug("launch", **program, exceptions="none")).get("exception") is None
        await desk.debug("disconnect")
        for what, more in (("user", {}), ("types", {"exception_types": ["Refused"]})):
            mode = "user" if what == "user" else "raised"
            answer = await desk.answer("launch", **program, exceptions=mode, **more)
            refused = answer.code == "action_not_supported"
            assert refused is ((language, what) in CANNOT), answer.model_text()
            await desk.answer("disconnect")


@EACH
@pytest.mark.requirement("debugger.launch.input")
async def test_input_in_each_language(tmp_path: Path, language: str) -> None:
    async with agent(tmp_path, language, "free") as (desk, subject):
        program = {"runtime": subject.runtime, "script": subject.script, **RUNNING}
        answer = await desk.answer("launch", **program, exceptions="none", input="one")
        assert (answer.code == "action_not_supported") is ((language, "input") in CANNOT), answer.model_text()
