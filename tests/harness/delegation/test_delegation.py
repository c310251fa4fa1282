"""A child is a tool of its parent: called by the model, run with everything of its own, answered once."""

from __future__ import annotations

import pytest

from tests.fakes.provider_script import text_reply
from tests.harness.delegation.conftest import Drive
from tests.harness.delegation.family import Cast, agent, calling

FAMILY = agent("primary", subagents={"coder": agent("coder")})


@pytest.mark.requirement("R6.delegation.tool", "R6.delegation.result", "R6.delegation.own")
async def test_child_agent_delegation(drive: Drive, cast: Cast) -> None:
    cast.script(
        "primary", calling(("agent-coder", {"task": "Write it."}), text="On it."), text_reply("All done.")
    )
    cast.script("coder", text_reply("Written."))
    async with drive(FAMILY) as driver:
        watch = await driver.run("Please write it")
        runs = (await driver.session_call("GET", "/runs?all=true"))["items"]
        messages = await driver.messages()

    assert [m["content"] for m in cast.messages("coder")][-1] == "Write it."
    result = cast.messages("primary")[-1]
    assert result["role"] == "tool" and result["content"].endswith("Written.")
    assert {run["agent_path"]: run["state"] for run in runs} == {
        "primary": "succeeded",
        "primary.subagents.coder": "succeeded",
    }
    said = [f for f in watch.of("message.end") if f.get("agent_path") == "primary.subagents.coder"]
    assert len(said) == 1 and said[0]["parent_tool_call_id"] == "call_1"
    assert messages
