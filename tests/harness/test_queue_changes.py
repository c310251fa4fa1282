"""Messages that wait are changed and taken away, whoever drains the queue; a session has another model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.driver.sessions import Driver, Watch, check_stream, driven, restarted
from tests.fakes.provider_script import Hold, RecordedRequest, Reply, Text, text_reply
from tests.fakes.provider_server import FakeProvider


async def held_up(
    driver: Driver, fake: FakeProvider, watch: Watch, *queued: str, **more: Any
) -> tuple[Hold, Any]:
    """Have a run wait for the test, and messages behind it; return what holds it, and them."""
    hold = Hold()
    fake.script(Reply((Text("One"), hold)))
    await driver.post("First")
    await watch.until_text("One")
    return hold, [(await driver.post(text, **more))["message"] for text in queued]


def said(fake: FakeProvider) -> list[str]:
    return [m["content"] for m in fake.requests[-1].json["messages"] if m["role"] == "user"]


@pytest.mark.requirement("operations.queue")
@pytest.mark.parametrize("mode", ["queue", "steer"])
async def test_a_waiting_message_is_run_as_it_was_changed(
    driver: Driver, fake: FakeProvider, mode: str
) -> None:
    async with driver.watching() as watch:
        hold, (second, third) = await held_up(driver, fake, watch, "Secnd", "Third", mode=mode)
        changed = await driver.session_call("PATCH", f"/messages/{second['id']}", {"content": "Second"})
        await driver.session_call("DELETE", f"/messages/{third['id']}", status=204)
        await driver.session_call("GET", f"/messages/{third['id']}", status=404)
        empty = await driver.session_call("PATCH", f"/messages/{second['id']}", {"content": " "}, status=400)
        fake.script(text_reply("Two."))
        hold.gate.set()
        await watch.until_state("idle")
        late = await driver.session_call("PATCH", f"/messages/{second['id']}", {"content": "x"}, status=409)
        gone = await driver.session_call("DELETE", f"/messages/{third['id']}", status=404)
    check_stream(watch.frames)
    assert changed["content"] == "Second"
    assert said(fake) == ["First", "Second"]
    assert [m["content"] for m in await driver.messages() if m["role"] == "operator"] == ["First", "Second"]
    assert (empty["error"]["code"], gone["error"]["code"]) == ("validation_failed", "not_found")
    assert late["error"]["details"]["reason"] == "not_waiting"
    assert watch.of("message.edited")[0]["payload"] == {"message_id": second["id"], "content": "Second"}
    assert watch.of("message.removed")[0]["payload"] == {"message_id": third["id"]}


@pytest.mark.requirement("operations.queue")
async def test_a_change_that_races_with_the_queue_is_whole_or_refused(
    driver: Driver, fake: FakeProvider
) -> None:
    for number in range(10):
        await driver.new_session()
        async with driver.watching() as watch:
            hold, (second,) = await held_up(driver, fake, watch, "old")
            fake.script(text_reply("Two."))
            path = f"/api/v1/sessions/{driver.session_id}/messages/{second['id']}"
            hold.gate.set()
            if number % 2:
                answer = await driver.client.patch(path, json={"content": "new"})
            else:
                answer = await driver.client.delete(path)
            await watch.until_state("idle")
        check_stream(watch.frames)
        if answer.status_code == 204:
            assert len(watch.of("run.ended")) == 1
            await driver.run("Use up the answer that nobody has asked for")
            continue
        assert answer.status_code in (200, 409), answer.text
        expected = "new" if answer.status_code == 200 else "old"
        assert said(fake)[-1] == expected
        assert [m["content"] for m in await driver.messages() if m["role"] == "operator"][-1] == expected


@pytest.mark.requirement("operations.queue")
async def test_a_waiting_message_is_given_its_turn_now(driver: Driver, fake: FakeProvider) -> None:
    async with driver.watching() as watch:
        hold, (second, third) = await held_up(driver, fake, watch, "Second", "Third")
        steered = await driver.session_call("PATCH", f"/messages/{third['id']}", {"mode": "steer"})
        waiting = await driver.session_call("GET", "/messages?waiting=true")
        back = await driver.session_call("PATCH", f"/messages/{third['id']}", {"mode": "queue"})
        nothing = await driver.session_call("PATCH", f"/messages/{third['id']}", {}, status=400)
        await driver.session_call("POST", "/cancel")
        await watch.until_state("idle")
    held = (await driver.session_call("GET", "/messages?waiting=true"))["items"][-1]
    fake.script(text_reply("Three."))
    # From here on: the stop left the session idle before.
    async with driver.watching((await driver.session_call("GET"))["last_seq"]) as watch:
        sent = await driver.session_call("PATCH", f"/messages/{third['id']}", {"mode": "steer"})
        await watch.until_state("idle")
    check_stream(watch.frames)
    hold.gate.set()
    assert [m["delivery"] for m in (steered, back, held)] == ["steer", "queued", "held"]
    assert ([m["id"] for m in waiting["items"]], waiting["total"]) == ([second["id"], third["id"]], 2)
    assert nothing["error"]["code"] == "validation_failed"
    assert sent["position"] is not None
    # What an operator's stop has held goes along with the message that is sent now.
    assert said(fake) == ["First", "Second", "Third"]


@pytest.mark.requirement("operations.queue")
async def test_a_session_whose_only_message_is_taken_away_waits_for_no_place(
    fake: FakeProvider, tmp_path: Path, project_root: Path, settings_overrides: dict[str, Any]
) -> None:
    limits = {"sessions_per_project": 1}
    async with driven(tmp_path / "data", project_root, limits=limits, **settings_overrides) as driver:
        async with driver.watching() as watch:
            hold, _ = await held_up(driver, fake, watch)
        await driver.new_session()
        posted = await driver.post("Wait")
        assert await driver.state() == "queued"
        await driver.session_call("DELETE", f"/messages/{posted['message']['id']}", status=204)
        assert await driver.state() == "idle"
        hold.gate.set()
        fake.script(text_reply("Later."))
        watch = await driver.run("Now")
        assert watch.text() == "Later."


@pytest.mark.requirement("operations.queue")
async def test_a_changed_message_is_stored_as_it_was_changed(
    fake: FakeProvider, tmp_path: Path, project_root: Path, settings_overrides: dict[str, Any]
) -> None:
    async with driven(tmp_path / "data", project_root, **settings_overrides) as driver:
        async with driver.watching() as watch:
            _, (second,) = await held_up(driver, fake, watch, "old")
        await driver.session_call("PATCH", f"/messages/{second['id']}", {"content": "new"})
        session = driver.session_id
    async with restarted(tmp_path / "data", **settings_overrides) as driver:
        driver.session_id = session
        waiting = [m["content"] for m in await driver.messages() if m["position"] is None]
    assert waiting == ["new"]


@pytest.mark.requirement("operations.model")
async def test_the_model_of_a_session_is_changed_from_its_next_run_on(
    fake: FakeProvider, tmp_path: Path, project_root: Path, settings_overrides: dict[str, Any]
) -> None:
    models = {"main": ["fake:model-a"], "other": ["fake:model-b"]}
    settings = {**settings_overrides, "models": models}
    used: list[str] = []
    hold = Hold()

    def respond(request: RecordedRequest) -> Reply:
        used.append(request.json["model"])
        return Reply((Text("One"), hold)) if len(used) == 1 else text_reply("Done.")

    fake.respond = respond
    async with driven(tmp_path / "data", project_root, **settings) as driver, driver.watching() as watch:
        await driver.post("First")
        await watch.until_text("One")
        changed = await driver.session_call("PATCH", "", {"model": "other"})
        unknown = await driver.session_call("PATCH", "", {"model": "nobody"}, status=400)
        hold.gate.set()
        await watch.until_state("idle")
        await driver.run("Second")
        await driver.session_call("PATCH", "", {"model": None})
        await driver.run("Third")
        detail = await driver.session_call("GET")
        await driver.session_call("POST", "/archive")
        await driver.session_call("PATCH", "", {"model": "other"}, status=409)
    assert used == ["model-a", "model-b", "model-a"]
    assert (changed["overrides"], detail["overrides"]) == ({"model": "other"}, {})
    assert unknown["error"]["code"] == "validation_failed"
    told = [frame["payload"].get("model") for frame in watch.of("session.updated")]
    assert "other" in told


@pytest.mark.requirement("uploads.two_stage")
async def test_a_message_names_the_files_that_were_uploaded_for_it(
    fake: FakeProvider, tmp_path: Path, project_root: Path, settings_overrides: dict[str, Any]
) -> None:
    async with driven(tmp_path / "data", project_root, **settings_overrides) as driver:
        project = (await driver.session_call("GET"))["project_id"]
        path = f"/api/v1/uploads?project_id={project}&name=log.txt"
        upload = (await driver.client.post(path, content=b"it failed")).json()
        body = {"content": "Why?", "upload_ids": [upload["id"]]}
        unknown = await driver.session_call(
            "POST", "/messages", {**body, "upload_ids": ["upl_x"]}, status=400
        )
        fake.script(text_reply("Because."))
        async with driver.watching() as watch:
            await driver.session_call("POST", "/messages", body, status=201)
            await watch.until_state("idle")
        place = f".kaged/tmp/{driver.session_id}/log.txt"
        assert said(fake) == [f"Why?\n\nAttached files:\n- {place}"]
        assert (project_root / place).read_bytes() == b"it failed"
        assert unknown["error"]["details"]["fields"].keys() == {"upload_ids.0"}
        await driver.session_call("DELETE", status=204)
        left = (await driver.client.get(f"/api/v1/uploads/{upload['id']}")).json()
        assert left["used_by"] is None
