"""`include_tool_results_in_context: false`: a turn begins without the tool results of those before."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.driver.sessions import PROJECT_YAML, driven, write_project
from tests.fakes.provider_script import Reply, ToolCall, text_reply
from tests.fakes.provider_server import FakeProvider


@pytest.mark.requirement("delegation.own")
async def test_results_of_earlier_turns_are_left_out_and_those_of_this_one_are_not(
    tmp_path: Path, fake: FakeProvider, settings_overrides: dict[str, Any]
) -> None:
    yaml = PROJECT_YAML + "  include_tool_results_in_context: false\n"
    root = write_project(tmp_path / "shop", yaml)
    read = Reply((ToolCall("file_read", {"path": "README.md"}),))
    fake.script(read, text_reply("One."), read, text_reply("Two."))
    async with driven(tmp_path / "data", root, **settings_overrides) as driver:
        await driver.run("First")
        await driver.run("Second")
        run = await driver.last_run()
        sent = await driver.call("GET", f"/runs/{run['id']}/steps/2/request")

    first, last = (
        [m["content"] for m in fake.requests[number].json["messages"] if m["role"] == "tool"]
        for number in (1, 3)
    )
    assert "It sells things." in first[0]
    assert "It sells things." not in last[0] and "tokens]" in last[0]
    assert "It sells things." in last[1]
    assert sent["verified"]
