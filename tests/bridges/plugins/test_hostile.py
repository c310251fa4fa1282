"""A hostile plugin does no harm: every call comes to an outcome in time, and nothing grows or blocks."""

from __future__ import annotations

import asyncio
import gc
import json
import re
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest

from app.errors import ToolError
from tests.bridges.conftest import alive, until
from tests.bridges.plugins.conftest import Open
from tests.driver.loop_watch import LongestTurn

INITIALIZE = ("--at", "initialize")
QUICK: dict[str, Any] = {"start_seconds": 60, "health_seconds": 300, "hanging_grace_seconds": 0.1}


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


@pytest.mark.requirement("plugins.hostile")
@pytest.mark.parametrize(
    ("lie", "said"),
    [
        ('name="other"', "name"),
        ("name=null", "name"),
        ('version="1.0.1"', "version"),
        ("api_version=2", "api_version"),
        ("api_version=true", "api_version"),
        ('api_version="1"', "api_version"),
        ('capabilities_used=["net:*"]', "net:*"),
        ('capabilities_used=["net:example.org:80"]', "net:example.org:80"),
        ('capabilities_used=["kaged:storage:write"]', "kaged:storage:write"),
        ('capabilities_used=["read:fs:/srv/database"]', "/srv/database"),
        ('capabilities_used=["read:fs:/srv/data/../../etc"]', "no capability"),
        ('capabilities_used=["everything"]', "no capability"),
        ('capabilities_used="net:*"', "no list"),
        ("capabilities_used=[1]", "no list"),
        ("methods=[]", "promises"),
        (
            'methods=["hostile.harm","kaged.hook.on_session_start","kaged.hook.pre_compact","shell.run"]',
            "shell.run",
        ),
        ('notifications=["hostile.x"]', "hostile.x"),
    ],
)
async def test_a_plugin_that_lies_is_refused_and_not_tried_again(bench: Open, lie: str, said: str) -> None:
    async with bench(**QUICK) as it:
        plugin = it.hostile("--lie", lie)
        for _ in range(3):
            outcome = await it.hook(plugin)
            assert outcome.kind == "unavailable"
            assert said in (outcome.error or "")
        assert len(it.starts()) == 1
        assert await it.state() == "disabled"
        (disabled,) = it.events("disabled")
        assert said in disabled["reason"]


@pytest.mark.requirement("plugins.hostile")
async def test_what_a_plugin_uses_within_its_manifest_is_fine(bench: Open) -> None:
    async with bench(**QUICK) as it:
        used = '["net:example.org:443", "read:fs:/srv/data/deep/file", "net:[]", "kaged:storage:read"]'
        assert (await it.hook(it.hostile("--lie", f"capabilities_used={used}"))).kind == "result"


@pytest.mark.requirement("plugins.hostile")
@pytest.mark.parametrize(
    ("behaviour", "said"),
    [
        (("--answer", "5"), "neither an object nor null"),
        (("--answer", '"text"'), "neither an object nor null"),
        (("--answer", "[1]"), "neither an object nor null"),
        (("--answer", "false"), "neither an object nor null"),
        (("--error", '"wrong"'), "without a message"),
        (("--error", '{"code": "x", "message": 7}'), "without a message"),
        (("--error", '{"code": -1, "message": "no"}'), "no"),
        (("--bytes", "1100000"), "bytes"),
        (("--deep", "65"), "nested"),
        (("--deep", "900"), "nested"),
    ],
)
async def test_a_useless_answer_is_an_error_and_the_plugin_goes_on(
    bench: Open, behaviour: tuple[str, ...], said: str
) -> None:
    async with bench(**QUICK) as it:
        plugin = it.hostile(*behaviour)
        outcome = await it.hook(plugin)
        assert (outcome.kind, outcome.result) == ("error", None)
        assert said in outcome.error
        assert (await it.hook(plugin, "pre_compact")).result == {"inject": "good"}
        assert len(it.starts()) == 1
        assert [data["hook"] for data in it.events("hook.failed")] == ["on_session_start"]


@pytest.mark.requirement("plugins.hostile")
@pytest.mark.parametrize(
    "behaviour",
    [
        ("--die",),
        ("--die", "--half"),
        ("--bytes", "10000000"),
        ("--deep", "5000"),
        ("--lists", "51000"),
        ("--endless",),
        ("--raw", "no json\\n"),
        ("--raw", "[]\\n"),
        ("--raw", "\\xff\\xfe\\n"),
        ("--raw", '{"id":1,"result":"\\\\ud800"}\\n'),
    ],
)
async def test_a_broken_conversation_is_an_error_and_the_next_process_works(
    bench: Open, behaviour: tuple[str, ...]
) -> None:
    async with bench(**QUICK) as it:
        plugin = it.hostile(*behaviour, "--times", "1")
        outcome = await it.hook(plugin)
        assert outcome.kind in {"error", "unavailable"}
        await until(lambda: len(it.events("started")) == 2)
        assert (await it.hook(plugin)).kind == "result"
        assert len(it.starts()) == 2
        assert it.clock.slept == [1.0]


@pytest.mark.requirement("plugins.hostile")
async def test_empty_lines_without_end_are_a_broken_conversation(bench: Open) -> None:
    async with bench(**QUICK) as it:
        plugin = it.hostile("--flood-empty", "--times", "1")
        await it.hook(plugin)
        await until(lambda: len(it.starts()) == 2)
        assert "empty lines" in it.events("failed")[0]["reason"]
        assert (await it.hook(plugin)).kind == "result"


@pytest.mark.requirement("plugins.hostile")
@pytest.mark.parametrize("behaviour", [("--hang",), ("--silent",), ("--late", "3.2")])
async def test_no_answer_is_a_timeout_and_a_late_one_is_dropped(
    bench: Open, behaviour: tuple[str, ...]
) -> None:
    async with bench(**QUICK) as it:
        plugin = it.hostile(*behaviour, hook_timeout_sec=2)
        began = time.monotonic()
        outcome = await it.hook(plugin)
        assert outcome.kind == "timeout"
        assert 1.9 < time.monotonic() - began < 30
        assert len(it.events("hook.timeout")) == 1
        if behaviour == ("--hang",):
            assert (await it.hook(plugin, "pre_compact")).kind == "timeout"
            return
        await asyncio.sleep(1.5)
        assert (await it.hook(plugin, "pre_compact")).result == {"inject": "good"}
        assert it.events("failed") == []


@pytest.mark.requirement("plugins.hostile")
async def test_answers_that_come_twice_or_to_nobody_are_dropped(bench: Open) -> None:
    async with bench(**QUICK) as it:
        plugin = it.hostile("--twice")
        for _ in range(5):
            assert (await it.hook(plugin)).result == {"inject": "good"}
        assert await it.tool(plugin, "harm", x=1) != {"inject": "again"}


@pytest.mark.requirement("plugins.hostile")
@pytest.mark.parametrize(("flood", "a_second"), [("--flood-stdout", 1_000), ("--flood-stderr", 20)])
async def test_a_flood_is_held_back_and_others_do_not_notice(bench: Open, flood: str, a_second: int) -> None:
    async with bench(**QUICK) as it:
        began = time.monotonic()
        await it.hook(it.hostile(flood, hook_timeout_sec=1))
        longest = LongestTurn()
        await asyncio.sleep(2)
        assert longest.stop() < 0.05
        (status,) = await it.plugins.status()
        assert sum(map(len, status.log)) < 100_000
        left_out = sum(
            int(count) for line in it.lines() for count in re.findall(r"(\d+) lines are left", line)
        )
        assert left_out < a_second * (time.monotonic() - began + 1) * 1.2


@pytest.mark.requirement("plugins.hostile")
async def test_megabytes_do_not_block_the_loop(bench: Open) -> None:
    async with bench(**QUICK) as it:
        for large, kind in (("--bytes", "1900000"), "error"), (("--lists", "49000"), "result"):
            plugin = it.hostile(*large)
            await it.hook(plugin, "pre_compact")
            longest = LongestTurn()
            for _ in range(3):
                assert (await it.hook(plugin)).kind == kind
            assert longest.stop() < 0.05
        assert await it.state() == "ready"


@pytest.mark.requirement("plugins.hostile")
async def test_log_messages_are_cut_and_made_plain(bench: Open) -> None:
    async with bench(**QUICK) as it:
        await it.hook(it.hostile("--flood-log", "1000"))

        await until(lambda: len(it.lines()) >= 20)
        lines = (await it.plugins.status())[0].log
        assert all(len(line) < 2_100 and line.isprintable() for line in lines)
        assert len(lines) == 20


@pytest.mark.requirement("plugins.hostile")
async def test_many_requests_at_once_are_answered_or_refused(bench: Open) -> None:
    async with bench(**QUICK) as it:
        await it.hook(it.hostile("--flood-requests", "1500"))
        await until(lambda: "all answered" in (it.root / "log").read_text())
        assert await it.state() == "ready"


@pytest.mark.requirement("plugins.hostile", "plugins.wire")
@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("kaged.storage.set", {"key": "a", "value": 1}, -32001),
        ("kaged.storage.delete", {"key": "a"}, -32001),
        ("kaged.storage.get", {"key": 5}, -32602),
        ("kaged.storage.get", [], -32602),
        ("kaged.storage.list", {"limit": 0}, -32602),
        ("kaged.storage.list", {"limit": True}, -32602),
        ("kaged.storage.list", {"prefix": 5}, -32602),
        ("kaged.storage.list", {"prefix": "x" * 1000}, -32602),
        ("kaged.storage.drop", {}, -32601),
        ("file.read", {"path": "/etc/passwd"}, -32601),
        ("initialize", {}, -32601),
        ("", {}, -32601),
        ("kaged.log", {"message": "m", "level": 7}, None),
        ("kaged.log", "text", None),
    ],
)
async def test_only_what_the_manifest_allows_is_answered(
    bench: Open, method: str, params: Any, code: int | None
) -> None:
    async with bench(**QUICK) as it:
        outcome = await it.hook(it.hostile("--ask", json.dumps([method, params])))
        answer = outcome.result["answer"]
        assert answer["id"] == "asked"
        assert answer.get("error", {}).get("code") == code
        assert it.storage.values == {}


@pytest.mark.requirement("plugins.hostile")
async def test_detached_children_are_gone_with_the_plugin(bench: Open) -> None:
    async with bench(**QUICK) as it:
        plugin = it.hostile("--children", "3", "--deaf", "--die", "--times", "1")
        await it.hook(plugin)
        left = [
            int(line.split()[1]) for line in (it.root / "log").read_text().splitlines() if "child " in line
        ]
        assert len(left) == 3
        await until(lambda: not any(alive(pid) for pid in left))


@pytest.mark.requirement("plugins.hostile")
async def test_who_ignores_shutdown_and_sigterm_is_killed(bench: Open) -> None:
    async with bench(**QUICK) as it:
        await it.hook(it.hostile("--deaf", "--children", "2"))
        (pid,) = it.starts()
        began = time.monotonic()
        await it.plugins.end_project("prj_1")
        assert 0.9 < time.monotonic() - began < 30, "its manifest gives it a second"
        assert not alive(pid)
        assert it.events("stopped")[0]["reason"] == "project_unload"


@pytest.mark.requirement("plugins.hostile")
async def test_one_that_does_not_start_leaves_others_alone(bench: Open) -> None:
    async with bench(**{**QUICK, "start_seconds": 0.5}) as it:
        hanging = it.hostile(*INITIALIZE, "--hang", hook_timeout_sec=3)
        outcome = await it.hook(hanging)
        assert outcome.kind == "unavailable"
        assert "initialize" in outcome.error
        with pytest.raises(ToolError) as caught:
            await it.tool(hanging, "harm", seconds=3)
        assert caught.value.code in {"plugin_unavailable", "plugin_timeout"}


@pytest.mark.requirement("plugins.hostile")
async def test_a_plugin_that_grows_too_large_is_restarted(bench: Open) -> None:
    async with bench(**{**QUICK, "health_seconds": 0.3, "memory_bytes": 100 * 1024 * 1024}) as it:
        plugin = it.hostile("--grow", "200", "--times", "1")
        await it.hook(plugin)
        await until(lambda: len(it.starts()) == 2)
        assert "memory" in it.events("failed")[0]["reason"]


@pytest.mark.requirement("plugins.hostile")
async def test_one_that_does_not_read_gets_no_endless_notices(bench: Open) -> None:
    async with bench(**QUICK) as it:
        plugin = it.hostile("--hang", "--times", "1", hook_timeout_sec=0.5)
        told = {"transcript": "x" * 12 * 1024 * 1024}
        for _ in range(4):
            outcome = await it.hook(plugin, **told)
            assert outcome.kind in {"timeout", "error", "unavailable"}
        await until(lambda: len(it.starts()) == 2)
        assert "does not read" in it.events("failed")[0]["reason"]


@pytest.mark.requirement("plugins.hostile")
async def test_what_cannot_be_sent_is_an_error(bench: Open) -> None:
    async with bench(**QUICK) as it:
        plugin = it.hostile()
        for said, why in ({"x": {1, 2}}, "no JSON"), ({"x": "y" * 17_000_000}, "bytes"):
            outcome = await it.hook(plugin, **said)
            assert outcome.kind == "error"
            assert why in outcome.error
        assert (await it.hook(plugin)).kind == "result"


@pytest.mark.requirement("plugins.storage")
async def test_a_storage_that_hangs_is_not_waited_for(bench: Open) -> None:
    async with bench(**{**QUICK, "storage_seconds": 0.2}) as it:

        async def hang(*_: Any) -> None:
            await asyncio.sleep(60)

        it.storage.get = hang  # type: ignore[method-assign]
        asked = json.dumps(["kaged.storage.get", {"key": "a"}])
        outcome = await it.hook(it.hostile("--ask", asked))
        assert "too long" in outcome.result["answer"]["error"]["message"]
