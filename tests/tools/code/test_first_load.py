"""The first load of a project may take longer than a request, and says how far it is."""

from __future__ import annotations

import pytest

from app.tools.code import lsp
from tests.tools.code.test_hostile_answers import HOVER, scripted

pytestmark = pytest.mark.requirement("language_servers.ready.first_load")
PLACES = [{"uri": "{root}/b.scr", "range": {"start": {"line": 1, "character": 0}}}]


async def test_the_first_answer_waits_for_a_load_that_takes_longer_than_a_request(tmp_path, monkeypatch):
    """Longer than a call that only looks may take, too."""
    monkeypatch.setattr(lsp, "CALL_SECONDS", 2.0)
    answers = {"textDocument/references": PLACES}
    async with scripted(tmp_path, answers, loading=3.5) as desk:
        assert (await desk.lsp("references", **HOVER))["count"] == 1


async def test_a_load_that_takes_too_long_says_how_far_it_is(tmp_path):
    async with scripted(tmp_path, loading=600, load_seconds=0.1) as desk:
        refused = await desk.refused("references", **HOVER)
        assert refused.code == "lsp_timeout" and "loading 5/9 (55%)" in refused.error_text
        [server] = (await desk.lsp("status", path="a.scr"))["servers"]
        assert (server["state"], server["loading"]) == ("starting", "loading 5/9 (55%)")
