"""What a server complains of is in every answer that may lack something because of it."""

from __future__ import annotations

import pytest

from app.bridges.sandbox.manager import Tier
from tests.driver.caging import FULL
from tests.tools.code.conftest import of_agent
from tests.tools.code.test_hostile_answers import HOVER, scripted

pytestmark = pytest.mark.requirement("language_servers.tool.problem")
LOCK = "cargo metadata exited with an error: failed to write /p/Cargo.lock: Read-only file system"
WARNING = {"health": "warning", "quiescent": True, "message": LOCK}
QUESTIONS = (
    {"action": "hover", **HOVER},
    {"action": "references", **HOVER},
    {"action": "definition", **HOVER},
    {"action": "symbols", "path": "a.scr"},
    {"action": "diagnostics", "path": "a.scr"},
    {"action": "diagnostics", "path": "."},
    {"action": "request", "path": "a.scr", "query": "textDocument/hover", "payload": "{}"},
)


async def test_every_answer_says_what_the_server_complains_of_and_what_to_do(tmp_path):
    async with scripted(tmp_path, statuses=[WARNING], publish={"items": []}) as desk:
        for question in QUESTIONS:
            problem = (await desk.lsp(**question))["problem"]
            assert problem.startswith(LOCK) and "run `cargo generate-lockfile`" in problem
        assert (await desk.lsp("status", path="a.scr"))["servers"][0]["problem"].startswith(LOCK)


async def test_a_server_that_complains_no_longer_is_not_quoted(tmp_path):
    statuses = [{**WARNING, "health": "error"}, WARNING, {"health": "ok", "quiescent": True, "message": None}]
    async with scripted(tmp_path, statuses=statuses) as desk:
        assert "problem" not in await desk.lsp("hover", **HOVER)


@pytest.mark.parametrize("tier", [None, FULL], ids=["one-server-for-all", "server-of-its-own"])
async def test_words_that_may_quote_hidden_files_are_withheld(tmp_path, tier: Tier | None):
    """A server that sees no more than the caller may be quoted."""
    async with scripted(tmp_path, statuses=[WARNING], tier=tier) as desk:
        agent = of_agent(desk, ("ro", "src"))
        problem = (await agent.lsp("references", **{**HOVER, "path": "src/c.scr"}))["problem"]
        assert (LOCK in problem) is (tier is not None)
