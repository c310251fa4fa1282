"""A picture that a tool gives: on every wire, in storage, in events, in exports, and left out where
the model has no eyes."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from app.config import PriceSettings, ProviderSettings
from app.harness.conversation.estimate import IMAGE_TOKENS, estimate_message
from app.harness.conversation.history import History
from app.harness.providers.catalog import Catalog
from app.messages import ImageBlock, ToolResult, ToolResultsMessage
from tests.driver.sessions import DRIVERS, Driver, check_stream, driven, provider_settings, write_project
from tests.fakes.provider_script import Document, Reply, ToolCall, text_reply
from tests.fakes.provider_server import FakeProvider
from tests.tools import pictures

pytestmark = pytest.mark.requirement("file.read.image")
PNG = pictures.png(40, 30)
DATA = base64.b64encode(PNG).decode()
URL = f"data:image/png;base64,{DATA}"
LOOK = Reply((ToolCall("file_read", {"path": "a.png"}, id="call_1"),))
TWO_LOOKS = Reply(
    (
        ToolCall("file_read", {"path": "a.png"}, id="call_1"),
        ToolCall("file_read", {"path": "a.txt"}, id="call_2"),
    )
)


def configuration(wire: str, fake: FakeProvider, *, images: bool) -> dict[str, Any]:
    return {
        "providers": provider_settings(wire, fake.base_url),
        "models": {"main": ["fake:seeing", "fake:blind"], "blind": ["fake:blind"]},
        "prices": {"fake:seeing": {"images": images}},
    }


@pytest.fixture(params=DRIVERS)
def wire(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
async def driver(wire: str, fake: FakeProvider, tmp_path: Path) -> AsyncIterator[Driver]:
    root = write_project(tmp_path / "project")
    (root / "a.png").write_bytes(PNG)
    (root / "a.txt").write_text("alpha\n")
    async with driven(tmp_path / "data", root, **configuration(wire, fake, images=True)) as running:
        yield running


def places_of(value: Any, data: str, place: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return where in a JSON document the picture is."""
    if isinstance(value, str):
        return [place] if data in value else []
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [found for key, inner in pairs for found in places_of(inner, data, (*place, key))]


SENT = {
    "openai": ("messages", 5, "content", 1, "image_url", "url"),
    "openai-responses": ("input", 3, "output", 1, "image_url"),
    "anthropic": ("messages", 2, "content", 0, "content", 1, "source", "data"),
    "google": ("contents", 2, "parts", 2, "inlineData", "data"),
}


async def test_every_wire_sends_the_picture_with_the_results(
    driver: Driver, fake: FakeProvider, wire: str
) -> None:
    fake.script(TWO_LOOKS, text_reply("A picture."))
    watch = await driver.run("Look")
    check_stream(watch.frames)
    sent = orjson.loads(fake.requests[1].body)
    assert places_of(sent, DATA) == [SENT[wire]]
    if wire == "openai":  # behind all results, which have to follow their calls at once
        assert [message["role"] for message in sent["messages"][2:]] == ["assistant", "tool", "tool", "user"]


async def prove_requests(driver: Driver) -> None:
    """Every request of the last run is put together again as it was sent."""
    run = (await driver.last_run())["id"]
    for number in (1, 2):
        answer = await driver.client.get(f"/api/v1/runs/{run}/steps/{number}/request")
        assert answer.json()["verified"] is True


async def test_it_is_stored_with_its_message_and_shown_by_its_size(
    driver: Driver, fake: FakeProvider, wire: str
) -> None:
    fake.script(LOOK, text_reply("A picture."))
    watch = await driver.run("Look")
    told = watch.of("message.tool_result")[0]["payload"]
    assert told["images"] == [{"mediaType": "image/png", "size": len(PNG)}]
    assert DATA not in orjson.dumps(watch.frames).decode()
    listed = next(row for row in await driver.messages() if row["role"] == "tool")
    assert listed["details"]["images"] == [{"media_type": "image/png", "data": None}]
    whole = await driver.client.get(told["contentRef"])
    assert whole.json()["details"]["images"] == [{"media_type": "image/png", "data": DATA}]


async def test_what_was_sent_is_proved_and_a_session_comes_back_with_its_pictures(
    driver: Driver, fake: FakeProvider, wire: str
) -> None:
    fake.script(LOOK, text_reply("A picture."))
    await driver.run("Look")
    await prove_requests(driver)
    exported = (await driver.client.get(f"/api/v1/sessions/{driver.session_id}/export")).content
    assert exported.count(DATA.encode()) == 1
    assert (await driver.client.delete(f"/api/v1/sessions/{driver.session_id}")).status_code == 204
    assert (await driver.client.post("/api/v1/sessions/import", content=exported)).status_code == 201
    fake.script(text_reply("Still there."))
    await driver.run("And now?")
    assert len(places_of(orjson.loads(fake.requests[2].body), DATA)) == 1


async def test_a_model_without_eyes_that_takes_over_gets_words(
    driver: Driver, fake: FakeProvider, wire: str
) -> None:
    fake.script(LOOK, Document(401, {"error": {"message": "no"}}), text_reply("I am told of a picture."))
    watch = await driver.run("Look")
    assert watch.text() == "I am told of a picture."
    seeing, blind = (orjson.loads(fake.requests[number].body) for number in (1, 2))
    assert places_of(seeing, DATA) and not places_of(blind, DATA)
    await prove_requests(driver)
    assert places_of(blind, "[image/png: not shown, this model takes no images]")


async def test_a_model_without_eyes_gets_no_picture_from_the_tool(
    driver: Driver, fake: FakeProvider, wire: str
) -> None:
    fake.script(LOOK, text_reply("Words."))
    await driver.run("Look", model="blind")
    assert not places_of(orjson.loads(fake.requests[1].body), DATA)
    row = next(row for row in await driver.messages() if row["role"] == "tool")
    assert "images" not in row["details"] and '"type":"binary"' in row["content"]


@pytest.mark.parametrize(
    ("model", "images", "sees"),
    [
        ("gpt-5-mini", None, True),
        ("gpt-3.5-turbo", None, False),
        ("claude-opus-4-5", None, True),
        ("models/gemini-3-pro", None, True),
        ("qwen3:32b", None, False),
        ("qwen2.5vl:7b", None, True),
        ("something-of-ours", None, False),
        ("something-of-ours", True, True),
        ("gpt-5-mini", False, False),
    ],
)
def test_the_operator_or_the_name_says_which_model_takes_images(
    model: str, images: bool | None, sees: bool
) -> None:
    prices = {f"p:{model}": PriceSettings(images=images)}
    catalog = Catalog(prices, {"p": ProviderSettings(driver="openai")})
    assert catalog.takes_images("p", model) is sees


def test_a_history_without_pictures_grows_with_the_conversation_and_costs_nothing_without_any() -> None:
    def answered(number: int, *images: ImageBlock) -> tuple[ToolResult, ...]:
        return (ToolResult(tool_call_id=f"c{number}", name="file.read", content="text", images=images),)

    picture = ImageBlock(media_type="image/png", data=DATA)
    history = History()
    history.add_results(["m1"], answered(1))
    assert history.shown_to(images=False)[0] is history.visible
    history.add_results(["m2"], answered(2, picture))
    shown, cache = history.shown_to(images=False)
    history.add_results(["m3"], answered(3, picture, picture))
    again, same = history.shown_to(images=False)
    assert again is shown and same is cache and len(shown) == 3
    assert not any(result.images for message in shown for result in message.results)  # type: ignore[union-attr]
    assert history.shown_to(images=True)[0] is history.messages
    plain, pictured = (ToolResultsMessage(results=answered(1, *more)) for more in ((), (picture,)))
    assert estimate_message(pictured) - estimate_message(plain) == IMAGE_TOKENS
