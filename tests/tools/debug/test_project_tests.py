"""Launching one test of a project under its debugger."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from app.errors import ToolError
from app.tools.contract.rules import PermissionRule
from app.tools.debug.effects import effects_of
from app.tools.debug.parameters import DebugParams
from app.tools.debug.project_test import read_test
from tests.driver.debug_adapters import adapter_path, copy_of, runner_packages
from tests.driver.debug_desk import DebugDesk, debug_desk

CASES = {
    "pytest": ("debugpy", "checks/shop_checks.py::test_price[2]", None, "checks/shop_checks.py", 5),
    "unittest": ("debugpy", "checks.unit_checks.Case.test_price", None, "checks/unit_checks.py", 7),
    "unittest-file": (
        "debugpy",
        "checks/unit_checks.py::Case::test_price",
        "unittest",
        "checks/unit_checks.py",
        7,
    ),
    "node": ("js-debug", "shop.test.js::price is right", None, "shop.test.js", 6),
    "vitest": ("js-debug", "vitest/shop.test.ts::price is right (2)", "vitest", "vitest/shop.ts", 6),
    "jest": ("js-debug", "jest/shop.test.js::price is right (2)", "jest", "jest/shop.js", 4),
    "go": ("delve", "gopkg/shop_test.go::TestPrice", None, "gopkg/shop.go", 5),
    "cargo": ("lldb-dap", "crate/src/lib.rs::tests::is_right", None, "crate/src/lib.rs", 2),
}


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[DebugDesk]:
    async with debug_desk(tmp_path, copy_of("tested", tmp_path)) as opened:
        yield opened


def installed(desk: DebugDesk, runner: str | None) -> None:
    """Give the project the packages of a runner that it has to have itself."""
    if runner in ("vitest", "jest"):
        (desk.root / "node_modules").symlink_to(runner_packages())


@pytest.mark.requirement("debugger.tests")
@pytest.mark.parametrize(("adapter", "test", "runner", "path", "line"), CASES.values(), ids=CASES)
async def test_one_test_is_launched_by_its_runner(
    desk: DebugDesk, adapter: str, test: str, runner: str | None, path: str, line: int
) -> None:
    adapter_path(adapter)
    installed(desk, runner)
    await desk.debug("set_breakpoint", path=path, line=line)
    more = {"runner": runner} if runner else {}
    stop = await desk.debug("launch", test=test, exceptions="none", timeout=300_000, **more)
    assert (stop["status"], stop["location"]["path"]) == ("stopped", f"./{path}"), stop
    ended = await desk.debug("continue")
    assert ended["status"] == "exited" and "never run" not in ended["output"]
    assert ended.get("exit_code") in {1, 101, None}


@pytest.mark.requirement("debugger.why")
@pytest.mark.parametrize(
    ("runner", "test", "message", "line"),
    [
        ("vitest", "vitest/shop.test.ts", "expected 6 to be 3 // Object.is equality", 5),
        (
            *("jest", "jest/shop.test.js"),
            *("expect(received).toBe(expected) // Object.is equality\n\nExpected: 3\nReceived: 6", 4),
        ),
    ],
    ids=["vitest", "jest"],
)
async def test_why_a_test_of_a_runner_of_the_project_fails(
    tmp_path: Path, runner: str, test: str, message: str, line: int
) -> None:
    """With Node 20 vitest throws hundreds of errors before it begins."""
    adapter_path("js-debug")
    async with debug_desk(tmp_path, copy_of("tested", tmp_path)) as desk:
        installed(desk, runner)
        found = await desk.debug("why", test=f"{test}::price is right (2)", runner=runner, timeout=300_000)
        assert found["outcome"] == "failed" and found["exception"]["message"] == message, found
        frame = found["project_frames"][0]
        assert (frame["path"], frame["line"]) == (f"./{test}", line) and "locals" in frame
        assert len(orjson.dumps(found)) <= 4_000


@pytest.mark.needs("cages")
@pytest.mark.requirement("debugger.tests")
async def test_a_caged_agent_launches_a_test(desk: DebugDesk) -> None:
    caged = desk.caged(("rw", "."), capabilities=["exec"])
    await caged.debug("set_breakpoint", path="checks/shop_checks.py", line=5)
    stop = await caged.debug("launch", test="checks/shop_checks.py::test_price[2]", exceptions="none")
    assert stop["location"]["line"] == 5
    assert (await caged.debug("continue"))["exit_code"] == 1


@pytest.mark.requirement("debugger.tests")
async def test_a_runner_that_is_not_there_is_reported(desk: DebugDesk) -> None:
    (desk.root / ".venv" / "bin").mkdir(parents=True)
    (desk.root / ".venv" / "bin" / "python").symlink_to(sys.executable)
    missing = await desk.refused("launch", test="checks/shop_checks.py::test_price[2]")
    assert missing.code == "test_runner_not_found" and "unittest" in missing.error_text
    for runner in ("vitest", "jest"):
        missing = await desk.refused("launch", test="shop.test.js::price is right", runner=runner)
        assert missing.code == "test_runner_not_found" and runner in missing.error_text
    assert (await desk.refused("launch", test="checks/none.py::test_x")).code == "file_not_found"
    (desk.root / "crate" / "src" / "lib.rs").write_text("pub fn price() -> i32 { nobody }\n")
    adapter_path("lldb-dap")
    broken = await desk.refused("launch", test="crate/src/lib.rs::tests::is_right", timeout=300_000)
    assert broken.code in {"debug_launch_failed", "test_runner_not_found"}
    assert broken.code == "test_runner_not_found" or "nobody" in broken.error_text


@pytest.mark.requirement("debugger.tests.rules")
async def test_a_test_is_judged_as_a_launch_and_by_its_command_line(desk: DebugDesk) -> None:
    call = {"action": "launch", "test": "checks/shop_checks.py::test_price[2]"}
    for rule in (
        PermissionRule("debug.launch", "*", "deny", "project"),
        PermissionRule("shell.bash", "python -m pytest *", "deny", "project"),
        PermissionRule("exec", "*", "deny", "project"),
        PermissionRule("fs.read", "checks/*", "deny", "project"),
    ):
        assert (await desk.ruled(rule).call("debug", call)).code == "permission_denied", rule


@pytest.mark.parametrize(
    ("given", "command"),
    [
        ({"test": "tests/a.py::test_x"}, "python -m pytest tests/a.py::test_x"),
        ({"test": "tests.a.Case.test_x"}, "python -m unittest tests.a.Case.test_x"),
        ({"test": "./t/a.py::Case", "runner": "unittest"}, "python -m unittest t.a.Case"),
        ({"test": "a.test.ts::it works"}, "node --test --test-name-pattern 'it works' a.test.ts"),
        ({"test": "a.test.ts::x", "runner": "vitest"}, "vitest run a.test.ts -t x"),
        ({"test": "a.test.ts", "runner": "jest", "args": ["--ci"]}, "jest a.test.ts --ci"),
        ({"test": "pkg/a_test.go::TestX"}, "go test -run '^TestX$' ./pkg"),
        ({"test": "src/lib.rs::tests::x"}, "cargo test tests::x -- --exact"),
    ],
)
def test_the_command_line_of_a_test(given: dict[str, Any], command: str) -> None:
    effects = effects_of(DebugParams.model_validate({"action": "launch", **given}))
    assert effects.commands == (command,)
    assert effects.judged_as == ("shell.bash", "debug.launch")


@pytest.mark.parametrize("text", ["", "nonsense", "::test_x", "-c.py::x", "notes/README.md"])
def test_what_names_no_test_is_refused(text: str) -> None:
    with pytest.raises(ToolError) as refused:
        read_test(text, None)
    assert list(refused.value.detail["fields"]) == ["test"]
