"""How an answer ends before its end: the client leaves, the run fails, somebody stops it, the daemon dies."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import httpx2
import openai
import pytest

from tests.driver.chat_client import SESSION, ChatDesk, sdk, user
from tests.driver.daemon_process import DaemonProcess, write_config
from tests.driver.sessions import write_project
from tests.fakes.provider_script import Disconnect, Document, Hold, Reply, Text
from tests.fakes.provider_server import FakeProvider


def body(**more: Any) -> dict[str, Any]:
    return {"model": "family/primary", "messages": [user("Hello")], **more}


async def last_run(desk: ChatDesk) -> dict[str, Any]:
    """Return the newest run of the only session, when it is at rest."""
    async with asyncio.timeout(60):
        while True:
            [session] = (await desk.get("/sessions"))["items"]
            if session["state"] != "running":
                return dict(session["last_run"])
            await asyncio.sleep(0.05)


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.requirement("chat.ends")
async def test_a_client_that_leaves_cancels_its_run(desk: ChatDesk, stream: bool) -> None:
    desk.cast.script("primary", Reply((Text("One "), Hold(), Text("two."))))
    request = asyncio.create_task(desk.client.post("/v1/chat/completions", json=body(stream=stream)))
    await desk.model.until_requests(1, seconds=60)
    request.cancel()
    await asyncio.wait([request])
    await desk.model.until_disconnects(1, seconds=60)
    run = await last_run(desk)
    found = await desk.get(f"/runs/{run['id']}")
    assert (found["state"], found["reason"]) == ("cancelled", "cancelled")


@pytest.mark.requirement("chat.ends")
async def test_a_failure_of_the_provider_is_502_and_an_event_in_a_stream(desk: ChatDesk) -> None:
    refusal = Document(400, {"error": {"message": "I do not like it", "type": "invalid_request_error"}})
    desk.cast.script("primary", refusal, Reply((Text("One "), Disconnect())), *[refusal] * 3)
    async with desk.sdk() as client:
        with pytest.raises(openai.InternalServerError) as failed:
            await client.chat.completions.create(**body())
        assert (failed.value.status_code, failed.value.type) == (502, "server_error")
        assert "I do not like it" in failed.value.message
        assert failed.value.response.headers["x-should-retry"] == "false"
        stream = await client.chat.completions.create(**body(stream=True))
        with pytest.raises(openai.APIError) as broken:
            _ = [chunk async for chunk in stream]
    assert (broken.value.type, broken.value.code) == ("server_error", "bad_request")


@pytest.mark.requirement("chat.ends")
async def test_a_retried_model_call_repeats_nothing(desk: ChatDesk) -> None:
    desk.cast.script(
        "primary", Reply((Text("One "), Text("two"), Disconnect())), Reply((Text("One two "), Text("three.")))
    )
    answer = await desk.client.post("/v1/chat/completions", json=body(stream=True), timeout=60)
    events = [one.removeprefix("data: ") for one in answer.text.split("\n\n")]
    chunks = [httpx2.Response(200, text=one).json() for one in events if one.startswith("{")]
    text = "".join(chunk["choices"][0]["delta"].get("content", "") for chunk in chunks)
    assert text == "One two three."


@pytest.mark.requirement("chat.ends")
async def test_a_run_that_an_operator_cancels_is_an_error_to_its_client(desk: ChatDesk) -> None:
    desk.cast.script("primary", Reply((Text("One "), Hold())))
    request = asyncio.create_task(desk.client.post("/v1/chat/completions", json=body(), timeout=60))
    await desk.model.until_requests(1, seconds=60)
    [session] = (await desk.get("/sessions"))["items"]
    await desk.client.post(f"/api/v1/sessions/{session['id']}/cancel")
    answer = await request
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "run_cancelled")
    assert answer.json()["error"]["param"] is None


@pytest.mark.requirement("chat.answers")
async def test_an_answer_that_a_limit_cuts_ends_with_length(desk: ChatDesk) -> None:
    desk.cast.script("primary", Reply((Text("One two"),), finish="length"))
    answer = await desk.client.post("/v1/chat/completions", json=body())
    assert answer.json()["choices"][0]["finish_reason"] == "length"


@pytest.mark.parametrize("settings", [{"daemon": {"heartbeat_seconds": 0.05}}])
@pytest.mark.requirement("chat.stream")
async def test_a_quiet_stream_has_keep_alive_comments(desk: ChatDesk) -> None:
    hold = Hold()
    desk.cast.script("primary", Reply((hold, Text("Done."))))
    async with desk.client.stream("POST", "/v1/chat/completions", json=body(stream=True)) as answer:
        lines = []
        async for line in answer.aiter_lines():
            lines.append(line)
            if lines.count(": keep-alive") == 2:
                hold.gate.set()
    assert lines.count(": keep-alive") >= 2
    assert lines[-2] == "data: [DONE]"


@pytest.mark.requirement("chat.ends")
async def test_a_daemon_that_is_killed_in_a_stream_ends_it_and_keeps_the_session(tmp_path: Path) -> None:
    root = write_project(tmp_path / "shop")
    async with FakeProvider() as model:
        config = write_config(tmp_path / "config.toml", model.port)
        config.write_text(config.read_text() + "\n[chat_completions]\nenabled = true\n")
        daemon = await DaemonProcess.start(tmp_path / "data", config, root)
        hold = Hold()
        model.script(Reply((Text("One "), hold, Text("two."))), Reply((Text("Three."),)))
        asked: dict[str, Any] = {"model": f"{daemon.project_id}/primary", "messages": [user("Hello")]}
        async with sdk(daemon.url, daemon.token) as client:
            raw = await client.chat.completions.with_raw_response.create(**asked, stream=True)
            stream, session_id = raw.parse(), raw.headers[SESSION]
            seen = [await anext(stream), await anext(stream)]
            assert seen[1].choices[0].delta.content == "One "
            await daemon.kill()
            with pytest.raises((httpx2.HTTPError, openai.APIConnectionError)):
                _ = [chunk async for chunk in stream]
        daemon = await DaemonProcess.start(tmp_path / "data", config, root)
        try:
            async with daemon.client() as operator, sdk(daemon.url, daemon.token) as client:
                session = (await operator.get(f"/sessions/{session_id}")).json()
                assert (session["state"], session["state_reason"]) == ("paused", "daemon_restart")
                header = {SESSION: session_id}
                with pytest.raises(openai.ConflictError) as paused:
                    await client.chat.completions.create(**asked, extra_headers=header)
                assert paused.value.code == "session_paused"
                fresh = await client.chat.completions.create(**asked)
                assert fresh.choices[0].message.content == "Three."
        finally:
            await daemon.stop()
