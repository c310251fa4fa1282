"""A run that works for too long fails; the time in which it waits for a human does not count."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.driver.daemon import running_daemon
from tests.driver.loop_clock import put_all_forward
from tests.driver.sessions import WAIT_SECONDS
from tests.fakes.provider_script import Reply, Stall, Text, ToolCall
from tests.fakes.provider_server import FakeProvider
from tests.harness.laboratory import Laboratory
from tests.harness.workflows.working import WORKFLOWS_YAML, Shop, says, waits, write_shop

pytestmark = pytest.mark.requirement("workflows.timeout")

SECONDS = 60
"""More than a busy machine needs to begin a run and to answer. The clock is put forward over the rest."""
SHORT_YAML = WORKFLOWS_YAML.replace("timeout_seconds: 600", f"timeout_seconds: {SECONDS}") + (
    "permissions: [{ permission: file.read, pattern: '*', action: ask }]\n"
)


@pytest.fixture
async def short(lab: Laboratory, tmp_path: Path, settings_overrides: dict[str, Any]) -> Any:
    root = write_shop(
        tmp_path / "shop", SHORT_YAML.replace("tools: [lab.wait, ", "tools: [lab.wait, file.read, ")
    )
    async with running_daemon(tmp_path / "data", **settings_overrides) as daemon, daemon.client() as client:
        shop = Shop(daemon, client)
        await shop.load(root)
        yield shop


async def until_it_counts(shop: Shop, run: Any, milliseconds: int = 1) -> None:
    """Wait until a run has worked for so long."""
    async with asyncio.timeout(WAIT_SECONDS):
        while (await shop.run_of(run["id"]))["elapsed_ms"] < milliseconds:  # noqa: ASYNC110 - over HTTP
            await asyncio.sleep(0.02)


async def test_a_run_that_works_too_long_fails_and_its_session_is_stopped(
    short: Shop, fake: FakeProvider, lab: Laboratory, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake.script(waits("a"))
    run = await short.invoke("nap")
    await lab.until_started("a")
    await until_it_counts(short, run)
    put_all_forward(monkeypatch, SECONDS)
    run = await short.until(run["id"], "failed")
    assert run["error"]["code"] == "timeout"
    assert f"{SECONDS} seconds" in run["error"]["message"]
    assert run["elapsed_ms"] >= SECONDS * 1000
    session = await short.call("GET", f"/sessions/{run['session_id']}")
    assert session["state"] == "idle"
    assert lab.running == 0
    (last,) = (await short.call("GET", f"/sessions/{run['session_id']}/runs"))["items"]
    assert last["state"] == "cancelled"


async def test_a_pause_does_not_count(
    short: Shop, fake: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake.script(Reply((Text("Let me see."), Stall())), says("Done."))
    run = await short.invoke("nap")
    await fake.until_requests(1)
    session = f"/sessions/{(await short.run_of(run['id']))['session_id']}"
    await short.call("POST", f"{session}/pause")
    worked = (await short.run_of(run["id"]))["elapsed_ms"]
    put_all_forward(monkeypatch, SECONDS + 1)
    paused = await short.run_of(run["id"])
    assert (paused["state"], paused["elapsed_ms"]) == ("running", worked)
    await short.call("POST", f"{session}/resume", {})
    assert (await short.until(run["id"], "succeeded", "failed"))["state"] == "succeeded"


async def test_waiting_for_consent_does_not_count(
    short: Shop, fake: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = ToolCall("file_read", {"path": "README.md"})
    fake.script(Reply((read,)), says("Done."))
    run = await short.invoke("nap")
    session_id = (await short.run_of(run["id"]))["session_id"]
    async with asyncio.timeout(WAIT_SECONDS):
        while not (found := await short.questions(session_id)):  # noqa: ASYNC110 - over HTTP
            await asyncio.sleep(0.02)
    put_all_forward(monkeypatch, SECONDS + 1)
    assert (await short.run_of(run["id"]))["state"] == "running"
    path = f"/sessions/{session_id}/interactions/{found[0]['id']}/answer"
    await short.call("POST", path, {"answer": "once"})
    assert (await short.until(run["id"], "succeeded", "failed"))["state"] == "succeeded"


async def test_the_time_that_was_used_counts_after_a_restart(
    lab: Laboratory,
    fake: FakeProvider,
    tmp_path: Path,
    settings_overrides: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    root, data = write_shop(tmp_path / "shop", SHORT_YAML), tmp_path / "data"
    fake.script(waits("a"))
    settings = {**settings_overrides, "daemon": {"shutdown_grace_seconds": 0}}
    async with running_daemon(data, **settings) as daemon, daemon.client() as client:
        shop = Shop(daemon, client)
        await shop.load(root)
        run = await shop.invoke("nap")
        await lab.until_started("a")
        await until_it_counts(shop, run, 500)
    fake.script(waits("b"))
    async with running_daemon(data, **settings) as daemon, daemon.client() as client:
        shop = Shop(daemon, client)
        used = (await shop.run_of(run["id"]))["elapsed_ms"]
        assert used >= 500
        await lab.until_started("b")
        await until_it_counts(shop, run, used + 1)
        put_all_forward(monkeypatch, SECONDS)
        assert (await shop.until(run["id"], "failed"))["error"]["code"] == "timeout"


@pytest.mark.requirement("durability.stuck_run")
async def test_a_run_whose_agent_goes_in_circles_fails(shop: Shop, fake: FakeProvider) -> None:
    fake.respond = lambda _: Reply((ToolCall("kaged_checkpoint", {"nonsense": 1}),))
    run = await shop.until((await shop.invoke("nap"))["id"], "failed", "succeeded")
    assert (run["state"], run["error"]["code"]) == ("failed", "stuck")
