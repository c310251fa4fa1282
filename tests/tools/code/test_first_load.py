"""The first load of a project may take longer than a request, and says how far it is."""

from __future__ import annotations

import asyncio

import pytest

from app.bridges.lsp.manager import ServerLimits
from app.tools.code import lsp
from tests.tools.code.conftest import DEADLINE
from tests.tools.code.test_hostile_answers import HOVER, scripted

pytestmark = pytest.mark.requirement("language_servers.ready.first_load")
PLACES = [{"uri": "{root}/b.scr", "range": {"start": {"line": 1, "character": 0}}}]


async def test_the_first_answer_waits_for_a_load_that_takes_longer_than_a_request(tmp_path, monkeypatch):
    """Longer than a call that only looks may take, too."""
    loaded = tmp_path / "loaded"
    answers, limits = {"textDocument/references": PLACES}, ServerLimits(request_seconds=4.0)
    async with scripted(tmp_path, answers, limits=limits, loading=str(loaded)) as desk:
        await desk.lsp("symbols", path="a.scr")  # it has started then
        monkeypatch.setattr(lsp, "CALL_SECONDS", 4.0)
        call = asyncio.create_task(desk.lsp("references", **HOVER))
        await asyncio.wait({call}, timeout=5.0)
        assert not call.done()
        loaded.touch()
        assert (await call)["count"] == 1


async def test_a_load_that_takes_too_long_says_how_far_it_is(tmp_path):
    limits = ServerLimits(request_seconds=2.0, load_seconds=0.1)
    async with scripted(tmp_path, limits=limits, loading=str(tmp_path / "never")) as desk:
        await desk.lsp("symbols", path="a.scr")
        async with asyncio.timeout(DEADLINE):
            while await loading(desk) != ("starting", "loading 5/9 (55%)"):  # noqa: ASYNC110  (it is asked)
                await asyncio.sleep(0.02)
        refused = await desk.refused("references", **HOVER)
        assert refused.code == "lsp_timeout" and "loading 5/9 (55%)" in refused.error_text
        assert await loading(desk) == ("starting", "loading 5/9 (55%)")


async def loading(desk):
    """Return the state of the server, and what it says of its load."""
    [server] = (await desk.lsp("status", path="a.scr"))["servers"]
    return server["state"], server.get("loading")
