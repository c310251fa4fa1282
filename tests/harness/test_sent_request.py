"""An operator reads what a model call was sent, byte for byte, long after it was sent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx2
import orjson
import pytest

from app.ids import now_ms
from tests.driver.daemon import running_daemon
from tests.driver.sessions import DRIVERS, FEW_TOOLS_YAML, Driver, driven, provider_settings, write_project
from tests.fakes.provider_script import Document, Reply, Text, Thinking, ToolCall, text_reply
from tests.fakes.provider_server import FakeProvider

pytestmark = pytest.mark.requirement("loop.pipeline", "http.resources")


def body_in(answer: httpx2.Response) -> bytes:
    """Return the bytes of the member `body`, which stands last, as they are in the answer."""
    return answer.content.partition(b'"body":')[2].removesuffix(b"}")


async def every_request(client: httpx2.AsyncClient, session_id: str) -> list[httpx2.Response]:
    """Return what each step of each run was sent, the oldest first."""
    runs = (await client.get(f"/api/v1/sessions/{session_id}/runs")).json()["items"]
    answers = []
    for run in reversed(runs):
        for number in range(1, run["step_count"] + 1):
            answers.append(await client.get(f"/api/v1/runs/{run['id']}/steps/{number}/request"))
    return answers


@pytest.mark.parametrize("wire", DRIVERS)
async def test_every_request_is_read_back_as_it_was_received_also_by_a_later_daemon(
    fake: FakeProvider, project_root: Path, tmp_path: Path, settings_overrides: dict[str, Any], wire: str
) -> None:
    settings = {**settings_overrides, "providers": provider_settings(wire, fake.base_url)}
    read = ToolCall("file_read", {"path": "README.md"}, id="c1")
    fake.script(
        Document(500, {"error": {"message": "once more"}}),
        Reply((Thinking("Hm.", "c2lnbmF0dXJl"), Text("Two."), read, ToolCall("no_such", {"a": 1}, id="c2"))),
        Reply((ToolCall("file_write", "{not json", id="c3"),)),
        text_reply("Grüße \u2014 done."),
        text_reply("Again."),
    )
    session = {"overrides": {"max_output_tokens": 321}}
    async with driven(tmp_path / "data", project_root, session=session, **settings) as driver:
        await driver.run("Größe? \U0001f600")
        await driver.run("And now?")
        before = await every_request(driver.client, driver.session_id)
    async with running_daemon(tmp_path / "data", **settings) as daemon, daemon.client() as client:
        after = await every_request(client, driver.session_id)
    received = [request.body for request in list(fake.requests)[1:]]  # a second try sent the first one again
    assert [body_in(answer) for answer in before] == received
    assert [body_in(answer) for answer in after] == received
    assert {answer.json()["verified"] for answer in (*before, *after)} == {True}
    assert after[0].json()["driver"] == wire
    assert b"321" in received[0]


KEEPS_RESULTS = "  compaction: { always_keep: [{ role: tool }] }\n"
"""So that compaction, which comes first, may take nothing away."""


async def test_of_a_shortened_conversation_the_request_is_the_shortened_one(
    fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    root = write_project(
        tmp_path / "narrow", FEW_TOOLS_YAML + KEEPS_RESULTS + "limits: { on_overflow: truncate }\n"
    )
    (root / "big.txt").write_text(("x" * 20 + " line\n") * 250)
    settings = {**settings_overrides, "prices": {"fake:model-a": {"context_window": 4_000}}}
    calls = [Reply((ToolCall("file_read", {"path": "big.txt"}, id=f"c{n}"),), usage=None) for n in range(4)]
    fake.script(*calls, text_reply("Done."))
    async with driven(tmp_path / "data", root, **settings) as driver:
        await driver.run("Read it again and again")
        answers = await every_request(driver.client, driver.session_id)
    counts = [len(request.json["messages"]) for request in fake.requests]
    assert counts[-1] < 2 + 2 * 4  # or this test shows nothing
    assert [body_in(answer) for answer in answers] == [request.body for request in fake.requests]
    assert all(answer.json()["verified"] for answer in answers)


async def test_a_provider_that_is_configured_otherwise_by_now_is_reported(
    fake: FakeProvider, project_root: Path, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    fake.script(text_reply("Yes."))
    async with driven(tmp_path / "data", project_root, **settings_overrides) as driver:
        await driver.run("Is it?")
    options = {"options": {"body": {"temperature": 0.5}}}
    changed = {
        **settings_overrides,
        "providers": {"fake": {**settings_overrides["providers"]["fake"], **options}},
    }
    async with running_daemon(tmp_path / "data", **changed) as daemon, daemon.client() as client:
        (answer,) = await every_request(client, driver.session_id)
    assert answer.json()["verified"] is False
    assert answer.json()["body"]["temperature"] == 0.5


async def test_what_is_not_there_or_not_kept_any_more_is_said(driver: Driver, fake: FakeProvider) -> None:
    fake.script(text_reply("Yes."))
    await driver.run("Is it?")
    run_id = (await driver.last_run())["id"]
    assert (await driver.client.get("/api/v1/runs/run_none/steps/1/request")).status_code == 404
    assert (await driver.client.get(f"/api/v1/runs/{run_id}/steps/2/request")).status_code == 404
    assert (await driver.client.get(f"/api/v1/runs/{run_id}/steps/0/request")).status_code == 400
    storage = driver.daemon.services.storage
    await storage.write(lambda uow: uow.audit.trim_older_than(now_ms() + 1))
    gone = await driver.client.get(f"/api/v1/runs/{run_id}/steps/1/request")
    assert (gone.status_code, gone.json()["error"]["code"]) == (410, "gone")
    assert gone.json()["error"]["details"]["reason"] == "audit_trimmed"
    assert "verified" not in orjson.loads(gone.content)
