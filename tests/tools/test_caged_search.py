"""Searches of a caged agent: in a cage of the project, or in the daemon itself where there are none."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Any

import pytest

from app.bridges.process import ChildProcesses
from app.bridges.sandbox.manager import Cages, Tier
from app.tools.call_processes import CallProcesses
from app.tools.search.inner_engine import plain_text
from app.tools.service import ToolService
from tests.tool_registry import tool_registry
from tests.tools import documents

FILES: dict[str, str | bytes] = {
    ".gitignore": "ignored/\n*.log\n!kept.log\n",
    "src/a.py": "alpha = 1\nbeta = alpha\n",
    "src/deep/er/b.py": "# ALPHA\r\nalpha(1)\r\n",
    "src/.hidden": "alpha\n",
    "src/x.log": "alpha\n",
    "src/kept.log": "alpha [1]\n",
    "ignored/c.py": "alpha\n",
    "secret/d.py": "alpha secret\n",
    "binary.bin": b"alpha\0alpha\n",
    "utf16.txt": "alpha é\n".encode("utf-16"),
    "nested/.git/HEAD": "alpha\n",
    "nested/e.py": "alpha\n",
}


@pytest.fixture
async def uncaged_machine(desk: Any) -> AsyncIterator[Any]:
    """The desk on a machine that can hold no cage; its `children` tell what was started."""
    children = ChildProcesses()
    cages = Cages(children, Tier("none", "there are no namespaces", "Ask for namespaces."))
    processes = CallProcesses(children, cages)
    registry = tool_registry(reads=desk.reads, processes=processes, data_dir=desk.base / "data")
    started: list[Any] = []
    start = children.start

    async def noted(*arguments: Any, **options: Any) -> Any:
        started.append(arguments)
        return await start(*arguments, **options)

    children.start = noted  # type: ignore[method-assign]
    yield replace(desk, service=ToolService(registry)), started
    await children.aclose()


def fill(desk: Any) -> None:
    for path, content in FILES.items():
        desk.put(path, content)
    (desk.root / "link.py").symlink_to("src/a.py")
    (desk.root / "out").symlink_to("/etc")


@pytest.mark.requirement("R8.kernel.unavailable")
@pytest.mark.parametrize("more", [{}, {"ignore_case": True}, {"context": 1}, {"output_mode": "count"}])
@pytest.mark.parametrize("pattern", ["alpha", r"alpha \[1\]", "nowhere", "é"])
@pytest.mark.parametrize("path", [".", "src", "src/a.py", "nested"])
async def test_plain_text_is_found_without_a_process(desk, uncaged_machine, pattern, path, more):
    fill(desk)
    other, started = uncaged_machine
    caged: Callable[[Any], Any] = lambda one: one.caged(("ro", "."), ("deny", "secret"))  # noqa: E731
    expected = await caged(desk).ok("search.grep", pattern=pattern, path=path, **more)
    assert await caged(other).ok("search.grep", pattern=pattern, path=path, **more) == expected
    assert not started


@pytest.mark.requirement("R8.kernel.unavailable")
@pytest.mark.parametrize("ignore_case", [False, True])
async def test_a_long_line_is_shown_around_its_match_without_a_process(desk, uncaged_machine, ignore_case):
    other, started = uncaged_machine
    desk.put("a.min.js", "ä" * 3_000 + "needle" + "y" * 3_000 + "\n")
    asked = {"pattern": "needle", "output_mode": "content", "ignore_case": ignore_case}
    for one in (desk, other):
        [match] = (await one.caged(("ro", ".")).ok("search.grep", **asked))["matches"]
        assert match["content"] == "[truncated] " + "ä" * 250 + "needle" + "y" * 1_744 + " [truncated]"
    assert not started


@pytest.mark.requirement("R8.kernel.unavailable")
@pytest.mark.parametrize("pattern", ["**/*.py", "*", "**/.hidden", "src/**"])
async def test_files_are_found_without_a_process(desk, uncaged_machine, pattern):
    fill(desk)
    other, started = uncaged_machine
    cage = (("ro", "src"), ("ro", "nested"))
    expected = await desk.caged(*cage).ok("search.glob", pattern=pattern)
    found = await other.caged(*cage).ok("search.glob", pattern=pattern)
    assert {**found, "files": sorted(found["files"])} == {**expected, "files": sorted(expected["files"])}
    assert found["outside_cage"] if pattern in ("*", "**/*.py") else True
    assert not started


@pytest.mark.requirement("R8.kernel.unavailable")
@pytest.mark.parametrize(
    ("tool", "params"),
    [
        ("search.grep", {"pattern": "al.*a"}),
        ("grep", {"pattern": "al+pha"}),
        ("search.ast", {"pattern": "alpha($A)", "lang": "python"}),
        ("edit.ast", {"rewrites": {"alpha": "beta"}, "lang": "python"}),
        ("file.read", {"path": "a.pdf"}),
        ("shell.bash", {"command": "true"}),
        ("bash", {"command": "true"}),
    ],
)
async def test_what_needs_a_process_is_not_available(uncaged_machine, tool, params):
    other, started = uncaged_machine
    fill(other)
    other.put("a.pdf", documents.pdf(["One"]))
    envelope = await other.caged(("rw", "."), capabilities=["shell", "exec"]).call(tool, params)
    assert envelope.code == "cage_unavailable", envelope
    assert not started
    denied = other.ports.of("tool.denied")
    assert denied["cage_summary"].startswith("fs: [rw .]")


@pytest.mark.requirement("R8.kernel.unavailable")
async def test_who_is_not_caged_searches_as_ever(uncaged_machine):
    other, started = uncaged_machine
    fill(other)
    found = await other.ok("search.grep", pattern="al.*a = ")
    assert [one["file"] for one in found["matches"]] == ["./src/a.py"]
    assert started


@pytest.mark.requirement("R8.kernel.unavailable")
async def test_a_search_in_the_daemon_ends_when_it_is_cancelled(uncaged_machine):
    other, _ = uncaged_machine
    for number in range(300):
        other.put(f"{number % 20}/{number}.txt", "alpha\n" * 2_000)
    call = asyncio.create_task(other.caged(("ro", ".")).call("search.grep", pattern="nowhere"))
    await asyncio.sleep(0)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert (await other.caged(("ro", ".")).ok("search.grep", pattern="nowhere"))["total_matches"] == 0


@pytest.mark.parametrize(
    ("pattern", "text"),
    [("a b", "a b"), (r"f\(x\)", "f(x)"), (r"\w", None), ("a.b", None), ("(", None), (r"a\\b", r"a\b")],
)
def test_what_is_plain_text(pattern, text):
    assert plain_text(pattern) == text
