"""One story in each tier of cages: a caged agent stops at a breakpoint, and asks in one call why it fails.

The tier `full` holds every debugger, `off` holds nothing back, in `landlock` only bash is debugged, and in
`none` nothing is. What cannot be had is refused before anything is started.
"""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from app.bridges.sandbox.tier import Tier
from tests.bridges.conftest import started_from_here
from tests.driver.caged_machine import FULL, LANDLOCK
from tests.driver.debug_adapters import FIXTURES, PATIENT, adapter_path, built, copy_of, put_runners
from tests.driver.debug_desk import DebugDesk, command_of, debug_desk, is_for_others
from tests.driver.machine import need_tier

OFF = Tier("off", "the operator has switched it off")
NONE = Tier("none", "namespaces are not allowed", "Allow them.")


@dataclass(frozen=True)
class Story:
    """`launch` starts what stops in `line` of `path`; `why` starts what fails with `message`."""

    adapter: str
    launch: Mapping[str, Any]
    path: str
    line: int
    why: Mapping[str, Any]
    message: str


PYTHON = {"test": "checks/unit_checks.py::Case::test_price", "runner": "unittest"}
NODE = {"test": "shop.test.js::price is right"}
GO = {"test": "gopkg/shop_test.go::TestPrice"}
CPP = {"runtime": "cpp", "script": "boom", "stop_on_entry": False}
RUST = {"runtime": "rust", "script": "panics", "stop_on_entry": False}
STORIES: Mapping[str, Story] = {
    "python": Story("debugpy", PYTHON, "checks/unit_checks.py", 7, PYTHON, "6 != 3"),
    "node": Story("js-debug", NODE, "shop.test.js", 5, NODE, "Expected values to be strictly equal"),
    "go": Story("delve", GO, "gopkg/shop.go", 5, GO, "got 6, want 3"),
    "cpp": Story("lldb-dap", CPP, "boom.cpp", 6, {"command": "./boom"}, "too dear: 6"),
    "rust": Story(
        *("lldb-dap", RUST, "panics.rs", 3, {"command": "./panics", "runtime": "rust"}),
        "index out of bounds: the len is 2 but the index is 2",
    ),
}


@asynccontextmanager
async def agent(base: Path, tier: Tier, language: str) -> AsyncIterator[DebugDesk]:
    """Open the desk of a caged agent on a machine of this tier."""
    need_tier(tier)
    root = copy_of("tested", base)
    for name, copied in (("boom.cpp", "boom.cpp"), ("boom.rs", "panics.rs")):
        shutil.copy(FIXTURES / "failing" / name, root / copied)
        if name.endswith({"cpp": ".cpp", "rust": ".rs"}.get(language, " ")):
            built(root / copied)
    limits = replace(PATIENT, launch_seconds=200)  # Go compiles its library in each new cage
    async with debug_desk(base, root, tier=tier, limits=limits) as desk:
        yield desk.caged(("rw", "."), capabilities=["exec"], seccomp="relaxed")


@pytest.mark.timeout(300)
@pytest.mark.requirement("debugger.cage.tiers", "debugger.why", "debugger.tests")
@pytest.mark.parametrize(
    ("tier", "language"),
    [*((FULL, language) for language in STORIES), (OFF, "python"), (OFF, "cpp")],
    ids=lambda one: one.name if isinstance(one, Tier) else one,
)
async def test_a_caged_agent_stops_at_a_breakpoint_and_asks_why(
    tmp_path: Path, tier: Tier, language: str
) -> None:
    story = STORIES[language]
    adapter_path(story.adapter)
    async with agent(tmp_path, tier, language) as caged:
        await caged.debug("set_breakpoint", path=story.path, line=story.line)
        stop = await caged.debug("launch", **story.launch, exceptions="none", timeout=200_000)
        assert (stop["location"]["path"], stop["location"]["line"]) == (f"./{story.path}", story.line)
        assert stop["breakpoint_id"] == 1
        await caged.debug("disconnect")
        found = await caged.debug("why", **story.why, timeout=200_000)
        assert story.message in found["exception"]["message"] and found["outcome"] == "failed"
        assert found["project_frames"][0]["locals"] is not None


RUNNERS: Mapping[str, Story] = {
    "vitest": Story(
        *("js-debug", {"test": "vitest/shop.test.ts::price is right (2)", "runner": "vitest"}),
        *("vitest/shop.ts", 6, {"test": "vitest/shop.test.ts::price is right (2)", "runner": "vitest"}),
        "expected 6 to be 3",
    ),
    "jest": Story(
        *("js-debug", {"test": "jest/shop.test.js::price is right (2)", "runner": "jest"}),
        *("jest/shop.js", 4, {"test": "jest/shop.test.js::price is right (2)", "runner": "jest"}),
        "expect(received).toBe(expected)",
    ),
}


@pytest.mark.timeout(300)
@pytest.mark.requirement("debugger.cage.tiers", "debugger.why", "debugger.tests")
@pytest.mark.parametrize("runner", RUNNERS)
async def test_a_caged_agent_debugs_tests_of_a_runner_of_the_project(tmp_path: Path, runner: str) -> None:
    story = RUNNERS[runner]
    adapter_path(story.adapter)
    async with agent(tmp_path, FULL, runner) as caged:
        put_runners(caged.root)
        await caged.debug("set_breakpoint", path=story.path, line=story.line)
        stop = await caged.debug("launch", **story.launch, exceptions="none", timeout=200_000)
        assert (stop["location"]["path"], stop["location"]["line"]) == (f"./{story.path}", story.line)
        await caged.debug("disconnect")
        found = await caged.debug("why", **story.why, timeout=200_000)
        assert story.message in found["exception"]["message"] and found["outcome"] == "failed"
        frame = found["project_frames"][0]
        assert frame["path"] == f"./{story.why['test'].partition('::')[0]}" and frame["locals"] is not None


@pytest.mark.requirement("debugger.cage.tiers", "cages.kernel.unavailable")
@pytest.mark.parametrize("language", STORIES)
@pytest.mark.parametrize("tier", [LANDLOCK, NONE], ids=lambda tier: tier.name)
async def test_what_a_tier_cannot_hold_is_refused_before_anything_starts(
    tmp_path: Path, tier: Tier, language: str
) -> None:
    story = STORIES[language]
    adapter_path(story.adapter)
    async with agent(tmp_path, tier, language) as caged:
        before = started_from_here()
        await caged.debug("set_breakpoint", path=story.path, line=story.line)
        there = {"path": story.path, "line": story.line}
        attached: dict[str, Any] = {"runtime": caged_runtime(story), "pid": 1}
        for action, call in (
            ("launch", story.launch),
            ("why", story.why),
            ("trace", {**story.why, "at": [{**there, "expressions": ["1"]}]}),
            ("run_to", {**story.why, **there}),
            ("attach", attached),
        ):
            refused = await caged.refused(action, **call)
            assert refused.code == "cage_unavailable", (action, refused.error_text)
            assert ("Only bash" if tier is LANDLOCK else "namespaces") in refused.error_text
        assert (await caged.refused("hang", **attached)).code == "invalid_params"  # no process of this agent
        assert not [pid for pid in started_from_here() - before if not is_for_others(command_of(pid))]
        assert caged.events("session_started") == []
        # The agent above it has no cage, and debugs as ever.
        stop = await caged.as_agent("primary", None).debug(
            "launch", **story.launch, exceptions="none", timeout=200_000
        )
        assert stop["status"] in {"stopped", "exited"}


def caged_runtime(story: Story) -> str:
    by_adapter = {"debugpy": "python", "js-debug": "node", "delve": "go"}
    return str(story.launch.get("runtime") or by_adapter[story.adapter])


@pytest.mark.needs("landlock")
@pytest.mark.requirement("debugger.cage.tiers")
async def test_bash_is_debugged_in_a_cage_of_landlock(tmp_path: Path) -> None:
    adapter_path("bash-dap")
    async with debug_desk(tmp_path, tier=LANDLOCK) as desk:
        desk.put("sum.sh", "total=0\nfor i in 1 2 3; do\n  total=$((total + i))\ndone\nfalse\n")
        caged = desk.caged(("ro", "."), capabilities=["exec"])
        await caged.debug("set_breakpoint", path="sum.sh", line=5)
        stop = await caged.debug("launch", runtime="bash", script="sum.sh", stop_on_entry=False)
        assert stop["location"]["line"] == 5 and await caged.value("$total") == "6"
        await caged.debug("disconnect")
        at = [{"path": "sum.sh", "line": 3, "expressions": ["$i"]}]
        traced = await caged.debug("trace", command="bash sum.sh", at=at)
        assert traced["hits"] == 3, traced
        failed = await caged.debug("why", command="bash sum.sh")
        assert failed["outcome"] == "failed" and failed["exit_code"] == 1
