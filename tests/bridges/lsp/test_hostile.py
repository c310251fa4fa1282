"""A hostile server does no harm: nothing grows or blocks, and nothing but the defined errors comes up."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from app.bridges.lsp.client import ServerCapabilities, ServerRequests
from app.bridges.lsp.watched import WatchedGlobs
from app.bridges.processes import proc
from app.errors import ToolError
from tests.bridges.conftest import until
from tests.bridges.lsp.conftest import Open, Place, messages
from tests.driver.loop_watch import LongestTurn
from tests.fakes.hostile_language_server import WRONG

HOVER = "textDocument/hover"
METHODS = (
    HOVER,
    "textDocument/definition",
    "textDocument/documentSymbol",
    "textDocument/codeAction",
    "workspace/executeCommand",
)


@pytest.fixture(autouse=True)
async def unharmed() -> AsyncIterator[None]:
    """Fails when something was raised that nobody caught."""
    problems: list[dict[str, Any]] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: problems.append(context))
    yield
    gc.collect()
    loop.set_exception_handler(None)
    assert not problems


def params(place: Place) -> dict[str, Any]:
    uri = (place.root / "one.hostile").as_uri()
    return {"textDocument": {"uri": uri}, "position": {"line": 0, "character": 1}}


async def outcome(work: Any) -> str:
    try:
        await work
    except ToolError as problem:
        return problem.code
    return "answer"


@pytest.mark.requirement("language_servers.hostile.harm")
@pytest.mark.parametrize("garbage", ["text", "length", "binary", "json", "batch", "huge", "endless"])
async def test_garbage_ends_the_server_and_the_next_one_is_asked(hostile: Open, garbage: str) -> None:
    async with hostile("--garbage-at", HOVER, "--garbage", garbage) as place:
        server = await place.project.server_for("one.hostile")
        await server.document("one.hostile")
        assert await outcome(server.request(HOVER, params(place))) == "lsp_server_unavailable"
        assert "does not keep to the protocol" in server.lifecycle.last_problem
        assert messages(await server.diagnostics("one.hostile")) == ["this is bad"]


@pytest.mark.requirement("language_servers.hostile.harm")
@pytest.mark.parametrize("wrong", sorted(set(WRONG) - {"many"}))
async def test_wrong_types_are_answers_or_defined_errors(hostile: Open, wrong: str) -> None:
    async with hostile("--wrong-types", "all", "--wrong", wrong) as place:
        server = await place.project.server_for("one.hostile")
        await server.document("one.hostile")
        for method in METHODS:
            assert await outcome(server.request(method, params(place))) == "answer"
        found = await server.diagnostics("one.hostile", seconds=2)
        assert isinstance(found.items, tuple) and all(isinstance(item, dict) for item in found.items)
        assert await place.project.status()


@pytest.mark.requirement("language_servers.hostile.harm")
async def test_capabilities_of_wrong_types_offer_nothing(hostile: Open) -> None:
    async with hostile("--wrong-capabilities") as place:
        server = await place.project.server_for("one.hostile")
        assert not server.offers(HOVER) and server.encoding == "utf-16"
        assert (await server.document("one.hostile")).version == 1


@pytest.mark.requirement("language_servers.hostile.harm")
async def test_a_flood_of_diagnostics_neither_blocks_nor_stays(hostile: Open) -> None:
    async with hostile("--flood", "3000", "--flood-bytes", "8000000", "--stderr-bytes", "4000000") as place:
        longest = LongestTurn()
        server = await place.project.server_for("one.hostile")
        for number in range(6):
            place.put(f"{number}.hostile", "bad\n")
            found = await server.diagnostics(f"{number}.hostile")
            assert messages(found) == ["this is bad"] or len(found.items) > 1
        run = server.lifecycle.run
        assert run is not None
        assert run.diagnostics.kept_bytes <= 32 * 1024 * 1024
        assert longest.stop() < 0.25, "the loop was held up"
        assert len(run.connection.last_words) <= 4_000


@pytest.mark.requirement("language_servers.hostile.harm")
async def test_late_duplicate_and_reordered_answers_find_who_asked(hostile: Open) -> None:
    async with hostile("--reorder", "3", "--duplicate", "--stale-diagnostics") as place:
        place.put("one.hostile", "first bad\nsecond\nthird\n")
        server = await place.project.server_for("one.hostile")
        await server.document("one.hostile")
        asked = params(place)
        answers = await asyncio.gather(
            *(
                server.request(HOVER, {**asked, "position": {"line": line, "character": 1}})
                for line in range(3)
            )
        )
        assert [one["contents"]["value"] for one in answers] == ["first", "second", "third"]
        for text, wanted in (("good\n", []), ("bad bad\n", ["this is bad"] * 2)) * 10:
            place.put("one.hostile", text)
            found = await server.diagnostics("one.hostile")
            # What the server says of the version before comes after what it says of this one.
            assert messages(found) == wanted


@pytest.mark.requirement("language_servers.hostile.harm")
async def test_a_server_that_reads_no_more_ends_with_its_project(hostile: Open) -> None:
    async with hostile("--stop-reading", "textDocument/didOpen", "--deaf") as place:
        server = await place.project.server_for("one.hostile")
        await server.document("one.hostile")
        assert await outcome(server.request(HOVER, params(place), seconds=0.2)) == "lsp_timeout"


@pytest.mark.requirement("language_servers.hostile.requests")
async def test_what_a_server_asks_is_answered(hostile: Open) -> None:
    async with hostile(
        "--unknown-requests", "--flood-requests", "40", "--apply-edit", "file:///etc/passwd"
    ) as place:
        server = await place.project.server_for("one.hostile")
        await server.document("one.hostile")
        count = 40 + 5 + 1 + 1
        await until(lambda: len([one for one in place.received() if "method" not in one]) >= count)
        answers = {str(one["id"]): one for one in place.received() if "method" not in one}
        assert not [one for one in answers.values() if "error" in one]
        assert answers["1"]["result"] == [None]  # a section that is not set
        assert [answers[str(41 + number)]["result"] for number in range(5)] == [None, None, None, [], None]
        assert answers["text"]["result"] is None
        assert answers["46"]["result"]["applied"] is False
        assert [one["id"] for one in place.received() if "method" not in one].count("text") == 1
        [told] = place.received("initialize")
        assert told["params"]["capabilities"]["workspace"]["configuration"] is True
        [changed] = place.received("workspace/didChangeConfiguration")
        assert changed["params"]["settings"] == {"first": {"second": 2}, "dotted.name": True}


@pytest.mark.requirement("language_servers.hostile.requests")
async def test_sections_and_folders_are_as_configured(tmp_path: Path) -> None:
    offered = ServerCapabilities({})
    settings = {"first": {"second": 2}, "dotted.name": True}
    requests = ServerRequests(tmp_path, settings, lambda: offered, lambda: None)
    sections = [
        {"section": name} for name in ("first", "first.second", "dotted.name", "none", "first.second.x")
    ]
    answer = await requests.answer("workspace/configuration", {"items": [*sections, {}]})
    assert answer == [{"second": 2}, 2, True, None, None, settings]
    assert await requests.answer("workspace/workspaceFolders", None) == [
        {"uri": tmp_path.as_uri(), "name": tmp_path.name}
    ]
    pull = {"id": "1", "method": "textDocument/diagnostic", "registerOptions": {"identifier": "x"}}
    await requests.answer("client/registerCapability", {"registrations": [pull]})
    assert offered.options("textDocument/diagnostic") == {"identifier": "x"}
    await requests.answer("client/unregisterCapability", {"unregisterations": [{"id": "1"}]})
    assert not offered.offers("textDocument/diagnostic")
    large = {"id": "2", "method": "textDocument/diagnostic", "registerOptions": {"x": "y" * 200_000}}
    await requests.answer("client/registerCapability", {"registrations": [large]})
    assert not offered.offers("textDocument/diagnostic")


def globs(*patterns: Any, kind: int | None = None) -> WatchedGlobs:
    more = {} if kind is None else {"kind": kind}
    return WatchedGlobs.of([{"watchers": [{"globPattern": pattern, **more} for pattern in patterns]}])


@pytest.mark.requirement("language_servers.hostile.watched")
@pytest.mark.parametrize(
    ("pattern", "matching", "other"),
    [
        ("**/*.py", ["/a.py", "/p/a.py", "/p/q/.a.py"], ["/a.pyi", "/a.py/b"]),
        ("*.json", ["/p/x.json"], ["/p/x.json5"]),
        ("**/{a,b*}.{ts,tsx}", ["/p/a.ts", "/b1.tsx"], ["/p/c.ts"]),
        ("/p/**", ["/p/a", "/p/q/r"], ["/q/a"]),
        ("/p/**/x", ["/p/x", "/p/q/r/x"], ["/p/xx", "/x"]),
        ("**/a?c[0-9].[!x]", ["/abc1.y"], ["/ac1.y", "/abc1.x", "/a/c1.y"]),
        ("{/p/q/**,**/go.mod}", ["/p/q/x", "/z/go.mod"], ["/p/x"]),
        ({"baseUri": "file:///p%20q", "pattern": "**/*.rs"}, ["/p q/a.rs", "/p q/b/a.rs"], ["/p/a.rs"]),
        ({"baseUri": {"uri": "file:///p[1]"}, "pattern": "*"}, ["/p[1]/a"], ["/p1/a", "/p[1]/a/b"]),
        ("**/tsconfig*.json", ["/p/tsconfig.json", "/tsconfig.base.json"], ["/tsconfig/a.json"]),
        ("**", ["/a", "/a/b"], []),
    ],
)
def test_patterns_match_as_editors_have_it(pattern: Any, matching: list[str], other: list[str]) -> None:
    watched = globs(pattern)
    assert [path for path in matching if not watched.wants(Path(path), "changed")] == []
    assert [path for path in other if watched.wants(Path(path), "changed")] == []


@pytest.mark.requirement("language_servers.hostile.watched")
def test_patterns_are_taken_by_kind_and_in_bounded_time() -> None:
    created = globs("**/*", kind=1)
    assert created.wants(Path("/a"), "created") and not created.wants(Path("/a"), "deleted")
    evil = globs(
        "**/" * 200 + "x",
        "*a" * 400 + "b",
        "{a,b}" * 190,
        "[" * 900,
        "?" * 900,
        7,
        None,
        {},
        {"pattern": "x"},
    )
    long = Path("/" + "/".join(["a" * 200] * 18))
    began = time.thread_time()
    assert not evil.wants(long, "changed")
    assert time.thread_time() - began < 0.5


@pytest.mark.requirement("language_servers.hostile.harm")
async def test_memory_of_what_is_not_there_is_none() -> None:
    assert proc.memory_of_tree(2**22 + 1) == 0
