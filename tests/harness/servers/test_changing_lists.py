"""An MCP server that changes its list of tools in the middle of a session, on every wire."""

from __future__ import annotations

import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.driver.sessions import DRIVERS, driven, provider_settings
from tests.fakes.provider_script import Reply, ToolCall, text_reply
from tests.fakes.provider_server import FakeProvider
from tests.harness.deferring import EVERYTHING, lists, names, prefixes, starter

pytestmark = pytest.mark.requirement("mcp.client.tools", "tools.loading")

SERVER = Path(__file__).parents[2] / "fakes" / "mcp_server.py"
SERVED = '    "notes_*": { enabled: true }\n'


def found(query: str, number: int) -> Reply:
    return Reply((ToolCall("tool_search", {"query": query}, id=f"call_{number}"),))


def called(name: str, number: int, **arguments: Any) -> Reply:
    call = {"name": name, "arguments": arguments}
    return Reply((ToolCall("call_tool", call, id=f"call_{number}"),))


@pytest.mark.parametrize("loading", ["deferred", "eager"])
@pytest.mark.parametrize("wire", DRIVERS)
async def test_each_request_begins_with_the_one_before_it_across_searches_and_changes_of_the_list(
    wire: str, loading: str, fake: FakeProvider, tmp_path: Path
) -> None:
    root = starter(tmp_path / "shop", EVERYTHING, SERVED, tools_loading=loading)
    fake.script(
        found("adds two numbers", 1),
        called("notes_add", 2, a=1, b=2),
        called("notes_grow", 3),
        text_reply("Grown."),
        found("was added later", 4),
        called("notes_later", 5),
        called("notes_shrink", 6),
        text_reply("Shrunk."),
        found("was added later", 7),
        called("notes_later", 8),
        text_reply("Gone."),
    )
    settings: dict[str, Any] = {
        "providers": provider_settings(wire, fake.base_url),
        "mcp": {"notes": {"command": [sys.executable, str(SERVER)], "cage": "disabled"}},
    }
    async with driven(tmp_path / "data", root, **settings) as driver:
        start = f"/api/v1/projects/{driver.project_id}/mcp/notes/content"
        started = await driver.client.post(start, timeout=120)  # slow where much else runs
        assert started.status_code == 200, started.text
        for task in ("Grow", "Use it and shrink", "Use it again"):
            await driver.run(task)
        results = [message for message in await driver.messages() if message["role"] == "tool"]
        path = f"/projects/{driver.project_id}/agents/primary/tools?limit=100"
        tools = {one["name"]: one for one in (await driver.call("GET", path))["items"]}
    sent = prefixes(fake)
    assert len(sent) == 11
    for before, after in pairwise(sent):
        assert after.startswith(before)
    assert len(set(lists(fake))) == 1
    assert ("notes_add" in names(fake.requests[0].json)) == (loading == "eager")
    assert "notes_later" not in names(fake.requests[-1].json)
    codes = [one["details"].get("code") for one in results]
    assert codes == [None] * 7 + ["tool_not_found"]
    assert orjson.loads(results[3]["content"])["tools"][0]["name"] == "notes_later"
    assert results[4]["content"].endswith("\nlater")
    assert "notes_later" not in results[6]["content"]
    assert tools["notes_add"]["origin"] == "mcp"
    assert tools["notes_add"]["enabled"]
