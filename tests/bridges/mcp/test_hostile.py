"""MCP servers that do harm: what they list, what they send, what they leave out."""

from __future__ import annotations

import pytest

from app.bridges.mcp.limits import ListLimits, MessageLimits
from app.bridges.processes.supervised_child import Unavailable
from app.errors import ToolError
from app.tools.external.server import tool_name
from tests.bridges.mcp.conftest import Open

pytestmark = pytest.mark.requirement("mcp.client.hostile")


async def test_names_that_collide_or_hold_control_characters(bench: Open) -> None:
    async with bench() as it:
        listing = await it.servers.listing("prj_1", it.root, it.hostile("names"))
    names = [one.name for one in listing.tools]
    assert names == ["plain", "bad\x1b[31mname", "sp ace", "x" * 200, "sp_ace", "Ünïcode"]
    assert all(one.title.isprintable() for one in listing.tools)
    assert [text.partition(":")[0] for text in listing.left_out] == ["plain", "(no name)"]
    taken: set[str] = set()
    for name in names:
        taken.add(tool_name("hostile", name, taken))
    assert len(taken) == len(names)
    assert all(len(one) <= 64 and one.replace("_", "").replace("-", "").isalnum() for one in taken)
    assert all(one.isascii() for one in taken)
    assert {"hostile_plain", "hostile_sp_ace"} <= taken
    assert tool_name("hostile", "sp ace", ()) in taken


def test_the_suffix_of_a_name_depends_on_server_and_tool_alone() -> None:
    assert tool_name("a_b", "c", ()) == tool_name("a", "b_c", ()) == "a_b_c"
    again = {tool_name("a", "b_c", {"a_b_c"}), tool_name("a", "b_c", {"a_b_c", "other"})}
    assert again == {"a_b_c_1b3e1d37"} or len(again) == 1
    assert tool_name("a_b", "c", {"a_b_c"}) not in again


async def test_schemas_that_cost_too_much_are_left_out_with_the_reason(bench: Open) -> None:
    async with bench() as it:
        listing = await it.servers.listing("prj_1", it.root, it.hostile("bombs"))
    assert [one.name for one in listing.tools] == ["good"]
    assert len(listing.left_out) == 3
    for name, reason in (("deep", "nested"), ("wide", "bytes"), ("outside", "refers")):
        assert any(text.startswith(f"{name}: ") and reason in text for text in listing.left_out)


async def test_descriptions_of_a_megabyte_are_cut_and_hide_nothing(bench: Open) -> None:
    async with bench() as it:
        listing = await it.servers.listing("prj_1", it.root, it.hostile("long"))
    (tool,) = listing.tools
    assert len(tool.description) < 4_100
    assert "\u202e" not in tool.description
    assert "\u200b" not in tool.description


async def test_too_many_tools_and_pages_without_end(bench: Open) -> None:
    async with bench(lists=ListLimits(tools=10, pages=5)) as it:
        many = await it.servers.listing("prj_1", it.root, it.hostile("many"))
        assert len(many.tools) == 10
        assert "at most 10 tools" in many.left_out[0]
        endless = await it.servers.listing("prj_1", it.root, it.hostile("pages"))
        assert [one.name for one in endless.tools] == [f"page_{number}" for number in range(5)]


async def test_a_server_that_never_answers_is_given_up(bench: Open) -> None:
    async with bench(start_seconds=1.0) as it:
        silent = it.hostile("silent")
        with pytest.raises(Unavailable, match="did not answer within 1 s"):
            await it.servers.listing("prj_1", it.root, silent)
        with pytest.raises(ToolError, match="mcp server hostile is unavailable"):
            await it.call(silent, "harm")


@pytest.mark.parametrize(
    ("mode", "reason"),
    [("long-line", "longer than"), ("nested", "nested more than"), ("garbage", "no JSON")],
)
async def test_an_answer_beyond_the_bounds_ends_the_connection(bench: Open, mode: str, reason: str) -> None:
    async with bench(messages=MessageLimits(line_bytes=4_000_000)) as it:
        with pytest.raises(ToolError) as ended:
            await it.call(it.hostile(mode), "harm")
        assert ended.value.code == "mcp_unavailable"
        assert reason in ended.value.message


@pytest.mark.parametrize("mode", ["noise", "changes", "slow-pattern"])
async def test_noise_changes_and_schemas_of_results_cost_nothing(bench: Open, mode: str) -> None:
    async with bench() as it:
        assert not (await it.call(it.hostile(mode), "harm")).is_error
