"""why, for tests of Node: the runner tells what has failed, however much is thrown and caught before."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.driver.debug_adapters import adapter_path, put_runners
from tests.driver.debug_desk import DebugDesk, debug_desk

MANY = (
    "exports.caught = (count) => {\n  for (let one = 0; one < count; one += 1) {\n"
    "    try { throw new Error(`caught ${one}`); } catch { continue; }\n  }\n};\n"
    "exports.total = (count) => {\n  exports.caught(count);\n  const found = 6;\n"
    "  if (found !== 3) throw new RangeError(`${found} is not 3`);\n};\n"
)
TESTS = {
    "node": 'const test = require("node:test");\nconst many = require("./many.js");\n',
    "jest": 'const many = require("./many.js");\n',
    "vitest": 'import { test } from "vitest";\nimport many from "./many.js";\n',
}
BODY = (
    "\ntest('is right', () => {\n  many.total(COUNT);\n});\n\n"
    "test('other', () => {\n  throw new Error('never run');\n});\n"
)
NAMES = {"node": "many.test.js", "jest": "many.test.js", "vitest": "many.test.mjs"}


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[DebugDesk]:
    adapter_path("js-debug")
    async with debug_desk(tmp_path) as opened:
        opened.put("package.json", '{"private": true}\n')
        opened.put("many.js", MANY)
        yield opened


async def why(desk: DebugDesk, runner: str, count: int, name: str = "is right") -> dict[str, Any]:
    if runner != "node":
        put_runners(desk.root)
    desk.put(NAMES[runner], TESTS[runner] + BODY.replace("COUNT", str(count)))
    test = f"{NAMES[runner]}::{name}"
    found: dict[str, Any] = await desk.debug("why", test=test, runner=runner, timeout=300_000)
    assert len(orjson.dumps(found)) <= 4_000 and desk.debuggers.active == 0
    return found


@pytest.mark.requirement("debugger.why")
@pytest.mark.parametrize("runner", NAMES)
async def test_it_is_what_the_runner_reports(desk: DebugDesk, runner: str) -> None:
    found = await why(desk, runner, 3_000)
    assert found["outcome"] == "failed", found
    assert found["exception"] == {"type": "RangeError", "message": "6 is not 3"}, found
    frames = [(one["path"], one["line"]) for one in found["project_frames"]]
    line = TESTS[runner].count("\n") + 3
    assert frames[:2] == [("./many.js", 9), (f"./{NAMES[runner]}", line)]
    assert found["project_frames"][0]["source"].strip().startswith("if (found !== 3)")
    assert "locals" not in found["project_frames"][0] and "locals" in found["note"]


@pytest.mark.requirement("debugger.why")
@pytest.mark.parametrize("runner", NAMES)
async def test_a_failure_after_few_errors_has_locals(desk: DebugDesk, runner: str) -> None:
    found = await why(desk, runner, 3)
    assert found["exception"]["message"] == "6 is not 3" and found["project_frames"][0]["line"] == 9, found
    local = {one["name"]: one["value"] for one in found["project_frames"][0]["locals"]}
    assert local["found"] == "6" and "note" not in found


@pytest.mark.requirement("debugger.why")
@pytest.mark.parametrize("runner", NAMES)
async def test_a_file_of_tests_that_cannot_be_loaded_is_the_failure(desk: DebugDesk, runner: str) -> None:
    desk.put("many.js", "null.price;\n" + MANY)
    found = await why(desk, runner, 0)
    assert found["outcome"] == "failed" and "price" in found["exception"]["message"], found
    assert (found["project_frames"][0]["path"], found["project_frames"][0]["line"]) == ("./many.js", 1)


@pytest.mark.requirement("debugger.why")
@pytest.mark.parametrize("runner", NAMES)
async def test_what_is_caught_fails_no_test(desk: DebugDesk, runner: str) -> None:
    desk.put("many.js", MANY.replace("!== 3", "!== 6"))
    found = await why(desk, runner, 30)
    assert found["outcome"] == "passed" and "exception" not in found, found
