"""Searches of a caged agent on a machine without cages: by the daemon's own ripgrep, judged by the cage."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from app.bridges.processes.process import ChildProcesses
from app.bridges.sandbox.manager import Cages
from app.bridges.sandbox.tier import Tier
from app.programs import ENVIRONMENT
from app.tools.dispatch.service import ToolService
from app.tools.processes.call_processes import CallProcesses
from tests.driver.tool_registry import tool_registry
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
    """The desk on a machine that can hold no cage, and the programs that were started, with their options."""
    children = ChildProcesses()
    cages = Cages(children, Tier("none", "there are no namespaces", "Ask for namespaces."))
    processes = CallProcesses(children, cages)
    registry = tool_registry(reads=desk.reads, processes=processes, data_dir=desk.base / "data")
    started: list[tuple[list[str], dict[str, Any]]] = []
    start = children.start

    async def noted(argv: Sequence[str], **options: Any) -> Any:
        started.append((list(argv), options))
        return await start(argv, **options)

    children.start = noted  # type: ignore[method-assign]
    yield replace(desk, service=ToolService(registry)), started
    await children.aclose()


def assert_only_ripgrep(started: list[tuple[list[str], dict[str, Any]]]) -> None:
    """Without a configuration, in a folder that was opened and with an environment of the daemon's."""
    assert started
    for argv, options in started:
        assert os.path.basename(argv[0]) == "rg" and argv[1] == "--no-config"
        assert isinstance(options["cwd"], int) and options["env"] == ENVIRONMENT


def fill(desk: Any) -> None:
    for path, content in FILES.items():
        desk.put(path, content)
    (desk.root / "link.py").symlink_to("src/a.py")
    (desk.root / "out").symlink_to("/etc")


@pytest.mark.requirement("cages.kernel.unavailable")
@pytest.mark.parametrize("more", [{}, {"ignore_case": True}, {"context": 1}, {"output_mode": "count"}])
@pytest.mark.parametrize("pattern", ["alpha", r"al.+a \[1\]", "nowhere", "é"])
@pytest.mark.parametrize("path", [".", "src", "src/a.py", "nested"])
async def test_a_search_finds_what_it_finds_on_a_machine_with_cages(
    desk, uncaged_machine, pattern, path, more
):
    fill(desk)
    other, started = uncaged_machine
    caged: Callable[[Any], Any] = lambda one: one.caged(("ro", "."), ("deny", "secret"))  # noqa: E731
    expected = await caged(desk).ok("search.grep", pattern=pattern, path=path, **more)
    assert await caged(other).ok("search.grep", pattern=pattern, path=path, **more) == expected
    assert_only_ripgrep(started)


@pytest.mark.requirement("cages.kernel.unavailable")
@pytest.mark.parametrize("ignore_case", [False, True])
async def test_a_long_line_is_shown_around_its_match(desk, uncaged_machine, ignore_case):
    other, started = uncaged_machine
    desk.put("a.min.js", "ä" * 3_000 + "needle" + "y" * 3_000 + "\n")
    asked = {"pattern": "needle", "output_mode": "content", "ignore_case": ignore_case}
    for one in (desk, other):
        [match] = (await one.caged(("ro", ".")).ok("search.grep", **asked))["matches"]
        assert match["content"] == "[truncated] " + "ä" * 250 + "needle" + "y" * 1_744 + " [truncated]"
    assert_only_ripgrep(started)


@pytest.mark.requirement("cages.kernel.unavailable")
@pytest.mark.parametrize("pattern", ["**/*.py", "*", "**/.hidden", "src/**"])
async def test_files_are_found_as_on_a_machine_with_cages(desk, uncaged_machine, pattern):
    fill(desk)
    other, started = uncaged_machine
    cage = (("ro", "src"), ("ro", "nested"))
    expected = await desk.caged(*cage, outside="mark").ok("search.glob", pattern=pattern)
    found = await other.caged(*cage, outside="mark").ok("search.glob", pattern=pattern)
    assert {**found, "files": sorted(found["files"])} == {**expected, "files": sorted(expected["files"])}
    assert found["outside_cage"] if pattern in ("*", "**/*.py") else True
    assert_only_ripgrep(started)


@pytest.mark.requirement("cages.kernel.unavailable")
@pytest.mark.parametrize(
    ("tool", "params"),
    [
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


@pytest.mark.requirement("cages.kernel.unavailable")
async def test_no_text_of_what_the_cage_withholds_is_shown(uncaged_machine):
    other, started = uncaged_machine
    fill(other)
    data = await other.caged(("ro", "src"), ("deny", "secret"), outside="mark").ok(
        "search.grep", pattern="al.ha", output_mode="content", context=1
    )
    assert {one["file"] for one in data["matches"] if "content" in one} == {
        "./src/.hidden", "./src/a.py", "./src/deep/er/b.py", "./src/kept.log"
    }  # fmt: skip
    marked = [one for one in data["matches"] if "content" not in one]
    assert {one["file"] for one in marked} == {"./nested/e.py", "./utf16.txt"}
    assert all(set(one) == {"file", "line", "outside_cage"} for one in marked)
    none = await other.caged(("ro", "src"), ("deny", "secret")).ok("search.grep", pattern="al.ha")
    assert all(one["file"].startswith("./src/") for one in none["matches"])
    assert_only_ripgrep(started)


@pytest.mark.requirement("cages.kernel.unavailable")
async def test_who_is_not_caged_searches_as_ever(uncaged_machine):
    other, started = uncaged_machine
    fill(other)
    found = await other.ok("search.grep", pattern="al.*a = ")
    assert [one["file"] for one in found["matches"]] == ["./src/a.py"]
    assert started


@pytest.mark.requirement("cages.kernel.unavailable")
async def test_a_search_ends_when_it_is_cancelled(uncaged_machine):
    other, _ = uncaged_machine
    for number in range(300):
        other.put(f"{number % 20}/{number}.txt", "alpha\n" * 2_000)
    call = asyncio.create_task(other.caged(("ro", ".")).call("search.grep", pattern="nowhere"))
    await asyncio.sleep(0)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert (await other.caged(("ro", ".")).ok("search.grep", pattern="nowhere"))["total_matches"] == 0
