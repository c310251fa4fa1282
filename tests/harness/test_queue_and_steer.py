"""Messages posted while a run is active: they wait in order, steer the turn, or are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.driver.sessions import Driver, check_stream, driven
from tests.fakes.provider_script import Hold, Reply, Stall, StreamError, Text, ToolCall, text_reply
from tests.fakes.provider_server import FakeProvider
from tests.harness.laboratory import Laboratory

pytestmark = pytest.mark.requirement("http.queue")


def said_by_users(fake: FakeProvider, request: int) -> list[str]:
    return [m["content"] for m in fake.requests[request].json["messages"] if m["role"] == "user"]


async def test_queued_messages_run_one_after_the_other_in_the_order_posted(
    driver: Driver, fake: FakeProvider
) -> None:
    hold = Hold()
    fake.script(Reply((Text("1"), hold)), *(text_reply(str(n)) for n in range(2, 5)))
    async with driver.watching() as watch:
        assert not (await driver.post("One"))["queued"]
        await watch.until_text("1")
        for content in ("Two", "Three", "Four"):
            posted = await driver.post(content)
            assert posted["queued"] and posted["run"] is None
            assert posted["message"]["position"] is None
        hold.gate.set()
        await watch.until_state("idle")

    check_stream(watch.frames)
    assert [f["payload"]["position"] for f in watch.of("run.queued")] == [1, 2, 3]
    assert {f["payload"]["reason"] for f in watch.of("run.queued")} == {"busy"}
    assert len(watch.of("run.started")) == len(watch.of("run.ended")) == 4
    rows = await driver.messages()
    assert [m["content"] for m in rows] == ["One", "1", "Two", "2", "Three", "3", "Four", "4"]
    assert said_by_users(fake, 3) == ["One", "Two", "Three", "Four"]
    triggers = [f["payload"]["trigger_message_id"] for f in watch.of("run.started")]
    assert triggers == [m["id"] for m in rows if m["role"] == "operator"]


async def test_a_message_that_must_not_wait_is_refused_and_not_stored(
    driver: Driver, fake: FakeProvider
) -> None:
    fake.script(Reply((Text("Hm"), Stall())))
    async with driver.watching() as watch:
        await driver.post("One", mode="reject")
        await watch.until_text("Hm")
        body = {"content": "Two", "mode": "reject"}
        refused = await driver.session_call("POST", "/messages", body, status=409)

    assert refused["error"]["details"]["reason"] == "run_in_progress"
    assert refused["error"]["details"]["state"] == "running"
    assert [m["content"] for m in await driver.messages() if m["role"] == "operator"] == ["One"]


async def test_a_steer_enters_at_the_next_boundary_and_the_model_sees_it_after_the_results(
    lab_driver: Driver, fake: FakeProvider, lab: Laboratory
) -> None:
    driver = lab_driver
    fake.script(Reply((ToolCall("lab_wait", {"name": "a"}, id="c1"),)), text_reply("Steered."))
    async with driver.watching() as watch:
        await driver.post("Begin")
        await lab.until_started("a")
        posted = await driver.post("Rather left", mode="steer")
        assert posted["queued"] and posted["message"]["delivery"] == "steer"
        lab.release("a")
        await watch.until_state("idle")

    check_stream(watch.frames)
    assert len(watch.of("run.started")) == 1
    sent = fake.requests[1].json["messages"]
    assert [m["role"] for m in sent] == ["system", "user", "assistant", "tool", "user"]
    assert sent[-1]["content"] == "Rather left"
    rows = await driver.messages()
    assert [m["content"] for m in rows if m["role"] in ("operator", "primary")] == [
        "Begin",
        "",
        "Rather left",
        "Steered.",
    ]
    steered = next(m for m in rows if m["content"] == "Rather left")
    assert steered["run_id"] == (await driver.last_run())["id"]


async def test_a_steer_during_the_last_answer_makes_the_run_go_on(driver: Driver, fake: FakeProvider) -> None:
    hold = Hold()
    fake.script(Reply((Text("Left."), hold)), text_reply("Right."))
    async with driver.watching() as watch:
        await driver.post("Where?")
        await watch.until_text("Left.")
        await driver.post("Look again", mode="steer")
        hold.gate.set()
        await watch.until_state("idle")

    assert len(watch.of("run.started")) == 1
    assert [f["payload"]["step"] for f in watch.of("step.ended")] == [1, 2]
    assert said_by_users(fake, 1) == ["Where?", "Look again"]


async def test_a_steer_that_comes_too_late_runs_next_and_before_what_was_queued(
    driver: Driver, fake: FakeProvider
) -> None:
    hold = Hold()
    broken = Reply((Text("Broken"), hold, StreamError("it broke", "invalid_request_error")))
    fake.script(broken, text_reply("B"), text_reply("C"))
    async with driver.watching() as watch:
        await driver.post("A")
        await watch.until_text("Broken")
        await driver.post("Queued")
        await driver.post("Steer", mode="steer")
        hold.gate.set()  # the stream ends with an error: there is no further boundary
        await watch.until_state("idle")

    check_stream(watch.frames)
    assert [f["payload"]["state"] for f in watch.of("run.ended")] == ["failed", "succeeded", "succeeded"]
    assert said_by_users(fake, 1)[-1] == "Steer"
    assert said_by_users(fake, 2)[-1] == "Queued"


async def test_a_steer_to_an_idle_session_is_an_ordinary_message(driver: Driver, fake: FakeProvider) -> None:
    fake.script(text_reply("Hello."))
    watch = await driver.run("Hello", mode="steer")

    posted = watch.of("message.posted")[0]["payload"]
    assert (posted["delivery"], posted["queued"]) == ("direct", False)


async def test_the_queue_takes_fifty_messages_and_refuses_the_next(
    driver: Driver, fake: FakeProvider
) -> None:
    fake.script(Reply((Text("Hm"), Stall())))
    async with driver.watching() as watch:
        await driver.post("Busy")
        await watch.until_text("Hm")
        for number in range(50):
            await driver.post(f"Message {number}", mode="steer" if number % 2 else "queue")
        refused = await driver.session_call("POST", "/messages", {"content": "One more"}, status=429)
    assert refused["error"]["code"] == "rate_limited"
    assert refused["error"]["details"] == {"reason": "queue_full", "limit": 50}
    assert (await driver.session_call("GET"))["queued_messages"] == 50


async def test_what_waits_is_bounded_in_bytes_also_when_it_is_pictures(
    driver: Driver, fake: FakeProvider
) -> None:
    picture = {"media_type": "image/png", "data": "A" * 7_000_000}
    fake.script(Reply((Text("Hm"), Stall())))
    async with driver.watching() as watch:
        await driver.post("Busy")
        await watch.until_text("Hm")
        for _ in range(2):
            await driver.post("Look", attachments=[picture])
        body = {"content": "Look", "attachments": [picture]}
        refused = await driver.session_call("POST", "/messages", body, status=429)
        assert refused["error"]["details"] == {"reason": "queue_full", "max_bytes": 16 * 1024 * 1024}
        await driver.post("Small ones still fit")
    assert [m["content"] for m in await driver.messages() if m["role"] == "operator"].count("Look") == 2


@pytest.mark.requirement("recovery.restart")
async def test_queued_messages_survive_a_stop_of_the_daemon_and_run_after_one_resume(
    fake: FakeProvider, project_root: Path, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    fake.script(Reply((Text("Half"), Stall())), *(text_reply(word) for word in ("one", "two", "three")))
    async with driven(tmp_path / "data", project_root, **settings_overrides) as driver:
        session_id = driver.session_id
        async with driver.watching() as watch:
            await driver.post("One")
            await watch.until_text("Half")
            await driver.post("Two")
            await driver.post("Three", mode="steer")
    async with driven(tmp_path / "data", project_root, **settings_overrides) as driver:
        driver.session_id = session_id
        detail = await driver.session_call("GET")
        assert (detail["state"], detail["state_reason"]) == ("paused", "daemon_restart")
        assert detail["queued_messages"] == 2
        async with driver.watching(detail["last_seq"]) as watch:
            await driver.session_call("POST", "/resume", status=201)
            await watch.until_state("idle")
        assert [m["content"] for m in await driver.messages() if m["role"] == "operator"] == [
            "One",
            "Two",
            "Three",
        ]
        assert said_by_users(fake, 3)[-1] == "Three"


async def test_a_queued_message_whose_model_is_gone_stays_and_goes_with_the_next_one(
    driver: Driver, fake: FakeProvider, settings_overrides: dict[str, Any]
) -> None:
    hold = Hold()
    router = driver.daemon.services.providers
    settings = driver.daemon.services.settings
    router.update({**settings.models, "other": ("fake:model-b",)}, settings.providers, {})
    fake.script(Reply((Text("Hm"), hold)), text_reply("Both."))
    async with driver.watching() as watch:
        await driver.post("One")
        await watch.until_text("Hm")
        await driver.post("Two", model="other")
        router.update(settings.models, settings.providers, {})
        hold.gate.set()
        state = await watch.until_state("idle")
    assert state["payload"]["reason"] == "cannot_run"
    await driver.run("Three")
    assert said_by_users(fake, 1) == ["One", "Two", "Three"]
