"""When servers start and end: on first use, after crashes, when they hang, idle, and with their project."""

from __future__ import annotations

import asyncio
import sys
import time
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from app.bridges.lsp.manager import Declared, LanguageServer
from app.errors import ToolError
from tests.bridges.conftest import alive, until
from tests.bridges.lsp.conftest import HOSTILE, QUICK, Open, Place, messages, open_place
from tests.driver.language_servers import PATIENT, copy_of, server_path

HOVER = "textDocument/hover"
BAD = ["this is bad"]


def at(place: Place, line: int = 0, path: str = "one.hostile") -> dict[str, Any]:
    uri = (place.root / path).as_uri()
    return {"textDocument": {"uri": uri}, "position": {"line": line, "character": 1}}


async def ready(place: Place) -> LanguageServer:
    server = await place.project.server_for("one.hostile")
    await server.document("one.hostile")
    return server


async def word_of(server: LanguageServer, place: Place, **more: Any) -> str:
    answer = await server.request(HOVER, at(place), **more)
    word: str = answer["contents"]["value"]
    return word


async def refused(work: Any) -> ToolError:
    with pytest.raises(ToolError) as caught:
        await work
    return caught.value


@pytest.mark.requirement("language_servers.lifecycle.spawn")
async def test_a_server_is_started_by_the_first_use_only(hostile: Open) -> None:
    async with hostile() as place:
        await place.project.status()
        assert await place.project.running_for("one.hostile") is None
        await place.project.synchronise()
        assert not place.starts() and not place.audited
        servers = await asyncio.gather(*(place.project.server_for("one.hostile") for _ in range(8)))
        assert len({id(server) for server in servers}) == 1
        assert await place.project.running_for("two.hostile") is servers[0]
        assert messages(await servers[0].diagnostics("one.hostile")) == BAD
        [pid] = place.starts()
        [spawned] = place.events("spawned")
        assert spawned["language"] == "hostile" and spawned["command"][-1] == str(place.log)
        [status] = [one for one in await place.project.status() if one.pid]
        assert (status.pid, status.restarts, status.open_documents) == (pid, 0, 1)
        assert status.state in {"starting", "ready"}  # of this server nothing is known
        assert status.memory_mb is not None and status.memory_mb > 0
    assert not alive(pid)
    assert place.events("stopped") == [{"language": "hostile", "reason": "daemon_shutdown"}]
    assert not place.events("crashed")


@pytest.mark.requirement("language_servers.lifecycle.spawn")
async def test_each_root_and_language_has_a_server_of_its_own(tmp_path: Any) -> None:
    server_path("pyright")
    server_path("json")
    async with open_place(tmp_path) as place:
        for folder in ("a", "b"):
            place.put(f"{folder}/pyproject.toml", "")
            place.put(f"{folder}/src/main.py", "1 + ''\n")
        place.put("loose.py", "")
        place.put("a/data.json", "{}")
        first = await place.project.server_for("a/src/main.py")
        second = await place.project.server_for("b/src/main.py")
        assert (first.root, second.root) == (place.root / "a", place.root / "b")
        assert (await place.project.server_for("loose.py")).root == place.root
        assert (await place.project.server_for("a/data.json")).language == "json"
        assert await place.project.server_for("a/other.py") is first
        assert len(place.events("spawned")) == 4
        roots = {(one.language, one.root) for one in await place.project.status() if one.pid}
        assert roots == {("python", "a"), ("python", "b"), ("python", "."), ("json", ".")}
        # A marker at the top: one server for all, from the next start on.
        place.put("pyproject.toml", "")
        assert await place.project.reload("python") == ["python"]
        assert (await place.project.server_for("a/src/main.py")).root == place.root
        assert await place.project.server_for("b/src/main.py") is await place.project.server_for("loose.py")


@pytest.mark.requirement("language_servers.lifecycle.spawn")
async def test_a_root_may_be_marked_by_a_kind_of_file(tmp_path: Any) -> None:
    """C# has no one name for what marks a project."""
    command = (sys.executable, str(HOSTILE), "--log", str(tmp_path / "server.log"))
    entry = Declared(language="csharp", command=command)
    async with open_place(tmp_path, declared=[entry], limits=QUICK) as place:
        place.put("one/One.csproj", "")
        for path in ("one/deep/a.cs", "two/b.cs"):
            place.put(path, "word\n")
        assert (await place.project.server_for("one/deep/a.cs")).root == place.root / "one"
        assert (await place.project.server_for("two/b.cs")).root == place.root
        place.put("All.sln", "")
        await place.project.reload("csharp")
        assert (await place.project.server_for("one/deep/a.cs")).root == place.root


@pytest.mark.requirement("language_servers.lifecycle.idle")
async def test_an_idle_server_is_stopped_and_a_busy_one_is_not(hostile: Open) -> None:
    limits = replace(QUICK, idle_seconds=1.0)
    async with hostile("--delay", f"{HOVER}=2.5", limits=limits) as place:
        server = await ready(place)
        assert await word_of(server, place) == "word"
        assert not place.events("stopped") and len(place.starts()) == 1
        [pid] = place.starts()
        await until(lambda: bool(place.events("stopped")))
        assert place.events("stopped") == [{"language": "hostile", "reason": "idle_timeout"}]
        assert not alive(pid) and server.lifecycle.state == "stopped"
        assert [one["method"] for one in place.received()][-2:] == ["shutdown", "exit"]
        assert messages(await server.diagnostics("one.hostile")) == BAD
        assert len(place.starts()) == len(place.events("spawned")) == 2


@pytest.mark.requirement("language_servers.lifecycle.crash")
async def test_what_a_crash_interrupted_is_asked_once_more_of_a_new_server(hostile: Open) -> None:
    async with hostile("--crash-at", HOVER, "--crash-times", "1", "--half-answer") as place:
        server = await ready(place)
        answers = await asyncio.gather(*(word_of(server, place) for _ in range(5)))
        assert answers == ["word"] * 5
        assert place.events("crashed") == [{"language": "hostile", "exit_code": 3, "restart_count": 0}]
        assert len(place.starts()) == 2
        [status] = [one for one in await place.project.status() if one.pid]
        assert status.restarts == 1
        # The document was opened again, before the question.
        methods = [one["method"] for one in place.received()]
        assert methods.index("textDocument/didOpen", len(methods) - 4) < len(methods) - 1
        assert methods[-1] == HOVER


@pytest.mark.requirement("language_servers.lifecycle.crash")
async def test_after_three_restarts_a_server_is_left_alone_until_it_is_reloaded(hostile: Open) -> None:
    async with hostile("--crash-at", HOVER, "--crash-times", "4") as place:
        server = await ready(place)
        first = await refused(word_of(server, place))
        assert first.code == "lsp_server_unavailable" and "exit code 3" in first.message
        second = await refused(word_of(server, place))
        assert second.code == "lsp_server_unavailable" and "reload" in second.message
        assert second.detail is not None and second.detail["restarts"] == 3
        assert [one["restart_count"] for one in place.events("crashed")] == [0, 1, 2, 3]
        for work in (
            word_of(server, place),
            server.diagnostics("one.hostile"),
            server.document("one.hostile"),
        ):
            assert (await refused(work)).code == "lsp_server_unavailable"
        assert (await refused(place.project.server_for("one.hostile"))).code == "lsp_server_unavailable"
        assert len(place.starts()) == 4
        [status] = [one for one in await place.project.status() if one.language == "hostile"]
        assert (status.state, status.restarts) == ("unavailable", 3) and "exit code 3" in (
            status.problem or ""
        )
        assert await place.project.reload("hostile") == ["hostile"]
        assert await word_of(await ready(place), place) == "word"
        assert len(place.starts()) == 5


@pytest.mark.requirement("language_servers.lifecycle.crash")
async def test_a_long_life_clears_the_crashes_before_it(hostile: Open) -> None:
    limits = replace(QUICK, forgive_seconds=0.0)
    async with hostile("--crash-at", HOVER, limits=limits) as place:
        server = await ready(place)
        for _ in range(4):
            assert (await refused(word_of(server, place))).code == "lsp_server_unavailable"
        assert server.lifecycle.state != "unavailable" and len(place.starts()) == 8


@pytest.mark.requirement("language_servers.lifecycle.crash")
@pytest.mark.parametrize("way", [("--crash-at-start",), ("--crash-at", "initialize")])
async def test_a_server_that_crashes_at_its_start_is_tried_four_times(
    hostile: Open, way: tuple[str, ...]
) -> None:
    async with hostile(*way) as place:
        problems = await asyncio.gather(*(refused(place.project.server_for("one.hostile")) for _ in range(4)))
        assert {one.code for one in problems} == {"lsp_server_unavailable"}
        assert len(place.starts()) == 4
        assert {one["exit_code"] for one in place.events("crashed")} <= {3, 4}
    async with hostile(*way, "--crash-times", "6") as place:  # the log has four starts already
        server = await place.project.server_for("one.hostile")
        assert messages(await server.diagnostics("one.hostile")) == BAD
        assert [one["restart_count"] for one in place.events("crashed")] == [0, 1]


@pytest.mark.requirement("language_servers.lifecycle.hang")
async def test_a_server_that_never_answers_initialize_is_given_up(hostile: Open) -> None:
    limits = replace(QUICK, initialize_seconds=3, start_seconds=5)
    async with hostile("--never-answer", "initialize", limits=limits) as place:
        problem = await refused(place.project.server_for("one.hostile"))
        assert problem.code == "lsp_server_unavailable" and "initialize within 3 s" in problem.message
        pids = place.starts()
        assert len(pids) == 2 and not any(alive(pid) for pid in pids)
        assert [one["exit_code"] for one in place.events("crashed")] == [None, None]


@pytest.mark.requirement("language_servers.lifecycle.hang")
async def test_a_request_without_an_answer_is_cancelled_and_the_server_killed(hostile: Open) -> None:
    limits = replace(QUICK, request_seconds=3)
    async with hostile("--never-answer", HOVER, "--deaf", limits=limits) as place:
        server = await ready(place)
        [pid] = place.starts()
        began = time.monotonic()
        problem = await refused(word_of(server, place))
        assert problem.code == "lsp_timeout" and "within 3 s" in problem.message
        assert time.monotonic() - began < 25
        asked = place.received(HOVER)[0]["id"]
        await until(lambda: not alive(pid))
        assert [one["params"]["id"] for one in place.received("$/cancelRequest")] == [asked]
        assert any(one["event"] == "signal" for one in place.said())
        assert messages(await server.diagnostics("one.hostile")) == BAD
        assert len(place.starts()) == 2
        assert place.events("crashed")[0]["restart_count"] == 0


@pytest.mark.requirement("language_servers.lifecycle.hang")
async def test_a_server_that_reads_nothing_any_more_is_killed(hostile: Open) -> None:
    limits = replace(QUICK, request_seconds=3)
    async with hostile("--hang-at", HOVER, "--hang-times", "1", "--deaf", limits=limits) as place:
        server = await ready(place)
        waiting = [asyncio.create_task(refused(word_of(server, place))) for _ in range(3)]
        other = asyncio.create_task(server.request("textDocument/definition", at(place), seconds=60))
        assert {one.code for one in await asyncio.gather(*waiting)} == {"lsp_timeout"}
        # What waited beside it is asked of the next server.
        assert (await other)["range"]["start"]["line"] == 0
        assert await word_of(server, place) == "word"


@pytest.mark.requirement("language_servers.lifecycle.hang")
async def test_a_short_wait_ends_the_request_and_not_the_server(hostile: Open) -> None:
    async with hostile("--never-answer", HOVER) as place:
        server = await ready(place)
        problem = await refused(word_of(server, place, seconds=0.1))
        assert problem.code == "lsp_timeout" and "ask again" in problem.message
        await until(lambda: bool(place.received("$/cancelRequest")))
        assert len(place.starts()) == 1 and not place.events("crashed")


@pytest.mark.requirement("language_servers.lifecycle.hang")
async def test_diagnostics_that_are_never_answered_say_so_and_end_the_server(hostile: Open) -> None:
    limits = replace(QUICK, request_seconds=3)
    pulled = ("--pull", "--hang-at", "textDocument/diagnostic", "--hang-times", "1")
    async with hostile(*pulled, limits=limits) as place:
        server = await ready(place)
        first = await server.diagnostics("one.hostile", seconds=0.1)
        assert not first.fresh and len(place.starts()) == 1 and not place.events("crashed")
        assert not (await server.diagnostics("one.hostile")).fresh
        assert len(place.events("crashed")) == 1
        assert messages(await server.diagnostics("one.hostile")) == BAD
    async with hostile("--silent", limits=limits) as place:
        server = await ready(place)
        assert not (await server.diagnostics("one.hostile")).fresh
        assert not place.events("crashed"), "a server that publishes nothing does not hang"


@pytest.mark.requirement("language_servers.lifecycle.stop")
@pytest.mark.parametrize("way", ["late", "never", "crash", "at-shutdown"])
async def test_however_a_server_takes_its_end_it_is_gone(hostile: Open, way: str) -> None:
    async with hostile("--exit", way, "--exit-seconds", "60", "--deaf") as place:
        await ready(place)
        [pid] = place.starts()
        began = time.monotonic()
        await place.languages.close_project("prj_1")
        assert not alive(pid) and time.monotonic() - began < 20
        assert place.events("stopped") == [{"language": "hostile", "reason": "project_unload"}]


@pytest.mark.requirement("language_servers.lifecycle.stop")
async def test_what_a_server_leaves_behind_goes_with_it(hostile: Open) -> None:
    async with hostile("--children", "3", "--crash-at", HOVER, "--crash-times", "1") as place:
        server = await ready(place)
        left = [one["pid"] for one in place.said() if one["event"] == "child"]
        assert len(left) == 3 and all(alive(pid) for pid in left)
        assert await word_of(server, place) == "word"
        await until(lambda: not any(alive(pid) for pid in left))
        left = [one["pid"] for one in place.said() if one["event"] == "child"][3:]
        assert len(left) == 3
        await place.project.reload("hostile")
        assert not any(alive(pid) for pid in left)


@pytest.mark.requirement("language_servers.lifecycle.memory")
async def test_a_server_that_grows_too_large_is_restarted(hostile: Open) -> None:
    limits = replace(QUICK, memory_mb=120)
    async with hostile("--grow", "200", limits=limits) as place:
        server = await ready(place)
        pid, *_ = place.starts()  # the next one may have been started already
        await until(lambda: bool(place.events("stopped")))
        assert place.events("stopped")[0]["reason"] == "memory_limit"
        assert not alive(pid)
        [status] = [one for one in await place.project.status() if one.language == "hostile"]
        assert "120 MB are allowed" in (status.problem or "")
        with suppress(ToolError):  # the next one may be too large before it has answered
            await server.diagnostics("one.hostile")
        assert len(place.starts()) >= 2


@pytest.mark.requirement("language_servers.lifecycle.close")
async def test_closing_while_a_server_starts_ends_it_and_every_wait(hostile: Open) -> None:
    async with hostile("--never-answer", "initialize") as place:
        waiting = [asyncio.create_task(refused(place.project.server_for("one.hostile"))) for _ in range(3)]
        await until(lambda: bool(place.starts()))
        await place.languages.close_project("prj_1")
        assert {one.code for one in await asyncio.gather(*waiting)} == {"lsp_server_unavailable"}
        [pid] = place.starts()
        assert not alive(pid)
        assert place.events("stopped")[0]["reason"] == "project_unload"


@pytest.mark.requirement("language_servers.lifecycle.close")
async def test_closing_while_requests_wait_starts_nothing_again(hostile: Open) -> None:
    async with hostile(
        "--never-answer", HOVER, "--never-answer", "textDocument/definition", "--silent"
    ) as place:
        server = await ready(place)
        waiting = [
            asyncio.create_task(refused(work))
            for work in (
                word_of(server, place),
                server.request(HOVER, at(place, 1)),
                server.request("textDocument/definition", at(place)),
                server.diagnostics("one.hostile"),
            )
        ]
        await until(lambda: len(place.received(HOVER)) == 2)
        await place.languages.aclose()
        assert {one.code for one in await asyncio.gather(*waiting)} == {"lsp_server_unavailable"}
        assert len(place.starts()) == 1
        problem = await refused(server.document("one.hostile"))
        assert "daemon_shutdown" in problem.message
        late = place.languages.project("prj_1", place.root)
        assert (await refused(late.server_for("one.hostile"))).code == "lsp_server_unavailable"
        assert len(place.starts()) == 1


@pytest.mark.requirement("language_servers.lifecycle.close")
async def test_closing_while_a_restart_waits_starts_nothing(hostile: Open) -> None:
    limits = replace(QUICK, back_off=(30.0,))
    async with hostile("--crash-at", HOVER, limits=limits) as place:
        server = await ready(place)
        waiting = asyncio.create_task(refused(word_of(server, place)))
        await until(lambda: bool(place.events("crashed")))
        await place.languages.close_project("prj_1")
        assert (await waiting).code == "lsp_server_unavailable"
        assert len(place.starts()) == 1


@pytest.mark.requirement("language_servers.lifecycle.close")
async def test_a_reload_while_a_server_starts_restarts_it_for_those_who_wait(hostile: Open) -> None:
    async with hostile("--hang-at", "initialize", "--hang-times", "1") as place:
        waiting = asyncio.create_task(place.project.server_for("one.hostile"))
        await until(lambda: bool(place.received("initialize")))
        await place.project.reload(None)
        assert messages(await (await waiting).diagnostics("one.hostile")) == BAD
        assert len(place.starts()) == 2


@pytest.mark.requirement("language_servers.lifecycle.close")
async def test_a_cancelled_reload_leaves_no_process(hostile: Open) -> None:
    async with hostile("--exit", "never", "--deaf") as place:
        await ready(place)
        reloading = asyncio.create_task(place.project.reload(None))
        await until(lambda: bool(place.received("exit")))
        reloading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reloading
        [pid] = place.starts()
        await until(lambda: not alive(pid))
        await until(lambda: bool(place.events("stopped")))


@pytest.mark.requirement("language_servers.lifecycle.shared")
async def test_callers_share_a_request_and_one_may_go(hostile: Open) -> None:
    async with hostile("--delay", f"{HOVER}=1.5") as place:
        server = await ready(place)
        asking = [asyncio.create_task(word_of(server, place)) for _ in range(4)]
        await until(lambda: bool(place.received(HOVER)))
        asking[0].cancel()
        assert await asyncio.gather(*asking[1:]) == ["word"] * 3
        assert asking[0].cancelled()
        assert len(place.received(HOVER)) == 1 and not place.received("$/cancelRequest")
        alone = asyncio.create_task(word_of(server, place))
        await until(lambda: len(place.received(HOVER)) == 2)
        alone.cancel()
        await until(lambda: bool(place.received("$/cancelRequest")))
        assert await word_of(server, place) == "word" and len(place.starts()) == 1


@pytest.mark.requirement("language_servers.lifecycle.shared")
async def test_a_question_after_a_change_is_not_answered_by_one_before_it(hostile: Open) -> None:
    async with hostile("--delay", f"{HOVER}=1.5") as place:
        server = await ready(place)
        before = asyncio.create_task(word_of(server, place))
        await until(lambda: bool(place.received(HOVER)))
        place.put("one.hostile", "other words\n")
        await server.document("one.hostile")
        assert (await word_of(server, place), await before) == ("other", "word")


@pytest.mark.requirement("language_servers.lifecycle.shared")
async def test_a_start_goes_on_when_its_only_caller_is_gone(hostile: Open) -> None:
    async with hostile("--delay", "initialize=1.5") as place:
        starting = asyncio.create_task(place.project.server_for("one.hostile"))
        await until(lambda: bool(place.received("initialize")))
        starting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await starting
        await until(lambda: len(place.project.running()) == 1)
        assert await word_of(await ready(place), place) == "word" and len(place.starts()) == 1


@pytest.mark.requirement("language_servers.lifecycle.spawn")
async def test_the_number_of_servers_is_bounded(tmp_path: Any) -> None:
    server_path("json")
    limits = replace(PATIENT, servers_per_project=2)
    async with open_place(tmp_path, copy_of("json", tmp_path), limits=limits) as place:
        place.put("page.html", "<p>")
        place.put("style.css", "p {}")
        first = await place.project.server_for("freight.json")
        for path in ("page.html", "style.css", "freight.json"):
            assert (await (await place.project.server_for(path)).diagnostics(path)).fresh
            assert len(place.project.running()) <= 2
        assert await place.project.server_for("freight.json") is not first
        assert (await refused(first.diagnostics("freight.json"))).code == "lsp_server_unavailable"
        assert {one["reason"] for one in place.events("stopped")} == {"too_many"}


@pytest.mark.requirement("language_servers.lifecycle.real")
async def test_a_real_server_is_stopped_and_restarted(tmp_path: Any) -> None:
    server_path("pyright")
    limits = replace(PATIENT, idle_seconds=1.0, look_seconds=0.05)
    async with open_place(tmp_path, copy_of("python", tmp_path), limits=limits) as place:
        server = await place.project.server_for("freight/wrong.py")
        [problem] = messages(await server.diagnostics("freight/wrong.py"))
        await until(lambda: bool(place.events("stopped")))
        assert place.events("stopped") == [{"language": "python", "reason": "idle_timeout"}]
        assert messages(await server.diagnostics("freight/wrong.py")) == [problem]
        assert len(place.events("spawned")) == 2 and not place.events("crashed")
