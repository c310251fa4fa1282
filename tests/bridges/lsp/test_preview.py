"""A server is shown contents that are not written, and has the files as they are on disk afterwards."""

from __future__ import annotations

import asyncio

import pytest

from app.bridges.lsp.manager import LanguageServer
from app.errors import ToolError
from tests.bridges.conftest import until
from tests.bridges.lsp.conftest import Open, Place, messages

ONE, TWO = "word bad\nword\n", "other\n"
WRONG = b"word bad\nbad bad\n"
DIAGNOSTIC = "textDocument/diagnostic"
HOVER = "textDocument/hover"


async def begun(place: Place) -> LanguageServer:
    """Return the server with one document open and another on disk."""
    place.put("two.hostile", TWO)
    server = await place.project.server_for("one.hostile")
    await server.document("one.hostile")
    return server


def texts(place: Place) -> dict[str, str]:
    """Return what the server has open, by the messages that the last run of it got."""
    found: dict[str, str] = {}
    for message in place.received():
        method, params = message.get("method"), message.get("params")
        if method == "initialize":
            found.clear()
        elif method == "textDocument/didOpen":
            document = params["textDocument"]
            found[document["uri"].rpartition("/")[2]] = document["text"]
        elif method == "textDocument/didChange":
            name = params["textDocument"]["uri"].rpartition("/")[2]
            found[name] = params["contentChanges"][-1]["text"]
        elif method == "textDocument/didClose":
            del found[params["textDocument"]["uri"].rpartition("/")[2]]
    return found


@pytest.mark.requirement("language_servers.preview.shown")
async def test_a_server_finds_the_errors_of_contents_that_are_not_written(hostile: Open) -> None:
    async with hostile("--pull") as place:
        server = await begun(place)
        shown = {"one.hostile": WRONG, "two.hostile": b"bad\n"}
        found = await server.preview(shown, ["one.hostile", "two.hostile"], seconds=30)
        assert {path: len(one.items) for path, one in found.items()} == {"one.hostile": 3, "two.hostile": 1}
        assert found["one.hostile"].text.text == WRONG.decode()
        await until(lambda: texts(place) == {"one.hostile": ONE})
        assert len(messages(await server.diagnostics("one.hostile"))) == 1
        assert messages(await server.diagnostics("two.hostile")) == []
        assert not place.received("textDocument/didSave")


@pytest.mark.requirement("language_servers.preview.alone")
async def test_who_asks_meanwhile_waits_and_is_answered_for_what_is_on_disk(hostile: Open) -> None:
    async with hostile("--delay", f"{DIAGNOSTIC}=1", "--pull") as place:
        server = await begun(place)
        shown = {"one.hostile": b"shown\n"}
        preview = asyncio.create_task(server.preview(shown, ["one.hostile"], seconds=30))
        await until(lambda: bool(place.received(DIAGNOSTIC)))
        at = {"textDocument": {"uri": (place.root / "one.hostile").as_uri()}}
        place.put("one.hostile", "later bad\n")
        await place.project.synchronise()
        hover, diagnosed = await asyncio.gather(
            server.request(HOVER, {**at, "position": {"line": 0, "character": 1}}),
            server.diagnostics("one.hostile"),
        )
        assert (await preview)["one.hostile"].items == ()
        assert hover["contents"]["value"] != "shown" and len(messages(diagnosed)) == 1
        assert texts(place) == {"one.hostile": "later bad\n"}


@pytest.mark.requirement("language_servers.preview.given_back")
async def test_a_preview_that_is_cancelled_gives_the_documents_back(hostile: Open) -> None:
    async with hostile("--never-answer", DIAGNOSTIC, "--pull") as place:
        server = await begun(place)
        shown = {"one.hostile": WRONG, "two.hostile": b"bad\n"}
        preview = asyncio.create_task(server.preview(shown, ["one.hostile", "two.hostile"], seconds=30))
        await until(lambda: len(place.received(DIAGNOSTIC)) == 2)
        preview.cancel()
        with pytest.raises(asyncio.CancelledError):
            await preview
        await until(lambda: texts(place) == {"one.hostile": ONE})
        assert (await server.document("one.hostile")).text == ONE


@pytest.mark.requirement("language_servers.preview.given_back")
async def test_a_server_that_does_not_answer_has_found_nothing_and_gets_the_documents_back(
    hostile: Open,
) -> None:
    async with hostile("--never-answer", DIAGNOSTIC, "--pull") as place:
        server = await begun(place)
        assert await server.preview({"one.hostile": WRONG}, ["one.hostile"], seconds=0.3) == {}
        await until(lambda: texts(place) == {"one.hostile": ONE})
        assert len(place.starts()) == 1


@pytest.mark.requirement("language_servers.preview.given_back")
async def test_a_server_that_dies_meanwhile_starts_with_what_is_on_disk(hostile: Open) -> None:
    async with hostile("--crash-at", DIAGNOSTIC, "--crash-times", "1", "--pull") as place:
        server = await begun(place)
        with pytest.raises(ToolError) as died:
            await server.preview({"one.hostile": WRONG}, ["one.hostile"], seconds=30)
        assert died.value.code == "lsp_server_unavailable"
        assert len(messages(await server.diagnostics("one.hostile"))) == 1
        assert texts(place) == {"one.hostile": ONE} and len(place.starts()) == 2


@pytest.mark.requirement("language_servers.preview.given_back")
async def test_contents_that_cannot_be_shown_change_nothing(hostile: Open) -> None:
    async with hostile("--pull") as place:
        server = await begun(place)
        for shown in ({"one.hostile": b"\0"}, {"one.hostile": WRONG, "none.hostile": b""}):
            with pytest.raises(ToolError):
                await server.preview(shown, ["one.hostile"], seconds=30)
        assert len(messages(await server.diagnostics("one.hostile"))) == 1
        assert texts(place) == {"one.hostile": ONE}


@pytest.mark.requirement("language_servers.preview.alone")
async def test_a_preview_does_not_wait_long_for_what_others_are_asking(hostile: Open) -> None:
    async with hostile("--never-answer", HOVER, "--pull") as place:
        server = await begun(place)
        at = {"textDocument": {"uri": (place.root / "one.hostile").as_uri()}}
        hover = asyncio.create_task(server.request(HOVER, {**at, "position": {"line": 0, "character": 1}}))
        await until(lambda: bool(place.received(HOVER)))
        with pytest.raises(ToolError) as busy:
            await server.preview({"one.hostile": WRONG}, ["one.hostile"], seconds=30)
        assert busy.value.code == "lsp_timeout" and not place.received(DIAGNOSTIC)
        assert len(messages(await server.diagnostics("one.hostile"))) == 1  # nobody waits for it any more
        hover.cancel()
        await asyncio.wait({hover})
