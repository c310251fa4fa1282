"""Command lines of Node's test runners, as people write them: `why` is told by the runner what has failed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import orjson
import pytest

from app.errors import ToolError
from app.tools.debug.effects import effects_of
from app.tools.debug.parameters import DebugParams
from app.tools.debug.program_command import ProgramCommand, read_command
from tests.driver.debug_adapters import adapter_path, put_runners
from tests.driver.debug_desk import DebugDesk, debug_desk
from tests.tools.debug.test_why_of_node_tests import BODY, MANY, TESTS

COUNT = 3_000
"""More errors than are stops of another program."""
NAMED = "--test-name-pattern=is right"
JEST, VITEST = "node_modules/jest/bin/jest.js", "node_modules/vitest/vitest.mjs"
READ: dict[str, ProgramCommand] = {
    "node --test a.test.js": ProgramCommand("node", "a.test.js", runner="node"),
    f"node --import tsx '{NAMED}' --test a.test.ts": ProgramCommand(
        "node", "a.test.ts", options=("--import", "tsx", NAMED), runner="node"
    ),
    "node --test --test-name-pattern 'x y' --test-reporter tap t/a.mjs": ProgramCommand(
        "node", "t/a.mjs", options=("--test-name-pattern", "x y"), runner="node"
    ),
    "npx vitest run a.test.ts -t x": ProgramCommand(
        "node", None, ("run", "a.test.ts", "-t", "x", "--no-file-parallelism"), runner="vitest"
    ),
    "pnpm exec vitest": ProgramCommand("node", None, ("--run", "--no-file-parallelism"), runner="vitest"),
    "jest -i a.test.js": ProgramCommand("node", None, ("-i", "a.test.js"), runner="jest"),
    "npm exec -- jest --maxWorkers=2": ProgramCommand("node", None, ("--maxWorkers=2",), runner="jest"),
    "./node_modules/.bin/jest": ProgramCommand("node", f"./{JEST}", ("--runInBand",), runner="jest"),
    f"node --no-warnings {VITEST} run": ProgramCommand(
        "node", VITEST, ("run", "--no-file-parallelism"), options=("--no-warnings",), runner="vitest"
    ),
    "node --env-file .env app.js": ProgramCommand("node", "app.js", options=("--env-file", ".env")),
    "node jest.js": ProgramCommand("node", "jest.js"),
}


@pytest.mark.requirement("debugger.why.commands")
@pytest.mark.parametrize(("text", "command"), READ.items(), ids=READ)
def test_a_command_line_is_taken_apart(text: str, command: ProgramCommand) -> None:
    assert read_command(text, None) == command
    effects = effects_of(DebugParams.model_validate({"action": "why", "command": text}))
    assert effects.commands[0].split()[0] == text.split()[0], "rules judge what the caller wrote"


@pytest.mark.parametrize("text", ["npx mocha", "yarn test", "npx", "npm test", "npx --yes"])
def test_what_starts_none_of_these_runners_is_refused(text: str) -> None:
    with pytest.raises(ToolError) as refused:
        read_command(text, None)
    assert "no debugger here starts" in refused.value.message


@pytest.mark.parametrize(
    "text",
    ["node --test", "node --test a.js b.js", "node --test 't/*.js'", "node --test --test-shard=1/2 a.js"],
)
def test_what_node_runs_in_further_processes_is_refused(text: str) -> None:
    with pytest.raises(ToolError) as refused:
        read_command(text, None)
    assert list(refused.value.detail["fields"]) == ["command"]


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[DebugDesk]:
    adapter_path("js-debug")
    async with debug_desk(tmp_path) as opened:
        opened.put("package.json", '{"private": true}\n')
        opened.put("many.js", MANY)
        yield opened


COMMANDS = {
    "node-file": ("node", "many.test.js", f"node --test '{NAMED}' many.test.js"),
    "jest": ("jest", "many.test.js", "npx jest many.test.js -t 'is right'"),
    "jest-bin": ("jest", "many.test.js", "./node_modules/.bin/jest many.test.js -t 'is right'"),
    "vitest": ("vitest", "many.test.mjs", "npx vitest run many.test.mjs -t 'is right'"),
    "vitest-file": ("vitest", "many.test.mjs", f"node {VITEST} many.test.mjs --reporter=dot -t 'is right'"),
}


@pytest.mark.requirement("debugger.why.commands")
@pytest.mark.parametrize(("runner", "path", "command"), COMMANDS.values(), ids=COMMANDS)
async def test_it_is_what_the_runner_reports(desk: DebugDesk, runner: str, path: str, command: str) -> None:
    if runner != "node":
        put_runners(desk.root)
    desk.put(path, (TESTS[runner] + BODY).replace("COUNT", str(COUNT)))
    found = await desk.debug("why", command=command, timeout=300_000)
    assert found["outcome"] == "failed", found
    assert found["exception"] == {"type": "RangeError", "message": "6 is not 3"}, found
    frames = [(one["path"], one["line"]) for one in found["project_frames"]]
    assert frames[0] == ("./many.js", 9) and f"./{path}" in {one for one, _ in frames}
    assert "locals are not known" in found["note"] and len(orjson.dumps(found)) <= 4_000
    assert desk.debuggers.active == 0


@pytest.mark.requirement("debugger.tests")
async def test_modules_of_python_run_in_the_folder_of_the_call(desk: DebugDesk) -> None:
    desk.put("pkg/test_sum.py", "def test_sum():\n    found = 6\n    assert found == 3\n")
    for command in ("pytest -q test_sum.py", "python -m pytest -q"):
        found = await desk.debug("why", command=command, cwd="pkg", timeout=120_000)
        assert found["exception"]["message"].startswith("assert 6 == 3"), found
        assert found["project_frames"][0]["path"] == "./pkg/test_sum.py"
